//! Metal3's and Cluster API's names.

use pivot_sdk::Kind;

pub(crate) const HOST: Kind = Kind::new("metal3.io", "BareMetalHost");
pub(crate) const HARDWARE: Kind = Kind::new("metal3.io", "HardwareData");
pub(crate) const SETTINGS: Kind = Kind::new("metal3.io", "HostFirmwareSettings");
pub(crate) const COMPONENTS: Kind = Kind::new("metal3.io", "HostFirmwareComponents");
pub(crate) const POLICY: Kind = Kind::new("metal3.io", "HostUpdatePolicy");
pub(crate) const DATA_IMAGE: Kind = Kind::new("metal3.io", "DataImage");
pub(crate) const SCHEMA: Kind = Kind::new("metal3.io", "FirmwareSchema");
pub(crate) const PREPROVISIONING: Kind = Kind::new("metal3.io", "PreprovisioningImage");
pub(crate) const SUBSCRIPTION: Kind = Kind::new("metal3.io", "BMCEventSubscription");
pub(crate) const SECRET: Kind = Kind::core("Secret");
pub(crate) const CLUSTER: Kind = Kind::new("cluster.x-k8s.io", "Cluster");
pub(crate) const MACHINE: Kind = Kind::new("infrastructure.cluster.x-k8s.io", "Metal3Machine");

/// The label on a host that names its Cluster.
pub(crate) const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// The annotation that pauses a Cluster.
pub(crate) const CLUSTER_PAUSED: &str = "cluster.x-k8s.io/paused";

/// The operator leaves hosts with this annotation alone, whatever its value.
pub(crate) const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// The provider's value of it, and the only one that the provider removes.
pub(crate) const PROVIDER: &str = "metal3.io/capm3";
/// Our value of it.
pub(crate) const OURS: &str = "metal3-hosts.pivot-host.io";
/// The operator takes hosts with this annotation out of Ironic and does nothing more to them, whatever its value.
pub(crate) const DETACHMENT: &str = "baremetalhost.metal3.io/detached";
/// A status as text, for a host without one.
pub(crate) const STATUS: &str = "baremetalhost.metal3.io/status";
/// The provider has not released the host yet.
pub(crate) const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
/// A requested reboot; with `/name` appended, it lasts until the requester removes it.
pub(crate) const REBOOT: &str = "reboot.metal3.io";
/// A requested inspection, or `disabled`.
pub(crate) const INSPECT: &str = "inspect.metal3.io";
