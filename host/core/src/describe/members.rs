//! Objects of a Cluster, and their controllers.

use super::body::Body;
use crate::discovery::implicit_links::cluster_name_of;
use crate::objects::names::{GROUP_ADDONS, GROUP_CLUSTER, LABEL_CLUSTER};
use crate::{GroupKind, Key, Object};

/// Label on a Machine of a control plane, with any value.
const LABEL_CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";

/// The objects of one Cluster.
pub(super) struct Members<'a> {
    pub(super) cluster: Option<Body<'a>>,
    pub(super) machines: Vec<Body<'a>>,
    pub(super) deployments: Vec<Body<'a>>,
    pub(super) pools: Vec<Body<'a>>,
    pub(super) sets: Vec<Body<'a>>,
    binding: Option<Body<'a>>,
}

impl<'a> Members<'a> {
    pub(super) fn from_objects(objects: &'a [Object], cluster: &Key) -> Self {
        let of_kind = |kind: &str| -> Vec<Body<'a>> {
            let kind = GroupKind::new(GROUP_CLUSTER, kind);
            let own =
                objects.iter().filter(|object| object.kind.group_kind == kind && is_member(object, cluster));
            own.map(Body::new).collect()
        };
        let binding = objects.iter().find(|object| {
            object.kind.group_kind.is(GROUP_ADDONS, "ClusterResourceSetBinding")
                && object.meta.namespace == cluster.namespace
                // Releases that don't write the field name the binding after the Cluster.
                && cluster_name_of(object).unwrap_or(object.meta.name.clone()) == cluster.name
        });
        Self {
            cluster: objects.iter().find(|object| object.key() == *cluster).map(Body::new),
            machines: of_kind("Machine"),
            deployments: of_kind("MachineDeployment"),
            pools: of_kind("MachinePool"),
            sets: of_kind("MachineSet"),
            binding: binding.map(Body::new),
        }
    }

    /// Returns all members except the Cluster and its binding.
    pub(super) fn machines_and_makers(&self) -> impl Iterator<Item = &Body<'a>> {
        self.machines.iter().chain(&self.deployments).chain(&self.pools).chain(&self.sets)
    }

    /// Returns the MachineSets of a MachineDeployment.
    pub(super) fn sets_of(&self, deployment: &Body<'_>) -> impl Iterator<Item = &Body<'a>> {
        self.sets.iter().filter(|set| is_controlled_by(set, deployment))
    }

    /// Returns the Machines of a MachineSet.
    pub(super) fn machines_of(&self, set: &Body<'_>) -> impl Iterator<Item = &Body<'a>> {
        self.machines.iter().filter(|machine| is_controlled_by(machine, set))
    }

    /// Returns true if a ClusterResourceSet was ever bound to the Cluster.
    pub(super) fn is_bound(&self) -> bool {
        self.binding.is_some()
    }

    /// Returns the ClusterResourceSets that are bound to the Cluster, each with its entry in the binding.
    pub(super) fn resource_sets(&self) -> impl Iterator<Item = (Key, &serde_json::Value)> {
        let kind = GroupKind::new(GROUP_ADDONS, "ClusterResourceSet");
        let bindings =
            self.binding.iter().filter_map(|binding| Some((binding, binding.field("/spec/bindings")?)));
        bindings.flat_map(move |(binding, list)| {
            let (kind, namespace) = (kind.clone(), binding.object.meta.namespace.as_deref());
            list.as_array().into_iter().flatten().filter_map(move |bound| {
                let name = bound.get("clusterResourceSetName")?.as_str()?;
                Some((Key::new(kind.clone(), namespace, name), bound))
            })
        })
    }
}

/// Returns true if an object belongs to a Cluster. Controllers label all objects, but people's objects may have only the field.
fn is_member(object: &Object, cluster: &Key) -> bool {
    let label = || object.meta.labels.get(LABEL_CLUSTER).cloned();
    object.meta.namespace == cluster.namespace
        && label().or_else(|| cluster_name_of(object)).is_some_and(|name| name == cluster.name)
}

/// Returns true if a Machine belongs to a control plane.
pub(super) fn is_of_control_plane(machine: &Body<'_>) -> bool {
    machine.object.meta.has_label(LABEL_CONTROL_PLANE)
}

/// Returns true if an object is controlled by another. Controllers match by name, because a copy has another UID.
pub(super) fn is_controlled_by(object: &Body<'_>, controller: &Body<'_>) -> bool {
    let references = &object.object.meta.owner_references;
    references.iter().find(|reference| reference.controller == Some(true)).is_some_and(|reference| {
        reference.group_kind() == controller.object.kind.group_kind
            && reference.name == controller.object.meta.name
    })
}
