//! Built against a contract with fewer hooks, and with a host interface that lacks a function.

wit_bindgen::generate!({ path: "wit", world: "provider", generate_all });

use exports::pivot::provider::{describe, relate};
use pivot::provider::context;
use pivot::provider::types::{Error, Kind};

struct Older;
export!(Older);

impl describe::Guest for Older {
    fn plugin() -> describe::Description {
        describe::Description {
            name: "older".into(),
            version: "0.1.0".into(),
            summary: "From before.".into(),
            kinds: [Kind { group: String::new(), name: "Secret".into() }]
                .map(|kind| describe::SeenKind { kind, versions: vec![] })
                .into(),
            reach: vec![],
            changes: vec![],
            reads: vec![],
            probes: vec![],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }
}

impl relate::Guest for Older {
    fn relations(_: String) -> Result<Vec<relate::Relation>, Error> {
        Ok(vec![relate::Relation::Leave(format!("it always did, in {}", context::move_id()))])
    }
}
