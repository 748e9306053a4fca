//! A cluster that takes its time: without that, a whole move would happen before anybody else gets a turn.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::{Key, Kind, Object};
use pivot_places::{
    Access, Capabilities, Change, Event, Identity, Listing, MemoryPlace, MetaListing, Patch, Place,
    Preconditions, Result, Throttled,
};
use serde_json::Value;

const ROUND_TRIP: Duration = Duration::from_millis(20);

pub(crate) struct Distant(pub(crate) MemoryPlace);

async fn there_and_back<T>(answer: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::sleep(ROUND_TRIP / 2).await;
    let answer = answer.await;
    tokio::time::sleep(ROUND_TRIP / 2).await;
    answer
}

#[async_trait]
impl Place for Distant {
    fn label(&self) -> &str {
        self.0.label()
    }

    fn can(&self) -> Capabilities {
        self.0.can()
    }

    fn throttled(&self) -> Throttled {
        self.0.throttled()
    }

    async fn identify(&self) -> Result<Identity> {
        there_and_back(self.0.identify()).await
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        there_and_back(self.0.kinds()).await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        there_and_back(self.0.list(kind, namespace)).await
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        there_and_back(self.0.list_labelled(kind, namespace, label)).await
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        there_and_back(self.0.list_meta(kind, namespace)).await
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        there_and_back(self.0.get(kind, key)).await
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        there_and_back(self.0.create(kind, body, change)).await
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        there_and_back(self.0.patch(kind, key, patch)).await
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        there_and_back(self.0.delete(kind, key, preconditions)).await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        there_and_back(self.0.watch(kind, namespace, resource_version)).await
    }

    async fn denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        there_and_back(self.0.denied(asked)).await
    }
}
