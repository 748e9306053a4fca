//! The parts of a run that every phase needs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use pivot_core::copies::mark::CopyMark;
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::pause;
use pivot_core::plugins::hooks::Hook;
use pivot_core::records::plugin_set::PluginSet;
use pivot_core::records::record::Phase;
use pivot_core::records::release::{Entry, Pausing};
use pivot_core::records::route::Route;
use pivot_core::request::scope::ClusterName;
use pivot_core::{GroupKind, Key, Kind, Object, Side};

use crate::base::command::Command;
use crate::base::events::{self, Event, Verb, Watcher};
use crate::base::kinds::Kinds;
use crate::base::options::Options;
use crate::base::outcome::change_counts::ChangeCounts;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::used_risks::{UsedRisks, warn_of_unneeded};
use crate::base::plugins::hooks::Hooks;
use crate::base::plugins::services::PluginServices;
use crate::base::plugins::unchanged_objects::UnchangedObjects;
use crate::base::requests::halt::Halter;
use crate::base::requests::limiter::Limiter;
use crate::base::requests::parking::Parking;
use crate::base::requests::side::Handle;
use crate::base::state::locks::Locks;
use crate::base::state::records::Records;
use crate::base::workload_clusters::WorkloadClusters;

/// The parts of a run that don't change.
pub(crate) struct Job {
    pub(crate) source: Handle,
    pub(crate) target: Handle,
    pub(crate) kinds: Arc<Kinds>,
    /// Answers plugins' service calls.
    pub(crate) services: Arc<PluginServices>,
    pub(crate) options: Options,
    pub(crate) command: Command,
    pub(crate) plugins: Vec<Arc<dyn Hooks>>,
    pub(crate) halter: Halter,
    pub(crate) parking: Parking,
    pub(crate) watcher: Arc<dyn Watcher>,
    /// See [`crate::base::setup::Setup::workload_clusters`].
    pub(crate) workload_clusters: Option<Arc<dyn WorkloadClusters>>,
    pub(crate) move_id: String,
    /// Recognises the objects of the target that this move created.
    pub(crate) copy_mark: CopyMark,
    /// The way of the move: the side that is paused, the side that is deleted from, and the side that runs.
    pub(crate) route: Route,
    /// True if this run or an earlier one may have put up a guard. Pivots have none.
    pub(crate) may_have_guard: bool,
    /// Held from the beginning to the end; none if the source has no Leases.
    pub(crate) locks: Option<Arc<Locks>>,
    /// Changes counted so far.
    pub(crate) change_counts: ChangeCounts,
    /// The accepted risks that the run used.
    pub(crate) used_risks: UsedRisks,
    /// Owners in GitOps tools that a warning named because they can't be read.
    pub(crate) reported_owners: Mutex<BTreeSet<Key>>,
    pub(crate) unchanged_by_plugins: UnchangedObjects,
}

impl Job {
    /// The plugins that take part.
    pub(crate) fn plugin_set(&self) -> PluginSet {
        self.plugins.iter().map(|plugin| plugin.describe()).collect()
    }

    pub(crate) fn handle(&self, side: Side) -> &Handle {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// Returns true if the user named a Cluster that may be unpaused, although the move was recovered, or although the annotation that
    /// undoes its pause is gone. Takes its key in the source.
    pub(crate) fn is_named_to_unpause(&self, cluster: &Key) -> bool {
        self.command.clusters_to_unpause().contains(&ClusterName::from_key(cluster))
    }

    /// Returns true if the user named a restored Cluster whose lost workers may be dropped. Takes its key in the source.
    pub(crate) fn is_named_to_drop(&self, cluster: &Key) -> bool {
        self.command.clusters_to_drop().contains(&ClusterName::from_key(cluster))
    }

    /// Returns true if a plugin holds objects of a kind.
    pub(crate) fn is_held_kind(&self, kind: &GroupKind) -> bool {
        self.plugins.iter().any(|plugin| plugin.changes(Hook::Hold, kind))
    }

    /// Returns how the move paused an object, according to the object's annotations.
    pub(crate) fn pausing_of(&self, object: &Object) -> Pausing {
        if !pause::is_ours(&object.meta, &self.move_id) {
            return Pausing::Untouched;
        }
        if self.is_held_kind(&object.kind.group_kind) { Pausing::Held } else { Pausing::Paused }
    }

    /// A kind as a side serves it. That both sides serve it was checked before the pause, but definitions come and go.
    pub(crate) fn kind(&self, side: Side, group_kind: &GroupKind) -> Result<&Arc<Kind>, Failure> {
        self.kinds.get(side).get(group_kind).ok_or_else(|| not_served(side, group_kind))
    }

    /// The kind in which an object's copy is written: in the object's own version, because nothing converts it. Files may have
    /// objects of one kind in several versions.
    pub(crate) fn kind_of_copy(&self, object: &Object) -> Result<Arc<Kind>, Failure> {
        let kind = self.kind(Side::Target, &object.kind.group_kind)?;
        let version = &object.kind.version;
        Ok(match *version == kind.version {
            true => kind.clone(),
            false => Arc::new(Kind { version: version.clone(), ..Kind::clone(kind) }),
        })
    }

    /// Returns the source's kind as the release list names it. Only the list has the version in which a state was copied: the source
    /// may serve another one today.
    pub(crate) fn kind_of_entry(&self, entry: &Entry) -> Arc<Kind> {
        match self.kinds.source.get(&entry.kind.group_kind) {
            Some(kind) if kind.version == entry.kind.version => kind.clone(),
            Some(kind) => Arc::new(Kind { version: entry.kind.version.clone(), ..Kind::clone(kind) }),
            None => Arc::new(Kind {
                group_kind: entry.kind.group_kind.clone(),
                version: entry.kind.version.clone(),
                plural: entry.kind.plural.clone(),
                namespaced: entry.key.namespace.is_some(),
                status_subresource: false,
                served: Vec::new(),
                labels: Default::default(),
            }),
        }
    }

    pub(crate) fn core_kind(&self, side: Side, group: &str, kind: &str) -> Result<&Arc<Kind>, Failure> {
        self.kind(side, &GroupKind::new(group, kind))
    }

    /// The records of a cluster.
    pub(crate) fn records(&self, side: Side) -> Result<Records, Failure> {
        let records = Records::new(self.handle(side), self.kinds.get(side), &self.options);
        records.ok_or_else(|| not_served(side, &GroupKind::new("", "ConfigMap")))
    }

    pub(crate) fn limiter(&self, side: Side) -> Limiter {
        Limiter::new(self.handle(side).throttled.clone())
    }

    pub(crate) fn report(&self, event: Event) {
        self.change_counts.count_event(&event);
        self.watcher.event(event);
    }

    /// Reports a change to an object.
    pub(crate) fn report_object(&self, phase: Phase, verb: Verb, object: &Key, side: Side) {
        let object = self.handle(side).own_name(object);
        self.report(Event::Object { verb, object, side, phase });
    }

    /// Reports the risks that the user accepted, and namespaces that get other names.
    pub(crate) fn report_accepted(&self) {
        let map = &self.options.scope.namespace_map;
        if !map.is_empty() {
            self.report(Event::note(
                "namespaces-mapped",
                format!("namespaces get other names in the target: {map}"),
            ));
        }
        for event in events::accepted_risk_events(&self.options, self.command.absent_side()) {
            self.report(event);
        }
    }

    /// Reports the risks of the run that it accepted and had no use for, among those that it can judge.
    ///
    /// A run that has no use for `world-changed` refuses it, unless an earlier run had.
    pub(crate) fn report_unused_risks(&self, can_judge: impl Fn(Risk) -> bool) {
        let mut unused = self.used_risks.find_unused(&self.options.accept);
        let unjudged = Risk::ALL.into_iter().filter(|risk| *risk == Risk::WorldChanged || !can_judge(*risk));
        unjudged.for_each(|risk| unused.remove(risk));
        if let Some(warning) = warn_of_unneeded(&unused) {
            self.report(warning);
        }
    }

    /// Obeys a request to stop, at points where stopping is safe.
    pub(crate) fn safe_point(&self) -> Result<(), Failure> {
        self.halter.halt_reason().map_or(Ok(()), |halt| Err(Failure::Halted(halt)))
    }
}

fn not_served(side: Side, group_kind: &GroupKind) -> Failure {
    Failure::from_refusal(Refusal {
        code: "kind-missing",
        side,
        object: None,
        others: Vec::new(),
        message: format!("the {side} does not serve {group_kind}"),
        remedies: vec![Remedy::kubectl(
            "install the provider that defines it there; ",
            Kubectl::new(side, ["api-resources"]),
            " shows what is served",
        )],
    })
}
