//! Changes the same fields of a host as `hostile` in mode `note`.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/adapt@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{adapt, describe};
use pivot::provider::types::{Error, GroupKind};

struct Rival;
export!(Rival);

fn hosts() -> GroupKind {
    GroupKind { group: "test.io".into(), kind: "Host".into() }
}

impl describe::Guest for Rival {
    fn describe() -> describe::Description {
        describe::Description {
            name: "rival".into(),
            version: "0.1.0".into(),
            summary: "Wants the last word.".into(),
            kinds: vec![hosts()],
            reach: vec![],
            changes: vec![describe::Change { hook: "adapt".into(), kind: hosts(), side: "target".into() }],
            reads: vec![],
            probes: vec![],
            secret_data: false,
            extra: vec![],
        }
    }
}

impl adapt::Guest for Rival {
    fn adapt(_: String) -> Result<Option<String>, Error> {
        Ok(Some(r#"{"spec":{"note":"from rival"}}"#.into()))
    }
}
