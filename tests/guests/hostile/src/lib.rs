//! Does what it should not. Which of it, the object says (`"mode":"…"`), or the move's id in a check.

wit_bindgen::generate!({ path: "../../../wit", world: "provider", generate_all });

use exports::pivot::provider::{adapt, check, describe, hold, relate, restore, settle};
use pivot::provider::types::{Error, Finding, GroupKind, MoveContext};
use pivot::provider::{endpoints, log, objects};

struct Hostile;
export!(Hostile);

fn hosts() -> GroupKind {
    GroupKind { group: "test.io".into(), kind: "Host".into() }
}

fn mode(object: &str) -> &str {
    object.split_once("\"mode\":\"").and_then(|(_, rest)| rest.split('"').next()).unwrap_or("")
}

/// What goes wrong in any hook.
fn misbehave(mode: &str) {
    match mode {
        "loop" => while std::hint::black_box(true) {},
        "bomb" => {
            let mut all = vec![];
            loop {
                all.push(std::hint::black_box(vec![1u8; 1 << 20]));
            }
        }
        "deep" => {
            std::hint::black_box(deep(1));
        }
        "trap" => panic!("says the guest"),
        "shout" => loop {
            log::log("error", "again");
        },
        "flood" => drop(objects::read(&vec![query("target", None); 100_000])),
        _ => {}
    }
}

#[inline(never)]
fn deep(n: u64) -> u64 {
    let here = std::hint::black_box([n; 64]);
    if n == 0 { 0 } else { deep(n + 1) + here[(n % 64) as usize] }
}

fn query(side: &str, namespace: Option<&str>) -> objects::Query {
    objects::Query { side: side.into(), kind: hosts(), namespace: namespace.map(Into::into), name: None }
}

/// A patch that is none, too many, or too large.
fn patch(object: &str) -> Option<String> {
    let mode = mode(object);
    misbehave(mode);
    match mode {
        "output" => Some(format!(r#"{{"a":"{}"}}"#, "x".repeat(2 << 20))),
        "array" => Some("[1]".into()),
        "null" => Some("null".into()),
        "broken" => Some(r#"{"metadata":{"#.into()),
        // A different one each time would need a memory; this one is never satisfied.
        "again" => Some(r#"{"metadata":{"annotations":{"test.io/again":"x"}}}"#.into()),
        "identity" => Some(r#"{"metadata":{"name":"other","namespace":"other"}}"#.into()),
        "owners" => Some(r#"{"metadata":{"ownerReferences":[]}}"#.into()),
        "mark" => Some(r#"{"metadata":{"annotations":{"pivot-host.io/move":"mine"}}}"#.into()),
        _ => None,
    }
}

impl describe::Guest for Hostile {
    fn describe() -> describe::Description {
        let change =
            |hook: &str, side: &str| describe::Change { hook: hook.into(), kind: hosts(), side: side.into() };
        describe::Description {
            name: "hostile".into(),
            version: "0.1.0".into(),
            summary: "Misbehaves.".into(),
            kinds: vec![hosts()],
            changes: vec![
                change("hold", "source"),
                change("adapt", "target"),
                change("restore", "target"),
                change("settle", "target"),
            ],
            reads: vec![describe::Read { kind: hosts(), side: "target".into(), namespace: None }],
            probes: vec!["*:6385".into()],
            secret_data: false,
            extra: vec![],
        }
    }
}

impl relate::Guest for Hostile {
    fn relate(object: String) -> Result<Vec<relate::Relation>, Error> {
        misbehave(mode(&object));
        Ok(match mode(&object) {
            // No part is large, all together are.
            "echo" => vec![relate::Relation::Leave("x".repeat(64 << 10)); 40],
            _ => vec![],
        })
    }
}

impl check::Guest for Hostile {
    fn check(_: String, context: MoveContext) -> Result<Vec<Finding>, Error> {
        misbehave(&context.move_id);
        let mut findings = vec![];
        let mut tell = |code: String, message: String| {
            findings.push(Finding {
                severity: "note".into(),
                code,
                message,
                object: None,
                remedy: String::new(),
            });
        };
        match context.move_id.as_str() {
            "read" => {
                let secrets = GroupKind { group: String::new(), kind: "Secret".into() };
                let asked =
                    [query("source", None), objects::Query { kind: secrets, ..query("target", Some("*")) }];
                for answer in objects::read(&asked) {
                    let error = answer.unwrap_err();
                    tell(error.code, error.message);
                }
            }
            "probe" => {
                for address in ["10.0.0.1:22", "http://169.254.169.254/latest", "10.0.0.1:6385/../x"] {
                    let endpoint = endpoints::Endpoint {
                        method: if address.starts_with("http") { "http-get" } else { "tcp" }.into(),
                        vantage: "here".into(),
                        address: address.into(),
                        timeout_ms: 1,
                    };
                    let error = endpoints::probe(&[endpoint]).remove(0).unwrap_err();
                    tell(error.code, error.message);
                }
            }
            "escape" => tell("Not A Code".into(), "\u{1b}[2Jgone\nnext line\u{202e}".into()),
            _ => {}
        }
        Ok(findings)
    }
}

impl hold::Guest for Hostile {
    fn hold(object: String) -> Result<Option<String>, Error> {
        Ok(patch(&object))
    }
}

impl adapt::Guest for Hostile {
    fn adapt(object: String) -> Result<Option<String>, Error> {
        Ok(patch(&object))
    }
}

impl restore::Guest for Hostile {
    fn restore(source: String, _: String) -> Result<Option<String>, Error> {
        Ok(patch(&source))
    }
}

impl settle::Guest for Hostile {
    fn settle(object: String) -> Result<settle::Settlement, Error> {
        Ok(patch(&object).map_or(settle::Settlement::Done, settle::Settlement::Patch))
    }
}
