//! What people read, word for word: plans and progress.

mod results;

use expect_test::{Expect, expect};
use pivot_core::plan::{Fate, KeepReason, Note, Plan, Stay, StayReason, Step, Why};
use pivot_core::record::Phase;
use pivot_core::refusal::Refusal;
use pivot_core::{GroupKind, Key, OwnerReference, Side, Uid};
use pivot_engine::{Event, Watcher};

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
    }
}

/// A class that others use, a cluster of it with a machine and its secret, a bystander.
fn small_plan() -> Plan {
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
            step(capi("Cluster", "edge"), &[0]),
            step(capi("Machine", "edge-1"), &[1]),
            Step { dropped_owners: vec![lost], ..step(key("", "Secret", Some("ns"), "edge-1"), &[1, 2]) },
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
        notes: vec![Note { code: "n", object: None, message: "two classes share a template".into() }],
    }
}

fn refusals() -> Vec<Refusal> {
    vec![
        Refusal::source(
            "paused",
            capi("Cluster", "edge"),
            "Cluster ns/edge is paused",
            "un-pause it, or --move-paused",
        ),
        Refusal::target("crd-missing", "kind Machine.cluster.x-k8s.io is not served", "install Cluster API"),
    ]
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&anstream::adapter::strip_str(text).to_string());
}

#[test]
fn a_plan_says_what_where_in_which_order_and_why_not() {
    let plan = Plan { refusals: refusals(), ..small_plan() };
    check(
        &Document::<PlanDocument<'_>>::text(&plan, SIDES.0, SIDES.1, false),
        &expect![[r#"
        Plan: 5 objects (1 Cluster, 1 ClusterClass), 1 of them kept in the source too, from kind-boot to prod

          NAMESPACE  OBJECTS  CLUSTERS
          <none>     1
          ns         4        edge

        In the order of creation, each below what it belongs to:

          ClusterClass ns/standard  (kept in the source too: ClusterClass ns/standard is used by Cluster ns/other, which stays)
            Cluster ns/edge
              Machine ns/edge-1
                Secret ns/edge-1  (without its owner Node n)
          Identity global

        Stays in the source (3):
              2  not linked with any Cluster
              1  kind Thing.g.io is not labelled for move
          (-v names them)

        Worth knowing:
          - two classes share a template

        What speaks against it (2):
          - source: Cluster ns/edge is paused
            un-pause it, or --move-paused
          - target: kind Machine.cluster.x-k8s.io is not served
            install Cluster API
    "#]],
    );
}

#[test]
fn many_notes_of_one_sort_are_counted_and_shown_with_v() {
    let note = |n: usize| Note { code: "many", object: None, message: format!("note {n}") };
    let rare = Note { code: "rare", object: None, message: "the one that matters".into() };
    let plan = Plan { notes: (0..1000).map(note).chain([rare]).collect(), ..small_plan() };
    let shown = super::plan::notes(&plan, false);
    assert_eq!(shown.len(), 12);
    assert!(shown.contains(&"the one that matters".to_owned()));
    assert_eq!(shown[11], "and 990 more of this sort (many); -v shows them");
    assert_eq!(super::plan::notes(&plan, true).len(), 1001);
}

#[test]
fn with_v_each_object_that_stays_is_named() {
    let plan = Plan { steps: Vec::new(), notes: Vec::new(), ..small_plan() };
    check(
        &Document::<PlanDocument<'_>>::text(&plan, SIDES.0, SIDES.1, true),
        &expect![[r#"
        Plan: 0 objects, from kind-boot to prod

        Stays in the source (3):
          Secret ns/pull: not linked with any Cluster
          ConfigMap ns/rack: not linked with any Cluster
          Thing ns/t: kind Thing.g.io is not labelled for move
    "#]],
    );
}

fn told(verbose: u8, log: LogFormat) -> String {
    let (output, out, err) = output(verbose, log);
    let progress = Progress::new(output, SIDES, false);
    progress.event(Event::Looking("reading the source"));
    progress.event(Event::Planned(&small_plan()));
    progress.event(Event::Phase(Phase::Copied, 5));
    progress.event(Event::Done(Phase::Copied, &capi("Machine", "edge-1"), "created", Side::Target));
    let what = vec!["Machine ns/edge-1 in the source: not paused yet".to_owned()];
    progress.event(Event::Waiting { what: &what, left: 42 });
    progress.event(Event::Warning("the target has no ready node"));
    progress.end(true);
    assert_eq!(out.text(), "", "progress is for people");
    err.text()
}

#[test]
fn without_a_terminal_each_event_is_a_line() {
    check(
        &told(0, LogFormat::Text),
        &expect![[r#"
            reading the source
            Planned:   5 objects (1 Cluster, 1 ClusterClass), 1 of them kept in the source too, from kind-boot to prod
            note: two classes share a template
            Copied:    creating 5 objects in the target
            created Machine ns/edge-1 in the target
            waiting, 42s left: Machine ns/edge-1 in the source: not paused yet
            warning: the target has no ready node
        "#]],
    );
}

#[test]
fn with_v_counts_and_reasons_are_told_on_the_way() {
    check(
        &told(1, LogFormat::Text),
        &expect![[r#"
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
            waiting, 42s left: Machine ns/edge-1 in the source: not paused yet
            warning: the target has no ready node
        "#]],
    );
}

#[test]
fn lines_of_a_json_log_are_json() {
    for line in told(1, LogFormat::Json).lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["fields"]["message"].is_string() && line["level"].is_string(), "{line}");
    }
}
