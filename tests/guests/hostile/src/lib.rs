//! Misbehaves as the object says: `"mode":"trap"` does so in every hook, `"mode":"hold/trap"` in that one. A check has no
//! object: there the configuration says it (`"check":"after-pause/trap"`), or the move's id.

wit_bindgen::generate!({ path: "../../../wit", world: "provider", generate_all });

use std::sync::atomic::{AtomicBool, Ordering};

use exports::pivot::provider::{adapt, check, configure, describe, hold, relate, restore, settle};
use pivot::provider::types::{Error, Kind, ObjectKey, Problem, Scope, Side};
use pivot::provider::{config, context, endpoints, log, objects};

struct Hostile;
export!(Hostile);

fn hosts() -> Kind {
    Kind { group: "test.io".into(), name: "Host".into() }
}

fn clusters() -> Kind {
    Kind { group: "cluster.x-k8s.io".into(), name: "Cluster".into() }
}

fn secrets() -> Kind {
    Kind { group: String::new(), name: "Secret".into() }
}

/// The value of the first string field with that name, at any depth.
fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next()
}

/// How to misbehave here, if at all. `late` applies once the host has paused the object: the dry run does not see it. Once
/// the operator has configured the fix, nothing goes wrong.
fn mode<'a>(here: &str, object: &'a str) -> &'a str {
    if config::get().contains("\"fixed\":true") {
        return "";
    }
    let words = field(object, "mode").unwrap_or("");
    let mode = match words.split_once('/') {
        Some((hook, mode)) if hook == here => mode,
        Some(_) => "",
        None => words,
    };
    match mode.strip_prefix("late-") {
        Some(mode) if object.contains("pivot-host.io/undo") => mode,
        Some(_) => "",
        None => mode,
    }
}

/// Whether this instance has been called.
static CALLED: AtomicBool = AtomicBool::new(false);

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
        "remember" => assert!(!CALLED.swap(true, Ordering::Relaxed), "it remembers an earlier call"),
        "shout" => loop {
            log::write(log::Level::Error, "again");
        },
        "flood" => drop(objects::read(&vec![query(Side::Target, Scope::Moving); 100_000])),
        _ => {}
    }
}

#[inline(never)]
fn deep(n: u64) -> u64 {
    let here = std::hint::black_box([n; 64]);
    if n == 0 { 0 } else { deep(n + 1) + here[(n % 64) as usize] }
}

fn query(side: Side, scope: Scope) -> objects::Query {
    objects::Query { side, kind: hosts(), scope, name: None, extra: vec![] }
}

fn endpoint(address: &str) -> endpoints::Endpoint {
    let target = match address.starts_with("http") {
        true => endpoints::Target::HttpGet(address.into()),
        false => endpoints::Target::Tcp(address.into()),
    };
    endpoints::Endpoint { target, timeout_ms: 1_000, extra: vec![] }
}

/// How many queries were answered, and how many were not.
fn heard<T>(answers: &[Result<T, Error>]) -> String {
    let good = answers.iter().filter(|answer| answer.is_ok()).count();
    let too_large = answers.iter().filter(|a| a.as_ref().is_err_and(|e| e.code == "too-large")).count();
    format!("{good} answers, {too_large} too large")
}

/// A patch that is invalid, unending, or too large.
fn patch(hook: &str, object: &str) -> Option<String> {
    let mode = mode(hook, object);
    misbehave(mode);
    match mode {
        "output" => Some(format!(r#"{{"a":"{}"}}"#, "x".repeat(2 << 20))),
        "array" => Some("[1]".into()),
        "null" => Some("null".into()),
        "broken" => Some(r#"{"metadata":{"#.into()),
        // A different patch each time would need state; this one never converges.
        "again" => Some(r#"{"metadata":{"annotations":{"test.io/again":"x"}}}"#.into()),
        "identity" => Some(r#"{"metadata":{"name":"other","namespace":"other"}}"#.into()),
        "owners" => Some(r#"{"metadata":{"ownerReferences":[]}}"#.into()),
        "mark" => Some(r#"{"metadata":{"annotations":{"pivot-host.io/move":"mine"}}}"#.into()),
        "mark-map" => Some(r#"{"metadata":{"annotations":{"pivot-host.io/undo":{"a":"b"}}}}"#.into()),
        "memory" => {
            Some(r#"{"metadata":{"annotations":{"metal3-hosts.pivot-host.io/state":"mine"}}}"#.into())
        }
        "kind" => Some(r#"{"kind":"Secret"}"#.into()),
        "uid" => Some(r#"{"metadata":{"uid":"00000000-0000-0000-0000-000000000000"}}"#.into()),
        "version" => Some(r#"{"metadata":{"resourceVersion":"1"}}"#.into()),
        "finalizers" => Some(r#"{"metadata":{"finalizers":null}}"#.into()),
        "deletion" => Some(r#"{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}"#.into()),
        "spec" => Some(r#"{"spec":{"note":"forged"}}"#.into()),
        "status" => Some(r#"{"status":{"state":"forged"}}"#.into()),
        "statuses" => Some(r#"{"statuses":{"state":"forged"}}"#.into()),
        "unpause" => Some(r#"{"metadata":{"annotations":{"cluster.x-k8s.io/paused":null}}}"#.into()),
        "resume" => Some(r#"{"spec":{"paused":false}}"#.into()),
        "wrong-type" => Some(r#"{"metadata":{"annotations":{"test.io/a":1}}}"#.into()),
        "wrong-spec" => Some(r#"{"spec":{"note":7}}"#.into()),
        "wrong-status" => Some(r#"{"status":{"state":7}}"#.into()),
        "wrong-label" => Some(r#"{"metadata":{"labels":{"test.io/a":"no label value"}}}"#.into()),
        // A different one each time, without end.
        "count" => {
            let so_far = field(object, "test.io/count").unwrap_or("");
            Some(format!(r#"{{"metadata":{{"annotations":{{"test.io/count":"{so_far}x"}}}}}}"#))
        }
        "note" => Some(r#"{"spec":{"note":"from hostile"}}"#.into()),
        _ => None,
    }
}

impl describe::Guest for Hostile {
    fn plugin() -> describe::Description {
        let change = |hook: &str| describe::Change { hook: hook.into(), kind: hosts() };
        describe::Description {
            name: "hostile".into(),
            version: "0.1.0".into(),
            summary: "Misbehaves.".into(),
            kinds: [hosts(), clusters(), secrets()]
                .map(|kind| describe::SeenKind { kind, versions: vec![] })
                .into(),
            reach: vec![],
            changes: vec![
                describe::Change { hook: "adapt".into(), kind: clusters() },
                change("hold"),
                change("adapt"),
                change("restore"),
                change("settle"),
            ],
            reads: vec![describe::Read { kind: hosts(), side: Side::Target, scope: Scope::Moving }],
            probes: vec!["*:6385".into()],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }
}

fn key(kind: Kind, namespace: &str, name: String) -> ObjectKey {
    ObjectKey { kind, namespace: Some(namespace.into()), name }
}

impl configure::Guest for Hostile {
    fn check() -> Result<(), Error> {
        Ok(())
    }
}

impl relate::Guest for Hostile {
    fn relations(object: String) -> Result<Vec<relate::Relation>, Error> {
        let mode = mode("relate", &object);
        misbehave(mode);
        let namespace = field(&object, "namespace").unwrap_or("default");
        Ok(match mode {
            // Each part is small; together they are too large.
            "echo" => vec![relate::Relation::Leave("x".repeat(64 << 10)); 40],
            "need-absurd" => vec![relate::Relation::Need(key(secrets(), "kube-system", "nowhere".into()))],
            "need-elsewhere" => vec![relate::Relation::Need(key(secrets(), "elsewhere", "theirs".into()))],
            "link-absurd" => vec![relate::Relation::Link(key(hosts(), "nowhere", "nobody".into()))],
            "link-itself" => {
                let name = field(&object, "name").unwrap_or("h").to_owned();
                vec![relate::Relation::Link(key(hosts(), namespace, name))]
            }
            "no-name" => vec![relate::Relation::Link(key(hosts(), "../..", "\u{1b}[2J".into()))],
            // Links everything to everything: h0 to h99, both ways.
            "link-all" => {
                let all = (0..100).map(|n| relate::Relation::Link(key(hosts(), namespace, format!("h{n}"))));
                all.collect()
            }
            "too-many" => vec![relate::Relation::Keep("again".into()); 1_001],
            "blab" => {
                log::write(log::Level::Error, &object);
                vec![]
            }
            _ => vec![],
        })
    }
}

fn problem(code: &str, message: &str) -> Problem {
    Problem {
        code: code.into(),
        message: message.into(),
        objects: vec![],
        remedy: "type \u{1b}]0;gone\u{7}this".into(),
        command: None,
        extra: vec![],
    }
}

fn finding(severity: check::Severity, code: &str, message: &str) -> check::Finding {
    check::Finding { severity, problem: problem(code, message) }
}

impl check::Guest for Hostile {
    fn findings(point: String) -> Result<Vec<check::Finding>, Error> {
        let config = config::get();
        let move_id = context::move_id();
        let told = field(&config, "check").and_then(|words| words.split_once('/'));
        let mode = match told {
            Some((at, mode)) if at == point => mode,
            Some(_) => "",
            None => &move_id,
        };
        misbehave(mode);
        let mut findings = vec![];
        let mut tell =
            |code: String, message: String| findings.push(finding(check::Severity::Note, &code, &message));
        match mode {
            "read" => {
                let all = objects::Query { kind: secrets(), ..query(Side::Target, Scope::All) };
                let asked = [query(Side::Source, Scope::Moving), all];
                for answer in objects::read(&asked) {
                    let error = answer.unwrap_err();
                    tell(error.code, error.message);
                }
            }
            // As much as one call may query: the same object, the same one by one, and a different one each time.
            "same" => {
                let same = query(Side::Target, Scope::Moving);
                for asked in [vec![same.clone(); 40], vec![same.clone()], vec![same.clone()]] {
                    tell("heard".into(), heard(&objects::read(&asked)));
                }
            }
            "each" => {
                let each: Vec<_> =
                    (0..90).map(|n| query(Side::Target, Scope::One(format!("n{n}")))).collect();
                tell("heard".into(), heard(&objects::read(&each)));
                tell(
                    "heard".into(),
                    heard(&objects::read(&[query(Side::Target, Scope::One("more".into()))])),
                );
            }
            "probes" => {
                let each: Vec<_> = (0..90).map(|n| endpoint(&format!("10.0.0.{n}:6385"))).collect();
                tell("heard".into(), heard(&endpoints::probe(&each)));
                let same = vec![endpoint("10.0.0.0:6385"); 9];
                tell("heard".into(), heard(&endpoints::probe(&same)));
            }
            "probe" => {
                for address in ["10.0.0.1:22", "http://169.254.169.254/latest", "10.0.0.1:6385/../x"] {
                    let error = endpoints::probe(&[endpoint(address)]).remove(0).unwrap_err();
                    tell(error.code, error.message);
                }
            }
            "escape" => tell("Not A Code".into(), "\u{1b}[2Jgone\nnext line\u{202e}".into()),
            "wait" => findings.push(finding(check::Severity::Wait, "never", "it never comes")),
            "stop" => findings.push(finding(check::Severity::Stop, "no-more", "no more of this")),
            "huge" => {
                let words = "huge ".repeat(100);
                for severity in [check::Severity::Note, check::Severity::Warn, check::Severity::Wait] {
                    findings.extend((0..300).map(|n| finding(severity, "huge", &format!("{n} {words}"))));
                }
            }
            _ => {}
        }
        Ok(findings)
    }
}

impl hold::Guest for Hostile {
    fn patch(object: String) -> Result<Option<String>, Error> {
        // Holds what settle is meant to release.
        let held = field(&object, "mode").is_some_and(|words| words.starts_with("settle/"));
        if held && !object.contains("test.io/held") {
            return Ok(Some(r#"{"metadata":{"annotations":{"test.io/held":""}}}"#.into()));
        }
        Ok(patch("hold", &object))
    }
}

impl adapt::Guest for Hostile {
    fn patch(object: String) -> Result<Option<String>, Error> {
        Ok(patch("adapt", &object))
    }
}

impl restore::Guest for Hostile {
    fn status(source: String, _: String) -> Result<restore::Restoration, Error> {
        Ok(restore::Restoration { copy: vec![], patch: patch("restore", &source), extra: vec![] })
    }
}

impl settle::Guest for Hostile {
    fn next(object: String) -> Result<settle::Settlement, Error> {
        Ok(match mode("settle", &object) {
            "wait" => settle::Settlement::Wait(problem("never", "it never comes")),
            "stop" => settle::Settlement::Stop(problem("no-more", "no more of this")),
            _ => patch("settle", &object).map_or(settle::Settlement::Done, settle::Settlement::Patch),
        })
    }
}
