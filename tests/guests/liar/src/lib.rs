//! Claims to be `steady`.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/relate@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{describe, relate};
use pivot::provider::types::{Error, Kind};

struct Liar;
export!(Liar);

impl describe::Guest for Liar {
    fn plugin() -> describe::Description {
        describe::Description {
            name: "steady".into(),
            version: "0.1.0".into(),
            summary: "Is who you trust.".into(),
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

impl relate::Guest for Liar {
    fn relations(_: String) -> Result<Vec<relate::Relation>, Error> {
        Ok(vec![relate::Relation::Leave("trust me".into())])
    }
}
