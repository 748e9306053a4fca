use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::plan::{Fate, Step, Why};
use crate::{Kind, Uid, testing};

/// Returns the plugins for a plan with objects of these groups and kinds.
fn fitting<const N: usize>(kinds: [(&str, &str); N], spec: &Value, target: EndKind) -> Vec<&'static str> {
    let objects = kinds.into_iter().map(|(group, name)| {
        let namespaced = !name.ends_with("RoleIdentity") && !name.starts_with("Global");
        let kind = Kind::clone(&testing::kind(name));
        let kind = Kind { group_kind: GroupKind::new(group, name), namespaced, ..kind };
        let mut body = json!({"metadata": {"name": "o", "uid": name}, "spec": spec});
        if namespaced {
            body["metadata"]["namespace"] = json!("ns");
        }
        Object::from_value(Arc::new(kind), &body).unwrap()
    });
    let inventory = Inventory::new(objects.collect());
    let steps = inventory.objects().iter().enumerate().map(|(object, it)| Step {
        object,
        key: it.key(),
        uid: Uid::default(),
        after: Vec::new(),
        dropped_owners: Vec::new(),
        fate: Fate::Move,
        why: Why::Root,
        cluster: None,
        in_target: None,
        changes: Vec::new(),
        content: None,
    });
    let plan = Plan { steps: steps.collect(), ..Plan::default() };
    find_fitting_plugins(&inventory, &plan, target).into_keys().collect()
}

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";

#[test]
fn providers_kinds_propose_their_plugin() {
    let nothing = json!({});
    for (group, kind, expected) in [
        (INFRASTRUCTURE, "AWSCluster", &["aws"][..]),
        (CONTROL_PLANE, "AWSManagedControlPlane", &["aws"]),
        (INFRASTRUCTURE, "GCPManagedCluster", &["gcp"]),
        (INFRASTRUCTURE, "AzureCluster", &["azure"]),
        (INFRASTRUCTURE, "VSphereCluster", &["vsphere"]),
        (INFRASTRUCTURE, "OpenStackMachine", &["openstack"]),
        ("addons.cluster.x-k8s.io", "HelmChartProxy", &["helm-addon"]),
        ("metal3.io", "BareMetalHost", &["metal3-endpoints", "metal3-hosts"]),
        (CONTROL_PLANE, "KubeadmControlPlane", &[]),
        (INFRASTRUCTURE, "DockerCluster", &[]),
        // Kinds of all providers.
        (GROUP_CLUSTER, "Machine", &[]),
        (GROUP_CLUSTER, "Cluster", &[]),
        // The label of its kind copies it, whether or not there is a cluster of AWS.
        (INFRASTRUCTURE, "AWSClusterRoleIdentity", &[]),
        // The plugin azure sees only some groups.
        ("sql.azure.com", "Server", &[]),
    ] {
        assert_eq!(fitting([(group, kind)], &nothing, EndKind::Cluster), expected, "{kind}");
    }
    let both =
        [(INFRASTRUCTURE, "AWSCluster"), (INFRASTRUCTURE, "GCPCluster"), (CONTROL_PLANE, "ROSAControlPlane")];
    assert_eq!(fitting(both, &nothing, EndKind::Cluster), ["aws", "gcp"], "each once");
}

#[test]
fn claims_of_other_providers_propose_nothing() {
    for kind in ["IPAddressClaim", "IPAddress"] {
        let claim =
            |pool: &str| fitting([(GROUP_IPAM, kind)], &json!({"poolRef": {"kind": pool}}), EndKind::Cluster);
        assert_eq!(claim("InClusterIPPool"), ["ipam-in-cluster"]);
        assert_eq!(claim("GlobalInClusterIPPool"), ["ipam-in-cluster"]);
        assert_eq!(claim("InfobloxIPPool"), [""; 0]);
    }
}

#[test]
fn targets_without_ironic_need_no_check() {
    let kinds = [("metal3.io", "BareMetalHost"), (INFRASTRUCTURE, "AWSCluster")];
    for (target, expected) in [
        (EndKind::Cluster, &["aws", "metal3-endpoints", "metal3-hosts"][..]),
        (EndKind::Files, &["aws", "metal3-hosts"]),
        (EndKind::HandoverFiles, &["aws", "metal3-hosts"]),
        (EndKind::Absent, &["aws", "metal3-hosts"]),
    ] {
        assert_eq!(fitting(kinds, &json!({}), target), expected, "{target:?}");
    }
}

#[test]
fn dangerous_kinds_have_a_handling_plugin() {
    let host = GroupKind::new(GROUP_METAL3, HOST);
    assert_eq!(find_handling_plugin(&host), Some("metal3-hosts"));
    assert_eq!(find_handling_plugin(&GroupKind::new(GROUP_METAL3, "DataImage")), None);
    assert_eq!(find_plugins_seeing(&host).count(), 0);
}
