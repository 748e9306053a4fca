//! The deployment zones of vSphere that a cluster selects by their labels.
//!
//! cluster-api-provider-vsphere, controllers/vspherecluster_reconciler.go, reconcileDeploymentZones.

use serde::Deserialize;
use serde_json::Value;

use crate::checks::dangling::table::row::INFRASTRUCTURE;
use crate::discovery::inventory::Inventory;
use crate::objects::label_selector::Selector;
use crate::{GroupKind, Key};

/// Path of the selector.
pub(super) const SELECTOR: &str = "spec.failureDomainSelector";

/// Returns the zones of a VSphereCluster's vCenter that it selects. A cluster without a selector selects none.
pub(super) fn find_selected_zones(kind: &GroupKind, body: &Value, inventory: &Inventory) -> Vec<Key> {
    let spec = &body["spec"];
    let selector = Some(&spec["failureDomainSelector"]).filter(|selector| selector.is_object());
    let selector = selector.filter(|_| kind.is(INFRASTRUCTURE, "VSphereCluster"));
    let Some(selector) = selector.and_then(|selector| Selector::deserialize(selector).ok()) else {
        return Vec::new();
    };
    let objects = inventory.objects().iter();
    let zones = objects.filter(|object| object.kind.group_kind.is(INFRASTRUCTURE, "VSphereDeploymentZone"));
    let selected = zones.filter(|zone| {
        let on_server = || zone.value().is_ok_and(|zone| zone.pointer("/spec/server") == spec.get("server"));
        selector.matches(&zone.meta.labels) && on_server()
    });
    selected.map(|zone| zone.key()).collect()
}

/// Returns the bundled plugin that brings along a zone which a VSphereCluster selects. The plugin takes the zones from the status,
/// which lists only those that are ready: as a list, or a map in v1beta1.
pub(super) fn find_plugin(cluster: &Value, zone: &Key) -> &'static str {
    let Some(zones) = cluster.pointer("/status/failureDomains") else { return "" };
    let is_named = |it: &Value| it.get("name").is_some_and(|name| *name == *zone.name);
    let is_listed = zones.as_array().is_some_and(|zones| zones.iter().any(is_named));
    if is_listed || zones.get(&zone.name).is_some() { "vsphere" } else { "" }
}
