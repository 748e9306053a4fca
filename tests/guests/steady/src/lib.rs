//! Well-behaved: every hook does a little, and has nothing left to do when called again.

wit_bindgen::generate!({ path: "../../../wit", world: "provider", generate_all });

use exports::pivot::provider::{adapt, check, describe, hold, relate, restore, settle};
use pivot::provider::types::{Error, Finding, GroupKind, MoveContext, ObjectKey};
use pivot::provider::{config, endpoints, log, objects};

struct Steady;
export!(Steady);

fn hosts() -> GroupKind {
    GroupKind { group: "test.io".into(), kind: "Host".into() }
}

/// The value of the first string field with that name, at any depth. A real plugin would parse the object.
fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

impl describe::Guest for Steady {
    fn describe() -> describe::Description {
        let change =
            |hook: &str, side: &str| describe::Change { hook: hook.into(), kind: hosts(), side: side.into() };
        describe::Description {
            name: "steady".into(),
            version: "0.1.0".into(),
            summary: format!("Behaves. Its configuration while it describes itself: {}.", config::get()),
            kinds: vec![hosts()],
            reach: vec![],
            changes: vec![
                change("hold", "source"),
                change("adapt", "target"),
                change("restore", "target"),
                change("settle", "target"),
            ],
            reads: vec![
                describe::Read { kind: hosts(), side: "target".into(), namespace: None },
                describe::Read {
                    kind: GroupKind { group: String::new(), kind: "Secret".into() },
                    side: "source".into(),
                    namespace: Some("ironic".into()),
                },
            ],
            probes: vec!["*:6385".into()],
            secret_data: false,
            extra: vec![],
        }
    }
}

impl relate::Guest for Steady {
    fn relate(object: String) -> Result<Vec<relate::Relation>, Error> {
        let Some(owner) = field(&object, "owner") else { return Ok(vec![]) };
        // A pure hook may not query; the error says why.
        let asked = objects::read(&[query("target", None)]);
        let denied = asked.into_iter().next().unwrap().unwrap_err();
        Ok(vec![
            relate::Relation::Link(ObjectKey {
                group: "test.io".into(),
                kind: "Rack".into(),
                namespace: Some("n".into()),
                name: owner.into(),
            }),
            relate::Relation::Keep(denied.message),
        ])
    }
}

fn query(side: &str, namespace: Option<&str>) -> objects::Query {
    objects::Query { side: side.into(), kind: hosts(), namespace: namespace.map(Into::into), name: None }
}

impl check::Guest for Steady {
    fn check(point: String, context: MoveContext) -> Result<Vec<Finding>, Error> {
        log::log("info", &format!("{point} with {} objects", context.objects.len()));
        let mut findings = vec![];
        let mut note = |code: &str, message: String| {
            findings.push(Finding {
                severity: "note".into(),
                code: code.into(),
                message,
                objects: context.objects.first().cloned().into_iter().collect(),
                remedy: String::new(),
            });
        };
        note("config", config::get());
        let secrets = GroupKind { group: String::new(), kind: "Secret".into() };
        let queries = [
            query("target", None),
            query("target", Some("elsewhere")),
            query("source", None),
            query("target", Some("*")),
            objects::Query { kind: secrets, namespace: Some("ironic".into()), ..query("source", None) },
        ];
        for answer in objects::read(&queries) {
            match answer {
                Ok(found) => note("read", found.join(" ")),
                Err(error) => note(&error.code, error.message),
            }
        }
        let endpoint = |address: &str| endpoints::Endpoint {
            method: "tcp".into(),
            vantage: "here".into(),
            address: address.into(),
            timeout_ms: 1_000,
        };
        // Fifty that are granted, one that is declared but not granted, one that is neither.
        let mut many: Vec<_> = (1..=50).map(|n| endpoint(&format!("10.0.0.{n}:6385"))).collect();
        many.push(endpoint("192.168.0.1:6385"));
        many.push(endpoint("10.0.0.1:22"));
        let answers = endpoints::probe(&many);
        note("probed", answers.iter().filter(|answer| answer.is_ok()).count().to_string());
        for answer in answers {
            if let Err(error) = answer {
                note(&error.code, error.message);
            }
        }
        Ok(findings)
    }
}

/// A patch that adds one annotation, unless the object has it.
fn annotate(object: &str, key: &str) -> Option<String> {
    (!object.contains(key)).then(|| format!(r#"{{"metadata":{{"annotations":{{"{key}":"yes"}}}}}}"#))
}

impl hold::Guest for Steady {
    fn hold(object: String) -> Result<Option<String>, Error> {
        Ok(annotate(&object, "test.io/held"))
    }
}

impl adapt::Guest for Steady {
    fn adapt(object: String) -> Result<Option<String>, Error> {
        Ok(annotate(&object, "test.io/adapted"))
    }
}

impl restore::Guest for Steady {
    fn restore(source: String, created: String) -> Result<Option<String>, Error> {
        let state = field(&source, "state");
        let restored = state.filter(|state| field(&created, "state") != Some(*state));
        Ok(restored.map(|state| format!(r#"{{"status":{{"state":"{state}"}}}}"#)))
    }
}

impl settle::Guest for Steady {
    fn settle(object: String) -> Result<settle::Settlement, Error> {
        let wait = Finding {
            severity: "wait".into(),
            code: "not-ready".into(),
            message: "it is not ready".into(),
            objects: vec![],
            remedy: "wait".into(),
        };
        Ok(match field(&object, "state") {
            Some("ready") if object.contains("test.io/held") => {
                settle::Settlement::Patch(r#"{"metadata":{"annotations":{"test.io/held":null}}}"#.into())
            }
            Some("ready") => settle::Settlement::Done,
            Some("broken") => settle::Settlement::Stop(Finding { severity: "stop".into(), ..wait }),
            Some("mute") => return Err(Error { code: "mute".into(), message: "says no word".into() }),
            _ => settle::Settlement::Wait(wait),
        })
    }
}
