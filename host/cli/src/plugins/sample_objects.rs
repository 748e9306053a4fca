//! Objects on which a plugin is checked: generated objects of each declared kind.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::objects::{merge, names};
use pivot_core::{GroupKind, Kind, KindLabels, Object};
use pivot_runtime::{Plugin, Scene};
use serde_json::{Value, json};

/// Data of generated Secrets, in base64 and as text. No answer may have it.
pub(super) const MARKS: [&str; 2] = ["cGl2b3QtaG9zdC1tYXJrZWQtZGF0YQ==", "pivot-host-marked-data"];
/// Not a floating-point number.
const LARGE_INTEGER: u64 = (1 << 53) + 1;
/// Generation of the objects in the source.
const GENERATION: u64 = 7;

/// Builds an object. Its kind is guessed: an object with a namespace is of a namespaced kind.
pub(super) fn build_object(value: &Value) -> Option<Object> {
    let (api_version, kind) = (value["apiVersion"].as_str()?, value["kind"].as_str()?);
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let kind = Kind {
        group_kind: GroupKind::new(group, kind),
        version: version.to_owned(),
        plural: String::new(),
        namespaced: value.pointer("/metadata/namespace").is_some(),
        status_subresource: true,
        served: vec![version.to_owned()],
        labels: KindLabels::default(),
    };
    Object::from_value(Arc::new(kind), value).ok()
}

/// Generates objects of each declared kind, and returns them with the annotations that the plugin's hold sets.
pub(super) async fn generate_objects(plugin: &Plugin) -> (Scene, BTreeSet<String>) {
    let (mut scene, mut pauses) = (Scene::default(), BTreeSet::new());
    for kind in &plugin.description().kinds {
        let minimal = generate_object(plugin, kind, "minimal", &json!({}));
        if let Some(minimal) = &minimal
            && let Ok(Some(patch)) = plugin.hold(minimal).await
        {
            let annotations = patch.pointer("/metadata/annotations").and_then(Value::as_object);
            let held = annotations.into_iter().flat_map(|map| map.keys().cloned());
            // Not what the plugin remembers.
            pauses.extend(held.filter(|name| !name.contains(".pivot-host.io/")));
        }
        let by_providers = (!kind.group.is_empty()).then(|| format!("{}/paused", kind.group));
        pauses.extend(by_providers.into_iter().chain([names::PAUSED.to_owned()]));
        let paused: Value = pauses.iter().map(|name| (name.clone(), "by-a-user")).collect();
        let condition = json!({"type": "Ready", "status": "True", "observedGeneration": GENERATION,
            "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "Ready", "message": ""});
        let unknown = json!({"unknownField": [{"unknownField": {"a": [null, 1.5, ""]}}]});
        let fields = [
            (
                "with-status",
                json!({"spec": {}, "status": {"observedGeneration": GENERATION, "conditions": [condition]}}),
            ),
            ("paused-by-a-user", json!({"metadata": {"annotations": paused}})),
            ("large-integer", json!({"spec": {"size": LARGE_INTEGER}, "status": {"size": LARGE_INTEGER}})),
            ("unknown-fields", json!({"spec": unknown, "status": unknown, "unknownField": unknown})),
        ];
        let others = fields.iter().map(|(name, fields)| generate_object(plugin, kind, name, fields));
        scene.source.extend(minimal.into_iter().chain(others.flatten()));
    }
    (scene, pauses)
}

/// Generates an object of a kind in a version that the plugin understands. Data of Secrets is marked.
fn generate_object(plugin: &Plugin, kind: &GroupKind, name: &str, fields: &Value) -> Option<Object> {
    let versions = &plugin.declaration().versions;
    let understood = versions.iter().find(|one| one.kind.covers(kind)).and_then(|one| one.versions.first());
    let version = understood.map_or("v1", String::as_str);
    let slash = if kind.group.is_empty() { "" } else { "/" };
    let mut value = json!({
        "apiVersion": format!("{}{slash}{version}", kind.group),
        "kind": if kind.kind == "*" { "Example" } else { &kind.kind },
        "metadata": {"name": name, "namespace": "check", "generation": GENERATION, "resourceVersion": "1",
            "uid": format!("00000000-0000-4000-8000-{:012x}", name.len())},
    });
    if kind.is_secret() {
        merge::apply_patch(&mut value, &json!({"data": {"value": MARKS[0]}}));
    }
    merge::apply_patch(&mut value, fields);
    build_object(&value)
}
