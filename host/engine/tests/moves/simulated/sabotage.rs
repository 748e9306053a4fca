//! Servers that break a rule, to see that the witness names the invariant which it breaks.

use std::sync::Arc;

use pivot_core::Kind;
use pivot_core::{Key, Object};
use pivot_places::{Change, MemoryPlace, Patch, Place, PlaceError, Preconditions, Result, Subresource};
use serde_json::Value;

/// Which rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sabotage {
    /// What must still be true for a patch or delete is not looked at.
    Preconditions,
    /// A create overwrites what has the name.
    Names,
    /// Somebody un-pauses a Cluster of the source once its copy runs.
    Pauses,
    /// Somebody deletes copies once the source's objects are being deleted.
    Copies,
}

pub(super) async fn create(
    sabotage: Option<Sabotage>,
    place: &MemoryPlace,
    kind: &Arc<Kind>,
    body: &Value,
) -> Result<Object> {
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

pub(super) fn patch(sabotage: Option<Sabotage>, patch: &Patch) -> Patch {
    let mut patch = patch.clone();
    if let (Some(Sabotage::Preconditions), Some(metadata)) =
        (sabotage, patch.body.get_mut("metadata").and_then(Value::as_object_mut))
    {
        metadata.remove("resourceVersion");
        metadata.remove("uid");
    }
    patch
}

pub(super) fn preconditions(sabotage: Option<Sabotage>, must: &Preconditions) -> Preconditions {
    match sabotage {
        Some(Sabotage::Preconditions) => Preconditions::default(),
        _ => must.clone(),
    }
}
