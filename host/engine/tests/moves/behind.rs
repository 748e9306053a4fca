//! Sides behind a link. With `PIVOT_LINKED=source`, `target` or `both` all tests of this binary that take their sides from the stage
//! move over one, and must not notice; without it they don't, because most of them count calls and need no third party for that.

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::records::route::EndKind;
use pivot_core::{Key, Kind, Object};
use pivot_link::{Guard, LinkPlace, Role, serve};
use pivot_memory::MemoryPlace;
use pivot_places::{
    Access, Capabilities, Change, Closing, Event, Identity, Listing, MetaListing, Opening, Patch, Place,
    PlaceError, Preconditions, Result, ServicePath, Throttled,
};
use serde_json::Value;
use tokio::io::duplex;
use tokio::sync::OnceCell;

/// The way to the source.
pub(crate) fn source(server: &MemoryPlace) -> Arc<dyn Place> {
    place(Role::Source, server)
}

/// The way to the target.
pub(crate) fn target(server: &MemoryPlace) -> Arc<dyn Place> {
    place(Role::Target, server)
}

fn place(role: Role, server: &MemoryPlace) -> Arc<dyn Place> {
    match std::env::var("PIVOT_LINKED") {
        Ok(linked) if linked == role.to_string() || linked == "both" => {
            Arc::new(Behind::a_link(server, role))
        }
        _ => Arc::new(server.clone()),
    }
}

/// The near end of a link that begins when something is asked: a stage is set up without waiting.
struct Behind {
    server: MemoryPlace,
    role: Role,
    link: OnceCell<Arc<LinkPlace>>,
}

impl Behind {
    fn a_link(server: &MemoryPlace, role: Role) -> Self {
        Self { server: server.clone(), role, link: OnceCell::new() }
    }

    async fn link(&self) -> Result<&LinkPlace> {
        let begin = async || {
            let (near, far) = duplex(64 << 10);
            let server: Arc<dyn Place> = Arc::new(self.server.clone());
            let guard = Guard {
                namespaces: None,
                record_namespace: "pivot-host-records".into(),
                role: self.role,
                // Many stages make more than one move.
                keep_answering: true,
            };
            tokio::spawn(async move { drop(serve(far, server, guard).await) });
            let begun = LinkPlace::connect(near).await;
            let (place, alive) = begun.map_err(|error| PlaceError::Unavailable(error.to_string()))?;
            tokio::spawn(alive);
            Ok(place)
        };
        self.link.get_or_try_init(begin).await.map(|place| &**place)
    }
}

#[async_trait]
impl Place for Behind {
    fn label(&self) -> &str {
        self.server.label()
    }

    fn end_kind(&self) -> EndKind {
        self.server.end_kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.server.capabilities()
    }

    fn throttled_requests(&self) -> Throttled {
        self.server.throttled_requests()
    }

    async fn identify(&self) -> Result<Identity> {
        self.link().await?.identify().await
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        self.link().await?.kinds().await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        self.link().await?.list(kind, namespace).await
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        self.link().await?.list_labelled(kind, namespace, label).await
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        self.link().await?.list_meta(kind, namespace).await
    }

    async fn list_identities(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        self.link().await?.list_identities(kind, namespace).await
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        self.link().await?.get(kind, key).await
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        self.link().await?.create(kind, body, change).await
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        self.link().await?.patch(kind, key, patch).await
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        self.link().await?.delete(kind, key, preconditions).await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        self.link().await?.watch(kind, namespace, resource_version).await
    }

    async fn learn(&self, kinds: &[Arc<Kind>]) -> Result<()> {
        self.link().await?.learn(kinds).await
    }

    async fn open(&self, opening: &Opening) -> Result<()> {
        self.link().await?.open(opening).await
    }

    async fn close(&self, closing: &Closing) -> Result<()> {
        self.link().await?.close(closing).await
    }

    async fn proxy_get(&self, service: &ServicePath, limit: usize) -> Result<(u16, Vec<u8>)> {
        self.link().await?.proxy_get(service, limit).await
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        self.link().await?.find_denied(asked).await
    }
}
