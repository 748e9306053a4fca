//! Objects that stay in the source although objects that move can't work without them: credentials, identities, zones.
//!
//! The table of fields decides what is needed, because a name alone proves nothing. The search begins at the objects that move,
//! and continues through objects that stay: an identity needs its Secret. Cluster-scoped objects and identities count only where
//! something refers to them, and templates only where something other than a class does: a class's patches may change them.
//!
//! The search reads no server: callers look up the objects that [`Search::take_unknown`] returns.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::checks::providers::Provider;
use crate::discovery::body_references::Mentions;
use crate::discovery::dangerous_kinds::is_passive;
use crate::discovery::implicit_links::{TEMPLATE, is_cluster_class};
use crate::discovery::inventory::Inventory;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::shell::Kubectl;
use crate::objects::names::{GROUP_CLUSTER, LABEL_MOVE};
use crate::objects::selector::Part;
use crate::plan::{Plan, StayReason};
use crate::request::mapping::references::visit_path;
use crate::request::scope::Scope;
use crate::request::validate::find_name_error;
use crate::{GroupKind, Key, Object, OwnerReference, Side};

pub(super) mod table;
mod zones;

use table::find_rows;
use table::row::{ANNOTATIONS, BOOTSTRAP, INFRASTRUCTURE, NamedKind, is_unpausable};

/// Code of the refusal. Its first object stays, and the others need it.
pub const WOULD_DANGLE: &str = "would-dangle";
/// Code of the note about an object that stays although moved objects need it, as the user accepts.
pub const ACCEPTED_DANGLING: &str = "dangling-accepted";

/// Most objects that a message names.
const MAX_LISTED_NAMES: usize = 2;

/// Objects that their providers create by themselves.
const CREATED_BY_PROVIDERS: [(&str, &str); 1] = [("AWSClusterControllerIdentity", "default")];

/// An object that another one needs. It has several possible keys if its provider runs several times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Referent {
    /// Keys in the source.
    pub source: Vec<Key>,
    /// Keys in the target, by the source's names of namespaces; empty if unknown.
    pub target: Vec<Key>,
}

/// A field that names a referent.
struct Reference {
    by: Key,
    field: Field,
    /// The object that moves, from which references lead here.
    root: Key,
}

/// A field of an object.
struct Field {
    path: String,
    /// The bundled plugin that brings along what it names; "" if there is none.
    plugin: &'static str,
}

/// A search for objects that stay and would be missing in the target.
pub struct Search<'a> {
    inventory: &'a Inventory,
    plan: &'a Plan,
    scope: &'a Scope,
    source_providers: &'a [Provider],
    target_providers: Option<&'a [Provider]>,
    references: BTreeMap<Referent, Vec<Reference>>,
    unknown: Vec<Referent>,
    missing: BTreeMap<Referent, Object>,
}

impl<'a> Search<'a> {
    /// Begins at the objects that move. `target_providers` are none if they are unknown.
    pub fn new(
        inventory: &'a Inventory,
        plan: &'a Plan,
        scope: &'a Scope,
        source_providers: &'a [Provider],
        target_providers: Option<&'a [Provider]>,
    ) -> Self {
        let mut search = Self {
            inventory,
            plan,
            scope,
            source_providers,
            target_providers,
            references: BTreeMap::new(),
            unknown: Vec::new(),
            missing: BTreeMap::new(),
        };
        for object in search.find_roots() {
            search.follow_references(&object.key(), object);
        }
        search
    }

    /// The objects that are used by themselves.
    fn find_roots(&self) -> Vec<&'a Object> {
        let steps: BTreeSet<usize> = self.plan.steps.iter().map(|step| step.object).collect();
        let object = |index: &usize| self.inventory.get(*index);
        let has_rows =
            |index: &&usize| object(index).is_some_and(|it| find_rows(&it.kind.group_kind).next().is_some());
        let is_template = |it: &Object| it.kind.group_kind.kind.ends_with(TEMPLATE);
        let (templates, others): (Vec<usize>, Vec<usize>) =
            steps.iter().filter(has_rows).partition(|index| object(index).is_some_and(is_template));
        let mentions = Mentions::from_inventory(self.inventory, templates.iter().copied());
        // Machines of an old MachineSet have their own copies of what its template says.
        let uses = |kind: &GroupKind| !is_cluster_class(kind) && !kind.is(GROUP_CLUSTER, "MachineSet");
        let is_used = |template: &usize| {
            let mut users = mentions.objects_naming(*template).filter(|user| steps.contains(user));
            users.any(|user| object(&user).is_some_and(|user| uses(&user.kind.group_kind)))
        };
        let by_itself = |it: &&Object| {
            it.kind.namespaced && !it.kind.group_kind.kind.ends_with("Identity") && !is_used_up(it)
        };
        let others = others.iter().filter_map(object).filter(by_itself);
        others.chain(templates.iter().filter(|template| is_used(template)).filter_map(object)).collect()
    }

    /// Adds the references of an object, and follows them to objects that move.
    fn follow_references(&mut self, root: &Key, object: &Object) {
        for (field, referent) in self.find_referents(object) {
            let reference = Reference { by: object.key(), field, root: root.clone() };
            let known = self.references.entry(referent.clone()).or_default();
            known.push(reference);
            if known.len() > 1 || referent.source.iter().any(is_created_by_provider) {
                continue;
            }
            match self.plan.steps.iter().find(|step| referent.target.contains(&step.key)) {
                Some(step) => {
                    if let Some(next) = self.inventory.get(step.object) {
                        self.follow_references(root, next);
                    }
                }
                None => self.unknown.push(referent),
            }
        }
    }

    /// Returns what an object needs, with the field that says so.
    fn find_referents(&self, object: &Object) -> Vec<(Field, Referent)> {
        let kind = &object.kind.group_kind;
        let mut found = Vec::new();
        // Other checks refuse an object that can't be read.
        let Some(mut body) = find_rows(kind).next().and_then(|_| object.value().ok()) else { return found };
        let key = object.key();
        for (plugin, row) in find_rows(kind) {
            let Some(named) = row.find_named(&body) else { continue };
            visit_path(&mut body, row.parent, &mut |parent| {
                // The author of the body chose the text, which becomes a part of a path.
                let is_usable = |text: &&str| find_name_error(text).is_none();
                let text = |field| parent.get(field).and_then(Value::as_str).filter(is_usable);
                let Some(name) = text(row.name) else { return };
                let written = text("namespace").filter(|_| row.parent != ANNOTATIONS);
                let namespace = written.or(object.meta.namespace.as_deref());
                if let Some(referent) = self.locate_referent(named, namespace, name) {
                    let is_related = referent.source.iter().all(|to| row.is_related(named, &key, to));
                    let path = format!("{}.{}", row.parent, row.name);
                    found.push((Field { path, plugin: if is_related { plugin } else { "" } }, referent));
                }
            });
        }
        for zone in zones::find_selected_zones(kind, &body, self.inventory) {
            let plugin = zones::find_plugin(&body, &zone);
            found.push((Field { path: zones::SELECTOR.to_owned(), plugin }, Referent::with_key(zone)));
        }
        found
    }

    fn locate_referent(&self, named: NamedKind, namespace: Option<&str>, name: &str) -> Option<Referent> {
        let (provider, usual) = match named {
            NamedKind::InNamespace(kind) => {
                return Some(Referent::with_key(key_of_kind(kind, Some(namespace?), name)));
            }
            NamedKind::SecretInNamespace(_) => {
                return Some(Referent::with_key(key_of_kind("Secret", Some(namespace?), name)));
            }
            NamedKind::ClusterScoped(kind) => return Some(Referent::with_key(key_of_kind(kind, None, name))),
            NamedKind::SecretOfProvider(provider, usual) => (provider, usual),
        };
        let namespaces = |providers: &'a [Provider]| -> BTreeSet<&'a str> {
            let of_name = providers.iter().filter(|it| it.is_infrastructure_provider(provider));
            of_name.map(|provider| provider.namespace.as_str()).collect()
        };
        let or_else = |found: BTreeSet<&'a str>, other: &BTreeSet<&'a str>| match found.is_empty() {
            true => other.clone(),
            false => found,
        };
        let source = or_else(namespaces(self.source_providers), &BTreeSet::from([usual]));
        let map = &self.scope.namespace_map;
        let named_in_source = |name: &'a str| map.in_source(name);
        let target = self.target_providers.map(|providers| {
            or_else(namespaces(providers).into_iter().map(named_in_source).collect(), &source)
        });
        let keys = |namespaces: BTreeSet<&str>| {
            namespaces.into_iter().map(|namespace| key_of_kind("Secret", Some(namespace), name)).collect()
        };
        Some(Referent { target: target.map(keys).unwrap_or_default(), source: keys(source) })
    }

    /// Returns the referents, each once, whose existence must be looked up next.
    pub fn take_unknown(&mut self) -> Vec<Referent> {
        std::mem::take(&mut self.unknown)
    }

    /// Adds an object that only the source has, and follows its references.
    pub fn add_missing(&mut self, referent: Referent, object: Object) {
        let root = self.references.get(&referent).and_then(|all| all.first()).map(|first| first.root.clone());
        if let Some(root) = root {
            self.follow_references(&root, &object);
        }
        self.missing.insert(referent, object);
    }

    /// Returns a refusal for each missing object. `has_target` says whether the target was asked.
    pub fn into_refusals(self, has_target: bool) -> Vec<Refusal> {
        let stays = if has_target { "stays and isn't in the target" } else { "stays" };
        let refusal = |(referent, object): (&Referent, &Object)| {
            let references = self.references.get(referent)?;
            let first = references.first()?;
            let key = object.key();
            let users: Vec<&Key> = references.iter().map(|reference| &reference.by).collect();
            let of_root = match first.root == first.by {
                true => String::new(),
                false => format!(", which {} uses", first.root),
            };
            let message = format!(
                "{key} {stays}, but is needed by {} ({}){of_root}",
                some_of(&users, MAX_LISTED_NAMES),
                first.field.path
            );
            let accept = Remedy::AcceptDangling { kind: key.group_kind.clone() };
            let mut remedies = self.find_remedies(references, referent, object);
            remedies.push(accept);
            let first = remedies.remove(0);
            let roots = references.iter().map(|reference| reference.root.clone());
            let users: BTreeSet<Key> = references.iter().map(|it| it.by.clone()).chain(roots).collect();
            let refusal = Refusal::source(WOULD_DANGLE, key, message, first).with_others(users);
            Some(remedies.into_iter().fold(refusal, Refusal::with_remedy))
        };
        self.missing.iter().filter_map(refusal).collect()
    }

    /// Returns the ways to have an object in the target.
    fn find_remedies(&self, references: &[Reference], referent: &Referent, object: &Object) -> Vec<Remedy> {
        let key = object.key();
        let stay = self.plan.stays.iter().find(|stay| stay.key == key).map(|stay| &stay.reason);
        match stay {
            Some(StayReason::Excluded) => {
                let parts = self.inventory.parts_covering(&self.scope.exclude, [&key]);
                return vec![Remedy::LeaveOutExclude { parts }];
            }
            Some(StayReason::OfOtherCluster { cluster }) => {
                return vec![Remedy::NameCluster { cluster: cluster.clone() }];
            }
            _ => {}
        }
        let mut remedies = Vec::new();
        if is_passive(&key.group_kind) && referent.target.contains(&key) {
            remedies.push(Remedy::AlsoCopy { part: Part::of_object(&key) });
        }
        let moves = key.namespace.as_ref().is_none_or(|namespace| self.plan.moving.contains(namespace));
        if moves && object.kind.is_always_read() && !is_unpausable(&key.group_kind) {
            let label = Kubectl::object(Side::Source, "label", &key, &[&format!("{LABEL_MOVE}=")]);
            remedies.push(Remedy::kubectl("let it move, too: ", label, ""));
        }
        if is_unpausable(&key.group_kind) {
            let by_hand = "create it in the target before the move, with the same names of stacks and roles; its controller ignores the \
                           pause, so never delete it in the source while its cluster runs";
            remedies.push(by_hand.into());
        }
        if remedies.is_empty() {
            remedies.push("create it in the target before the move".into());
        }
        let by = references.first().and_then(|first| first.by.namespace.as_ref());
        if key.namespace.as_ref().zip(by).is_some_and(|(namespace, by)| namespace != by) {
            let first =
                "find out whether the object that names it may use it: its author chose the namespace";
            remedies.insert(0, first.into());
        }
        let plugin =
            references.iter().map(|reference| reference.field.plugin).find(|plugin| !plugin.is_empty());
        remedies
            .extend(plugin.map(|plugin| Remedy::EnablePlugin { plugin: plugin.to_owned(), directory: None }));
        remedies
    }
}

impl Referent {
    /// The referent that has one key on both sides.
    fn with_key(key: Key) -> Self {
        Self { source: vec![key.clone()], target: vec![key] }
    }
}

fn key_of_kind(kind: &str, namespace: Option<&str>, name: &str) -> Key {
    let group = if kind == "Secret" { "" } else { INFRASTRUCTURE };
    Key::new(GroupKind::new(group, kind), namespace, name)
}

/// Returns true for the rendered configuration of a Machine. Its provider renders it only once.
fn is_used_up(object: &Object) -> bool {
    let is_of_pool = |owner: &OwnerReference| owner.group_kind().is(GROUP_CLUSTER, "MachinePool");
    object.kind.group_kind.is(BOOTSTRAP, "KubeadmConfig")
        && !object.meta.owner_references.iter().any(is_of_pool)
        && object.value().is_ok_and(|body| body.pointer("/status/dataSecretName").is_some())
}

fn is_created_by_provider(key: &Key) -> bool {
    CREATED_BY_PROVIDERS
        .iter()
        .any(|(kind, name)| key.group_kind.is(INFRASTRUCTURE, kind) && key.name == *name)
}

#[cfg(test)]
mod tests;
