//! Brings along the in-cluster pools that claims and addresses name.

use pivot_sdk::prelude::*;
use references::{Place, Reference, Target, declare_table, relate_object};

#[cfg(test)]
mod tests;

const IPAM: &str = "ipam.cluster.x-k8s.io";
const POOL: Kind = Kind::new(IPAM, "InClusterIPPool");
const GLOBAL_POOL: Kind = Kind::new(IPAM, "GlobalInClusterIPPool");

/// No pool is shared: controllers of both sides would assign its addresses.
const TABLE: &[Reference] = &[Reference {
    from: &[Kind::new(IPAM, "IPAddressClaim"), Kind::new(IPAM, "IPAddress")],
    parent: "spec.poolRef",
    name: "name",
    decides: "spec.poolRef.kind",
    to: &[
        ("InClusterIPPool", Target::need(POOL, Place::OwnNamespace)),
        ("GlobalInClusterIPPool", Target::need(GLOBAL_POOL, Place::Cluster)),
    ],
}];

/// The plugin.
#[derive(Debug, Default)]
pub struct IpamInCluster;

impl Plugin for IpamInCluster {
    fn about() -> About {
        declare_table(pivot_sdk::about!(), TABLE)
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        Ok(relate_object(TABLE, object))
    }
}

pivot_sdk::export!(IpamInCluster, hooks = [relate]);
