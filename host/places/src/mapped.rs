//! A place whose namespaces have other names than its users use.
//!
//! The engine names objects as the source does. Objects are renamed on the way in and on the way out. Records are in a namespace
//! that no map may contain.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use pivot_core::records::route::EndKind;
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::{Key, Kind, Object};
use serde_json::Value;

use crate::place::{
    Access, AgentDescription, Capabilities, Change, Closing, Event, Identity, Listing, MetaListing, Opening,
    Patch, Place, Preconditions, Result, ServicePath, Throttled,
};

/// Another place, seen with the names that namespaces have in the source.
pub struct MappedPlace {
    place: Arc<dyn Place>,
    map: Arc<NamespaceMap>,
}

impl MappedPlace {
    /// Wraps a place; returns it unchanged if no name differs.
    pub fn wrap(place: Arc<dyn Place>, map: &NamespaceMap) -> Arc<dyn Place> {
        match map.is_empty() {
            true => place,
            false => Arc::new(Self { place, map: Arc::new(map.clone()) }),
        }
    }

    fn target_namespace<'a>(&'a self, name: Option<&'a str>) -> Option<&'a str> {
        name.map(|name| self.map.in_target(name))
    }

    fn target_key(&self, key: &Key) -> Key {
        self.map.into_target().rename_key(key)
    }

    fn source_object(&self, object: Object) -> Object {
        self.map.out_of_target().rename_object(object)
    }

    fn target_body(&self, kind: &Kind, body: &Value) -> Value {
        let mut body = body.clone();
        self.map.into_target().rename_body(kind, &mut body);
        body
    }
}

#[async_trait]
impl Place for MappedPlace {
    fn label(&self) -> &str {
        self.place.label()
    }

    fn kubeconfig_and_context(&self) -> Option<&str> {
        self.place.kubeconfig_and_context()
    }

    fn end_kind(&self) -> EndKind {
        self.place.end_kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.place.capabilities()
    }

    fn throttled_requests(&self) -> Throttled {
        self.place.throttled_requests()
    }

    fn agent(&self) -> Option<AgentDescription> {
        self.place.agent()
    }

    async fn identify(&self) -> Result<Identity> {
        self.place.identify().await
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        self.place.kinds().await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        let Listing { objects, resource_version } =
            self.place.list(kind, self.target_namespace(namespace)).await?;
        let objects = objects.into_iter().map(|object| self.source_object(object)).collect();
        Ok(Listing { objects, resource_version })
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        let namespace = self.map.in_target(namespace);
        let Listing { objects, resource_version } = self.place.list_labelled(kind, namespace, label).await?;
        let objects = objects.into_iter().map(|object| self.source_object(object)).collect();
        Ok(Listing { objects, resource_version })
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let mut listing = self.place.list_meta(kind, self.target_namespace(namespace)).await?;
        listing.metas.iter_mut().for_each(|meta| self.map.out_of_target().rename_meta(kind, meta));
        Ok(listing)
    }

    async fn list_identities(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let mut listing = self.place.list_identities(kind, self.target_namespace(namespace)).await?;
        listing.metas.iter_mut().for_each(|meta| self.map.out_of_target().rename_meta(kind, meta));
        Ok(listing)
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        Ok(self.place.get(kind, &self.target_key(key)).await?.map(|object| self.source_object(object)))
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        Ok(self.source_object(self.place.create(kind, &self.target_body(kind, body), change).await?))
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        let Patch { body, subresource, change } = patch;
        let patch = Patch { body: self.target_body(kind, body), subresource: *subresource, change: *change };
        Ok(self.source_object(self.place.patch(kind, &self.target_key(key), &patch).await?))
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        self.place.delete(kind, &self.target_key(key), preconditions).await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        let events = self.place.watch(kind, self.target_namespace(namespace), resource_version).await?;
        let map = self.map.clone();
        let events = events.map(move |event| {
            Ok(match event? {
                Event::Applied(object) => Event::Applied(map.out_of_target().rename_object(object)),
                Event::Deleted(object) => Event::Deleted(map.out_of_target().rename_object(object)),
            })
        });
        Ok(events.boxed())
    }

    async fn learn(&self, kinds: &[Arc<Kind>]) -> Result<()> {
        self.place.learn(kinds).await
    }

    async fn open(&self, opening: &Opening) -> Result<()> {
        self.place.open(opening).await
    }

    async fn close(&self, closing: &Closing) -> Result<()> {
        self.place.close(closing).await
    }

    async fn proxy_get(&self, service: &ServicePath, limit: usize) -> Result<(u16, Vec<u8>)> {
        let namespace = self.map.in_target(&service.namespace).to_owned();
        self.place.proxy_get(&ServicePath { namespace, ..service.clone() }, limit).await
    }

    fn used_permissions(&self) -> BTreeSet<Access> {
        self.place.used_permissions()
    }

    /// Returns permissions with the target's own names, because people must grant them there.
    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        let in_target = asked.iter().map(|access| Access {
            namespace: self.target_namespace(access.namespace.as_deref()).map(str::to_owned),
            ..access.clone()
        });
        let asked: Vec<Access> = in_target.collect();
        self.place.find_denied(&asked).await
    }
}
