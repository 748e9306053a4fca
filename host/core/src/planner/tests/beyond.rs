//! What plugins bring along from outside the namespaces that move.

use expect_test::expect;

use crate::Uid;
use crate::checks::collateral::{Bystander, find_lost_dependents};
use crate::discovery::inventory::Inventory;
use crate::testing::Case;

const WORLD: &str = "Cluster ns/foo
    Machine ns/m < Cluster ns/foo
    Secret other/creds
    Secret other/unasked
    Identity id
    Node node";

#[test]
fn plugins_without_reach_add_nothing_outside() {
    Case::new(WORLD).namespace("ns").link("Secret other/creds", "Cluster ns/foo").check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        keep Identity id (moves with everything it owns; cluster-scoped)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay Node node: kind Node is not labelled for move
        stay Secret other/creds: in a namespace that is not moved
        stay Secret other/unasked: in a namespace that is not moved
        refuse plugin-reach: plugin p says that Secret other/creds belongs to Cluster ns/foo; Secret other/creds is outside of what moves, and the plugin is not granted to reach it
          -> {"remedy":"grant-reach","plugin":"p","kind":{"group":"","kind":"Secret"},"namespace":"other"} | {"remedy":"switch-off","plugin":"p"}
    "#]]);
}

#[test]
fn needs_outside_the_reach_are_refused() {
    Case::new(WORLD)
        .namespace("ns")
        .need("Machine ns/m", "Secret other/creds")
        .need("Machine ns/m", "Secret other/unread")
        .need("Machine ns/m", "Node node")
        // Objects that stay bring nothing along.
        .need("Secret other/unasked", "Secret third/a")
        .check(expect![[r#"
            move Cluster ns/foo (moves with everything it owns)
            keep Identity id (moves with everything it owns; cluster-scoped)
            move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
            stay Node node: kind Node is not labelled for move
            stay Secret other/creds: in a namespace that is not moved
            stay Secret other/unasked: in a namespace that is not moved
            refuse plugin-reach: plugin p says that Machine ns/m needs Node node; Node node is outside of what moves, and the plugin is not granted to reach it
              -> {"remedy":"grant-reach","plugin":"p","kind":{"group":"","kind":"Node"}} | {"remedy":"switch-off","plugin":"p"}
            refuse plugin-reach: plugin p says that Machine ns/m needs Secret other/creds; Secret other/creds is outside of what moves, and the plugin is not granted to reach it
              -> {"remedy":"grant-reach","plugin":"p","kind":{"group":"","kind":"Secret"},"namespace":"other"} | {"remedy":"switch-off","plugin":"p"}
            refuse plugin-reach: plugin p says that Machine ns/m needs Secret other/unread; Secret other/unread is outside of what moves, and the plugin is not granted to reach it
              -> {"remedy":"grant-reach","plugin":"p","kind":{"group":"","kind":"Secret"},"namespace":"other"} | {"remedy":"switch-off","plugin":"p"}
        "#]]);
}

#[test]
fn namespaces_with_selected_objects_move() {
    Case::new(
        "Cluster a/foo
         Machine a/m < Cluster a/foo
         Cluster b/bar
         Secret b/shared
         Identity id
         Secret kube-system/id < Identity id
         Secret kube-system/token",
    )
    .need("Machine a/m", "Secret b/shared")
    .need("Machine a/m", "Secret kube-system/token")
    .check(expect![[r#"
        move Secret b/shared (Machine a/m needs it, says plugin p)
        move Cluster a/foo (moves with everything it owns)
        move Cluster b/bar (moves with everything it owns)
        keep Identity id (moves with everything it owns; cluster-scoped)
        keep Secret kube-system/id (belongs to Identity id; belongs to Identity id, which is cluster-scoped) after Identity id
        move Machine a/m (belongs to Cluster a/foo) after Cluster a/foo
        stay Secret kube-system/token: not linked with any Cluster
        refuse plugin-reach: plugin p says that Machine a/m needs Secret kube-system/token; Secret kube-system/token is outside of what moves, and the plugin is not granted to reach it
          -> {"remedy":"grant-reach","plugin":"p","kind":{"group":"","kind":"Secret"},"namespace":"kube-system"} | {"remedy":"switch-off","plugin":"p"}
    "#]]);
}

/// Whatever users write there: owner references with the UIDs of objects that move, labels on objects that are being deleted,
/// bodies that can't be read, names that plugins see.
#[test]
fn objects_read_for_plugins_have_no_effect() {
    let text = "Cluster ns/foo
        Machine ns/m < Cluster ns/foo
        Identity id
        Secret ns/creds
        Widget other/owned < Cluster ns/foo
        Widget other/below < Identity id
        Widget other/hangs < Cluster ns/foo ! hierarchy deleting
        Widget other/ring < Widget other/ring ! move
        ClusterClass other/class ! broken hierarchy
        ClusterResourceSetBinding other/binding ! broken
        Node node ! move";
    let case = Case::new(text)
        .namespace("ns")
        .need("Machine ns/m", "Secret ns/creds")
        .need("Widget other/owned", "Secret ns/creds")
        .link("Widget other/owned", "Widget other/gone")
        .reach("Widget", "other", true)
        .reach("ClusterClass", "other", true)
        .reach("ClusterResourceSetBinding", "other", true)
        .reach("Node", "*", true);
    case.check(expect![[r#"
        move Secret ns/creds (Machine ns/m needs it, says plugin p)
        move Cluster ns/foo (moves with everything it owns)
        keep Identity id (moves with everything it owns; cluster-scoped)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay Node node: kind Node is not labelled for move
        stay ClusterResourceSetBinding other/binding: in a namespace that is not moved
        stay ClusterClass other/class: in a namespace that is not moved
        stay Widget other/below: in a namespace that is not moved
        stay Widget other/hangs: in a namespace that is not moved
        stay Widget other/owned: in a namespace that is not moved
        stay Widget other/ring: in a namespace that is not moved
    "#]]);
    let all: Vec<Bystander<'_>> = case.inventory.objects().iter().map(Bystander::from).collect();
    let lost = find_lost_dependents(&case.plan(), &case.scope, &case.relations, &all);
    assert!(lost.is_empty(), "{lost:?}");
}

/// Its dependents follow it, but not by references to owners that don't exist.
#[test]
fn dependents_follow_added_owners() {
    let case = Case::new(
        "Cluster ns/foo
         Widget other/w
         Secret other/below < Widget other/w
         Secret other/misnamed < Widget ns/w",
    );
    let mut case = case.namespace("ns").link("Widget other/w", "Cluster ns/foo");
    // With the UID of the brought object, under another name.
    let mut objects = case.inventory.objects().to_vec();
    for object in objects.iter_mut().filter(|object| object.meta.name == "misnamed") {
        object.meta.owner_references[0].uid = Uid("Widget:other/w".into());
        object.meta.owner_references[0].name = "x".into();
    }
    case.inventory = Inventory::new(objects);
    case.reach("Widget", "other", true).reach("Secret", "other", true).check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move Widget other/w (brought by plugin p from outside of what moves, with Cluster ns/foo) after Cluster ns/foo
        move Secret other/below (brought by plugin p from outside of what moves, with Cluster ns/foo) after Widget other/w
        stay Secret other/misnamed: in a namespace that is not moved
    "#]]);
}

/// Users with permission to write in a namespace that a plugin reaches have no say over what moves from there.
// proves: T86
#[test]
fn labels_outside_the_scope_move_nothing() {
    let labelled = |reach: bool| {
        let case = Case::new("Cluster ns/foo\n Secret other/s ! move").namespace("ns");
        let case = if reach { case.reach("Secret", "other", true) } else { case };
        case.plan().steps.iter().map(|step| step.key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(labelled(true), ["Cluster ns/foo"]);
    assert_eq!(labelled(false), ["Secret other/s", "Cluster ns/foo"], "where it was read for another reason");
}

/// The one rule for what plugins may bring and for what their checks may read.
#[test]
fn namespaces_move_with_requested_objects() {
    let world = "Cluster a/foo
        External b/e
        Identity id
        Secret provider/id < Identity id
        Secret provider/needed
        Secret other/reached";
    let case = || {
        Case::new(world)
            .need("Cluster a/foo", "Secret other/reached")
            .need("Secret provider/id", "Secret provider/needed")
            .reach("Secret", "other", true)
    };
    let elsewhere = |case: Case| {
        let plan = case.plan();
        let steps = plan.steps.iter().filter(|step| plan.is_elsewhere(step)).map(|step| step.key.to_string());
        (plan.moving.iter().cloned().collect::<Vec<_>>().join(" "), steps.collect::<Vec<_>>().join(", "))
    };
    let provider = "Secret other/reached, Secret provider/needed, Secret provider/id";
    assert_eq!(elsewhere(case()), ("a b".into(), provider.into()));
    let provider = "Secret other/reached, Secret provider/id";
    assert_eq!(elsewhere(case().namespace("a")), ("a".into(), provider.into()));
}

/// A need inside a provider's namespace does not make that namespace move.
#[test]
fn needs_of_plugins_open_no_namespace() {
    Case::new(
        "Cluster a/foo
         Identity id
         Secret provider/id < Identity id
         Secret provider/one
         Secret provider/two",
    )
    .need("Secret provider/id", "Secret provider/one")
    .link("Secret provider/two", "Cluster a/foo")
    .check(expect![[r#"
        keep Secret provider/one (Secret provider/id needs it, says plugin p; Secret provider/id stays and needs it too)
        move Cluster a/foo (moves with everything it owns)
        keep Identity id (moves with everything it owns; cluster-scoped)
        keep Secret provider/id (belongs to Identity id; belongs to Identity id, which is cluster-scoped) after Identity id
        stay Secret provider/two: not linked with any Cluster
        refuse plugin-reach: plugin p says that Secret provider/two belongs to Cluster a/foo; Secret provider/two is outside of what moves, and the plugin is not granted to reach it
          -> {"remedy":"grant-reach","plugin":"p","kind":{"group":"","kind":"Secret"},"namespace":"provider"} | {"remedy":"switch-off","plugin":"p"}
    "#]]);
}

// proves: T10
#[test]
fn reached_objects_are_kept_without_delete_grant() {
    let case = || {
        Case::new(WORLD)
            .namespace("ns")
            .need("Machine ns/m", "Secret other/creds")
            .link("Secret other/unasked", "Cluster ns/foo")
    };
    case().reach("Secret", "other", false).check(expect![[r#"
        keep Secret other/creds (brought by plugin p from outside of what moves, with Machine ns/m; plugin p is not granted to delete it there)
        move Cluster ns/foo (moves with everything it owns)
        keep Identity id (moves with everything it owns; cluster-scoped)
        keep Secret other/unasked (brought by plugin p from outside of what moves, with Cluster ns/foo; plugin p is not granted to delete it there) after Cluster ns/foo
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay Node node: kind Node is not labelled for move
    "#]]);
    case().reach("Secret", "*", true).check(expect![[r#"
        move Secret other/creds (brought by plugin p from outside of what moves, with Machine ns/m)
        move Cluster ns/foo (moves with everything it owns)
        keep Identity id (moves with everything it owns; cluster-scoped)
        move Secret other/unasked (brought by plugin p from outside of what moves, with Cluster ns/foo) after Cluster ns/foo
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay Node node: kind Node is not labelled for move
    "#]]);
}

#[test]
fn cluster_scoped_objects_are_always_kept() {
    Case::new(WORLD).namespace("ns").need("Machine ns/m", "Node node").reach("Node", "*", true).check(
        expect![[r#"
            keep Node node (brought by plugin p from outside of what moves, with Machine ns/m; cluster-scoped)
            move Cluster ns/foo (moves with everything it owns)
            keep Identity id (moves with everything it owns; cluster-scoped)
            move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
            stay Secret other/creds: in a namespace that is not moved
            stay Secret other/unasked: in a namespace that is not moved
        "#]],
    );
}

#[test]
fn additions_through_kept_objects_are_kept() {
    let text = "Cluster ns/foo
        Widget other/w
        Secret other/below < Widget other/w
        ConfigMap other/below < Widget other/w
        ConfigMap ns/here < Widget other/w
        ConfigMap ns/needed";
    let case = || {
        Case::new(text)
            .namespace("ns")
            .link("Widget other/w", "Cluster ns/foo")
            .need("Secret other/below", "ConfigMap ns/needed")
            .reach("Secret", "other", true)
    };
    case().reach("Widget", "other", false).check(expect![[r#"
        keep ConfigMap ns/needed (brought by plugin p from outside of what moves, with Secret other/below; plugin p is not granted to delete it there)
        move Cluster ns/foo (moves with everything it owns)
        keep Widget other/w (brought by plugin p from outside of what moves, with Cluster ns/foo; plugin p is not granted to delete it there) after Cluster ns/foo
        keep ConfigMap ns/here (brought by plugin p from outside of what moves, with Cluster ns/foo; plugin p is not granted to delete it there) after Widget other/w
        keep Secret other/below (brought by plugin p from outside of what moves, with Cluster ns/foo; plugin p is not granted to delete it there) after Widget other/w
        stay ConfigMap other/below: in a namespace that is not moved
        refuse owner-misnamed: ConfigMap ns/here has an owner reference to Widget.example.com w, with the uid of Widget other/w (Widget.example.com)
          -> correct the owner reference, or remove it: `kubectl edit -n ns configmap here`
    "#]]);
}

// proves: T10
#[test]
fn no_reach_brings_a_cluster() {
    Case::new("Cluster ns/foo\nCluster other/bar")
        .namespace("ns")
        .need("Cluster ns/foo", "Cluster other/bar")
        .reach("Cluster", "*", true)
        .check(expect![[r#"
            move Cluster ns/foo (moves with everything it owns)
            stay Cluster other/bar: in a namespace that is not moved
            refuse plugin-reach: plugin p says that Cluster ns/foo needs Cluster other/bar; Cluster other/bar is outside of what moves, and the plugin is not granted to reach it
              -> {"remedy":"switch-off","plugin":"p"}
        "#]]);
}

#[test]
fn plugin_links_move_no_foreign_class() {
    Case::new("Cluster ns/foo\nClusterClass other/quick")
        .namespace("ns")
        .link("Cluster ns/foo", "ClusterClass other/quick")
        .check(expect![[r#"
            move Cluster ns/foo (moves with everything it owns)
            stay ClusterClass other/quick: in a namespace that is not moved
        "#]]);
}

#[test]
fn left_objects_are_neither_added_nor_missed() {
    Case::new(WORLD)
        .namespace("ns")
        .need("Machine ns/m", "Secret other/creds")
        .leave("Secret other/creds")
        .check(expect![[r#"
            move Cluster ns/foo (moves with everything it owns)
            keep Identity id (moves with everything it owns; cluster-scoped)
            move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
            stay Node node: kind Node is not labelled for move
            stay Secret other/creds: left by plugin p: because
            stay Secret other/unasked: in a namespace that is not moved
            note need-left Machine ns/m: plugin p says that it needs Secret other/creds, which plugin p leaves: because
        "#]]);
}
