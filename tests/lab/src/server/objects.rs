//! Fills a server with objects: owners, status, deletions in progress.
//!
//! An owner reference needs the UID of a real object, which is unknown before the server has created it. So a file can't just be
//! sent; objects are created in the order of ownership, and each reference is filled in once its owner exists.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, pinned_kind};
use serde_json::{Value, json};

use super::Server;
use super::manifest::{File, Manifest, parse};
use crate::kinds::{ObjectKey, group_kind};

/// Requests in flight while a server is filled.
const CONCURRENCY: usize = 16;

/// The real objects made from a file.
pub type Applied = BTreeMap<ObjectKey, DynamicObject>;

impl Server {
    /// Creates the objects of a YAML or JSON text, see [`Server::apply_values`].
    pub async fn apply(&self, text: &str) -> Result<Applied> {
        self.apply_values(parse(text)?).await
    }

    /// Creates objects, owners before what they own.
    ///
    /// UIDs in the input are placeholders and replaced by real ones, status is written if the kind has it, missing namespaces are
    /// created, CRDs are installed first, and objects with a deletion timestamp are deleted (give them a finalizer to keep them).
    pub async fn apply_values(&self, objects: Vec<Value>) -> Result<Applied> {
        let is_crd =
            |object: &Value| object.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition");
        let (crds, objects): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_crd);
        if !crds.is_empty() {
            self.install_crds(&crds.into()).await?;
        }
        let mut pending = objects.into_iter().map(Manifest::new).collect::<Result<Vec<_>>>()?;
        self.ensure_namespaces(&pending).await?;
        let kinds = self.resolve(&pending).await?;
        let (mut file, mut applied) = (File::new(&pending), Applied::new());
        let (mut late, mut deletions) = (Vec::new(), Vec::new());
        while !pending.is_empty() {
            let wave = file.next(&mut pending);
            let made: Vec<_> = stream::iter(wave)
                .map(|manifest| {
                    let owners = manifest.owners(&file);
                    let kinds = &kinds;
                    async move { self.create(kinds, &manifest, owners).await.map(|object| (object, manifest)) }
                })
                .buffer_unordered(CONCURRENCY)
                .try_collect::<Vec<(DynamicObject, Manifest)>>()
                .await?;
            for (object, manifest) in made {
                if manifest.waits(&file) {
                    late.push(manifest.clone());
                }
                if manifest.deleting {
                    deletions.push(manifest.clone());
                }
                file.created(&manifest, object.metadata.uid.as_deref().context("an object without a UID")?);
                applied.insert(key(&kinds, &manifest)?, object);
            }
        }
        for manifest in late {
            let patch = json!({ "metadata": { "ownerReferences": manifest.owners(&file) } });
            let api = api(&self.client, &kinds, &manifest)?.0;
            let object = api.patch(manifest.name(), &PatchParams::default(), &Patch::Merge(patch)).await?;
            applied.insert(key(&kinds, &manifest)?, object);
        }
        for manifest in deletions {
            let api = api(&self.client, &kinds, &manifest)?.0;
            api.delete(manifest.name(), &DeleteParams::default()).await?;
        }
        Ok(applied)
    }

    async fn create(&self, kinds: &Kinds, manifest: &Manifest, owners: Vec<Value>) -> Result<DynamicObject> {
        let (api, capabilities) = api(&self.client, kinds, manifest)?;
        let has_status = capabilities.subresources.iter().any(|(resource, _)| resource.plural == "status");
        let mut body = manifest.body.clone();
        if let (false, Some(metadata)) =
            (owners.is_empty(), body.get_mut("metadata").and_then(Value::as_object_mut))
        {
            metadata.insert("ownerReferences".to_owned(), owners.into());
        }
        if let (false, Some(status), Some(fields)) = (has_status, &manifest.status, body.as_object_mut()) {
            fields.insert("status".to_owned(), status.clone());
        }
        let what = || key(kinds, manifest).map_or_else(|error| error.to_string(), |key| key.to_string());
        let object: DynamicObject = serde_json::from_value(body).with_context(what)?;
        let created = match api.create(&PostParams::default(), &object).await {
            // Made by the server itself, or by the search for missing namespaces.
            Err(kube::Error::Api(status)) if status.code == 409 && manifest.kind() == ("v1", "Namespace") => {
                api.patch(manifest.name(), &PatchParams::default(), &Patch::Merge(&object)).await
            }
            other => other,
        };
        let created = created.with_context(|| format!("create {}", what()))?;
        let (true, Some(status)) = (has_status, &manifest.status) else { return Ok(created) };
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(manifest.name(), &PatchParams::default(), &patch)
            .await
            .with_context(|| format!("write the status of {}", what()))
    }

    async fn ensure_namespaces(&self, manifests: &[Manifest]) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let wanted: BTreeSet<_> =
            manifests.iter().map(Manifest::namespace).filter(|name| !name.is_empty()).collect();
        for name in wanted {
            let namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
            match namespaces.create(&PostParams::default(), &namespace).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                other => drop(other.with_context(|| format!("create namespace {name}"))?),
            }
        }
        Ok(())
    }

    async fn resolve(&self, manifests: &[Manifest]) -> Result<Kinds> {
        let mut kinds = Kinds::new();
        for (api_version, kind) in manifests.iter().map(Manifest::kind) {
            if let Entry::Vacant(entry) = kinds.entry((api_version.to_owned(), kind.to_owned())) {
                let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
                let found = pinned_kind(&self.client, &GroupVersionKind::gvk(group, version, kind)).await;
                entry.insert(
                    found.with_context(|| format!("{} does not serve {api_version} {kind}", self.name))?,
                );
            }
        }
        Ok(kinds)
    }
}

type Kinds = BTreeMap<(String, String), (ApiResource, ApiCapabilities)>;

fn api<'a>(
    client: &Client,
    kinds: &'a Kinds,
    manifest: &Manifest,
) -> Result<(Api<DynamicObject>, &'a ApiCapabilities)> {
    let (api_version, kind) = manifest.kind();
    let (resource, capabilities) =
        kinds.get(&(api_version.to_owned(), kind.to_owned())).context("an unresolved kind")?;
    let api = Api::dynamic(client.clone(), resource, &capabilities.scope);
    Ok((
        if manifest.namespace().is_empty() { api } else { api.constrain(manifest.namespace()) },
        capabilities,
    ))
}

fn key(kinds: &Kinds, manifest: &Manifest) -> Result<ObjectKey> {
    let (api_version, kind) = manifest.kind();
    let (resource, _) =
        kinds.get(&(api_version.to_owned(), kind.to_owned())).context("an unresolved kind")?;
    Ok(ObjectKey::new(&group_kind(&resource.group, kind), manifest.namespace(), manifest.name()))
}
