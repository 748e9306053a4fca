//! Has the defect that its configuration names (`{"defect":"status"}`), and none without it.

wit_bindgen::generate!({ path: "../../../wit", world: "provider", generate_all });

use exports::pivot::provider::{adapt, check, configure, describe, hold, relate, restore, settle};
use pivot::provider::types::{Error, Kind, ObjectKey, Problem, Scope, Side};
use pivot::provider::{config, context, endpoints, objects};

struct Faulty;
export!(Faulty);

fn kind(name: &str) -> Kind {
    Kind { group: "test.io".into(), name: name.into() }
}

fn secrets() -> Kind {
    Kind { group: String::new(), name: "Secret".into() }
}

fn has(defect: &str) -> bool {
    config::get().contains(&format!("\"defect\":\"{defect}\""))
}

impl describe::Guest for Faulty {
    fn plugin() -> describe::Description {
        let change = |hook: &str| describe::Change { hook: hook.into(), kind: kind("Host") };
        describe::Description {
            name: "faulty".into(),
            version: "0.1.0".into(),
            summary: "Breaks the rule that its configuration names.".into(),
            kinds: [kind("Host")].map(|kind| describe::SeenKind { kind, versions: vec!["v2".into()] }).into(),
            reach: vec![describe::Reach { kind: secrets(), namespace: None, deletes: false }],
            changes: ["hold", "adapt", "restore", "settle"].map(change).into(),
            reads: vec![describe::Read { kind: kind("Host"), side: Side::Source, scope: Scope::Moving }],
            probes: vec![],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }
}

impl configure::Guest for Faulty {
    fn check() -> Result<(), Error> {
        let config = config::get();
        let known = config == "{}" || config.contains("\"defect\":") && config.matches("\":").count() == 1;
        if known || has("lax") {
            return Ok(());
        }
        Err(Error { code: "invalid".into(), message: format!("unknown field in {config}") })
    }
}

impl relate::Guest for Faulty {
    fn relations(_: String) -> Result<Vec<relate::Relation>, Error> {
        if has("reach") {
            return Ok(vec![]);
        }
        let key =
            ObjectKey { kind: secrets(), namespace: Some("elsewhere".into()), name: "credentials".into() };
        Ok(vec![relate::Relation::Share(key)])
    }
}

impl check::Guest for Faulty {
    fn findings(_: String) -> Result<Vec<check::Finding>, Error> {
        let query =
            |kind, scope| objects::Query { side: Side::Source, kind, scope, name: None, extra: vec![] };
        let asked = match () {
            () if has("undeclared-kind") => query(kind("Rack"), Scope::Moving),
            () if has("namespace") => query(kind("Host"), Scope::One("elsewhere".into())),
            () => query(kind("Host"), Scope::Moving),
        };
        objects::read(&[asked]);
        if has("undeclared-import") {
            let target = endpoints::Target::Tcp("10.0.0.1:80".into());
            endpoints::probe(&[endpoints::Endpoint { target, timeout_ms: 1, extra: vec![] }]);
        }
        let (severity, code) = match () {
            // Not one of the contract's four.
            () if has("severity") => {
                (unsafe { std::mem::transmute::<u8, check::Severity>(std::hint::black_box(9)) }, "new")
            }
            () if has("code") => (check::Severity::Note, "Not A Code"),
            () => return Ok(vec![]),
        };
        let problem = Problem {
            code: code.into(),
            message: "look".into(),
            objects: vec![],
            remedy: String::new(),
            command: None,
            extra: vec![],
        };
        Ok(vec![check::Finding { severity, problem }])
    }
}

fn annotate(name: &str, value: &str) -> Option<String> {
    Some(format!(r#"{{"metadata":{{"annotations":{{"{name}":{value}}}}}}}"#))
}

impl hold::Guest for Faulty {
    fn patch(object: String) -> Result<Option<String>, Error> {
        match () {
            () if has("repeat") => {
                let run = annotate("test.io/run", &format!("\"{}\"", context::run()));
                return Ok(run.filter(|_| !object.contains("\"test.io/run\":")));
            }
            () if has("endless") => return Ok(annotate("test.io/count", &format!("\"{}\"", object.len()))),
            () if has("status") => return Ok(Some(r#"{"status":{"state":"held"}}"#.into())),
            () if has("no-status") => assert!(object.contains("\"status\":"), "no status"),
            () if has("unknown-fields") => assert!(!object.contains("unknownField"), "unknown field"),
            () if has("memory") => {
                let mut all = vec![];
                loop {
                    all.push(std::hint::black_box(vec![1u8; 1 << 20]));
                }
            }
            () if has("time") => while std::hint::black_box(true) {},
            () => {}
        }
        Ok(if object.contains("\"test.io/frozen\":") {
            None
        } else {
            annotate("test.io/frozen", "\"moving\"")
        })
    }
}

impl adapt::Guest for Faulty {
    fn patch(_: String) -> Result<Option<String>, Error> {
        Ok(has("bounds").then(|| r#"{"metadata":{"name":"other"}}"#.into()))
    }
}

impl restore::Guest for Faulty {
    fn status(source: String, copy: String) -> Result<restore::Restoration, Error> {
        let patched = |from: &str, to: &str, patch: &str| {
            (source.contains(from) && !copy.contains(to)).then(|| patch.to_owned())
        };
        let patch = match () {
            () if has("generation") => patched(
                "\"observedGeneration\":7",
                "\"observedGeneration\":7",
                r#"{"status":{"observedGeneration":7}}"#,
            ),
            () if has("integer") => {
                patched("9007199254740993", "9007199254740992", r#"{"status":{"size":9007199254740992}}"#)
            }
            () => {
                return Ok(restore::Restoration { copy: vec!["/status".into()], patch: None, extra: vec![] });
            }
        };
        Ok(restore::Restoration { copy: vec![], patch, extra: vec![] })
    }
}

impl settle::Guest for Faulty {
    fn next(object: String) -> Result<settle::Settlement, Error> {
        let value = if has("pause") { "" } else { "\"moving\"" };
        let held = object.contains(&format!("\"test.io/frozen\":{value}"));
        let unpause = annotate("test.io/frozen", "null").filter(|_| held);
        Ok(unpause.map_or(settle::Settlement::Done, settle::Settlement::Patch))
    }
}
