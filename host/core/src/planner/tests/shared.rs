//! Namespaces, and objects shared with those that stay.

use expect_test::expect;

use crate::testing::Case;

#[test]
fn a_class_of_another_namespace_is_copied_with_its_templates_and_kept() {
    Case::new(
        "Cluster ns/foo ! class=classes/quick
         ClusterClass classes/quick
         InfraClusterTemplate classes/quick < ClusterClass classes/quick",
    )
    .namespace("ns")
    .check(expect![[r#"
        keep ClusterClass classes/quick (moves with everything it owns; ClusterClass classes/quick is in a namespace that stays)
        move Cluster ns/foo (moves with everything it owns) after ClusterClass classes/quick
        keep InfraClusterTemplate classes/quick (belongs to ClusterClass classes/quick; ClusterClass classes/quick is in a namespace that stays) after ClusterClass classes/quick
    "#]]);
}

// proves: W4
#[test]
fn w4_a_template_of_a_second_class_that_was_not_read_is_copied_with_the_owner_that_was() {
    Case::new(
        "Cluster ns/foo ! class=classes/quick
         ClusterClass classes/quick
         InfraClusterTemplate classes/shared < ClusterClass classes/quick, ClusterClass classes/second",
    )
    .namespace("ns")
    .check(expect![[r#"
        keep ClusterClass classes/quick (moves with everything it owns; ClusterClass classes/quick is in a namespace that stays)
        move Cluster ns/foo (moves with everything it owns) after ClusterClass classes/quick
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
        keep ClusterClass classes/quick (moves with everything it owns; ClusterClass classes/quick is in a namespace that stays)
        move Cluster ns/foo (moves with everything it owns) after ClusterClass classes/quick
        refuse template-missing: ClusterClass classes/quick names InfraClusterTemplate classes/gone, which does not exist
          -> create it, or remove it from the class: `kubectl edit -n classes clusterclass.cluster.x-k8s.io quick`
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
        move ClusterClass ns/own (moves with everything it owns)
        keep ClusterClass ns/quick (moves with everything it owns; ClusterClass ns/quick is used by Cluster other/bar, which stays)
        move Cluster ns/foo (moves with everything it owns) after ClusterClass ns/quick
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
            move ClusterClass ns/quick (moves with everything it owns)
            refuse unreadable: Cluster other/bar can't be read: Cluster.cluster.x-k8s.io body is not an object with readable metadata (line 1, column 123)
              -> look at it with `kubectl get -n other cluster.cluster.x-k8s.io bar -o yaml` and repair it
        "#]]);
}

// proves: T86
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
        keep ClusterClass classes/quick (moves with everything it owns; ClusterClass classes/quick is used by Cluster classes/bar, which stays)
        move Cluster ns/foo (moves with everything it owns) after ClusterClass classes/quick
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
        move ClusterClass classes/quick (moves with everything it owns)
        move Cluster a/foo (moves with everything it owns) after ClusterClass classes/quick
        move Cluster b/foo (moves with everything it owns) after ClusterClass classes/quick
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
        keep Identity id (moves with everything it owns; cluster-scoped)
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
        keep Identity id (moves with everything it owns; cluster-scoped)
        move Cluster ns/foo (moves with everything it owns) after Identity id
        move Machine ns/m (belongs to Cluster ns/foo) after Cluster ns/foo
    "#]]);
}
