//! Checks on the objects that would move, before anything is changed.
//!
//! Each looks at the plan's steps alone, never at objects of which only a name is known (W4), and reads bodies that were listed
//! anyway.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::discovery::dangerous_kinds::find_unhandled_dangers;
use crate::discovery::implicit_links::{is_cluster, is_cluster_class};
use crate::discovery::inventory::Inventory;
use crate::messages::refusal::Refusal;
use crate::messages::remedy::Remedy;
use crate::messages::risk::Risk;
use crate::messages::shell::Kubectl;
use crate::objects::names::{GROUP_CLUSTER, MANAGED_BY, OURS, UNDO};
use crate::objects::pause;
use crate::plan::Plan;
use crate::records::record::is_move_id;
use crate::request::scope::Scope;
use crate::{GroupKind, Key, Object, ObjectError, Side};

/// Kinds of which plugins take care.
#[derive(Clone, Debug, Default)]
pub struct SafeKinds {
    /// Kinds that a plugin holds, restores or settles.
    pub handled: BTreeSet<GroupKind>,
    /// Kinds whose status a plugin restores.
    pub restored: BTreeSet<GroupKind>,
}

/// Checks the objects that would move.
///
/// `ours` is this move's id: a pause that carries it was made by an earlier run of this move. `safe` are the kinds of which
/// plugins take care.
pub fn check_moved_objects(
    inventory: &Inventory,
    plan: &Plan,
    scope: &Scope,
    ours: Option<&str>,
    safe: &SafeKinds,
) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for step in &plan.steps {
        let Some(object) = inventory.get(step.object) else { continue };
        let checked = check_object(object, &step.key, scope, ours, safe);
        refusals.extend(checked.unwrap_or_else(|error| vec![Refusal::unreadable(step.key.clone(), &error)]));
    }
    refusals.extend(find_unhandled_dangers(plan, scope, &safe.handled));
    refusals
}

fn check_object(
    object: &Object,
    key: &Key,
    scope: &Scope,
    ours: Option<&str>,
    safe: &SafeKinds,
) -> Result<Vec<Refusal>, ObjectError> {
    let kind = &object.kind.group_kind;
    let mut refusals = Vec::from_iter(refuse_own_records(object, key));
    refusals.extend(refuse_externally_managed(object, key, scope, safe)?);
    if is_cluster(kind) || is_cluster_class(kind) {
        refusals.extend(check_pause(object, key, scope, ours)?);
    }
    if scope.accept.contains(Risk::Unprovisioned) {
        return Ok(refusals);
    }
    let missing = if is_cluster(kind) {
        unprovisioned_cluster(object)?
    } else if kind.is(GROUP_CLUSTER, "Machine") {
        unprovisioned_machine(object)?
    } else {
        None
    };
    refusals.extend(missing.map(|missing| {
        let message = format!("{key} is not provisioned yet: {missing}");
        let get = Kubectl::object(Side::Source, "get", key, &["-o", "yaml"]);
        let watch = Remedy::kubectl("wait, and watch ", get, "");
        Refusal::source("not-provisioned", key.clone(), message, watch).with_remedy(Remedy::MoveUnprovisioned)
    }));
    Ok(refusals)
}

/// Refuses records and leases of moves. In another cluster their content would be wrong, and pivot-host would rely on it.
fn refuse_own_records(object: &Object, key: &Key) -> Option<Refusal> {
    object.meta.labels.keys().find(|label| label.starts_with(OURS))?;
    let message =
        format!("{key} has a pivot-host.io/ label, which marks records of moves; records are never moved");
    let remedy = "remove its labels that begin with pivot-host.io/, if it is something else";
    Some(Refusal::source("own-object", key.clone(), message, remedy))
}

/// Refuses an object that a system outside of Cluster API manages: its provider ignores it, and so the status of its copy.
fn refuse_externally_managed(
    object: &Object,
    key: &Key,
    scope: &Scope,
    safe: &SafeKinds,
) -> Result<Option<Refusal>, ObjectError> {
    let kind = &key.group_kind;
    let is_safe = safe.restored.contains(kind) || scope.accept.contains_kind(Risk::NoPlugin, kind);
    if is_safe || is_cluster(kind) || !object.meta.has_annotation(MANAGED_BY) || !object.has_status()? {
        return Ok(None);
    }
    let message = format!(
        "{key} is externally managed ({MANAGED_BY}): its copy starts without status, and its provider never writes one"
    );
    let refusal =
        Refusal::source("externally-managed", key.clone(), message, Remedy::AddPlugin { kind: kind.clone() });
    Ok(Some(refusal.with_remedy(Remedy::MoveWithoutPlugin { kind: kind.clone() })))
}

/// Refuses a Cluster or class that this move didn't pause. A user may be working on it, and unpausing the copy would interfere.
fn check_pause(
    object: &Object,
    key: &Key,
    scope: &Scope,
    ours: Option<&str>,
) -> Result<Option<Refusal>, ObjectError> {
    if !pause::is_paused(object)? || ours.is_some_and(|id| pause::is_ours(&object.meta, id)) {
        return Ok(None);
    }
    if object.meta.has_annotation(UNDO) {
        // Anyone who can write the object can write another id.
        let paused_by = pause::find_pausing_move(&object.meta).filter(|id| is_move_id(id));
        let paused_by = paused_by.map_or("another move".to_owned(), |id| format!("move {id}"));
        let message = format!("{key} is paused by {paused_by}, which has not ended");
        let refusal = Refusal::source("paused-by-other-move", key.clone(), message, Remedy::EndOtherMove);
        return Ok(Some(refusal));
    }
    if scope.accept.contains(Risk::AlreadyPaused) {
        return Ok(None);
    }
    let message = format!(
        "{key} is paused already: by a person, by a backup, or by a `clusterctl move` that did not finish"
    );
    let remedy = Remedy::kubectl(
        "find out who paused it, and why: another management cluster may run it (",
        Kubectl::object(Side::Source, "get", key, &["-o", "jsonpath={.metadata.managedFields}"]),
        " shows who wrote the pause)",
    );
    let refusal = Refusal::source("already-paused", key.clone(), message, remedy);
    Ok(Some(refusal.with_remedy(Remedy::MovePaused)))
}

/// The first of the peer's rules that a Cluster fails. v1beta2 keeps these facts in `status.initialization`, v1beta1 directly in
/// `status`.
fn unprovisioned_cluster(cluster: &Object) -> Result<Option<&'static str>, ObjectError> {
    #[derive(Deserialize)]
    struct View {
        spec: Option<Spec>,
        status: Option<Status>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        control_plane_ref: Option<ControlPlane>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ControlPlane {
        api_group: Option<String>,
        kind: Option<String>,
        name: Option<String>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status {
        initialization: Option<Initialization>,
        infrastructure_ready: Option<bool>,
        control_plane_ready: Option<bool>,
        conditions: Option<Vec<Condition>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialization {
        infrastructure_provisioned: Option<bool>,
        control_plane_initialized: Option<bool>,
    }
    #[derive(Deserialize)]
    struct Condition {
        #[serde(rename = "type")]
        of: String,
        status: String,
    }
    impl ControlPlane {
        fn is_defined(&self) -> bool {
            [&self.api_group, &self.kind, &self.name].into_iter().flatten().any(|part| !part.is_empty())
        }
    }

    let view: View = cluster.view()?;
    let status = view.status.unwrap_or_default();
    let (infrastructure, control_plane) = match status.initialization {
        Some(now) => (now.infrastructure_provisioned, now.control_plane_initialized),
        None => (status.infrastructure_ready, status.control_plane_ready),
    };
    let mut conditions = status.conditions.iter().flatten();
    let initialized =
        conditions.any(|condition| condition.of == "ControlPlaneInitialized" && condition.status == "True");
    let has_control_plane =
        view.spec.and_then(|spec| spec.control_plane_ref).is_some_and(|reference| reference.is_defined());
    Ok(if infrastructure != Some(true) {
        Some("its infrastructure is not ready")
    } else if !initialized {
        Some("its condition ControlPlaneInitialized is not true")
    } else if has_control_plane && control_plane != Some(true) {
        Some("its control plane is not initialized")
    } else {
        None
    })
}

fn unprovisioned_machine(machine: &Object) -> Result<Option<&'static str>, ObjectError> {
    #[derive(Deserialize)]
    struct View {
        status: Option<Status>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status {
        node_ref: Option<NodeRef>,
    }
    #[derive(Deserialize)]
    struct NodeRef {
        name: Option<String>,
    }
    let view: View = machine.view()?;
    let node = view.status.and_then(|status| status.node_ref).and_then(|node| node.name);
    Ok(if node.is_some_and(|name| !name.is_empty()) { None } else { Some("it has no node") })
}

#[cfg(test)]
mod tests;
