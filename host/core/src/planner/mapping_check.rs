//! Checks, before any change, for references that a move with mapped namespaces can't rename.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::discovery::inventory::Inventory;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::risk::Risk;
use crate::messages::shell::Kubectl;
use crate::plan::{Plan, Step};
use crate::request::mapping::references;
use crate::request::scope::Scope;
use crate::{GroupKind, Key, Object, Side};

/// Largest number of fields that a refusal names.
const SHOWN: usize = 3;

/// Returns the reasons why the plan's objects can't have other namespaces in the target.
pub(crate) fn check_namespace_map(plan: &Plan, inventory: &Inventory, scope: &Scope) -> Vec<Refusal> {
    if scope.namespace_map.is_empty() {
        return Vec::new();
    }
    let check = Check { scope, names: plan.steps.iter().filter_map(namespace_and_name).collect() };
    let mut refusals = check.check_namespaces(plan);
    for step in &plan.steps {
        if let Some(object) = inventory.get(step.object) {
            check.check_object(&step.key, object, &mut refusals);
        }
    }
    refusals
}

fn namespace_and_name(step: &Step) -> Option<(&str, &str)> {
    Some((step.key.namespace.as_deref()?, &step.key.name))
}

struct Check<'a> {
    scope: &'a Scope,
    /// Namespaces and names of the objects that are copied.
    names: BTreeSet<(&'a str, &'a str)>,
}

impl Check<'_> {
    fn check_namespaces(&self, plan: &Plan) -> Vec<Refusal> {
        let map = &self.scope.namespace_map;
        let copied: BTreeSet<&str> = self.names.iter().map(|(namespace, _)| *namespace).collect();
        let mut refusals = Vec::new();
        for (from, to) in map.pairs() {
            if !copied.contains(from) && !plan.is_empty() {
                let message = format!("namespace {from} is to become {to}, and nothing in {from} is copied");
                let remedy = "correct the name, or leave it out";
                refusals.push(Refusal::source("namespace-unused", None, message, remedy));
            }
            if copied.contains(to) && !map.is_mapped(to) {
                let message = format!("namespace {from} is to become {to}, and {to} is copied too");
                let remedy = format!("choose a name for {to} as well, or another for {from}");
                refusals.push(Refusal::source("namespace-taken", None, message, remedy));
            }
        }
        refusals
    }

    fn check_object(&self, key: &Key, object: &Object, refusals: &mut Vec<Refusal>) {
        // One that can't be parsed is refused for that.
        let Ok(mut body) = object.value() else { return };
        let map = &self.scope.namespace_map;
        let mut taken = BTreeSet::new();
        // With another name, none of them is found again below.
        references::replace_namespaces(&key.group_kind, &mut body, &mut |name| {
            if map.is_taken(name) && !map.is_mapped(name) {
                taken.insert(name.to_owned());
            }
            Some(String::new())
        });
        for name in taken {
            let from = map.in_source(&name);
            let message = format!("{key} refers to namespace {name}, and {from} is to become {name}");
            let remedy = format!("choose another name for {from}");
            refusals.push(Refusal::source("namespace-taken", key.clone(), message, remedy));
        }
        if self.scope.accept.contains_kind(Risk::OldNamespace, &key.group_kind) {
            return;
        }
        references::visit_other_cluster_namespaces(&key.group_kind, &mut body, &mut |value| {
            *value = Value::Null
        });
        let accept = Remedy::AcceptOldNamespace { kind: key.group_kind.clone() };
        let mapped = key.namespace.as_deref().is_some_and(|namespace| map.in_target(namespace) != namespace);
        if let Some(what) = references::resources_named_after(&key.group_kind).filter(|_| mapped) {
            let message = format!(
                "the controller of {key} names {what} after the namespace, and would not find them again"
            );
            let keep = "keep the name of this namespace";
            let refusal = Refusal::source("named-after-namespace", key.clone(), message, keep);
            refusals.push(refusal.with_remedy(accept.clone()));
        }
        let mut found = Vec::new();
        let path = Path { parent: None, step: "", of_namespaces: false };
        self.find_mentions(&key.group_kind, &body, &path, &mut found);
        if !found.is_empty() {
            let message = format!(
                "{key} mentions a namespace that gets another name in {}, and whether that is a reference is not known",
                some_of(&found, SHOWN)
            );
            let edit = Kubectl::object(Side::Source, "edit", key, &[]);
            let edit = Remedy::kubectl("if the field isn't needed, empty it (", edit, ")");
            let refusal = Refusal::source("namespace-mentioned", key.clone(), message, edit);
            refusals.push(refusal.with_remedy(accept));
        }
    }

    /// Finds the fields of a value that seem to mean a mapped namespace.
    fn find_mentions(&self, kind: &GroupKind, value: &Value, path: &Path<'_>, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (step, value) in map {
                    let path = path.child(step);
                    if !path.is_skipped(kind) {
                        self.find_mentions(kind, value, &path, found);
                    }
                }
            }
            Value::Array(items) => {
                for value in items {
                    self.find_mentions(kind, value, &path.child("[]"), found);
                }
            }
            Value::String(text) if self.seems_to_mean(text, path.of_namespaces) => found.push(path.to_text()),
            _ => {}
        }
    }

    /// Returns true if a text seems to mean a mapped namespace. The text is the name itself in a field for namespaces, the namespace
    /// and name of a copied object, or contains the address of a service or the name of a service account.
    fn seems_to_mean(&self, text: &str, of_namespaces: bool) -> bool {
        self.scope.namespace_map.pairs().any(|(from, _)| {
            let named = || {
                text.strip_prefix(from)
                    .and_then(|rest| rest.strip_prefix('/'))
                    .is_some_and(|name| self.names.contains(&(from, name)))
            };
            (of_namespaces && text == from)
                || named()
                || text.contains(&format!(".{from}.svc"))
                || references::contains_users_of(text, from)
        })
    }
}

/// A place in a body.
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: &'a str,
    /// Whether names of namespaces are expected here.
    of_namespaces: bool,
}

impl Path<'_> {
    fn child<'a>(&'a self, step: &'a str) -> Path<'a> {
        let namespaces = step.to_ascii_lowercase().contains("namespace") || step == references::NAME_LABEL;
        Path { parent: Some(self), step, of_namespaces: self.of_namespaces || namespaces }
    }

    /// Returns true for fields that the move writes itself, that a copy starts without, or that only their readers understand.
    fn is_skipped(&self, kind: &GroupKind) -> bool {
        let parent = self.parent.map_or("", |parent| parent.step);
        match self.depth() {
            1 => self.step == "status" || (kind.is("", "Secret") && self.step != "metadata"),
            2 if parent == "metadata" => !["labels", "annotations"].contains(&self.step),
            3 => parent == "annotations" && references::is_known_annotation(self.step),
            _ => false,
        }
    }

    fn depth(&self) -> usize {
        self.parent.map_or(0, |parent| parent.depth() + 1)
    }

    fn to_text(&self) -> String {
        match self.parent.map(|parent| (parent.to_text(), self.step)) {
            None => String::new(),
            Some((before, "[]")) => format!("{before}[]"),
            Some((before, step)) if before.is_empty() => step.to_owned(),
            Some((before, step)) => format!("{before}.{step}"),
        }
    }
}
