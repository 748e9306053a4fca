//! What Metal3 and Cluster API call things.

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

/// The label by which a host knows its Cluster.
pub(crate) const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// The pause of a Cluster by annotation.
pub(crate) const CLUSTER_PAUSED: &str = "cluster.x-k8s.io/paused";

/// The operator leaves a host alone that has this annotation, whatever its value.
pub(crate) const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// The Metal3 provider's value of it; that one and no other the provider takes away.
pub(crate) const PROVIDER: &str = "metal3.io/capm3";
/// Our value of it.
pub(crate) const OURS: &str = "metal3-hosts.pivot-host.io";
/// A status as text, for a host that has none.
pub(crate) const STATUS: &str = "baremetalhost.metal3.io/status";
/// The provider has not let the host go yet.
pub(crate) const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
/// A reboot that is asked for; with `/name` behind it, until whoever asked takes it back.
pub(crate) const REBOOT: &str = "reboot.metal3.io";
/// An inspection that is asked for, or `disabled`.
pub(crate) const INSPECT: &str = "inspect.metal3.io";
