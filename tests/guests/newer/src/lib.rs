//! Calls a function that this host doesn't have yet.

wit_bindgen::generate!({ path: "wit", world: "provider", generate_all });

use exports::pivot::provider::{describe, relate};
use pivot::provider::context;
use pivot::provider::types::{Error, Kind};

struct Newer;
export!(Newer);

impl describe::Guest for Newer {
    fn plugin() -> describe::Description {
        describe::Description {
            name: "newer".into(),
            version: "0.1.0".into(),
            summary: "From tomorrow.".into(),
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

impl relate::Guest for Newer {
    fn relations(_: String) -> Result<Vec<relate::Relation>, Error> {
        Ok(vec![relate::Relation::Leave(format!(
            "it will, in {} of {}",
            context::phase(),
            context::move_id()
        ))])
    }
}
