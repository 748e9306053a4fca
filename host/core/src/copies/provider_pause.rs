//! Changes that providers make to the objects of a Cluster when they see its pause. No provider sees the pause of a backup, which is only in
//! its files.

use serde_json::{Map, Value, json};

use crate::objects::names;
use crate::{Object, ObjectError};

/// Group of infrastructure providers.
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// Pauses a host, whatever its value.
const HOST_PAUSED: &str = "baremetalhost.metal3.io/paused";
/// The Metal3 provider's value of [`HOST_PAUSED`], and the only one that it removes.
const PAUSED_BY_PROVIDER: &str = "metal3.io/capm3";
/// The status of a paused host, as text.
const HOST_STATUS: &str = "baremetalhost.metal3.io/status";

/// Returns the annotations that a provider would have changed by the end of a pause, as a patch. Each change cites its place in the
/// provider's source.
pub fn find_provider_changes(object: &Object) -> Result<Option<Value>, ObjectError> {
    let mut annotations = Map::new();
    if object.meta.has_annotation(names::BLOCK_MOVE) {
        // clusterctl's contract of block-move: providers remove it once they have seen the pause.
        annotations.insert(names::BLOCK_MOVE.to_owned(), Value::Null);
    }
    if object.kind.group_kind.is("metal3.io", "BareMetalHost") && !object.meta.has_annotation(HOST_PAUSED) {
        let host = object.value()?;
        let consumer = host.pointer("/spec/consumerRef/kind").and_then(Value::as_str);
        if consumer == Some("Metal3Machine") {
            // Cluster API Provider Metal3, baremetal/metal3machine_manager.go, SetPauseAnnotation.
            let mut status = host.get("status").cloned().unwrap_or_else(|| json!({}));
            if let Some(status) = status.as_object_mut() {
                status.remove("hardware");
            }
            annotations.insert(HOST_PAUSED.to_owned(), PAUSED_BY_PROVIDER.into());
            annotations.insert(HOST_STATUS.to_owned(), status.to_string().into());
        }
    }
    if is_managed_by_azure_provider(object) && !object.meta.has_annotation(names::ASO_POLICY_BEFORE_PAUSE) {
        // Cluster API Provider Azure, azure/services/aso/aso.go:385-418. When the Cluster is unpaused, the provider restores the value.
        let before = object.meta.annotations.get(names::ASO_POLICY).cloned().unwrap_or_default();
        annotations.insert(names::ASO_POLICY_BEFORE_PAUSE.to_owned(), before.into());
        annotations.insert(names::ASO_POLICY.to_owned(), "skip".into());
    }
    Ok((!annotations.is_empty()).then(|| json!({"metadata": {"annotations": annotations}})))
}

/// Returns true for a resource of Azure Service Operator that the Azure provider reconciles by itself. An AzureASOManagedCluster and its
/// like apply their resources again, and restore no value.
fn is_managed_by_azure_provider(object: &Object) -> bool {
    let owner = object.meta.owner_references.iter().find(|owner| owner.controller == Some(true));
    let owner = owner.map(|owner| owner.group_kind());
    object.kind.group_kind.group.ends_with(".azure.com")
        && owner.is_some_and(|owner| {
            owner.group == INFRASTRUCTURE
                && owner.kind.starts_with("Azure")
                && !owner.kind.starts_with("AzureASO")
        })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{GroupKind, Kind, KindLabels};

    fn object(group: &str, kind: &str, body: Value) -> Object {
        let kind = Kind {
            group_kind: GroupKind::new(group, kind),
            version: "v1".into(),
            plural: "objects".into(),
            namespaced: true,
            status_subresource: true,
            served: vec!["v1".into()],
            labels: KindLabels::default(),
        };
        Object::from_value(Arc::new(kind), &body).unwrap()
    }

    fn metadata(owner: &str, annotations: &Value) -> Value {
        let owner = json!({"apiVersion": format!("{INFRASTRUCTURE}/v1beta1"), "kind": owner, "name": "c", "uid": "c",
            "controller": true});
        json!({"name": "a", "namespace": "n", "uid": "a", "annotations": annotations, "ownerReferences": [owner]})
    }

    fn annotations(object: &Object) -> Option<Value> {
        find_provider_changes(object).unwrap().map(|patch| patch["metadata"]["annotations"].clone())
    }

    #[test]
    fn azure_resources_start_unreconciled() {
        let changes = |group: &str, owner: &str, noted: Value| {
            annotations(&object(group, "ResourceGroup", json!({"metadata": metadata(owner, &noted)})))
        };
        let aso = "resources.azure.com";
        let (policy, before) = (names::ASO_POLICY, names::ASO_POLICY_BEFORE_PAUSE);
        let paused = |value: &str| Some(json!({policy: "skip", before: value}));
        assert_eq!(changes(aso, "AzureCluster", json!({})), paused(""));
        assert_eq!(changes(aso, "AzureCluster", json!({policy: "manage"})), paused("manage"));
        assert_eq!(changes(aso, "AzureCluster", json!({policy: "skip", before: "manage"})), None);
        assert_eq!(changes(aso, "AzureASOManagedCluster", json!({})), None);
        assert_eq!(changes("metal3.io", "AzureCluster", json!({})), None);
    }

    #[test]
    fn consumed_hosts_start_paused() {
        let changes = |consumer: &str, noted: Value| {
            let body = json!({"metadata": metadata("None", &noted), "spec": {"consumerRef": {"kind": consumer}},
                "status": {"provisioning": {"state": "provisioned"}, "hardware": {"cpu": {}}}});
            annotations(&object("metal3.io", "BareMetalHost", body))
        };
        let status = r#"{"provisioning":{"state":"provisioned"}}"#;
        let paused = json!({HOST_PAUSED: "metal3.io/capm3", HOST_STATUS: status, names::BLOCK_MOVE: null});
        assert_eq!(changes("Metal3Machine", json!({names::BLOCK_MOVE: "true"})), Some(paused));
        assert_eq!(changes("Metal3Machine", json!({HOST_PAUSED: "by a user"})), None);
        assert_eq!(changes("Other", json!({})), None);
    }
}
