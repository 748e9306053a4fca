//! Objects that are missing, unusual, old or odd.

use super::*;

#[test]
fn missing_references_have_a_row() {
    let objects = without(without(cluster(), "LabCluster"), "KubeadmControlPlane");
    let described = Described {
        cluster: key(),
        objects: without(objects, "LabMachine"),
        unread: BTreeMap::from([
            (GroupKind::new("infrastructure.cluster.x-k8s.io", "LabMachine"), Problem::not_read("no".into())),
            (GroupKind::new("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"), Problem::not_served()),
        ]),
    };
    let mut text = String::new();
    lines(&build_tree(&described, &View::default()).root, 0, &mut text);
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]  Available True Available 10:00:00Z
          KubeadmControlPlane ns/c  NotServed: it is referenced, but its kind is not defined here
            Machine ns/cp-1, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
              LabMachine ns/cp-1  NotRead: no
            Machine ns/cp-2, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
              LabMachine ns/cp-2  NotRead: no
            Machine ns/cp-3, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
              LabMachine ns/cp-3  NotRead: no
          LabCluster ns/c  NotFound: it is referenced, but doesn't exist
          Workers
            MachineDeployment ns/md, v1.36.3  [2/2 2 2 2]  Available True Available 10:00:00Z
              Machine ns/w-1, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
                LabMachine ns/w-1  NotRead: no
              Machine ns/w-2, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
                LabMachine ns/w-2  NotRead: no
    "#]]
    .assert_eq(&text);
}

#[test]
fn machines_of_any_owner_have_a_row() {
    let mut objects = without(cluster(), "MachineDeployment");
    patched(&mut objects, "Cluster", "c", &json!({"spec": {"controlPlaneRef": null}}));
    objects.extend(machine("stray", ("MachineSet", "nobody's"), &all_well()));
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]  Available True Available 10:00:00Z
          ControlPlane
            3 Machines...  [- 3 3 3]  Ready True Ready 10:00:00Z  (cp-1 cp-2 cp-3)
          LabCluster ns/c  Ready True Ready 10:00:00Z
          Workers
            MachineSet ns/ms, v1.36.3  [2/2 2 2 2]
              2 Machines...  [- 2 2 2]  Ready True Ready 10:00:00Z  (w-1 w-2)
            Other
              Machine ns/stray, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
    "#]]
    .assert_eq(&text(objects, &usual()));
    // Nothing makes Machines yet, which is when people ask why.
    let objects = without(without(cluster(), "Machine"), "MachineSet");
    expect![[r#"
        Cluster ns/c, v1.36.3  [5/5 5 5 5]  Available True Available 10:00:00Z
          KubeadmControlPlane ns/c, v1.36.3  [3/3 3 3 3]  Available True Available 10:00:00Z
          LabCluster ns/c  Ready True Ready 10:00:00Z
          Workers
            MachineDeployment ns/md, v1.36.3  [2/2 2 2 2]  Available True Available 10:00:00Z
    "#]]
    .assert_eq(&text(objects, &usual()));
}

#[test]
fn pools_have_rows_like_deployments() {
    let mut objects = vec![object(CAPI, "Cluster", "c", &json!({"status": {}}))];
    let template = json!({"spec": {"version": "v1.36.3", "infrastructureRef": refers(INFRA, "LabPool", "mp"),
        "bootstrap": {"configRef": refers(BOOT, "KubeadmConfig", "mp")}}});
    let status = json!({"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "upToDateReplicas": 0,
        "deprecated": {"v1beta1": {"conditions": [well("Ready")]}}});
    objects.push(object(
        CAPI,
        "MachinePool",
        "mp",
        &json!({"spec": {"replicas": 2, "template": template}, "status": status}),
    ));
    let waits = condition("Ready", "False", "Scaling", "1 of 2");
    objects.push(object(INFRA, "LabPool", "mp", &json!({"status": {"conditions": [waits]}})));
    objects.push(object(BOOT, "KubeadmConfig", "mp", &json!({"status": {"conditions": [well("Ready")]}})));
    objects.extend(machine("p-1", ("MachinePool", "mp"), &all_well()));
    expect![[r#"
        Cluster ns/c
          Workers
            MachinePool ns/mp, v1.36.3  [1/2 1 1 0]  Ready True Ready 10:00:00Z
              LabPool ns/mp  Ready False Scaling 10:00:00Z 1 of 2
              Machine ns/p-1, v1.36.3  [1 1 1 1]  Ready True Ready 10:00:00Z
    "#]]
    .assert_eq(&text(objects, &usual()));
}

#[test]
fn resource_sets_show_state_for_this_cluster() {
    const ADDONS: &str = "addons.cluster.x-k8s.io/v1beta2";
    let resource = |name: &str, applied: bool| json!({"kind": "ConfigMap", "name": name, "applied": applied, "lastAppliedTime": TIME});
    let bindings = json!([
        {"clusterResourceSetName": "cni", "resources": [resource("a", true), resource("b", true)]},
        {"clusterResourceSetName": "csi", "resources": [resource("a", true), resource("b", false)]},
        {"clusterResourceSetName": "new", "resources": []},
    ]);
    let mut objects = vec![
        object(CAPI, "Cluster", "c", &json!({})),
        object(
            ADDONS,
            "ClusterResourceSetBinding",
            "c",
            &json!({"spec": {"clusterName": "c", "bindings": bindings}}),
        ),
        object(
            ADDONS,
            "ClusterResourceSetBinding",
            "d",
            &json!({"spec": {"clusterName": "d", "bindings": bindings}}),
        ),
    ];
    objects.extend(["cni", "csi"].map(|name| object(ADDONS, "ClusterResourceSet", name, &json!({}))));
    expect![[r#"
        Cluster ns/c
          ClusterResourceSets
            ClusterResourceSet ns/cni  ResourcesApplied True Applied 10:00:00Z
            ClusterResourceSet ns/csi  ResourcesApplied False NotApplied 10:00:00Z 1 of 2 not applied: ConfigMap b
            ClusterResourceSet ns/new  NotFound: it is referenced, but doesn't exist
    "#]].assert_eq(&text(objects.clone(), &View { resource_sets: true, ..usual() }));
    assert_eq!(text(objects, &usual()), "Cluster ns/c\n");
}

/// Releases before 1.9 have no others. Releases 1.9 and 1.10 have both, and directories keep the version that was written.
#[test]
fn objects_of_older_versions_have_columns() {
    const OLD: &str = "cluster.x-k8s.io/v1beta1";
    let old = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "severity": "Error", "lastTransitionTime": TIME});
    let fine = json!({"type": "Ready", "status": "True", "lastTransitionTime": TIME});
    let refers = |kind: &str| json!({"apiVersion": INFRA, "kind": kind, "name": "c", "namespace": "ns"});
    let owner = controlled_by("MachineSet", "ms");
    let objects = vec![
        object(
            OLD,
            "Cluster",
            "c",
            &json!({"spec": {"infrastructureRef": refers("LabCluster")}, "status": {"conditions": [old("Ready", "False", "Scaling")]}}),
        ),
        object(INFRA, "LabCluster", "c", &json!({"status": {"conditions": [fine]}})),
        object(
            OLD,
            "MachineDeployment",
            "md",
            &json!({"spec": {"replicas": 2, "template": {"spec": {"version": "v1.30.0"}}}, "status": {"replicas": 2, "updatedReplicas": 1,
                "conditions": [fine, old("Available", "False", "WaitingForAvailableMachines")]}}),
        ),
        object(
            OLD,
            "MachineSet",
            "ms",
            &json!({"metadata": {"ownerReferences": controlled_by("MachineDeployment", "md")}}),
        ),
        object(
            OLD,
            "Machine",
            "m-1",
            &json!({"metadata": {"ownerReferences": owner}, "status": {"conditions": [fine]}}),
        ),
        object(
            OLD,
            "Machine",
            "m-2",
            &json!({"metadata": {"ownerReferences": owner}, "status": {"conditions": [fine], "v1beta2": {"conditions": all_well()}}}),
        ),
    ];
    expect![[r#"
        Cluster ns/c  Ready False Scaling 10:00:00Z
          LabCluster ns/c  Ready True NoReasonReported 10:00:00Z
          Workers
            MachineDeployment ns/md, v1.30.0  [2/2 0 0 1]  Available False WaitingForAvailableMachines 10:00:00Z
              Machine ns/m-1  [1 - 1 -]  Ready True NoReasonReported 10:00:00Z
              Machine ns/m-2  [1 1 1 1]  Ready True Ready 10:00:00Z
    "#]].assert_eq(&text(objects, &usual()));
}

/// Files are written by hand, and providers write whatever they like.
#[test]
fn odd_objects_do_not_hide_others() {
    let mut objects = cluster();
    patched(&mut objects, "LabCluster", "c", &json!({"status": {"conditions": "none"}}));
    patched(&mut objects, "Cluster", "c", &json!({"status": 7}));
    patched(
        &mut objects,
        "MachineDeployment",
        "md",
        &json!({"spec": {"replicas": "two"}, "status": {"conditions": [7]}}),
    );
    patched(
        &mut objects,
        "Machine",
        "cp-1",
        &json!({"spec": {"infrastructureRef": {"kind": "", "name": 7}}}),
    );
    let text = text(objects, &View::default());
    assert!(text.contains("Machine ns/w-2, v1.36.3  [1 1 1 1]  Ready True"), "{text}");
    assert!(text.contains("  MachineDeployment ns/md, v1.36.3  [- 2 2 2]"), "{text}");
}

#[test]
fn other_clusters_objects_are_not_shown() {
    let elsewhere = |body: &Value| object(CAPI, "Machine", "x", body);
    let mut objects = cluster();
    objects.push(elsewhere(&json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "d"}}, "spec": {"clusterName": "c"}})));
    objects.push(elsewhere(&json!({"metadata": {"namespace": "other"}})));
    objects.push(elsewhere(&json!({"metadata": {"labels": null}, "spec": {"clusterName": "d"}})));
    assert_eq!(text(objects.clone(), &usual()), text(cluster(), &usual()));
    objects.push(object(
        CAPI,
        "Machine",
        "y",
        &json!({"metadata": {"labels": null}, "spec": {"clusterName": "c"}}),
    ));
    assert!(text(objects, &usual()).contains("Machine ns/y"), "it says so itself");
}
