//! Refusals and notes of a move that names Clusters.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Finder, User};
use crate::discovery::implicit_links::is_cluster;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::objects::selector::contains_object;
use crate::plan::Note;
use crate::request::scope::ClusterName;
use crate::selection::chosen_objects::{Named, Selection};
use crate::{GroupKind, Key};

/// Largest number of objects that a note names.
const SHOWN: usize = 5;
/// The remedy if a reference is a mistake, or a trick.
const UNTIED: &str = "remove the owner reference, label or field that ties them together";

impl Finder<'_> {
    /// Shared objects that can't be on both sides, grouped by what uses them.
    pub(super) fn refuse_unsharable(
        &self,
        selection: &Selection,
        shared: &BTreeMap<usize, User>,
    ) -> Vec<Refusal> {
        let mut by_user: BTreeMap<(usize, &GroupKind), Vec<usize>> = BTreeMap::new();
        let on_both_sides = self.global_hierarchies(selection);
        for (&object, user) in shared {
            if self.is_sharable(object) || self.is_pool(object) || on_both_sides.contains(&object) {
                continue;
            }
            if let Some(key) = self.input.key(object) {
                by_user.entry((user.object, &key.group_kind)).or_default().push(object);
            }
        }
        let refused = by_user.into_values().filter_map(|objects| {
            let keys: Vec<&Key> = objects.iter().filter_map(|object| self.input.key(*object)).collect();
            let (object, first) = (*objects.first()?, (*keys.first()?).clone());
            let user = shared.get(&object)?;
            let usage = self.describe_use(user, if keys.len() == 1 { "it" } else { "them" })?;
            let message = format!("{} would move, but {usage}", some_of(&keys, SHOWN));
            let kind = first.group_kind.clone();
            let mut refusal = Refusal::source("shared-with-what-stays", first, message, UNTIED);
            self.or_together(user, &mut refusal);
            if self.is_acceptable(object) {
                refusal.remedies.push(Remedy::AcceptShared { kind });
            }
            Some(refusal.with_others(keys.into_iter().skip(1).cloned()))
        });
        refused.collect()
    }

    /// Pools that would give out the same addresses on both sides: neither side knows what the other gave out, and an address
    /// whose object moves is free in the source.
    pub(super) fn refuse_shared_pools(&self, shared: &BTreeMap<usize, User>) -> Vec<Refusal> {
        let pools = shared.iter().filter(|(pool, _)| self.is_pool(**pool) && !self.is_sharable(**pool));
        let refused = pools.filter_map(|(&pool, user)| {
            let key = self.input.key(pool)?;
            let usage = self.describe_use(user, "it")?;
            let message =
                format!("would give out addresses on both sides, and can give the same one twice: {usage}");
            let accept = Remedy::AcceptShared { kind: key.group_kind.clone() };
            let mut refusal = Refusal::source("pool-shared", key.clone(), message, accept);
            self.or_together(user, &mut refusal);
            Some(refusal)
        });
        refused.collect()
    }

    /// Describes the use of a shared object: `Cluster ns/b also uses it (Machine ns/x) and stays`. The object in parentheses has the
    /// reference.
    fn describe_use(&self, user: &User, pronoun: &str) -> Option<String> {
        let object = self.input.key(user.object)?;
        Some(match user.cluster.filter(|cluster| *cluster != user.object) {
            Some(cluster) => format!("{} also uses {pronoun} ({object}) and stays", self.input.key(cluster)?),
            None => format!("{object} also uses {pronoun} and stays"),
        })
    }

    /// If a Cluster uses it, both can move; if something that is excluded does, both can stay, too.
    fn or_together(&self, user: &User, refusal: &mut Refusal) {
        if self.excluded.contains(&user.object)
            && let Some(key) = self.input.key(user.object)
        {
            let parts = self.input.inventory.parts_covering(&self.input.scope.exclude, [key]);
            let objects = refusal.object.iter().chain(&refusal.others).cloned().collect();
            let both = [Remedy::ExcludeToo { objects }, Remedy::LeaveOutExclude { parts }];
            refusal.remedies.splice(..0, both);
        } else if let Some(cluster) = user.cluster.and_then(|cluster| self.input.key(cluster)) {
            refusal.remedies.insert(0, Remedy::NameCluster { cluster: cluster.clone() });
        }
    }

    /// Named Clusters that don't exist. If none of them exists, there is nothing to move.
    pub(super) fn refuse_missing_clusters(
        &self,
        selection: &Selection,
        missing: &[&ClusterName],
    ) -> Vec<Refusal> {
        if self.named.is_empty() || selection.iter().next().is_none() {
            return Vec::new();
        }
        let refused = missing.iter().map(|name| {
            let message = format!("there is no {}", name.key());
            Refusal::source("cluster-missing", name.key(), message, self.clusters_there())
        });
        refused.collect()
    }

    /// Objects of Clusters that stay, which the named ones refer to.
    pub(super) fn refuse_borrowed(&self, borrowed: &BTreeMap<usize, usize>) -> Vec<Refusal> {
        let refused =
            borrowed.iter().filter(|(what, _)| !self.input.is_cluster(**what) && self.is_chosen(**what));
        let refused = refused.filter_map(|(&what, &by)| {
            let (key, by) = (self.input.key(what)?, self.input.key(by)?);
            let cluster = self.input.key(*self.others.get(&what)?)?;
            let message =
                format!("{by} would move and refers to it, but it belongs to {cluster}, which stays");
            let mut refusal = Refusal::source("belongs-to-what-stays", key.clone(), message, UNTIED);
            refusal.remedies.insert(0, Remedy::NameCluster { cluster: cluster.clone() });
            Some(refusal)
        });
        refused.collect()
    }

    /// Cluster-scoped objects and what is below those that are roots: `fate.rs` always keeps them.
    fn global_hierarchies(&self, selection: &Selection) -> BTreeSet<usize> {
        let global = |object: &usize| self.input.matches(*object, |object| !object.kind.namespaced);
        let mut found: BTreeSet<usize> = selection.iter().filter(global).collect();
        let mut queue: VecDeque<usize> = found.iter().copied().filter(|root| self.is_root(*root)).collect();
        while let Some(owner) = queue.pop_front() {
            for dependent in
                self.dependents(owner).filter(|one| selection.has(*one) && !self.input.is_cluster(*one))
            {
                if found.insert(dependent) {
                    queue.push_back(dependent);
                }
            }
        }
        found
    }

    fn clusters_there(&self) -> String {
        let there: Vec<&Key> =
            self.input.inventory.keys().iter().filter(|key| is_cluster(&key.group_kind)).collect();
        format!("name Clusters that exist: there are {}", some_of(&there, SHOWN))
    }

    pub(super) fn note_unreferred(&self, named: &Named) -> Option<Note> {
        let alone = |(object, cluster): (&usize, &Option<usize>)| {
            let key = self.input.key(*object).filter(|_| self.is_alone(*object) && cluster.is_none());
            key.filter(|_| {
                !self.input.matches(*object, |object| contains_object(&self.input.scope.also_copy, object))
            })
        };
        let alone: Vec<&Key> = named.stays.iter().filter_map(alone).collect();
        let listed = some_of(&alone, SHOWN);
        let message = format!("these stay, because no named Cluster refers to them: {listed}");
        (!alone.is_empty()).then(|| Note::new("not-referred", None, message))
    }
}
