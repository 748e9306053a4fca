//! Looks for runtime extensions that Cluster API calls for moved Clusters in the source and wouldn't call in the target.
//!
//! One request per ExtensionConfig, and one per namespace and side if it is called for some namespaces only. ExtensionConfigs that
//! can't be read are not judged.

use std::collections::{BTreeMap, BTreeSet};
use std::slice::from_ref;

use pivot_core::checks::extensions::{
    Extensions, Handler, NamespaceLabels, build_labels, describe_unnamed, find_extensions, is_selective,
    matches_namespace, namespaces_to_read, refuse_uncalled,
};
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::risk::Risk;
use pivot_core::{GroupKind, Key, Object, Side};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::check::dangling::{Lookup, look_up, remove_accepted};
use crate::read::snapshot::Snapshot;

/// Refuses a target that doesn't call extensions that moved Clusters need, and warns of hooks that no class names.
pub(crate) async fn refuse_missing_extensions(
    job: &Job,
    snapshot: &Snapshot,
) -> Result<Vec<Refusal>, Failure> {
    if !job.route.target_runs() {
        return Ok(Vec::new());
    }
    let mut reading = Reading { job, snapshot, unreadable: BTreeSet::new(), labels: BTreeMap::new() };
    let Extensions { named, unnamed, namespaces } = find_extensions(&snapshot.inventory, &snapshot.plan);
    let mut refusals = Vec::new();
    for (config, handlers) in &named {
        refusals.extend(reading.check_named(config, handlers).await?);
    }
    let mut missing = Vec::new();
    for config in unnamed {
        if reading.is_missing(config, &namespaces).await? {
            missing.push(config);
        }
    }
    if !missing.is_empty() {
        job.report(Event::warning("extensions-stay", describe_unnamed(&missing)));
    }
    if !reading.unreadable.is_empty() {
        let text = format!(
            "pivot-host can't read {}, so it doesn't know whether the target calls all extensions that the source calls",
            some_of(&reading.unreadable.iter().collect::<Vec<_>>(), 3)
        );
        job.report(Event::note("extensions-unreadable", text));
    }
    Ok(remove_accepted(job, Risk::Dangling, refusals))
}

/// Reads ExtensionConfigs and namespaces.
struct Reading<'a> {
    job: &'a Job,
    snapshot: &'a Snapshot,
    /// Objects that the user can't read.
    unreadable: BTreeSet<Key>,
    /// Labels of namespaces; none if the user can't read them.
    labels: BTreeMap<(Side, String), Option<Labels>>,
}

type Labels = BTreeMap<String, String>;

impl Reading<'_> {
    async fn check_named(&mut self, config: &Key, handlers: &[Handler]) -> Result<Option<Refusal>, Failure> {
        // If a cluster hasn't it, the move changes nothing. Files have only objects that were copied into them.
        let in_source = look_up(self.job, &self.snapshot.inventory, Side::Source, from_ref(config)).await?;
        if matches!(in_source, Lookup::Absent) && self.job.source.capabilities().judges {
            return Ok(None);
        }
        let there = match self.look_up_in_target(config).await? {
            Lookup::At(there) => Some(there),
            Lookup::Absent => None,
            Lookup::Unreadable => return Ok(None),
        };
        let mut labels = NamespaceLabels::new();
        for name in there.iter().flat_map(|there| namespaces_to_read(there, handlers)) {
            labels.extend(self.read_labels(Side::Target, &name).await?.map(|found| (name, found)));
        }
        Ok(refuse_uncalled(config, handlers, there.as_deref(), &labels))
    }

    /// Returns true if the target lacks an ExtensionConfig that is called for one of these namespaces of the source.
    async fn is_missing(&mut self, config: &Object, namespaces: &BTreeSet<String>) -> Result<bool, Failure> {
        for name in namespaces {
            let labels = match is_selective(config) {
                true => self.read_labels(Side::Source, name).await?,
                false => Some(BTreeMap::new()),
            };
            if labels.is_some_and(|labels| matches_namespace(config, &labels)) {
                return Ok(matches!(self.look_up_in_target(&config.key()).await?, Lookup::Absent));
            }
        }
        Ok(false)
    }

    async fn look_up_in_target(&mut self, config: &Key) -> Result<Lookup, Failure> {
        let is_served = self.job.kinds.target.contains_key(&config.group_kind);
        let found = look_up(self.job, &self.snapshot.inventory, Side::Target, from_ref(config)).await?;
        if is_served && !matches!(found, Lookup::Unreadable) {
            return Ok(found);
        }
        self.unreadable.insert(config.clone());
        Ok(Lookup::Unreadable)
    }

    /// Returns the labels of a namespace. A namespace that the target lacks gets the labels of the source's.
    async fn read_labels(&mut self, side: Side, name: &str) -> Result<Option<Labels>, Failure> {
        let at = (side, name.to_owned());
        if let Some(known) = self.labels.get(&at) {
            return Ok(known.clone());
        }
        let labels = self.look_up_labels(side, name).await?;
        self.labels.insert(at, labels.clone());
        Ok(labels)
    }

    async fn look_up_labels(&mut self, side: Side, name: &str) -> Result<Option<Labels>, Failure> {
        let key = Key::new(GroupKind::new("", "Namespace"), None, name);
        let Job { options, .. } = self.job;
        let is_outside = !options.scope.includes_namespace(Some(name));
        let mut found = Lookup::Absent;
        // A namespace that the target lacks is created like the source's.
        for side in if side == Side::Target { &[Side::Target, Side::Source][..] } else { &[Side::Source] } {
            if matches!(found, Lookup::Absent) {
                found = match options.confined == Some(*side) && is_outside {
                    true => Lookup::Unreadable,
                    false => look_up(self.job, &self.snapshot.inventory, *side, from_ref(&key)).await?,
                };
            }
        }
        let namespace = match found {
            Lookup::At(namespace) => Some(namespace),
            Lookup::Absent => None,
            Lookup::Unreadable => {
                self.unreadable.insert(key);
                return Ok(None);
            }
        };
        Ok(Some(build_labels(namespace.as_deref(), self.job.handle(side).own_namespace(name))))
    }
}
