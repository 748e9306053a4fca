//! Copies of kinds that the target stores in a newer version.
//!
//! The target's webhooks convert each copy to the newer version, and back for the answer. Two differences between a copy and its
//! original lose nothing, and both occur in each upgrade of a provider, too:
//!
//! - References in a spec. Newer versions keep group, kind and name of an object, without the version and the UID.
//! - Fields that the newer version removed, because no controller needs them. They are listed here, and the plan reports them.
//!
//! Any other difference is a lost field.

use serde_json::Value;

use crate::copies::body;
use crate::objects::kind::Kind;
use crate::objects::names::GROUP_CLUSTER;
use crate::objects::object::{Object, ObjectError};

/// A field without a counterpart in the next version.
struct RemovedField {
    group: &'static str,
    /// The last version that has the field.
    version: &'static str,
    /// The kind; empty for each kind of the group.
    kind: &'static str,
    /// Fields of which it is a part; empty if it may be anywhere in the spec.
    parents: &'static [&'static str],
    /// Name of the field.
    field: &'static str,
}

impl RemovedField {
    fn is_at(&self, parent: &str, name: &str) -> bool {
        self.field == name && (self.parents.is_empty() || self.parents.contains(&parent))
    }
}

/// Parts of a KubeadmConfig that kubeadm reads, each in a format with its own version.
const OF_KUBEADM: &[&str] = &["clusterConfiguration", "initConfiguration", "joinConfiguration"];

/// Places in the source refer to Cluster API 1.14.2, below `api`. Fields that a conversion only moves or renames are not here.
static REMOVED_FIELDS: [RemovedField; 10] = [
    // core/v1beta1/conversion.go:1674: the field was never used.
    removed_field(GROUP_CLUSTER, "MachineDeployment", "progressDeadlineSeconds"),
    // core/v1beta1/zz_generated.conversion.go, MachineDeploymentSpec: no counterpart since Cluster API #12274.
    removed_field(GROUP_CLUSTER, "MachineDeployment", "revisionHistoryLimit"),
    // core/v1beta1/conversion.go:1303: only needed for variables with conflicting definitions, which v1beta2 doesn't allow.
    removed_field(GROUP_CLUSTER, "Cluster", "definitionFrom"),
    // bootstrap/kubeadm/v1beta1/conversion.go:524: without effect since the script for old versions of kubeadm was removed.
    removed_field("bootstrap.cluster.x-k8s.io", "", "useExperimentalRetryJoin"),
    removed_field("controlplane.cluster.x-k8s.io", "", "useExperimentalRetryJoin"),
    // bootstrap/kubeadm/v1beta1/zz_generated.conversion.go, ClusterConfiguration: older controllers wrote the values of the Cluster
    // and the Machine into KubeadmConfigs. Newer controllers compute them for each machine. Users' values in templates stay refused.
    RemovedField {
        parents: OF_KUBEADM,
        ..removed_field("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "clusterName")
    },
    RemovedField {
        parents: OF_KUBEADM,
        ..removed_field("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "kubernetesVersion")
    },
    RemovedField {
        parents: OF_KUBEADM,
        ..removed_field("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "networking")
    },
    // In the same place: the version of kubeadm's own format, which follows from the version of Kubernetes.
    RemovedField { parents: OF_KUBEADM, ..removed_field("bootstrap.cluster.x-k8s.io", "", "apiVersion") },
    RemovedField { parents: OF_KUBEADM, ..removed_field("bootstrap.cluster.x-k8s.io", "", "kind") },
];

const fn removed_field(group: &'static str, kind: &'static str, field: &'static str) -> RemovedField {
    RemovedField { group, version: "v1beta1", kind, parents: &[], field }
}

/// Returns true if a server stores objects in a newer version than the kind's, as far as its preferred version shows.
pub fn is_converted(kind: &Kind) -> bool {
    kind.served.first().is_some_and(|preferred| *preferred != kind.version)
}

fn removed_fields(kind: &Kind) -> impl Iterator<Item = &'static RemovedField> {
    let (of, version) = (&kind.group_kind, &kind.version);
    let all = REMOVED_FIELDS.iter().filter(move |one| one.group == of.group && one.version == version);
    all.filter(move |one| one.kind.is_empty() || one.kind == of.kind)
}

/// Returns the paths, never the values, where a server's answer to the create or update of a copy lacks a sent value. `kind` is
/// the target's kind in the version of the request.
pub fn find_lost_fields(kind: &Kind, sent: &Value, answer: &Value) -> Vec<String> {
    let lost = body::find_lost_fields(sent, answer);
    if lost.is_empty() || !is_converted(kind) {
        return lost;
    }
    let removed: Vec<&RemovedField> = removed_fields(kind).collect();
    let mut kept = sent.clone();
    if let (Some(spec), Some(answer)) = (kept.get_mut("spec"), answer.get("spec")) {
        drop_converted(spec, answer, "spec", &removed);
    }
    body::find_lost_fields(&kept, answer)
}

/// Returns the fields of an object that its copy can't keep, because the newer version removed them.
pub fn find_removed_fields(kind: &Kind, object: &Object) -> Result<Vec<&'static str>, ObjectError> {
    if !is_converted(kind) || removed_fields(kind).next().is_none() {
        return Ok(Vec::new());
    }
    let value = object.value()?;
    let is_there =
        |field: &&RemovedField| value.get("spec").is_some_and(|spec| has_field(spec, "spec", field));
    Ok(removed_fields(kind).filter(is_there).map(|removed| removed.field).collect())
}

/// Returns true if a value, which is the field `parent` or in its list, contains the removed field.
fn has_field(value: &Value, parent: &str, removed: &RemovedField) -> bool {
    match value {
        Value::Object(map) => {
            map.iter().any(|(name, below)| removed.is_at(parent, name) || has_field(below, name, removed))
        }
        Value::Array(all) => all.iter().any(|below| has_field(below, parent, removed)),
        _ => false,
    }
}

/// Removes what conversion doesn't keep from the sent value, which is the field `parent` or in its list.
fn drop_converted(sent: &mut Value, answer: &Value, parent: &str, removed: &[&RemovedField]) {
    match (sent, answer) {
        (Value::Object(sent), Value::Object(answer)) => {
            let is_removed = |name: &str| removed.iter().any(|field| field.is_at(parent, name));
            sent.retain(|name, _| answer.contains_key(name) || !is_removed(name));
            if is_same_reference(sent, answer) {
                for field in ["apiVersion", "uid", "resourceVersion"] {
                    sent.remove(field);
                }
            }
            for (name, below) in sent {
                if let Some(answer) = answer.get(name) {
                    drop_converted(below, answer, name, removed);
                }
            }
        }
        (Value::Array(sent), Value::Array(answer)) if sent.len() == answer.len() => {
            sent.iter_mut()
                .zip(answer)
                .for_each(|(sent, answer)| drop_converted(sent, answer, parent, removed));
        }
        _ => {}
    }
}

type Map = serde_json::Map<String, Value>;

/// Returns true if both values name the same object, in any version of its kind.
fn is_same_reference(sent: &Map, answer: &Map) -> bool {
    let text = |map: &'_ Map, field| map.get(field).and_then(Value::as_str).map(str::to_owned);
    let group = |map: &Map| Some(text(map, "apiVersion")?.rsplit_once('/')?.0.to_owned());
    let is_same = |field| text(sent, field).is_some() && text(sent, field) == text(answer, field);
    is_same("kind") && is_same("name") && group(sent).is_some() && group(sent) == group(answer)
}

#[cfg(test)]
mod tests;
