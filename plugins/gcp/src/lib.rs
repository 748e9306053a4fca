//! Brings along the Secrets with the credentials of GCP clusters.

use pivot_sdk::prelude::*;
use references::{Reference, SHARED_SECRET, declare_table, relate_object};

#[cfg(test)]
mod tests;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

const TABLE: &[Reference] = &[
    Reference {
        from: &[Kind::new(INFRASTRUCTURE, "GCPCluster"), Kind::new(INFRASTRUCTURE, "GCPManagedCluster")],
        parent: "spec.credentialsRef",
        name: "name",
        decides: "",
        to: &[("", SHARED_SECRET)],
    },
    Reference {
        from: &[
            Kind::new(INFRASTRUCTURE, "GCPClusterTemplate"),
            Kind::new(INFRASTRUCTURE, "GCPManagedClusterTemplate"),
        ],
        parent: "spec.template.spec.credentialsRef",
        name: "name",
        decides: "",
        to: &[("", SHARED_SECRET)],
    },
];

/// The plugin.
#[derive(Debug, Default)]
pub struct Gcp;

impl Plugin for Gcp {
    fn about() -> About {
        declare_table(pivot_sdk::about!(), TABLE)
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        Ok(relate_object(TABLE, object))
    }
}

pivot_sdk::export!(Gcp, hooks = [relate]);
