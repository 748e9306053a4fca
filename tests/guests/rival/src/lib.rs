//! Changes the same fields of a host as `hostile` in mode `note`.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/adapt@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{adapt, describe};
use pivot::provider::types::{Error, Kind};

struct Rival;
export!(Rival);

fn hosts() -> Kind {
    Kind { group: "test.io".into(), name: "Host".into() }
}

impl describe::Guest for Rival {
    fn plugin() -> describe::Description {
        describe::Description {
            name: "rival".into(),
            version: "0.1.0".into(),
            summary: "Wants the last word.".into(),
            kinds: [hosts()].map(|kind| describe::SeenKind { kind, versions: vec![] }).into(),
            reach: vec![],
            changes: vec![describe::Change { hook: "adapt".into(), kind: hosts() }],
            reads: vec![],
            probes: vec![],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }
}

impl adapt::Guest for Rival {
    fn patch(_: String) -> Result<Option<String>, Error> {
        Ok(Some(r#"{"spec":{"note":"from rival"}}"#.into()))
    }
}
