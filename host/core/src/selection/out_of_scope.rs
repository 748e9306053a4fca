//! Objects that plugins add from outside the namespaces that move: objects of other namespaces, and cluster-scoped objects.
//!
//! In a move of one namespace, that namespace moves. In a move of all namespaces, those move in which an object is selected
//! without the reach of plugins. Inside them plugins may relate objects freely. Other objects are added only if the plugin that
//! relates them has reach there. An object that is selected through an added object counts as added too, and is deleted only if
//! that object is deleted. A Cluster moves only with its namespace, whatever reach a plugin has.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::Key;
use crate::discovery::graph::{Tie, matches_owner};
use crate::discovery::implicit_links::is_cluster;
use crate::messages::refusal::Refusal;
use crate::messages::remedy::Remedy;
use crate::plan::Note;
use crate::plugins::reach::{find_grant, is_inside};
use crate::request::scope::Namespaces;
use crate::selection::chosen_objects::{Brought, Chosen, Selection};
use crate::selection::input::SelectionInput;

/// Adds the objects to the selection that plugins relate to it. Objects outside their reach become refusals.
pub(crate) fn add_plugin_objects(
    input: SelectionInput<'_>,
    selection: &mut Selection,
    notes: &mut Vec<Note>,
) {
    let (links, unread) = (find_outward_links(input), find_unread_needs(input));
    let mut needs = selection.needs.iter();
    // In the common case no relation leaves the namespaces that move.
    if links.is_empty()
        && unread.is_empty()
        && needs.all(|(object, needs)| needs.iter().all(|(_, what)| input.is_inside(*object, *what)))
    {
        return;
    }
    let (moving, excluded) = (selection.moving.clone(), selection.excluded.clone());
    Beyond { input, links, unread, moving, excluded }.follow_relations(selection, notes);
}

/// Returns the namespaces that move, computed from the selection without the reach of plugins. This rule limits both the objects
/// that plugins may add and the objects that their checks may read.
pub(crate) fn find_moving_namespaces(input: SelectionInput<'_>, selection: &Selection) -> BTreeSet<String> {
    let namespace = |object: usize| input.key(object)?.namespace.clone();
    // The Secret of a cluster-scoped identity must not make a provider's namespace move. Neither must a plugin's need: otherwise
    // a plugin could open a namespace to itself by naming an object in it.
    let by_itself = |object: &usize| match selection.reason(*object) {
        Some(Chosen::Below { root }) => {
            namespace(*root).is_some() && !matches!(selection.reason(*root), Some(Chosen::Referred { .. }))
        }
        Some(Chosen::Root | Chosen::Labelled) => true,
        Some(Chosen::Needed { .. } | Chosen::Referred { .. } | Chosen::Carried) | None => false,
    };
    match &input.scope.namespaces {
        Namespaces::One(one) => BTreeSet::from([one.clone()]),
        Namespaces::All => selection.iter().filter(by_itself).filter_map(namespace).collect(),
    }
}

/// Returns plugins' links that leave a namespace, by dependent and owner, with the plugins that made them.
fn find_outward_links(input: SelectionInput<'_>) -> BTreeMap<(usize, usize), Vec<&str>> {
    let mut links: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for link in &input.relations.links {
        let Some(dependent) = input.inventory.index_of_uid(&link.object) else { continue };
        let Some(owner) = input.inventory.index_of_key(&link.to) else { continue };
        if !input.is_inside(dependent, owner) {
            links.entry((dependent, owner)).or_default().push(link.plugin.as_str());
        }
    }
    links
}

/// Returns the needs that leave a namespace for an object that was not read, by the object that has the need.
fn find_unread_needs(input: SelectionInput<'_>) -> BTreeMap<usize, Vec<usize>> {
    let mut unread: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, need) in input.relations.needs.iter().enumerate() {
        let Some(object) = input.inventory.index_of_uid(&need.object) else { continue };
        let outward = input.key(object).is_some_and(|key| !is_inside(input.scope, key, &need.what));
        if outward && input.inventory.index_of_key(&need.what).is_none() {
            unread.entry(object).or_default().push(index);
        }
    }
    unread
}

struct Beyond<'a> {
    input: SelectionInput<'a>,
    links: BTreeMap<(usize, usize), Vec<&'a str>>,
    unread: BTreeMap<usize, Vec<usize>>,
    /// Namespaces that move.
    moving: BTreeSet<String>,
    excluded: BTreeSet<usize>,
}

/// A selected object whose relations are followed.
struct Visit {
    object: usize,
    /// Root above the object, if the root's dependents move with it.
    root: Option<usize>,
    brought: Option<Brought>,
}

/// Objects that plugins aren't allowed to add, by plugin and key, with the reason in words.
type Denied = BTreeMap<(String, Key), String>;

impl Beyond<'_> {
    fn follow_relations(&self, selection: &mut Selection, notes: &mut Vec<Note>) {
        let mut denied = Denied::new();
        let mut queue = VecDeque::new();
        for object in selection.iter() {
            let root = match selection.reason(object) {
                Some(Chosen::Root) => Some(object),
                Some(Chosen::Below { root }) => Some(*root),
                _ => None,
            };
            queue.push_back(Visit { object, root, brought: None });
        }
        while let Some(at) = queue.pop_front() {
            queue.extend(self.choose_dependents(&at, selection, &mut denied));
            queue.extend(self.choose_needed(&at, selection, &mut denied));
            self.report_unread_needs(&at, &mut denied, notes);
        }
        let chosen =
            |key: &Key| self.input.inventory.index_of_key(key).is_some_and(|object| selection.has(object));
        denied.retain(|(_, what), _| !chosen(what));
        let denied = denied.into_iter().map(|((plugin, what), why)| reach_refusal(plugin, what, why));
        selection.refusals.extend(denied);
    }

    /// Selects the dependents of an object whose dependents move with it: those that a plugin links to it. If a plugin added the
    /// object, dependents with any tie are selected.
    fn choose_dependents(&self, at: &Visit, selection: &mut Selection, denied: &mut Denied) -> Vec<Visit> {
        let Some(root) = at.root else { return Vec::new() };
        let mut found = Vec::new();
        for (dependent, tie) in self.input.graph.dependents(at.object) {
            let said = self.links.get(&(dependent, at.object)).filter(|_| tie == Tie::Plugin);
            let through = || at.brought.iter().map(|brought| brought.plugin.as_str()).collect();
            let plugins: Vec<&str> = said.cloned().unwrap_or_else(through);
            let misnamed = tie == Tie::Owner && self.is_misnamed(dependent, at.object);
            if plugins.is_empty() || misnamed || selection.has(dependent) {
                continue;
            }
            selection.visits += 1;
            match self.admit_object(at, dependent, &plugins) {
                Some(brought) => {
                    let why = Chosen::Below { root };
                    found.extend(choose_object(selection, dependent, Some(root), why, brought));
                }
                None if said.is_some() => self.deny_link(denied, &plugins, dependent, at.object),
                None => {}
            }
        }
        found
    }

    fn choose_needed(&self, at: &Visit, selection: &mut Selection, denied: &mut Denied) -> Vec<Visit> {
        let mut found = Vec::new();
        for (need, what) in selection.needs.get(&at.object).cloned().unwrap_or_default() {
            let Some(said) = self.input.relations.needs.get(need) else { continue };
            if selection.has(what) || self.is_left(what) {
                continue;
            }
            selection.visits += 1;
            match self.admit_object(at, what, &[said.plugin.as_str()]) {
                Some(brought) => {
                    found.extend(choose_object(selection, what, None, Chosen::Needed { need }, brought))
                }
                None => {
                    let by = self.input.key(at.object);
                    deny_need(denied, &said.plugin, by, &said.what);
                }
            }
        }
        found
    }

    /// Reports needs of objects that were not read. An object within reach is missing in the source too.
    fn report_unread_needs(&self, at: &Visit, denied: &mut Denied, notes: &mut Vec<Note>) {
        for need in self.unread.get(&at.object).into_iter().flatten() {
            let Some(said) = self.input.relations.needs.get(*need) else { continue };
            let by = self.input.key(at.object);
            if self.check_reach(&said.plugin, &said.what).is_some() {
                notes.push(said.missing_note(by));
            } else {
                deny_need(denied, &said.plugin, by, &said.what);
            }
        }
    }

    /// Returns true if a plugin leaves an object in the source, or the user excludes it.
    fn is_left(&self, object: usize) -> bool {
        self.input.find_leave(object).is_some() || self.excluded.contains(&object)
    }

    /// Returns true if an object's only tie to an added object is an owner reference that names something else. Users outside the
    /// scope of the move can write such a reference.
    fn is_misnamed(&self, dependent: usize, owner: usize) -> bool {
        let Some((key, owner)) = self.input.key(dependent).zip(self.input.key(owner)) else { return false };
        !self.input.inventory.is_trusted(dependent)
            && self.input.matches(dependent, |object| {
                !object.meta.owner_references.iter().any(|reference| matches_owner(reference, owner, key))
            })
    }

    fn is_moving(&self, key: &Key) -> bool {
        key.namespace.as_ref().is_some_and(|namespace| self.moving.contains(namespace))
    }

    /// Returns whether the object is then deleted from the source. None if the plugin may not add it.
    fn check_reach(&self, plugin: &str, key: &Key) -> Option<bool> {
        if self.is_moving(key) {
            return Some(true);
        }
        let foreign =
            is_cluster(&key.group_kind) && !self.input.scope.includes_namespace(key.namespace.as_deref());
        let reaches = self.input.relations.reaches.get(plugin).filter(|_| !foreign)?;
        find_grant(reaches, key)
    }

    /// Decides how an object is added through another, if any of these plugins may add it. The outer `None` means that the object
    /// isn't added. The inner `None` means that it moves as part of the user's selection.
    fn admit_object(&self, at: &Visit, object: usize, plugins: &[&str]) -> Option<Option<Brought>> {
        let key = self.input.key(object).filter(|_| !self.is_left(object))?;
        let may = plugins.iter().filter_map(|plugin| Some((self.check_reach(plugin, key)?, *plugin)));
        let (delete, plugin) = may.max_by_key(|(delete, _)| *delete)?;
        if self.is_moving(key) && at.brought.is_none() {
            return Some(None);
        }
        let delete = delete && at.brought.as_ref().is_none_or(|through| through.delete);
        Some(Some(Brought { plugin: plugin.to_owned(), delete }))
    }

    fn deny_link(&self, denied: &mut Denied, plugins: &[&str], what: usize, owner: usize) {
        let keys = self.input.key(what).zip(self.input.key(owner));
        let Some((what, owner)) = keys.filter(|_| !self.is_left(what)) else { return };
        for plugin in plugins {
            let why = format!("plugin {plugin} says that {what} belongs to {owner}");
            denied.entry(((*plugin).to_owned(), what.clone())).or_insert(why);
        }
    }
}

fn deny_need(denied: &mut Denied, plugin: &str, by: Option<&Key>, what: &Key) {
    let by = by.map(Key::to_string).unwrap_or_default();
    let why = format!("plugin {plugin} says that {by} needs {what}");
    denied.entry((plugin.to_owned(), what.clone())).or_insert(why);
}

fn choose_object(
    selection: &mut Selection,
    object: usize,
    root: Option<usize>,
    why: Chosen,
    brought: Option<Brought>,
) -> Option<Visit> {
    if !selection.choose(object, why) {
        return None;
    }
    if let Some(brought) = &brought {
        selection.brought.insert(object, brought.clone());
    }
    Some(Visit { object, root, brought })
}

fn reach_refusal(plugin: String, what: Key, why: String) -> Refusal {
    let message =
        format!("{why}; {what} is outside of what moves, and the plugin is not granted to reach it");
    let off = Remedy::SwitchOff { plugin: plugin.clone() };
    // No grant can add a Cluster.
    if is_cluster(&what.group_kind) {
        return Refusal::source("plugin-reach", what, message, off);
    }
    let (kind, namespace) = (what.group_kind.clone(), what.namespace.clone());
    let grant = Remedy::GrantReach { plugin, kind, namespace };
    Refusal::source("plugin-reach", what, message, grant).with_remedy(off)
}
