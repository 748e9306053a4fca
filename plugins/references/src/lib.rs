//! Relations of a provider's objects, from a table of the fields in which they name each other.
//!
//! The tables of the provider plugins have few kinds, and each target is in one place: in the object's own namespace, in the
//! namespace of the provider's controllers, or cluster-scoped. A field that names another namespace has no relation: its author
//! chose the namespace, and could copy the Secrets of others. The plan reports such an object if it stays.

use pivot_sdk::prelude::*;
use serde_json::Value;

#[cfg(test)]
mod tests;

/// The kind Secret.
pub const SECRET: Kind = Kind::core("Secret");
/// A credential in the object's own namespace. Objects of the table's kinds alone can name it.
pub const OWN_SECRET: Target = Target::need(SECRET, Place::OwnNamespace);
/// A credential in the object's own namespace that objects of other namespaces or kinds can name, too.
pub const SHARED_SECRET: Target = Target::share(SECRET, Place::OwnNamespace);

/// A field that names an object.
#[derive(Debug)]
pub struct Reference {
    /// Kinds of the objects with the field.
    pub from: &'static [Kind],
    /// Path of the map with the name. `[]` stands for each item of a list.
    pub parent: &'static str,
    /// Field with the name. The namespace can be written next to a field `name` only.
    pub name: &'static str,
    /// Path of the field that decides the target; empty if there is one target.
    pub decides: &'static str,
    /// Targets, by the text of the deciding field. An absent field has the text "".
    pub to: &'static [(&'static str, Target)],
}

/// The objects that a field names.
#[derive(Debug)]
pub struct Target {
    kind: Kind,
    place: Place,
    is_shared: bool,
}

/// The place of a named object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The namespace of the object that names it.
    OwnNamespace,
    /// The namespace of the provider's controllers.
    Namespace(&'static str),
    /// No namespace.
    Cluster,
}

impl Target {
    /// An object that moves with its last user.
    pub const fn need(kind: Kind, place: Place) -> Self {
        Self { kind, place, is_shared: false }
    }

    /// An object that is copied and kept: it can have users that the plugin doesn't see.
    pub const fn share(kind: Kind, place: Place) -> Self {
        Self { kind, place, is_shared: true }
    }

    fn relation(&self, object: &Object, written: Option<&str>, name: &str) -> Option<Relation> {
        let namespace = match self.place {
            Place::OwnNamespace => Some(object.namespace()?),
            Place::Namespace(one) => Some(one),
            Place::Cluster => None,
        };
        if !is_name(name) || written.is_some_and(|written| namespace != Some(written)) {
            return None;
        }
        let key =
            Key { kind: self.kind.clone(), namespace: namespace.map(str::to_owned), name: name.to_owned() };
        Some(if self.is_shared { Relation::Share(key) } else { Relation::Need(key) })
    }
}

/// Declares the kinds of a table, and the reach of its targets: their kinds, each in one namespace or cluster-scoped.
pub fn declare_table(mut about: About, table: &[Reference]) -> About {
    for kind in table.iter().flat_map(|reference| reference.from) {
        about = about.sees(kind.clone());
    }
    for (_, target) in table.iter().flat_map(|reference| reference.to) {
        let namespace = match target.place {
            Place::OwnNamespace => continue,
            Place::Namespace(one) => one,
            Place::Cluster => "*",
        };
        if !about.reach.iter().any(|reach| reach.kind == target.kind && reach.namespace == namespace) {
            about = about.reaches(target.kind.clone(), namespace);
        }
    }
    about
}

/// Returns a relation for each object that an object names, once.
pub fn relate_object(table: &[Reference], object: &Object) -> Vec<Relation> {
    let kind = object.kind();
    let mut relations = Vec::new();
    for reference in table.iter().filter(|reference| reference.from.iter().any(|from| from.matches(&kind))) {
        let decided = object.text(&format!("/{}", reference.decides.replace('.', "/"))).unwrap_or_default();
        let Some((_, target)) = reference.to.iter().find(|(text, _)| *text == decided) else { continue };
        visit_path(object.value(), reference.parent, &mut |parent| {
            let text = |field| parent.get(field).and_then(Value::as_str);
            let written = text("namespace").filter(|written| reference.name == "name" && !written.is_empty());
            let relation = text(reference.name).and_then(|name| target.relation(object, written, name));
            relations.extend(relation.filter(|relation| !relations.contains(relation)));
        });
    }
    relations
}

/// Returns true for a name that an object can have. The host refuses an answer with any other.
pub fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_end =
            |end: Option<char>| end.is_some_and(|end| end.is_ascii_lowercase() || end.is_ascii_digit());
        let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        is_end(part.chars().next()) && is_end(part.chars().last()) && part.chars().all(is_inner)
    };
    text.len() <= 253 && text.split('.').all(is_part)
}

/// Calls `visit` with each value at a path.
fn visit_path(value: &Value, path: &str, visit: &mut dyn FnMut(&Value)) {
    let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
    let mut descend = |value: &Value| match rest {
        Some(rest) => visit_path(value, rest, visit),
        None => visit(value),
    };
    match step.strip_suffix("[]") {
        Some(list) => {
            value.get(list).and_then(Value::as_array).into_iter().flatten().for_each(descend);
        }
        None => {
            value.get(step).into_iter().for_each(&mut descend);
        }
    }
}
