//! Each field, each fault of a target, and what must not be refused.

use super::*;
use crate::testing::{Case, key, kind};

fn object(name: &str, mut body: Value) -> Object {
    let key = key(name);
    body["metadata"]["name"] = json!(key.name);
    body["metadata"]["namespace"] = json!(key.namespace);
    body["metadata"]["uid"] = json!(name);
    Object::from_value(kind(&key.group_kind.kind), &body).unwrap()
}

fn config(name: &str, spec: Value, handlers: &[(&str, &str)]) -> Object {
    let handlers: Vec<Value> = handlers
        .iter()
        .map(|(handler, hook)| json!({"name": format!("{handler}.{name}"), "requestHook": {"hook": hook}}))
        .collect();
    object(&format!("ExtensionConfig {name}"), json!({"spec": spec, "status": {"handlers": handlers}}))
}

/// Cluster `ns/c` with class `shared/quick`, and class `ns/other`, which no Cluster uses.
fn world(spec: Value, more: Vec<Object>) -> (Inventory, Plan) {
    let topology = json!({"spec": {"topology": {"classRef": {"name": "quick", "namespace": "shared"}}}});
    let other = json!({"spec": {"patches": [{"external": {"generatePatchesExtension": "a.unused"}}]}});
    let mut objects = vec![
        object("Cluster ns/c", topology),
        object("ClusterClass shared/quick", json!({"spec": spec})),
        object("ClusterClass ns/other", other),
    ];
    objects.extend(more);
    let mut case = Case::new("");
    case.inventory = Inventory::new(objects);
    let plan = case.plan();
    (case.inventory, plan)
}

fn external(field: &str, handler: &str) -> Value {
    json!({"patches": [{"name": "inline"}, {"external": {field: handler}}]})
}

fn upgrade(handler: &str) -> Value {
    json!({"upgrade": {"external": {"generateUpgradePlanExtension": handler}}})
}

fn needed(spec: Value) -> BTreeMap<Key, Vec<Handler>> {
    let (inventory, plan) = world(spec, Vec::new());
    find_extensions(&inventory, &plan).named
}

#[test]
fn each_field_names_a_handler() {
    for (spec, path, called_for) in [
        (external("generatePatchesExtension", "h.x"), "generatePatchesExtension", "Cluster ns/c"),
        (external("validateTopologyExtension", "h.x"), "validateTopologyExtension", "Cluster ns/c"),
        (external("discoverVariablesExtension", "h.x"), CALLED_FOR_CLASS, "ClusterClass shared/quick"),
        (external("generateExtension", "h.x"), "generateExtension", "Cluster ns/c"),
        (external("validateExtension", "h.x"), "validateExtension", "Cluster ns/c"),
        (upgrade("h.x"), "generateUpgradePlanExtension", "Cluster ns/c"),
    ] {
        let needed = needed(spec);
        assert_eq!(needed.keys().map(Key::to_string).collect::<Vec<_>>(), ["ExtensionConfig x"], "{path}");
        let handler = &needed.values().next().unwrap()[0];
        assert!(handler.path.ends_with(path), "{}", handler.path);
        assert_eq!(handler.called_for.iter().map(Key::to_string).collect::<Vec<_>>(), [called_for], "{path}");
    }
}

#[test]
fn unusable_names_of_handlers_are_ignored() {
    for name in ["x", "h.x.y", "h.", "h.a/b", ""] {
        assert!(needed(upgrade(name)).is_empty(), "{name}");
    }
}

#[test]
fn created_configs_are_not_needed() {
    let labels = json!({"metadata": {"labels": {"clusterctl.cluster.x-k8s.io/move": ""}}});
    for (body, needed) in [(json!({}), 1), (labels, 0)] {
        let (inventory, plan) = world(upgrade("h.x"), vec![object("ExtensionConfig x", body)]);
        assert_eq!(find_extensions(&inventory, &plan).named.len(), needed);
    }
}

/// Returns the message about a target with this ExtensionConfig, in which namespace `ns` is labelled `site=a`.
fn message(there: Option<&Object>) -> Option<String> {
    let needed = needed(external("generatePatchesExtension", "generate.x"));
    let (key, handlers) = needed.iter().next().unwrap();
    let read = there.map(|there| namespaces_to_read(there, handlers)).unwrap_or_default();
    assert!(read.is_empty() || read == BTreeSet::from(["ns".to_owned()]), "{read:?}");
    let labels = read.into_iter().map(|name| (name, BTreeMap::from([("site".to_owned(), "a".to_owned())])));
    let refusal = refuse_uncalled(key, handlers, there, &labels.collect())?;
    assert_eq!(
        (refusal.code, refusal.object.as_ref(), refusal.side),
        ("extension-missing", Some(key), Side::Target)
    );
    Some(refusal.message)
}

#[test]
fn targets_without_the_handler_are_refused() {
    let needs =
        "ClusterClass shared/quick needs generate.x (spec.patches[].external.generatePatchesExtension), but ";
    assert_eq!(message(None), Some(format!("{needs}the target has no ExtensionConfig x")));
    let served = [("generate", "GeneratePatches")];
    assert_eq!(message(Some(&config("x", json!({}), &served))), None);
    let other = config("x", json!({}), &[("Generate", "GeneratePatches")]);
    let fault = "ExtensionConfig x in the target has no such handler in its status";
    assert_eq!(message(Some(&other)), Some(format!("{needs}{fault}")));
}

#[test]
fn selectors_decide_about_namespaces() {
    let expression = |operator: &str| json!({"matchExpressions": [{"key": "site", "operator": operator, "values": ["a"]}]});
    for (selector, selects) in [
        (Value::Null, true),
        (json!({}), true),
        (json!({"matchLabels": {"site": "a"}}), true),
        (json!({"matchLabels": {"site": "b"}}), false),
        (expression("In"), true),
        (expression("NotIn"), false),
        (expression("Exists"), true),
        (expression("DoesNotExist"), false),
    ] {
        let there = config("x", json!({"namespaceSelector": selector}), &[("generate", "GeneratePatches")]);
        let fault = "but ExtensionConfig x in the target doesn't select the namespace of Cluster ns/c";
        let message = message(Some(&there));
        assert_eq!(message.is_none(), selects, "{selector}");
        assert!(message.is_none_or(|message| message.ends_with(fault)), "{selector}");
    }
}

#[test]
fn hooks_without_a_name_are_found() {
    let hooks = [("before", "BeforeClusterUpgrade"), ("generate", "GeneratePatches")];
    let configs = vec![
        config("hooks", json!({}), &hooks),
        config("named", json!({}), &hooks),
        config("patches", json!({}), &hooks[1..]),
        config("unserved", json!({}), &[]),
    ];
    let (inventory, mut plan) = world(upgrade("plan.named"), configs);
    let found = find_extensions(&inventory, &plan);
    let text = "the target has no ExtensionConfig hooks, so it doesn't call hooks that the source calls for the moved Clusters: BeforeClusterUpgrade";
    assert_eq!(describe_unnamed(&found.unnamed), text);
    assert_eq!(found.namespaces, BTreeSet::from(["ns".to_owned()]));
    plan.steps.retain(|step| !is_cluster(&step.key.group_kind));
    assert!(find_extensions(&inventory, &plan).namespaces.is_empty());
}
