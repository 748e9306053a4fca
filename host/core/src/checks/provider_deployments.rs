//! Checks whether the Deployments of the target's providers watch the objects that they take over.
//!
//! Flags limit a provider's controllers: `--namespace` to one namespace, `--watch-filter` to objects with a label. An object needs
//! one Deployment of its provider that watches it. A provider without an available Deployment is unknown, and not judged.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::discovery::implicit_links::is_cluster;
use crate::discovery::inventory::Inventory;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::risk::{AcceptedRisks, Risk};
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
    /// The namespace of the Deployment.
    pub(crate) home: Option<String>,
    /// The one namespace it watches; none if it watches all.
    namespace: Option<String>,
    /// The value of the label that objects need; none if they need no label.
    filter: Option<String>,
    /// True if a Pod of it is available, by a status of its latest generation.
    pub(crate) is_available: bool,
    /// True if the container of the controllers was found, and no variable hides a limit.
    has_known_flags: bool,
}

impl ProviderDeployment {
    /// Reads a Deployment.
    pub fn from_object(object: &Object) -> Result<Self, ObjectError> {
        #[derive(Deserialize)]
        struct View {
            spec: Spec,
            #[serde(default)]
            status: Status,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Status {
            available_replicas: u32,
            observed_generation: i64,
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
        let View { spec: Spec { template: Template { spec: Pod { containers } } }, status } =
            object.view()?;
        let manager = containers.into_iter().find(|container| container.name == CONTAINER);
        let is_found = manager.is_some();
        let words =
            manager.map(|Container { command, args, .. }| [command, args].concat()).unwrap_or_default();
        let (namespace, filter) = (find_flag(&words, "namespace"), find_flag(&words, "watch-filter"));
        let has_variable = [&namespace, &filter].into_iter().flatten().any(|value| value.contains("$("));
        let drop_variable = |value: Option<String>| value.filter(|value| !value.contains("$("));
        Ok(Self {
            provider: object.meta.labels.get(LABEL_PROVIDER).cloned().unwrap_or_default(),
            home: object.meta.namespace.clone(),
            namespace: drop_variable(namespace),
            filter: drop_variable(filter),
            is_available: status.available_replicas > 0
                && object.meta.generation.is_none_or(|latest| status.observed_generation >= latest),
            has_known_flags: is_found && !has_variable,
        })
    }

    /// Returns true if the providers of kinds must be known to judge the Deployment: it may leave out objects, or doesn't run.
    pub fn needs_kinds(&self) -> bool {
        self.is_limited() || !self.is_available
    }

    fn is_limited(&self) -> bool {
        self.namespace.is_some() || self.filter.is_some()
    }

    /// Returns true if controllers of a provider run, and if it is known which objects they watch.
    pub(crate) fn shows_limits_of(&self, provider: &str) -> bool {
        self.runs(provider) && self.has_known_flags
    }

    /// Returns true if controllers of a provider run.
    pub fn runs(&self, provider: &str) -> bool {
        self.provider == provider && self.is_available
    }

    fn watches(&self, namespace: Option<&str>) -> bool {
        namespace.is_none() || self.namespace.is_none() || self.namespace.as_deref() == namespace
    }
}

/// Returns the last value of a flag; none if it is empty.
fn find_flag(words: &[String], name: &str) -> Option<String> {
    let value = words.iter().enumerate().rev().find_map(|(at, word)| {
        match word.strip_prefix("--")?.strip_prefix(name)? {
            "" => words.get(at + 1).map(String::as_str),
            rest => rest.strip_prefix('='),
        }
    });
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

/// The providers that the target runs.
#[derive(Debug, Default)]
pub struct RunningProviders {
    /// Deployments of the providers.
    pub deployments: Vec<ProviderDeployment>,
    /// The provider of each kind, by the labels of the definitions.
    pub kinds: BTreeMap<GroupKind, String>,
}

impl RunningProviders {
    /// Returns the provider of a kind, if it is known.
    pub(crate) fn provider_of(&self, kind: &GroupKind) -> Option<&str> {
        self.kinds.get(kind).map(String::as_str).or_else(|| is_cluster(kind).then_some(CORE))
    }
}

/// Refuses objects that no Deployment of their provider watches. No controller of the source watches an object without a status,
/// so the check leaves it out. It also leaves out kinds that the user accepted as unseen. `adapted` are the kinds whose labels
/// plugins may change.
pub fn check_deployments(
    running: &RunningProviders,
    plan: &Plan,
    inventory: &Inventory,
    scope: &Scope,
    accept: &AcceptedRisks,
    adapted: &BTreeSet<GroupKind>,
) -> Vec<Refusal> {
    let mut unwatched: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<GroupKind>)> = BTreeMap::new();
    let mut filtered: BTreeMap<(&str, BTreeSet<&str>), Vec<&Key>> = BTreeMap::new();
    for step in plan.steps.iter().filter(|step| step.treatment().can_be_paused()) {
        let Some(object) = inventory.get(step.object) else { continue };
        let kind = &step.key.group_kind;
        if accept.contains_kind(Risk::Unseen, kind) {
            continue;
        }
        let Some(provider) = running.provider_of(kind) else { continue };
        let deployments = || running.deployments.iter().filter(|deployment| deployment.runs(provider));
        if !deployments().any(ProviderDeployment::is_limited) || !matches!(object.has_status(), Ok(true)) {
            continue;
        }
        let namespace = step.key.namespace.as_deref().map(|name| scope.namespace_map.in_target(name));
        let watching: Vec<_> = deployments().filter(|deployment| deployment.watches(namespace)).collect();
        let filters: Option<BTreeSet<&str>> =
            watching.iter().map(|deployment| deployment.filter.as_deref()).collect();
        match (namespace, filters) {
            (Some(namespace), Some(filters)) if filters.is_empty() => {
                let (namespaces, kinds) = unwatched.entry(provider).or_default();
                namespaces.insert(namespace);
                kinds.insert(kind.clone());
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
    let unwatched = unwatched.into_iter().map(|(provider, (namespaces, kinds))| {
        let namespaces = some_of(&namespaces.into_iter().collect::<Vec<_>>(), MAX_NAMED);
        let message = format!("no Deployment of {provider} in the target watches namespace {namespaces}");
        Refusal::target("provider-not-watching", message, Remedy::WatchAllNamespaces)
            .with_remedy(Remedy::AcceptUnseen { kinds })
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
        let kinds = keys.iter().map(|key| key.group_kind.clone()).collect();
        let refusal = refusal.with_others(others.iter().copied().cloned());
        Some(refusal.with_remedy(Remedy::from(unfilter)).with_remedy(Remedy::AcceptUnseen { kinds }))
    });
    unwatched.chain(filtered).collect()
}

#[cfg(test)]
mod tests;
