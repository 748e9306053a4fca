//! Kinds of the provider.

use pivot_sdk::Kind;

pub(crate) const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
pub(crate) const IDENTITY: Kind = Kind::new(INFRASTRUCTURE, "AzureClusterIdentity");
