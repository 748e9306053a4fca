//! One object: metadata parsed, body kept as the bytes that its place returned.
//!
//! Bodies are parsed only when needed. A management cluster has thousands of objects and most decisions need only metadata; a
//! parsed JSON tree is five to ten times the size of its text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::objects::kind::{GroupKind, Kind};
use crate::objects::memory_budget::Held;
use crate::objects::names;

/// A UID that a server assigned.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(pub String);

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of an object, identical on both sides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Group and kind.
    #[serde(flatten)]
    pub group_kind: GroupKind,
    /// Namespace; none for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl Key {
    /// A key.
    pub fn new(group_kind: GroupKind, namespace: Option<&str>, name: impl Into<String>) -> Self {
        Self { group_kind, namespace: namespace.map(str::to_owned), name: name.into() }
    }
}

/// In a form for people: `Machine metal3/edge-0`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.group_kind.kind, self.name),
            None => write!(f, "{} {}", self.group_kind.kind, self.name),
        }
    }
}

/// A reference from a dependent to its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// Group and version as the reference was written.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// The owner's UID on this side.
    pub uid: Uid,
    /// Whether the owner is the managing controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner waits for this dependent in a foreground deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl OwnerReference {
    /// The owner's group and kind.
    pub fn group_kind(&self) -> GroupKind {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        GroupKind::new(group, &self.kind)
    }

    fn text_len(&self) -> usize {
        let Self { api_version, kind, name, uid, controller: _, block_owner_deletion: _ } = self;
        [api_version, kind, name, &uid.0].map(String::len).into_iter().sum::<usize>() + OWNER
    }
}

/// Bytes that an owner, and a pair of texts, take in addition to their texts.
const OWNER: usize = 128;
const PAIR: usize = 64;

/// The part of the metadata that decisions depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: Option<String>,
    /// UID on this side.
    pub uid: Uid,
    /// Version of the object's state on this side; opaque.
    pub resource_version: String,
    /// Counts changes of the spec.
    pub generation: Option<i64>,
    /// Time of the creation, by the server's clock. Times of one server can be compared as text.
    pub creation_timestamp: Option<String>,
    /// Set while the object waits for its finalizers.
    pub deletion_timestamp: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Finalizers.
    #[serde(deserialize_with = "read_exact")]
    pub finalizers: Vec<String>,
    /// Owners.
    #[serde(deserialize_with = "read_exact")]
    pub owner_references: Vec<OwnerReference>,
    /// Owners of the fields: only the data that finds server-side appliers.
    #[serde(deserialize_with = "read_exact")]
    pub(crate) managed_fields: Vec<ManagedFields>,
    /// Held for as long as this is.
    #[serde(skip)]
    pub held: Held,
}

/// One entry of field ownership.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ManagedFields {
    /// The field manager.
    pub(crate) manager: String,
    /// `Apply` or `Update`.
    pub(crate) operation: String,
    /// Empty, or `status`.
    pub(crate) subresource: String,
    /// Time of the manager's last change, by the server's clock.
    pub(crate) time: Option<String>,
}

impl ManagedFields {
    fn text_len(&self) -> usize {
        let Self { manager, operation, subresource, time } = self;
        let texts = [manager, operation, subresource].into_iter().chain(time);
        texts.map(String::len).sum::<usize>() + OWNER
    }
}

/// Reads a list into no more memory than it needs. Otherwise a list of one element has room for four, for each of thousands of
/// objects.
fn read_exact<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let mut list = Vec::deserialize(from)?;
    list.shrink_to_fit();
    Ok(list)
}

impl Meta {
    /// Estimates the bytes that its texts take.
    pub fn text_len(&self) -> usize {
        // All fields are listed, so that no text of a new one is forgotten.
        let Self {
            name,
            namespace,
            uid,
            resource_version,
            generation: _,
            creation_timestamp,
            deletion_timestamp,
            labels,
            annotations,
            finalizers,
            owner_references,
            managed_fields,
            held: _,
        } = self;
        let optional = [namespace, creation_timestamp, deletion_timestamp].into_iter().flatten();
        let pairs = labels.iter().chain(annotations).map(|(key, value)| key.len() + value.len());
        name.len()
            + uid.0.len()
            + resource_version.len()
            + optional.map(String::len).sum::<usize>()
            + pairs.map(|bytes| bytes + PAIR).sum::<usize>()
            + finalizers.iter().map(|name| name.len() + PAIR).sum::<usize>()
            + owner_references.iter().map(OwnerReference::text_len).sum::<usize>()
            + managed_fields.iter().map(ManagedFields::text_len).sum::<usize>()
    }

    /// Keeps the names, times and owners. Labels, annotations, finalizers and field managers are most of what is held of
    /// thousands of objects.
    pub fn reduce_to_identity(&mut self) {
        let Self { labels, annotations, finalizers, .. } = self;
        (*labels, *annotations, *finalizers) = Default::default();
        self.forget_managers();
    }

    /// Drops the owners of the fields. They matter only where an object is compared or copied.
    pub fn forget_managers(&mut self) {
        self.managed_fields = Vec::new();
    }

    /// Returns true if the annotation exists, with any value.
    pub fn has_annotation(&self, key: &str) -> bool {
        self.annotations.contains_key(key)
    }

    /// Returns true if the label exists, with any value.
    pub fn has_label(&self, key: &str) -> bool {
        self.labels.contains_key(key)
    }

    /// Returns true if the object is being deleted.
    pub fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Returns true if a server-side applier owns fields of the object, so that ownership must be restored.
    pub fn has_applier(&self) -> bool {
        self.managed_fields.iter().any(|m| m.operation == "Apply" && m.subresource.is_empty())
    }

    /// Returns true if a client other than this program has written to the object since a time, by the server's clock. Managed
    /// fields that match the source object's may have been copied, and prove nothing.
    pub fn is_written_by_others(&self, since: &str, source: Option<&Self>) -> bool {
        let copied = source.map_or(&[][..], |source| &source.managed_fields);
        self.managed_fields.iter().any(|m| {
            m.manager != names::FIELD_MANAGER
                && m.time.as_deref().is_some_and(|time| time >= since)
                && !copied.contains(m)
        })
    }

    /// Returns the time of this program's last write to the object, by the server's clock; none if the server doesn't report it.
    pub fn last_own_write(&self) -> Option<&str> {
        let ours = self.managed_fields.iter().filter(|m| m.manager == names::FIELD_MANAGER);
        ours.filter_map(|m| m.time.as_deref()).max()
    }

    /// Returns true if the object has the mark of a move.
    pub fn has_mark(&self, move_id: &str) -> bool {
        self.annotations.get(names::MARK).is_some_and(|id| id == move_id)
    }
}

/// The deepest nesting of a body: slightly less than the JSON parser's own limit, 128.
pub const DEPTH: usize = 120;

/// An error in an object's body.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// Not JSON, or metadata of an unexpected shape. Contains no part of the body, which may be secret.
    #[error("{kind} body is not an object with readable metadata (line {line}, column {column})")]
    Unreadable {
        /// The expected kind.
        kind: GroupKind,
        /// Position of the error.
        line: usize,
        /// Position of the error.
        column: usize,
    },
    /// Parsing it would overflow a reasonable stack.
    #[error("{0} body is nested deeper than {DEPTH} levels")]
    Deep(GroupKind),
    /// The object has no name.
    #[error("{0} object has no name")]
    Nameless(GroupKind),
}

/// An object as one side has it.
#[derive(Clone, Debug)]
pub struct Object {
    /// Kind of the object. All objects of a list share it.
    pub kind: Arc<Kind>,
    /// Metadata of the object.
    pub meta: Meta,
    raw: Bytes,
}

impl Object {
    /// Parses an object's metadata and keeps the bytes.
    pub fn parse(kind: Arc<Kind>, raw: Bytes) -> Result<Self, ObjectError> {
        #[derive(Deserialize)]
        struct Envelope {
            metadata: Meta,
        }
        let envelope: Envelope = parse_body(&kind, &raw)?;
        if envelope.metadata.name.is_empty() {
            return Err(ObjectError::Nameless(kind.group_kind.clone()));
        }
        Ok(Self { kind, meta: envelope.metadata, raw })
    }

    /// Builds an object from a parsed body.
    pub fn from_value(kind: Arc<Kind>, value: &Value) -> Result<Self, ObjectError> {
        Self::parse(kind, Bytes::from(value.to_string()))
    }

    /// Returns the key of the object.
    pub fn key(&self) -> Key {
        let namespace = if self.kind.namespaced { self.meta.namespace.as_deref() } else { None };
        Key::new(self.kind.group_kind.clone(), namespace, &self.meta.name)
    }

    /// Returns true if the body is nested deeper than [`DEPTH`]. Metadata is parsed without the rest, so without this check the
    /// nesting would show only when the body is parsed. Scans the bytes, without recursion.
    pub(crate) fn is_too_deep(&self) -> bool {
        let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
        for byte in self.raw.iter() {
            match (quoted, byte) {
                (true, _) if escaped => escaped = false,
                (true, b'\\') => escaped = true,
                (_, b'"') => quoted = !quoted,
                (true, _) => {}
                (false, b'{' | b'[') => depth += 1,
                (false, b'}' | b']') => depth = depth.saturating_sub(1),
                (false, _) => {}
            }
            if depth > DEPTH {
                return true;
            }
        }
        false
    }

    /// Returns the body as received.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// Returns a digest of the kind and the body as received. Only equal objects have equal digests, whatever their source says of
    /// their UIDs and versions.
    pub fn digest(&self) -> [u8; 32] {
        let kind = format!("{}\0{}\0", self.kind.api_version(), self.kind.group_kind.kind);
        Sha256::new().chain_update(kind).chain_update(&self.raw).finalize().into()
    }

    /// Parses the body, and sets `apiVersion` and `kind`, which items in lists of built-in kinds lack.
    pub fn value(&self) -> Result<Value, ObjectError> {
        let mut value: Value = self.view()?;
        if let Some(map) = value.as_object_mut() {
            map.insert("apiVersion".into(), self.kind.api_version().into());
            map.insert("kind".into(), self.kind.group_kind.kind.clone().into());
        }
        Ok(value)
    }

    /// Returns true if a controller has written a status.
    pub(crate) fn has_status(&self) -> Result<bool, ObjectError> {
        #[derive(Deserialize)]
        struct View {
            #[serde(default)]
            status: Value,
        }
        Ok(self.view::<View>()?.status.as_object().is_some_and(|status| !status.is_empty()))
    }

    /// Parses the body into a type that names only the fields it needs.
    pub fn view<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ObjectError> {
        parse_body(&self.kind, &self.raw)
    }
}

fn parse_body<'a, T: Deserialize<'a>>(kind: &Kind, raw: &'a [u8]) -> Result<T, ObjectError> {
    serde_json::from_slice(raw).map_err(|error| ObjectError::Unreadable {
        kind: kind.group_kind.clone(),
        line: error.line(),
        column: error.column(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A server may fill any of the texts.
    // proves: T147
    #[test]
    fn each_text_of_metadata_counts() {
        let long = "x".repeat(10_000);
        let owner = |field: &str| {
            let mut owner = json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"});
            owner[field] = json!(long);
            json!({"ownerReferences": [owner]})
        };
        let names = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"];
        let lists = [
            json!({"labels": {"a": long}}),
            json!({"labels": {&long: "a"}}),
            json!({"annotations": {"a": long}}),
            json!({"annotations": {&long: "a"}}),
            json!({"finalizers": [long]}),
        ];
        let owners = ["apiVersion", "kind", "name", "uid"].map(owner);
        let managers = ["manager", "operation", "subresource", "time"]
            .map(|field| json!({"managedFields": [{field: long}]}));
        let all =
            names.map(|field| json!({field: long})).into_iter().chain(lists).chain(owners).chain(managers);
        for metadata in all {
            let meta: Meta = serde_json::from_value(metadata.clone()).unwrap();
            assert!(meta.text_len() >= long.len(), "{metadata}");
        }
    }
}
