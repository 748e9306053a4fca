//! Checks whether the Deployments of the target's providers watch the objects that they take over.
//!
//! Flags limit a provider's controllers: `--namespace` to one namespace, `--watch-filter` to objects with a label. An object needs
//! one Deployment of its provider that watches it. A provider without a Deployment is unknown, and not judged.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::discovery::implicit_links::is_cluster;
use crate::discovery::inventory::Inventory;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::objects::names::{LABEL_PROVIDER, LABEL_WATCH_FILTER};
use crate::plan::Plan;
use crate::request::scope::Scope;
use crate::{GroupKind, Key, Object, ObjectError};

/// The container of a provider's controllers, by the contract of clusterctl.
const CONTAINER: &str = "manager";
/// Cluster API's own provider.
const CORE: &str = "cluster-api";
/// Most objects or namespaces that a message names.
const MAX_NAMED: usize = 3;

/// A Deployment of a provider, and the flags that limit its controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDeployment {
    /// The provider, as its manifests are labelled: `infrastructure-metal3`.
    pub(crate) provider: String,
    /// The one namespace it watches; none if it watches all.
    namespace: Option<String>,
    /// The value of the label that objects need; none if they need no label.
    filter: Option<String>,
}

impl ProviderDeployment {
    /// Reads a Deployment.
    pub fn from_object(object: &Object) -> Result<Self, ObjectError> {
        #[derive(Deserialize)]
        struct View {
            spec: Spec,
        }
        #[derive(Deserialize)]
        struct Spec {
            template: Template,
        }
        #[derive(Deserialize)]
        struct Template {
            spec: Pod,
        }
        #[derive(Deserialize)]
        struct Pod {
            containers: Vec<Container>,
        }
        #[derive(Deserialize)]
        #[serde(default)]
        #[derive(Default)]
        struct Container {
            name: String,
            command: Vec<String>,
            args: Vec<String>,
        }
        let View { spec: Spec { template: Template { spec: Pod { containers } } } } = object.view()?;
        let manager = containers.into_iter().find(|container| container.name == CONTAINER);
        let words =
            manager.map(|Container { command, args, .. }| [command, args].concat()).unwrap_or_default();
        Ok(Self {
            provider: object.meta.labels.get(LABEL_PROVIDER).cloned().unwrap_or_default(),
            namespace: find_flag(&words, "namespace"),
            filter: find_flag(&words, "watch-filter"),
        })
    }

    /// Returns true if the Deployment may leave out objects.
    pub fn is_limited(&self) -> bool {
        self.namespace.is_some() || self.filter.is_some()
    }

    fn watches(&self, namespace: Option<&str>) -> bool {
        namespace.is_none() || self.namespace.is_none() || self.namespace.as_deref() == namespace
    }
}

/// Returns the last value of a flag. A value that contains a variable is unknown, and counts as absent.
fn find_flag(words: &[String], name: &str) -> Option<String> {
    let value = words.iter().enumerate().rev().find_map(|(at, word)| {
        match word.strip_prefix("--")?.strip_prefix(name)? {
            "" => words.get(at + 1).map(String::as_str),
            rest => rest.strip_prefix('='),
        }
    });
    value.filter(|value| !value.is_empty() && !value.contains("$(")).map(str::to_owned)
}

/// The providers that the target runs.
#[derive(Debug, Default)]
pub struct RunningProviders {
    /// Deployments of the providers.
    pub deployments: Vec<ProviderDeployment>,
    /// The provider of each kind, by the labels of the definitions.
    pub kinds: BTreeMap<GroupKind, String>,
}

/// Refuses objects that no Deployment of their provider watches. An object without a status is not judged, because no controller
/// of the source watches it either. `adapted` are the kinds whose labels plugins may change.
pub fn check_deployments(
    running: &RunningProviders,
    plan: &Plan,
    inventory: &Inventory,
    scope: &Scope,
    adapted: &BTreeSet<GroupKind>,
) -> Vec<Refusal> {
    let mut unwatched: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut filtered: BTreeMap<(&str, BTreeSet<&str>), Vec<&Key>> = BTreeMap::new();
    for step in plan.steps.iter().filter(|step| step.treatment().can_be_paused()) {
        let Some(object) = inventory.get(step.object) else { continue };
        let kind = &step.key.group_kind;
        let core = is_cluster(kind).then_some(CORE);
        let Some(provider) = running.kinds.get(kind).map(String::as_str).or(core) else { continue };
        let deployments = || running.deployments.iter().filter(|deployment| deployment.provider == provider);
        if !deployments().any(ProviderDeployment::is_limited) || !matches!(object.has_status(), Ok(true)) {
            continue;
        }
        let namespace = step.key.namespace.as_deref().map(|name| scope.namespace_map.in_target(name));
        let watching: Vec<_> = deployments().filter(|deployment| deployment.watches(namespace)).collect();
        let filters: Option<BTreeSet<&str>> =
            watching.iter().map(|deployment| deployment.filter.as_deref()).collect();
        match (namespace, filters) {
            (Some(namespace), Some(filters)) if filters.is_empty() => {
                unwatched.entry(provider).or_default().insert(namespace);
            }
            (_, Some(filters)) if !adapted.contains(kind) => {
                let label = object.meta.labels.get(LABEL_WATCH_FILTER);
                if !label.is_some_and(|label| filters.contains(label.as_str())) {
                    filtered.entry((provider, filters)).or_default().push(&step.key);
                }
            }
            _ => {}
        }
    }
    let unwatched = unwatched.into_iter().map(|(provider, namespaces)| {
        let namespaces = some_of(&namespaces.into_iter().collect::<Vec<_>>(), MAX_NAMED);
        let message = format!("no Deployment of {provider} in the target watches namespace {namespaces}");
        Refusal::target("provider-not-watching", message, Remedy::WatchAllNamespaces)
    });
    let filtered = filtered.into_iter().filter_map(|((provider, filters), keys)| {
        let values = filters.into_iter().collect::<Vec<_>>().join(" or ");
        let message = format!(
            "{provider} in the target reconciles only objects with the label {LABEL_WATCH_FILTER}={values}, not {}",
            some_of(&keys, MAX_NAMED)
        );
        let (first, others) = keys.split_first()?;
        let relabel = "set that label on them in the source, and on the templates that they are made from";
        let refusal = Refusal::source("provider-filters", Key::clone(first), message, relabel);
        let unfilter = "change the watch filter of its Deployment, or add a Deployment for their label";
        Some(refusal.with_others(others.iter().copied().cloned()).with_remedy(Remedy::from(unfilter)))
    });
    unwatched.chain(filtered).collect()
}

#[cfg(test)]
mod tests;
