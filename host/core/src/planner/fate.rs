//! The fate of a source object once its copy is live: deleted, or kept.
//!
//! Objects that others may still use are kept: cluster-scoped objects and their dependents, ClusterClasses that live or are used
//! elsewhere, and objects that a staying object needs or shares. Objects that the user also copies are kept, objects that a
//! plugin asks to keep, and objects that a plugin added without a grant to delete them. A Cluster is never kept. Neither is an
//! object that belongs to a kept object only through a Cluster, because both sides would manage the same machines.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::discovery::graph::Tie;
use crate::discovery::implicit_links::{class_of, is_cluster, is_cluster_class};
use crate::messages::refusal::Refusal;
use crate::plan::{Fate, KeepReason};
use crate::selection::chosen_objects::{Chosen, Selection};
use crate::selection::input::SelectionInput;
use crate::{Key, Object};

/// Finds the selected objects that are kept. All others move.
pub(crate) fn find_kept(
    input: SelectionInput<'_>,
    elsewhere: &[Object],
    selection: &Selection,
    refusals: &mut Vec<Refusal>,
) -> BTreeMap<usize, KeepReason> {
    let mut keeper = Keeper { input, selection, kept: BTreeMap::new() };
    keeper.keep_for_plugins(refusals);
    keeper.keep_also_copied();
    keeper.keep_cluster_scoped();
    keeper.keep_added_by_plugins();
    keeper.keep_shared_classes(elsewhere, refusals);
    keeper.keep_shared_with_staying();
    keeper.keep_needed();
    keeper.kept
}

/// Returns the fate of one object.
pub(crate) fn fate_of(kept: &BTreeMap<usize, KeepReason>, object: usize) -> Fate {
    kept.get(&object).cloned().map_or(Fate::Move, Fate::Keep)
}

struct Keeper<'a> {
    input: SelectionInput<'a>,
    selection: &'a Selection,
    kept: BTreeMap<usize, KeepReason>,
}

impl Keeper<'_> {
    fn key(&self, object: usize) -> Option<Key> {
        self.input.key(object).cloned()
    }

    fn keep_object(&mut self, object: usize, reason: KeepReason) {
        self.kept.entry(object).or_insert(reason);
    }

    fn keep_for_plugins(&mut self, refusals: &mut Vec<Refusal>) {
        for (uid, said) in &self.input.relations.keeps {
            let object = self.input.inventory.index_of_uid(uid);
            let Some(object) = object.filter(|object| self.selection.has(*object)) else { continue };
            if self.input.is_cluster(object)
                && let Some(key) = self.key(object)
            {
                refusals.push(Refusal::source(
                    "cluster-kept",
                    key.clone(),
                    format!(
                        "plugin {} would keep {key} in the source: both sides would manage it",
                        said.plugin
                    ),
                    format!("configure plugin {} not to keep Clusters, or run without it", said.plugin),
                ));
                continue;
            }
            let reason = KeepReason::Plugin { name: said.plugin.clone(), reason: said.reason.clone() };
            self.keep_object(object, reason);
        }
    }

    /// Keeps objects that the user also copies.
    fn keep_also_copied(&mut self) {
        for object in self.selection.iter() {
            if let Some(Chosen::Carried) = self.selection.reason(object) {
                self.keep_object(object, KeepReason::AlsoCopied);
            }
        }
    }

    /// Keeps cluster-scoped objects, and the dependents of those that are roots.
    fn keep_cluster_scoped(&mut self) {
        let mut queue = VecDeque::new();
        for object in self.selection.iter() {
            if self.input.matches(object, |object| !object.kind.namespaced) {
                self.keep_object(object, KeepReason::Global);
                if matches!(self.selection.reason(object), Some(Chosen::Root | Chosen::Referred { .. })) {
                    queue.push_back((object, object));
                }
            }
        }
        let mut seen = BTreeSet::new();
        while let Some((root, owner)) = queue.pop_front() {
            for (dependent, _) in self.input.graph.dependents(owner) {
                if self.input.is_cluster(dependent)
                    || !self.selection.has(dependent)
                    || !seen.insert(dependent)
                {
                    continue;
                }
                if let Some(key) = self.key(root) {
                    self.keep_object(dependent, KeepReason::BelowGlobal { root: key });
                }
                queue.push_back((root, dependent));
            }
        }
    }

    /// Keeps objects that plugins added and must not delete.
    fn keep_added_by_plugins(&mut self) {
        let kept = self.selection.brought.iter().filter(|(_, brought)| !brought.delete);
        for (object, brought) in kept {
            self.keep_object(*object, KeepReason::AddedByPlugin { plugin: brought.plugin.clone() });
        }
    }

    /// Keeps classes that live or are used outside the namespaces that move, with their templates.
    fn keep_shared_classes(&mut self, elsewhere: &[Object], refusals: &mut Vec<Refusal>) {
        let class = |object: &Object| is_cluster_class(&object.kind.group_kind);
        let classes: Vec<usize> =
            self.selection.iter().filter(|&index| self.input.matches(index, class)).collect();
        if classes.is_empty() {
            return;
        }
        let users = self.find_staying_users(elsewhere, refusals);
        let mut queue = VecDeque::new();
        for index in classes {
            let Some(key) = self.key(index) else { continue };
            let used_by = users.get(&key).cloned();
            if used_by.is_some() || !self.input.scope.includes_namespace(key.namespace.as_deref()) {
                queue.push_back((index, KeepReason::SharedClass { class: key, used_by }));
            }
        }
        let mut seen = BTreeSet::new();
        while let Some((object, reason)) = queue.pop_front() {
            if !seen.insert(object) {
                continue;
            }
            self.keep_object(object, reason.clone());
            for (dependent, tie) in self.input.graph.dependents(object) {
                if !self.input.is_cluster(dependent) && tie != Tie::Plugin && self.selection.has(dependent) {
                    queue.push_back((dependent, reason.clone()));
                }
            }
        }
    }

    /// Finds Clusters that aren't selected, by the class they use.
    fn find_staying_users(&self, elsewhere: &[Object], refusals: &mut Vec<Refusal>) -> BTreeMap<Key, Key> {
        let mut users = BTreeMap::new();
        let read = self.input.objects().filter(|(index, _)| !self.selection.has(*index));
        let read = read.map(|(_, object)| object).filter(|object| is_cluster(&object.kind.group_kind));
        let is_unread = |object: &&Object| self.input.inventory.index_of_uid(&object.meta.uid).is_none();
        for cluster in read.chain(elsewhere.iter().filter(is_unread)) {
            match class_of(cluster) {
                Ok(Some(class)) => drop(users.entry(class).or_insert_with(|| cluster.key())),
                Ok(None) => {}
                Err(error) => refusals.push(Refusal::unreadable(cluster.key(), &error)),
            }
        }
        users
    }

    /// Keeps objects that a staying object uses as well, if the user names Clusters.
    fn keep_shared_with_staying(&mut self) {
        for (&object, &by) in &self.selection.named.shared {
            if let Some(by) = self.key(by) {
                self.keep_object(object, KeepReason::Shared { by });
            }
        }
    }

    /// Keeps objects that are selected only because something needs them, if something that stays needs them as well.
    fn keep_needed(&mut self) {
        let stays = |index: &usize| match self.selection.has(*index) {
            true => self.kept.contains_key(index),
            false => self.input.inventory.is_trusted(*index),
        };
        let mut queue: VecDeque<usize> = self.selection.needs.keys().copied().filter(stays).collect();
        while let Some(object) = queue.pop_front() {
            let Some(by) = self.key(object) else { continue };
            for &(_, what) in self.selection.needs.get(&object).into_iter().flatten() {
                let only_needed = matches!(self.selection.reason(what), Some(Chosen::Needed { .. }));
                if only_needed && !self.kept.contains_key(&what) {
                    self.keep_object(what, KeepReason::Needed { by: by.clone() });
                    queue.push_back(what);
                }
            }
        }
    }
}
