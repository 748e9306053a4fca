//! A provider that is installed on a side.

/// A provider in clusterctl's inventory of a side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// `metal3`.
    pub name: String,
    /// The provider's type: `InfrastructureProvider`.
    pub provider_type: String,
    /// The version as written: `v1.9.2`.
    pub version: String,
    /// The namespace it runs in.
    pub namespace: String,
}
