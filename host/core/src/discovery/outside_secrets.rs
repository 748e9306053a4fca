//! Secrets and ConfigMaps that an object names outside of its namespace: credentials, mostly.
//!
//! Secrets and ConfigMaps of the object's own namespace move or stay with it. No move copies others, and only the name shows that
//! the object needs them. A cluster-scoped object may name a Secret in its provider's namespace without naming that namespace.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::discovery::body_references::visit_texts;
use crate::request::mapping;
use crate::{Key, Kind, Object};

/// Returns true if objects of a kind may name such a Secret or ConfigMap: it is in no namespace, or has a field for the namespace of
/// credentials.
pub fn may_name(kind: &Kind) -> bool {
    !kind.namespaced || mapping::names_credentials(&kind.group_kind)
}

/// Returns the Secrets and ConfigMaps, among the given ones, that an object names.
pub fn named_by<'a>(object: &Object, wanted: &'a BTreeSet<Key>) -> BTreeSet<&'a Key> {
    let mut found = BTreeSet::new();
    let Ok(body) = object.value() else { return found };
    let namespace = object.meta.namespace.as_deref().filter(|_| object.kind.namespaced);
    visit_texts(&body, |text, around| {
        found.extend(wanted.iter().filter(|key| key.name == text && is_meant(key, around, namespace)));
    });
    found
}

/// Returns true if a key is meant where its name is written, beside these fields, by an object of a namespace.
fn is_meant(key: &Key, around: &Map<String, Value>, namespace: Option<&str>) -> bool {
    let text = |field| around.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let there = match (namespace, text("namespace")) {
        (_, Some(written)) => key.namespace.as_deref() == Some(written) && namespace != Some(written),
        (Some(_), None) => false,
        (None, None) => true,
    };
    there && text("kind").is_none_or(|kind| kind == key.group_kind.kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::GroupKind;
    use crate::testing::kind;

    fn named(namespace: Option<&str>, spec: Value) -> Vec<String> {
        let mut body = json!({"metadata": {"name": "it", "uid": "it"}, "spec": spec});
        if let Some(namespace) = namespace {
            body["metadata"]["namespace"] = json!(namespace);
        }
        let secret = |namespace, name| Key::new(GroupKind::new("", "Secret"), Some(namespace), name);
        let wanted = BTreeSet::from([secret("capv-system", "vcenter"), secret("ns", "own")]);
        let of = if namespace.is_some() { "InfraCluster" } else { "Identity" };
        let object = Object::from_value(kind(of), &body).unwrap();
        named_by(&object, &wanted).into_iter().map(ToString::to_string).collect()
    }

    #[test]
    fn credentials_are_found_without_their_namespace() {
        let vcenter = ["Secret capv-system/vcenter"];
        assert_eq!(named(None, json!({"secretName": "vcenter"})), vcenter);
        let with_namespace = json!({"credentialsRef": {"name": "vcenter", "namespace": "capv-system"}});
        assert_eq!(named(Some("ns"), with_namespace.clone()), vcenter);
        assert_eq!(named(None, with_namespace), vcenter);
        for (namespace, spec) in [
            (Some("ns"), json!({"secretName": "vcenter"})),
            (Some("ns"), json!({"ref": {"name": "own", "namespace": "ns"}})),
            (None, json!({"ref": {"name": "vcenter", "namespace": "other"}})),
            (None, json!({"ref": {"name": "vcenter", "kind": "Cluster"}})),
        ] {
            assert_eq!(named(namespace, spec.clone()), [""; 0], "{spec}");
        }
    }
}
