//! One kind on one side, listed once and then watched without gaps.
//!
//! A watch that ends is resumed at its last version, so nothing is missed. If the server no longer has that version, something
//! may have been missed: that is an error, not a reason to list again and continue as if nothing had happened.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::Client;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};

use super::book::Book;
use super::log::{Event, Side};
use crate::kinds::{Kind, ObjectKey};
use crate::server::selects;

const RETRY: Duration = Duration::from_millis(200);

#[derive(Clone)]
pub(super) struct Watch {
    pub(super) side: Side,
    pub(super) kind: Kind,
    pub(super) client: Client,
    pub(super) namespaces: Arc<[String]>,
    pub(super) book: Book,
}

impl Watch {
    /// Records the existing objects; returns the version to watch from.
    pub(super) async fn begin(&self) -> Result<String> {
        let list = self.kind.api(self.client.clone()).list(&ListParams::default()).await;
        let list = list.with_context(|| self.name())?;
        for object in &list.items {
            self.write(object, false)?;
        }
        list.metadata.resource_version.context("a list without a version")
    }

    /// Records what happens after `version`, until it is aborted or the server can't continue.
    pub(super) async fn follow(self, mut version: String) -> Result<()> {
        let api = self.kind.api(self.client.clone());
        loop {
            let mut events = match api.watch(&WatchParams::default(), &version).await {
                Ok(events) => events.boxed(),
                Err(kube::Error::Api(status)) if status.code == 410 => {
                    bail!("{} has a gap: {status}", self.name())
                }
                Err(_) => {
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            };
            while let Some(Ok(event)) = events.next().await {
                match event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        version = self.write(&object, false)?;
                    }
                    WatchEvent::Deleted(object) => version = self.write(&object, true)?,
                    WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                    WatchEvent::Error(status) if status.code == 410 => {
                        bail!("{} has a gap: {status}", self.name())
                    }
                    WatchEvent::Error(_) => break,
                }
            }
        }
    }

    /// The existing objects, and their versions.
    pub(super) async fn now(&self) -> Result<Vec<((Side, ObjectKey), String)>> {
        let list = self.kind.api(self.client.clone()).list(&ListParams::default()).await;
        let mut found = Vec::new();
        for object in list.with_context(|| self.name())? {
            let key = self.kind.key(&self.kind.value(&object)?);
            if selects(&self.namespaces, &key.namespace) {
                found.push(((self.side, key), object.metadata.resource_version.unwrap_or_default()));
            }
        }
        Ok(found)
    }

    /// Records an event; returns the object's version.
    fn write(&self, object: &DynamicObject, gone: bool) -> Result<String> {
        let version = object.metadata.resource_version.clone().context("an object without a version")?;
        let value = self.kind.value(object)?;
        let key = self.kind.key(&value);
        if selects(&self.namespaces, &key.namespace) {
            self.book.write(Event { side: self.side, key, object: value, gone }, version.clone());
        }
        Ok(version)
    }

    fn name(&self) -> String {
        format!("the observer's watch of {} in the {}", self.kind.name(), self.side)
    }
}
