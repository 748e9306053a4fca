//! References in bodies to objects that move alone: an identity, a pool, credentials.
//!
//! A move of a whole namespace copies all of it and needs no references. If Clusters are named, the objects that they refer to
//! must be found, and providers have their own fields for such references. A reference is therefore recognised by its shape:
//! `kind` next to `name`. Secrets and ConfigMaps are mostly referred to by name alone, so any text that equals a name counts.
//!
//! A coincidence does little harm: the object is copied, and kept as long as other Clusters stay.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::discovery::inventory::Inventory;
use crate::{Key, Object};

/// References between objects, by index.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    named: BTreeMap<usize, BTreeSet<usize>>,
    naming: BTreeMap<usize, BTreeSet<usize>>,
}

impl Mentions {
    /// Finds the references of all objects to the wanted ones, except for references in a status.
    pub(crate) fn from_inventory(inventory: &Inventory, wanted: impl Iterator<Item = usize>) -> Self {
        Self::find(inventory, wanted, false)
    }

    /// Finds references in a status, too.
    pub(crate) fn with_status(inventory: &Inventory, wanted: impl Iterator<Item = usize>) -> Self {
        Self::find(inventory, wanted, true)
    }

    fn find(inventory: &Inventory, wanted: impl Iterator<Item = usize>, with_status: bool) -> Self {
        let mut mentions = Self::default();
        let mut by_name = ByName::new();
        for object in wanted {
            if let Some(key) = inventory.keys().get(object) {
                by_name.entry((key.namespace.as_deref(), &key.name)).or_default().push((object, key));
            }
        }
        if by_name.is_empty() {
            return mentions;
        }
        for (index, object) in inventory.objects().iter().enumerate() {
            // Untrusted objects have no effect, and the data of Secrets is private.
            if !inventory.is_trusted(index) || object.kind.group_kind.is_secret() {
                continue;
            }
            for named in find_named(object, &by_name, with_status) {
                if named != index {
                    mentions.named.entry(index).or_default().insert(named);
                    mentions.naming.entry(named).or_default().insert(index);
                }
            }
        }
        mentions
    }

    /// Returns the objects that an object names.
    pub(crate) fn objects_named_by(&self, object: usize) -> impl Iterator<Item = usize> {
        self.named.get(&object).into_iter().flatten().copied()
    }

    /// Returns the objects that name an object.
    pub(crate) fn objects_naming(&self, object: usize) -> impl Iterator<Item = usize> {
        self.naming.get(&object).into_iter().flatten().copied()
    }
}

/// Objects by namespace and name, because many namespaces have the same names.
type ByName<'a> = BTreeMap<(Option<&'a str>, &'a str), Vec<(usize, &'a Key)>>;

fn find_named(object: &Object, by_name: &ByName<'_>, with_status: bool) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    // Other modules refuse or leave an object that can't be read.
    let Ok(body) = object.value() else { return found };
    let namespace = object.meta.namespace.as_deref().filter(|_| object.kind.namespaced);
    let mut add_fitting = |text: &str, around: &Map<String, Value>| {
        let written = || around.get("namespace").and_then(Value::as_str);
        let there = namespace.or_else(written).map(Some);
        let places = std::iter::once(None).chain(there);
        let fits = places.filter_map(|place| by_name.get(&(place, text))).flatten();
        found.extend(fits.filter(|(_, key)| is_meant(key, around, namespace)).map(|(index, _)| *index));
    };
    visit_texts(&body, &mut add_fitting);
    if with_status {
        // A status has lists of names that refer to nothing, such as the targets of a MachineHealthCheck.
        visit_fields(
            &body,
            |name| name == "status",
            |text, around| {
                if around.contains_key("kind") {
                    add_fitting(text, around);
                }
            },
        );
    }
    found
}

/// Visits each text of a body, except for metadata and status, with the fields next to it.
pub(crate) fn visit_texts(body: &Value, visit: impl FnMut(&str, &Map<String, Value>)) {
    visit_fields(body, |name| !["metadata", "status"].contains(&name), visit);
}

/// Visits each text in some fields of a body, with the fields next to it.
fn visit_fields(
    body: &Value,
    counts: impl Fn(&str) -> bool,
    mut visit: impl FnMut(&str, &Map<String, Value>),
) {
    let Some(fields) = body.as_object() else { return };
    let mut queue: Vec<(&Value, &Map<String, Value>)> =
        fields.iter().filter(|(name, _)| counts(name)).map(|(_, value)| (value, fields)).collect();
    while let Some((value, around)) = queue.pop() {
        match value {
            Value::Object(map) => queue.extend(map.values().map(|value| (value, map))),
            Value::Array(list) => queue.extend(list.iter().map(|value| (value, around))),
            Value::String(text) => visit(text, around),
            _ => {}
        }
    }
}

/// Returns true if an object in a namespace refers to the key with its name and the fields next to it.
fn is_meant(key: &Key, around: &Map<String, Value>, namespace: Option<&str>) -> bool {
    let text = |field| around.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let group = text("apiVersion").map(|version| version.split_once('/').map_or("", |(group, _)| group));
    let group = text("apiGroup").or(group);
    let core = key.group_kind.group.is_empty();
    let kind = match text("kind") {
        Some(kind) => kind == key.group_kind.kind && text("name") == Some(&key.name),
        None => core,
    };
    // The author of an object decides what it names: never something in another namespace.
    let there = match (key.namespace.as_deref(), namespace, text("namespace")) {
        (None, ..) => true,
        (Some(there), Some(here), written) => there == here && written.is_none_or(|written| written == here),
        (Some(there), None, written) => written == Some(there),
    };
    kind && there && group.is_none_or(|group| group == key.group_kind.group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{kind, objects};

    /// Returns the objects that an object in namespace `ns` with this spec and this status names.
    fn list_mentions(spec: Value, status: Value, with_status: bool) -> String {
        let body = json!({"metadata": {"name": "it", "namespace": "ns", "uid": "it", "labels": {"l": "creds"}},
            "spec": spec, "status": status});
        let mut all = objects("Secret ns/creds\nSecret other/creds\nIdentity id\nPool ns/p\nExternal ns/p");
        all.push(Object::from_value(kind("InfraCluster"), &body).unwrap());
        let inventory = Inventory::new(all);
        let count = inventory.objects().len();
        let mentions = Mentions::find(&inventory, 0..count, with_status);
        let it = (0..count).find(|index| inventory.keys()[*index].name == "it").unwrap();
        let found: Vec<_> =
            mentions.objects_named_by(it).map(|index| inventory.keys()[index].to_string()).collect();
        assert!(mentions.objects_named_by(it).all(|index| mentions.objects_naming(index).eq([it])));
        found.join(", ")
    }

    #[test]
    fn reference_is_recognised_by_its_shape() {
        for (spec, expected) in [
            (json!({}), ""),
            (json!({"identityRef": {"kind": "Identity", "name": "id"}}), "Identity id"),
            (
                json!({"a": [{"b": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "Pool", "name": "p"}}]}),
                "Pool ns/p",
            ),
            (
                json!({"ref": {"apiVersion": "ipam.cluster.x-k8s.io/v1", "kind": "Pool", "name": "p"}}),
                "Pool ns/p",
            ),
            (json!({"ref": {"apiGroup": "example.com", "kind": "Pool", "name": "p"}}), ""),
            (json!({"ref": {"kind": "Pool", "name": "p", "namespace": "other"}}), ""),
            (json!({"ref": {"kind": "Pool", "name": "q", "other": "p"}}), ""),
            (json!({"ref": {"name": "p"}}), ""),
            (json!({"credentialsName": "creds"}), "Secret ns/creds"),
            (json!({"files": ["creds"]}), "Secret ns/creds"),
            (json!({"ref": {"name": "creds", "namespace": "ns"}}), "Secret ns/creds"),
            (json!({"ref": {"name": "creds", "namespace": "other"}}), ""),
            (json!({"ref": {"kind": "ConfigMap", "name": "creds"}}), ""),
            (json!({"text": "with creds in it"}), ""),
        ] {
            let status = json!({"seen": "creds"});
            assert_eq!(list_mentions(spec.clone(), status, false), expected, "{spec}");
        }
    }

    #[test]
    fn references_in_a_status_need_a_kind() {
        for (status, expected) in [
            (json!({"poolRef": {"kind": "Pool", "name": "p", "namespace": "ns"}}), "Pool ns/p"),
            (json!({"poolRef": {"kind": "Pool", "name": "p", "namespace": "other"}}), ""),
            (json!({"secretRef": {"kind": "Secret", "name": "creds"}}), "Secret ns/creds"),
            (json!({"secretName": "creds", "targets": ["p", "creds"]}), ""),
        ] {
            assert_eq!(list_mentions(json!({}), status.clone(), true), expected, "{status}");
            assert_eq!(list_mentions(json!({}), status.clone(), false), "", "{status}");
        }
    }
}
