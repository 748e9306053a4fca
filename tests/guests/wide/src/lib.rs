//! Declares as much as an author who doesn't know where the plugin will run: all kinds of a group, everywhere, and any address.
//! Its check queries all of it, and reports for each query whether it was answered.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/relate@0.1.0; export pivot:provider/check@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{check, describe, relate};
use pivot::provider::types::{Error, Finding, GroupKind, MoveContext};
use pivot::provider::{endpoints, objects};

struct Wide;
export!(Wide);

fn kind(kind: &str) -> GroupKind {
    GroupKind { group: "test.io".into(), kind: kind.into() }
}

impl describe::Guest for Wide {
    fn describe() -> describe::Description {
        let read =
            |side: &str| describe::Read { kind: kind("*"), side: side.into(), namespace: Some("*".into()) };
        describe::Description {
            name: "wide".into(),
            version: "0.1.0".into(),
            summary: "Looks wherever it may.".into(),
            kinds: vec![kind("*")],
            reach: vec![],
            changes: vec![],
            reads: vec![read("source"), read("target")],
            probes: vec!["*:*".into(), "*/*:*".into()],
            secret_data: false,
            extra: vec![],
        }
    }
}

impl relate::Guest for Wide {
    fn relate(_: String) -> Result<Vec<relate::Relation>, Error> {
        Ok(vec![relate::Relation::Keep("it was shown".into())])
    }
}

fn note<T>(what: &str, answer: &Result<T, Error>) -> Finding {
    let code = answer.as_ref().err().map_or("answered", |error| &error.code);
    Finding {
        severity: "note".into(),
        code: code.into(),
        message: what.into(),
        objects: vec![],
        remedy: String::new(),
    }
}

impl check::Guest for Wide {
    fn check(_: String, _: MoveContext) -> Result<Vec<Finding>, Error> {
        let mut findings = vec![];
        let mut queries = vec![];
        for side in ["source", "target"] {
            for name in ["Host", "Rack"] {
                for namespace in [None, Some("metal3"), Some("other"), Some("*")] {
                    let namespace = namespace.map(str::to_owned);
                    queries.push(objects::Query {
                        side: side.into(),
                        kind: kind(name),
                        namespace,
                        name: None,
                    });
                }
            }
        }
        for (query, answer) in queries.iter().zip(objects::read(&queries)) {
            let place = query.namespace.as_deref().unwrap_or("moving");
            findings.push(note(&format!("{} {} {place}", query.side, query.kind.kind), &answer));
        }
        for address in ["10.0.0.1:6385", "10.0.0.1:22", "192.168.0.1:6385"] {
            let endpoint = endpoints::Endpoint {
                method: "tcp".into(),
                vantage: "here".into(),
                address: address.into(),
                timeout_ms: 1_000,
            };
            findings.push(note(address, &endpoints::probe(&[endpoint])[0]));
        }
        Ok(findings)
    }
}
