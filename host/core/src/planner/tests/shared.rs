//! Namespaces, and objects shared with those that stay.

use expect_test::expect;

use crate::testing::Case;

#[test]
fn foreign_classes_are_kept_with_their_templates() {
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
fn w4_templates_keep_only_their_read_owners() {
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
fn foreign_classes_with_missing_templates_are_refused() {
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
fn classes_used_elsewhere_are_kept() {
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
fn unreadable_clusters_elsewhere_are_refused() {
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
fn foreign_objects_do_not_move_by_kind() {
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
fn all_namespaces_move_without_sharing() {
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
fn cluster_scoped_hierarchies_are_kept() {
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
fn clusters_below_cluster_scoped_objects_move() {
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
