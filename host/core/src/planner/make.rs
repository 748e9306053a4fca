//! Makes a plan: selects, decides fates, checks owners, orders, and explains why the rest stays.

use std::collections::{BTreeMap, BTreeSet};

use super::{clusters, mapping_check};
use crate::discovery::graph::{Graph, Tie, matches_owner, owner_key};
use crate::discovery::implicit_links::{SoftLinks, soft_links};
use crate::discovery::inventory::Inventory;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::risk::Risk;
use crate::messages::safe_text;
use crate::messages::shell::Kubectl;
use crate::objects::names;
use crate::plan::{Note, Plan, Stay, StayReason, Step, Why};
use crate::planner::creation_order::{Order, order_selection};
use crate::planner::fate::{fate_of, find_kept};
use crate::plugins::relations::Relations;
use crate::request::scope::Scope;
use crate::selection::chosen_objects::{Chosen, Selection};
use crate::selection::exclude;
use crate::selection::input::SelectionInput;
use crate::selection::select::select_objects;
use crate::{GroupKind, Key, Object, OwnerReference, Side};

/// Largest number of owners of a chain that are printed.
const MAX_CHAIN: usize = 8;
/// Largest number of characters of a wrong reference that are printed.
const MAX_REFERENCE_CHARS: usize = 200;

/// Plans a move.
///
/// `elsewhere` are the Clusters of all other namespaces, as far as the user can read them: they show which classes are shared
/// with Clusters that stay.
pub fn make_plan(inventory: &Inventory, scope: &Scope, relations: &Relations, elsewhere: &[Object]) -> Plan {
    let mut plan = Plan::default();
    let soft = soft_links(inventory);
    let graph = Graph::new(inventory, &soft, relations, &mut plan.notes);
    let input = SelectionInput { inventory, graph: &graph, scope, relations };
    let mut selection = select_objects(input, &mut plan.notes);
    let matters = |object: usize| inventory.is_trusted(object) || selection.has(object);
    let unreadable = soft.unreadable.iter().filter(|(object, _)| matters(*object));
    plan.refusals.extend(unreadable.map(|(_, refusal)| refusal.clone()));
    plan.refusals.append(&mut selection.refusals);
    exclude::hide_consequences(&mut plan.refusals);
    plan.moving.clone_from(&selection.moving);
    let kept = find_kept(input, elsewhere, &selection, &mut plan.refusals);
    let order = order_selection(inventory, &graph, &selection, scope.accept.kinds(Risk::OwnerDropped));

    let maker = Maker { input, selection: &selection };
    let mut dropped = BTreeMap::new();
    for object in selection.iter() {
        plan.refusals.extend(maker.refuse_deleting(object));
        plan.refusals.extend(maker.refuse_misnamed_owner(object));
        let outside = maker.owners_outside(object, &mut plan);
        if !outside.is_empty() {
            dropped.insert(object, outside);
        }
    }
    maker.refuse_cycles(&order, &mut dropped, &mut plan);
    maker.check_classes(&soft, &mut plan);

    let positions: BTreeMap<usize, usize> =
        order.sequence.iter().enumerate().map(|(at, &object)| (object, at)).collect();
    plan.steps.reserve_exact(order.sequence.len());
    for &index in &order.sequence {
        let (Some(object), Some(key), Some(why)) =
            (inventory.get(index), maker.key(index), maker.explain(index))
        else {
            continue;
        };
        let after = order.after.get(&index).into_iter().flatten();
        let after: BTreeSet<usize> = after.filter_map(|owner| positions.get(owner).copied()).collect();
        plan.steps.push(Step {
            object: index,
            key,
            uid: object.meta.uid.clone(),
            after: after.into_iter().collect(),
            dropped_owners: dropped.remove(&index).unwrap_or_default(),
            fate: fate_of(&kept, index),
            why,
            cluster: None,
            in_target: None,
            changes: Vec::new(),
            content: None,
        });
    }
    clusters::set_clusters(&mut plan.steps, inventory);
    plan.stays = maker.list_stays();
    let unmapped = mapping_check::check_namespace_map(&plan, inventory, scope);
    plan.refusals.extend(unmapped);
    plan
}

struct Maker<'a> {
    input: SelectionInput<'a>,
    selection: &'a Selection,
}

impl Maker<'_> {
    fn key(&self, object: usize) -> Option<Key> {
        self.input.key(object).cloned()
    }

    fn explain(&self, object: usize) -> Option<Why> {
        let why = self.explain_choice(object)?;
        Some(match (self.selection.brought.get(&object), why) {
            (Some(brought), Why::Below(with) | Why::Needed { by: with, .. }) => {
                Why::AddedByPlugin { plugin: brought.plugin.clone(), with }
            }
            (_, why) => why,
        })
    }

    fn explain_choice(&self, object: usize) -> Option<Why> {
        Some(match self.selection.reason(object)? {
            Chosen::Root => Why::Root,
            Chosen::Below { root } => Why::Below(self.key(*root)?),
            Chosen::Labelled => Why::Labelled,
            Chosen::Carried => Why::AlsoCopied,
            Chosen::Referred { by } => Why::Referred(self.key(*by)?),
            Chosen::Needed { need } => {
                let need = self.input.relations.needs.get(*need)?;
                let by = self.key(self.input.inventory.index_of_uid(&need.object)?)?;
                Why::Needed { by, plugin: need.plugin.clone() }
            }
        })
    }

    /// Refuses an object that is being deleted. Its copy would bring it back (W18).
    fn refuse_deleting(&self, object: usize) -> Option<Refusal> {
        let key = self.key(object).filter(|_| self.input.matches(object, |it| it.meta.is_being_deleted()))?;
        let message = format!("{key} is being deleted; its copy would bring it back");
        let finalizers = on_source("get", &key, &["-o", "jsonpath={.metadata.finalizers}"]);
        let wait = Remedy::kubectl("wait until it is gone; to see what it waits for: ", finalizers, "");
        Some(Refusal::source("being-deleted", key, message, wait))
    }

    /// References that have the UID of an object that moves, but the kind, name or namespace of another: anyone with permission
    /// to create an object can write one. The target's garbage collector would look for an owner that doesn't exist, and delete
    /// the copy.
    fn refuse_misnamed_owner(&self, object: usize) -> Option<Refusal> {
        let (key, object) = self.key(object).zip(self.input.inventory.get(object))?;
        let mut owned = object.meta.owner_references.iter().filter_map(|reference| {
            let owner = self.input.inventory.index_of_uid(&reference.uid)?;
            Some((reference, self.key(owner).filter(|_| self.selection.has(owner))?))
        });
        // The first is enough: there may be thousands.
        let (reference, owner) = owned.find(|(reference, owner)| !matches_owner(reference, owner, &key))?;
        let written = format!("{} {}", reference.group_kind(), reference.name);
        let written = safe_text::to_line(&written, MAX_REFERENCE_CHARS);
        let kind = &owner.group_kind;
        let message = format!("{key} has an owner reference to {written}, with the uid of {owner} ({kind})");
        let edit = edit_remedy("correct the owner reference, or remove it: ", &key);
        Some(Refusal::source("owner-misnamed", key, message, edit))
    }

    /// The references of an object in the set to owners outside it. If an owner in the set remains, the object is copied without
    /// these references. If none remains, that is a refusal, unless the user allowed dropping their kinds.
    fn owners_outside(&self, index: usize, plan: &mut Plan) -> Vec<OwnerReference> {
        let (Some(object), Some(key)) = (self.input.inventory.get(index), self.key(index)) else {
            return Vec::new();
        };
        let references = &object.meta.owner_references;
        let inside = |reference: &&OwnerReference| {
            self.input.inventory.index_of_uid(&reference.uid).is_some_and(|owner| self.selection.has(owner))
        };
        let (inside, outside): (Vec<_>, Vec<_>) = references.iter().partition(inside);
        let stubborn: Vec<&OwnerReference> = outside
            .iter()
            .copied()
            .filter(|reference| {
                !self.input.scope.accept.contains_kind(Risk::OwnerDropped, &reference.group_kind())
            })
            .collect();
        let explained = |owner: &OwnerReference| {
            plan.refusals.iter().any(|refusal| refusal.code == exclude::CODE_NEEDED)
                && self.is_below_excluded(owner)
        };
        if inside.is_empty()
            && let Some(first) = stubborn.first()
        {
            // That refusal names the cause.
            if explained(first) {
                return outside.into_iter().cloned().collect();
            }
            let kinds = stubborn.iter().map(|reference| reference.group_kind()).collect();
            let chain = self.describe_owner_chain(first);
            let message = format!("{key} would move, but nothing that owns it does: it is owned by {chain}");
            let refusal = Refusal::source("owner-outside", key, message, self.move_owner(first));
            plan.refusals.push(refusal.with_remedy(Remedy::DropOwners { kinds }));
        } else if !outside.is_empty() {
            let names: Vec<Key> = outside.iter().map(|reference| self.owner_key(reference)).collect();
            let message = match names.as_slice() {
                [one] => format!("copied without its owner {one}, which does not move"),
                _ => format!("copied without its owners {}, which do not move", some_of(&names, 3)),
            };
            plan.notes.push(Note::new("owner-dropped", Some(&key), message));
        }
        outside.into_iter().cloned().collect()
    }

    /// Returns the remedy that makes an owner move: its own label if it was read, otherwise the labels of its kind.
    fn move_owner(&self, owner: &OwnerReference) -> Remedy {
        let words = "let its owner move too (";
        match self.input.inventory.index_of_uid(&owner.uid).and_then(|index| self.key(index)) {
            Some(key) => {
                let label = on_source("label", &key, &[&format!("{}=", names::LABEL_MOVE)]);
                Remedy::kubectl(words, label, ")")
            }
            None => {
                let (kind, listed, moves) = (owner.group_kind(), names::LABEL_DISCOVER, names::LABEL_MOVE);
                format!("{words}labels {listed} and {moves} on the CRD of {kind})").into()
            }
        }
    }

    fn owner_key(&self, reference: &OwnerReference) -> Key {
        self.input
            .inventory
            .index_of_uid(&reference.uid)
            .and_then(|owner| self.key(owner))
            .unwrap_or_else(|| owner_key(reference))
    }

    /// Returns true if the user excludes an owner, or one of its owners.
    fn is_below_excluded(&self, reference: &OwnerReference) -> bool {
        let mut at = reference;
        for _ in 0..MAX_CHAIN {
            let Some(owner) = self.input.inventory.index_of_uid(&at.uid) else { return false };
            if self.selection.excluded.contains(&owner) {
                return true;
            }
            let Some(next) =
                self.input.inventory.get(owner).and_then(|object| object.meta.owner_references.first())
            else {
                return false;
            };
            at = next;
        }
        false
    }

    /// `B, owned by C, which was not read`: from an owner to the end of the chain, and why the last one stays.
    fn describe_owner_chain(&self, reference: &OwnerReference) -> String {
        let mut text = String::new();
        let mut seen = BTreeSet::new();
        let mut at = reference;
        for _ in 0..MAX_CHAIN {
            text.push_str(&self.owner_key(at).to_string());
            let Some(owner) = self.input.inventory.index_of_uid(&at.uid) else {
                text.push_str(", which was not read");
                return text;
            };
            let next =
                self.input.inventory.get(owner).and_then(|object| object.meta.owner_references.first());
            let Some(next) = next.filter(|_| seen.insert(owner)) else {
                text.push_str(&format!(" ({})", self.stay_reason(owner)));
                return text;
            };
            text.push_str(", owned by ");
            at = next;
        }
        text.push_str("others");
        text
    }

    /// Owner cycles are refused; an object whose cycle an accepted drop breaks is copied without that reference.
    fn refuse_cycles(
        &self,
        order: &Order,
        dropped: &mut BTreeMap<usize, Vec<OwnerReference>>,
        plan: &mut Plan,
    ) {
        for cycle in &order.cycles {
            let mut members: Vec<Key> = cycle.iter().filter_map(|&object| self.key(object)).collect();
            let kinds: BTreeSet<GroupKind> = members.iter().map(|key| key.group_kind.clone()).collect();
            let Some(first) = members.first().cloned() else { continue };
            members.push(first.clone());
            let path: Vec<String> = members.iter().map(Key::to_string).collect();
            let refusal = Refusal::source(
                "owner-cycle",
                first.clone(),
                format!("owner references form a cycle: {}", path.join(" is owned by ")),
                Remedy::kubectl("remove one of the references (", on_source("edit", &first, &[]), ")"),
            );
            plan.refusals.push(refusal.with_remedy(Remedy::DropOneOwner { kinds }));
        }
        for &(dependent, owner) in &order.opened {
            let (Some(object), Some(uid)) = (
                self.input.inventory.get(dependent),
                self.input.inventory.get(owner).map(|owner| &owner.meta.uid),
            ) else {
                continue;
            };
            let references = object.meta.owner_references.iter().filter(|reference| reference.uid == *uid);
            dropped.entry(dependent).or_default().extend(references.cloned());
            if let Some(owner) = self.key(owner) {
                let message = format!("copied without its owner {owner}, to break a cycle of owners");
                plan.notes.push(Note::new("owner-dropped", self.input.key(dependent), message));
            }
        }
        for &(dependent, owner) in &order.ignored {
            if let Some(owner) = self.key(owner) {
                let message = format!("may be created before {owner}, because that belongs to it as well");
                plan.notes.push(Note::new("link-ignored", self.input.key(dependent), message));
            }
        }
    }

    /// A Cluster can't be reconciled without its class, nor a class that was fetched for it without its templates.
    fn check_classes(&self, soft: &SoftLinks, plan: &mut Plan) {
        for (cluster, class) in &soft.classes {
            let Some(key) = self.key(*cluster).filter(|_| self.selection.has(*cluster)) else { continue };
            if self.input.inventory.index_of_key(class).is_none() {
                let message = format!("{key} uses {class}, which does not exist");
                let edit = edit_remedy(&format!("create {class}, or let the Cluster name another: "), &key);
                plan.refusals.push(Refusal::source("class-missing", key, message, edit));
            }
        }
        for (class, named) in &soft.not_templates {
            if self.selection.has(*class) {
                let message = format!(
                    "names {named} and must name a template of the class's namespace: Cluster API refuses such a class, and it does not move with it"
                );
                plan.notes.push(Note::new("template-ignored", self.input.key(*class), message));
            }
        }
        for (class, template) in &soft.templates {
            let Some(key) = self.key(*class).filter(|_| self.selection.has(*class)) else { continue };
            match self.input.inventory.index_of_key(template) {
                Some(at) if self.selection.has(at) => {}
                Some(_) => {
                    let message = format!("names {template}, which stays");
                    plan.notes.push(Note::new("template-stays", Some(&key), message));
                }
                None if self.input.scope.includes_namespace(key.namespace.as_deref()) => {
                    let message = format!("names {template}, which was not read: it does not move");
                    plan.notes.push(Note::new("template-missing", Some(&key), message));
                }
                None => {
                    let message = format!("{key} names {template}, which does not exist");
                    let edit = edit_remedy("create it, or remove it from the class: ", &key);
                    plan.refusals.push(Refusal::source("template-missing", key, message, edit));
                }
            }
        }
    }

    fn list_stays(&self) -> Vec<Stay> {
        let outside =
            self.input.inventory.keys().iter().enumerate().filter(|(index, _)| !self.selection.has(*index));
        outside.map(|(index, key)| Stay { key: key.clone(), reason: self.stay_reason(index) }).collect()
    }

    fn stay_reason(&self, index: usize) -> StayReason {
        let Some(object) = self.input.inventory.get(index) else { return StayReason::NotBelow };
        if self.selection.excluded.contains(&index) {
            return StayReason::Excluded;
        }
        if let Some(said) = self.input.find_leave(index) {
            return StayReason::Left { plugin: said.plugin.clone(), reason: said.reason.clone() };
        }
        if let Some(reason) = self.selection.below_left.get(&index).and_then(|left| self.below_left(*left)) {
            return reason;
        }
        if object.kind.namespaced && !self.input.scope.includes_namespace(object.meta.namespace.as_deref()) {
            return StayReason::OtherNamespace;
        }
        match self.selection.named.stays.get(&index) {
            Some(Some(cluster)) if *cluster != index => {
                if let Some(cluster) = self.key(*cluster) {
                    return StayReason::OfOtherCluster { cluster };
                }
            }
            Some(_) => return StayReason::NotNamed,
            None => {}
        }
        let owner = self
            .input
            .graph
            .owners(index)
            .filter(|(_, tie)| *tie == Tie::Owner)
            .map(|(owner, _)| owner)
            .min();
        if let Some((owner, key)) = owner.and_then(|owner| Some((owner, self.key(owner)?))) {
            return if self.selection.has(owner) {
                StayReason::OwnerMovesAlone { owner: key }
            } else {
                StayReason::OwnerStays { owner: key }
            };
        }
        if let Some(reference) = self.input.graph.unread(index).first() {
            return StayReason::OwnerNotRead { owner: owner_key(reference) };
        }
        let kind = &object.kind.group_kind;
        if !object.kind.is_always_read() {
            return StayReason::KindNotLabelled { kind: kind.clone() };
        }
        if kind.group.is_empty() { StayReason::NotLinked } else { StayReason::NotBelow }
    }

    fn below_left(&self, left: usize) -> Option<StayReason> {
        let said = self.input.find_leave(left)?;
        Some(StayReason::BelowLeft { owner: self.key(left)?, plugin: said.plugin.clone() })
    }
}

fn edit_remedy(words: &str, key: &Key) -> Remedy {
    Remedy::kubectl(words, on_source("edit", key, &[]), "")
}

fn on_source(verb: &str, key: &Key, rest: &[&str]) -> Kubectl {
    Kubectl::object(Side::Source, verb, key, rest)
}
