//! Runtime extensions that Cluster API calls for moved Clusters, and whose ExtensionConfigs stay.
//!
//! An ExtensionConfig says where a server of hooks is, so it belongs to its management cluster. Classes name its handlers as
//! `HANDLER.CONFIG`, and Cluster API doesn't reconcile their Clusters without them. No object names the handlers of other hooks.
//!
//! cluster-api, internal/runtime/client/client.go: `CallExtension`, `matchNamespace`, `ExtensionNameFromHandlerName`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::discovery::implicit_links::{class_of, is_cluster};
use crate::discovery::inventory::Inventory;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::shell::Kubectl;
use crate::objects::label_selector::Selector;
use crate::plan::Plan;
use crate::request::mapping::references::{NAME_LABEL, visit_path};
use crate::request::validate::find_name_error;
use crate::{GroupKind, Key, Object, Side};

const GROUP: &str = "runtime.cluster.x-k8s.io";
const KIND: &str = "ExtensionConfig";

/// Most objects or handlers that a message names.
const MAX_LISTED_NAMES: usize = 2;

/// Most ExtensionConfigs and hooks that a warning names.
const MAX_LISTED_HOOKS: usize = 5;

/// The field whose handler is called for the class. All others are called for its Clusters.
const CALLED_FOR_CLASS: &str = "discoverVariablesExtension";

/// Fields of a class that name a handler, in v1beta1 and v1beta2.
const FIELDS: [(&str, &str); 6] = [
    ("spec.patches[].external", "generatePatchesExtension"),
    ("spec.patches[].external", "generateExtension"),
    ("spec.patches[].external", "validateTopologyExtension"),
    ("spec.patches[].external", "validateExtension"),
    ("spec.patches[].external", CALLED_FOR_CLASS),
    ("spec.upgrade.external", "generateUpgradePlanExtension"),
];

/// Hooks whose handlers classes name.
const NAMED_HOOKS: [&str; 4] =
    ["GeneratePatches", "ValidateTopology", "DiscoverVariables", "GenerateUpgradePlan"];

/// Labels of namespaces, by the source's names.
pub type NamespaceLabels = BTreeMap<String, BTreeMap<String, String>>;

/// A handler that a class of moved Clusters names.
#[derive(Debug)]
pub struct Handler {
    name: String,
    class: Key,
    path: String,
    called_for: BTreeSet<Key>,
}

/// Runtime extensions that the source may call for moved Clusters. Leaves out ExtensionConfigs that the plan creates.
#[derive(Debug)]
pub struct Extensions<'a> {
    /// Handlers that the Clusters' classes name, by their ExtensionConfig.
    pub named: BTreeMap<Key, Vec<Handler>>,
    /// The source's other ExtensionConfigs, if they have hooks that no class names.
    pub unnamed: Vec<&'a Object>,
    /// Namespaces of moved Clusters with a class. Cluster API calls hooks for no others.
    pub namespaces: BTreeSet<String>,
}

/// Finds the extensions of moved Clusters in the source.
pub fn find_extensions<'a>(inventory: &'a Inventory, plan: &Plan) -> Extensions<'a> {
    let used = find_used_classes(inventory, plan);
    let mut named: BTreeMap<Key, Vec<Handler>> = BTreeMap::new();
    for (class, clusters) in &used {
        // Other checks refuse a class that doesn't exist or can't be read.
        let Some(mut body) = inventory.get_by_key(class).and_then(|class| class.value().ok()) else {
            continue;
        };
        for (parent, field) in FIELDS {
            visit_path(&mut body, parent, &mut |external| {
                let name = external.get(field).and_then(Value::as_str).unwrap_or_default();
                let Some(config) = find_config(name) else { return };
                let called_for = match field {
                    CALLED_FOR_CLASS => BTreeSet::from([class.clone()]),
                    _ => clusters.clone(),
                };
                named.entry(config).or_default().push(Handler {
                    name: name.to_owned(),
                    class: class.clone(),
                    path: format!("{parent}.{field}"),
                    called_for,
                });
            });
        }
    }
    let is_created = |config: &Key| plan.steps.iter().any(|step| step.key == *config);
    named.retain(|config, _| !is_created(config));
    let is_other = |config: &Key| !named.contains_key(config) && !is_created(config);
    let objects = inventory.objects().iter().enumerate().filter(|(index, object)| {
        object.kind.group_kind.is(GROUP, KIND) && inventory.is_trusted(*index) && is_other(&object.key())
    });
    let unnamed =
        objects.map(|(_, object)| object).filter(|object| !list_unnamed_hooks(object).is_empty()).collect();
    let namespaces = used.into_values().flatten().filter_map(|cluster| cluster.namespace).collect();
    Extensions { named, unnamed, namespaces }
}

/// Describes ExtensionConfigs with other hooks that the target doesn't have.
pub fn describe_unnamed(configs: &[&Object]) -> String {
    let keys: Vec<Key> = configs.iter().map(|config| config.key()).collect();
    let hooks: BTreeSet<String> = configs.iter().flat_map(|config| list_unnamed_hooks(config)).collect();
    format!(
        "the target has no {}, so it doesn't call hooks that the source calls for the moved Clusters: {}",
        some_of(&keys, MAX_LISTED_HOOKS),
        some_of(&hooks.iter().collect::<Vec<_>>(), MAX_LISTED_HOOKS)
    )
}

/// Returns the namespaces whose labels decide whether an ExtensionConfig is called for these handlers.
pub fn namespaces_to_read(config: &Object, handlers: &[Handler]) -> BTreeSet<String> {
    let called_for = handlers.iter().flat_map(|handler| &handler.called_for);
    let namespaces = called_for.filter_map(|key| key.namespace.clone());
    if is_selective(config) { namespaces.collect() } else { BTreeSet::new() }
}

/// Returns true if an ExtensionConfig is called for some namespaces only.
pub fn is_selective(config: &Object) -> bool {
    find_selector(config).is_some()
}

/// Returns true if an ExtensionConfig is called for objects of a namespace with these labels.
pub fn matches_namespace(config: &Object, labels: &BTreeMap<String, String>) -> bool {
    find_selector(config).is_none_or(|selector| selector.matches(labels))
}

/// Returns the labels of a namespace that has this name on its side; none if no label is known.
pub fn build_labels(namespace: Option<&Object>, name: &str) -> BTreeMap<String, String> {
    let mut labels = namespace.map(|namespace| namespace.meta.labels.clone()).unwrap_or_default();
    labels.insert(NAME_LABEL.to_owned(), name.to_owned());
    labels
}

/// Refuses a target that doesn't call these handlers of an ExtensionConfig. `there` is the target's ExtensionConfig, and `labels` has
/// the labels that the [namespaces to read](namespaces_to_read) have in the target.
pub fn refuse_uncalled(
    config: &Key,
    handlers: &[Handler],
    there: Option<&Object>,
    labels: &NamespaceLabels,
) -> Option<Refusal> {
    let look = |side| Kubectl::object(side, "get", config, &["-o", "yaml"]);
    let Some(there) = there else {
        let fault = format!("the target has no {config}");
        let remedy = Remedy::kubectl(
            "install the runtime extension in the target, and create its ExtensionConfig there (",
            look(Side::Source),
            " shows the source's: clientConfig and its caBundle differ from server to server)",
        );
        return build_refusal(config, handlers.iter().collect(), &fault, remedy);
    };
    let known = list_handlers(there);
    let (known, unknown): (Vec<&Handler>, Vec<&Handler>) =
        handlers.iter().partition(|handler| known.iter().any(|(name, _)| *name == handler.name));
    if !unknown.is_empty() {
        let fault = format!("{config} in the target has no such handler in its status");
        let words = "find out why the runtime extension doesn't serve it: ";
        return build_refusal(config, unknown, &fault, Remedy::kubectl(words, look(Side::Target), ""));
    }
    let is_unselected = |key: &&Key| {
        let labels = key.namespace.as_ref().and_then(|namespace| labels.get(namespace));
        labels.is_some_and(|labels| !matches_namespace(there, labels))
    };
    let unselected = known.iter().find_map(|handler| handler.called_for.iter().find(is_unselected))?;
    let fault = format!("{config} in the target doesn't select the namespace of {unselected}");
    let edit = Kubectl::object(Side::Target, "edit", config, &[]);
    let remedy = Remedy::kubectl("let its namespaceSelector select the namespace: ", edit, "");
    build_refusal(config, known, &fault, remedy)
}

fn build_refusal(config: &Key, handlers: Vec<&Handler>, fault: &str, remedy: Remedy) -> Option<Refusal> {
    let path = &handlers.first()?.path;
    let classes: BTreeSet<&Key> = handlers.iter().map(|handler| &handler.class).collect();
    let names: BTreeSet<&str> = handlers.iter().map(|handler| handler.name.as_str()).collect();
    let message = format!(
        "{} needs {} ({path}), but {fault}",
        some_of(&classes.into_iter().collect::<Vec<_>>(), MAX_LISTED_NAMES),
        some_of(&names.into_iter().collect::<Vec<_>>(), MAX_LISTED_NAMES)
    );
    let refusal = Refusal::target("extension-missing", message, remedy);
    let accept = Remedy::AcceptDangling { kind: config.group_kind.clone() };
    Some(Refusal { object: Some(config.clone()), ..refusal.with_remedy(accept) })
}

/// The classes that moved Clusters use, with these Clusters.
fn find_used_classes(inventory: &Inventory, plan: &Plan) -> BTreeMap<Key, BTreeSet<Key>> {
    let mut used: BTreeMap<Key, BTreeSet<Key>> = BTreeMap::new();
    let steps = plan.steps.iter().filter(|step| step.treatment().can_be_paused());
    for step in steps.filter(|step| is_cluster(&step.key.group_kind)) {
        let class = inventory.get(step.object).and_then(|cluster| class_of(cluster).ok().flatten());
        if let Some(class) = class {
            used.entry(class).or_default().insert(step.key.clone());
        }
    }
    used
}

/// Returns the ExtensionConfig in `HANDLER.CONFIG`. Cluster API accepts exactly one dot.
fn find_config(name: &str) -> Option<Key> {
    let (_, config) = name.split_once('.')?;
    let is_usable = !config.contains('.') && find_name_error(config).is_none();
    is_usable.then(|| Key::new(GroupKind::new(GROUP, KIND), None, config))
}

/// The selector of an ExtensionConfig that isn't called for all namespaces.
fn find_selector(config: &Object) -> Option<Selector> {
    let body = config.value().ok()?;
    let selector = body.pointer("/spec/namespaceSelector").filter(|selector| **selector != json!({}))?;
    Selector::deserialize(selector).ok()
}

/// The handlers in the status of an ExtensionConfig, each with its hook. Their names are `HANDLER.CONFIG`, too.
fn list_handlers(config: &Object) -> Vec<(String, String)> {
    let body = config.value().unwrap_or_default();
    let handlers = body.pointer("/status/handlers").and_then(Value::as_array).into_iter().flatten();
    let text =
        |value: &Value, path| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    handlers.map(|handler| (text(handler, "/name"), text(handler, "/requestHook/hook"))).collect()
}

/// The hooks of an ExtensionConfig whose handlers no object names.
fn list_unnamed_hooks(config: &Object) -> BTreeSet<String> {
    let hooks = list_handlers(config).into_iter().map(|(_, hook)| hook);
    hooks.filter(|hook| !NAMED_HOOKS.contains(&hook.as_str())).collect()
}

#[cfg(test)]
mod tests;
