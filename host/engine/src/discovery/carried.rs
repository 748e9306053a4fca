//! What is read because the user carries it along: lists of kinds in the namespaces that move or in others that are named, and
//! single objects anywhere.
//!
//! What nothing else asks for is read for this alone, and counts for nothing but itself
//! ([`pivot_core::inventory::Inventory::with_reached`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::part::{ObjectName, Part, covered};
use pivot_core::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key, Kind, Object};

/// A kind, and the namespace to read its objects from; `None` means all.
type List<'a> = (&'a Arc<Kind>, Option<String>);

/// What to read, apart from the lists that are read anyway.
pub(crate) fn wanted<'a>(
    kinds: &'a BTreeMap<GroupKind, Arc<Kind>>,
    scope: &Scope,
    anyway: &BTreeSet<List<'a>>,
) -> (BTreeSet<List<'a>>, BTreeSet<Key>) {
    let (mut lists, mut single) = (BTreeSet::new(), BTreeSet::new());
    for Part { kind, object, within, .. } in &scope.carry {
        // The plan refuses what is not found.
        let Some(kind) = kinds.get(kind) else { continue };
        if let Some(ObjectName { namespace, name }) = object {
            if kind.namespaced == namespace.is_some() {
                single.insert((kind, Key::new(kind.group_kind.clone(), namespace.as_deref(), name)));
            }
            continue;
        }
        let namespace = match (within, &scope.namespaces) {
            (Some(_), _) if !kind.namespaced => continue,
            (Some(one), _) => Some(one.clone()),
            (None, Namespaces::One(one)) if kind.namespaced => Some(one.clone()),
            (None, _) => None,
        };
        lists.insert((kind, namespace));
    }
    let read = |lists: &BTreeSet<List<'a>>, kind: &'a Arc<Kind>, namespace: Option<&String>| {
        lists.contains(&(kind, None)) || lists.contains(&(kind, namespace.cloned()))
    };
    lists.retain(|(kind, namespace)| !read(anyway, kind, namespace.as_ref()));
    let wider: BTreeSet<List<'a>> =
        lists.iter().filter(|(_, namespace)| namespace.is_none()).cloned().collect();
    lists.retain(|(kind, namespace)| namespace.is_none() || !wider.contains(&(*kind, None)));
    let is_new = |(kind, key): &(&'a Arc<Kind>, Key)| {
        !read(anyway, kind, key.namespace.as_ref()) && !read(&lists, kind, key.namespace.as_ref())
    };
    let single = single.into_iter().filter(is_new).map(|(_, key)| key).collect();
    (lists, single)
}

/// Of a list that was read for this, what counts: of other namespaces only what is carried, because the rest is nobody's business.
pub(crate) fn relevant(scope: &Scope, objects: Vec<Object>) -> impl Iterator<Item = Object> {
    objects
        .into_iter()
        .filter(|object| scope.includes(object.meta.namespace.as_deref()) || covered(&scope.carry, object))
}
