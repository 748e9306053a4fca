//! Servers that break a rule, to see that the witness names the invariant which it breaks.

use std::sync::Arc;

use pivot_core::{Key, Kind, Object};
use pivot_memory::MemoryPlace;
use pivot_places::{Change, Patch, Place, PlaceError, Preconditions, Result, Subresource};
use serde_json::{Value, json};

/// Which rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sabotage {
    /// What must still be true for a patch or delete is not looked at.
    Preconditions,
    /// A create overwrites what has the name.
    Names,
    /// Somebody unpauses a Cluster of the source once its copy runs.
    Pauses,
    /// Somebody deletes copies once the source's objects are being deleted.
    Copies,
    /// A patch replaces all annotations.
    Annotations,
    /// Whatever is about to be deleted gets a dependent, that nobody can have seen.
    Dependents,
    /// What a server refuses it quotes.
    Quotes,
    /// Whoever unpauses a copy writes the evidence of a controller, too.
    Evidence,
}

pub(super) async fn create(
    sabotage: Option<Sabotage>,
    place: &MemoryPlace,
    kind: &Arc<Kind>,
    body: &Value,
) -> Result<Object> {
    if sabotage == Some(Sabotage::Quotes) && kind.group_kind.kind == "Secret" {
        return Err(PlaceError::Invalid(body.to_string()));
    }
    match place.create(kind, body, Change::Real).await {
        Err(PlaceError::AlreadyExists(_)) if sabotage == Some(Sabotage::Names) => {
            let metadata = &body["metadata"];
            let name = metadata["name"].as_str().unwrap_or_default();
            let key = Key::new(kind.group_kind.clone(), metadata["namespace"].as_str(), name);
            let patch = Patch { body: body.clone(), subresource: Subresource::None, change: Change::Real };
            place.patch(kind, &key, &patch).await
        }
        other => other,
    }
}

pub(super) async fn patch(
    sabotage: Option<Sabotage>,
    place: &MemoryPlace,
    kind: &Arc<Kind>,
    key: &Key,
    patch: &Patch,
) -> Result<Object> {
    let mut patch = patch.clone();
    if let (Some(Sabotage::Preconditions), Some(metadata)) =
        (sabotage, patch.body.get_mut("metadata").and_then(Value::as_object_mut))
    {
        metadata.remove("resourceVersion");
        metadata.remove("uid");
    }
    let patched = place.patch(kind, key, &patch).await?;
    if let (Some(Sabotage::Annotations), Some(annotations)) =
        (sabotage, patch.body.pointer("/metadata/annotations"))
    {
        place.edit(key, |body| body["metadata"]["annotations"] = annotations.clone())?;
    }
    Ok(patched)
}

pub(super) fn preconditions(sabotage: Option<Sabotage>, must: &Preconditions) -> Preconditions {
    match sabotage {
        Some(Sabotage::Preconditions) => Preconditions::default(),
        _ => must.clone(),
    }
}

/// Gives an object a dependent.
pub(super) fn add_dependent(place: &MemoryPlace, owner: &Key) {
    let Some(body) = place.body(owner).filter(|_| owner.namespace.is_some()) else { return };
    let reference = json!({"apiVersion": body["apiVersion"], "kind": body["kind"], "name": owner.name,
        "uid": body["metadata"]["uid"]});
    let name = format!("below-{}", owner.name);
    // It may have one already.
    drop(place.insert(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name,
        "namespace": owner.namespace, "uid": name, "ownerReferences": [reference]}})));
}

/// Writes to a copy what the controller of a target writes that takes it over.
pub(super) fn break_lease(target: &MemoryPlace, key: &Key) {
    let report = |body: &mut Value| {
        body["status"]["phase"] = json!("Running");
        body["status"]["conditions"] = json!([{"type": "ControlPlaneInitialized", "status": "True"}]);
        body["metadata"]["managedFields"] = json!([{"manager": "manager", "operation": "Update",
            "subresource": "status", "time": "2026-01-01T00:00:00Z"}]);
    };
    target.edit(key, report).unwrap();
}
