//! A cluster that stays in service, as a backup reads it.
//!
//! Each list asks the server for exactly one version. If a server can't answer that, plain lists are remembered, and compared with
//! later ones. Nothing is held in between, and nothing is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::records::route::EndKind;
use pivot_core::{GroupKind, Key, Kind, Meta, Object, Uid};
use serde_json::Value;

use crate::place::{
    Access, AgentDescription, Capabilities, Change, ChangedObjects, EXACT_LISTS, Event, Identity,
    KubeContext, Listing, MetaListing, Patch, Place, PlaceError, Preconditions, Result, ServicePath,
    Throttled, lacks_exact_lists,
};

/// The error of every write and every watch.
const READ_ONLY: PlaceError = PlaceError::unsupported("a snapshot of a cluster", "be changed or watched");

/// A cluster as it was at one version, or during the time between two lists.
pub struct SnapshotPlace {
    place: Arc<dyn Place>,
    lists: Lists,
}

/// The way in which a snapshot lists objects.
enum Lists {
    /// As they were at this version.
    AtVersion(String),
    /// As the first list of a kind had them.
    First(Mutex<BTreeMap<ListKey, Listing>>),
}

/// A kind, and the namespace whose objects were listed; none means all.
type ListKey = (Arc<Kind>, Option<String>);

impl SnapshotPlace {
    /// Takes a snapshot of a cluster at the version of a plain list.
    ///
    /// Kinds that the server has compiled in, such as Secrets, may be kept in another etcd. There, the same number is another time, and no
    /// request fails. So the `probed` kinds are listed one after the other: versions of one etcd never decrease. The first and the last
    /// must be the same kind.
    ///
    /// # Errors
    ///
    /// Fails with `Unsupported` if the place lists nothing at one version, or if the versions decrease.
    pub async fn take(place: Arc<dyn Place>, probed: &[Arc<Kind>], namespace: Option<&str>) -> Result<Self> {
        let mut versions = Vec::new();
        for kind in probed {
            versions.push((&kind.group_kind, place.read_version(kind, namespace).await?));
        }
        let version = find_last_version(place.label(), &versions)?;
        Ok(Self { place, lists: Lists::AtVersion(version) })
    }

    /// Returns a snapshot that keeps the first list of each kind. [`Place::find_changed`] tells whether they are of one time.
    pub fn of_first_lists(place: Arc<dyn Place>) -> Self {
        Self { place, lists: Lists::First(Mutex::default()) }
    }

    /// Returns the version; none if the lists are of no common version.
    pub fn version(&self) -> Option<&str> {
        match &self.lists {
            Lists::AtVersion(version) => Some(version),
            Lists::First(_) => None,
        }
    }
}

/// Compares a list with an earlier one.
fn compare_lists(kind: &Kind, before: &Listing, now: MetaListing, changes: &mut ChangedObjects) {
    let key = |meta: &Meta| Key {
        group_kind: kind.group_kind.clone(),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
    };
    let mut before: BTreeMap<&Uid, &Meta> =
        before.objects.iter().map(|object| (&object.meta.uid, &object.meta)).collect();
    for meta in now.metas {
        match before.remove(&meta.uid) {
            Some(earlier) if earlier.resource_version == meta.resource_version => {}
            _ => changes.changed.push((key(&meta), meta)),
        }
    }
    changes.gone.extend(before.into_values().map(key));
}

/// Returns the last of the versions, if none of them is before its predecessor.
fn find_last_version(label: &str, versions: &[(&GroupKind, String)]) -> Result<String> {
    let mut last = 0_u64;
    for (kind, version) in versions {
        // Another server than Kubernetes' may have other versions than numbers.
        let version = version.parse::<u64>().map_err(|_| lacks_exact_lists(label))?;
        if version < last {
            let what = format!("{EXACT_LISTS}: some kinds have separate versions, for example {kind}");
            return Err(PlaceError::Unsupported(label.to_owned().into(), what.into()));
        }
        last = version;
    }
    if last == 0 { Err(lacks_exact_lists(label)) } else { Ok(last.to_string()) }
}

#[async_trait]
impl Place for SnapshotPlace {
    fn label(&self) -> &str {
        self.place.label()
    }

    fn context(&self) -> Option<&KubeContext> {
        self.place.context()
    }

    fn kubeconfig_and_context(&self) -> Option<&str> {
        self.place.kubeconfig_and_context()
    }

    fn end_kind(&self) -> EndKind {
        EndKind::Snapshot
    }

    fn capabilities(&self) -> Capabilities {
        self.place.capabilities()
    }

    fn throttled_requests(&self) -> Throttled {
        self.place.throttled_requests()
    }

    async fn identify(&self) -> Result<Identity> {
        self.place.identify().await
    }

    fn vouches_for_kinds(&self) -> bool {
        self.place.vouches_for_kinds()
    }

    fn agent(&self) -> Option<AgentDescription> {
        self.place.agent()
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        self.place.kinds().await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        let lists = match &self.lists {
            Lists::AtVersion(version) => return self.place.list_snapshot(kind, namespace, version).await,
            Lists::First(lists) => lists,
        };
        let listed = (kind.clone(), namespace.map(str::to_owned));
        let first = lists.lock().unwrap_or_else(PoisonError::into_inner).get(&listed).cloned();
        if let Some(first) = first {
            return Ok(first);
        }
        let listing = self.place.list(kind, namespace).await?;
        let mut lists = lists.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(lists.entry(listed).or_insert(listing).clone())
    }

    async fn find_changed(&self) -> Result<ChangedObjects> {
        let mut changes = ChangedObjects::default();
        let Lists::First(lists) = &self.lists else { return Ok(changes) };
        let lists = lists.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for ((kind, namespace), before) in lists {
            let now = match self.place.list_identities(&kind, namespace.as_deref()).await {
                // The kind is gone with its definition.
                Err(PlaceError::NotFound(_)) => {
                    MetaListing { metas: Vec::new(), resource_version: String::new() }
                }
                now => now?,
            };
            compare_lists(&kind, &before, now, &mut changes);
        }
        Ok(changes)
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        let mut listing = self.list(kind, Some(namespace)).await?;
        listing.objects.retain(|object| object.meta.has_label(label));
        Ok(listing)
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let Listing { objects, resource_version } = self.list(kind, namespace).await?;
        let metas = objects.into_iter().map(|object| object.meta).collect();
        Ok(MetaListing { metas, resource_version })
    }

    /// Lists the kind: a server returns single objects only as they are now.
    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        let listing = self.list(kind, key.namespace.as_deref()).await?;
        Ok(listing.objects.into_iter().find(|object| object.meta.name == key.name))
    }

    async fn create(&self, _kind: &Arc<Kind>, _body: &Value, _change: Change) -> Result<Object> {
        Err(READ_ONLY)
    }

    async fn patch(&self, _kind: &Arc<Kind>, _key: &Key, _patch: &Patch) -> Result<Object> {
        Err(READ_ONLY)
    }

    async fn delete(&self, _kind: &Arc<Kind>, _key: &Key, _preconditions: &Preconditions) -> Result<()> {
        Err(READ_ONLY)
    }

    async fn watch(
        &self,
        _kind: &Arc<Kind>,
        _namespace: Option<&str>,
        _resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        Err(READ_ONLY)
    }

    async fn proxy_get(&self, service: &ServicePath, limit: usize) -> Result<(u16, Vec<u8>)> {
        self.place.proxy_get(service, limit).await
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        self.place.find_denied(asked).await
    }

    fn used_permissions(&self) -> BTreeSet<Access> {
        self.place.used_permissions()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(versions: [&str; 4]) -> Result<String> {
        let kinds = [("cluster.x-k8s.io", "Cluster"), ("", "Secret"), ("", "ConfigMap")];
        let kinds = kinds.map(|(group, kind)| GroupKind::new(group, kind));
        let probed = [&kinds[0], &kinds[1], &kinds[2], &kinds[0]];
        let versions: Vec<_> = probed.into_iter().zip(versions.map(str::to_owned)).collect();
        find_last_version("context prod", &versions)
    }

    #[test]
    fn kinds_of_another_etcd_are_noticed() {
        assert_eq!(last(["7", "7", "9", "10"]), Ok("10".to_owned()));
        // Secrets, or Secrets and ConfigMaps, are elsewhere, where the number is higher or lower.
        for apart in
            [["7", "90", "8", "9"], ["70", "9", "71", "72"], ["7", "90", "91", "8"], ["70", "9", "9", "71"]]
        {
            let error = last(apart).unwrap_err().to_string();
            assert!(
                error.starts_with("context prod can't list all kinds at one version: some kinds"),
                "{error}"
            );
        }
        for unknown in [["0", "0", "0", "0"], ["7", "", "8", "9"], ["a", "b", "c", "d"]] {
            assert_eq!(last(unknown), Err(lacks_exact_lists("context prod")));
        }
    }
}
