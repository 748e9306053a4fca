//! The state of a server as a value, so that two states can be compared.
//!
//! "A → B → A gives the original" is an equation between dumps. [`normalise`] removes what inevitably differs between two
//! servers, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::Value;

use super::Server;
use crate::kinds::{Kind, ObjectKey, kinds, text};

/// Objects by kind, namespace and name, as the server shows them.
pub type Dump = BTreeMap<ObjectKey, Value>;

/// Objects per page where only keys are read.
const PAGE_SIZE: u32 = 2_000;

/// Fields that differ between two servers without any change.
const VOLATILE: [&str; 5] = ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"];

impl Server {
    /// The kinds that a move can touch: those of CRDs, Secret and ConfigMap.
    pub async fn kinds(&self) -> Result<Vec<Kind>> {
        kinds(&self.client).await
    }

    /// All objects of [`Server::kinds`] in these namespaces, or in all but the system's (`kube-…`) if none is named, and those
    /// outside namespaces.
    pub async fn dump(&self, namespaces: &[&str]) -> Result<Dump> {
        self.dump_kinds(&self.kinds().await?, namespaces).await
    }

    /// Like [`Server::dump`], for these kinds only.
    pub async fn dump_kinds(&self, kinds: &[Kind], namespaces: &[&str]) -> Result<Dump> {
        let lists = kinds.iter().map(async |kind| {
            let list = kind.api(self.client()).list(&ListParams::default()).await;
            let list = list.with_context(|| format!("list {} in {}", kind.name(), self.name()))?;
            list.iter()
                .map(|object| kind.value(object).map(|value| (kind.key(&value), value)))
                .collect::<Result<Vec<_>>>()
        });
        let objects = try_join_all(lists).await?.into_iter().flatten();
        Ok(objects.filter(|(key, _)| selects(namespaces, &key.namespace)).collect())
    }

    /// The keys of a namespace's objects of [`Server::kinds`], read as metadata and in pages: there may be any number of objects.
    pub async fn keys_in(&self, namespace: &str) -> Result<BTreeSet<ObjectKey>> {
        let mut keys = BTreeSet::new();
        for kind in self.kinds().await?.iter().filter(|kind| kind.namespaced) {
            let api = kind.api_in(self.client(), namespace);
            let mut page = ListParams::default().limit(PAGE_SIZE);
            loop {
                let list = api.list_metadata(&page).await;
                let list = list.with_context(|| format!("list {} in {}", kind.name(), self.name()))?;
                let names = list.items.iter().map(ResourceExt::name_any);
                keys.extend(names.map(|name| ObjectKey::new(&kind.name(), namespace, &name)));
                match list.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => page = page.continue_token(&token),
                    None => break,
                }
            }
        }
        Ok(keys)
    }
}

/// Whether a list of namespaces, see [`Server::dump`], includes this one.
pub(crate) fn selects<S: AsRef<str>>(namespaces: &[S], namespace: &str) -> bool {
    let named = || namespaces.iter().any(|wanted| wanted.as_ref() == namespace);
    namespace.is_empty() || named() || (namespaces.is_empty() && !namespace.starts_with("kube-"))
}

/// Removes what two servers never have in common: UIDs, versions, creation times, field managers.
///
/// The UID in an owner reference becomes the owner's kind and name, if the dump has that owner; otherwise it becomes "unknown",
/// so that a reference to the other side's UID is a difference.
#[must_use]
pub fn normalise(mut dump: Dump) -> Dump {
    let owners: BTreeMap<String, String> = dump
        .iter()
        .map(|(key, object)| (text(object, "/metadata/uid").to_owned(), format!("{}/{}", key.kind, key.name)))
        .collect();
    for object in dump.values_mut() {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|field, _| !VOLATILE.contains(&field.as_str()));
        }
        let references = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        for reference in references.into_iter().flatten() {
            let known = owners.get(text(reference, "/uid")).cloned();
            let unknown = || format!("unknown {}/{}", text(reference, "/kind"), text(reference, "/name"));
            let owner = known.unwrap_or_else(unknown);
            if let Some(fields) = reference.as_object_mut() {
                fields.insert("uid".to_owned(), owner.into());
            }
        }
    }
    dump
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn owners_are_named_and_strangers_stand_out() {
        let owned = |uid: &str| json!({ "metadata": { "uid": "2", "resourceVersion": "9", "ownerReferences": [{ "kind": "K", "name": "a", "uid": uid }] } });
        let dump = |uid: &str| {
            Dump::from([
                (ObjectKey::new("K.g", "n", "a"), json!({ "metadata": { "uid": "1" }, "spec": 1 })),
                (ObjectKey::new("K.g", "n", "b"), owned(uid)),
            ])
        };
        let owner = |dump: Dump| dump[&ObjectKey::new("K.g", "n", "b")].clone();
        assert_eq!(
            owner(normalise(dump("1"))),
            json!({ "metadata": { "ownerReferences": [{ "kind": "K", "name": "a", "uid": "K.g/a" }] } })
        );
        assert_eq!(text(&owner(normalise(dump("7"))), "/metadata/ownerReferences/0/uid"), "unknown K/a");
    }

    #[test]
    fn no_namespace_means_all_but_the_systems() {
        assert!(
            selects::<&str>(&[], "a") && selects::<&str>(&[], "") && !selects::<&str>(&[], "kube-system")
        );
        assert!(selects(&["kube-system"], "kube-system") && !selects(&["kube-system"], "a"));
    }
}
