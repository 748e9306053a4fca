//! Finds objects that would be lost if the source were deleted: no move made a copy of them in the target.
//!
//! Reads metadata, and copies that may refer to credentials elsewhere. Reads them only if no move is under way: while one is,
//! neither side should be deleted.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::discovery::outside_secrets;
use pivot_core::objects::names;
use pivot_core::{Both, GroupKind, Key, Meta, Uid};
use pivot_places::PlaceError;
use serde::Serialize;

use crate::base::outcome::failure::Failure;
use crate::base::requests::listing::{self, Listed};
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::LISTS;
use crate::drive::open::Opened;

/// Objects that are left in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leftover {
    /// Whether nothing would be lost, as far as the user can see.
    pub may_be_deleted: bool,
    /// Objects of Cluster API and its providers, and their Secrets, of which no move made a copy in the target.
    pub only_here: Vec<Key>,
    /// Number of these objects with finalizers. The resources that they represent would have no controller.
    pub with_finalizers: usize,
    /// Number of objects that a move copied to the target and kept.
    pub on_both: usize,
    /// Secrets in providers' namespaces that the target doesn't have: credentials, mostly.
    pub provider_secrets: Vec<Key>,
    /// Secrets and ConfigMaps that the target doesn't have. In namespaces that moves copied from, moved objects may refer to
    /// them; in others, moved objects do.
    pub beside_moved: Vec<Key>,
    /// Kinds that the user can't list on one of the sides.
    pub unread: BTreeSet<GroupKind>,
}

/// Compares both sides. Returns `None` if one of them is not a management cluster.
pub(crate) async fn find_leftover(opened: &Opened) -> Result<Option<Leftover>, Failure> {
    let Both { source, target } = &opened.sides;
    if !(source.end_kind.is_cluster() && target.end_kind.is_cluster()) {
        return Ok(None);
    }
    let mut left = Leftover { unread: find_unread_kinds(opened), ..Leftover::default() };
    let (there, here) = tokio::try_join!(list_side(source, opened), list_side(target, opened))?;
    let (mut there, here) = (there.collect_known(&mut left.unread), here.collect_known(&mut left.unread));
    let provider_namespaces: BTreeSet<String> = there
        .keys()
        .filter(|key| key.group_kind.is(names::GROUP_CLUSTERCTL, "Provider"))
        .filter_map(|key| key.namespace.clone())
        .collect();
    there.retain(|key, _| key.group_kind.group != names::GROUP_CLUSTERCTL);
    let renamed = renamed_namespaces(opened).await?;
    let mut moved_from: BTreeSet<String> =
        here.iter().filter(|(_, meta)| is_copy(meta)).filter_map(|(key, _)| key.namespace.clone()).collect();
    moved_from.extend(renamed.keys().cloned());
    let is_there = |key: &Key| {
        let names = key.namespace.iter().filter_map(|name| renamed.get(name)).flatten();
        let mut others = names.map(|name| Key { namespace: Some(name.clone()), ..key.clone() });
        here.contains_key(key) || others.any(|key| here.contains_key(&key))
    };
    let uids: BTreeSet<Uid> =
        there.iter().filter(|(key, _)| !is_settings(key)).map(|(_, meta)| meta.uid.clone()).collect();
    let mut elsewhere = BTreeSet::new();
    for (key, meta) in there {
        let of_theirs = !is_settings(&key)
            || meta.owner_references.iter().any(|owner| uids.contains(&owner.uid))
            || meta.labels.contains_key(names::LABEL_CLUSTER);
        let of_a_provider = key.namespace.as_ref().is_some_and(|name| provider_namespaces.contains(name));
        // The target may have a different object of the same name.
        let is_marked = here.get(&key).is_some_and(is_copy);
        // A move keeps no Cluster, so the target's object is a copy of another Cluster.
        let copied = !is_cluster(&key.group_kind) && is_marked;
        if of_theirs && copied {
            left.on_both += 1;
        } else if of_theirs {
            left.with_finalizers += usize::from(!meta.finalizers.is_empty());
            left.only_here.push(key);
        } else if is_there(&key) || is_of_every_namespace(&key, &meta) {
            continue;
        } else if of_a_provider && is_secret(&key) {
            left.provider_secrets.push(key);
        } else if key.namespace.as_ref().is_some_and(|name| moved_from.contains(name)) {
            left.beside_moved.push(key);
        } else {
            elsewhere.insert(key);
        }
    }
    let named = find_named(opened, &here, &elsewhere, &mut left.unread).await?;
    left.beside_moved.extend(named);
    left.may_be_deleted = left.only_here.is_empty()
        && left.provider_secrets.is_empty()
        && left.beside_moved.is_empty()
        && left.unread.is_empty();
    Ok(Some(left))
}

/// Finds the `wanted` Secrets and ConfigMaps that copies in the target refer to.
async fn find_named(
    opened: &Opened,
    here: &BTreeMap<Key, Meta>,
    wanted: &BTreeSet<Key>,
    unread: &mut BTreeSet<GroupKind>,
) -> Result<BTreeSet<Key>, Failure> {
    let target = &opened.sides.target;
    let mut named = BTreeSet::new();
    let copied: BTreeSet<&GroupKind> =
        here.iter().filter(|(_, meta)| is_copy(meta)).map(|(key, _)| &key.group_kind).collect();
    let kinds = copied.into_iter().filter_map(|kind| opened.kinds.get(target.side).get(kind));
    for kind in kinds.filter(|kind| !wanted.is_empty() && outside_secrets::may_name(kind)) {
        match target.list(kind, None).await {
            Ok(listing) => {
                let copies = listing.objects.iter().filter(|object| is_copy(&object.meta));
                named.extend(copies.flat_map(|copy| outside_secrets::named_by(copy, wanted)).cloned());
            }
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => {
                unread.insert(kind.group_kind.clone());
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(named)
}

/// Returns the namespaces that moves renamed in the target, with their new names.
async fn renamed_namespaces(opened: &Opened) -> Result<BTreeMap<String, BTreeSet<String>>, Failure> {
    let mut renamed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for scope in opened.read_finished().await?.iter().filter_map(|finished| finished.scope.as_ref()) {
        for (source, target) in scope.namespace_map.pairs() {
            renamed.entry(source.to_owned()).or_default().insert(target.to_owned());
        }
    }
    Ok(renamed)
}

/// Returns the kinds whose definitions the user can't read: their labels might show that objects of them matter.
fn find_unread_kinds(opened: &Opened) -> BTreeSet<GroupKind> {
    let unread = opened.kinds.source.values().filter(|kind| kind.labels.unread);
    unread.map(|kind| kind.group_kind.clone()).collect()
}

/// Returns true if a move copied the object, from any source. Objects from manifests don't count.
fn is_copy(meta: &Meta) -> bool {
    meta.annotations.contains_key(names::MARK) && !meta.annotations.contains_key(names::ADDED)
}

fn is_secret(key: &Key) -> bool {
    key.group_kind.is_secret()
}

/// Returns true for Secrets and ConfigMaps. They belong to Cluster API only by an owner or a label.
fn is_settings(key: &Key) -> bool {
    is_secret(key) || key.group_kind.is("", "ConfigMap")
}

/// Returns true for objects that clusters create by themselves, and for descriptions of installed software.
fn is_of_every_namespace(key: &Key, meta: &Meta) -> bool {
    key.name == "kube-root-ca.crt"
        || meta.annotations.contains_key("kubernetes.io/service-account.name")
        || meta.labels.get("owner").is_some_and(|owner| owner == "helm")
        || meta.labels.keys().any(|label| label.starts_with("pivot-host.io/"))
}

/// The lists of one side.
struct SideLists(Vec<(listing::Collection, Listed)>);

impl SideLists {
    fn collect_known(self, unread: &mut BTreeSet<GroupKind>) -> BTreeMap<Key, Meta> {
        let mut known = BTreeMap::new();
        for ((kind, _), listed) in self.0 {
            if matches!(listed, Listed::Forbidden(_)) {
                unread.insert(kind.group_kind.clone());
            }
            known.extend(
                listed.into_known().into_iter().map(|meta| (listing::key_of_meta(&kind, &meta), meta)),
            );
        }
        known
    }
}

async fn list_side(handle: &Handle, opened: &Opened) -> Result<SideLists, Failure> {
    // The source's definitions decide: the target has no objects of a kind that it lacks.
    let kinds = opened.kinds.source.values().filter(|kind| {
        // Cluster API's definitions have no labels if clusterctl didn't install them.
        kind.labels.discover
            || kind.group_kind.group.ends_with(names::GROUP_CLUSTER)
            || kind.group_kind.is_secret()
            || kind.group_kind.is("", "ConfigMap")
            || kind.group_kind.is(names::GROUP_CLUSTERCTL, "Provider")
    });
    let wanted = kinds.filter_map(|kind| {
        let served = opened.kinds.get(handle.side).get(&kind.group_kind)?;
        Some((served.clone(), None))
    });
    Ok(SideLists(listing::list_metas(handle, LISTS, wanted.collect()).await?))
}
