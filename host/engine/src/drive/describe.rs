//! Reads one Cluster with all of its objects. Changes nothing.
//!
//! There is one list for each kind that a Cluster's machines have, all concurrently. Then there is one list for each kind that
//! those refer to. A kind with only one reference is not listed: reading one object needs less of the server and of the user's
//! permissions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::describe::{Described, Problem, find_references, needed_kinds};
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::{GroupKind, Key, Kind, Object, Side};
use pivot_places::{Place, PlaceError};

use crate::base::events::Watcher;
use crate::base::kinds::Kinds;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::stop::Stop;
use crate::base::requests::halt::Halter;
use crate::base::requests::listing;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::{self, LISTS, Work};
use crate::drive::stopping::stop_without_move;

/// The Cluster to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedCluster {
    /// Namespace of the Cluster; `None` means the namespace that has a Cluster of this name.
    pub namespace: Option<String>,
    /// Name of the Cluster.
    pub name: String,
    /// Whether the Cluster's sets of resources are read, too.
    pub resource_sets: bool,
}

/// Reads a Cluster.
pub async fn describe_cluster(
    place: Arc<dyn Place>,
    wanted: &WantedCluster,
    watcher: Arc<dyn Watcher>,
) -> Result<Described, Stop> {
    let handle = Handle::new(Side::Source, place, Halter::default(), watcher);
    read_cluster(&handle, wanted).await.map_err(|failure| Stop {
        state: "this command changes nothing".to_owned(),
        next: Vec::new(),
        ..stop_without_move(failure)
    })
}

async fn read_cluster(handle: &Handle, wanted: &WantedCluster) -> Result<Described, Failure> {
    let kinds = &Kinds::from_one_side(handle).await?.source;
    let namespace = wanted.namespace.as_deref();
    let needed = needed_kinds(wanted.resource_sets);
    let lists = needed.iter().filter_map(|kind| kinds.get(kind)).map(|kind| -> Work<'_, Vec<Object>> {
        async move {
            match handle.list(kind, namespace).await {
                // The definition was removed since the kinds were asked for.
                Err(Failure::Place { error: PlaceError::NotFound(_), .. }) => Ok(Vec::new()),
                other => Ok(other?.objects),
            }
        }
        .boxed()
    });
    let mut objects: Vec<Object> =
        side_by_side::try_all(LISTS, lists.collect()).await?.into_iter().flatten().collect();
    let Some(cluster) = find_cluster(&objects, wanted)? else {
        return Err(explain_not_found(handle, kinds, &objects, wanted).await?);
    };
    let mut of_kind: BTreeMap<GroupKind, BTreeSet<Key>> = BTreeMap::new();
    for key in find_references(&objects, &cluster) {
        of_kind.entry(key.group_kind.clone()).or_default().insert(key);
    }
    let mut unread = BTreeMap::new();
    let mut reads = Vec::new();
    for (kind, keys) in &of_kind {
        match kinds.get(kind) {
            Some(kind) => reads.push(read_referenced(handle, kind, keys).boxed()),
            None => drop(unread.insert(kind.clone(), Problem::not_served())),
        }
    }
    for (kind, read) in side_by_side::try_all(LISTS, reads).await? {
        match read {
            Ok(read) => objects.extend(read),
            Err(problem) => drop(unread.insert(kind, problem)),
        }
    }
    Ok(Described { cluster, objects, unread })
}

/// Reads the objects of a kind that are referred to. Without permission, the rest of the tree is still shown.
async fn read_referenced(
    handle: &Handle,
    kind: &Arc<Kind>,
    keys: &BTreeSet<Key>,
) -> Result<(GroupKind, Result<Vec<Object>, Problem>), Failure> {
    let several = keys.len() > 1;
    let read = match keys.first() {
        Some(first) if !several => handle.get(kind, first).await.map(|object| object.into_iter().collect()),
        first => {
            let namespace = first.and_then(|key| key.namespace.as_deref());
            handle.list(kind, namespace).await.map(|listing| listing.objects)
        }
    };
    let read = match read {
        Ok(mut objects) => {
            objects.retain(|object| keys.contains(&object.key()));
            Ok(objects)
        }
        Err(Failure::Place {
            error: error @ (PlaceError::Forbidden(_) | PlaceError::NotFound(_)), ..
        }) => Err(Problem::not_read(error.to_string())),
        Err(failure) => return Err(failure),
    };
    Ok((kind.group_kind.clone(), read))
}

/// Returns the Cluster if it is among these objects. Fails if several have its name.
fn find_cluster(objects: &[Object], wanted: &WantedCluster) -> Result<Option<Key>, Failure> {
    let same = objects.iter().map(Object::key).filter(|key| {
        is_cluster(&key.group_kind)
            && key.name == wanted.name
            && wanted.namespace.as_ref().is_none_or(|namespace| key.namespace.as_ref() == Some(namespace))
    });
    let mut same: Vec<Key> = same.collect();
    match (same.pop(), same.is_empty()) {
        (Some(last), false) => {
            same.push(last);
            same.sort();
            Err(Failure::SeveralClusters(same))
        }
        (found, _) => Ok(found),
    }
}

/// Returns the failure for a Cluster that doesn't exist. The failure names the Clusters of all namespaces, as far as the user
/// can list them.
async fn explain_not_found(
    handle: &Handle,
    kinds: &BTreeMap<GroupKind, Arc<Kind>>,
    objects: &[Object],
    wanted: &WantedCluster,
) -> Result<Failure, Failure> {
    let of_namespace = || objects.iter().map(Object::key).filter(|key| is_cluster(&key.group_kind)).collect();
    let kind = kinds.values().find(|kind| is_cluster(&kind.group_kind));
    let mut there: Vec<Key> = match (kind, &wanted.namespace) {
        (Some(kind), Some(_)) => match handle.list_identities(kind, None).await {
            Ok(metas) => metas.iter().map(|meta| listing::key_of_meta(kind, meta)).collect(),
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => of_namespace(),
            Err(failure) => return Err(failure),
        },
        _ => of_namespace(),
    };
    there.sort();
    let WantedCluster { namespace, name, .. } = wanted;
    let named = namespace.as_ref().map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}"));
    Ok(Failure::NoCluster { named, there })
}
