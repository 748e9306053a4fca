//! The reads for `--also-copy`: lists of kinds in the namespaces that move or in others that are named, and single objects
//! anywhere.
//!
//! Objects that are read only for `--also-copy` select nothing else ([`pivot_core::discovery::inventory::Inventory::with_reached`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::objects::selector::{ObjectName, Part, contains_object};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key, Kind, Object};

/// A kind, and the namespace to read its objects from; `None` means all.
type List<'a> = (&'a Arc<Kind>, Option<String>);

/// Returns the lists and the single objects to read in addition to the lists in `anyway`.
pub(crate) fn select_reads<'a>(
    kinds: &'a BTreeMap<GroupKind, Arc<Kind>>,
    scope: &Scope,
    anyway: &BTreeSet<List<'a>>,
) -> (BTreeSet<List<'a>>, BTreeSet<Key>) {
    let (mut lists, mut single) = (BTreeSet::new(), BTreeSet::new());
    for Part { kind, object, within, .. } in &scope.also_copy {
        // The plan refuses a kind that the source doesn't serve.
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
    let all: BTreeSet<List<'a>> =
        lists.iter().filter(|(_, namespace)| namespace.is_none()).cloned().collect();
    lists.retain(|(kind, namespace)| {
        let narrower = namespace.is_some() && contains_list(&all, kind, None);
        !narrower && !contains_list(anyway, kind, namespace.as_ref())
    });
    let single = single.into_iter().filter(|(kind, key)| {
        let namespace = key.namespace.as_ref();
        !contains_list(anyway, kind, namespace) && !contains_list(&lists, kind, namespace)
    });
    let single = single.map(|(_, key)| key).collect();
    (lists, single)
}

/// Returns true if one of the lists has the objects of a kind in a namespace.
fn contains_list<'a>(lists: &BTreeSet<List<'a>>, kind: &'a Arc<Kind>, namespace: Option<&String>) -> bool {
    lists.contains(&(kind, None)) || lists.contains(&(kind, namespace.cloned()))
}

/// Keeps the objects of a list that count. From other namespaces, only the also copied objects count.
pub(crate) fn keep_relevant(scope: &Scope, objects: Vec<Object>) -> impl Iterator<Item = Object> {
    objects.into_iter().filter(|object| {
        scope.includes_namespace(object.meta.namespace.as_deref())
            || contains_object(&scope.also_copy, object)
    })
}

#[cfg(test)]
mod tests {
    use pivot_core::KindLabels;
    use pivot_core::request::selector_syntax;

    use super::*;

    /// Returns the lists and the single objects that these parts need, in addition to the Secrets of `ns`.
    fn reads(namespaces: Namespaces, parts: &[&str]) -> (Vec<String>, Vec<String>) {
        let kind = |name: &str, namespaced| Kind {
            group_kind: GroupKind::new("", name),
            version: "v1".into(),
            plural: name.to_lowercase(),
            namespaced,
            status_subresource: false,
            served: vec!["v1".into()],
            labels: KindLabels::default(),
        };
        let kinds = [kind("Secret", true), kind("ConfigMap", true), kind("Node", false)];
        let kinds = kinds.map(|kind| (kind.group_kind.clone(), Arc::new(kind))).into();
        let kinds: BTreeMap<GroupKind, Arc<Kind>> = kinds;
        let mut scope = Scope::new(namespaces);
        scope.also_copy.extend(parts.iter().map(|part| selector_syntax::parse_part(part).unwrap()));
        let secrets = kinds.get(&GroupKind::new("", "Secret")).unwrap();
        let anyway = BTreeSet::from([(secrets, Some("ns".to_owned()))]);
        let (lists, single) = select_reads(&kinds, &scope, &anyway);
        let list = |(kind, namespace): (&Arc<Kind>, Option<String>)| {
            format!("{} {}", kind.group_kind, namespace.unwrap_or_else(|| "*".to_owned()))
        };
        (lists.into_iter().map(list).collect(), single.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn also_copied_objects_are_read_once() {
        let one = || Namespaces::One("ns".into());
        let none: [&str; 0] = [];
        for (parts, lists, single) in [
            (&["Secret", "Secret:a", "Secret/ns/*", "Secret/ns/x"][..], &none[..], &none[..]),
            (&["Secret/keys/*:a", "Secret/keys/x", "Secret/other/y"], &["Secret keys"], &["Secret other/y"]),
            (&["ConfigMap:a", "ConfigMap/ns/*", "ConfigMap/ns/x"], &["ConfigMap ns"], &none),
            (&["Node:a", "Node", "Node/n"], &["Node *"], &none),
            // An object that can't exist is not looked for.
            (&["Node/ns/*", "Node/ns/n", "ConfigMap/x", "Other"], &none, &none),
        ] {
            let (found, named) = reads(one(), parts);
            assert_eq!(
                (found, named),
                (
                    lists.iter().map(ToString::to_string).collect(),
                    single.iter().map(ToString::to_string).collect()
                ),
                "{parts:?}"
            );
        }
        let (lists, single) =
            reads(Namespaces::All, &["ConfigMap:a", "ConfigMap/keys/*", "ConfigMap/keys/x", "Secret/keys/*"]);
        assert_eq!((lists, single), (vec!["ConfigMap *".to_owned(), "Secret keys".to_owned()], vec![]));
    }
}
