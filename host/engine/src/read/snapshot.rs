//! One reading of the source, and the plan that follows from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::checks::providers::Provider;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::plan::{Plan, Step};
use pivot_core::plugins::relations::Relations;
use pivot_core::{GroupKind, Key, Kind, Object, Side, Uid};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::view::PluginView;

/// One reading of the source, and the plan that follows from it.
pub(crate) struct Snapshot {
    pub(crate) inventory: Inventory,
    /// Shared with the event that reports it.
    pub(crate) plan: Arc<Plan>,
    pub(crate) relations: Relations,
    /// The source's providers.
    pub(crate) providers: Vec<Provider>,
}

impl Snapshot {
    /// Returns the view of this reading for the checks of plugins.
    pub(crate) fn plugin_view(&self) -> PluginView {
        // Objects from manifests are left out: an object of the same name in the source is not part of this move.
        let steps = self.plan.steps.iter().filter(|step| step.treatment().is_in_source());
        PluginView::from_keys(steps.map(|step| (&step.key, self.plan.is_elsewhere(step))))
    }

    /// Returns the object of a step.
    pub(crate) fn object(&self, step: &Step) -> Result<&Object, Failure> {
        self.inventory
            .get(step.object)
            .ok_or_else(|| Failure::Bug(format!("{} is not in the inventory", step.key)))
    }

    /// Returns the UIDs of the objects that are copied.
    pub(crate) fn uids(&self) -> BTreeMap<Key, Uid> {
        self.plan.steps.iter().map(|step| (step.key.clone(), step.uid.clone())).collect()
    }

    /// Returns true if an object is copied that is not among the known ones.
    pub(crate) fn has_more_than(&self, known: &BTreeMap<Key, Uid>) -> bool {
        self.plan.steps.iter().any(|step| known.get(&step.key) != Some(&step.uid))
    }

    /// Returns the kinds of the objects that are copied.
    pub(crate) fn kinds(&self) -> BTreeSet<GroupKind> {
        self.plan.steps.iter().map(|step| step.key.group_kind.clone()).collect()
    }

    /// Returns the namespaces in which objects are copied, and the namespaces that are copied themselves.
    pub(crate) fn namespaces(&self) -> BTreeSet<String> {
        self.plan.steps.iter().filter_map(Self::namespace_of_step).cloned().collect()
    }

    /// Returns the namespace of a step's object, or its name if the object is a namespace.
    pub(crate) fn namespace_of_step(step: &Step) -> Option<&String> {
        let own = step.key.group_kind.is("", "Namespace").then_some(&step.key.name);
        step.key.namespace.as_ref().or(own)
    }

    /// Returns the copied kinds, each with its namespaces (`None`: cluster-scoped). Objects from manifests count only in the
    /// target.
    pub(crate) fn namespaces_by_kind(&self, side: Side) -> BTreeMap<GroupKind, BTreeSet<Option<String>>> {
        let mut places: BTreeMap<GroupKind, BTreeSet<Option<String>>> = BTreeMap::new();
        for step in &self.plan.steps {
            if side == Side::Target || step.treatment().is_in_source() {
                places.entry(step.key.group_kind.clone()).or_default().insert(step.key.namespace.clone());
            }
        }
        places
    }

    /// Returns the objects that move.
    pub(crate) fn moved_objects(&self) -> impl Iterator<Item = &Object> {
        self.plan.moved_steps().filter_map(|step| self.inventory.get(step.object))
    }

    /// Returns the keys of the wanted steps, by kind as a side serves it.
    pub(crate) fn keys_by_kind(
        &self,
        job: &Job,
        side: Side,
        wanted: impl Fn(&Step) -> Result<bool, Failure>,
    ) -> Result<BTreeMap<Arc<Kind>, BTreeSet<Key>>, Failure> {
        let mut keys: BTreeMap<Arc<Kind>, BTreeSet<Key>> = BTreeMap::new();
        for step in &self.plan.steps {
            if wanted(step)? {
                keys.entry(job.kind(side, &step.key.group_kind)?.clone())
                    .or_default()
                    .insert(step.key.clone());
            }
        }
        Ok(keys)
    }
}
