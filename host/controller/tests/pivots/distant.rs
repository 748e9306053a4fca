//! A cluster that takes its time: without that, a whole move would happen before anybody else gets a turn. A budget can bound
//! the lists that are held.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::records::route::EndKind;
use pivot_core::{Key, Kind, Meta, Object};
use pivot_memory::MemoryPlace;
use pivot_places::{
    Access, Budget, Capabilities, Change, Event, Identity, Listing, MetaListing, Patch, Place, Preconditions,
    Result, Throttled,
};
use serde_json::Value;

const ROUND_TRIP: Duration = Duration::from_millis(20);

pub(crate) struct Distant {
    pub(crate) place: MemoryPlace,
    pub(crate) budget: Option<Budget>,
}

impl Distant {
    pub(crate) fn of(place: MemoryPlace) -> Self {
        Self { place, budget: None }
    }

    fn count<'a>(&self, bytes: usize, metas: impl ExactSizeIterator<Item = &'a mut Meta>) -> Result<()> {
        let Some(budget) = &self.budget else { return Ok(()) };
        let mut share = budget.share();
        share.grow(bytes, "list")?;
        share.grow_by_objects(metas.len(), "list")?;
        let held = share.into_held();
        metas.for_each(|meta| meta.held = held.clone());
        Ok(())
    }

    fn count_objects(&self, mut listing: Listing) -> Result<Listing> {
        let bytes = listing.objects.iter().map(|object| object.raw().len()).sum();
        self.count(bytes, listing.objects.iter_mut().map(|object| &mut object.meta))?;
        Ok(listing)
    }

    fn count_metas(&self, mut listing: MetaListing) -> Result<MetaListing> {
        let bytes = listing.metas.iter().map(Meta::text_len).sum();
        self.count(bytes, listing.metas.iter_mut())?;
        Ok(listing)
    }
}

async fn there_and_back<T>(answer: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::sleep(ROUND_TRIP / 2).await;
    let answer = answer.await;
    tokio::time::sleep(ROUND_TRIP / 2).await;
    answer
}

#[async_trait]
impl Place for Distant {
    fn label(&self) -> &str {
        self.place.label()
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

    async fn identify(&self) -> Result<Identity> {
        there_and_back(self.place.identify()).await
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        there_and_back(self.place.kinds()).await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        there_and_back(self.place.list(kind, namespace)).await.and_then(|listing| self.count_objects(listing))
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        let listing = there_and_back(self.place.list_labelled(kind, namespace, label)).await?;
        self.count_objects(listing)
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        there_and_back(self.place.list_meta(kind, namespace))
            .await
            .and_then(|listing| self.count_metas(listing))
    }

    async fn list_identities(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let listing = there_and_back(self.place.list_identities(kind, namespace)).await?;
        self.count_metas(listing)
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        there_and_back(self.place.get(kind, key)).await
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        there_and_back(self.place.create(kind, body, change)).await
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        there_and_back(self.place.patch(kind, key, patch)).await
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        there_and_back(self.place.delete(kind, key, preconditions)).await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        there_and_back(self.place.watch(kind, namespace, resource_version)).await
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        there_and_back(self.place.find_denied(asked)).await
    }
}
