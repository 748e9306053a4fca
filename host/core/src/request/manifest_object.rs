//! An object that the user adds from a file, for example the objects that an installer creates next to a Cluster.
//!
//! Files are written for the target, with the names that namespaces have there. Fields that only servers set are dropped, because
//! people paste the output of `kubectl get`. Annotations and labels of moves are dropped too.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::objects::names::{self, OURS};
use crate::request::validate::find_name_error;
use crate::{GroupKind, Key, Uid};

/// Maximum number of added objects. A record lists them all.
pub const MAX_ADDED_OBJECTS: usize = 500;

/// An added object as a record stores it, so that a resumed run can tell whether it got the same files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Added {
    /// Key in the target.
    pub object: Key,
    /// Substitute for a UID in the source. Derived from the content, except for Secrets: a digest of secret data would let a
    /// reader of the record verify guesses.
    pub uid: Uid,
}

/// An object to add, and the document that contains it.
#[derive(Clone)]
pub struct Addition {
    pub(crate) added: Added,
    pub(crate) file: String,
    document: usize,
    pub(crate) version: String,
    pub(crate) body: Value,
}

impl Addition {
    /// Reads the object in a document of a file.
    ///
    /// # Errors
    ///
    /// Fails if the object can't be added as it is written. The message contains names and no other content.
    pub fn new(
        (file, document): (&str, usize),
        kind: GroupKind,
        version: String,
        mut body: Value,
    ) -> Result<Self, String> {
        let name = body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            return Err(match body.pointer("/metadata/generateName").and_then(Value::as_str) {
                Some(_) => "generateName instead of a name: every run would create another object".to_owned(),
                None => "no name".to_owned(),
            });
        }
        // An empty namespace counts as none, as on servers.
        let namespace = body.pointer("/metadata/namespace").and_then(Value::as_str);
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        if let Some(odd) = find_name_error(name).or_else(|| namespace.and_then(find_name_error)) {
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

    /// Returns the entry for the record.
    pub fn record_entry(&self) -> &Added {
        &self.added
    }

    /// Returns the file and document: `bom.yaml, document 2`.
    pub fn origin(&self) -> String {
        format!("{}, document {}", self.file, self.document)
    }
}

/// Omits the body, which may be a Secret's data.
impl fmt::Debug for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.added.object, self.origin())
    }
}

fn remove_server_fields(body: &mut Value) {
    let Some(map) = body.as_object_mut() else { return };
    map.remove("status");
    let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    // Controllers add their finalizers again. Only controllers that run in the target can remove them.
    for field in names::SERVER_GIVEN.into_iter().chain(["generateName", "finalizers"]) {
        metadata.remove(field);
    }
    // Only moves may set marks and the labels by which records are found.
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
        // The length before each part keeps adjacent parts apart.
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
    fn fields_of_servers_and_moves_are_dropped() {
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
    fn manifests_that_create_nothing_are_refused() {
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
    fn uid_depends_on_content_except_for_secrets() {
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
    fn content_of_an_addition_is_never_printed() {
        let secret = json!({"metadata": {"name": "a", "namespace": "n"}, "data": {"password": "aHVzaA=="}});
        assert_eq!(format!("{:?}", addition("Secret", secret).unwrap()), "Secret n/a of a.yaml, document 2");
    }
}
