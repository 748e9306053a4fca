//! What of a copy must still be as the move wrote it when the move is committed.
//!
//! Until then copies wait, paused. Controllers of the target look at them and write what they write to paused objects. Anything else
//! is a change by somebody who doesn't know that the source decides: the copy is brought back, so that what is committed is what the
//! source has.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::kind::GroupKind;
use crate::names::PAUSED;
use crate::release::{content, hex};

/// A field that a controller writes although the object is paused.
struct Written {
    group: &'static str,
    kind: &'static str,
    /// The field, below `spec`.
    field: &'static str,
}

/// Each with the place in its provider's source.
const WRITTEN_WHILE_PAUSED: [Written; 1] = [
    // Cluster API Provider Metal3, controllers/metal3machine_controller.go:151: takes it from the Machine before it looks at the pause.
    Written { group: "infrastructure.cluster.x-k8s.io", kind: "Metal3Machine", field: "failureDomain" },
];

/// The digest of what nobody else may change. Without it: status, finalizers, and annotations other than the pause, which controllers
/// write to paused objects, and what the server sets.
pub fn digest(kind: &GroupKind, value: &Value) -> String {
    let mut value = content(value, false);
    if let Some(annotations) = value.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| name == PAUSED);
    }
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        for written in WRITTEN_WHILE_PAUSED.iter().filter(|written| kind.is(written.group, written.kind)) {
            spec.remove(written.field);
        }
    }
    if value.pointer("/metadata/annotations").and_then(Value::as_object).is_some_and(|left| left.is_empty())
        && let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("annotations");
    }
    // Maps are sorted, so equal contents have equal text.
    hex(&Sha256::digest(value.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine() -> Value {
        json!({
            "metadata": {"name": "m", "labels": {"a": "b"}, "resourceVersion": "1"},
            "spec": {"image": "x"},
            "status": {},
        })
    }

    fn same(kind: &str, change: Value) -> bool {
        let kind = GroupKind::new("infrastructure.cluster.x-k8s.io", kind);
        let mut changed = machine();
        crate::merge::apply(&mut changed, &change);
        digest(&kind, &machine()) == digest(&kind, &changed)
    }

    #[test]
    fn controllers_may_write_what_they_write_to_paused_objects() {
        for change in [
            json!({"status": {"conditions": [{"type": "Paused"}]}}),
            json!({"metadata": {"resourceVersion": "2", "finalizers": ["theirs"]}}),
            json!({"metadata": {"annotations": {"clusterctl.cluster.x-k8s.io/block-move": ""}}}),
        ] {
            assert!(same("LabMachine", change.clone()), "{change}");
        }
        let domain = json!({"spec": {"failureDomain": "z"}});
        assert!(same("Metal3Machine", domain.clone()));
        assert!(!same("LabMachine", domain));
    }

    #[test]
    fn nobody_may_write_anything_else() {
        for change in [
            json!({"spec": {"image": "y"}}),
            json!({"metadata": {"labels": {"a": null}}}),
            json!({"metadata": {"annotations": {PAUSED: "true"}}}),
            json!({"metadata": {"ownerReferences": [{"uid": "u"}]}}),
            json!({"data": {"k": "v"}}),
        ] {
            assert!(!same("Metal3Machine", change.clone()), "{change}");
        }
    }
}
