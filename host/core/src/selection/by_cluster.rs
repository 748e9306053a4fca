//! Restricts a selection to the Clusters that the user names.
//!
//! Named Clusters never add an object to a move. The move has the named Clusters with the objects below them, and the objects that
//! these refer to: by owner, link, a plugin's need or a reference in a body (`body_references.rs`). Other Clusters stay, with the objects
//! below them. An object below another Cluster is shared if a named Cluster uses it too.
//!
//! Objects that are shared with anything that stays are copied and kept (`fate.rs`). Only objects without a controller can be shared:
//! Secrets and other objects of Kubernetes itself, templates, classes and resource sets. For all other objects, controllers on both
//! sides would act on the same machine, or assign the same address. Such a move is refused, unless the user accepts the kind.
//!
//! While other Clusters stay in the namespace, objects that no named Cluster owns are kept if possible: any of these Clusters may
//! use them later.
//!
//! Objects that the user excludes stay as well, whether Clusters are named or not: what they use is shared with them in the same way.

mod refused;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::Object;
use crate::discovery::body_references::Mentions;
use crate::discovery::dangerous_kinds::{is_dangerous, is_passive, is_pool};
use crate::discovery::graph::Tie;
use crate::discovery::implicit_links::{TEMPLATE, cluster_name_of, is_cluster};
use crate::messages::risk::Risk;
use crate::objects::names::{GROUP_CLUSTER, LABEL_CLUSTER};
use crate::plan::Note;
use crate::request::scope::ClusterName;
use crate::selection::chosen_objects::{Chosen, Named, Selection};
use crate::selection::input::SelectionInput;

/// Removes from a selection what the named Clusters don't need; if none is named, finds what excluded objects use of it.
pub(crate) fn restrict_to_clusters(
    input: SelectionInput<'_>,
    selection: &mut Selection,
    notes: &mut Vec<Note>,
) {
    if input.scope.clusters.is_empty() {
        return share_with_excluded(input, selection);
    }
    let find_cluster = |name: &ClusterName| input.inventory.index_of_key(&name.key());
    let (there, missing): (Vec<_>, Vec<_>) =
        input.scope.clusters.iter().partition(|name| find_cluster(name).is_some());
    let all = std::mem::take(&mut selection.chosen);
    selection.chosen = vec![None; all.len()];
    let named = there.into_iter().filter_map(find_cluster).collect();
    let finder = Finder::new(input, named, selection.excluded.clone(), all);
    let own = finder.below_named(selection);
    let borrowed = finder.add_referred(selection);

    let shared = finder.find_shared(selection, &own);
    selection.refusals.extend(finder.refuse_borrowed(&borrowed));
    selection.refusals.extend(finder.refuse_unsharable(selection, &shared));
    selection.refusals.extend(finder.refuse_shared_pools(&shared));
    selection.refusals.extend(finder.refuse_missing_clusters(selection, &missing));
    let stays = (0..finder.all.len()).filter(|object| finder.is_chosen(*object) && !selection.has(*object));
    let stays = stays.map(|object| (object, finder.others.get(&object).copied())).collect();
    let not_named = Named { stays, shared: by_user(shared) };
    notes.extend(finder.note_unreferred(&not_named));
    selection.named = not_named;
}

/// Excluded objects stay as Clusters that are not named do, and what they use, or may use, is shared with them.
fn share_with_excluded(input: SelectionInput<'_>, selection: &mut Selection) {
    if selection.excluded.is_empty() {
        return;
    }
    let clusters = selection.iter().filter(|object| input.is_cluster(*object)).collect();
    let finder = Finder::new(input, clusters, selection.excluded.clone(), selection.chosen.clone());
    let none_chosen = vec![None; selection.chosen.len()];
    let own = finder.below_named(&mut Selection { chosen: none_chosen, ..Selection::default() });
    let shared = finder.find_shared(selection, &own);
    selection.refusals.extend(finder.refuse_unsharable(selection, &shared));
    selection.refusals.extend(finder.refuse_shared_pools(&shared));
    selection.named.shared = by_user(shared);
}

fn by_user(shared: BTreeMap<usize, User>) -> BTreeMap<usize, usize> {
    shared.into_iter().map(|(object, user)| (object, user.cluster.unwrap_or(user.object))).collect()
}

struct Finder<'a> {
    input: SelectionInput<'a>,
    /// If none is named: all that move.
    named: BTreeSet<usize>,
    excluded: BTreeSet<usize>,
    /// The objects that would move if no Cluster were named.
    all: Vec<Option<Chosen>>,
    mentions: Mentions,
    /// Objects of Clusters that are not named, with their Cluster.
    others: BTreeMap<usize, usize>,
    /// Objects that move by themselves and say that they belong to a named Cluster, by Cluster.
    claimed: BTreeMap<usize, Vec<usize>>,
}

/// A user of a shared object: an object that stays, and the Cluster that it belongs to.
#[derive(Clone, Copy)]
struct User {
    object: usize,
    cluster: Option<usize>,
}

impl<'a> Finder<'a> {
    fn new(
        input: SelectionInput<'a>,
        named: BTreeSet<usize>,
        excluded: BTreeSet<usize>,
        all: Vec<Option<Chosen>>,
    ) -> Self {
        let chosen = all.iter().enumerate().filter(|(_, why)| why.is_some()).map(|(object, _)| object);
        let mentions = Mentions::from_inventory(input.inventory, chosen);
        let (others, claimed) = (BTreeMap::new(), BTreeMap::new());
        let mut finder = Self { input, named, excluded, all, mentions, others, claimed };
        finder.others = finder.belonging_to_others();
        finder.claimed = finder.belonging_to_named();
        finder
    }

    fn is_chosen(&self, object: usize) -> bool {
        self.all.get(object).is_some_and(Option::is_some)
    }

    /// Returns true if an object moves with everything it owns, and is no Cluster.
    fn is_root(&self, object: usize) -> bool {
        self.all.get(object) == Some(&Some(Chosen::Root)) && !self.input.is_cluster(object)
    }

    /// Returns true if an object moves by itself.
    fn is_alone(&self, object: usize) -> bool {
        matches!(self.all.get(object), Some(Some(Chosen::Root | Chosen::Labelled)))
    }

    /// Returns true if no controller acts on an object, so that copies on both sides are harmless.
    fn is_passive(&self, object: usize) -> bool {
        self.input.matches(object, |object| is_passive(&object.kind.group_kind))
    }

    /// Returns true if Clusters on both sides may use an object.
    fn is_sharable(&self, object: usize) -> bool {
        let accepted =
            |object: &Object| self.input.scope.accept.contains_kind(Risk::Shared, &object.kind.group_kind);
        self.is_passive(object) || self.is_acceptable(object) && self.input.matches(object, accepted)
    }

    /// Returns true if the user can accept that an object is on both sides: it moves by itself, or is a pool.
    fn is_acceptable(&self, object: usize) -> bool {
        let by_itself = matches!(
            self.all.get(object),
            Some(Some(Chosen::Root | Chosen::Labelled | Chosen::Needed { .. }))
        );
        let dangerous =
            |object: &Object| is_cluster(&object.kind.group_kind) || is_dangerous(&object.kind.group_kind);
        (by_itself || self.is_pool(object)) && !self.input.matches(object, dangerous)
    }

    /// Plugins' ties count only inside one namespace; `out_of_scope.rs` judges the others.
    fn follows_tie(&self, owner: usize, dependent: usize, tie: Tie) -> bool {
        tie != Tie::Plugin || self.input.is_inside(owner, dependent)
    }

    fn owners(&self, object: usize) -> impl Iterator<Item = usize> {
        let ties = self.input.graph.owners(object);
        ties.filter(move |(owner, tie)| self.follows_tie(*owner, object, *tie)).map(|(owner, _)| owner)
    }

    fn dependents(&self, object: usize) -> impl Iterator<Item = usize> {
        let ties = self.input.graph.dependents(object);
        ties.filter(move |(other, tie)| self.follows_tie(object, *other, *tie)).map(|(other, _)| other)
    }

    /// Objects that move by themselves and say that they belong to a named Cluster, by Cluster.
    fn belonging_to_named(&self) -> BTreeMap<usize, Vec<usize>> {
        let mut claimed: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, object) in self.input.objects().filter(|(at, _)| self.is_alone(*at)) {
            let cluster = self.find_claimed_cluster(index, object);
            if let Some(cluster) = cluster.filter(|cluster| self.named.contains(cluster)) {
                claimed.entry(cluster).or_default().push(index);
            }
        }
        claimed
    }

    /// Objects below a Cluster that is not named, or that say they belong to one. What a root owns doesn't count: a pool has
    /// addresses of many Clusters, and each belongs to one.
    fn belonging_to_others(&self) -> BTreeMap<usize, usize> {
        let mut others = BTreeMap::new();
        let mut queue = VecDeque::new();
        for (index, object) in self.input.objects() {
            let cluster = if is_cluster(&object.kind.group_kind) {
                Some(index)
            } else {
                self.find_claimed_cluster(index, object)
            };
            let cluster = cluster.filter(|cluster| {
                self.input.inventory.is_trusted(index)
                    && !self.named.contains(cluster)
                    && self.is_asked(*cluster)
            });
            queue.extend(cluster.map(|cluster| (index, cluster)));
        }
        while let Some((object, cluster)) = queue.pop_front() {
            if self.named.contains(&object) || others.contains_key(&object) {
                continue;
            }
            others.insert(object, cluster);
            if !self.is_root(object) {
                queue.extend(self.dependents(object).map(|dependent| (dependent, cluster)));
            }
        }
        others
    }

    /// Returns true if an object that stays can share the objects that it uses. Without named Clusters, only excluded objects can.
    fn is_asked(&self, object: usize) -> bool {
        !self.input.scope.clusters.is_empty() || self.excluded.contains(&object)
    }

    /// The Cluster that an object says it belongs to.
    fn find_claimed_cluster(&self, index: usize, object: &Object) -> Option<usize> {
        let asked = object.kind.group_kind.group == GROUP_CLUSTER || self.is_alone(index);
        let claimed = if asked { cluster_name_of(object) } else { None };
        let namespace = object.meta.namespace.as_deref().filter(|_| object.kind.namespaced)?;
        let name = claimed.as_ref().or_else(|| object.meta.labels.get(LABEL_CLUSTER))?;
        self.input.inventory.index_of_key(&ClusterName::new(namespace, name).key())
    }

    /// The named Clusters, with everything below them. A root that others use too is not entered: what is below it may be theirs.
    fn below_named(&self, selection: &mut Selection) -> BTreeSet<usize> {
        let mut own = BTreeSet::new();
        let mut queue = VecDeque::new();
        for &cluster in self.named.iter().filter(|cluster| self.is_chosen(**cluster)) {
            selection.choose(cluster, Chosen::Root);
            own.insert(cluster);
            let dependents =
                self.dependents(cluster).chain(self.claimed.get(&cluster).into_iter().flatten().copied());
            queue.extend(dependents.map(|dependent| (cluster, dependent)));
        }
        while let Some((cluster, object)) = queue.pop_front() {
            selection.visits += 1;
            let theirs =
                self.others.contains_key(&object) && self.is_root(object) && self.is_acceptable(object);
            let enter = self.is_chosen(object) && !self.input.is_cluster(object);
            if !enter || !selection.choose(object, Chosen::Below { root: cluster }) || theirs {
                continue;
            }
            own.insert(object);
            queue.extend(self.dependents(object).map(|dependent| (cluster, dependent)));
        }
        own
    }

    /// Adds the objects that the selection refers to, directly or not, and the objects that move with them. Returns the objects that
    /// may not be added, each with an object that refers to it.
    fn add_referred(&self, selection: &mut Selection) -> BTreeMap<usize, usize> {
        let mut queue: VecDeque<usize> = selection.iter().collect();
        let (mut entered, mut borrowed) = (BTreeSet::new(), BTreeMap::new());
        while let Some(object) = queue.pop_front() {
            for (need, what) in selection.needs.get(&object).cloned().unwrap_or_default() {
                if !self.follows_tie(object, what, Tie::Plugin) {
                    continue;
                }
                if !self.may_enter(what) {
                    borrowed.entry(what).or_insert(object);
                } else if selection.choose(what, Chosen::Needed { need }) {
                    queue.push_back(what);
                }
            }
            for what in self.mentions.objects_named_by(object).filter(|what| !self.may_enter(*what)) {
                borrowed.entry(what).or_insert(object);
            }
            for what in self.owners(object).chain(self.mentions.objects_named_by(object)) {
                selection.visits += 1;
                if self.may_enter(what) && selection.choose(what, Chosen::Referred { by: object }) {
                    queue.push_back(what);
                }
            }
            let root = match selection.reason(object) {
                Some(Chosen::Referred { .. } | Chosen::Below { .. }) if self.is_root(object) => object,
                Some(Chosen::Below { root }) if !self.named.contains(root) => *root,
                _ => continue,
            };
            if !entered.insert(object) {
                continue;
            }
            for dependent in self.dependents(object) {
                selection.visits += 1;
                let template = || {
                    self.input.matches(dependent, |object| object.kind.group_kind.kind.ends_with(TEMPLATE))
                };
                let others = self.others.contains_key(&dependent) && !template();
                let enter = self.is_chosen(dependent) && !self.input.is_cluster(dependent) && !others;
                if enter && selection.choose(dependent, Chosen::Below { root }) {
                    queue.push_back(dependent);
                }
            }
        }
        borrowed.retain(|what, _| !selection.has(*what));
        borrowed
    }

    /// Returns true if an object may be added to the selection. The Secrets of another Cluster stay with it.
    fn may_enter(&self, object: usize) -> bool {
        let theirs = self.others.contains_key(&object);
        let passive = self.is_passive(object)
            && !self.input.matches(object, |object| object.kind.group_kind.group.is_empty());
        let lent = || self.is_alone(object) || passive || self.is_pool(object);
        self.is_chosen(object) && !self.input.is_cluster(object) && (!theirs || lent())
    }

    /// Objects that something staying uses or may use, and what that is; with everything tied to them that isn't a named Cluster's
    /// own.
    fn find_shared(&self, selection: &Selection, own: &BTreeSet<usize>) -> BTreeMap<usize, User> {
        let stays = |object: &usize| {
            self.input.inventory.is_trusted(*object) && !selection.has(*object) && self.is_asked(*object)
        };
        let needs = selection.needs.iter().filter(|(object, _)| stays(object));
        let needed: BTreeMap<usize, usize> =
            needs.flat_map(|(&by, needs)| needs.iter().map(move |&(_, what)| (what, by))).collect();
        let mut neighbours = BTreeMap::new();
        for cluster in (0..self.all.len()).filter(|object| self.input.is_cluster(*object) && stays(object)) {
            let namespace = self.input.key(cluster).and_then(|key| key.namespace.as_deref());
            neighbours.entry(namespace).or_insert(cluster);
        }
        let mut shared = BTreeMap::new();
        let mut queue = VecDeque::new();
        for object in selection.iter().filter(|object| !self.named.contains(object)) {
            let theirs =
                self.others.get(&object).map(|&cluster| User { object: cluster, cluster: Some(cluster) });
            let used =
                || self.mentions.objects_naming(object).find(stays).or_else(|| needed.get(&object).copied());
            let below = || self.dependents(object).find(stays);
            let beside = || {
                let namespace = self.input.key(object)?.namespace.as_deref()?;
                neighbours.get(&Some(namespace)).copied().filter(|_| self.is_passive(object))
            };
            let user = |by: usize| User { object: by, cluster: self.others.get(&by).copied() };
            let by = theirs.or_else(|| used().map(user)).or_else(|| match own.contains(&object) {
                true => None,
                false => below().or_else(beside).map(user),
            });
            queue.extend(by.map(|by| (object, by)));
        }
        while let Some((object, by)) = queue.pop_front() {
            if shared.contains_key(&object) {
                continue;
            }
            shared.insert(object, by);
            if own.contains(&object) {
                continue;
            }
            let together = self.owners(object).chain(self.dependents(object));
            let together = together.filter(|other| selection.has(*other) && !own.contains(other));
            queue.extend(together.map(|other| (other, by)));
        }
        shared
    }

    fn is_pool(&self, object: usize) -> bool {
        let is_address = |object: usize| {
            self.input.matches(object, |object| {
                let kind = &object.kind.group_kind;
                kind.group.starts_with("ipam.") && kind.kind.ends_with("IPAddress")
            })
        };
        // An address is owned by its claim, too.
        let is_claim = self.input.matches(object, |object| object.kind.group_kind.kind.ends_with("Claim"));
        self.input.matches(object, |object| is_pool(&object.kind.group_kind))
            || !is_claim && self.is_alone(object) && self.dependents(object).any(is_address)
    }
}
