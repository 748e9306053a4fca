//! Objects as a test writes them, before any server has seen them.
//!
//! In a file, UIDs are placeholders: an owner reference with an object's `metadata.uid` means that object. Server-set fields are
//! removed, and what needs a request of its own (status, owners in a cycle, a deletion in progress) is kept separately.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::kinds::text;

/// Server-set fields; sending them would be refused or ignored.
const ASSIGNED: [&str; 8] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "selfLink",
];

/// One object of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Manifest {
    /// What can be sent in a create.
    pub(super) body: Value,
    /// Written in a separate request.
    pub(super) status: Option<Value>,
    /// The file shows it with a deletion timestamp.
    pub(super) deleting: bool,
    owners: Vec<Value>,
    /// What others may call it: its placeholder, and its kind and name for references without a UID.
    aliases: Vec<String>,
}

/// The documents of a YAML or JSON text; `kind: List` is expanded.
pub fn parse(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).context("read YAML")?;
    let mut objects = Vec::new();
    for mut document in documents {
        match document.pointer_mut("/items").map(Value::take) {
            Some(Value::Array(items)) => objects.extend(items),
            Some(_) => bail!("a list whose items are not a list"),
            None if document.is_null() => {}
            None => objects.push(document),
        }
    }
    Ok(objects)
}

impl Manifest {
    pub(super) fn new(mut body: Value) -> Result<Self> {
        let kind = text(&body, "/kind").to_owned();
        let name = text(&body, "/metadata/name").to_owned();
        if kind.is_empty() || name.is_empty() {
            bail!("an object without kind or name: {body}");
        }
        let mut aliases = vec![unnumbered(text(&body, "/metadata/namespace"), &kind, &name)];
        aliases.extend(Some(text(&body, "/metadata/uid").to_owned()).filter(|uid| !uid.is_empty()));
        let deleting = !text(&body, "/metadata/deletionTimestamp").is_empty();
        let status = body.as_object_mut().and_then(|fields| fields.remove("status"));
        let metadata = body.pointer_mut("/metadata").and_then(Value::as_object_mut).context("no metadata")?;
        metadata.retain(|field, _| !ASSIGNED.contains(&field.as_str()));
        let owners = match metadata.remove("ownerReferences") {
            Some(Value::Array(owners)) => owners,
            _ => Vec::new(),
        };
        Ok(Self { body, status, deleting, owners, aliases })
    }

    pub(super) fn kind(&self) -> (&str, &str) {
        (text(&self.body, "/apiVersion"), text(&self.body, "/kind"))
    }

    pub(super) fn namespace(&self) -> &str {
        text(&self.body, "/metadata/namespace")
    }

    pub(super) fn name(&self) -> &str {
        text(&self.body, "/metadata/name")
    }

    /// Its owner references with real UIDs, without those whose owner is not created yet.
    ///
    /// An owner that is not in the file keeps its UID: tests need references to missing objects.
    pub(super) fn owners(&self, file: &File) -> Vec<Value> {
        let mut owners = Vec::new();
        for owner in &self.owners {
            let alias = file.alias(owner, self.namespace());
            if let Some(uid) = file.uids.get(&alias) {
                let mut owner = owner.clone();
                if let Some(fields) = owner.as_object_mut() {
                    fields.insert("uid".to_owned(), json!(uid));
                }
                owners.push(owner);
            } else if !file.aliases.contains(&alias) {
                owners.push(owner.clone());
            }
        }
        owners
    }

    /// Whether some owner is still to be created.
    pub(super) fn waits(&self, file: &File) -> bool {
        self.owners(file).len() < self.owners.len()
    }
}

/// What is known about the objects of one file.
#[derive(Debug, Default)]
pub(super) struct File {
    aliases: BTreeSet<String>,
    uids: BTreeMap<String, String>,
}

impl File {
    pub(super) fn new(manifests: &[Manifest]) -> Self {
        let aliases = manifests.iter().flat_map(|manifest| manifest.aliases.clone()).collect();
        Self { aliases, uids: BTreeMap::new() }
    }

    /// The server has given `manifest` a UID.
    pub(super) fn created(&mut self, manifest: &Manifest, uid: &str) {
        self.uids.extend(manifest.aliases.iter().map(|alias| (alias.clone(), uid.to_owned())));
    }

    /// The file's name for the owner that an object in this namespace refers to.
    fn alias(&self, owner: &Value, namespace: &str) -> String {
        let (uid, kind, name) = (text(owner, "/uid"), text(owner, "/kind"), text(owner, "/name"));
        let neighbour = unnumbered(namespace, kind, name);
        match uid {
            "" if self.aliases.contains(&neighbour) => neighbour,
            "" => unnumbered("", kind, name),
            uid => uid.to_owned(),
        }
    }

    /// Takes out what can be created now: everything whose owners exist; in a cycle, its first member.
    pub(super) fn next(&self, pending: &mut Vec<Manifest>) -> Vec<Manifest> {
        let (waiting, mut ready): (Vec<_>, Vec<_>) =
            pending.drain(..).partition(|manifest| manifest.waits(self));
        *pending = waiting;
        if ready.is_empty() && !pending.is_empty() {
            ready.push(pending.remove(0));
        }
        ready
    }
}

/// The name of an object in references without a UID.
fn unnumbered(namespace: &str, kind: &str, name: &str) -> String {
    format!("{namespace}/{kind}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifests(text: &str) -> Vec<Manifest> {
        parse(text).unwrap().into_iter().map(|object| Manifest::new(object).unwrap()).collect()
    }

    fn names(manifests: &[Manifest]) -> Vec<&str> {
        manifests.iter().map(Manifest::name).collect()
    }

    #[test]
    fn owners_come_first_and_references_get_real_uids() {
        let mut pending = manifests(
            "
kind: Child
metadata: {name: b, uid: '2', ownerReferences: [{kind: Parent, name: a, uid: '1'}, {kind: Ghost, name: g, uid: gone}]}
---
kind: Parent
metadata: {name: a, uid: '1', resourceVersion: '7'}
status: {phase: Ready}
---
kind: Child
metadata: {name: c, ownerReferences: [{kind: Child, name: b}]}
",
        );
        let mut file = File::new(&pending);
        let first = file.next(&mut pending);
        assert_eq!(names(&first), ["a"]);
        assert_eq!(first[0].body, json!({ "kind": "Parent", "metadata": { "name": "a" } }));
        assert_eq!(first[0].status, Some(json!({ "phase": "Ready" })));
        file.created(&first[0], "real-a");
        let second = file.next(&mut pending);
        assert_eq!(names(&second), ["b"]);
        let uids: Vec<_> =
            second[0].owners(&file).iter().map(|owner| text(owner, "/uid").to_owned()).collect();
        assert_eq!(uids, ["real-a", "gone"]);
        file.created(&second[0], "real-b");
        let third = file.next(&mut pending);
        assert_eq!(text(&third[0].owners(&file)[0], "/uid"), "real-b");
    }

    #[test]
    fn a_cycle_is_broken_at_its_first_member() {
        let mut pending = manifests(
            "
kind: List
items:
- {kind: K, metadata: {name: a, uid: '1', ownerReferences: [{kind: K, name: b, uid: '2'}]}}
- {kind: K, metadata: {name: b, uid: '2', ownerReferences: [{kind: K, name: a, uid: '1'}]}}
",
        );
        let mut file = File::new(&pending);
        let first = file.next(&mut pending);
        assert_eq!(names(&first), ["a"]);
        assert!(first[0].waits(&file) && first[0].owners(&file).is_empty());
        file.created(&first[0], "real-a");
        let second = file.next(&mut pending);
        file.created(&second[0], "real-b");
        assert_eq!(text(&first[0].owners(&file)[0], "/uid"), "real-b");
    }

    #[test]
    fn an_owner_without_a_uid_is_the_one_in_the_same_namespace() {
        let pending = manifests(
            "
kind: List
items:
- {kind: K, metadata: {name: a, namespace: x}}
- {kind: K, metadata: {name: a, namespace: y}}
- {kind: Global, metadata: {name: g}}
- {kind: K, metadata: {name: b, namespace: x, ownerReferences: [{kind: K, name: a}, {kind: Global, name: g}]}}
",
        );
        let mut file = File::new(&pending);
        for (manifest, uid) in pending.iter().zip(["in-x", "in-y", "global"]) {
            file.created(manifest, uid);
        }
        let uids: Vec<_> =
            pending[3].owners(&file).iter().map(|owner| text(owner, "/uid").to_owned()).collect();
        assert_eq!(uids, ["in-x", "global"]);
    }
}
