//! The output of a move and of a plan of 1,032 objects for people: one page with the necessary facts.

use std::time::Duration;

use pivot_core::messages::risk::Risk;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_engine::Report;

use super::*;

const CLUSTERS: usize = 24;
/// The dependents of each Cluster: 43 objects.
const KINDS: [(&str, &str, usize); 8] = [
    ("cluster.x-k8s.io", "Cluster", 1),
    ("infra.io", "InfraCluster", 1),
    ("controlplane.io", "KubeadmControlPlane", 1),
    ("cluster.x-k8s.io", "Machine", 8),
    ("infra.io", "InfraMachine", 8),
    ("bootstrap.io", "KubeadmConfig", 8),
    ("", "Secret", 8),
    ("metal3.io", "BareMetalHost", 8),
];

fn fleet() -> Plan {
    let mut steps: Vec<Step> = Vec::new();
    for n in 0..CLUSTERS {
        let cluster = steps.len();
        for (group, kind, count) in KINDS {
            let after: &[usize] = if kind == "Cluster" { &[] } else { &[cluster] };
            let name = |m: usize| if count == 1 { format!("c{n:02}") } else { format!("c{n:02}-{m}") };
            let of = key("cluster.x-k8s.io", "Cluster", Some("fleet"), &format!("c{n:02}"));
            let of = |step: Step| Step { cluster: Some(of.clone()), ..step };
            steps.extend((0..count).map(|m| of(step(key(group, kind, Some("fleet"), &name(m)), after))));
        }
    }
    Plan { steps, ..Plan::default() }
}

fn of_kind(plan: &Plan, kind: &str) -> Vec<Key> {
    let keys = plan.steps.iter().map(|step| step.key.clone());
    keys.filter(|key| key.group_kind.kind == kind).collect()
}

fn phase(phase: Phase, verb: Verb, side: Side, objects: &[Key], milliseconds: u64) -> Vec<Event> {
    let done = |object: &Key| Event::Object { verb, object: object.clone(), side, phase };
    let begun = Event::PhaseBegun { phase, objects: 1_032 };
    let end = Event::PhaseDone { phase, milliseconds };
    [begun].into_iter().chain(objects.iter().map(done)).chain([end]).collect()
}

/// Half a minute of waiting, in which one object after another becomes ready.
fn waits(objects: &[Key], what: &str) -> Vec<Event> {
    let awaited = |object: &Key| Awaited {
        object: Some(object.clone()),
        side: Some(Side::Target),
        plugin: None,
        what: what.into(),
        remedy: String::new(),
    };
    let wait = |(n, seconds): (usize, u64)| Event::Waiting {
        awaited: objects.iter().skip(n).take(100).map(awaited).collect(),
        more: 0,
        seconds_left: 300 - seconds,
    };
    (0..6).zip((5..).step_by(5)).map(wait).collect()
}

/// Every event of a move.
fn events() -> Vec<Event> {
    let plan = fleet();
    let all: Vec<Key> = plan.steps.iter().map(|step| step.key.clone()).collect();
    let (clusters, machines, hosts) =
        (of_kind(&plan, "Cluster"), of_kind(&plan, "Machine"), of_kind(&plan, "BareMetalHost"));
    let lease = |state| Event::Lease {
        side: Side::Source,
        object: key("coordination.k8s.io", "Lease", Some("kube-system"), "pivot-host"),
        holder: "pivot-host/7".into(),
        state,
        seconds_left: Some(15),
        renewed: None,
    };
    let warning = |object: &Key| Event::Finding {
        plugin: "readiness".into(),
        code: "old".into(),
        severity: Severity::Warn,
        object: Some(object.clone()),
        text: format!("{object} runs an old version"),
        remedy: "upgrade it".into(),
    };
    let warnings = || machines.iter().map(warning);
    let target = |what, verb, objects, time| phase(what, verb, Side::Target, objects, time);
    let source = |what, verb, objects, time| phase(what, verb, Side::Source, objects, time);
    let mut events: Vec<Event> =
        [LeaseState::Waiting, LeaseState::Acquired].map(|state| vec![lease(state); CLUSTERS]).concat();
    events.push(Event::Accepted { code: Risk::AlreadyPaused, kinds: Vec::new() });
    events.extend([Event::Reading { side: Side::Source }, Event::Reading { side: Side::Target }]);
    events.push(Event::Planned { summary: Summary::from(&plan), plan: Arc::new(plan) });
    events.extend((0..300).map(|n| note(format!("note {n}"))));
    events.extend(warnings().chain(source(Phase::Checked, Verb::Paused, &[], 400)));
    events.extend(waits(&machines, "not paused yet"));
    events.extend(warnings().chain(source(Phase::Paused, Verb::Paused, &clusters, 31_000)));
    events.extend(target(Phase::Copied, Verb::Created, &all, 2_106));
    events.extend(warnings().chain(target(Phase::Committed, Verb::Updated, &all[..3], 900)));
    events.extend(waits(&clusters, "its controller has not written to it yet"));
    events.extend(warnings().chain(target(Phase::Live, Verb::Unpaused, &clusters, 33_000)));
    events.extend(source(Phase::Released, Verb::Deleted, &all, 3_440));
    events.extend(waits(&hosts, "it is not powered on"));
    events.extend(target(Phase::Settled, Verb::UnpausedHeld, &hosts, 41_000));
    events
}

/// Returns a move's lines on stdout and stderr: progress, then its result.
fn written(verbose: u8, quiet: bool, log: LogFormat) -> String {
    let settings = OutputSettings {
        format: OutputFormat::Text,
        log,
        verbose,
        quiet,
        bars: false,
        widths: Widths::default(),
    };
    let (output, out, err) = super::super::testing::written(settings);
    let progress = Progress::new(output.clone(), SIDES, PlanUse::Counted);
    events().into_iter().for_each(|event| progress.event(event));
    progress.end();
    let mut report = Report {
        move_id: "1234".into(),
        done: Default::default(),
        times: vec![(Phase::Copied, Duration::from_millis(2_106)); 7],
    };
    for step in fleet().steps {
        *report.done.moved.entry(step.key.group_kind).or_default() += 1;
    }
    output.result(&"", || move_result(&report, SIDES, verbose > 0));
    err.text() + &out.text()
}

#[test]
fn thousand_objects_fit_on_a_page() {
    let text = written(0, false, LogFormat::Text);
    assert!(text.lines().count() <= 80, "{} lines:\n{text}", text.lines().count());
    for says in [
        "accepted: Clusters that a user paused move, and stay paused (already-paused)",
        "Planned:   1,032 objects (24 Clusters), from kind-boot to prod",
        "note: and 290 more like it (many); -v shows them",
        "warning: plugin readiness: Machine fleet/c00-0 runs an old version (also 191 Machines: fleet/c00-1, fleet/c00-2, \
         fleet/c00-3, … and 188 more); upgrade it",
        "waiting, 295s left: in the target: not paused yet (100 Machines: fleet/c00-0, ",
        "Paused:    24 objects in 31.0 s",
        "Copied:    creating 1,032 objects in the target",
        "Copied:    1,032 objects in 2.1 s, 490/s",
        "Committed: 1,032 objects, 3 updated in 0.9 s",
        "Live:      24 objects in 33.0 s",
        "Released:  1,032 objects in 3.4 s, 300/s",
        "Settled:   192 objects in 41.0 s, 4/s",
        "Moved: 1,032 objects, from kind-boot to prod (move 1234)",
    ] {
        assert!(text.contains(says), "no {says:?} in\n{text}");
    }
    assert_eq!(text.matches("runs an old version").count(), 1, "said once, whenever it is found again");
    assert_eq!(text.matches("counts as dead").count(), 1, "{text}");
}

#[test]
fn verbose_and_json_list_each_object() {
    let text = written(1, false, LogFormat::Text);
    for what in ["created ", "deleted "] {
        assert_eq!(text.lines().filter(|line| line.starts_with(what)).count(), 1_032);
    }
    assert_eq!(text.matches("runs an old version").count(), 4 * 192);
    let lines =
        written(0, false, LogFormat::Json).lines().filter(|line| line.contains(r#""event":"#)).count();
    assert_eq!(lines, events().len());
}

#[test]
fn quiet_prints_warnings_and_result() {
    let text = written(0, true, LogFormat::Text);
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("warning: plugin readiness: "), "{text}");
    assert!(lines.next().unwrap().starts_with("Moved: 1,032 objects"), "{text}");
}

#[test]
fn a_stopped_phase_counts_what_it_did() {
    let (output, _, err) = output(0, LogFormat::Text);
    let progress = Progress::new(output, SIDES, PlanUse::Counted);
    let [first, last] = [Phase::Copied, Phase::Copied]
        .map(|it| phase(it, Verb::Created, Side::Target, &of_kind(&fleet(), "Secret"), 1));
    first.into_iter().take(100).for_each(|event| progress.event(event));
    progress.end();
    assert!(err.text().ends_with("\nCopied:    stopped after 99 objects\n"), "{}", err.text());
    // A rollback has no phases.
    last.into_iter().skip(1).take(100).for_each(|event| progress.event(event));
    progress.end();
    assert!(err.text().ends_with("\nUndone:    100 created\n"), "{}", err.text());
}

/// A hundred and fifty Machines without a node.
fn refused() -> Plan {
    let plan = fleet();
    let refusal = |machine: &Key| {
        let message = format!("{machine} is not provisioned yet: it has no node");
        let look = format!(
            "wait, and watch `kubectl get -n fleet machine.cluster.x-k8s.io {} -o yaml`",
            machine.name
        );
        Refusal::source("not-provisioned", machine.clone(), message, look)
    };
    let refusals = of_kind(&plan, "Machine").iter().take(150).map(refusal).collect();
    Plan { refusals, ..plan }
}

#[test]
fn large_plan_has_rows_of_clusters() {
    let text = Document::<PlanDocument<'_>>::text(
        &refused(),
        &Reported::default(),
        SIDES,
        &NamespaceMap::default(),
        (false, false),
    )
    .message();
    assert!(text.lines().count() <= 40, "{} lines:\n{text}", text.lines().count());
    for says in [
        "Plan: 1,032 objects (24 Clusters), from kind-boot to prod",
        "  CLUSTER    OBJECTS  HOSTS  PROBLEMS  KINDS",
        "  fleet/c00  43       8      1         8 ",
        "  fleet/c18  43       8      1         8 ",
        "  fleet/c23  43       8      0         8 ",
        "Problems (1):",
        "  - source: Machine fleet/c00-0 is not provisioned yet: it has no node",
        "    likewise 149 more Machines: fleet/c00-1, fleet/c00-2, fleet/c00-3, … and 146 more",
    ] {
        assert!(text.contains(says), "no {says:?} in\n{text}");
    }
    let tree = Document::<PlanDocument<'_>>::text(
        &refused(),
        &Reported::default(),
        SIDES,
        &NamespaceMap::default(),
        (true, false),
    )
    .to_string();
    assert!(tree.lines().count() > 1_032 && tree.contains("\n    Machine fleet/c23-7\n"), "{tree}");
    let (plan, scope) = (refused(), Scope::new(Namespaces::All));
    let document = PlanDocument::new(&plan, SIDES.0, SIDES.1, &scope, &Reported::default(), (&[], &[]));
    let document = serde_json::to_value(document).unwrap();
    assert_eq!(document["steps"].as_array().unwrap().len(), 1_032);
    assert_eq!(document["refusals"].as_array().unwrap().len(), 150);
}

/// Many Clusters must not fill more than a page either: those with problems come first.
#[test]
fn clusters_with_problems_are_shown_first() {
    let clusters: Vec<Key> = (0..500).map(|n| capi("Cluster", &format!("c{n:03}"))).collect();
    let refusals = vec![Refusal::source("c", clusters[499].clone(), "no", "do it")];
    let steps = clusters.into_iter().map(|key| Step { cluster: Some(key.clone()), ..step(key, &[]) });
    let steps = steps.collect();
    let plan = Plan { steps, refusals, ..Plan::default() };
    let text = Document::<PlanDocument<'_>>::text(
        &plan,
        &Reported::default(),
        SIDES,
        &NamespaceMap::default(),
        (false, false),
    )
    .message();
    assert!(text.lines().count() < 60 && text.contains("ns/c499"), "{text}");
    assert!(text.contains("and 460 more Clusters; -v shows them"), "{text}");
    let all = Document::<PlanDocument<'_>>::text(
        &plan,
        &Reported::default(),
        SIDES,
        &NamespaceMap::default(),
        (true, true),
    )
    .to_string();
    assert!((0..500).all(|n| all.contains(&format!("  ns/c{n:03}"))), "{all}");
}
