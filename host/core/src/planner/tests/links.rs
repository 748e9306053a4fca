//! Links that no owner reference expresses.

use expect_test::expect;

use crate::testing::Case;

// proves: W8
#[test]
fn w8_all_secret_purposes_are_recognised() {
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
        move Cluster ns/foo (moves with everything it owns)
        move Cluster ns/foo-apiserver (moves with everything it owns)
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
fn names_of_owned_secrets_do_not_count() {
    Case::new(
        "Cluster ns/foo
         Secret ns/foo-ca < Widget ns/unread",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
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
        move ClusterClass ns/quick (moves with everything it owns)
        move Cluster ns/foo (moves with everything it owns) after ClusterClass ns/quick
        move InfraClusterTemplate ns/quick (belongs to ClusterClass ns/quick) after ClusterClass ns/quick
        move InfraCluster ns/foo (belongs to Cluster ns/foo) after Cluster ns/foo
    "#]]);
}

// proves: W25
#[test]
fn w25_templates_move_with_their_class() {
    Case::new(
        "ClusterClass ns/quick ! template=RemediationTemplate/r
         RemediationTemplate ns/r
         RemediationTemplate ns/unnamed",
    )
    .check(expect![[r#"
        move ClusterClass ns/quick (moves with everything it owns)
        move RemediationTemplate ns/r (belongs to ClusterClass ns/quick) after ClusterClass ns/quick
        stay RemediationTemplate ns/unnamed: nothing that moves owns it
    "#]]);
}

/// Anyone with permission to write classes could name objects of others.
// proves: D15, T86
#[test]
fn classes_move_only_templates_of_their_namespace() {
    for named in ["Secret/token", "Secret/kube-system/token", "InfraTemplate/other/t", "Template/t"] {
        let objects = format!(
            "ClusterClass ns/quick ! template={named}
             Secret ns/token
             Secret kube-system/token
             InfraTemplate other/t
             Template ns/t"
        );
        let plan = Case::new(&objects).plan();
        assert_eq!(plan.steps.len(), 1, "{named}: {:?}", plan.steps);
        assert_eq!(
            plan.notes.iter().map(|note| &*note.code).collect::<Vec<_>>(),
            ["template-ignored"],
            "{named}"
        );
        assert!(plan.refusals.is_empty(), "{named}");
    }
}

#[test]
fn unread_templates_are_noted() {
    Case::new("ClusterClass ns/quick ! template=RemediationTemplate/r").check(expect![[r#"
        move ClusterClass ns/quick (moves with everything it owns)
        note template-missing ClusterClass ns/quick: names RemediationTemplate ns/r, which was not read: it does not move
    "#]]);
}

// proves: W24
#[test]
fn w24_an_unreadable_cluster_is_refused() {
    Case::new(
        "Cluster ns/foo ! broken
         ClusterClass ns/quick ! broken
         ClusterResourceSetBinding ns/b ! broken",
    )
    .check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        move ClusterClass ns/quick (moves with everything it owns)
        stay ClusterResourceSetBinding ns/b: nothing that moves owns it
        refuse unreadable: ClusterResourceSetBinding ns/b can't be read: ClusterResourceSetBinding.addons.cluster.x-k8s.io body is not an object with readable metadata (line 1, column 131)
          -> look at it with `kubectl get -n ns clusterresourcesetbinding.addons.cluster.x-k8s.io b -o yaml` and repair it
        refuse unreadable: Cluster ns/foo can't be read: Cluster.cluster.x-k8s.io body is not an object with readable metadata (line 1, column 117)
          -> look at it with `kubectl get -n ns cluster.cluster.x-k8s.io foo -o yaml` and repair it
        refuse unreadable: ClusterClass ns/quick can't be read: ClusterClass.cluster.x-k8s.io body is not an object with readable metadata (line 1, column 126)
          -> look at it with `kubectl get -n ns clusterclass.cluster.x-k8s.io quick -o yaml` and repair it
    "#]]);
}

#[test]
fn missing_classes_are_refused() {
    Case::new("Cluster ns/foo ! class=gone").check(expect![[r#"
        move Cluster ns/foo (moves with everything it owns)
        refuse class-missing: Cluster ns/foo uses ClusterClass ns/gone, which does not exist
          -> create ClusterClass ns/gone, or let the Cluster name another: `kubectl edit -n ns cluster.cluster.x-k8s.io foo`
    "#]]);
}
