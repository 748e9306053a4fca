//! Well-behaved: every hook does a little, and has nothing left to do when called again.

wit_bindgen::generate!({ path: "../../../wit", world: "provider", generate_all });

use exports::pivot::provider::{adapt, check, configure, describe, hold, relate, restore, settle};
use pivot::provider::types::{Error, Kind, ObjectKey, Problem, Scope, Side};
use pivot::provider::{config, context, endpoints, log, objects};

struct Steady;
export!(Steady);

fn hosts() -> Kind {
    Kind { group: "test.io".into(), name: "Host".into() }
}

/// The value of the first string field with that name, at any depth. A real plugin would parse the object.
fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

impl describe::Guest for Steady {
    fn plugin() -> describe::Description {
        let change = |hook: &str| describe::Change { hook: hook.into(), kind: hosts() };
        describe::Description {
            name: "steady".into(),
            version: "0.1.0".into(),
            summary: format!("Behaves. Its configuration while it describes itself: {}.", config::get()),
            kinds: [hosts()].map(|kind| describe::SeenKind { kind, versions: vec![] }).into(),
            reach: vec![],
            changes: vec![change("hold"), change("adapt"), change("restore"), change("settle")],
            reads: vec![
                describe::Read { kind: hosts(), side: Side::Target, scope: Scope::Moving },
                describe::Read {
                    kind: Kind { group: String::new(), name: "Secret".into() },
                    side: Side::Source,
                    scope: Scope::One("ironic".into()),
                },
            ],
            probes: vec!["*:6385".into()],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }
}

impl configure::Guest for Steady {
    fn check() -> Result<(), Error> {
        match field(&config::get(), "wrong") {
            Some(why) => Err(Error { code: "invalid".into(), message: format!("wrong: {why}") }),
            None => Ok(()),
        }
    }
}

impl relate::Guest for Steady {
    fn relations(object: String) -> Result<Vec<relate::Relation>, Error> {
        let Some(owner) = field(&object, "owner") else { return Ok(vec![]) };
        // A pure hook may not query; the error says why.
        let asked = objects::read(&[query(Side::Target, Scope::Moving)]);
        let denied = asked.into_iter().next().unwrap().unwrap_err();
        Ok(vec![
            relate::Relation::Link(ObjectKey {
                kind: Kind { group: "test.io".into(), name: "Rack".into() },
                namespace: Some("n".into()),
                name: owner.into(),
            }),
            relate::Relation::Keep(denied.message),
        ])
    }
}

fn query(side: Side, scope: Scope) -> objects::Query {
    objects::Query { side, kind: hosts(), scope, name: None, extra: vec![] }
}

fn problem(code: &str, message: String, objects: Vec<ObjectKey>) -> Problem {
    Problem { code: code.into(), message, objects, remedy: String::new(), command: None, extra: vec![] }
}

impl check::Guest for Steady {
    fn findings(point: String) -> Result<Vec<check::Finding>, Error> {
        let moving = context::objects();
        log::write(log::Level::Info, &format!("{point} with {} objects", moving.len()));
        let mut findings = vec![];
        let mut note = |code: &str, message: String| {
            let problem = problem(code, message, moving.first().cloned().into_iter().collect());
            findings.push(check::Finding { severity: check::Severity::Note, problem });
        };
        let namespaces =
            context::namespaces().into_iter().map(|one| format!("{}={}", one.source, one.target));
        let about =
            [context::run(), context::move_id(), context::place(Side::Source), context::place(Side::Target)];
        note("context", about.into_iter().chain(namespaces).collect::<Vec<_>>().join(" "));
        note("config", config::get());
        let secrets = Kind { group: String::new(), name: "Secret".into() };
        let queries = [
            query(Side::Target, Scope::Moving),
            query(Side::Target, Scope::One("elsewhere".into())),
            query(Side::Source, Scope::Moving),
            query(Side::Target, Scope::All),
            objects::Query { kind: secrets, ..query(Side::Source, Scope::One("ironic".into())) },
        ];
        for answer in objects::read(&queries) {
            match answer {
                Ok(found) => note("read", found.join(" ")),
                Err(error) => note(&error.code, error.message),
            }
        }
        let endpoint = |address: &str| endpoints::Endpoint {
            target: endpoints::Target::Tcp(address.into()),
            timeout_ms: 1_000,
            extra: vec![],
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
    fn patch(object: String) -> Result<Option<String>, Error> {
        Ok(annotate(&object, "test.io/held"))
    }
}

impl adapt::Guest for Steady {
    fn patch(object: String) -> Result<Option<String>, Error> {
        if let Some(namespace) = field(&object, "place") {
            let there = context::target_namespace(namespace);
            return Ok((there != namespace).then(|| format!(r#"{{"place":"{there}"}}"#)));
        }
        Ok(annotate(&object, "test.io/adapted"))
    }
}

impl restore::Guest for Steady {
    fn status(source: String, copy: String) -> Result<restore::Restoration, Error> {
        if source.contains("\"status\":") {
            return Ok(restore::Restoration { copy: vec!["/status".into()], patch: None, extra: vec![] });
        }
        let state = field(&source, "state").filter(|state| field(&copy, "state") != Some(*state));
        let patch = state.map(|state| format!(r#"{{"status":{{"state":"{state}"}}}}"#));
        Ok(restore::Restoration { copy: vec![], patch, extra: vec![] })
    }
}

impl settle::Guest for Steady {
    fn next(object: String) -> Result<settle::Settlement, Error> {
        let problem =
            Problem { remedy: "wait".into(), ..problem("not-ready", "it is not ready".into(), vec![]) };
        Ok(match field(&object, "state") {
            Some("ready") if object.contains("test.io/held") => {
                settle::Settlement::Patch(r#"{"metadata":{"annotations":{"test.io/held":null}}}"#.into())
            }
            Some("ready") => settle::Settlement::Done,
            Some("restored") if context::written_since_commit() => settle::Settlement::Done,
            Some("broken") => settle::Settlement::Stop(problem),
            Some("mute") => return Err(Error { code: "mute".into(), message: "says no word".into() }),
            _ => settle::Settlement::Wait(problem),
        })
    }
}
