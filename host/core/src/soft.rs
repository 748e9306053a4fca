//! Links that no owner reference expresses.

use crate::inventory::Inventory;
use crate::{Key, Object, ObjectError};

/// A Cluster's reference to a class that is not in the inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassReference {
    /// The Cluster.
    pub cluster: Key,
    /// The ClusterClass.
    pub class: Key,
}

/// A template that a ClusterClass names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateReference {
    /// Group and version, as written.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; the class's own if the reference names none.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

/// The classes that Clusters use and that are not in the inventory.
pub fn class_references(inventory: &Inventory) -> Vec<ClassReference> {
    let _ = inventory;
    Vec::new()
}

/// All templates that a ClusterClass names.
pub fn template_references(class: &Object) -> Result<Vec<TemplateReference>, ObjectError> {
    let _ = class;
    Ok(Vec::new())
}
