//! What is read because the user carries it along: lists of kinds in the namespaces that move, and single objects anywhere.
//!
//! What nothing else asks for is read for this alone, and counts for nothing but itself
//! ([`pivot_core::inventory::Inventory::with_reached`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::part::ObjectName;
use pivot_core::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key, Kind};

/// A kind, and the namespace to read its objects from; `None` means all.
type List<'a> = (&'a Arc<Kind>, Option<String>);

/// What to read, apart from the lists that are read anyway.
pub(crate) fn wanted<'a>(
    kinds: &'a BTreeMap<GroupKind, Arc<Kind>>,
    scope: &Scope,
    anyway: &BTreeSet<List<'a>>,
) -> (BTreeSet<List<'a>>, BTreeSet<Key>) {
    let (mut lists, mut single) = (BTreeSet::new(), BTreeSet::new());
    for part in &scope.carry {
        // The plan refuses what is not found.
        let Some(kind) = kinds.get(&part.kind) else { continue };
        let is_new = |namespace: Option<&String>| {
            !anyway.contains(&(kind, None)) && !anyway.contains(&(kind, namespace.cloned()))
        };
        match (&part.object, &scope.namespaces) {
            (Some(ObjectName { namespace, name }), _) => {
                if kind.namespaced == namespace.is_some() && is_new(namespace.as_ref()) {
                    single.insert(Key::new(part.kind.clone(), namespace.as_deref(), name));
                }
            }
            (None, Namespaces::One(one)) if kind.namespaced => {
                lists.extend(is_new(Some(one)).then(|| (kind, Some(one.clone()))));
            }
            (None, _) => lists.extend(is_new(None).then_some((kind, None))),
        }
    }
    (lists, single)
}
