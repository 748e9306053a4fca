//! A provider's Go module, and the CRDs in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use crate::kinds::text;
use crate::server::parse;

/// One CRD a line.
pub(super) const CRDS: &str = "crds.jsonl";
pub(super) const TEMPLATES: &str = "templates";

/// A Go module with a provider.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProviderModule {
    pub(super) provider: &'static str,
    pub(super) path: &'static str,
    pub(super) version: &'static str,
    /// The provider's folder in the module.
    pub(super) folder: &'static str,
}

/// Returns the CRDs of a provider's kustomization, with the labels that it adds.
///
/// Patches of webhooks are left out: nothing would answer in a lab. So are descriptions, which are most of the text.
pub(super) fn render_crds(directory: &Path) -> Result<Vec<Value>> {
    let documents = |name: &str| -> Result<Vec<Value>> {
        let path = directory.join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        parse(&text).with_context(|| format!("read {}", path.display()))
    };
    let kustomization = documents("kustomization.yaml")?.pop().context("an empty kustomization")?;
    let list = |field: &str| kustomization.get(field).and_then(Value::as_array).into_iter().flatten();
    let pairs = list("labels").filter_map(|entry| entry.get("pairs"));
    let common = pairs.chain(kustomization.get("commonLabels")).filter_map(Value::as_object);
    let common: Map<String, Value> = common.flat_map(Map::clone).collect();

    let mut crds = BTreeMap::new();
    for file in list("resources").filter_map(Value::as_str) {
        for mut crd in documents(file)? {
            remove_descriptions(&mut crd);
            if let Some(fields) = crd.as_object_mut() {
                fields.remove("status");
            }
            add_labels(&mut crd, &common);
            crds.insert(text(&crd, "/metadata/name").to_owned(), crd);
        }
    }
    let patches = list("patches").filter_map(|patch| patch.get("path"));
    for file in patches.chain(list("patchesStrategicMerge")).filter_map(Value::as_str) {
        for patch in documents(file)? {
            let labels = patch.pointer("/metadata/labels").and_then(Value::as_object);
            if let (Some(labels), Some(crd)) = (labels, crds.get_mut(text(&patch, "/metadata/name"))) {
                add_labels(crd, labels);
            }
        }
    }
    Ok(crds.into_values().collect())
}

fn add_labels(crd: &mut Value, labels: &Map<String, Value>) {
    let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let existing = metadata.entry("labels").or_insert_with(|| Map::new().into());
    if let Some(existing) = existing.as_object_mut() {
        existing.extend(labels.clone());
    }
}

/// A property that is called `description` is an object and stays.
fn remove_descriptions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "description" || !value.is_string());
            let schemas = fields.iter_mut().filter(|(name, _)| !["default", "enum"].contains(&name.as_str()));
            schemas.for_each(|(_, value)| remove_descriptions(value));
        }
        Value::Array(items) => items.iter_mut().for_each(remove_descriptions),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rendered_crds_have_the_kustomizations_labels() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            (
                "kustomization.yaml",
                "commonLabels: {old: a}\nlabels: [{pairs: {new: b}}]\nresources: [one.yaml, two.yaml]\n\
                 patches: [{path: label.yaml}]\npatchesStrategicMerge: [webhook.yaml]\n",
            ),
            (
                "one.yaml",
                "metadata: {name: ones}\nspec: {description: long, default: {description: kept}, \
                 properties: {description: {type: string}}}\nstatus: {}\n",
            ),
            ("two.yaml", "metadata: {name: twos, labels: {own: c}}\n"),
            ("label.yaml", "metadata: {name: twos, labels: {move: ''}}\n"),
            ("webhook.yaml", "metadata: {name: ones}\nspec: {conversion: {strategy: Webhook}}\n"),
            ("three.yaml", "metadata: {name: unlisted}\n"),
        ];
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        assert_eq!(
            render_crds(dir.path()).unwrap(),
            [
                json!({
                    "metadata": {"name": "ones", "labels": {"old": "a", "new": "b"}},
                    "spec": {"default": {"description": "kept"}, "properties": {"description": {"type": "string"}}},
                }),
                json!({"metadata": {"name": "twos", "labels": {"own": "c", "old": "a", "new": "b", "move": ""}}}),
            ]
        );
    }
}
