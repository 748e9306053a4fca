//! A plugin for benchmarks: `hold` parses an object and patches it, `adapt` does nothing.

mod work;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/hold@0.1.0; export pivot:provider/adapt@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{adapt, describe, hold};
use pivot::provider::types::{Error, Kind};

struct Measured;
export!(Measured);

fn hosts() -> Kind {
    Kind { group: "test.io".into(), name: "Host".into() }
}

impl describe::Guest for Measured {
    fn plugin() -> describe::Description {
        let change = |hook: &str| describe::Change { hook: hook.into(), kind: hosts() };
        describe::Description {
            name: "measured".into(),
            version: "0.1.0".into(),
            summary: "Parses and patches.".into(),
            kinds: [hosts()].map(|kind| describe::SeenKind { kind, versions: vec![] }).into(),
            reach: vec![],
            changes: vec![change("hold"), change("adapt")],
            reads: vec![],
            probes: vec![],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }
}

impl hold::Guest for Measured {
    fn patch(object: String) -> Result<Option<String>, Error> {
        let invalid = |message| Error { code: "invalid".into(), message };
        work::patch(&object).map(Some).map_err(invalid)
    }
}

impl adapt::Guest for Measured {
    fn patch(_object: String) -> Result<Option<String>, Error> {
        Ok(None)
    }
}
