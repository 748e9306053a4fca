//! The verbs of `Place` for a directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use pivot_core::objects::merge;
use pivot_core::records::backup::BackupFacts;
use pivot_core::records::route::EndKind;
use pivot_core::{Key, Kind, Object};
use serde_json::Value;
use uuid::Uuid;

use super::{DirectoryError, DirectoryPlace, parse_object, write_error};
use crate::body::{check_preconditions, drop_empty, key_of, metadata_text, patch_body, set_metadata};
use crate::place::{
    Access, Capabilities, Change, Closing, Event, Identity, Listing, MetaListing, Opening, Patch, Place,
    PlaceError, Preconditions, Result,
};

#[async_trait]
impl Place for DirectoryPlace {
    fn label(&self) -> &str {
        &self.shared.label
    }

    /// A directory accepts every kind; the manifest keeps names, scopes and labels for later readers.
    async fn learn(&self, kinds: &[Arc<Kind>]) -> Result<()> {
        let mut contents = self.shared.lock_contents();
        for kind in kinds {
            contents.kinds.entry(kind.group_kind.clone()).or_insert_with(|| Arc::clone(kind));
        }
        Ok(())
    }

    fn end_kind(&self) -> EndKind {
        if self.shared.is_handed_over() { EndKind::HandoverFiles } else { EndKind::Files }
    }

    fn backup_facts(&self) -> Option<&BackupFacts> {
        self.shared.manifest.as_ref()?.backup.as_ref()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { encrypts: self.shared.recipients.is_some(), ..Capabilities::FILES }
    }

    async fn open(&self, opening: &Opening) -> Result<()> {
        let (shared, opening) = (Arc::clone(&self.shared), opening.clone());
        off_thread(move || shared.open_for_move(&opening)).await
    }

    async fn close(&self, closing: &Closing) -> Result<()> {
        let (shared, closing) = (Arc::clone(&self.shared), closing.clone());
        match closing {
            Closing::Abandoned => off_thread(move || shared.abandon()).await,
            Closing::Complete { handover, backup } => {
                let move_id = shared.writing_move()?;
                off_thread(move || shared.complete_copy(&move_id, handover, backup.map(|facts| *facts))).await
            }
        }
    }

    async fn identify(&self) -> Result<Identity> {
        let contents = self.shared.contents_id().map_err(write_error)?;
        Ok(Identity::Directory { path: self.shared.files.path().to_owned(), contents })
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        Ok(self.shared.lock_contents().kinds.values().cloned().collect())
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        let contents = self.shared.lock_contents();
        // The caller may know more about the kind than the files do; the files decide each object's version, and nothing converts it.
        let mut versions: BTreeMap<String, Arc<Kind>> = BTreeMap::new();
        let objects = contents.list_objects(kind, namespace).map(|object| {
            let mut object = object.clone();
            let version = object.kind.version.clone();
            let as_written = versions.entry(version.clone()).or_insert_with(|| {
                Arc::new(Kind { served: vec![version.clone()], version, ..Kind::clone(kind) })
            });
            object.kind = as_written.clone();
            object
        });
        let objects = objects.collect();
        Ok(Listing { objects, resource_version: contents.version.to_string() })
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        let mut listing = self.list(kind, Some(namespace)).await?;
        listing.objects.retain(|object| object.meta.has_label(label));
        Ok(listing)
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let contents = self.shared.lock_contents();
        let metas = contents.list_objects(kind, namespace).map(|object| object.meta.clone()).collect();
        Ok(MetaListing { metas, resource_version: contents.version.to_string() })
    }

    async fn get(&self, _kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        Ok(self.shared.lock_contents().entries.get(key).map(|entry| entry.object.clone()))
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        self.shared.writing_move()?;
        let key = key_of(kind, body)?;
        let mut contents = self.shared.lock_contents();
        if contents.entries.contains_key(&key) {
            return Err(PlaceError::AlreadyExists(key.to_string()));
        }
        if metadata_text(body, "resourceVersion").is_some_and(|version| !version.is_empty()) {
            let text = format!("{key}: resourceVersion should not be set on objects to be created");
            return Err(PlaceError::Invalid(text));
        }
        let mut new = body.clone();
        set_metadata(&mut new, "uid", Uuid::new_v4().to_string().into());
        drop_empty(&mut new);
        match change {
            Change::DryRun => parse_object(kind, &new),
            Change::Real => self.shared.store_object(&mut contents, kind, &key, new),
        }
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        self.shared.writing_move()?;
        let mut contents = self.shared.lock_contents();
        let entry = contents.entries.get(key).ok_or_else(|| PlaceError::NotFound(key.to_string()))?;
        let old = entry.object.value().map_err(|error| PlaceError::Unreadable(error.to_string()))?;
        let Patch { body, subresource, change } = patch;
        let mut new =
            patch_body(kind, key, &old, |object| merge::apply_patch(object, body), *subresource, &[])?;
        drop_empty(&mut new);
        match change {
            _ if new == old => Ok(entry.object.clone()),
            Change::DryRun => parse_object(kind, &new),
            Change::Real => self.shared.store_object(&mut contents, kind, key, new),
        }
    }

    async fn delete(&self, _kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        self.shared.writing_move()?;
        let mut contents = self.shared.lock_contents();
        let entry = contents.entries.get(key).ok_or_else(|| PlaceError::NotFound(key.to_string()))?;
        let old = entry.object.value().map_err(|error| PlaceError::Unreadable(error.to_string()))?;
        check_preconditions(key, &old, preconditions)?;
        self.shared.files.remove(&entry.file).map_err(write_error)?;
        contents.entries.remove(key);
        Ok(())
    }

    /// Nothing acts on files, so no event ever occurs.
    async fn watch(
        &self,
        _kind: &Arc<Kind>,
        _namespace: Option<&str>,
        _resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        Ok(stream::pending().boxed())
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        let read_only = self.shared.writing_move().is_err();
        let writes = asked.iter().filter(|access| !matches!(&*access.verb, "get" | "list" | "watch"));
        Ok(writes.filter(|_| read_only).cloned().collect())
    }
}

/// File IO blocks its thread, and a whole directory can take long.
async fn off_thread(work: impl FnOnce() -> Result<(), DirectoryError> + Send + 'static) -> Result<()> {
    let done = tokio::task::spawn_blocking(work).await;
    // The error's own text quotes the panic, which may quote the object.
    done.map_err(|_| PlaceError::Unavailable("the task that reads and writes files panicked".to_owned()))?
        .map_err(write_error)
}
