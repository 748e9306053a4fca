//! Built against a contract with fewer hooks, and with a host interface that lacks a function.

wit_bindgen::generate!({ path: "wit", world: "provider", generate_all });

use exports::pivot::provider::{describe, relate};
use pivot::provider::types::{Error, GroupKind};

struct Older;
export!(Older);

impl describe::Guest for Older {
    fn describe() -> describe::Description {
        describe::Description {
            name: "older".into(),
            version: "0.1.0".into(),
            summary: "From before.".into(),
            kinds: vec![GroupKind { group: String::new(), kind: "Secret".into() }],
            reach: vec![],
            changes: vec![],
            reads: vec![],
            probes: vec![],
            secret_data: false,
            extra: vec![],
        }
    }
}

impl relate::Guest for Older {
    fn relate(_: String) -> Result<Vec<relate::Relation>, Error> {
        Ok(vec![relate::Relation::Leave("it always did".into())])
    }
}
