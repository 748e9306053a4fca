//! Golden texts for people: plans and progress.

mod describe;
mod documents;
mod foreign_text;
mod messages;
mod pictures;
mod plans;
mod results;
mod roles;
mod saved_plans;
#[path = "../../tests/schemas/mod.rs"]
mod schemas;
mod size;
mod status;
mod texts;

use expect_test::{Expect, expect};
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::plan::{Fate, KeepReason, Note, Plan, Stay, StayReason, Step, Why};
use pivot_core::plugins::hooks::{Finding, PluginFinding, Severity};
use pivot_core::records::record::Phase;
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::{Both, GroupKind, Key, OwnerReference, Side, Uid};
use pivot_engine::{Awaited, Event, Failure, LeaseState, Summary, Verb, Watcher};

use super::testing::output;
use super::*;
use crate::args::LogFormat;

const SIDES: (&str, &str) = ("kind-boot", "prod");

fn key(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Key {
    Key::new(GroupKind::new(group, kind), namespace, name)
}

fn capi(kind: &str, name: &str) -> Key {
    key("cluster.x-k8s.io", kind, Some("ns"), name)
}

fn step(key: Key, after: &[usize]) -> Step {
    Step {
        object: 0,
        uid: Uid(format!("uid-of-{}", key.name)),
        key,
        after: after.to_vec(),
        dropped_owners: Vec::new(),
        fate: Fate::Move,
        why: Why::Root,
        cluster: None,
        in_target: None,
        changes: Vec::new(),
        content: None,
    }
}

fn with_edge(step: Step) -> Step {
    Step { cluster: Some(capi("Cluster", "edge")), ..step }
}

/// A class that others use, a cluster of it with a machine and its secret, and a bystander.
pub(super) fn small_plan() -> Plan {
    let class = capi("ClusterClass", "standard");
    let keep = KeepReason::SharedClass { class: class.clone(), used_by: Some(capi("Cluster", "other")) };
    let lost = OwnerReference {
        api_version: "v1".into(),
        kind: "Node".into(),
        name: "n".into(),
        uid: Uid("x".into()),
        controller: None,
        block_owner_deletion: None,
    };
    Plan {
        steps: vec![
            Step { fate: Fate::Keep(keep), ..step(class, &[]) },
            with_edge(step(capi("Cluster", "edge"), &[0])),
            with_edge(step(capi("Machine", "edge-1"), &[1])),
            with_edge(Step {
                dropped_owners: vec![lost],
                ..step(key("", "Secret", Some("ns"), "edge-1"), &[1, 2])
            }),
            step(key("infra.io", "Identity", None, "global"), &[]),
        ],
        stays: vec![
            Stay { key: key("", "Secret", Some("ns"), "pull"), reason: StayReason::NotLinked },
            Stay { key: key("", "ConfigMap", Some("ns"), "rack"), reason: StayReason::NotLinked },
            Stay {
                key: key("g.io", "Thing", Some("ns"), "t"),
                reason: StayReason::KindNotLabelled { kind: GroupKind::new("g.io", "Thing") },
            },
        ],
        refusals: Vec::new(),
        notes: vec![Note { code: "n".into(), object: None, message: "two classes share a template".into() }],
        ..Plan::default()
    }
}

fn refusals() -> Vec<Refusal> {
    vec![
        Refusal::source(
            "paused",
            capi("Cluster", "edge"),
            "Cluster ns/edge is paused",
            "unpause it, or --accept already-paused",
        ),
        Refusal::target("crd-missing", "kind Machine.cluster.x-k8s.io is not served", "install Cluster API"),
    ]
}

fn advice(stop: &pivot_engine::Stop, next: Vec<String>) -> Advice {
    Advice::new(stop, &Both::default(), next)
}

fn error_document(stop: &pivot_engine::Stop, next: Vec<String>) -> Document<ErrorDocument> {
    ErrorDocument::stop(stop, advice(stop, next))
}

fn print_stop(output: &Output, stop: &pivot_engine::Stop, shown: AlreadyShown, next: &[String]) {
    output.report_stop(stop, shown, &advice(stop, next.to_vec()));
}

fn check(text: impl ToString, expected: &Expect) {
    expected.assert_eq(&anstream::adapter::strip_str(&text.to_string()).to_string());
}

fn planned() -> Event {
    let plan = small_plan();
    Event::Planned { summary: Summary::from(&plan), plan: Arc::new(plan) }
}

fn note(text: impl Into<String>) -> Event {
    Event::Note { code: "many".into(), object: None, text: text.into(), remedies: Vec::new() }
}

fn object(verb: Verb) -> Event {
    Event::Object { verb, object: capi("Machine", "edge-1"), side: Side::Target, phase: Phase::Copied }
}

fn finding(severity: Severity) -> Event {
    Event::Finding {
        plugin: "readiness".into(),
        code: "not-ready".into(),
        severity,
        object: Some(capi("Cluster", "edge")),
        text: "it is not ready".into(),
        remedy: "wait for it".into(),
    }
}

/// One of each variant.
fn events() -> Vec<Event> {
    let awaited = Awaited {
        object: Some(capi("Machine", "edge-1")),
        side: Some(Side::Source),
        plugin: None,
        what: "not paused yet".into(),
        remedy: String::new(),
    };
    let lease = |state, seconds_left| Event::Lease {
        side: Side::Source,
        object: key("coordination.k8s.io", "Lease", Some("kube-system"), "pivot-host"),
        holder: "pivot-host/7".into(),
        state,
        seconds_left,
        renewed: seconds_left.map(|_| "2026-11-21T21:59:57Z".to_owned()),
    };
    vec![
        lease(LeaseState::Waiting, Some(12)),
        lease(LeaseState::Acquired, None),
        Event::Accepted { code: Risk::DependentsLost, kinds: vec![GroupKind::new("", "Secret")] },
        Event::Accepted { code: Risk::TakeoverUnchecked, kinds: Vec::new() },
        Event::Reading { side: Side::Source },
        planned(),
        note("two classes share a template"),
        Event::PhaseBegun { phase: Phase::Copied, objects: 5 },
        object(Verb::Created),
        object(Verb::Used),
        Event::Waiting { awaited: vec![awaited], more: 7, seconds_left: 42 },
        Event::Retrying { side: Side::Target, attempt: 6, error: "no route".into() },
        Event::Throttled { side: Side::Target, requests: 17, after_milliseconds: 1000 },
        finding(Severity::Note),
        finding(Severity::Warn),
        finding(Severity::Stop),
        Event::Warning {
            code: "no-ready-node".into(),
            object: None,
            text: "the target has no ready node".into(),
            remedies: Vec::new(),
        },
        Event::PhaseDone { phase: Phase::Copied, milliseconds: 2345 },
    ]
}

fn shown(events: Vec<Event>, verbose: u8, log: LogFormat) -> String {
    let (output, out, err) = output(verbose, log);
    let progress = Progress::new(output, SIDES, PlanUse::Counted);
    events.into_iter().for_each(|event| progress.event(event));
    progress.end();
    assert_eq!(out.text(), "", "progress is for people");
    err.text()
}

#[test]
fn copies_into_a_directory_name_it() {
    let begun = Event::PhaseBegun { phase: Phase::Copied, objects: 5 };
    let line = events::event_line(&begun, ("kind-boot", "directory /backup"));
    assert_eq!(line, "Copied:    writing 5 objects into directory /backup");
}

#[test]
fn events_are_lines_without_a_terminal() {
    check(
        shown(events(), 0, LogFormat::Text),
        &expect![[r#"
            waiting, 12s left: another run (pivot-host/7) holds Lease kube-system/pivot-host in the source, renewed last at 2026-11-21T21:59:57Z; if it isn't renewed by then, that run counts as dead
            accepted: objects of these kinds are garbage-collected with their owners in the source (dependents-lost: Secret)
            accepted: the target's controllers don't have to show that they took over (takeover-unchecked)
            reading the source
            Planned:   5 objects (1 Cluster, 1 ClusterClass), 1 of them kept in the source too, from kind-boot to prod
            note: two classes share a template
            Copied:    creating 5 objects in the target
            waiting, 42s left: Machine ns/edge-1 in the source: not paused yet; and for 7 more objects
            warning: the target does not answer (no route); retrying
            note: plugin readiness: Cluster ns/edge: it is not ready; wait for it
            warning: plugin readiness: Cluster ns/edge: it is not ready; wait for it
            warning: the target has no ready node
            Copied:    1 object, 1 left as found in 2.3 s
        "#]],
    );
}

#[test]
fn verbose_run_reports_counts_and_reasons() {
    check(
        shown(events(), 1, LogFormat::Text),
        &expect![[r#"
            waiting, 12s left: another run (pivot-host/7) holds Lease kube-system/pivot-host in the source, renewed last at 2026-11-21T21:59:57Z; if it isn't renewed by then, that run counts as dead
            acquired Lease kube-system/pivot-host in the source as pivot-host/7
            accepted: objects of these kinds are garbage-collected with their owners in the source (dependents-lost: Secret)
            accepted: the target's controllers don't have to show that they took over (takeover-unchecked)
            reading the source
            Planned:   5 objects (1 Cluster, 1 ClusterClass), 1 of them kept in the source too, from kind-boot to prod
                 1  Cluster.cluster.x-k8s.io
                 1  ClusterClass.cluster.x-k8s.io
                 1  Identity.infra.io
                 1  Machine.cluster.x-k8s.io
                 1  Secret
            stays: Secret ns/pull: not linked with any Cluster
            stays: ConfigMap ns/rack: not linked with any Cluster
            stays: Thing ns/t: kind Thing.g.io is not labelled for move
            note: two classes share a template
            Copied:    creating 5 objects in the target
            created Machine ns/edge-1 in the target
            left Machine ns/edge-1 in the target as it is
            waiting, 42s left: Machine ns/edge-1 in the source: not paused yet; and for 7 more objects
            warning: the target does not answer (no route); retrying
            the target asks for fewer requests (17 rejected so far)
            note: plugin readiness: Cluster ns/edge: it is not ready; wait for it
            warning: plugin readiness: Cluster ns/edge: it is not ready; wait for it
            warning: the target has no ready node
            Copied:    1 object, 1 left as found in 2.3 s
        "#]],
    );
}

#[test]
fn running_notes_are_counted_too() {
    let notes = || (0..1000).map(|n| note(format!("note {n}"))).chain([planned()]).collect();
    let text = shown(notes(), 0, LogFormat::Text);
    assert!(text.contains("note: note 9\nnote: and 990 more like it (many); -v shows them\n"), "{text}");
    assert_eq!(shown(notes(), 1, LogFormat::Text).matches("note: note").count(), 1000);
    assert_eq!(shown(notes(), 0, LogFormat::Json).lines().count(), 1001, "programs count themselves");
}

fn progress_of_plan(format: OutputFormat) -> (Arc<Progress>, testing::Written) {
    let settings = OutputSettings {
        format,
        log: LogFormat::Text,
        verbose: 0,
        quiet: false,
        bars: false,
        widths: Widths::default(),
    };
    let (output, _, err) = testing::written(settings);
    (Progress::new(output, SIDES, PlanUse::Result), err)
}

fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn json_log_lines_have_event_fields() {
    let lines = json_lines(&shown(events(), 0, LogFormat::Json));
    let text = shown(events(), 1, LogFormat::Text);
    assert_eq!(lines.len(), events().len(), "none is left out");
    for (line, event) in lines.iter().zip(events()) {
        let time = line["time"].as_str().unwrap();
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{line}");
        let serde_json::Value::Object(fields) = serde_json::to_value(&event).unwrap() else { panic!() };
        for (name, value) in &fields {
            assert_eq!(&line[name], value, "{line}");
        }
        let message = line["message"].as_str().unwrap();
        // As text, it has what was counted since its phase began.
        if events::is_shown(&event, true) && !matches!(event, Event::PhaseDone { .. }) {
            assert!(text.contains(message), "{line}");
        }
    }
    let of = |name: &str| lines.iter().find(|line| line["event"] == name).unwrap();
    let machine = serde_json::json!({"group": "cluster.x-k8s.io", "kind": "Machine", "namespace": "ns", "name": "edge-1"});
    assert_eq!((&of("object")["object"], &of("object")["level"]), (&machine, &"info".into()));
    assert_eq!(of("accepted")["code"], "dependents-lost");
    assert_eq!((&of("warning")["level"], &of("retrying")["level"]), (&"warn".into(), &"warn".into()));
}

#[test]
fn own_messages_are_json_lines_too() {
    let (output, _, err) = output(0, LogFormat::Json);
    output.say("two\nlines \u{9b}2J");
    output.fail("no");
    let lines = json_lines(&err.text());
    assert_eq!((&lines[0]["event"], &lines[0]["level"]), (&"message".into(), &"info".into()));
    assert_eq!(lines[0]["message"], "two\\nlines \\u{9b}2J", "what drives a terminal is shown");
    assert_eq!((&lines[1]["level"], &lines[1]["message"]), (&"error".into(), &"no".into()));
}

/// Progress on a terminal with bars.
fn progress_with_bars() -> Arc<Progress> {
    let settings = OutputSettings {
        format: OutputFormat::Text,
        log: LogFormat::Text,
        verbose: 0,
        quiet: false,
        bars: true,
        widths: Widths::default(),
    };
    let (output, ..) = testing::written(settings);
    Progress::new(output, SIDES, PlanUse::Counted)
}

#[test]
fn a_rollback_shows_its_progress() {
    let progress = progress_with_bars();
    let (verb, side, phase) = (Verb::Removed, Side::Target, Phase::Copied);
    progress.event(Event::Object { verb, object: capi("Machine", "a"), side, phase });
    assert_eq!(progress.on_the_bar().as_deref(), Some("removed Machine ns/a in the target"));
    progress.end();
    assert_eq!(progress.on_the_bar(), None);
}

#[test]
fn lines_fit_the_terminal() {
    let settings = OutputSettings {
        format: OutputFormat::Text,
        log: LogFormat::Text,
        verbose: 0,
        quiet: false,
        bars: false,
        widths: Widths { out: Some(40), err: Some(50) },
    };
    let (output, out, err) = testing::written(settings);
    output.result(&(), || {
        let mut text = Text::default();
        text.strong("Moved:", "1,032 objects, from kind-boot to production");
        text.append(Text::from_own_text("a line of a file, which is longer than the terminal"));
        text
    });
    output.warn("the target has no ready and schedulable node at all");
    let expected = "Moved: 1,032 objects, from kind-boot to\n  production\na line of a file, which is longer than the terminal\n";
    assert_eq!(out.text(), expected);
    assert_eq!(err.text(), "warning: the target has no ready and schedulable\n  node at all\n");
}
