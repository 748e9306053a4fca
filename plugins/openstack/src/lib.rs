//! Brings along the credentials and floating address pools of OpenStack clusters.

use pivot_sdk::prelude::*;
use references::{Place, Reference, SECRET, SHARED_SECRET, Target, declare_table, relate_object};

#[cfg(test)]
mod tests;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const IDENTITY: Kind = Kind::new(INFRASTRUCTURE, "OpenStackClusterIdentity");
const CLUSTER: Kind = Kind::new(INFRASTRUCTURE, "OpenStackCluster");
const CLUSTER_TEMPLATE: Kind = Kind::new(INFRASTRUCTURE, "OpenStackClusterTemplate");
const MACHINE: Kind = Kind::new(INFRASTRUCTURE, "OpenStackMachine");
const SERVER: Kind = Kind::new(INFRASTRUCTURE, "OpenStackServer");
const TEMPLATE: Kind = Kind::new(INFRASTRUCTURE, "OpenStackMachineTemplate");
const POOL: Kind = Kind::new(INFRASTRUCTURE, "OpenStackFloatingIPPool");

const IDENTITIES: &[(&str, Target)] = &[
    ("", SHARED_SECRET),
    ("Secret", SHARED_SECRET),
    ("ClusterIdentity", Target::share(IDENTITY, Place::Cluster)),
];
/// Controllers of both sides would assign addresses of a shared pool.
const POOLS: &[(&str, Target)] = &[("OpenStackFloatingIPPool", Target::need(POOL, Place::OwnNamespace))];

const TABLE: &[Reference] = &[
    Reference {
        from: &[CLUSTER, MACHINE, SERVER, POOL],
        parent: "spec.identityRef",
        name: "name",
        decides: "spec.identityRef.type",
        to: IDENTITIES,
    },
    Reference {
        from: &[CLUSTER_TEMPLATE, TEMPLATE],
        parent: "spec.template.spec.identityRef",
        name: "name",
        decides: "spec.template.spec.identityRef.type",
        to: IDENTITIES,
    },
    Reference {
        from: &[IDENTITY],
        parent: "spec.secretRef",
        name: "name",
        decides: "",
        to: &[("", Target::share(SECRET, Place::Namespace("capo-system")))],
    },
    Reference {
        from: &[MACHINE, SERVER],
        parent: "spec.floatingIPPoolRef",
        name: "name",
        decides: "spec.floatingIPPoolRef.kind",
        to: POOLS,
    },
    Reference {
        from: &[TEMPLATE],
        parent: "spec.template.spec.floatingIPPoolRef",
        name: "name",
        decides: "spec.template.spec.floatingIPPoolRef.kind",
        to: POOLS,
    },
    // The provider ignores the identity of a bastion: it uses the identity of the cluster.
    Reference {
        from: &[CLUSTER],
        parent: "spec.bastion.spec.floatingIPPoolRef",
        name: "name",
        decides: "spec.bastion.spec.floatingIPPoolRef.kind",
        to: POOLS,
    },
    Reference {
        from: &[CLUSTER_TEMPLATE],
        parent: "spec.template.spec.bastion.spec.floatingIPPoolRef",
        name: "name",
        decides: "spec.template.spec.bastion.spec.floatingIPPoolRef.kind",
        to: POOLS,
    },
];

/// The plugin.
#[derive(Debug, Default)]
pub struct Openstack;

impl Plugin for Openstack {
    fn about() -> About {
        declare_table(pivot_sdk::about!(), TABLE)
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        Ok(relate_object(TABLE, object))
    }
}

pivot_sdk::export!(Openstack, hooks = [relate]);
