//! Brings along the Secrets with the credentials and authorities of chart repositories.

use pivot_sdk::prelude::*;
use references::{Reference, SHARED_SECRET, declare_table, relate_object};

#[cfg(test)]
mod tests;

const ADDONS: &str = "addons.cluster.x-k8s.io";
const PROXIES: &[Kind] = &[Kind::new(ADDONS, "HelmChartProxy"), Kind::new(ADDONS, "HelmReleaseProxy")];

const TABLE: &[Reference] = &[
    Reference {
        from: PROXIES,
        parent: "spec.credentials.secret",
        name: "name",
        decides: "",
        to: &[("", SHARED_SECRET)],
    },
    Reference {
        from: PROXIES,
        parent: "spec.tlsConfig.caSecret",
        name: "name",
        decides: "",
        to: &[("", SHARED_SECRET)],
    },
];

/// The plugin.
#[derive(Debug, Default)]
pub struct HelmAddon;

impl Plugin for HelmAddon {
    fn about() -> About {
        declare_table(pivot_sdk::about!(), TABLE)
    }

    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        Ok(relate_object(TABLE, object))
    }
}

pivot_sdk::export!(HelmAddon, hooks = [relate]);
