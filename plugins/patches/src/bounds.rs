//! Fields that an entry must not patch: those outside the host's bounds for `adapt`, and those that don't belong in a
//! configuration.
//!
//! The host checks every answer anyway. A problem found here is reported before any object is looked at.

use pivot_sdk::{Hook, Kind, bounds};
use serde_json::{Map, Value};

/// The kinds that entries can name. A plugin declares what it changes before it knows its configuration, so the list is wide: the
/// kinds that Cluster API's contract makes providers use, those that the host also moves, and bare-metal hosts.
pub const KINDS: [Kind; 9] = [
    Kind::new("cluster.x-k8s.io", "*"),
    Kind::new("controlplane.cluster.x-k8s.io", "*"),
    Kind::new("bootstrap.cluster.x-k8s.io", "*"),
    Kind::new("infrastructure.cluster.x-k8s.io", "*"),
    Kind::new("addons.cluster.x-k8s.io", "*"),
    Kind::new("ipam.cluster.x-k8s.io", "*"),
    Kind::new("metal3.io", "BareMetalHost"),
    Kind::core("ConfigMap"),
    Kind::core("Secret"),
];

/// Returns the reason why a patch can't be made; `None` if it can.
pub(crate) fn refusal_reason(kind: &Kind, patch: &Value) -> Option<String> {
    if let Some(found) = bounds::find_violation(env!("CARGO_PKG_NAME"), Hook::Adapt, patch) {
        return Some(format!("{} can't be patched: {}", found.touched, found.why));
    }
    // The host's rule accepts an empty name; a server does not. It usually comes from a pointer with one slash too many.
    let mut maps = ["labels", "annotations"].into_iter();
    if let Some(map) = maps.find(|map| patch.pointer(&format!("/metadata/{map}/")).is_some()) {
        return Some(format!("/metadata/{map}/ can't be patched: {map} are changed one by one, by name"));
    }
    let secret = *kind == Kind::core("Secret");
    let data = ["data", "stringData"].into_iter().find(|field| secret && patch.get(field).is_some())?;
    Some(format!(
        "/{data} can't be patched: this plugin does not see the data of Secrets, and a configuration is no place for them"
    ))
}

/// Returns the patch that removes the field at a JSON pointer.
pub(crate) fn removal_patch(pointer: &str) -> Value {
    pointer.strip_prefix('/').unwrap_or(pointer).rsplit('/').fold(Value::Null, |below, word| {
        let word = word.replace("~1", "/").replace("~0", "~");
        Value::Object(Map::from_iter([(word, below)]))
    })
}
