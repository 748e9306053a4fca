//! Adds what an API server would have added: UIDs, and the UIDs of owners.
//!
//! Files written by hand have no UIDs. Such an object gets one that depends only on its key, and an owner reference without a UID
//! is resolved by name: reading the same directory twice gives the same objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use pivot_core::request::validate::{find_id_error, find_name_error};
use pivot_core::{GroupKind, Key, Kind, Object};
use serde_json::Value;
use uuid::Uuid;

use super::contents::{DirectoryContents, ObjectInFile};
use super::documents::{self, FileDocument};
use super::files::DirectoryHandle;
use super::{DirectoryError, Manifest, definitions};
use crate::body::{key_of, metadata_field, metadata_text, set_metadata};

/// The namespace of UIDs that are made from names.
const UID_NAMESPACE: Uuid = Uuid::from_u128(0x7e0d_2ef4_9a5c_4d3a_8b1e_5f27_c06b_91d3);

/// Reads everything in a directory.
pub(super) fn read_contents(
    files: &DirectoryHandle,
    manifest: Option<&Manifest>,
) -> Result<DirectoryContents, DirectoryError> {
    let mut documents = documents::read_all(files, manifest)?;
    documents.retain(|document| !super::manifest::is_manifest(&document.body));
    complete_documents(documents, manifest)
}

/// Returns documents as contents of a directory.
pub(super) fn complete_documents(
    documents: Vec<FileDocument>,
    manifest: Option<&Manifest>,
) -> Result<DirectoryContents, DirectoryError> {
    let kinds = definitions::collect_kinds(&documents, manifest)?;
    let mut versions = BTreeMap::new();
    let mut found: BTreeMap<Key, (FileDocument, Arc<Kind>)> = BTreeMap::new();
    for mut document in documents {
        let (group_kind, version) = definitions::kind_of(&document)?;
        let Some(kind) = kinds.get(&group_kind) else { continue };
        // A directory may hold objects of one kind in several versions.
        let kind =
            versions.entry((group_kind, version.clone())).or_insert_with(|| match kind.version == version {
                true => Arc::clone(kind),
                false => Arc::new(Kind { version, ..Kind::clone(kind) }),
            });
        let key = key_of(kind, &document.body).map_err(|error| document.error(error.to_string()))?;
        if let Some(odd) =
            find_name_error(&key.name).or_else(|| key.namespace.as_deref().and_then(find_name_error))
        {
            return Err(document.error(odd));
        }
        if metadata_text(&document.body, "uid").is_none_or(str::is_empty) {
            set_metadata(&mut document.body, "uid", uid_of_key(&key).to_string().into());
        }
        if metadata_text(&document.body, "resourceVersion").is_none_or(str::is_empty) {
            set_metadata(&mut document.body, "resourceVersion", "1".into());
        }
        if let Some((first, _)) = found.get(&key) {
            let (first, second) = (first.file.clone(), document.file);
            return Err(DirectoryError::Twice { key: Box::new(key), first, second });
        }
        found.insert(key, (document, Arc::clone(kind)));
    }
    let ids = collect_uids(&found)?;
    let mut contents = DirectoryContents { kinds, ..DirectoryContents::default() };
    for (key, (mut document, kind)) in found {
        resolve_owners(&key, &mut document, &ids)?;
        let object =
            Object::from_value(kind, &document.body).map_err(|error| document.error(error.to_string()))?;
        let version = object.meta.resource_version.parse().unwrap_or_default();
        contents.version = contents.version.max(version);
        contents.entries.insert(key, ObjectInFile { file: document.file, written: None, object });
    }
    Ok(contents)
}

/// Returns the UID of each object. A move would take two objects with the same UID for one.
fn collect_uids(
    found: &BTreeMap<Key, (FileDocument, Arc<Kind>)>,
) -> Result<BTreeMap<Key, String>, DirectoryError> {
    let mut ids = BTreeMap::new();
    let mut first: BTreeMap<&str, (&Key, &FileDocument)> = BTreeMap::new();
    for (key, (document, _)) in found {
        let (uid, version) =
            (metadata_text(&document.body, "uid"), metadata_text(&document.body, "resourceVersion"));
        let (uid, version) = (uid.unwrap_or_default(), version.unwrap_or_default());
        if let Some(odd) = find_id_error(uid).or_else(|| find_id_error(version)) {
            return Err(document.error(format!("{key}: {odd}")));
        }
        // The later one in the directory is reported.
        if let Some(other) = first.insert(uid, (key, document)) {
            let mut both = [other, (key, document)];
            both.sort_by_key(|(_, document)| (&document.file, document.number));
            let [(first, there), (second, here)] = both;
            return Err(here.error(format!(
                "{second} has the uid of {first} ({}, document {})",
                there.file, there.number
            )));
        }
        ids.insert(key.clone(), uid.to_owned());
    }
    Ok(ids)
}

fn uid_of_key(key: &Key) -> Uuid {
    let Key { group_kind: GroupKind { group, kind }, namespace, name } = key;
    let path = format!("{group}/{kind}/{}/{name}", namespace.as_deref().unwrap_or_default());
    Uuid::new_v5(&UID_NAMESPACE, path.as_bytes())
}

/// Gives references without a UID the UID of the object they name: in the same namespace, or cluster-scoped.
fn resolve_owners(
    key: &Key,
    document: &mut FileDocument,
    ids: &BTreeMap<Key, String>,
) -> Result<(), DirectoryError> {
    let Some(Value::Array(mut owners)) = metadata_field(&document.body, "ownerReferences").cloned() else {
        return Ok(());
    };
    for owner in &mut owners {
        let text = |field| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        if !text("uid").is_empty() {
            continue;
        }
        let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
        let group_kind = GroupKind::new(group, text("kind"));
        let named = |namespace| ids.get(&Key::new(group_kind.clone(), namespace, text("name")));
        let Some(id) = named(key.namespace.as_deref()).or_else(|| named(None)) else {
            let owner = Key::new(group_kind.clone(), key.namespace.as_deref(), text("name"));
            return Err(document.error(format!(
                "{key} refers to its owner {owner} without a uid, and there is no such object"
            )));
        };
        if let Some(map) = owner.as_object_mut() {
            map.insert("uid".to_owned(), id.clone().into());
        }
    }
    set_metadata(&mut document.body, "ownerReferences", Value::Array(owners));
    Ok(())
}
