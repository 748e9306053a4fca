//! The kinds that a server has, and names for objects that are valid on both sides.
//!
//! UIDs differ between source and target, so what identifies an object here is kind, namespace and name.

use std::fmt;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::discovery::Scope;
use kube::{Client, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A kind that can be listed and watched.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Its names in the API.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Kind {
    /// `Kind.group`, or just `Kind` for the core group: as written on the command line.
    #[must_use]
    pub fn name(&self) -> String {
        group_kind(&self.resource.group, &self.resource.kind)
    }

    /// All objects of the kind, in every namespace.
    #[must_use]
    pub fn api(&self, client: Client) -> Api<DynamicObject> {
        Api::dynamic(client, &self.resource, &self.scope())
    }

    /// The kind's objects of one namespace.
    pub(crate) fn api_in(&self, client: Client, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(client, namespace, &self.resource)
    }

    /// The key of one of its objects.
    #[must_use]
    pub fn key(&self, object: &Value) -> ObjectKey {
        ObjectKey {
            kind: self.name(),
            namespace: text(object, "/metadata/namespace").to_owned(),
            name: text(object, "/metadata/name").to_owned(),
        }
    }

    /// An object as a value with kind and version; items of lists and watches of built-in kinds lack them.
    pub(crate) fn value(&self, object: &DynamicObject) -> Result<Value> {
        let mut value = serde_json::to_value(object)?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("apiVersion".to_owned(), self.resource.api_version.clone().into());
            fields.insert("kind".to_owned(), self.resource.kind.clone().into());
        }
        Ok(value)
    }

    fn scope(&self) -> Scope {
        if self.namespaced { Scope::Namespaced } else { Scope::Cluster }
    }
}

/// An object's name that is valid on both sides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectKey {
    /// `Kind.group`, or `Kind` for the core group.
    pub kind: String,
    /// Empty for objects outside namespaces.
    pub namespace: String,
    /// The object's name.
    pub name: String,
}

impl ObjectKey {
    /// A key from its parts.
    #[must_use]
    pub fn new(kind: &str, namespace: &str, name: &str) -> Self {
        Self { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        if namespace.is_empty() {
            write!(formatter, "{kind} {name}")
        } else {
            write!(formatter, "{kind} {namespace}/{name}")
        }
    }
}

/// The kinds that a move can touch: those of CRDs, Secret and ConfigMap.
pub async fn kinds(client: &Client) -> Result<Vec<Kind>> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut kinds = vec![
        Kind { resource: ApiResource::erase::<ConfigMap>(&()), namespaced: true },
        Kind { resource: ApiResource::erase::<Secret>(&()), namespaced: true },
    ];
    for crd in crds.list(&ListParams::default()).await.context("list CRDs")? {
        kinds.extend(crd_kind(&crd));
    }
    Ok(kinds)
}

/// A CRD's kind at its stored version, or at any served one; none if nothing is served.
fn crd_kind(crd: &CustomResourceDefinition) -> Option<Kind> {
    let served = || crd.spec.versions.iter().filter(|version| version.served);
    let version = served().find(|version| version.storage).or_else(|| served().next())?;
    let resource = ApiResource {
        group: crd.spec.group.clone(),
        version: version.name.clone(),
        api_version: format!("{}/{}", crd.spec.group, version.name),
        kind: crd.spec.names.kind.clone(),
        plural: crd.spec.names.plural.clone(),
    };
    debug_assert_eq!(crd.name_any(), format!("{}.{}", resource.plural, resource.group));
    Some(Kind { resource, namespaced: crd.spec.scope == "Namespaced" })
}

pub(crate) fn group_kind(group: &str, kind: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

/// The string at a JSON pointer, empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
