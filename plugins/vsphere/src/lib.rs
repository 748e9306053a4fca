//! Brings along the identities, zones and failure domains of vSphere clusters.

use pivot_sdk::prelude::*;
use references::{OWN_SECRET, Place, Reference, SECRET, Target, declare_table, is_name, relate_object};
use serde_json::Value;

#[cfg(test)]
mod tests;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const CLUSTER: Kind = Kind::new(INFRASTRUCTURE, "VSphereCluster");
const CLUSTER_TEMPLATE: Kind = Kind::new(INFRASTRUCTURE, "VSphereClusterTemplate");
const IDENTITY: Kind = Kind::new(INFRASTRUCTURE, "VSphereClusterIdentity");
const ZONE: Kind = Kind::new(INFRASTRUCTURE, "VSphereDeploymentZone");
const DOMAIN: Kind = Kind::new(INFRASTRUCTURE, "VSphereFailureDomain");

const IDENTITIES: &[(&str, Target)] =
    &[("Secret", OWN_SECRET), ("VSphereClusterIdentity", Target::share(IDENTITY, Place::Cluster))];

const TABLE: &[Reference] = &[
    Reference {
        from: &[CLUSTER],
        parent: "spec.identityRef",
        name: "name",
        decides: "spec.identityRef.kind",
        to: IDENTITIES,
    },
    Reference {
        from: &[CLUSTER_TEMPLATE],
        parent: "spec.template.spec.identityRef",
        name: "name",
        decides: "spec.template.spec.identityRef.kind",
        to: IDENTITIES,
    },
    Reference {
        from: &[IDENTITY],
        parent: "spec",
        name: "secretName",
        decides: "",
        to: &[("", Target::share(SECRET, Place::Namespace("capv-system")))],
    },
    Reference {
        from: &[Kind::new("cluster.x-k8s.io", "Machine")],
        parent: "spec",
        name: "failureDomain",
        decides: "spec.infrastructureRef.kind",
        to: &[("VSphereMachine", Target::share(ZONE, Place::Cluster))],
    },
    Reference {
        from: &[ZONE],
        parent: "spec",
        name: "failureDomain",
        decides: "",
        to: &[("", Target::share(DOMAIN, Place::Cluster))],
    },
];

/// Returns the zones that a VSphereCluster selects by their labels, from its status: a list, or a map in v1beta1.
fn find_selected_zones(object: &Object) -> impl Iterator<Item = &str> {
    let zones = object.get("/status/failureDomains").filter(|_| object.kind() == CLUSTER);
    let listed = zones.and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(|zone| zone.get("name").and_then(Value::as_str));
    let mapped =
        zones.and_then(Value::as_object).into_iter().flat_map(|zones| zones.keys().map(String::as_str));
    listed.chain(mapped).filter(|name| is_name(name))
}

/// The plugin.
#[derive(Debug, Default)]
pub struct Vsphere;

impl Plugin for Vsphere {
    fn about() -> About {
        declare_table(pivot_sdk::about!(), TABLE)
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        let mut relations = relate_object(TABLE, object);
        relations
            .extend(find_selected_zones(object).map(|zone| Relation::share(ZONE.cluster_scoped_key(zone))));
        Ok(relations)
    }
}

pivot_sdk::export!(Vsphere, hooks = [relate]);
