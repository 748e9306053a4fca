//! Declares that it reads and probes nothing, and asks for both. Components made from JavaScript and Python import whole interfaces.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/check@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{check, describe};
use pivot::provider::types::{Error, Kind, Problem, Scope, Side};
use pivot::provider::{endpoints, objects};

struct Greedy;
export!(Greedy);

impl describe::Guest for Greedy {
    fn plugin() -> describe::Description {
        describe::Description {
            name: "greedy".into(),
            version: "0.1.0".into(),
            summary: "Asks for little, wants much.".into(),
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

fn note(error: Error) -> check::Finding {
    let Error { code, message } = error;
    let problem =
        Problem { code, message, objects: vec![], remedy: String::new(), command: None, extra: vec![] };
    check::Finding { severity: check::Severity::Note, problem }
}

impl check::Guest for Greedy {
    fn findings(_: String) -> Result<Vec<check::Finding>, Error> {
        let kind = Kind { group: String::new(), name: "Secret".into() };
        let query =
            objects::Query { side: Side::Source, kind, scope: Scope::Moving, name: None, extra: vec![] };
        let target = endpoints::Target::Tcp("10.0.0.1:22".into());
        let endpoint = endpoints::Endpoint { target, timeout_ms: 1_000, extra: vec![] };
        let read = objects::read(&[query]).remove(0).map(drop);
        let probed = endpoints::probe(&[endpoint]).remove(0).map(drop);
        Ok([read, probed].into_iter().filter_map(Result::err).map(note).collect())
    }
}
