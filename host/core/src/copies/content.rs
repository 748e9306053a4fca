//! The content of a copy that must be unchanged when the move is committed.
//!
//! Copies wait paused until then. Controllers of the target may write to them only the fields and annotations that are listed
//! here. Any other change comes from a writer who doesn't know that the source decides. The copy is then restored, so that the
//! committed content equals the source's. Others may add annotations and finalizers. The annotations and finalizers that the move
//! sent must stay.

use std::collections::BTreeSet;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::objects::kind::GroupKind;
use crate::objects::names::{self, PAUSED};
use crate::records::release::{comparable_content, short_hex};

/// A field that a controller writes although the object is paused.
struct Written {
    group: &'static str,
    kind: &'static str,
    /// Name of the field below `spec`.
    field: &'static str,
}

/// Each entry cites its place in the provider's source.
const WRITTEN_WHILE_PAUSED: [Written; 1] = [
    // Cluster API Provider Metal3, controllers/metal3machine_controller.go:151: takes the value from the Machine before it checks
    // the pause.
    Written { group: "infrastructure.cluster.x-k8s.io", kind: "Metal3Machine", field: "failureDomain" },
];

/// Annotations that controllers change or remove on paused objects. Each entry cites its place in the provider's source.
const NOTED_WHILE_PAUSED: [&str; 3] = [
    // Cluster API Provider Azure, azure/services/aso/aso.go:385-418: removes the annotation once the Azure resource is paused.
    names::BLOCK_MOVE,
    // In the same place: "skip" on resources of the Azure Service Operator, and the annotation that stores the previous value.
    names::ASO_POLICY,
    names::ASO_POLICY_BEFORE_PAUSE,
];

/// The content of a copy as the move wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyContent {
    digest: String,
    /// Names of the annotations that were sent.
    annotations: BTreeSet<String>,
    /// Finalizers that were sent.
    finalizers: BTreeSet<String>,
}

impl CopyContent {
    /// Records the content of a copy. `sent` is the body of the request, and `answer` the object that the server returned.
    pub fn new(kind: &GroupKind, sent: &Value, answer: &Value) -> Self {
        let annotations: BTreeSet<String> = annotation_entries(sent).map(|(name, _)| name.clone()).collect();
        let digest = digest_content(kind, answer, &annotations);
        Self { digest, annotations, finalizers: finalizer_names(sent).map(str::to_owned).collect() }
    }

    /// Returns true if a copy still has this content.
    pub fn matches_copy(&self, kind: &GroupKind, now: &Value) -> bool {
        let finalizers: BTreeSet<&str> = finalizer_names(now).collect();
        self.finalizers.iter().all(|name| finalizers.contains(&**name))
            && digest_content(kind, now, &self.annotations) == self.digest
    }
}

fn annotation_entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.pointer("/metadata/annotations").and_then(Value::as_object).into_iter().flatten()
}

fn finalizer_names(value: &Value) -> impl Iterator<Item = &str> {
    let finalizers = value.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the digest of the content that only the move may change. The digest omits status, finalizers, fields that the server
/// sets, and annotations other than the pause and those that were sent.
fn digest_content(kind: &GroupKind, value: &Value, sent: &BTreeSet<String>) -> String {
    let counts = |name: &str| name == PAUSED || sent.contains(name) && !NOTED_WHILE_PAUSED.contains(&name);
    let kept: Vec<(&String, &Value)> = annotation_entries(value).filter(|(name, _)| counts(name)).collect();
    let mut rest = comparable_content(value, false);
    if let Some(metadata) = rest.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("annotations");
    }
    if let Some(spec) = rest.get_mut("spec").and_then(Value::as_object_mut) {
        for written in WRITTEN_WHILE_PAUSED.iter().filter(|written| kind.is(written.group, written.kind)) {
            spec.remove(written.field);
        }
    }
    // Maps are sorted, so equal contents have equal text.
    short_hex(&Sha256::digest(format!("{rest}\n{kept:?}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOLD: &str = "baremetalhost.metal3.io/paused";

    fn machine() -> Value {
        json!({
            "metadata": {
                "name": "m", "labels": {"a": "b"}, "resourceVersion": "1", "finalizers": ["provider"],
                "annotations": {HOLD: "x", names::UNDO: "{}", names::BLOCK_MOVE: ""},
            },
            "spec": {"image": "x"},
            "status": {},
        })
    }

    fn matches_copy(kind: &str, change: Value) -> bool {
        let kind = GroupKind::new("infrastructure.cluster.x-k8s.io", kind);
        let mut changed = machine();
        crate::objects::merge::apply_patch(&mut changed, &change);
        CopyContent::new(&kind, &machine(), &machine()).matches_copy(&kind, &changed)
    }

    #[test]
    fn controllers_may_write_listed_fields_while_paused() {
        for change in [
            json!({"status": {"conditions": [{"type": "Paused"}]}}),
            json!({"metadata": {"resourceVersion": "2", "finalizers": ["theirs", "provider"]}}),
            json!({"metadata": {"annotations": {"serviceoperator.azure.com/reconcile-policy": "skip"}}}),
            json!({"metadata": {"annotations": {names::BLOCK_MOVE: null}}}),
        ] {
            assert!(matches_copy("LabMachine", change.clone()), "{change}");
        }
        let domain = json!({"spec": {"failureDomain": "z"}});
        assert!(matches_copy("Metal3Machine", domain.clone()));
        assert!(!matches_copy("LabMachine", domain));
    }

    #[test]
    fn other_writes_change_the_content() {
        for change in [
            json!({"spec": {"image": "y"}}),
            json!({"metadata": {"labels": {"a": null}}}),
            json!({"metadata": {"annotations": {PAUSED: "true"}}}),
            json!({"metadata": {"annotations": {HOLD: null}}}),
            json!({"metadata": {"annotations": {HOLD: "y"}}}),
            json!({"metadata": {"annotations": {names::UNDO: null}}}),
            json!({"metadata": {"annotations": null}}),
            json!({"metadata": {"finalizers": ["theirs"]}}),
            json!({"metadata": {"ownerReferences": [{"uid": "u"}]}}),
            json!({"data": {"k": "v"}}),
        ] {
            assert!(!matches_copy("Metal3Machine", change.clone()), "{change}");
        }
    }

    /// A webhook adds annotations that controllers may change.
    #[test]
    fn webhooks_may_change_their_own_annotations() {
        let kind = GroupKind::new("infrastructure.cluster.x-k8s.io", "LabMachine");
        let (mut answer, mut now) = (machine(), machine());
        answer["metadata"]["annotations"]["theirs"] = json!("1");
        now["metadata"]["annotations"]["theirs"] = json!("2");
        assert!(CopyContent::new(&kind, &machine(), &answer).matches_copy(&kind, &now));
    }
}
