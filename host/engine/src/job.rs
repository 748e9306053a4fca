//! What every phase of a run needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::inventory::Inventory;
use pivot_core::plan::{Plan, Step};
use pivot_core::refusal::Side;
use pivot_core::relations::Relations;
use pivot_core::release::ReleaseList;
use pivot_core::{GroupKind, Key, Kind, Object};

use crate::answers::Answers;
use crate::discover::Kinds;
use crate::events::{Event, Watcher};
use crate::failure::Failure;
use crate::flow::Limiter;
use crate::halt::Halter;
use crate::hooks::{Hooks, MoveContext};
use crate::options::Options;
use crate::sides::Handle;

/// The fixed surroundings of a run.
pub(crate) struct Job {
    pub(crate) source: Handle,
    pub(crate) target: Handle,
    pub(crate) kinds: Arc<Kinds>,
    /// Who answers plugins' questions.
    pub(crate) services: Arc<Answers>,
    pub(crate) options: Options,
    pub(crate) plugins: Vec<Arc<dyn Hooks>>,
    pub(crate) halter: Halter,
    pub(crate) watcher: Arc<dyn Watcher>,
    pub(crate) move_id: String,
}

/// What was read of the source at one moment, and the plan that follows from it.
pub(crate) struct Base {
    pub(crate) inventory: Inventory,
    pub(crate) plan: Plan,
    pub(crate) relations: Relations,
}

impl Job {
    pub(crate) fn handle(&self, side: Side) -> &Handle {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// A kind as a side serves it.
    pub(crate) fn kind(&self, side: Side, group_kind: &GroupKind) -> Result<&Arc<Kind>, Failure> {
        self.kinds
            .of(side)
            .get(group_kind)
            .ok_or_else(|| Failure::Bug(format!("{group_kind} is not served by the {side}")))
    }

    pub(crate) fn core_kind(&self, side: Side, group: &str, kind: &str) -> Result<&Arc<Kind>, Failure> {
        self.kind(side, &GroupKind::new(group, kind))
    }

    pub(crate) fn limiter(&self, side: Side) -> Limiter {
        Limiter::new(self.handle(side).throttled.clone())
    }

    pub(crate) fn tell(&self, event: Event<'_>) {
        self.watcher.event(event);
    }

    /// Heeds a request to stop, where stopping is safe.
    pub(crate) fn safe_point(&self) -> Result<(), Failure> {
        self.halter.halted().map_or(Ok(()), |halt| Err(Failure::Halted(halt)))
    }
}

/// What plugins' checks are told of the move.
pub(crate) struct Scene {
    pub(crate) namespaces: BTreeSet<String>,
    pub(crate) keys: Vec<Key>,
}

impl Scene {
    pub(crate) fn of_list(list: &ReleaseList) -> Self {
        let keys: Vec<Key> = list.entries.iter().rev().map(|entry| entry.key.clone()).collect();
        Self { namespaces: keys.iter().filter_map(|key| key.namespace.clone()).collect(), keys }
    }

    pub(crate) fn for_plugin(&self, job: &Job, plugin: &dyn Hooks) -> MoveContext {
        let kinds = &plugin.describe().kinds;
        let cares = |gk: &GroupKind| {
            kinds.iter().any(|k| k.group == gk.group && (k.kind == gk.kind || k.kind == "*"))
        };
        MoveContext {
            move_id: job.move_id.clone(),
            namespaces: self.namespaces.iter().cloned().collect(),
            objects: self.keys.iter().filter(|key| cares(&key.group_kind)).cloned().collect(),
        }
    }
}

impl Base {
    /// What plugins' checks are told of it.
    pub(crate) fn scene(&self) -> Scene {
        let keys = self.plan.steps.iter().map(|step| step.key.clone()).collect();
        Scene { namespaces: self.namespaces(), keys }
    }

    /// The object of a step.
    pub(crate) fn object(&self, step: &Step) -> Result<&Object, Failure> {
        self.inventory
            .get(step.object)
            .ok_or_else(|| Failure::Bug(format!("{} is not in the inventory", step.key)))
    }

    /// The namespaces in which objects are copied.
    pub(crate) fn namespaces(&self) -> BTreeSet<String> {
        self.plan.steps.iter().filter_map(|step| step.key.namespace.clone()).collect()
    }

    /// The kinds that are copied, and the namespaces of each (none: cluster-scoped).
    pub(crate) fn places(&self) -> BTreeMap<GroupKind, BTreeSet<Option<String>>> {
        let mut places: BTreeMap<GroupKind, BTreeSet<Option<String>>> = BTreeMap::new();
        for step in &self.plan.steps {
            places.entry(step.key.group_kind.clone()).or_default().insert(step.key.namespace.clone());
        }
        places
    }

    /// The keys of all steps, by kind as a side serves it.
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
