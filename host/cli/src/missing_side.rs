//! A missing side.
//!
//! A plan can be made without a target, and a move can finish without its source. The engine still needs two places; this one is
//! empty, and refuses every change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use pivot_core::records::route::EndKind;
use pivot_core::{Key, Kind, Object, Side};
use pivot_places::{
    Access, Capabilities, Change, Event, Identity, Listing, MetaListing, Patch, Place, PlaceError,
    Preconditions, Result,
};
use serde_json::Value;

const NO_CHANGE: PlaceError = PlaceError::unsupported("a place that was not named", "be written to");

/// Stands in for a missing side.
pub(crate) struct MissingSide {
    label: String,
    can: Capabilities,
    end_kind: EndKind,
}

impl MissingSide {
    /// In place of a target: like a directory, it accepts everything.
    pub(crate) fn target() -> Self {
        Self { label: "an unnamed target".to_owned(), can: Capabilities::FILES, end_kind: EndKind::Files }
    }

    /// In place of a directory that is not written to yet.
    pub(crate) fn directory(path: &Path, encrypts: bool) -> Self {
        let label = format!("directory {}", future_path(path).display());
        Self { label, can: Capabilities { encrypts, ..Capabilities::FILES }, end_kind: EndKind::Files }
    }

    /// In place of a cluster that is gone.
    pub(crate) fn missing_cluster(side: Side) -> Self {
        Self {
            label: format!("a {side} that is gone"),
            can: Capabilities::API_SERVER,
            end_kind: EndKind::Absent,
        }
    }
}

/// The path under which a directory will be known once it exists.
fn future_path(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let whole = absolute.ancestors().find_map(|there| {
        let rest = absolute.strip_prefix(there).ok()?;
        Some(there.canonicalize().ok()?.join(rest))
    });
    // Joining nothing would leave a slash at the end.
    whole.map_or(absolute, |whole| whole.components().collect())
}

#[async_trait]
impl Place for MissingSide {
    fn label(&self) -> &str {
        &self.label
    }

    fn end_kind(&self) -> EndKind {
        self.end_kind
    }

    fn capabilities(&self) -> Capabilities {
        self.can
    }

    async fn identify(&self) -> Result<Identity> {
        // No directory has an empty path.
        Ok(Identity::Directory { path: String::new(), contents: None })
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        Ok(Vec::new())
    }

    async fn list(&self, _kind: &Arc<Kind>, _namespace: Option<&str>) -> Result<Listing> {
        Ok(Listing { objects: Vec::new(), resource_version: String::new() })
    }

    async fn list_labelled(&self, _kind: &Arc<Kind>, _namespace: &str, _label: &str) -> Result<Listing> {
        Ok(Listing { objects: Vec::new(), resource_version: String::new() })
    }

    async fn list_meta(&self, _kind: &Arc<Kind>, _namespace: Option<&str>) -> Result<MetaListing> {
        Ok(MetaListing { metas: Vec::new(), resource_version: String::new() })
    }

    async fn get(&self, _kind: &Arc<Kind>, _key: &Key) -> Result<Option<Object>> {
        Ok(None)
    }

    async fn create(&self, _kind: &Arc<Kind>, _body: &Value, _change: Change) -> Result<Object> {
        Err(NO_CHANGE)
    }

    async fn patch(&self, _kind: &Arc<Kind>, _key: &Key, _patch: &Patch) -> Result<Object> {
        Err(NO_CHANGE)
    }

    async fn delete(&self, _kind: &Arc<Kind>, _key: &Key, _preconditions: &Preconditions) -> Result<()> {
        Err(NO_CHANGE)
    }

    async fn watch(
        &self,
        _kind: &Arc<Kind>,
        _namespace: Option<&str>,
        _resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        Ok(stream::pending().boxed())
    }

    async fn find_denied(&self, _asked: &[Access]) -> Result<Vec<Access>> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_missing_side_is_a_cluster_to_ask() {
        let gone = MissingSide::missing_cluster(Side::Source);
        assert!(gone.end_kind().is_absent() && gone.capabilities() == Capabilities::API_SERVER);
        let directory = MissingSide::directory(Path::new("/backup"), true);
        for files in [MissingSide::target(), directory] {
            assert_eq!(files.end_kind(), EndKind::Files, "{}", files.label());
        }
    }
}
