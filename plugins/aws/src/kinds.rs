//! Kinds of the provider.

use pivot_sdk::Kind;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";

pub(crate) const ROLE: Kind = Kind::new(INFRASTRUCTURE, "AWSClusterRoleIdentity");
pub(crate) const STATIC: Kind = Kind::new(INFRASTRUCTURE, "AWSClusterStaticIdentity");
pub(crate) const CLUSTER: Kind = Kind::new(INFRASTRUCTURE, "AWSCluster");
pub(crate) const EKS: Kind = Kind::new(CONTROL_PLANE, "AWSManagedControlPlane");
pub(crate) const ROSA: Kind = Kind::new(CONTROL_PLANE, "ROSAControlPlane");
pub(crate) const ROSA_NETWORK: Kind = Kind::new(INFRASTRUCTURE, "ROSANetwork");
pub(crate) const ROSA_ROLES: Kind = Kind::new(INFRASTRUCTURE, "ROSARoleConfig");

/// Templates of a class.
pub(crate) const CLUSTER_TEMPLATE: Kind = Kind::new(INFRASTRUCTURE, "AWSClusterTemplate");
pub(crate) const EKS_TEMPLATE: Kind = Kind::new(CONTROL_PLANE, "AWSManagedControlPlaneTemplate");

/// Kinds that name the identity of a cluster.
pub(crate) const CLUSTERS: [Kind; 3] = [CLUSTER, EKS, ROSA];
