//! Secrets of one namespace, each written only in the state in which it was read.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pivot_core::{Key, Kind, Object};
use pivot_places::{Change, Patch, Place, PlaceError, Preconditions, Subresource, builtin_kinds};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The Secrets of a namespace.
#[derive(Clone)]
pub(crate) struct Secrets {
    pub(crate) place: Arc<dyn Place>,
    pub(crate) kind: Arc<Kind>,
    pub(crate) namespace: String,
}

/// A Secret as it was read.
pub(crate) struct StoredSecret {
    pub(crate) uid: String,
    version: String,
    name: String,
    data: BTreeMap<String, Value>,
}

impl StoredSecret {
    pub(crate) fn from_object(object: &Object) -> Self {
        let body = object.value().unwrap_or_default();
        let data = body.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
        Self {
            uid: object.meta.uid.to_string(),
            version: object.meta.resource_version.clone(),
            name: object.meta.name.clone(),
            data: data.into_iter().collect(),
        }
    }

    /// Parses one entry. The error contains nothing of it.
    pub(crate) fn parse_entry<T: DeserializeOwned>(&self, entry: &str) -> Result<Option<T>, PlaceError> {
        let unreadable = || PlaceError::Unreadable(format!("{entry} of Secret {}", self.name));
        let Some(value) = self.data.get(entry) else { return Ok(None) };
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok()).ok_or_else(unreadable)?;
        serde_json::from_slice(&bytes).map(Some).map_err(|_| unreadable())
    }
}

/// An entry of a Secret, as it is in its data.
pub(crate) fn encode_entry(value: &impl Serialize) -> Value {
    Value::String(STANDARD.encode(serde_json::to_vec(value).unwrap_or_default()))
}

impl Secrets {
    pub(crate) fn new(place: Arc<dyn Place>, namespace: &str) -> Result<Self, PlaceError> {
        let kind = builtin_kinds().into_iter().find(|kind| kind.group_kind.is("", "Secret"));
        let kind = kind.map(Arc::new).ok_or_else(|| PlaceError::NotFound("the kind Secret".to_owned()))?;
        Ok(Self { place, kind, namespace: namespace.to_owned() })
    }

    fn key_of(&self, name: &str) -> Key {
        Key::new(self.kind.group_kind.clone(), Some(&self.namespace), name)
    }

    pub(crate) async fn read(&self, name: &str) -> Result<Option<StoredSecret>, PlaceError> {
        Ok(self.place.get(&self.kind, &self.key_of(name)).await?.as_ref().map(StoredSecret::from_object))
    }

    /// Makes one; nothing if there is one.
    pub(crate) async fn create(
        &self,
        name: &str,
        labels: &Value,
        entry: (&str, Value),
    ) -> Result<Option<StoredSecret>, PlaceError> {
        let metadata = json!({"name": name, "namespace": self.namespace, "labels": labels});
        let body = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {entry.0: entry.1},
        });
        match self.place.create(&self.kind, &body, Change::Real).await {
            Ok(object) => Ok(Some(StoredSecret::from_object(&object))),
            Err(PlaceError::AlreadyExists(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Changes entries, and removes those that are null. Returns none if the Secret has changed since it was read.
    pub(crate) async fn write<const N: usize>(
        &self,
        read: &StoredSecret,
        entries: [(&str, Value); N],
    ) -> Result<Option<StoredSecret>, PlaceError> {
        let data: Map<String, Value> =
            entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let body = json!({"metadata": {"resourceVersion": read.version}, "data": data});
        let patch = Patch { body, subresource: Subresource::None, change: Change::Real };
        match self.place.patch(&self.kind, &self.key_of(&read.name), &patch).await {
            Ok(object) => Ok(Some(StoredSecret::from_object(&object))),
            Err(PlaceError::Conflict(_) | PlaceError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes a Secret. Returns true if there was one.
    pub(crate) async fn delete(&self, name: &str) -> Result<bool, PlaceError> {
        match self.place.delete(&self.kind, &self.key_of(name), &Preconditions::default()).await {
            Ok(()) => Ok(true),
            Err(PlaceError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
