//! Declares as much as an author who doesn't know where the plugin will run: all kinds of a group, everywhere, and any address.
//! Its check queries all of it, and reports for each query whether it was answered.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "package test:guest; world guest { include pivot:provider/plugin@0.1.0; export pivot:provider/relate@0.1.0; export pivot:provider/check@0.1.0; }",
    world: "test:guest/guest",
    generate_all,
});

use exports::pivot::provider::{check, describe, relate};
use pivot::provider::types::{Error, Kind, Problem, Scope, Side};
use pivot::provider::{endpoints, objects};

struct Wide;
export!(Wide);

fn kind(kind: &str) -> Kind {
    Kind { group: "test.io".into(), name: kind.into() }
}

impl describe::Guest for Wide {
    fn plugin() -> describe::Description {
        let read = |side| describe::Read { kind: kind("*"), side, scope: Scope::All };
        describe::Description {
            name: "wide".into(),
            version: "0.1.0".into(),
            summary: "Looks wherever it may.".into(),
            kinds: [kind("*")].map(|kind| describe::SeenKind { kind, versions: vec!["v1".into()] }).into(),
            reach: vec![],
            changes: vec![],
            reads: vec![read(Side::Source), read(Side::Target)],
            probes: vec!["*:*".into(), "*/*:*".into()],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }
}

impl relate::Guest for Wide {
    fn relations(_: String) -> Result<Vec<relate::Relation>, Error> {
        Ok(vec![relate::Relation::Keep("it was shown".into())])
    }
}

fn note<T>(what: &str, answer: &Result<T, Error>) -> check::Finding {
    let code = answer.as_ref().err().map_or("answered", |error| &error.code);
    let problem = Problem {
        code: code.into(),
        message: what.into(),
        objects: vec![],
        remedy: String::new(),
        command: None,
        extra: vec![],
    };
    check::Finding { severity: check::Severity::Note, problem }
}

impl check::Guest for Wide {
    fn findings(_: String) -> Result<Vec<check::Finding>, Error> {
        let mut findings = vec![];
        for (side, word) in [(Side::Source, "source"), (Side::Target, "target")] {
            for name in ["Host", "Rack"] {
                let scopes = [
                    (Scope::Moving, "moving"),
                    (Scope::One("metal3".into()), "metal3"),
                    (Scope::One("other".into()), "other"),
                    (Scope::All, "*"),
                ];
                for (scope, place) in scopes {
                    let query = objects::Query { side, kind: kind(name), scope, name: None, extra: vec![] };
                    let answer = objects::read(&[query]).remove(0);
                    findings.push(note(&format!("{word} {name} {place}"), &answer));
                }
            }
        }
        for address in ["10.0.0.1:6385", "10.0.0.1:22", "192.168.0.1:6385"] {
            let target = endpoints::Target::Tcp(address.into());
            let endpoint = endpoints::Endpoint { target, timeout_ms: 1_000, extra: vec![] };
            findings.push(note(address, &endpoints::probe(&[endpoint])[0]));
        }
        Ok(findings)
    }
}
