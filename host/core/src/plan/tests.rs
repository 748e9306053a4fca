//! What moves, what is kept, what stays, in which order: one test a rule.

use expect_test::expect;

use crate::select::{is_hierarchy, is_moved, takes_part};
use crate::testing::{Case, kind};

// Which kinds take part.

#[test]
fn kinds_take_part_by_label_secrets_and_configmaps_always() {
    for (name, listed, moved, hierarchy) in [
        ("InfraMachine", true, false, false),
        ("External", true, true, false),
        ("GlobalExternal", true, true, false),
        ("Pool", true, true, true),
        ("Identity", true, true, true),
        ("Cluster", true, true, true),
        ("ClusterClass", true, true, true),
        ("ClusterResourceSet", true, true, true),
        ("ClusterResourceSetBinding", true, false, false),
        ("Secret", true, false, false),
        ("ConfigMap", true, false, false),
        ("BareMetalHost", false, false, false),
        ("Pod", false, false, false),
    ] {
        let kind = kind(name);
        assert_eq!(
            (takes_part(&kind), is_moved(&kind), is_hierarchy(&kind)),
            (listed, moved, hierarchy),
            "{name}"
        );
    }
}

// Hierarchies.

#[test]
fn a_cluster_moves_with_what_it_owns_and_the_secrets_named_after_it() {
    Case::new(
        "Cluster ns/foo
         InfraCluster ns/foo < Cluster ns/foo
         Secret ns/foo-ca
         Secret ns/foo-kubeconfig < Cluster ns/foo
         Machine ns/m < Cluster ns/foo
         InfraMachine ns/m < Machine ns/m
         BootstrapConfig ns/m < Machine ns/m
         Secret ns/m < BootstrapConfig ns/m",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move Secret ns/foo-ca (belongs to Cluster ns/foo) after Cluster ns/foo
        move Secret ns/foo-kubeconfig (belongs to Cluster ns/foo) after Cluster ns/foo
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        move InfraCluster ns/foo (belongs to Cluster ns/foo) after Cluster ns/foo
        move BootstrapConfig ns/m (belongs to Cluster ns/foo) after Machine ns/m
        move InfraMachine ns/m (belongs to Cluster ns/foo) after Machine ns/m
        move Secret ns/m (belongs to Cluster ns/foo) after BootstrapConfig ns/m
    "#]]);
}

#[test]
fn machine_deployments_sets_and_machines_come_layer_by_layer() {
    Case::new(
        "Cluster ns/foo
         MachineDeployment ns/md < Cluster ns/foo
         MachineSet ns/ms < MachineDeployment ns/md
         Machine ns/m < MachineSet ns/ms
         InfraMachine ns/m < Machine ns/m
         InfraMachineTemplate ns/t < Cluster ns/foo",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move MachineDeployment ns/md (belongs to Cluster ns/foo) after Cluster ns/foo
        move InfraMachineTemplate ns/t (belongs to Cluster ns/foo) after Cluster ns/foo
        move MachineSet ns/ms (belongs to Cluster ns/foo) after MachineDeployment ns/md
        move Machine ns/m (belongs to Cluster ns/foo) after MachineSet ns/ms
        move InfraMachine ns/m (belongs to Cluster ns/foo) after Machine ns/m
    "#]]);
}

#[test]
fn two_clusters_move_independently_and_share_a_template() {
    Case::new(
        "Cluster ns/a
         Cluster ns/b
         Secret ns/a-ca
         Secret ns/b-ca
         InfraMachineTemplate ns/shared < Cluster ns/a, Cluster ns/b",
    )
    .check(expect![[r#"
        move Cluster ns/a (moves with all below it)
        move Cluster ns/b (moves with all below it)
        move Secret ns/a-ca (belongs to Cluster ns/a) after Cluster ns/a
        move Secret ns/b-ca (belongs to Cluster ns/b) after Cluster ns/b
        move InfraMachineTemplate ns/shared (belongs to Cluster ns/a) after Cluster ns/a, Cluster ns/b
    "#]]);
}

#[test]
fn what_no_cluster_owns_stays_and_says_why() {
    Case::new(
        "Cluster ns/foo
         InfraMachineTemplate ns/alone
         Secret ns/alone
         ConfigMap ns/kube-root-ca.crt
         Secret ns/tls < Widget ns/unread
         Secret ns/owned < InfraMachineTemplate ns/alone
         BareMetalHost ns/host
         GlobalConfig g",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        stay ConfigMap ns/kube-root-ca.crt: not linked with any Cluster
        stay Secret ns/alone: not linked with any Cluster
        stay Secret ns/owned: its owner InfraMachineTemplate ns/alone stays
        stay Secret ns/tls: its owner Widget unread was not read
        stay GlobalConfig g: not below anything that moves
        stay InfraMachineTemplate ns/alone: not below anything that moves
        stay BareMetalHost ns/host: kind BareMetalHost.metal3.io is not labelled for move
    "#]]);
}

#[test]
fn a_resource_set_moves_with_its_resources_and_bindings() {
    Case::new(
        "ClusterResourceSet ns/crs
         Secret ns/resource < ClusterResourceSet ns/crs
         ConfigMap ns/resource < ClusterResourceSet ns/crs
         ClusterResourceSetBinding ns/a < ClusterResourceSet ns/crs ! cluster=a
         ClusterResourceSetBinding ns/b < ClusterResourceSet ns/crs ! cluster=b
         Cluster ns/a
         Cluster ns/b",
    )
    .check(expect![[r#"
        move ClusterResourceSet ns/crs (moves with all below it)
        move Cluster ns/a (moves with all below it)
        move Cluster ns/b (moves with all below it)
        move ConfigMap ns/resource (belongs to ClusterResourceSet ns/crs) after ClusterResourceSet ns/crs
        move Secret ns/resource (belongs to ClusterResourceSet ns/crs) after ClusterResourceSet ns/crs
        move ClusterResourceSetBinding ns/a (belongs to ClusterResourceSet ns/crs) after ClusterResourceSet ns/crs, Cluster ns/a
        move ClusterResourceSetBinding ns/b (belongs to ClusterResourceSet ns/crs) after ClusterResourceSet ns/crs, Cluster ns/b
    "#]]);
}

#[test]
fn a_kind_labelled_hierarchy_is_a_root() {
    Case::new(
        "Pool ns/p
         Claim ns/c < Pool ns/p",
    )
    .check(expect![[r#"
        move Pool ns/p (moves with all below it)
        move Claim ns/c (belongs to Pool ns/p) after Pool ns/p
    "#]]);
}

#[test]
fn an_object_labelled_hierarchy_is_a_root_whatever_the_value() {
    Case::new(
        "Claim ns/top ! hierarchy
         Claim ns/below < Claim ns/top",
    )
    .check(expect![[r#"
        move Claim ns/top (moves with all below it)
        move Claim ns/below (belongs to Claim ns/top) after Claim ns/top
    "#]]);
}

#[test]
fn a_labelled_object_moves_alone() {
    Case::new(
        "Secret ns/cloud-config ! move
         ConfigMap ns/below < Secret ns/cloud-config
         External ns/e",
    )
    .check(expect![[r#"
        move Secret ns/cloud-config (labelled for move)
        move External ns/e (labelled for move)
        stay ConfigMap ns/below: its owner Secret ns/cloud-config moves alone
    "#]]);
}

// Soft links.

#[test]
fn w8_all_six_purposes_of_secrets_are_recognised() {
    Case::new(
        "Cluster ns/foo
         Cluster ns/foo-apiserver
         Secret ns/foo-kubeconfig
         Secret ns/foo-ca
         Secret ns/foo-etcd
         Secret ns/foo-sa
         Secret ns/foo-proxy
         Secret ns/foo-apiserver-etcd-client
         Secret ns/foo-apiserver-etcd
         Secret ns/foo-other
         Secret ns/fooca
         Secret ns/bar-ca
         Secret other/foo-ca",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move Cluster ns/foo-apiserver (moves with all below it)
        move Secret ns/foo-apiserver-etcd (belongs to Cluster ns/foo-apiserver) after Cluster ns/foo-apiserver
        move Secret ns/foo-apiserver-etcd-client (belongs to Cluster ns/foo) after Cluster ns/foo
        move Secret ns/foo-ca (belongs to Cluster ns/foo) after Cluster ns/foo
        move Secret ns/foo-etcd (belongs to Cluster ns/foo) after Cluster ns/foo
        move Secret ns/foo-kubeconfig (belongs to Cluster ns/foo) after Cluster ns/foo
        move Secret ns/foo-proxy (belongs to Cluster ns/foo) after Cluster ns/foo
        move Secret ns/foo-sa (belongs to Cluster ns/foo) after Cluster ns/foo
        stay Secret ns/bar-ca: not linked with any Cluster
        stay Secret ns/foo-other: not linked with any Cluster
        stay Secret ns/fooca: not linked with any Cluster
        stay Secret other/foo-ca: not linked with any Cluster
    "#]]);
}

#[test]
fn a_secret_with_an_owner_is_not_judged_by_its_name() {
    Case::new(
        "Cluster ns/foo
         Secret ns/foo-ca < Widget ns/unread",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        stay Secret ns/foo-ca: its owner Widget unread was not read
    "#]]);
}

#[test]
fn a_cluster_comes_after_its_class() {
    Case::new(
        "Cluster ns/foo ! class=quick
         ClusterClass ns/quick ! template=InfraClusterTemplate/quick
         InfraClusterTemplate ns/quick < ClusterClass ns/quick
         InfraCluster ns/foo < Cluster ns/foo",
    )
    .check(expect![[r#"
        move ClusterClass ns/quick (moves with all below it)
        move Cluster ns/foo (moves with all below it) after ClusterClass ns/quick
        move InfraClusterTemplate ns/quick (belongs to ClusterClass ns/quick) after ClusterClass ns/quick
        move InfraCluster ns/foo (belongs to Cluster ns/foo) after Cluster ns/foo
    "#]]);
}

#[test]
fn w25_a_template_that_only_its_class_names_moves() {
    Case::new(
        "ClusterClass ns/quick ! template=RemediationTemplate/r
         RemediationTemplate ns/r
         RemediationTemplate ns/unnamed",
    )
    .check(expect![[r#"
        move ClusterClass ns/quick (moves with all below it)
        move RemediationTemplate ns/r (belongs to ClusterClass ns/quick) after ClusterClass ns/quick
        stay RemediationTemplate ns/unnamed: not below anything that moves
    "#]]);
}

#[test]
fn a_template_that_was_not_read_is_noted() {
    Case::new("ClusterClass ns/quick ! template=RemediationTemplate/r").check(expect![[r#"
        move ClusterClass ns/quick (moves with all below it)
        note template-missing ClusterClass ns/quick: names RemediationTemplate ns/r, which was not read: it does not move
    "#]]);
}

#[test]
fn w24_an_unreadable_cluster_is_refused() {
    Case::new(
        "Cluster ns/foo ! broken
         ClusterClass ns/quick ! broken
         ClusterResourceSetBinding ns/b ! broken",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move ClusterClass ns/quick (moves with all below it)
        stay ClusterResourceSetBinding ns/b: not below anything that moves
        refuse unreadable: ClusterResourceSetBinding ns/b can't be read: ClusterResourceSetBinding.addons.cluster.x-k8s.io body is not an object with readable metadata (line 1, column 131)
          -> look at it with `kubectl get -n ns clusterresourcesetbinding.addons.cluster.x-k8s.io b -o yaml` and repair it
        refuse unreadable: Cluster ns/foo can't be read: Cluster.cluster.x-k8s.io body is not an object with readable metadata (line 1, column 117)
          -> look at it with `kubectl get -n ns cluster.cluster.x-k8s.io foo -o yaml` and repair it
        refuse unreadable: ClusterClass ns/quick can't be read: ClusterClass.cluster.x-k8s.io body is not an object with readable metadata (line 1, column 126)
          -> look at it with `kubectl get -n ns clusterclass.cluster.x-k8s.io quick -o yaml` and repair it
    "#]]);
}

#[test]
fn a_class_that_does_not_exist_is_refused() {
    Case::new("Cluster ns/foo ! class=gone").check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        refuse class-missing: Cluster ns/foo uses ClusterClass ns/gone, which does not exist
          -> create ClusterClass ns/gone, or let the Cluster name another: `kubectl edit -n ns cluster.cluster.x-k8s.io foo`
    "#]]);
}

// Namespaces and what is shared.

#[test]
fn a_class_of_another_namespace_is_copied_with_its_templates_and_kept() {
    Case::new(
        "Cluster ns/foo ! class=classes/quick
         ClusterClass classes/quick
         InfraClusterTemplate classes/quick < ClusterClass classes/quick",
    )
    .namespace("ns")
    .check(expect![[r#"
        keep ClusterClass classes/quick (moves with all below it; ClusterClass classes/quick is in a namespace that stays)
        move Cluster ns/foo (moves with all below it) after ClusterClass classes/quick
        keep InfraClusterTemplate classes/quick (belongs to ClusterClass classes/quick; ClusterClass classes/quick is in a namespace that stays) after ClusterClass classes/quick
    "#]]);
}

#[test]
fn w4_a_template_of_a_second_class_that_was_not_read_is_copied_with_the_owner_that_was() {
    Case::new(
        "Cluster ns/foo ! class=classes/quick
         ClusterClass classes/quick
         InfraClusterTemplate classes/shared < ClusterClass classes/quick, ClusterClass classes/second",
    )
    .namespace("ns")
    .check(expect![[r#"
        keep ClusterClass classes/quick (moves with all below it; ClusterClass classes/quick is in a namespace that stays)
        move Cluster ns/foo (moves with all below it) after ClusterClass classes/quick
        keep InfraClusterTemplate classes/shared (belongs to ClusterClass classes/quick; ClusterClass classes/quick is in a namespace that stays) after ClusterClass classes/quick without ClusterClass second
        note owner-dropped InfraClusterTemplate classes/shared: copied without its owner ClusterClass second, which does not move
    "#]]);
}

#[test]
fn a_class_of_another_namespace_without_a_template_is_refused() {
    Case::new(
        "Cluster ns/foo ! class=classes/quick
         ClusterClass classes/quick ! template=InfraClusterTemplate/gone",
    )
    .namespace("ns")
    .check(expect![[r#"
        keep ClusterClass classes/quick (moves with all below it; ClusterClass classes/quick is in a namespace that stays)
        move Cluster ns/foo (moves with all below it) after ClusterClass classes/quick
        refuse template-missing: ClusterClass classes/quick names InfraClusterTemplate classes/gone, which does not exist
          -> create it, or take it out of the class: `kubectl edit -n classes clusterclass.cluster.x-k8s.io quick`
    "#]]);
}

#[test]
fn a_class_that_a_cluster_elsewhere_uses_is_kept_with_its_templates() {
    Case::new(
        "Cluster ns/foo ! class=quick
         ClusterClass ns/quick
         InfraClusterTemplate ns/quick < ClusterClass ns/quick
         ClusterClass ns/own
         InfraClusterTemplate ns/own < ClusterClass ns/own",
    )
    .namespace("ns")
    .elsewhere(
        "Cluster other/bar ! class=ns/quick
         Cluster own/baz ! class=own",
    )
    .check(expect![[r#"
        move ClusterClass ns/own (moves with all below it)
        keep ClusterClass ns/quick (moves with all below it; ClusterClass ns/quick is used by Cluster other/bar, which stays)
        move Cluster ns/foo (moves with all below it) after ClusterClass ns/quick
        move InfraClusterTemplate ns/own (belongs to ClusterClass ns/own) after ClusterClass ns/own
        keep InfraClusterTemplate ns/quick (belongs to ClusterClass ns/quick; ClusterClass ns/quick is used by Cluster other/bar, which stays) after ClusterClass ns/quick
    "#]]);
}

#[test]
fn a_cluster_elsewhere_that_can_not_be_read_may_use_any_class() {
    Case::new("ClusterClass ns/quick")
        .namespace("ns")
        .elsewhere("Cluster other/bar ! broken")
        .check(expect![[r#"
            move ClusterClass ns/quick (moves with all below it)
            refuse unreadable: Cluster other/bar can't be read: Cluster.cluster.x-k8s.io body is not an object with readable metadata (line 1, column 123)
              -> look at it with `kubectl get -n other cluster.cluster.x-k8s.io bar -o yaml` and repair it
        "#]]);
}

#[test]
fn nothing_of_another_namespace_moves_by_kind_not_even_below_a_shared_class() {
    Case::new(
        "Cluster ns/foo ! class=classes/quick
         ClusterClass classes/quick
         ClusterClass classes/unused
         Cluster classes/bar ! class=quick
         InfraCluster classes/bar < Cluster classes/bar
         External classes/e
         Secret provider-system/credentials
         Secret provider-system/labelled ! move",
    )
    .namespace("ns")
    .check(expect![[r#"
        move Secret provider-system/labelled (labelled for move)
        keep ClusterClass classes/quick (moves with all below it; ClusterClass classes/quick is used by Cluster classes/bar, which stays)
        move Cluster ns/foo (moves with all below it) after ClusterClass classes/quick
        stay Secret provider-system/credentials: in a namespace that is not moved
        stay Cluster classes/bar: in a namespace that is not moved
        stay ClusterClass classes/unused: in a namespace that is not moved
        stay External classes/e: in a namespace that is not moved
        stay InfraCluster classes/bar: in a namespace that is not moved
    "#]]);
}

#[test]
fn all_namespaces_move_together_and_nothing_is_shared() {
    Case::new(
        "Cluster a/foo ! class=classes/quick
         ClusterClass classes/quick
         Cluster b/foo ! class=classes/quick",
    )
    .check(expect![[r#"
        move ClusterClass classes/quick (moves with all below it)
        move Cluster a/foo (moves with all below it) after ClusterClass classes/quick
        move Cluster b/foo (moves with all below it) after ClusterClass classes/quick
    "#]]);
}

#[test]
fn global_objects_and_what_is_below_them_are_copied_and_kept() {
    Case::new(
        "Identity id
         Secret provider-system/id-credentials < Identity id
         GlobalExternal g",
    )
    .namespace("ns")
    .check(expect![[r#"
        keep GlobalExternal g (labelled for move; cluster-scoped)
        keep Identity id (moves with all below it; cluster-scoped)
        keep Secret provider-system/id-credentials (belongs to Identity id; belongs to Identity id, which is cluster-scoped) after Identity id
    "#]]);
}

#[test]
fn a_cluster_below_a_global_object_moves_all_the_same() {
    Case::new(
        "Identity id
         Cluster ns/foo < Identity id
         Machine ns/m < Cluster ns/foo",
    )
    .check(expect![[r#"
        keep Identity id (moves with all below it; cluster-scoped)
        move Cluster ns/foo (moves with all below it) after Identity id
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
    "#]]);
}

// Owners outside of the set (invariant 5).

#[test]
fn w3_an_object_with_some_owners_in_the_set_is_copied_with_those() {
    Case::new(
        "Cluster ns/foo
         Secret ns/s < Cluster ns/foo, Widget ns/unread, InfraMachineTemplate ns/stays
         InfraMachineTemplate ns/stays",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move Secret ns/s (belongs to Cluster ns/foo) after Cluster ns/foo without Widget unread without InfraMachineTemplate stays
        stay InfraMachineTemplate ns/stays: not below anything that moves
        note owner-dropped Secret ns/s: copied without its owners Widget unread and InfraMachineTemplate ns/stays, which do not move
    "#]]);
}

#[test]
fn w3_an_object_whose_owner_was_not_read_is_refused() {
    Case::new("Secret ns/s < Widget ns/unread ! move").check(expect![[r#"
        move Secret ns/s (labelled for move) without Widget unread
        refuse owner-outside: Secret ns/s would move, but nothing that owns it does: it is owned by Widget unread, which was not read
          -> let its owner move too (label clusterctl.cluster.x-k8s.io/move), or copy it without the owner: --drop-owner Widget.example.com
    "#]]);
}

#[test]
fn w3_a_root_below_something_that_stays_is_refused_with_the_whole_chain() {
    Case::new(
        "Cluster ns/foo < Hosted ns/h
         Hosted ns/h < Fleet ns/f
         Fleet ns/f < Tenant ns/unread",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it) without Hosted h
        stay Fleet ns/f: its owner Tenant unread was not read
        stay Hosted ns/h: its owner Fleet ns/f stays
        refuse owner-outside: Cluster ns/foo would move, but nothing that owns it does: it is owned by Hosted ns/h, owned by Fleet ns/f, owned by Tenant unread, which was not read
          -> let its owner move too (label clusterctl.cluster.x-k8s.io/move), or copy it without the owner: --drop-owner Hosted.infrastructure.cluster.x-k8s.io
    "#]]);
}

#[test]
fn the_chain_says_why_its_end_stays() {
    Case::new(
        "Cluster ns/foo < Widget ns/w
         Widget ns/w",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it) without Widget w
        stay Widget ns/w: kind Widget.example.com is not labelled for move
        refuse owner-outside: Cluster ns/foo would move, but nothing that owns it does: it is owned by Widget ns/w (kind Widget.example.com is not labelled for move)
          -> let its owner move too (label clusterctl.cluster.x-k8s.io/move), or copy it without the owner: --drop-owner Widget.example.com
    "#]]);
}

#[test]
fn an_owner_may_be_dropped_by_kind() {
    let text = "Secret ns/s < Widget ns/unread, Hosted ns/unread ! move";
    Case::new(text).drop_owner("Widget").check(expect![[r#"
        move Secret ns/s (labelled for move) without Widget unread without Hosted unread
        refuse owner-outside: Secret ns/s would move, but nothing that owns it does: it is owned by Hosted unread, which was not read
          -> let its owner move too (label clusterctl.cluster.x-k8s.io/move), or copy it without the owner: --drop-owner Hosted.infrastructure.cluster.x-k8s.io
    "#]]);
    Case::new(text).drop_owner("Widget").drop_owner("Hosted").check(expect![[r#"
        move Secret ns/s (labelled for move) without Widget unread without Hosted unread
        note owner-dropped Secret ns/s: copied without its owners Widget unread and Hosted unread, which do not move
    "#]]);
}

#[test]
fn dropping_a_kind_keeps_references_to_owners_that_move() {
    Case::new(
        "Cluster ns/foo
         Secret ns/s < Cluster ns/foo",
    )
    .drop_owner("Cluster")
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move Secret ns/s (belongs to Cluster ns/foo) after Cluster ns/foo
    "#]]);
}

#[test]
fn w4_an_owner_that_is_only_a_name_is_no_cluster_of_the_plan() {
    let case = Case::new("Secret ns/s < Cluster other/gone ! move");
    assert_eq!(case.plan().clusters(), 0);
}

#[test]
fn an_owner_cycle_is_refused_and_named() {
    Case::new(
        "Cluster ns/foo
         Claim ns/a < Claim ns/b, Cluster ns/foo
         Claim ns/b < Claim ns/c
         Claim ns/c < Claim ns/a
         Claim ns/below < Claim ns/c",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move Claim ns/b (belongs to Cluster ns/foo)
        move Claim ns/c (belongs to Cluster ns/foo)
        move Claim ns/a (belongs to Cluster ns/foo) after Cluster ns/foo
        move Claim ns/below (belongs to Cluster ns/foo) after Claim ns/c
        refuse owner-cycle: owner references form a cycle: Claim ns/a is owned by Claim ns/b is owned by Claim ns/c is owned by Claim ns/a
          -> remove one of the references (`kubectl edit -n ns claim.infrastructure.cluster.x-k8s.io a`), or let one go: --drop-owner Claim.infrastructure.cluster.x-k8s.io
    "#]]);
}

#[test]
fn an_object_that_owns_itself_is_a_cycle() {
    Case::new("Cluster ns/foo < Cluster ns/foo").check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        refuse owner-cycle: owner references form a cycle: Cluster ns/foo is owned by Cluster ns/foo
          -> remove one of the references (`kubectl edit -n ns cluster.cluster.x-k8s.io foo`), or let one go: --drop-owner Cluster.cluster.x-k8s.io
    "#]]);
}

#[test]
fn a_cycle_is_opened_by_dropping_a_kind_in_it() {
    Case::new(
        "Cluster ns/foo < Claim ns/a
         Claim ns/a < Cluster ns/foo",
    )
    .drop_owner("Claim")
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it) without Claim a
        move Claim ns/a (belongs to Cluster ns/foo) after Cluster ns/foo
        note owner-dropped Cluster ns/foo: copied without its owner Claim ns/a, to open a cycle of owners
    "#]]);
}

#[test]
fn w11_the_version_in_an_owner_reference_does_not_matter() {
    let mut objects = crate::testing::objects("Cluster ns/foo");
    let mut body = crate::testing::objects("Machine ns/m < Cluster ns/foo")[0].value().unwrap();
    body["metadata"]["ownerReferences"][0]["apiVersion"] = "cluster.x-k8s.io/v1alpha3".into();
    objects.push(crate::Object::from_value(kind("Machine"), &body).unwrap());
    let mut case = Case::new("");
    case.inventory = crate::inventory::Inventory::new(objects);
    case.check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
    "#]]);
}

#[test]
fn w18_an_object_that_is_being_deleted_is_refused() {
    Case::new(
        "Cluster ns/foo
         Machine ns/m < Cluster ns/foo ! deleting
         Secret ns/stays ! deleting",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay Secret ns/stays: not linked with any Cluster
        refuse being-deleted: Machine ns/m is being deleted; its copy would come to life again
          -> wait until it is gone; what it waits for: `kubectl get -n ns machine.cluster.x-k8s.io m -o jsonpath={.metadata.finalizers}`
    "#]]);
}

// What plugins say.

#[test]
fn a_link_makes_an_object_of_an_unlabelled_kind_move_after_what_it_belongs_to() {
    Case::new(
        "Cluster ns/foo
         BareMetalHost ns/host
         BareMetalHost ns/free
         Secret ns/inspection < BareMetalHost ns/host",
    )
    .link("BareMetalHost ns/host", "Cluster ns/foo")
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move BareMetalHost ns/host (belongs to Cluster ns/foo) after Cluster ns/foo
        move Secret ns/inspection (belongs to Cluster ns/foo) after BareMetalHost ns/host
        stay BareMetalHost ns/free: kind BareMetalHost.metal3.io is not labelled for move
    "#]]);
}

#[test]
fn a_link_to_something_that_was_not_read_is_noted() {
    Case::new("BareMetalHost ns/host")
        .link("BareMetalHost ns/host", "Cluster ns/gone")
        .check(expect![[r#"
            stay BareMetalHost ns/host: kind BareMetalHost.metal3.io is not labelled for move
            note link-missing BareMetalHost ns/host: plugin p links it with Cluster ns/gone, which was not read: the link is ignored
        "#]]);
}

#[test]
fn links_that_form_a_cycle_order_nothing() {
    Case::new(
        "Cluster ns/foo
         BareMetalHost ns/host",
    )
    .link("BareMetalHost ns/host", "Cluster ns/foo")
    .link("Cluster ns/foo", "BareMetalHost ns/host")
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move BareMetalHost ns/host (belongs to Cluster ns/foo)
        note link-ignored Cluster ns/foo: may be created before BareMetalHost ns/host, because that belongs to it as well
        note link-ignored BareMetalHost ns/host: may be created before Cluster ns/foo, because that belongs to it as well
    "#]]);
}

#[test]
fn a_need_moves_the_named_object_alone_and_its_needs() {
    Case::new(
        "Cluster ns/foo
         Machine ns/m < Cluster ns/foo
         Secret ns/bmc
         ConfigMap ns/ca
         ConfigMap ns/below < Secret ns/bmc
         Secret ns/other",
    )
    .need("Machine ns/m", "Secret ns/bmc")
    .need("Secret ns/bmc", "ConfigMap ns/ca")
    .need("ConfigMap ns/ca", "Secret ns/bmc")
    .need("Machine ns/m", "Secret ns/gone")
    .check(expect![[r#"
        move ConfigMap ns/ca (Secret ns/bmc needs it, says plugin p)
        move Secret ns/bmc (Machine ns/m needs it, says plugin p)
        move Cluster ns/foo (moves with all below it)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay ConfigMap ns/below: its owner Secret ns/bmc moves alone
        stay Secret ns/other: not linked with any Cluster
        note need-missing Machine ns/m: plugin p says that it needs Secret ns/gone, which was not read
    "#]]);
}

#[test]
fn what_something_that_stays_needs_too_is_kept() {
    Case::new(
        "Cluster ns/foo
         Machine ns/m < Cluster ns/foo
         BareMetalHost ns/stays
         Secret ns/bmc
         ConfigMap ns/ca",
    )
    .need("Machine ns/m", "Secret ns/bmc")
    .need("BareMetalHost ns/stays", "Secret ns/bmc")
    .need("Secret ns/bmc", "ConfigMap ns/ca")
    .check(expect![[r#"
        keep ConfigMap ns/ca (Secret ns/bmc needs it, says plugin p; Secret ns/bmc stays and needs it too)
        keep Secret ns/bmc (Machine ns/m needs it, says plugin p; BareMetalHost ns/stays stays and needs it too)
        move Cluster ns/foo (moves with all below it)
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
        stay BareMetalHost ns/stays: kind BareMetalHost.metal3.io is not labelled for move
    "#]]);
}

#[test]
fn a_left_object_stays_with_what_is_below_it_alone() {
    Case::new(
        "Cluster ns/foo
         Claim ns/left < Cluster ns/foo
         Secret ns/below < Claim ns/left
         Secret ns/below-below < Secret ns/below
         Secret ns/both < Claim ns/left, Cluster ns/foo",
    )
    .leave("Claim ns/left")
    .check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        move Secret ns/both (belongs to Cluster ns/foo) after Cluster ns/foo without Claim left
        stay Secret ns/below: belongs to Claim ns/left, which plugin p leaves
        stay Secret ns/below-below: belongs to Claim ns/left, which plugin p leaves
        stay Claim ns/left: left by plugin p: because
        note owner-dropped Secret ns/both: copied without its owner Claim ns/left, which does not move
    "#]]);
}

#[test]
fn a_class_of_a_cluster_that_a_plugin_leaves_is_kept() {
    Case::new(
        "Cluster ns/foo ! class=quick
         ClusterClass ns/quick",
    )
    .leave("Cluster ns/foo")
    .check(expect![[r#"
        keep ClusterClass ns/quick (moves with all below it; ClusterClass ns/quick is used by Cluster ns/foo, which stays)
        stay Cluster ns/foo: left by plugin p: because
    "#]]);
}

#[test]
fn a_kept_object_is_copied() {
    Case::new(
        "Cluster ns/foo
         Secret ns/shared ! move",
    )
    .keep("Secret ns/shared")
    .keep("Secret ns/unknown")
    .check(expect![[r#"
        keep Secret ns/shared (labelled for move; kept by plugin p: because)
        move Cluster ns/foo (moves with all below it)
    "#]]);
}

#[test]
fn no_plugin_keeps_a_cluster() {
    Case::new("Cluster ns/foo").keep("Cluster ns/foo").check(expect![[r#"
        move Cluster ns/foo (moves with all below it)
        refuse cluster-kept: plugin p would keep Cluster ns/foo in the source: two sides would manage it
          -> configure plugin p not to keep Clusters, or run without it
    "#]]);
}

// The plan as a whole.

#[test]
fn w28_a_plan_does_not_depend_on_the_order_of_reading() {
    let text = "Cluster ns/b
        Cluster ns/a ! class=classes/q
        ClusterClass classes/q
        Machine ns/m2 < Cluster ns/a
        Machine ns/m1 < Cluster ns/a, Cluster ns/b
        Secret ns/s < Machine ns/m1, Machine ns/m2";
    let reversed: Vec<&str> = text.lines().rev().collect();
    assert_eq!(Case::new(text).plan(), Case::new(&reversed.join("\n")).plan());
}

#[test]
fn w22_an_empty_inventory_is_an_empty_plan() {
    let plan = Case::new("").plan();
    assert!(plan.is_empty() && plan.refusals.is_empty());
}

#[test]
fn a_plan_is_a_document() {
    let plan = Case::new(
        "Cluster ns/foo
         Secret ns/s < Cluster ns/foo, Widget ns/w
         Secret ns/x",
    )
    .plan();
    let text = serde_json::to_string_pretty(&plan).unwrap();
    expect![[r#"
        {
          "steps": [
            {
              "key": {
                "group_kind": {
                  "group": "cluster.x-k8s.io",
                  "kind": "Cluster"
                },
                "namespace": "ns",
                "name": "foo"
              },
              "uid": "Cluster ns/foo",
              "fate": "move",
              "why": "root"
            },
            {
              "key": {
                "group_kind": {
                  "group": "",
                  "kind": "Secret"
                },
                "namespace": "ns",
                "name": "s"
              },
              "uid": "Secret ns/s",
              "after": [
                0
              ],
              "droppedOwners": [
                {
                  "apiVersion": "example.com/v1beta2",
                  "kind": "Widget",
                  "name": "w",
                  "uid": "Widget ns/w"
                }
              ],
              "fate": "move",
              "why": {
                "below": {
                  "group_kind": {
                    "group": "cluster.x-k8s.io",
                    "kind": "Cluster"
                  },
                  "namespace": "ns",
                  "name": "foo"
                }
              }
            }
          ],
          "stays": [
            {
              "key": {
                "group_kind": {
                  "group": "",
                  "kind": "Secret"
                },
                "namespace": "ns",
                "name": "x"
              },
              "reason": "notLinked"
            }
          ],
          "refusals": [],
          "notes": [
            {
              "code": "owner-dropped",
              "object": {
                "group_kind": {
                  "group": "",
                  "kind": "Secret"
                },
                "namespace": "ns",
                "name": "s"
              },
              "message": "copied without its owner Widget w, which does not move"
            }
          ]
        }"#]]
    .assert_eq(&text);
}

#[test]
fn w19_the_work_grows_with_the_objects_not_with_their_square() {
    for clusters in [1, 10, 100] {
        let case = Case::new(&fleet(clusters, 10_000 / clusters / 4));
        let objects = case.inventory.objects().len();
        let (visits, ties) = work(&case);
        assert!(objects > 9_000 && ties < 3 * objects);
        assert!(visits <= 2 * ties, "{visits} visits for {ties} ties of {clusters} clusters");
        assert_eq!(case.plan().steps.len(), objects);
    }
}

#[test]
fn a_chain_of_owners_may_be_as_long_as_it_likes() {
    let mut text = String::from("Cluster ns/c\nClaim ns/c0 < Cluster ns/c\n");
    for i in 1..10_000 {
        text.push_str(&format!("Claim ns/c{i} < Claim ns/c{}\n", i - 1));
    }
    text.push_str("Claim ns/end < Claim ns/c9999");
    assert_eq!(Case::new(&text).plan().steps.len(), 10_002);
}

/// Clusters of one class with machines of four objects each.
fn fleet(clusters: usize, machines: usize) -> String {
    let mut text = String::from("ClusterClass ns/q\n");
    for c in 0..clusters {
        text.push_str(&format!("Cluster ns/c{c} ! class=q\n"));
        for m in 0..machines {
            text.push_str(&format!(
                "Machine ns/c{c}-{m} < Cluster ns/c{c}
                 InfraMachine ns/c{c}-{m} < Machine ns/c{c}-{m}, Cluster ns/c{c}
                 BootstrapConfig ns/c{c}-{m} < Machine ns/c{c}-{m}
                 Secret ns/c{c}-{m} < BootstrapConfig ns/c{c}-{m}\n"
            ));
        }
    }
    text
}

fn work(case: &Case) -> (usize, usize) {
    let soft = crate::soft::soft_links(&case.inventory);
    let mut notes = Vec::new();
    let graph = crate::graph::Graph::new(&case.inventory, &soft, &case.relations, &mut notes);
    let selection = crate::select::select(&case.inventory, &graph, &case.scope, &case.relations, &mut notes);
    (selection.visits, graph.len())
}
