//! Selects the set of objects that move.
//!
//! Four passes over the graph, each linear (W19: the peer walks all nodes once per root and step):
//!
//! 1. all roots at once, breadth first: an object below several roots belongs to the nearest one;
//! 2. objects that are labelled to move on their own;
//! 3. objects that plugins say these need;
//! 4. objects that plugins add from other namespaces, as far as they reach (`out_of_scope.rs`). The first three follow plugins'
//!    relations only inside one namespace of the scope.
//!
//! If Clusters are named, only what they need of that stays in the set (`by_cluster.rs`), before any object is added.
//!
//! An object that a plugin leaves is never entered, so its dependents stay too unless they also belong to something else in the
//! set. Neither is one that the user excludes, but then nothing in the set may depend on it (`exclude.rs`).
//!
//! Objects that the user also copies come last (`also_copy.rs`): they add no others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::discovery::graph::Tie;
use crate::discovery::implicit_links::{is_cluster, is_cluster_class};
use crate::objects::names::{self, GROUP_ADDONS};
use crate::plan::Note;
use crate::plugins::reach;
use crate::plugins::relations::Said;
use crate::selection::chosen_objects::{Chosen, Selection};
use crate::selection::input::SelectionInput;
use crate::selection::{also_copy, by_cluster, exclude, out_of_scope};
use crate::{Kind, Object};

/// Returns true if every object of the kind moves with everything it owns.
pub(crate) fn is_hierarchy(kind: &Kind) -> bool {
    kind.labels.hierarchy
        || is_cluster(&kind.group_kind)
        || is_cluster_class(&kind.group_kind)
        || kind.group_kind.is(GROUP_ADDONS, "ClusterResourceSet")
}

/// Returns true if every object of the kind moves.
pub fn is_moved(kind: &Kind) -> bool {
    kind.labels.moves || is_hierarchy(kind)
}

/// Makes the selection.
pub(crate) fn select_objects(input: SelectionInput<'_>, notes: &mut Vec<Note>) -> Selection {
    let mut selection = run_passes(input, exclude::find_excluded(input), notes);
    if !input.scope.exclude.is_empty() {
        let without = run_passes(input, BTreeSet::new(), &mut Vec::new());
        selection.refusals.extend(exclude::find_refusals(input, &without, &selection));
    }
    if !input.scope.also_copy.is_empty() {
        also_copy::add_also_copied(input, &mut selection, notes);
    }
    selection
}

/// One selection, without these objects.
fn run_passes(input: SelectionInput<'_>, excluded: BTreeSet<usize>, notes: &mut Vec<Note>) -> Selection {
    let rules = Rules { input, excluded: &excluded };
    let mut selection = Selection {
        excluded: excluded.clone(),
        chosen: vec![None; input.inventory.objects().len()],
        needs: collect_needs(input, notes),
        ..Selection::default()
    };
    rules.select_hierarchies(&mut selection);
    rules.select_labelled(&mut selection);
    rules.select_needed(&mut selection, notes);
    by_cluster::restrict_to_clusters(input, &mut selection, notes);
    selection.moving = out_of_scope::find_moving_namespaces(input, &selection);
    out_of_scope::add_plugin_objects(input, &mut selection, notes);
    rules.find_below_left(&mut selection);
    selection
}

/// Needs by object. If the needed object was not read, that is a note, because the source lacks it as well; if it was not read
/// because it is outside the scope, `out_of_scope.rs` decides.
fn collect_needs(input: SelectionInput<'_>, notes: &mut Vec<Note>) -> BTreeMap<usize, Vec<(usize, usize)>> {
    let mut by_object: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (index, need) in input.relations.needs.iter().enumerate() {
        let Some(object) = input.inventory.index_of_uid(&need.object) else { continue };
        let Some(what) = input.inventory.index_of_key(&need.what) else {
            let key = input.key(object).filter(|key| reach::is_inside(input.scope, key, &need.what));
            notes.extend(key.map(|key| need.missing_note(Some(key))));
            continue;
        };
        by_object.entry(object).or_default().push((index, what));
    }
    by_object
}

struct Rules<'a> {
    input: SelectionInput<'a>,
    excluded: &'a BTreeSet<usize>,
}

impl Rules<'_> {
    fn in_scope(&self, object: &Object) -> bool {
        !object.kind.namespaced || self.input.scope.includes_namespace(object.meta.namespace.as_deref())
    }

    /// An object that a plugin leaves, or the user excludes, is never entered. Neither is a Cluster outside the scope, such as one
    /// below a shared class, nor an object that only a plugin may add (`out_of_scope.rs`).
    fn may_enter(&self, index: usize) -> bool {
        let left = self.input.find_leave(index).is_some() || self.excluded.contains(&index);
        let asked_for = |object: &Object| self.in_scope(object) || !is_cluster(&object.kind.group_kind);
        !left && self.input.matches(index, asked_for) && self.input.inventory.is_trusted(index)
    }

    /// A kind moves only in the namespaces in scope, a class also where one of their Clusters uses it; a label on the object
    /// itself counts anywhere.
    fn is_root(&self, index: usize, object: &Object) -> bool {
        if object.meta.has_label(names::LABEL_MOVE_HIERARCHY) {
            return true;
        }
        is_hierarchy(&object.kind) && (self.in_scope(object) || self.is_used_class(index, object))
    }

    /// A plugin's relation to a Cluster doesn't make a class of another namespace move.
    fn is_used_class(&self, index: usize, object: &Object) -> bool {
        is_cluster_class(&object.kind.group_kind)
            && self.input.graph.dependents(index).any(|(dependent, tie)| {
                tie != Tie::Plugin && self.input.is_cluster(dependent) && self.may_enter(dependent)
            })
    }

    fn is_labelled(&self, object: &Object) -> bool {
        object.meta.has_label(names::LABEL_MOVE) || (is_moved(&object.kind) && self.in_scope(object))
    }

    fn select_hierarchies(&self, selection: &mut Selection) {
        let mut queue = VecDeque::new();
        for (index, object) in self.input.objects() {
            let root = self.is_root(index, object) && self.may_enter(index);
            if root && selection.choose(index, Chosen::Root) {
                queue.push_back((index, index));
            }
        }
        while let Some((root, owner)) = queue.pop_front() {
            for (dependent, tie) in self.input.graph.dependents(owner) {
                selection.visits += 1;
                let follows = tie != Tie::Plugin || self.input.is_inside(owner, dependent);
                if follows && self.may_enter(dependent) && selection.choose(dependent, Chosen::Below { root })
                {
                    queue.push_back((root, dependent));
                }
            }
        }
    }

    fn select_labelled(&self, selection: &mut Selection) {
        for (index, object) in self.input.objects() {
            if self.is_labelled(object) && self.may_enter(index) {
                selection.choose(index, Chosen::Labelled);
            }
        }
    }

    /// A leave outweighs a need, because it protects an object that must not move; the conflict becomes a note.
    fn select_needed(&self, selection: &mut Selection, notes: &mut Vec<Note>) {
        let mut queue: VecDeque<usize> = selection.iter().collect();
        while let Some(object) = queue.pop_front() {
            let wanted = selection.needs.get(&object).cloned().unwrap_or_default();
            for (need, what) in wanted {
                selection.visits += 1;
                let enter = self.input.is_inside(object, what) && self.may_enter(what);
                if enter && selection.choose(what, Chosen::Needed { need }) {
                    queue.push_back(what);
                }
                notes.extend(self.note_left_need(object, need, what));
            }
        }
    }

    fn note_left_need(&self, object: usize, need: usize, what: usize) -> Option<Note> {
        let (Said { plugin, reason }, needed) = (self.input.find_leave(what)?, self.input.key(what)?);
        let by = &self.input.relations.needs.get(need)?.plugin;
        let message =
            format!("plugin {by} says that it needs {needed}, which plugin {plugin} leaves: {reason}");
        Some(Note::new("need-left", self.input.key(object), message))
    }

    fn find_below_left(&self, selection: &mut Selection) {
        let left =
            self.input.relations.leaves.keys().filter_map(|uid| self.input.inventory.index_of_uid(uid));
        let mut queue: VecDeque<(usize, usize)> = left.map(|index| (index, index)).collect();
        while let Some((left, owner)) = queue.pop_front() {
            for (dependent, _) in self.input.graph.dependents(owner) {
                selection.visits += 1;
                if !selection.has(dependent) && !selection.below_left.contains_key(&dependent) {
                    selection.below_left.insert(dependent, left);
                    queue.push_back((left, dependent));
                }
            }
        }
    }
}
