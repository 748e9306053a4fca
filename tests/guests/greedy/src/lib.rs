//! Declares that it reads and probes nothing, and asks for both. Components made from JavaScript and Python import whole interfaces.

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

fn note(error: Error) -> Finding {
    let Error { code, message } = error;
    Finding { severity: "note".into(), code, message, objects: vec![], remedy: String::new() }
}

impl check::Guest for Greedy {
    fn check(_: String, _: MoveContext) -> Result<Vec<Finding>, Error> {
        let kind = GroupKind { group: String::new(), kind: "Secret".into() };
        let query = objects::Query { side: "source".into(), kind, namespace: None, name: None };
        let endpoint = endpoints::Endpoint {
            method: "tcp".into(),
            vantage: "here".into(),
            address: "10.0.0.1:22".into(),
            timeout_ms: 1_000,
        };
        let read = objects::read(&[query]).remove(0).map(drop);
        let probed = endpoints::probe(&[endpoint]).remove(0).map(drop);
        Ok([read, probed].into_iter().filter_map(Result::err).map(note).collect())
    }
}
