use serde_json::{Value, json};

use super::*;
use crate::messages::risk::Risk;
use crate::objects::names;
use crate::testing::{Case, kind, remedies};

/// A v1beta2 Cluster that is up and running.
fn running() -> Value {
    json!({
        "spec": {"controlPlaneRef": {"name": "cp"}},
        "status": {
            "initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true},
            "conditions": [{"type": "Available", "status": "True"}, {"type": "ControlPlaneInitialized", "status": "True"}],
        },
    })
}

/// The same in v1beta1.
fn running_v1beta1() -> Value {
    json!({
        "spec": {"controlPlaneRef": {"kind": "KubeadmControlPlane"}},
        "status": {
            "infrastructureReady": true,
            "controlPlaneReady": true,
            "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}],
        },
    })
}

fn with(mut body: Value, patch: Value) -> Value {
    crate::objects::merge::apply_patch(&mut body, &patch);
    body
}

fn body(name: &str, body: Value) -> Object {
    let metadata =
        json!({"metadata": {"name": "x", "namespace": "ns", "uid": name, "labels": {names::LABEL_MOVE: ""}}});
    Object::from_value(kind(name), &with(body, metadata)).unwrap()
}

fn codes(object: Object, change: impl Fn(&mut Scope), ours: Option<&str>) -> Vec<&'static str> {
    let mut case = Case::new("");
    case.inventory = Inventory::new(vec![object]);
    change(&mut case.scope);
    let refusals =
        check_moved_objects(&case.inventory, &case.plan(), &case.scope, ours, &SafeKinds::default());
    refusals.into_iter().map(|refusal| refusal.code).collect()
}

fn accepted(object: Object) -> Vec<&'static str> {
    codes(object, |_| {}, None)
}

#[test]
fn running_clusters_pass_in_both_versions() {
    assert!(accepted(body("Cluster", running())).is_empty());
    assert!(accepted(body("Cluster", running_v1beta1())).is_empty());
}

#[test]
fn cluster_without_reference_needs_no_control_plane() {
    for undefined in [json!(null), json!({"name": null}), json!({"name": ""})] {
        let patch = json!({"spec": {"controlPlaneRef": undefined}, "status": {"initialization": {"controlPlaneInitialized": null}}});
        assert!(accepted(body("Cluster", with(running(), patch))).is_empty());
    }
}

#[test]
fn clusters_being_built_are_refused() {
    for (base, missing) in [
        (running(), json!({"status": null})),
        (running(), json!({"status": {"initialization": null}})),
        (running(), json!({"status": {"initialization": {"infrastructureProvisioned": false}}})),
        (running(), json!({"status": {"initialization": {"controlPlaneInitialized": null}}})),
        (running(), json!({"status": {"conditions": []}})),
        (
            running(),
            json!({"status": {"conditions": [{"type": "ControlPlaneInitialized", "status": "False"}]}}),
        ),
        (running_v1beta1(), json!({"status": {"infrastructureReady": false}})),
        (running_v1beta1(), json!({"status": {"controlPlaneReady": null}})),
    ] {
        let cluster = body("Cluster", with(base, missing.clone()));
        assert_eq!(accepted(cluster.clone()), ["not-provisioned"], "{missing}");
        assert!(codes(cluster, |scope| scope.accept.insert(Risk::Unprovisioned), None).is_empty());
    }
}

#[test]
fn a_machine_without_node_is_refused() {
    for (status, fine) in [
        (json!(null), false),
        (json!({"nodeRef": {}}), false),
        (json!({"nodeRef": {"name": ""}}), false),
        (json!({"nodeRef": {"name": "n"}}), true),
    ] {
        let machine = body("Machine", json!({"status": status}));
        assert_eq!(accepted(machine.clone()).is_empty(), fine, "{status}");
        assert!(codes(machine, |scope| scope.accept.insert(Risk::Unprovisioned), None).is_empty());
    }
}

#[test]
fn records_and_locks_of_moves_are_refused() {
    let labelled = |label: &str| body("ConfigMap", json!({"metadata": {"labels": {label: "x"}}}));
    assert_eq!(accepted(labelled("pivot-host.io/record")), ["own-object"]);
    assert!(accepted(labelled("example.com/record")).is_empty());
}

#[test]
fn pauses_by_others_are_refused() {
    let annotated = json!({"metadata": {"annotations": {names::PAUSED: "false"}}});
    let by_field = body("Cluster", with(running(), json!({"spec": {"paused": true}})));
    let by_annotation = body("Cluster", with(running(), annotated.clone()));
    let class = body("ClusterClass", annotated);
    for object in [by_field, by_annotation, class] {
        assert_eq!(accepted(object.clone()), ["already-paused"]);
        assert!(codes(object, |scope| scope.accept.insert(Risk::AlreadyPaused), None).is_empty());
    }
    assert!(accepted(body("Cluster", with(running(), json!({"spec": {"paused": false}})))).is_empty());
}

#[test]
fn only_pauses_of_this_move_are_ours() {
    let paused = pause::with_undo(&running(), json!({"spec": {"paused": true}}), "one");
    let cluster = body("Cluster", with(running(), paused));
    assert!(codes(cluster.clone(), |_| {}, Some("one")).is_empty());
    for ours in [None, Some("two")] {
        assert_eq!(
            codes(cluster.clone(), |scope| scope.accept.insert(Risk::AlreadyPaused), ours),
            ["paused-by-other-move"]
        );
    }
}

#[test]
fn pauses_by_moves_name_their_move() {
    for (id, by) in [("one", "move one"), ("any text", "another move")] {
        let paused = pause::with_undo(&running(), json!({"spec": {"paused": true}}), id);
        let mut case = Case::new("");
        case.inventory = Inventory::new(vec![body("Cluster", with(running(), paused))]);
        let checked =
            check_moved_objects(&case.inventory, &case.plan(), &case.scope, None, &SafeKinds::default());
        let expected = format!("Cluster ns/x is paused by {by}, which has not ended");
        assert_eq!(checked[0].message, expected);
    }
}

/// Whoever paused it may run it elsewhere.
#[test]
fn no_remedy_for_a_pause_unpauses() {
    for patch in
        [json!({"spec": {"paused": true}}), json!({"metadata": {"annotations": {names::PAUSED: ""}}})]
    {
        let mut case = Case::new("");
        case.inventory = Inventory::new(vec![body("Cluster", with(running(), patch))]);
        let refusal =
            check_moved_objects(&case.inventory, &case.plan(), &case.scope, None, &SafeKinds::default())
                .remove(0);
        assert_eq!(
            remedies(&refusal),
            "find out who paused it, and why: another management cluster may run it (`kubectl get -n ns \
             cluster.cluster.x-k8s.io x -o 'jsonpath={.metadata.managedFields}'` shows who wrote the pause) | \
             {\"remedy\":\"move-paused\"}"
        );
    }
}

// proves: W4
#[test]
fn w4_staying_objects_are_not_checked() {
    let case = Case::new(
        "Secret ns/s < Cluster other/gone ! move
         Machine ns/m",
    );
    assert!(
        check_moved_objects(&case.inventory, &case.plan(), &case.scope, None, &SafeKinds::default())
            .is_empty()
    );
}

// proves: W24
#[test]
fn w24_an_unreadable_status_is_refused() {
    assert_eq!(accepted(body("Machine", json!({"status": "broken"}))), ["unreadable"]);
}

#[test]
fn dangerous_kinds_need_a_plugin_or_consent() {
    let case = Case::new(
        "BareMetalHost ns/a ! move
         BareMetalHost ns/b ! move
         BareMetalHost ns/stays",
    );
    let kind = kind("BareMetalHost").group_kind.clone();
    let refusals = |case: &Case, handled: &BTreeSet<GroupKind>| {
        let safe = SafeKinds { handled: handled.clone(), restored: handled.clone() };
        check_moved_objects(&case.inventory, &case.plan(), &case.scope, None, &safe)
    };
    let found = refusals(&case, &BTreeSet::new());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, "needs-plugin");
    assert!(found[0].message.starts_with("no plugin handles BareMetalHost ns/a and BareMetalHost ns/b: "));
    assert_eq!(found[0].remedies.last(), Some(&Remedy::MoveWithoutPlugin { kind: kind.clone() }));
    assert!(refusals(&case, &[kind.clone()].into()).is_empty());
    let mut accepting = Case::new("BareMetalHost ns/a ! move");
    accepting.scope.accept.insert_kind(Risk::NoPlugin, kind);
    assert!(refusals(&accepting, &BTreeSet::new()).is_empty());
    assert!(refusals(&Case::new("BareMetalHost ns/stays"), &BTreeSet::new()).is_empty());
}

#[test]
fn externally_managed_objects_keep_no_status() {
    let managed = json!({"metadata": {"annotations": {names::MANAGED_BY: ""}}});
    let ready = with(managed.clone(), json!({"status": {"ready": true}}));
    for (name, object, expected) in [
        ("InfraCluster", ready.clone(), &["externally-managed"][..]),
        // There is no status to lose.
        ("InfraCluster", managed.clone(), &[]),
        ("InfraCluster", with(managed.clone(), json!({"status": {}})), &[]),
        ("InfraCluster", json!({"status": {"ready": true}}), &[]),
        ("Cluster", with(running(), managed), &[]),
    ] {
        assert_eq!(accepted(body(name, object.clone())), expected, "{name} {object}");
    }
    let mut case = Case::new("");
    case.inventory = Inventory::new(vec![body("InfraCluster", ready)]);
    let infra = kind("InfraCluster").group_kind.clone();
    let handled = BTreeSet::from([infra.clone()]);
    let check = |case: &Case, handled: &BTreeSet<GroupKind>| {
        let safe = SafeKinds { handled: handled.clone(), restored: handled.clone() };
        check_moved_objects(&case.inventory, &case.plan(), &case.scope, None, &safe)
    };
    let refusal = check(&case, &BTreeSet::new()).remove(0);
    let expected =
        [Remedy::AddPlugin { kind: infra.clone() }, Remedy::MoveWithoutPlugin { kind: infra.clone() }];
    assert_eq!(refusal.remedies, expected);
    assert!(check(&case, &handled).is_empty());
    // A plugin that only holds objects restores no status.
    let held = SafeKinds { handled, restored: BTreeSet::new() };
    let found = check_moved_objects(&case.inventory, &case.plan(), &case.scope, None, &held);
    assert_eq!(found.len(), 1);
    case.scope.accept.insert_kind(Risk::NoPlugin, infra);
    assert!(check(&case, &BTreeSet::new()).is_empty());
}
