//! Cluster API's groups.

use pivot_sdk::Kind;

/// Cluster API's core group.
pub(crate) const CORE: &str = "cluster.x-k8s.io";
/// The groups whose objects can be checked. A plugin declares what it reads before it knows its configuration.
pub const GROUPS: [Kind; 6] = [
    Kind::new(CORE, "*"),
    Kind::new("controlplane.cluster.x-k8s.io", "*"),
    Kind::new("bootstrap.cluster.x-k8s.io", "*"),
    Kind::new("infrastructure.cluster.x-k8s.io", "*"),
    Kind::new("addons.cluster.x-k8s.io", "*"),
    Kind::new("ipam.cluster.x-k8s.io", "*"),
];
