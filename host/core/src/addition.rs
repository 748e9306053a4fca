//! An object that the user adds from a file: what an installer creates beside what moves.
//!
//! It is written for the target, by the names that namespaces have there. What only servers set is dropped, as people paste what
//! `kubectl get` printed, and so is what moves note on objects.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::names::OURS;
use crate::usable::odd_name;
use crate::{GroupKind, Key, Uid, body};

/// The most objects that are added: a record lists them.
pub const MAX_ADDED_OBJECTS: usize = 500;

/// An added object as a record names it, so that a run that resumes can tell whether it was given the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Added {
    /// What it is called in the target.
    pub object: Key,
    /// The substitute for a UID in the source. It depends on the content, except for Secrets: from a digest of that,
    /// a reader of the record could verify guesses.
    pub uid: Uid,
}

/// An object to add, and where it is written.
#[derive(Clone)]
pub struct Addition {
    pub(crate) added: Added,
    pub(crate) file: String,
    document: usize,
    pub(crate) version: String,
    pub(crate) body: Value,
}

impl Addition {
    /// The object in a document of a file; otherwise what is wrong with it, without a part of its content but names.
    pub fn new(
        (file, document): (&str, usize),
        kind: GroupKind,
        version: String,
        mut body: Value,
    ) -> Result<Self, String> {
        let name_of = |field: &str| body.pointer("/metadata")?.get(field)?.as_str();
        let name = name_of("name").unwrap_or_default();
        if name.is_empty() {
            return Err(match name_of("generateName") {
                Some(_) => "generateName instead of a name: every run would create another object".to_owned(),
                None => "no name".to_owned(),
            });
        }
        // As servers do, an empty namespace counts as none.
        let namespace = name_of("namespace").filter(|namespace| !namespace.is_empty());
        if let Some(odd) = odd_name(name).or_else(|| namespace.and_then(odd_name)) {
            return Err(odd);
        }
        let owners = body.pointer("/metadata/ownerReferences");
        if owners.is_some_and(|owners| !owners.is_null() && *owners != Value::Array(Vec::new())) {
            return Err("ownerReferences, which name UIDs that the target doesn't have: remove them, and add owners there once the \
                        move is done"
                .to_owned());
        }
        let object = Key::new(kind, namespace, name);
        remove_server_fields(&mut body);
        let uid = derive_uid(&object, &version, &body);
        Ok(Self { added: Added { object, uid }, file: file.to_owned(), document, version, body })
    }

    /// As a record names it.
    pub fn record_entry(&self) -> &Added {
        &self.added
    }

    /// Where it is written: `bom.yaml, document 2`.
    pub fn origin(&self) -> String {
        format!("{}, document {}", self.file, self.document)
    }
}

/// Not what is in it, which may be a Secret's data.
impl fmt::Debug for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.added.object, self.origin())
    }
}

fn remove_server_fields(body: &mut Value) {
    let Some(map) = body.as_object_mut() else { return };
    map.remove("status");
    let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    // Controllers add their finalizers again, and only those are there to remove them.
    for field in body::SERVER_GIVEN.into_iter().chain(["generateName", "finalizers"]) {
        metadata.remove(field);
    }
    // Whose mark an object has, and by which labels records are found, is for moves to say.
    for field in ["annotations", "labels"] {
        if let Some(entries) = metadata.get_mut(field).and_then(Value::as_object_mut) {
            entries.retain(|name, _| !name.starts_with(OURS));
        }
    }
}

fn derive_uid(object: &Key, version: &str, body: &Value) -> Uid {
    let secret = object.group_kind.is_secret();
    let content = if secret { String::new() } else { body.to_string() };
    let mut hash = Sha256::new();
    let namespace = object.namespace.as_deref().unwrap_or_default();
    for part in [&object.group_kind.to_string(), version, namespace, &object.name, &content] {
        // Each part is preceded by its length, so that adjacent parts can't be confused.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Uid(format!("added-{digest}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn addition(kind: &str, body: Value) -> Result<Addition, String> {
        Addition::new(("a.yaml", 2), GroupKind::new("", kind), "v1".to_owned(), body)
    }

    #[test]
    fn what_servers_and_moves_write_is_dropped() {
        let pasted = addition(
            "ConfigMap",
            json!({"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "managedFields": [],
                "generateName": "a-", "creationTimestamp": null, "ownerReferences": [], "finalizers": ["f"],
                "annotations": {"pivot-host.io/move": "m", "pivot-host.io/undo": "{}", "mine": "1"},
                "labels": {"pivot-host.io/finished": "", "l": ""}},
                "data": {"a": "b"}, "status": {"phase": "Ready"}}),
        )
        .unwrap();
        let plain = json!({"metadata": {"name": "a", "namespace": "n", "annotations": {"mine": "1"},
            "labels": {"l": ""}}, "data": {"a": "b"}});
        assert_eq!(pasted.body, plain);
        assert_eq!(pasted.record_entry(), addition("ConfigMap", plain).unwrap().record_entry());
        assert_eq!(pasted.origin(), "a.yaml, document 2");
    }

    #[test]
    fn what_can_not_be_created_as_it_is_written_is_refused() {
        let refused = |metadata: Value| addition("ConfigMap", json!({"metadata": metadata})).unwrap_err();
        assert_eq!(refused(json!({})), "no name");
        assert_eq!(refused(json!({"name": ""})), "no name");
        assert_eq!(refused(json!("a")), "no name");
        assert!(refused(json!({"generateName": "a-"})).starts_with("generateName instead of a name"));
        let owners = json!([{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]);
        assert!(refused(json!({"name": "a", "ownerReferences": owners})).contains("remove them"));
        for odd in ["..", "a/b", "a\nerror: b", "\u{202e}"] {
            let told = refused(json!({"name": odd}));
            assert!(told.ends_with("isn't a valid name") && !told.contains(['\n', '\u{202e}']), "{told}");
            assert_eq!(refused(json!({"name": "a", "namespace": odd})), told);
        }
        let whole = addition("ConfigMap", json!({"metadata": {"name": "a", "namespace": ""}})).unwrap();
        assert_eq!(whole.record_entry().object.namespace, None);
    }

    #[test]
    fn other_content_is_told_by_the_uid_except_that_of_secrets() {
        let uid = |kind: &str, name: &str, data: &str| {
            let body = json!({"metadata": {"name": name, "namespace": "n"}, "data": {"a": data}});
            addition(kind, body).unwrap().record_entry().uid.clone()
        };
        assert_eq!(uid("ConfigMap", "a", "1"), uid("ConfigMap", "a", "1"));
        assert_ne!(uid("ConfigMap", "a", "1"), uid("ConfigMap", "a", "2"));
        assert_ne!(uid("ConfigMap", "a", "1"), uid("ConfigMap", "b", "1"));
        // No digest is made of secret data.
        assert_eq!(uid("Secret", "a", "1"), uid("Secret", "a", "2"));
        assert_ne!(uid("Secret", "a", "1"), uid("Secret", "b", "1"));
    }

    #[test]
    fn nothing_of_the_content_is_printed() {
        let secret = json!({"metadata": {"name": "a", "namespace": "n"}, "data": {"password": "aHVzaA=="}});
        assert_eq!(format!("{:?}", addition("Secret", secret).unwrap()), "Secret n/a of a.yaml, document 2");
    }
}
