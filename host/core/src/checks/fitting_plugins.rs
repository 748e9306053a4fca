//! The bundled plugins that are made for the kinds of a plan.
//!
//! The plugins of the table of references are made for the kinds of their rows. Plugins for any provider, such as `readiness`, fit
//! each plan alike, so that a plan doesn't propose them.

use std::collections::BTreeMap;

use crate::checks::dangling::table::find_plugins_seeing;
use crate::discovery::inventory::Inventory;
use crate::objects::names::GROUP_CLUSTER;
use crate::plan::Plan;
use crate::records::route::EndKind;
use crate::{GroupKind, Object};

/// Code of the note about a bundled plugin that fits the plan and takes no part.
pub const PLUGIN_FITS: &str = "plugin-fits";

const GROUP_METAL3: &str = "metal3.io";
const HOST: &str = "BareMetalHost";
const GROUP_IPAM: &str = "ipam.cluster.x-k8s.io";

/// Plugins for hosts of Metal3. The first handles the kind, which is dangerous to move without it.
const HOST_PLUGINS: [&str; 2] = ["metal3-hosts", METAL3_ENDPOINTS];
/// A plugin that checks only the target's Ironic. Files have none, and a target that isn't named can't be asked.
const METAL3_ENDPOINTS: &str = "metal3-endpoints";
/// Plugin for pools of the in-cluster IPAM provider.
const IPAM_IN_CLUSTER: &str = "ipam-in-cluster";

/// Returns the bundled plugin that handles a kind which is dangerous to move.
pub fn find_handling_plugin(kind: &GroupKind) -> Option<&'static str> {
    HOST_PLUGINS.first().copied().filter(|_| kind.is(GROUP_METAL3, HOST))
}

/// Returns the bundled plugins that have work in a plan, each with the first kind that it is made for.
///
/// All others relate objects, which also matters for files: a copy without its credentials can't be loaded into a cluster.
pub fn find_fitting_plugins<'a>(
    inventory: &'a Inventory,
    plan: &Plan,
    target: EndKind,
) -> BTreeMap<&'static str, &'a GroupKind> {
    let mut kinds: BTreeMap<&GroupKind, Vec<&Object>> = BTreeMap::new();
    for object in plan.steps.iter().filter_map(|step| inventory.get(step.object)) {
        // A label of their kind copies cluster-scoped objects, such as identities, even if no Cluster uses them.
        if object.kind.namespaced {
            kinds.entry(&object.kind.group_kind).or_default().push(object);
        }
    }
    let mut fitting = BTreeMap::new();
    for (kind, objects) in kinds {
        for plugin in find_plugins(kind, &objects) {
            if plugin != METAL3_ENDPOINTS || target.is_cluster() {
                fitting.entry(plugin).or_insert(kind);
            }
        }
    }
    fitting
}

fn find_plugins(kind: &GroupKind, objects: &[&Object]) -> Vec<&'static str> {
    if kind.is(GROUP_METAL3, HOST) {
        return HOST_PLUGINS.to_vec();
    }
    // Claims and addresses are kinds of all IPAM providers.
    if kind.is(GROUP_IPAM, "IPAddressClaim") || kind.is(GROUP_IPAM, "IPAddress") {
        let is_of_pool = objects.iter().any(|object| names_in_cluster_pool(object));
        return is_of_pool.then_some(IPAM_IN_CLUSTER).into_iter().collect();
    }
    // Machines are a kind of all infrastructure providers.
    if kind.group == GROUP_CLUSTER {
        return Vec::new();
    }
    find_plugins_seeing(kind).collect()
}

fn names_in_cluster_pool(object: &Object) -> bool {
    let body = object.value();
    let kind = body.as_ref().ok().and_then(|body| body.pointer("/spec/poolRef/kind")?.as_str());
    matches!(kind, Some("InClusterIPPool" | "GlobalInClusterIPPool"))
}

#[cfg(test)]
mod tests;
