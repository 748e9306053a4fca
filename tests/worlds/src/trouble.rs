//! What can be wrong with a management cluster.

use serde_json::{Value, json};

use crate::dice::Dice;

/// Something for which a move of everything must be refused, or must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// A provider forbids to move an object for now.
    Blocked,
    /// An object is being deleted.
    HalfDeleted,
    /// A user paused a Cluster.
    Paused,
    /// A Cluster has no infrastructure yet.
    Unprovisioned,
    /// A Machine has no node yet.
    WithoutNode,
    /// The only owner of an object that is to move no longer exists.
    Orphaned,
    /// Two objects own each other.
    Circle,
    /// An object of a kind that doesn't move is owned by a Cluster.
    Bystander,
}

impl Trouble {
    /// Each there is.
    pub const ALL: [Self; 8] = [
        Self::Blocked,
        Self::HalfDeleted,
        Self::Paused,
        Self::Unprovisioned,
        Self::WithoutNode,
        Self::Orphaned,
        Self::Circle,
        Self::Bystander,
    ];

    /// Whether a move waits for it to end, instead of refusing.
    #[must_use]
    pub fn is_waited_for(self) -> bool {
        self == Self::Blocked
    }

    pub(crate) fn add(dice: Dice, objects: &mut Vec<Value>, clusters: &[(String, String)]) -> Self {
        let trouble = dice.pick(&Self::ALL);
        let (namespace, name) = clusters[index(dice.about("cluster"), clusters.len())].clone();
        let of = |object: &Value| object["metadata"]["namespace"] == namespace.as_str();
        let cluster = objects.iter().position(|object| {
            of(object) && object["kind"] == "Cluster" && object["metadata"]["name"] == name.as_str()
        });
        let labelled = |object: &Value| {
            object["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == name.as_str() && of(object)
        };
        let below: Vec<usize> = (0..objects.len()).filter(|&at| labelled(&objects[at])).collect();
        let any = below[index(dice.about("object"), below.len())];
        let Some(cluster) = cluster else { return trouble };
        let owner = json!({ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": name,
            "uid": objects[cluster]["metadata"]["uid"] });
        match trouble {
            Self::Blocked => {
                objects[any]["metadata"]["annotations"]["clusterctl.cluster.x-k8s.io/block-move"] = json!("");
            }
            Self::HalfDeleted => {
                let metadata = &mut objects[any]["metadata"];
                metadata["deletionTimestamp"] = json!("2026-08-03T10:58:41Z");
                metadata["finalizers"] = json!(["lab/stay"]);
            }
            Self::Paused => objects[cluster]["spec"]["paused"] = json!(true),
            Self::Unprovisioned => {
                objects[cluster]["status"] = json!({ "phase": "Provisioning" });
            }
            Self::WithoutNode => {
                let spec = json!({ "clusterName": name });
                objects.push(json!({ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
                    "metadata": { "name": "new", "namespace": namespace, "uid": "new", "ownerReferences": [owner] },
                    "spec": spec, "status": { "phase": "Provisioning" } }));
            }
            Self::Orphaned => {
                let gone = json!({ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "gone", "uid": "gone" });
                objects.push(object(
                    "LabNetwork",
                    "infrastructure.cluster.x-k8s.io/v1beta2",
                    &namespace,
                    "orphan",
                    &[gone],
                ));
            }
            Self::Circle => {
                let of = |name: &str| {
                    json!({ "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig",
                    "name": name, "uid": name })
                };
                for (name, other) in [("round", "trip"), ("trip", "round")] {
                    let mut made = object(
                        "KubeadmConfig",
                        "bootstrap.cluster.x-k8s.io/v1beta2",
                        &namespace,
                        name,
                        &[owner.clone(), of(other)],
                    );
                    made["metadata"]["uid"] = json!(name);
                    objects.push(made);
                }
            }
            Self::Bystander => {
                objects.push(object("Service", "v1", &namespace, "bystander", &[owner]));
            }
        }
        trouble
    }
}

fn object(kind: &str, api_version: &str, namespace: &str, name: &str, owners: &[Value]) -> Value {
    json!({ "apiVersion": api_version, "kind": kind,
        "metadata": { "name": name, "namespace": namespace, "uid": format!("{kind}.{namespace}.{name}"), "ownerReferences": owners } })
}

fn index(dice: Dice, length: usize) -> usize {
    usize::try_from(dice.below(length as u64)).unwrap_or(0)
}
