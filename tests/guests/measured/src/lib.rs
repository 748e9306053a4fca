//! A plugin for benchmarks: `hold` parses an object and patches it, `adapt` does nothing.

mod work;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/hold@0.1.0; export pivot:provider/adapt@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{adapt, describe, hold};
use pivot::provider::types::{Error, GroupKind};

struct Measured;
export!(Measured);

fn hosts() -> GroupKind {
    GroupKind { group: "test.io".into(), kind: "Host".into() }
}

impl describe::Guest for Measured {
    fn describe() -> describe::Description {
        let change =
            |hook: &str, side: &str| describe::Change { hook: hook.into(), kind: hosts(), side: side.into() };
        describe::Description {
            name: "measured".into(),
            version: "0.1.0".into(),
            summary: "Parses and patches.".into(),
            kinds: vec![hosts()],
            reach: vec![],
            changes: vec![change("hold", "source"), change("adapt", "target")],
            reads: vec![],
            probes: vec![],
            secret_data: false,
            extra: vec![],
        }
    }
}

impl hold::Guest for Measured {
    fn hold(object: String) -> Result<Option<String>, Error> {
        let invalid = |message| Error { code: "invalid".into(), message };
        work::patch(&object).map(Some).map_err(invalid)
    }
}

impl adapt::Guest for Measured {
    fn adapt(_object: String) -> Result<Option<String>, Error> {
        Ok(None)
    }
}
