//! A Kubernetes object as a plugin sees it: JSON, with accessors for what every object has.
//!
//! Not typed per kind: a plugin reads a handful of fields of objects whose schemas change from release to release. For typed
//! access, [`Object::deserialize`] parses into a struct that names only those fields.

use std::fmt;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Key, Kind, Result};

/// A Kubernetes object.
///
/// ```
/// use pivot_sdk::Object;
/// use serde_json::json;
///
/// let host = Object::from(json!({
///     "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
///     "metadata": {"name": "node-0", "namespace": "metal3"},
///     "status": {"provisioning": {"state": "provisioned"}},
/// }));
/// assert_eq!(host.text("/status/provisioning/state"), Some("provisioned"));
/// assert_eq!(host.annotation("baremetalhost.metal3.io/paused"), None);
/// ```
#[derive(Clone, PartialEq, Default)]
pub struct Object {
    pub(crate) value: Rc<Value>,
}

impl From<Value> for Object {
    fn from(value: Value) -> Self {
        Self { value: Rc::new(value) }
    }
}

impl From<&Value> for Object {
    fn from(value: &Value) -> Self {
        Self::from(value.clone())
    }
}

impl From<&Self> for Object {
    fn from(object: &Self) -> Self {
        object.clone()
    }
}

impl Object {
    /// Parses the text of an object.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(serde_json::from_str::<Value>(text).map(Self::from)?)
    }

    /// The whole object as JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value at a JSON pointer (`/spec/image/url`); none if it is missing or null.
    pub fn get(&self, pointer: &str) -> Option<&Value> {
        self.value.pointer(pointer).filter(|value| !value.is_null())
    }

    /// The string at a JSON pointer.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.get(pointer)?.as_str()
    }

    /// The items of the list at a JSON pointer; none if there is no list.
    pub fn items(&self, pointer: &str) -> impl Iterator<Item = &Value> {
        self.get(pointer).and_then(Value::as_array).into_iter().flatten()
    }

    /// Returns true if the boolean at a JSON pointer is present and true.
    pub fn is_true(&self, pointer: &str) -> bool {
        self.get(pointer).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Deserializes the object into a type of yours, which names the fields that you read.
    ///
    /// # Errors
    /// If a field is missing or of another type. The message names the object and the field.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T> {
        self.deserialize_at("")
    }

    /// Deserializes the value at a JSON pointer into a type of yours.
    ///
    /// # Errors
    /// Like [`Object::deserialize`].
    pub fn deserialize_at<T: DeserializeOwned>(&self, pointer: &str) -> Result<T> {
        let value = self.value.pointer(pointer).unwrap_or(&Value::Null);
        deserialize_value(value).map_err(|(field, error)| {
            let pointer = pointer.trim_start_matches('/').replace('/', ".");
            let place: Vec<&str> = [&*pointer, &*field].into_iter().filter(|part| !part.is_empty()).collect();
            Error::invalid(format!("{}: {}: {error}", self.key(), place.join(".")))
        })
    }

    /// Returns the object's group and kind.
    pub fn kind(&self) -> Kind {
        Kind::from_api_version(
            self.text("/apiVersion").unwrap_or_default(),
            self.text("/kind").unwrap_or_default(),
        )
    }

    /// Returns the object's key.
    pub fn key(&self) -> Key {
        Key {
            kind: self.kind(),
            namespace: self.namespace().map(str::to_owned),
            name: self.name().to_owned(),
        }
    }

    /// Returns the object's name.
    pub fn name(&self) -> &str {
        self.text("/metadata/name").unwrap_or_default()
    }

    /// Returns the object's namespace; none for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        self.text("/metadata/namespace")
    }

    /// Returns the object's UID, which differs between the sides.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid").unwrap_or_default()
    }

    /// A label's value.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.get("/metadata/labels")?.get(name)?.as_str()
    }

    /// An annotation's value.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.get("/metadata/annotations")?.get(name)?.as_str()
    }

    /// Returns all labels of the object.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.string_entries("/metadata/labels")
    }

    /// Returns all annotations of the object.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.string_entries("/metadata/annotations")
    }

    fn string_entries(&self, pointer: &str) -> impl Iterator<Item = (&str, &str)> {
        let map = self.get(pointer).and_then(Value::as_object);
        map.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    /// Returns true if the object is being deleted.
    pub fn is_being_deleted(&self) -> bool {
        self.get("/metadata/deletionTimestamp").is_some()
    }

    /// Returns the object's owners, in the namespace of the object itself if it has one.
    ///
    /// An owner reference does not say whether the owner has a namespace; a cluster-scoped owner gets the dependent's namespace
    /// here, too.
    pub fn owners(&self) -> impl Iterator<Item = Key> {
        self.items("/metadata/ownerReferences").filter_map(|owner| self.parse_reference(owner))
    }

    /// Returns the key of the object that a reference names: `{apiVersion, kind, name}`, with `namespace` or `apiGroup` if
    /// present. A reference without a namespace means the object's own.
    pub fn parse_reference(&self, reference: &Value) -> Option<Key> {
        let text = |field: &str| reference.get(field).and_then(Value::as_str);
        let kind = match text("apiGroup") {
            Some(group) => Kind::from_parts(group, text("kind")?),
            None => Kind::from_api_version(text("apiVersion").unwrap_or_default(), text("kind")?),
        };
        let namespace = text("namespace").or(self.namespace()).map(str::to_owned);
        Some(Key { kind, namespace, name: text("name")?.to_owned() })
    }

    /// Returns the key of the object that the reference at a JSON pointer (`/spec/consumerRef`) names.
    pub fn reference_at(&self, pointer: &str) -> Option<Key> {
        self.parse_reference(self.get(pointer)?)
    }

    /// Returns the key of the object of a kind, in the same namespace, whose name is at a JSON pointer
    /// (`/spec/bmc/credentialsName`). None if the name is empty.
    pub fn local_reference_at(&self, kind: &Kind, pointer: &str) -> Option<Key> {
        let name = self.text(pointer).filter(|name| !name.is_empty())?;
        Some(Key {
            kind: kind.clone(),
            namespace: self.namespace().map(str::to_owned),
            name: name.to_owned(),
        })
    }
}

/// Deserializes a value. The error has the field and the reason.
pub(crate) fn deserialize_value<T: DeserializeOwned>(value: &Value) -> Result<T, (String, String)> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        (if path == "." { String::new() } else { path }, error.inner().to_string())
    })
}

impl From<&Object> for Key {
    fn from(object: &Object) -> Self {
        object.key()
    }
}

impl fmt::Debug for Object {
    /// Prints only the object's key, because an object may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({})", self.key())
    }
}
