//! Events survive a link, and `docs/events.md` lists them all.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fmt, fs};

use pivot_core::messages::risk::Risk;
use pivot_core::plugins::hooks::Severity;
use pivot_core::request::scope::{Namespaces, Scope};
use serde_json::{Value, json};

use super::*;
use crate::base::options::Options;

const DOCS: &str = include_str!("../../../../../docs/events.md");

fn machine() -> Key {
    Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("ns"), "m")
}

fn object(verb: Verb) -> Event {
    Event::Object { verb, object: machine(), side: Side::Target, phase: Phase::Copied }
}

fn under_way() -> MoveStatus {
    let record = json!({
        "format": 5, "writtenBy": "0.1.0", "startedBy": "jane@laptop", "moveId": "4f1c", "phase": "Copied", "scope": {"namespaces": {"one": "ns"}}, "source": "u", "target": "v",
        "startedAt": "2026-11-21T21:00:00Z", "createdNamespaces": [], "plugins": [], "kinds": [], "copiedNamespaces": ["ns"],
        "releaseChunks": 0,
    });
    let record = serde_json::from_value(record).unwrap();
    let missing = Some(Side::Target);
    let (elsewhere, orphaned, asked, one_sided) = (false, false, None, None);
    let (has_ended, recovered) = (false, false);
    MoveStatus {
        decides: Side::Source,
        record,
        elsewhere,
        orphaned,
        asked,
        one_sided,
        has_ended,
        recovered,
        missing,
    }
}

/// One of each kind, with all its fields.
fn samples() -> Vec<Event> {
    let finding = Finding {
        severity: Severity::Warn,
        code: "not-ready".into(),
        message: "it is not ready".into(),
        object: Some(machine()),
        remedy: "wait".into(),
    };
    let text = || "a sentence".to_owned();
    let summary = Summary {
        objects: 5,
        moved: 4,
        kept: 1,
        from_manifests: 2,
        clusters: 1,
        cluster_classes: 1,
        stay: 3,
    };
    let awaited = Awaited { side: Some(Side::Source), ..Awaited::for_plugin("readiness", &finding) };
    vec![
        Event::Reading { side: Side::Source },
        Event::Planned { summary, plan: Arc::default() },
        Event::Accepted { code: Risk::NoPlugin, kinds: vec![GroupKind::new("metal3.io", "BareMetalHost")] },
        Event::UnderWay { status: Box::new(under_way()) },
        Event::PhaseBegun { phase: Phase::Copied, objects: 5 },
        Event::PhaseDone { phase: Phase::Copied, milliseconds: 17 },
        object(Verb::Created),
        Event::finding("readiness", &finding),
        Event::waiting(vec![awaited; MAX_AWAITED + 1], 42),
        Event::Asking { side: Side::Source, place: "boot (https://boot:6443)".into(), seconds: 4 },
        Event::Retrying { side: Side::Target, attempt: 3, error: text() },
        Event::Throttled { side: Side::Source, requests: 7, after_milliseconds: 1000 },
        Event::Lease {
            side: Side::Source,
            object: machine(),
            holder: "pivot-host/1".into(),
            state: LeaseState::Waiting,
            seconds_left: Some(12),
            renewed: Some("2026-11-21T21:59:57Z".into()),
        },
        Event::Note {
            code: "plugin-fits".into(),
            object: Some(machine()),
            text: text(),
            remedies: vec!["enable it".into()],
        },
        Event::Warning {
            code: "undo-lost".into(),
            object: Some(machine()),
            text: text(),
            remedies: vec!["wait".into()],
        },
    ]
}

fn name(event: &Event) -> String {
    serde_json::to_value(event).unwrap()["event"].as_str().unwrap().to_owned()
}

/// A new kind of event fails to compile here, because `samples` needs one, too.
fn place(event: &Event) -> usize {
    match event {
        Event::Reading { .. } => 0,
        Event::Planned { .. } => 1,
        Event::Accepted { .. } => 2,
        Event::UnderWay { .. } => 3,
        Event::PhaseBegun { .. } => 4,
        Event::PhaseDone { .. } => 5,
        Event::Object { .. } => 6,
        Event::Finding { .. } => 7,
        Event::Waiting { .. } => 8,
        Event::Asking { .. } => 9,
        Event::Retrying { .. } => 10,
        Event::Throttled { .. } => 11,
        Event::Lease { .. } => 12,
        Event::Note { .. } => 13,
        Event::Warning { .. } => 14,
    }
}

#[test]
fn events_survive_serialization() {
    for (index, event) in samples().into_iter().enumerate() {
        assert_eq!(place(&event), index);
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
    }
}

#[test]
fn events_without_optional_fields_are_read() {
    let note = json!({"event": "note", "code": "c", "text": "t", "message": "note: t", "time": "", "new": 1});
    assert_eq!(serde_json::from_value::<Event>(note).unwrap(), Event::note("c", "t"));
    let waiting = json!({"event": "waiting", "awaited": [{"what": "rain"}], "secondsLeft": 1});
    let Event::Waiting { awaited, more: 0, .. } = serde_json::from_value(waiting).unwrap() else { panic!() };
    assert_eq!(awaited[0].to_string(), "rain");
}

#[test]
fn long_waits_list_first_items_and_count() {
    let awaited = Awaited::for_object(&machine(), Side::Source, "not paused yet");
    assert_eq!(awaited.to_string(), "Machine ns/m in the source: not paused yet");
    let Event::Waiting { awaited, more, .. } = Event::waiting(vec![awaited; 1_000], 1) else { panic!() };
    assert_eq!((awaited.len(), more), (MAX_AWAITED, 1_000 - MAX_AWAITED));
}

#[test]
fn accepted_risks_are_reported_with_kinds() {
    let mut scope = Scope::new(Namespaces::All);
    assert_eq!(accepted_risk_events(&Options::new(scope.clone()), None), []);
    scope.accept.insert_kinds(Risk::DependentsLost, [GroupKind::new("b", "B"), GroupKind::new("a", "A")]);
    scope.accept.insert(Risk::AlreadyPaused);
    let options = Options { accept: Risk::TakeoverUnchecked.into(), ..Options::new(scope) };
    let of = |code, kinds| Event::Accepted { code, kinds };
    assert_eq!(
        accepted_risk_events(&options, Some(Side::Source)),
        [
            of(Risk::DependentsLost, vec![GroupKind::new("a", "A"), GroupKind::new("b", "B")]),
            of(Risk::AlreadyPaused, Vec::new()),
            of(Risk::TakeoverUnchecked, Vec::new()),
            of(Risk::WithoutSource, Vec::new()),
        ]
    );
}

/// An event's row in the table.
fn row(name: &str) -> &'static str {
    DOCS.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn docs_table_lists_events_and_fields() {
    for event in samples() {
        let row = row(&name(&event));
        let Value::Object(fields) = serde_json::to_value(&event).unwrap() else { panic!() };
        for field in fields.keys().filter(|field| *field != "event") {
            assert!(row.contains(&format!("`{field}`")), "{field} is not in: {row}");
        }
    }
    let names: BTreeSet<String> = samples().iter().map(name).collect();
    let rows = DOCS.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.map(str::to_owned).collect::<BTreeSet<_>>(), names);
}

#[test]
fn docs_examples_cover_each_event() {
    let examples = DOCS.lines().filter(|line| line.starts_with('{'));
    let events: Vec<Event> = examples.map(|line| serde_json::from_str(line).unwrap()).collect();
    let names = |events: &[Event]| events.iter().map(name).collect::<BTreeSet<_>>();
    assert_eq!(names(&events), names(&samples()));
}

/// The words of an enum, taken from serde's error for an unknown one, which lists them all.
fn words<T: serde::de::DeserializeOwned + fmt::Debug>() -> Vec<String> {
    let refusal = serde_json::from_value::<T>(json!("?")).unwrap_err().to_string();
    let (_, known) = refusal.split_once("expected ").unwrap();
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn docs_list_verbs_risks_and_states() {
    let words = [words::<Verb>(), words::<Risk>(), words::<LeaseState>()];
    assert_eq!(words.each_ref().map(Vec::len), [10, 22, 3]);
    for word in words.concat() {
        assert!(DOCS.contains(&format!("`{word}`")), "{word}");
    }
}

/// Codes are literals where events are made: all codes of this crate are in the docs.
#[test]
fn docs_list_codes_of_notes_and_warnings() {
    let mut found = 0;
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if !path.ends_with("tests.rs") {
            let text = fs::read_to_string(path).unwrap();
            for made in ["Event::note(", "Event::warning(", "Event::Note {", "Event::Warning {"] {
                for rest in text.split(made).skip(1) {
                    let rest = rest.trim_start().trim_start_matches("code:").trim_start();
                    let Some(code) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) else {
                        continue;
                    };
                    assert!(DOCS.contains(&format!("`{code}`")), "{code}");
                    found += 1;
                }
            }
        }
    }
    assert!(found >= 10, "{found}");
}
