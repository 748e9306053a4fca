//! The reach of a plugin's relations: one rule for the objects that a plugin sees and for those that it adds.
//!
//! A plugin is called for objects of the namespaces in scope, and its relations stay inside the namespaces that move. Other
//! namespaces and cluster-scoped objects are open to it only as far as its operator granted. Objects that it adds from there are
//! copied. They are deleted from the source only if that was granted, too.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::request::scope::{Namespaces, Scope};
use crate::{GroupKind, Key, Kind, Object};

/// Every namespace, and cluster-scoped objects.
pub const EVERYWHERE: &str = "*";

/// A part of the source outside the namespaces that move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reach {
    /// Objects of this kind; `*` as kind: every kind of the group.
    pub kind: GroupKind,
    /// In this namespace; [`EVERYWHERE`]: in all of them, and cluster-scoped objects.
    pub namespace: String,
    /// Whether objects that the plugin adds from there are deleted from the source.
    pub delete: bool,
}

impl Reach {
    /// Returns the reach that covers the kind and namespace of an object.
    pub fn for_key(key: &Key) -> Self {
        let namespace = key.namespace.clone().unwrap_or_else(|| EVERYWHERE.to_owned());
        Self { kind: key.group_kind.clone(), namespace, delete: false }
    }

    /// Returns true if the reach covers objects of a kind in a namespace (none: cluster-scoped).
    pub fn covers(&self, kind: &GroupKind, namespace: Option<&str>) -> bool {
        self.kind.covers(kind) && (self.namespace == EVERYWHERE || namespace == Some(self.namespace.as_str()))
    }

    /// Returns the intersection of two reaches, if there is one.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        let kind = self.kind.narrower_of(&other.kind)?.clone();
        let namespace = match (self.namespace.as_str(), other.namespace.as_str()) {
            (EVERYWHERE, narrower) | (narrower, EVERYWHERE) => narrower,
            (one, same) if one == same => one,
            _ => return None,
        };
        Some(Self { kind, namespace: namespace.to_owned(), delete: self.delete && other.delete })
    }
}

/// Returns true if two objects are in the same namespace in scope. Relations between them need no grant.
pub(crate) fn is_inside(scope: &Scope, one: &Key, other: &Key) -> bool {
    one.namespace.is_some()
        && one.namespace == other.namespace
        && scope.includes_namespace(one.namespace.as_deref())
}

/// Returns none if no reach lets a plugin add an object; otherwise, whether the object is then deleted from the source.
pub(crate) fn find_grant(reaches: &[Reach], key: &Key) -> Option<bool> {
    let fit = reaches.iter().filter(|reach| reach.covers(&key.group_kind, key.namespace.as_deref()));
    fit.map(|reach| reach.delete).max()
}

/// Returns true if a plugin with these reaches is called for an object.
pub fn is_shown(object: &Object, scope: &Scope, reaches: &[Reach]) -> bool {
    let namespace = object.meta.namespace.as_deref();
    let inside = object.kind.namespaced && scope.includes_namespace(namespace);
    inside || reaches.iter().any(|reach| reach.covers(&object.kind.group_kind, namespace))
}

/// Objects that plugins want to be read from the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Kinds, in the namespaces in scope.
    pub kinds: BTreeSet<GroupKind>,
    /// Objects outside those namespaces.
    pub reaches: BTreeSet<Reach>,
}

/// Returns true if all objects of a kind in the namespaces in scope are read.
pub fn is_read(kind: &Kind, wishes: &Wishes) -> bool {
    kind.is_always_read() || wishes.kinds.iter().any(|wish| wish.covers(&kind.group_kind))
}

/// Returns true if objects of a kind in a namespace (none: cluster-scoped) are read regardless of plugins' reach. The content of
/// all others is ignored ([`crate::discovery::inventory::Inventory::with_reached`]).
pub fn is_looked_for(kind: &Kind, namespace: Option<&str>, scope: &Scope) -> bool {
    if kind.namespaced { scope.includes_namespace(namespace) } else { kind.is_always_read() }
}

/// Returns the namespaces in which objects of a kind are read, with one list request each; none: all namespaces in one list.
pub fn namespaces_to_list(kind: &Kind, wishes: &Wishes, scope: &Scope) -> BTreeSet<Option<String>> {
    let reached = || wishes.reaches.iter().filter(|reach| reach.kind.covers(&kind.group_kind));
    let everywhere = reached().any(|reach| reach.namespace == EVERYWHERE);
    if !kind.namespaced {
        return if kind.is_always_read() || everywhere { BTreeSet::from([None]) } else { BTreeSet::new() };
    }
    let mut lists = BTreeSet::new();
    if is_read(kind, wishes) {
        lists.insert(match &scope.namespaces {
            Namespaces::All => None,
            Namespaces::One(one) => Some(one.clone()),
        });
    }
    lists.extend(reached().map(|reach| Some(reach.namespace.clone())));
    if everywhere || lists.contains(&None) { BTreeSet::from([None]) } else { lists }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{kind, objects};

    fn reach(kind: &str, namespace: &str, delete: bool) -> Reach {
        let kind = if kind == "*" { GroupKind::new("", "*") } else { self::kind(kind).group_kind.clone() };
        Reach { kind, namespace: namespace.into(), delete }
    }

    fn one(namespace: &str) -> Scope {
        Scope::new(Namespaces::One(namespace.into()))
    }

    #[test]
    fn reaches_cover_kinds_and_namespaces() {
        let secret = kind("Secret").group_kind.clone();
        for (reach, namespace, within) in [
            (reach("Secret", "x", false), Some("x"), true),
            (reach("*", "x", false), Some("x"), true),
            (reach("Secret", "x", false), Some("y"), false),
            (reach("ConfigMap", "x", false), Some("x"), false),
            (reach("Secret", "*", false), Some("y"), true),
            // Cluster-scoped.
            (reach("Secret", "x", false), None, false),
            (reach("Secret", "*", false), None, true),
        ] {
            assert_eq!(reach.covers(&secret, namespace), within, "{reach:?} {namespace:?}");
        }
    }

    #[test]
    fn reaches_meet_in_their_intersection() {
        let meet = |a: Reach, b: Reach| {
            let met = a.meet(&b);
            assert_eq!(met, b.meet(&a));
            met
        };
        let narrow = reach("Secret", "x", false);
        assert_eq!(meet(reach("*", "*", true), narrow.clone()), Some(narrow.clone()));
        assert_eq!(meet(reach("Secret", "*", true), reach("*", "x", true)), Some(reach("Secret", "x", true)));
        assert_eq!(meet(reach("Secret", "y", true), narrow.clone()), None);
        assert_eq!(meet(reach("ConfigMap", "x", true), narrow), None);
    }

    #[test]
    fn any_covering_reach_grants_deleting() {
        let key = crate::testing::key("Secret x/a");
        assert_eq!(find_grant(&[], &key), None);
        assert_eq!(find_grant(&[reach("Secret", "y", true)], &key), None);
        assert_eq!(find_grant(&[reach("Secret", "*", false)], &key), Some(false));
        assert_eq!(find_grant(&[reach("Secret", "x", true), reach("Secret", "*", false)], &key), Some(true));
    }

    #[test]
    fn plugins_see_scope_and_reach() {
        let shown = |scope: &Scope, reaches: &[Reach]| {
            let all = objects("Secret ns/a\nSecret x/b\nIdentity i");
            let shown: Vec<String> = all
                .iter()
                .filter(|object| is_shown(object, scope, reaches))
                .map(|o| o.meta.name.clone())
                .collect();
            shown.concat()
        };
        assert_eq!(shown(&one("ns"), &[]), "a");
        assert_eq!(shown(&Scope::new(Namespaces::All), &[]), "ab");
        assert_eq!(shown(&one("ns"), &[reach("Secret", "x", false)]), "ab");
        assert_eq!(shown(&one("ns"), &[reach("Identity", "*", false)]), "ai");
        assert_eq!(shown(&one("ns"), &[reach("Identity", "ns", false)]), "a");
    }

    #[test]
    fn only_reaches_are_listed_outside_the_scope() {
        let wishes = |kinds: &[&str], reaches: &[Reach]| Wishes {
            kinds: kinds.iter().map(|name| kind(name).group_kind.clone()).collect(),
            reaches: reaches.iter().cloned().collect(),
        };
        let read = |name: &str, wishes: &Wishes, scope: &Scope| {
            let lists = namespaces_to_list(&kind(name), wishes, scope).into_iter();
            lists.map(|list| list.unwrap_or_else(|| "*".into())).collect::<Vec<_>>().join(" ")
        };
        let (ns, all) = (one("ns"), Scope::new(Namespaces::All));
        for (name, kinds, reaches, of_one, of_all) in [
            ("Secret", &[][..], &[][..], "ns", "*"),
            ("Widget", &[], &[], "", ""),
            ("Widget", &["Widget"], &[], "ns", "*"),
            ("Widget", &[], &[reach("Widget", "x", false)], "x", "x"),
            ("Secret", &[], &[reach("Secret", "x", false)], "ns x", "*"),
            ("Secret", &[], &[reach("Secret", "x", false), reach("*", "*", false)], "*", "*"),
            // Only plugins that reach everywhere see cluster-scoped objects.
            ("Node", &["Node"], &[], "", ""),
            ("Node", &["Node"], &[reach("Node", "x", false)], "", ""),
            ("Node", &[], &[reach("Node", "*", false)], "*", "*"),
            ("Identity", &[], &[], "*", "*"),
        ] {
            let wishes = wishes(kinds, reaches);
            assert_eq!(read(name, &wishes, &ns), of_one, "{name} {wishes:?}");
            assert_eq!(read(name, &wishes, &all), of_all, "{name} {wishes:?}");
        }
    }
}
