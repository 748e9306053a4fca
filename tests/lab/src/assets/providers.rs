//! CRDs and cluster templates of real providers.
//!
//! Most come from the providers' Go modules. No module proxy serves those of vSphere and OpenStack: theirs are read from a folder,
//! `$PIVOT_HOST_PROVIDERS` or `../shared/providers` next to the work tree, with one archive of CRDs and templates for each.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use super::cache::Cache;
use super::{beside, recipes};
use crate::kinds::text;
use crate::server::parse;

const VARIABLE: &str = "PIVOT_HOST_PROVIDERS";
/// One CRD a line.
pub(super) const CRDS: &str = "crds.jsonl";
const PACKED_CRDS: &str = "crds.jsonl.xz";
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

const MODULES: [ProviderModule; 6] = [
    of_module("addon-helm", "sigs.k8s.io/cluster-api-addon-provider-helm", "0.3.1"),
    of_module("aws", "sigs.k8s.io/cluster-api-provider-aws/v2", "2.13.0"),
    of_module("azure", "sigs.k8s.io/cluster-api-provider-azure", "1.21.0"),
    ProviderModule {
        folder: "infrastructure/docker",
        ..of_module("docker", "sigs.k8s.io/cluster-api/test", recipes::CLUSTER_API_NEWEST)
    },
    of_module("gcp", "sigs.k8s.io/cluster-api-provider-gcp", "1.13.1"),
    of_module("ipam-in-cluster", "sigs.k8s.io/cluster-api-ipam-provider-in-cluster", "1.0.1"),
];

const fn of_module(provider: &'static str, path: &'static str, version: &'static str) -> ProviderModule {
    ProviderModule { provider, path, version, folder: "" }
}

/// A provider's CRDs and templates.
#[derive(Debug, Clone)]
pub struct ProviderFiles {
    /// CRDs as the provider's release has them, without conversion webhooks and without the labels that `clusterctl init` adds.
    pub crds: Vec<Value>,
    /// Directory of templates, as `clusterctl generate cluster` takes them.
    pub templates: PathBuf,
}

/// Returns none if the provider is in no Go module and there is no folder with it.
pub(super) async fn find(cache: &Cache, name: &str) -> Result<Option<ProviderFiles>> {
    if let Some(module) = MODULES.iter().find(|module| module.provider == name) {
        let entry = cache.get(recipes::provider(*module)).await?;
        let lines = fs::read_to_string(entry.join(CRDS))?;
        return Ok(Some(ProviderFiles { crds: read_lines(&lines)?, templates: entry.join(TEMPLATES) }));
    }
    let Some(folder) = folder(env::var_os(VARIABLE))?.map(|folder| folder.join(name)) else {
        return Ok(None);
    };
    let crds = read_lines(&unpack(&folder.join(PACKED_CRDS))?)?;
    Ok(Some(ProviderFiles { crds, templates: folder }))
}

/// The folder that the variable names, else the one next to the work tree. None if the variable isn't set and there is none.
fn folder(named: Option<OsString>) -> Result<Option<PathBuf>> {
    let Some(named) = named else {
        return Ok(Some(beside::shared("providers")).filter(|folder| folder.is_dir()));
    };
    let folder = PathBuf::from(named);
    if !folder.is_dir() {
        bail!("{VARIABLE} names {}, which is no folder", folder.display());
    }
    Ok(Some(folder))
}

fn read_lines(lines: &str) -> Result<Vec<Value>> {
    lines.lines().map(|line| serde_json::from_str(line).context("read a CRD")).collect()
}

/// `xz` and not a crate: anyone who has the archive has the tool that made it, or gets it in a moment.
fn unpack(archive: &Path) -> Result<String> {
    let mut command = Command::new("xz");
    command.args(["--decompress", "--stdout"]).arg(archive).stdin(Stdio::null());
    let done = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("there is no `xz` to unpack {}: apt-get install xz-utils", archive.display())
        }
        done => done.context("run xz")?,
    };
    ensure!(
        done.status.success(),
        "{}: {}",
        archive.display(),
        String::from_utf8_lossy(&done.stderr).trim_end()
    );
    String::from_utf8(done.stdout).with_context(|| format!("read {}", archive.display()))
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
    use super::*;
    use serde_json::json;

    #[test]
    fn named_folder_must_exist() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(folder(Some(dir.path().into())).unwrap().as_deref(), Some(dir.path()));
        let error = folder(Some(dir.path().join("none").into())).unwrap_err().to_string();
        assert!(error.contains(VARIABLE) && error.contains("no folder"), "{error}");
    }

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
