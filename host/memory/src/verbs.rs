//! The verbs of `Place` for the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use pivot_core::objects::merge;
use pivot_core::records::route::EndKind;
use pivot_core::{GroupKind, Key, Kind, Object, Uid};
use pivot_places::{
    Access, AgentDescription, Capabilities, Change, Event, Identity, Listing, MetaListing, Patch, Place,
    Preconditions, Result, Subresource, Throttled,
};
use serde_json::Value;

use super::state::too_old;
use super::{MemoryPlace, lock_mutex};
use crate::body::{key_of, metadata_text};

fn collection_key(kind: &Kind, namespace: Option<&str>) -> Key {
    Key::new(kind.group_kind.clone(), namespace.filter(|_| kind.namespaced), "")
}

#[async_trait]
impl Place for MemoryPlace {
    fn label(&self) -> &str {
        &self.server.label
    }

    fn end_kind(&self) -> EndKind {
        EndKind::Cluster
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::API_SERVER
    }

    fn throttled_requests(&self) -> Throttled {
        Arc::clone(&self.server.throttled)
    }

    fn agent(&self) -> Option<AgentDescription> {
        lock_mutex(&self.server.agent).clone()
    }

    async fn identify(&self) -> Result<Identity> {
        let key = Key::new(GroupKind::new("", "Namespace"), None, "kube-system");
        let uid = self.body(&key).and_then(|body| Some(metadata_text(&body, "uid")?.to_owned()));
        Ok(uid.map_or(Identity::Unknown, |uid| Identity::Cluster(Uid(uid))))
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        Ok(self.lock_state().kinds.values().cloned().collect())
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        self.read_state("list", &collection_key(kind, namespace), |state| state.list(kind, namespace))
    }

    async fn read_version(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<String> {
        let key = collection_key(kind, namespace);
        self.read_state("list-version", &key, |state| Ok(state.list(kind, namespace)?.resource_version))
    }

    /// Keeps no earlier version.
    async fn list_snapshot(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        version: &str,
    ) -> Result<Listing> {
        let key = collection_key(kind, namespace);
        let listing = self.read_state("list-snapshot", &key, |state| state.list(kind, namespace))?;
        match listing.resource_version == version {
            true => Ok(listing),
            false => Err(too_old()),
        }
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        let mut listing = self.list(kind, Some(namespace)).await?;
        listing.objects.retain(|object| object.meta.has_label(label));
        Ok(listing)
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        self.read_state("list-meta", &collection_key(kind, namespace), |state| {
            let Listing { objects, resource_version } = state.list(kind, namespace)?;
            let metas = objects.into_iter().map(|object| object.meta).collect();
            Ok(MetaListing { metas, resource_version })
        })
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        self.read_state("get", key, |state| state.get(kind, key))
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        let key = key_of(kind, body)?;
        self.write_state("create", &key, body, change, |state| state.create(kind, &key, body, change))
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        let Patch { body, subresource, change } = patch;
        let (subresource, change) = (*subresource, *change);
        let verb = match subresource {
            Subresource::None => "patch",
            Subresource::Status => "patch-status",
        };
        self.write_state(verb, key, body, change, |state| {
            state.update_object(kind, key, subresource, change, |object| merge::apply_patch(object, body))
        })
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        self.write_state("delete", key, &Value::Null, Change::Real, |state| {
            state.delete(kind, key, preconditions)
        })
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        let key = collection_key(kind, namespace);
        let from = self.read_state("watch", &key, |state| {
            state.served_kind(kind).and(state.watch_start(resource_version))
        })?;
        let (kind, news) = (Arc::clone(kind), self.server.news.subscribe());
        let start = (self.clone(), kind, key.namespace, news, from);
        let events = stream::try_unfold(start, |(place, kind, namespace, mut news, from)| async move {
            loop {
                let next = place.lock_state().next_event(&kind, namespace.as_deref(), from)?;
                if let Some((version, event)) = next {
                    return Ok(Some((event, (place, kind, namespace, news, version))));
                }
                if news.changed().await.is_err() {
                    return Ok(None);
                }
            }
        });
        Ok(events.boxed())
    }

    fn used_permissions(&self) -> BTreeSet<Access> {
        self.lock_state().used.clone()
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        let state = self.lock_state();
        Ok(asked.iter().filter(|access| state.denied.contains(access)).cloned().collect())
    }
}
