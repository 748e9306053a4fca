//! Metadata lists of many kinds in many namespaces, where some failures don't stop a move.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::{Key, Kind, Meta};
use pivot_places::PlaceError;

use crate::outcome::failure::Failure;
use crate::requests::side::Handle;
use crate::requests::side_by_side;

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
    pub(crate) fn required(self) -> Result<Vec<Meta>, Failure> {
        match self {
            Self::There(metas) => Ok(metas),
            Self::Absent => Ok(Vec::new()),
            Self::Forbidden(failure) => Err(failure),
        }
    }

    /// The objects that are known to exist.
    pub(crate) fn known(self) -> Vec<Meta> {
        match self {
            Self::There(metas) => metas,
            Self::Absent | Self::Forbidden(_) => Vec::new(),
        }
    }
}

/// Namespaced kinds once per namespace, the others once.
pub(crate) fn collections<'a>(
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

/// Requests all of them, up to a limit at once.
pub(crate) async fn metas(
    handle: &Handle,
    limit: usize,
    wanted: Vec<Collection>,
) -> Result<Vec<(Collection, Listed)>, Failure> {
    request(handle, limit, wanted, Detail::All).await
}

/// The same for [identities](Meta::reduce_to_identity): where there may be thousands, and labels and annotations don't matter.
pub(crate) async fn identities(
    handle: &Handle,
    limit: usize,
    wanted: Vec<Collection>,
) -> Result<Vec<(Collection, Listed)>, Failure> {
    request(handle, limit, wanted, Detail::Identity).await
}

/// How much is read of each.
#[derive(Clone, Copy)]
enum Detail {
    All,
    Identity,
}

async fn request(
    handle: &Handle,
    limit: usize,
    wanted: Vec<Collection>,
    detail: Detail,
) -> Result<Vec<(Collection, Listed)>, Failure> {
    let work = wanted.into_iter().map(|collection| {
        async move {
            let (kind, namespace) = (&collection.0, collection.1.as_deref());
            let metas = match detail {
                Detail::All => handle.list_meta(kind, namespace).await,
                Detail::Identity => handle.list_identities(kind, namespace).await,
            };
            let listed = match metas {
                Ok(metas) => Listed::There(metas),
                Err(Failure::Place {
                    error: PlaceError::NotFound(_) | PlaceError::Unsupported(..), ..
                }) => Listed::Absent,
                Err(failure @ Failure::Place { error: PlaceError::Forbidden(_), .. }) => {
                    Listed::Forbidden(failure)
                }
                Err(failure) => return Err(failure),
            };
            Ok((collection, listed))
        }
        .boxed()
    });
    side_by_side::all(limit, work.collect()).await
}

/// The key of a listed object.
pub(crate) fn key(kind: &Kind, meta: &Meta) -> Key {
    Key::new(kind.group_kind.clone(), meta.namespace.as_deref(), &meta.name)
}
