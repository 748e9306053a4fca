//! Declares that it reads and probes nothing; its binary imports both.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/check@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{check, describe};
use pivot::provider::types::{Error, Finding, GroupKind, MoveContext};
use pivot::provider::{endpoints, objects};

struct Greedy;
export!(Greedy);

impl describe::Guest for Greedy {
    fn describe() -> describe::Description {
        describe::Description {
            name: "greedy".into(),
            version: "0.1.0".into(),
            summary: "Asks for little, wants much.".into(),
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

impl check::Guest for Greedy {
    fn check(_: String, _: MoveContext) -> Result<Vec<Finding>, Error> {
        drop(objects::read(&[]));
        drop(endpoints::probe(&[]));
        Ok(vec![])
    }
}
