//! Signs that the target's controllers see the paused copies. The move waits for them before the commit.
//!
//! A copy starts without a status. A controller that sees a paused object writes a condition, and so the condition on a copy shows
//! that the controller is at work. The table lists the kinds whose controllers do that. The source's conditions alone don't show it:
//! a Metal3Machine has `Paused` in the source, and its copy never gets it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::discovery::implicit_links::is_cluster;
use crate::objects::kind::GroupKind;
use crate::objects::merge;
use crate::objects::names::{GROUP_ADDONS, GROUP_CLUSTER, LABEL_WATCH_FILTER, MANAGED_BY, PAUSED};
use crate::objects::object::{Key, Object, ObjectError};
use crate::objects::pause::read_conditions;

pub mod kinds_without_sign;

/// The condition of Cluster API's contract for a paused object.
const CONDITION_PAUSED: &str = "Paused";

/// A state in which a controller gives the sign.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trigger {
    /// The Cluster is paused.
    ClusterPaused,
    /// The Cluster is paused, and the object itself isn't: its controller skips objects with the annotation.
    ClusterPausedAlone,
    /// The Cluster is paused, and a Machine or a pool owns the object.
    Owned,
    /// The object itself has the annotation that pauses it.
    Annotated,
}

/// Kinds whose controllers give a sign.
struct Row {
    /// The provider, as Cluster API labels its Deployments. One manager serves all its kinds.
    provider: &'static str,
    group: &'static str,
    kinds: &'static [&'static str],
    /// The condition that the controllers write.
    sign: &'static str,
    trigger: Trigger,
}

/// Owners without which the controllers of bootstrap objects leave them alone.
const OWNERS: [&str; 2] = ["Machine", "MachinePool"];

const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// Each line has the providers' source: Cluster API 1.14.2, CAPM3 at 2f6d76b8, Cluster API Provider vSphere 1.14.0 and AWS 2.13.0.
const ROWS: &[Row] = &[
    // core/reconcilers/*/*_controller.go call EnsurePausedCondition with the Cluster.
    Row {
        provider: "cluster-api",
        group: GROUP_CLUSTER,
        kinds: &[
            "Cluster",
            "Machine",
            "MachineDeployment",
            "MachineHealthCheck",
            "MachinePool",
            "MachineSet",
        ],
        sign: CONDITION_PAUSED,
        trigger: Trigger::ClusterPaused,
    },
    // core/reconcilers/clusterclass/clusterclass_controller.go:122, clusterresourceset/clusterresourceset_controller.go:146
    Row {
        provider: "cluster-api",
        group: GROUP_CLUSTER,
        kinds: &["ClusterClass"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::Annotated,
    },
    Row {
        provider: "cluster-api",
        group: GROUP_ADDONS,
        kinds: &["ClusterResourceSet"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::Annotated,
    },
    // controlplane/kubeadm/reconcilers/kubeadmcontrolplane/kubeadmcontrolplane_controller.go:234
    Row {
        provider: "control-plane-kubeadm",
        group: CONTROL_PLANE,
        kinds: &["KubeadmControlPlane"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::ClusterPaused,
    },
    // bootstrap/kubeadm/reconcilers/kubeadmconfig/kubeadmconfig_controller.go:167-210
    Row {
        provider: "bootstrap-kubeadm",
        group: BOOTSTRAP,
        kinds: &["KubeadmConfig"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::Owned,
    },
    // CAPM3 controllers/metal3cluster_controller.go:155
    Row {
        provider: "infrastructure-metal3",
        group: INFRASTRUCTURE,
        kinds: &["Metal3Cluster"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::ClusterPausedAlone,
    },
    // CAPM3 controllers/metal3machine_controller.go:177-192 returns before the pause, because the copy of the Cluster has no status.
    Row {
        provider: "infrastructure-metal3",
        group: INFRASTRUCTURE,
        kinds: &["Metal3Machine"],
        sign: "AssociateBareMetalHost",
        trigger: Trigger::ClusterPausedAlone,
    },
    // CAPV controllers/vspherecluster_controller.go:99, vspheremachine_controller.go:260, vspherevm_controller.go:170
    Row {
        provider: "infrastructure-vsphere",
        group: INFRASTRUCTURE,
        kinds: &["VSphereCluster", "VSphereMachine", "VSphereVM"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::ClusterPaused,
    },
    // CAPV controllers/vsphereclusteridentity_controller.go:97, vspheredeploymentzone_controller.go:117
    Row {
        provider: "infrastructure-vsphere",
        group: INFRASTRUCTURE,
        kinds: &["VSphereClusterIdentity", "VSphereDeploymentZone"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::Annotated,
    },
    // CAPA controllers/awscluster_controller.go:175, awsmachine_controller.go:209, awsmanagedcluster_controller.go:93,
    // exp/controllers/awsmanagedmachinepool_controller.go:125
    Row {
        provider: "infrastructure-aws",
        group: INFRASTRUCTURE,
        kinds: &["AWSCluster", "AWSMachine", "AWSManagedCluster", "AWSManagedMachinePool"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::ClusterPaused,
    },
    // CAPA controlplane/eks/controllers/awsmanagedcontrolplane_controller.go:243
    Row {
        provider: "infrastructure-aws",
        group: CONTROL_PLANE,
        kinds: &["AWSManagedControlPlane"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::ClusterPaused,
    },
    // CAPA bootstrap/eks/controllers/eksconfig_controller.go:121
    Row {
        provider: "infrastructure-aws",
        group: BOOTSTRAP,
        kinds: &["EKSConfig"],
        sign: CONDITION_PAUSED,
        trigger: Trigger::Owned,
    },
];

/// A provider, a namespace, and a value of the watch filter.
type ManagerKey<'a> = (&'static str, Option<String>, Option<&'a str>);

/// Returns the condition that controllers of a kind write on paused copies; none if the kind gives no sign.
fn sign_of(kind: &GroupKind) -> Option<&'static str> {
    row_of(kind).map(|row| row.sign)
}

fn row_of(kind: &GroupKind) -> Option<&'static Row> {
    ROWS.iter().find(|row| kind.group == row.group && row.kinds.contains(&kind.kind.as_str()))
}

/// Returns the row of an object whose controller must give a sign on its paused copy. In the source the controller reported the
/// pause, so its release does that; the target has the same release or a newer one.
fn awaited_row_of(source: &Object) -> Result<Option<&'static Row>, ObjectError> {
    let Some(row) = row_of(&source.kind.group_kind) else { return Ok(None) };
    let meta = &source.meta;
    let is_awaited = match row.trigger {
        Trigger::ClusterPaused => true,
        Trigger::ClusterPausedAlone => !meta.has_annotation(PAUSED),
        Trigger::Owned => meta.owner_references.iter().any(|owner| OWNERS.contains(&owner.kind.as_str())),
        Trigger::Annotated => meta.has_annotation(PAUSED),
    };
    let is_awaited = is_awaited
        && !meta.has_annotation(MANAGED_BY)
        && read_conditions(source)?.iter().any(|condition| condition.kind == CONDITION_PAUSED);
    Ok(is_awaited.then_some(row))
}

/// Returns true if a copy has the sign of its controller.
pub fn has_sign(copy: &Object) -> Result<bool, ObjectError> {
    let Some(sign) = sign_of(&copy.kind.group_kind) else { return Ok(true) };
    let is_sign = |kind: &str, status: &str| kind == sign && (sign != CONDITION_PAUSED || status == "True");
    Ok(read_conditions(copy)?.iter().any(|condition| is_sign(&condition.kind, &condition.status)))
}

/// Returns the patch that removes the sign from a copy; none if the copy has no sign. A controller that is at work writes it again.
pub fn removal_patch(copy: &Object) -> Result<Option<Value>, ObjectError> {
    let Some(sign) = sign_of(&copy.kind.group_kind).filter(|_| !copy.meta.is_being_deleted()) else {
        return Ok(None);
    };
    let body = copy.value()?;
    let mut patch = json!({});
    for path in ["/status/conditions", "/status/v1beta2/conditions"] {
        let Some(all) = body.pointer(path).and_then(Value::as_array) else { continue };
        let left: Vec<&Value> = all.iter().filter(|condition| condition["type"] != sign).collect();
        if left.len() < all.len() {
            let conditions = path.rsplit('/').skip(1).fold(json!({ "conditions": left }), |inner, name| {
                if name.is_empty() { inner } else { json!({ name: inner }) }
            });
            merge::apply_patch(&mut patch, &conditions);
        }
    }
    if patch == json!({}) {
        return Ok(None);
    }
    merge::apply_patch(&mut patch, &json!({"metadata": {"resourceVersion": copy.meta.resource_version}}));
    Ok(Some(patch))
}

/// Selects the copies of which a sign is awaited, by the objects of the source: one of each set. Each Cluster is a set, and so are the
/// objects of each other kind. A provider's manager may watch only some namespaces, or objects with one value of the watch filter. So one
/// kind of each provider is a set for each namespace and value.
///
/// Never each object: a manager with 20,000 new copies needs minutes.
pub fn select_signs<'a>(
    sources: impl IntoIterator<Item = &'a Object>,
) -> Result<BTreeMap<GroupKind, BTreeSet<BTreeSet<Key>>>, ObjectError> {
    let mut wanted: BTreeMap<GroupKind, BTreeSet<BTreeSet<Key>>> = BTreeMap::new();
    let mut of_kind: BTreeMap<GroupKind, BTreeSet<Key>> = BTreeMap::new();
    let mut watched: BTreeMap<ManagerKey<'_>, BTreeSet<Key>> = BTreeMap::new();
    for source in sources {
        let Some(row) = awaited_row_of(source)? else { continue };
        let key = source.key();
        if is_cluster(&key.group_kind) {
            wanted.entry(key.group_kind.clone()).or_default().insert(BTreeSet::from([key.clone()]));
        } else {
            of_kind.entry(key.group_kind.clone()).or_default().insert(key.clone());
        }
        let filter = source.meta.labels.get(LABEL_WATCH_FILTER).map(String::as_str);
        let by = (row.provider, key.namespace.clone(), filter);
        watched.entry(by).or_default().insert(key);
    }
    for (kind, keys) in of_kind {
        wanted.entry(kind).or_default().insert(keys);
    }
    for keys in watched.into_values() {
        // Keys are sorted by kind. Clusters come first, and each of them is awaited already.
        let Some(kind) = keys.first().map(|first| first.group_kind.clone()) else { continue };
        if !is_cluster(&kind) {
            let of_first = keys.into_iter().filter(|key| key.group_kind == kind).collect();
            wanted.entry(kind).or_default().insert(of_first);
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests;
