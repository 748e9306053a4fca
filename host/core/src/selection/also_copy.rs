//! Objects that no rule selects and that the user also wants in the target: credentials, policies, objects that an installer
//! needs.
//!
//! They are copied and kept. They are never paused or deleted, and their dependents stay. Objects that controllers on both sides
//! would act on are refused, because the objects of Cluster API and its providers belong to one side. Objects of a Cluster that
//! stays are refused too, because its keys must not leave its management cluster.
//!
//! An object with a label that the user names counts as named: it is copied, or the move is refused. Without a namespace,
//! pivot-host searches the label in the namespaces of the move and among cluster-scoped objects. A label may match no object.
//!
//! A kind alone stands for the objects that people created in the namespaces that move. It excludes objects that each cluster
//! creates for itself, credentials that are useless in another cluster, and objects owned by something that stays.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::discovery::dangerous_kinds::{is_dangerous, is_passive, is_pool};
use crate::discovery::graph::Tie;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::risk::Risk;
use crate::objects::names::{GROUP_CLUSTER, LABEL_CLUSTER, OURS, SECRETS_OF_ONE_CLUSTER};
use crate::objects::selector::Part;
use crate::plan::{ALSO_COPIED_NONE, Note};
use crate::plugins::relations::Said;
use crate::request::scope::ClusterName;
use crate::selection::chosen_objects::{Chosen, Selection};
use crate::selection::input::SelectionInput;
use crate::{GroupKind, Key, Object};

/// Maximum number of objects that a message names.
const MAX_LISTED_NAMES: usize = 3;
/// Name of the ConfigMap that the control plane writes into every namespace.
const ROOT_CA_NAME: &str = "kube-root-ca.crt";

/// Adds the objects that the user also copies to the selection, and refusals for objects that can't be copied.
pub(crate) fn add_also_copied(input: SelectionInput<'_>, selection: &mut Selection, notes: &mut Vec<Note>) {
    // If nothing moves, only that is reported.
    if selection.iter().next().is_none() {
        return;
    }
    let (mut carried, mut prevented) = (BTreeSet::new(), BTreeMap::new());
    let (named, kinds): (Vec<&Part>, Vec<&Part>) =
        input.scope.also_copy.iter().partition(|part| part.is_deliberate());
    for part in &named {
        for object in input.find_objects(part) {
            if selection.has(object) {
                notes.extend(part.object.is_some().then(|| input.note_move(object)));
                continue;
            }
            match input.find_obstacle(selection, part, object) {
                Some(refusal) => drop(prevented.entry(object).or_insert(refusal)),
                None => drop(carried.insert(object)),
            }
        }
    }
    let meant = kinds.iter().flat_map(|part| input.find_objects(part).map(move |object| (part, object)));
    let meant = meant
        .filter(|(part, object)| !selection.has(*object) && input.is_meant_by_kind(selection, part, *object));
    let meant = meant.map(|(_, object)| object).collect();
    carried.extend(input.filter_by_owner(selection, &carried, meant));
    let is_found = |part: &Part| match part.is_deliberate() {
        true => input.find_objects(part).next().is_some(),
        false => input.find_objects(part).any(|object| selection.has(object) || carried.contains(&object)),
    };
    let mut refusals: Vec<Refusal> = prevented.into_values().collect();
    let (definitions, others): (Vec<&Part>, Vec<&Part>) =
        input.scope.also_copy.iter().partition(|part| part.kind.is_definition());
    refusals.extend(definitions.into_iter().map(definition_refusal));
    let (unlabelled, missed): (Vec<&Part>, Vec<&Part>) =
        others.into_iter().filter(|part| !is_found(part)).partition(|part| part.label.is_some());
    notes.extend(unlabelled.into_iter().map(unmatched_label_note));
    refusals.extend(missed.into_iter().map(missing_refusal));
    refusals.extend(input.refuse_active_objects(&carried));
    for object in carried {
        selection.choose(object, Chosen::Carried);
    }
    selection.refusals.extend(refusals);
}

/// Returns the refusal for a part that matches no object.
fn missing_refusal(part: &Part) -> Refusal {
    let message = format!("{part} matches no object that can be copied");
    let check = "check its kind and group, its name, and its namespace (cluster-scoped objects have none)";
    Refusal::source("also-copied-missing", None, message, check).with_remedy(leave_out_remedy(part))
}

/// Returns the note about a label that no object has. A label that matches nothing isn't an error.
fn unmatched_label_note(part: &Part) -> Note {
    Note::new(ALSO_COPIED_NONE, None, format!("{part} matches no object: none has that label"))
}

/// Returns the refusal for a definition of a kind: a rollback would delete it with all its objects.
fn definition_refusal(part: &Part) -> Refusal {
    let message =
        format!("{part} can't be also copied: a rollback would delete it with all objects of its kind");
    Refusal::source("also-copied-definition", None, message, "create it in the target before the move")
        .with_remedy(leave_out_remedy(part))
}

fn leave_out_remedy(part: &Part) -> Remedy {
    Remedy::LeaveOutCarry { parts: [part.clone()].into() }
}

impl SelectionInput<'_> {
    fn find_objects(&self, part: &Part) -> impl Iterator<Item = usize> {
        // Some objects of other namespaces were read for other reasons.
        let anywhere = part.object.is_some() || part.within.is_some();
        let there = move |object: &Object| {
            anywhere || self.scope.includes_namespace(object.meta.namespace.as_deref())
        };
        self.objects().filter(move |(_, it)| part.covers(it) && there(it)).map(|(object, _)| object)
    }

    fn note_move(&self, object: usize) -> Note {
        let message = "moves without being carried: it is treated like everything else that moves";
        Note::new("also-copied-moves", self.key(object), message)
    }

    /// Returns the reason why a named object can't be also copied.
    fn find_obstacle(&self, selection: &Selection, part: &Part, object: usize) -> Option<Refusal> {
        let key = self.key(object)?;
        let (code, why, remedy) = if selection.excluded.contains(&object) {
            let parts = self.inventory.parts_covering(&self.scope.exclude, [key]);
            let why = "it is excluded as well".to_owned();
            ("also-copied-excluded", why, Remedy::LeaveOutExclude { parts })
        } else if let Some(said) = self.find_leave_statement(selection, object) {
            let why = format!("plugin {} leaves it: {}", said.plugin, said.reason);
            ("also-copied-left", why, Remedy::SwitchOff { plugin: said.plugin.clone() })
        } else if let Some(cluster) = self.find_staying_cluster(selection, object) {
            let why = format!("it belongs to {cluster}, which stays");
            ("belongs-to-what-stays", why, Remedy::NameCluster { cluster: cluster.clone() })
        } else {
            return None;
        };
        let message = format!("{key} can't be also copied: {why}");
        Some(Refusal::source(code, key.clone(), message, remedy).with_remedy(leave_out_remedy(part)))
    }

    /// Returns true if a part that names only a kind stands for an object.
    fn is_meant_by_kind(&self, selection: &Selection, part: &Part, object: usize) -> bool {
        let Some((key, it)) = self.key(object).zip(self.inventory.get(object)) else { return false };
        let here = key.namespace.as_ref().is_none_or(|namespace| selection.moving.contains(namespace));
        (here || part.within.is_some())
            && !selection.excluded.contains(&object)
            && self.find_leave_statement(selection, object).is_none()
            && self.find_staying_cluster(selection, object).is_none()
            && !it.meta.is_being_deleted()
            && !is_of_one_cluster(it)
    }

    /// Drops objects whose owners aren't in the target, because controllers that stay created them.
    fn filter_by_owner(
        &self,
        selection: &Selection,
        named: &BTreeSet<usize>,
        meant: BTreeSet<usize>,
    ) -> BTreeSet<usize> {
        let (mut waiting, mut found): (BTreeSet<usize>, BTreeSet<usize>) = meant
            .into_iter()
            .partition(|object| self.matches(*object, |it| !it.meta.owner_references.is_empty()));
        let mut queue: VecDeque<usize> =
            selection.iter().chain(named.iter().copied()).chain(found.iter().copied()).collect();
        while let Some(owner) = queue.pop_front() {
            for (dependent, tie) in self.graph.dependents(owner) {
                if tie == Tie::Owner && waiting.remove(&dependent) {
                    found.insert(dependent);
                    queue.push_back(dependent);
                }
            }
        }
        found
    }

    /// Returns the plugin's statement about an object that it leaves in the source, or about the object above it that it leaves.
    fn find_leave_statement(&self, selection: &Selection, object: usize) -> Option<&Said> {
        self.find_leave(selection.below_left.get(&object).copied().unwrap_or(object))
    }

    /// Returns the staying Cluster that an object belongs to or is labelled with.
    fn find_staying_cluster(&self, selection: &Selection, object: usize) -> Option<&Key> {
        if let Some(Some(cluster)) = selection.named.stays.get(&object) {
            return self.key(*cluster);
        }
        let name = self.inventory.get(object)?.meta.labels.get(LABEL_CLUSTER)?;
        let labelled = ClusterName::new(self.key(object)?.namespace.as_deref()?, name).key();
        let cluster = self.inventory.index_of_key(&labelled).filter(|cluster| !selection.has(*cluster))?;
        self.key(cluster)
    }

    /// Refuses objects that controllers on both sides would act on, and pools that would assign the same addresses, by kind.
    fn refuse_active_objects(&self, carried: &BTreeSet<usize>) -> Vec<Refusal> {
        let mut found: BTreeMap<&GroupKind, Vec<&Key>> = BTreeMap::new();
        for &object in carried {
            let Some((key, it)) = self.key(object).zip(self.inventory.get(object)) else { continue };
            let accepted = self.scope.accept.contains_kind(Risk::Shared, &key.group_kind);
            if is_acted_on(it) && !(accepted && is_acceptable(&key.group_kind)) {
                found.entry(&key.group_kind).or_default().push(key);
            }
        }
        let refused = found.into_iter().filter_map(|(kind, keys)| {
            let first = (*keys.first()?).clone();
            let (code, why) = if is_pool(kind) {
                ("pool-shared", "both sides would give out its addresses, and can give the same one twice")
            } else {
                ("also-copied-active", "controllers on both sides would act on it")
            };
            let message = format!("{} would also be copied, but {why}", some_of(&keys, MAX_LISTED_NAMES));
            let parts = self.inventory.parts_covering(&self.scope.also_copy, keys.iter().copied());
            let refusal = Refusal::source(code, first, message, Remedy::LeaveOutCarry { parts });
            let refusal = refusal.with_others(keys.into_iter().skip(1).cloned());
            let accept = is_acceptable(kind).then(|| Remedy::AcceptShared { kind: kind.clone() });
            Some(accept.into_iter().fold(refusal, Refusal::with_remedy))
        });
        refused.collect()
    }
}

/// Returns true if controllers of Cluster API or of a provider act on an object.
fn is_acted_on(object: &Object) -> bool {
    let kind = &object.kind.group_kind;
    let of_cluster_api = kind.group.ends_with(GROUP_CLUSTER) || is_pool(kind) || is_dangerous(kind);
    (object.kind.labels.discover || of_cluster_api) && !is_passive(kind)
}

/// Returns false for kinds of Cluster API and dangerous kinds: two sides must never work on the same machines.
fn is_acceptable(kind: &GroupKind) -> bool {
    kind.group != GROUP_CLUSTER && !is_dangerous(kind)
}

/// Returns true for objects that each cluster creates for itself, that are useless in another cluster, or in which moves store
/// their state.
fn is_of_one_cluster(object: &Object) -> bool {
    #[derive(serde::Deserialize)]
    struct View {
        #[serde(default, rename = "type")]
        of: String,
    }
    let kind = &object.kind.group_kind;
    let root_ca = kind.is("", "ConfigMap") && object.meta.name == ROOT_CA_NAME;
    let typed = || object.view::<View>().is_ok_and(|view| SECRETS_OF_ONE_CLUSTER.contains(&view.of.as_str()));
    let own = object.meta.labels.keys().any(|label| label.starts_with(OURS));
    root_ca || own || kind.is_event() || kind.is_secret() && typed()
}
