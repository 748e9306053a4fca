//! References of a Cluster and its machines, and so the objects that must be read to show them.

use std::collections::BTreeSet;

use super::body::Body;
use super::conditions::text_field;
use super::members::Members;
use crate::objects::names::{GROUP_ADDONS, GROUP_CLUSTER};
use crate::{GroupKind, Key, Object};

/// Returns the kinds that the tree begins with.
pub fn needed_kinds(resource_sets: bool) -> Vec<GroupKind> {
    let own = ["Cluster", "Machine", "MachineDeployment", "MachinePool", "MachineSet"];
    let own = own.map(|kind| GroupKind::new(GROUP_CLUSTER, kind)).into_iter();
    own.chain(resource_sets.then(|| GroupKind::new(GROUP_ADDONS, "ClusterResourceSetBinding"))).collect()
}

/// Finds the objects that a Cluster, its machines and its binding of ClusterResourceSets refer to.
pub fn find_references(objects: &[Object], cluster: &Key) -> BTreeSet<Key> {
    let members = Members::from_objects(objects, cluster);
    let mut found = BTreeSet::new();
    for body in members.cluster.iter().chain(members.machines_and_makers()) {
        found.extend(
            [INFRASTRUCTURE, CONTROL_PLANE, BOOTSTRAP].iter().filter_map(|path| parse_reference(body, path)),
        );
        found.extend([POOL_INFRASTRUCTURE, POOL_BOOTSTRAP].iter().filter_map(|path| {
            // References of a deployment and a set lead to templates, of which only the names are shown.
            body.object
                .kind
                .group_kind
                .is(GROUP_CLUSTER, "MachinePool")
                .then(|| parse_reference(body, path))?
        }));
    }
    found.extend(members.resource_sets().map(|(key, _)| key));
    found
}

/// Path of the infrastructure of Clusters and Machines.
pub(super) const INFRASTRUCTURE: &str = "/spec/infrastructureRef";
/// Path of the control plane of Clusters.
pub(super) const CONTROL_PLANE: &str = "/spec/controlPlaneRef";
/// Path of the bootstrap configuration of Machines.
pub(super) const BOOTSTRAP: &str = "/spec/bootstrap/configRef";
/// Path of the infrastructure of objects that make Machines.
pub(super) const POOL_INFRASTRUCTURE: &str = "/spec/template/spec/infrastructureRef";
/// Path of the bootstrap configuration of objects that make Machines.
pub(super) const POOL_BOOTSTRAP: &str = "/spec/template/spec/bootstrap/configRef";
/// Paths of the machine template of control planes, in v1beta2 and before.
pub(super) const CONTROL_PLANE_MACHINES: [&str; 2] =
    ["/spec/machineTemplate/spec/infrastructureRef", "/spec/machineTemplate/infrastructureRef"];

/// Returns the key of the object that a field refers to, in the namespace of the referring object. References before v1beta2 have
/// a version.
pub(super) fn parse_reference(body: &Body<'_>, path: &str) -> Option<Key> {
    let field = body.field(path)?;
    let (kind, name) = (text_field(field, "kind")?, text_field(field, "name")?);
    let group = text_field(field, "apiGroup")
        .or_else(|| Some(text_field(field, "apiVersion")?.split_once('/')?.0))
        .unwrap_or_default();
    Some(Key::new(GroupKind::new(group, kind), body.object.meta.namespace.as_deref(), name))
}
