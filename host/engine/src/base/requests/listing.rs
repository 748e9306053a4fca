//! Metadata lists of many kinds in many namespaces, where some failures don't stop a move.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::{GroupKind, Key, Kind, Meta};
use pivot_places::PlaceError;

use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side;

/// One list to request: a kind, and one of its namespaces.
pub(crate) type Collection = (Arc<Kind>, Option<String>);

/// The result of a list.
pub(crate) enum Listed {
    /// The objects that exist.
    There(Vec<Meta>),
    /// The kind is not served any more, or can't be listed: it has no objects.
    Absent,
    /// The user lacks permission; the server's answer.
    Forbidden(Failure),
}

impl Listed {
    /// The objects, for callers that can't continue without the list.
    pub(crate) fn require(self) -> Result<Vec<Meta>, Failure> {
        match self {
            Self::There(metas) => Ok(metas),
            Self::Absent => Ok(Vec::new()),
            Self::Forbidden(failure) => Err(failure),
        }
    }

    /// The objects that are known to exist.
    pub(crate) fn into_known(self) -> Vec<Meta> {
        match self {
            Self::There(metas) => metas,
            Self::Absent | Self::Forbidden(_) => Vec::new(),
        }
    }
}

/// Returns namespaced kinds once per namespace, the others once.
pub(crate) fn collections_in<'a>(
    kinds: impl IntoIterator<Item = &'a Arc<Kind>>,
    namespaces: &BTreeSet<String>,
) -> Vec<Collection> {
    let mut all = Vec::new();
    for kind in kinds {
        if kind.namespaced {
            all.extend(namespaces.iter().map(|namespace| (kind.clone(), Some(namespace.clone()))));
        } else {
            all.push((kind.clone(), None));
        }
    }
    all
}

/// Lists the metadata of all collections, up to a limit at once.
pub(crate) async fn list_metas(
    handle: &Handle,
    limit: usize,
    wanted: Vec<Collection>,
) -> Result<Vec<(Collection, Listed)>, Failure> {
    list_all(handle, limit, wanted, Detail::All).await
}

/// Lists only [identities](Meta::reduce_to_identity), for collections of thousands whose labels and annotations don't matter.
pub(crate) async fn list_identities(
    handle: &Handle,
    limit: usize,
    wanted: Vec<Collection>,
) -> Result<Vec<(Collection, Listed)>, Failure> {
    list_all(handle, limit, wanted, Detail::Identity).await
}

/// Extent of the metadata that is read.
#[derive(Clone, Copy)]
enum Detail {
    All,
    Identity,
}

/// Namespaces of a kind that are listed one by one. More are read with one list of all namespaces: a management cluster may have
/// hundreds of them, each with some fifty kinds to list.
const MAX_SEPARATE_LISTS: usize = 8;

/// Returns the namespaces in which to list objects of one kind; none stands for the whole cluster.
pub(crate) fn select_namespaces<'a>(keys: impl IntoIterator<Item = &'a Key>) -> BTreeSet<Option<&'a str>> {
    let namespaces: BTreeSet<_> = keys.into_iter().map(|key| key.namespace.as_deref()).collect();
    if namespaces.len() > MAX_SEPARATE_LISTS { BTreeSet::from([None]) } else { namespaces }
}

async fn list_all(
    handle: &Handle,
    limit: usize,
    wanted: Vec<Collection>,
    detail: Detail,
) -> Result<Vec<(Collection, Listed)>, Failure> {
    let mut by_kind: BTreeMap<(GroupKind, String), Vec<Collection>> = BTreeMap::new();
    for collection in wanted {
        let kind = &collection.0;
        by_kind.entry((kind.group_kind.clone(), kind.version.clone())).or_default().push(collection);
    }
    let (together, separate): (Vec<_>, Vec<_>) =
        by_kind.into_values().partition(|of_kind| of_kind.len() > MAX_SEPARATE_LISTS);
    let work = together.into_iter().map(|of_kind| list_together(handle, of_kind, detail).boxed());
    let mut found = Vec::new();
    let mut separate: Vec<Collection> = separate.into_iter().flatten().collect();
    for lists in side_by_side::try_all(limit, work.collect()).await? {
        match lists {
            Ok(lists) => found.extend(lists),
            Err(forbidden) => separate.extend(forbidden),
        }
    }
    let work = separate.into_iter().map(|collection| {
        async move {
            let listed = list_collection(handle, &collection.0, collection.1.as_deref(), detail).await?;
            Ok((collection, listed))
        }
        .boxed()
    });
    found.extend(side_by_side::try_all(limit, work.collect()).await?);
    Ok(found)
}

/// Reads the lists of one kind with one request. Returns `wanted` as an error if the user has permission in some namespaces only.
async fn list_together(
    handle: &Handle,
    wanted: Vec<Collection>,
    detail: Detail,
) -> Result<Result<Vec<(Collection, Listed)>, Vec<Collection>>, Failure> {
    let Some((kind, _)) = wanted.first() else { return Ok(Ok(Vec::new())) };
    Ok(match list_collection(handle, kind, None, detail).await? {
        Listed::There(metas) => Ok(split_by_namespace(wanted, metas)),
        Listed::Absent => Ok(wanted.into_iter().map(|collection| (collection, Listed::Absent)).collect()),
        Listed::Forbidden(_) => Err(wanted),
    })
}

/// Distributes the objects of all namespaces to the lists that were wanted.
fn split_by_namespace(wanted: Vec<Collection>, metas: Vec<Meta>) -> Vec<(Collection, Listed)> {
    let mut by_namespace: BTreeMap<Option<String>, Vec<Meta>> = BTreeMap::new();
    for meta in metas {
        by_namespace.entry(meta.namespace.clone()).or_default().push(meta);
    }
    let lists = wanted.into_iter().map(|collection| {
        let metas = by_namespace.remove(&collection.1).unwrap_or_default();
        (collection, Listed::There(metas))
    });
    lists.collect()
}

async fn list_collection(
    handle: &Handle,
    kind: &Arc<Kind>,
    namespace: Option<&str>,
    detail: Detail,
) -> Result<Listed, Failure> {
    let metas = match detail {
        Detail::All => handle.list_meta(kind, namespace).await,
        Detail::Identity => handle.list_identities(kind, namespace).await,
    };
    match metas {
        Ok(metas) => Ok(Listed::There(metas)),
        Err(Failure::Place { error: PlaceError::NotFound(_) | PlaceError::Unsupported(..), .. }) => {
            Ok(Listed::Absent)
        }
        Err(failure @ Failure::Place { error: PlaceError::Forbidden(_), .. }) => {
            Ok(Listed::Forbidden(failure))
        }
        Err(failure) => Err(failure),
    }
}

/// The key of a listed object.
pub(crate) fn key_of_meta(kind: &Kind, meta: &Meta) -> Key {
    Key::new(kind.group_kind.clone(), meta.namespace.as_deref(), &meta.name)
}
