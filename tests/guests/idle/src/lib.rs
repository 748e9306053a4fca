//! Declares a kind that none of its hooks is called for.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/hold@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{describe, hold};
use pivot::provider::types::{Error, Kind};

struct Idle;
export!(Idle);

fn kind(name: &str) -> Kind {
    Kind { group: "test.io".into(), name: name.into() }
}

impl describe::Guest for Idle {
    fn plugin() -> describe::Description {
        describe::Description {
            name: "idle".into(),
            version: "0.1.0".into(),
            summary: "Wants to see what it has no use for.".into(),
            kinds: [kind("Host"), kind("Rack")]
                .map(|kind| describe::SeenKind { kind, versions: vec![] })
                .into(),
            reach: vec![],
            changes: vec![describe::Change { hook: "hold".into(), kind: kind("Host") }],
            reads: vec![],
            probes: vec![],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }
}

impl hold::Guest for Idle {
    fn patch(_: String) -> Result<Option<String>, Error> {
        Ok(None)
    }
}
