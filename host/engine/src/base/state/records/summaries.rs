//! Summaries of moves that have ended.

use std::collections::BTreeSet;

use futures::future::try_join_all;
use pivot_core::Side;
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::objects::names::{FINISHED, RECORD as LABEL, ROLLED_BACK};
use pivot_core::records::record::{ENTRY, Finished, ROLLBACK_SUMMARY, RolledBackMove, SUMMARY};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_places::PlaceError;
use serde::Serialize;
use serde_json::json;

use super::{LIST, Records, Stored, unwritable_record};
use crate::base::outcome::failure::Failure;
use crate::base::state::cluster_copies::KindsOfSide;

/// Number of summaries of moves of a scope's namespaces that are kept, in addition to the summaries of moves whose Clusters are still there. Moves of one
/// namespace remove none of another's: they may be of different tenants.
const MAX_SUMMARIES: usize = 10;
/// Number of summaries of moves that imported files that are kept. Programs read them, too: without one, objects can't be deleted
/// from a source that was handed over in those files.
const MAX_IMPORT_SUMMARIES: usize = 200;

/// Result of replacing a record by a summary.
enum Replaced {
    Yes,
    /// No object has its name any more, and why the write failed.
    Gone(String),
    /// Another run has changed it, and why the write failed.
    Changed(String),
}

impl Records {
    /// Turns a move's record into its summary in one write: at no moment do both exist, or neither.
    pub(crate) async fn finish(&self, stored: &Stored, finished: &Finished) -> Result<(), Failure> {
        match self.replace_with_summary(stored, FINISHED, SUMMARY, finished).await? {
            Replaced::Yes => Ok(()),
            // A rollback unaware of this run is removing the copies.
            Replaced::Gone(why) | Replaced::Changed(why) => Err(self.changed_failure(&why)),
        }
    }

    /// Turns the record of a move that was rolled back into its summary. Like [`Self::remove`], but only in the state last seen.
    pub(crate) async fn finish_rollback(
        &self,
        stored: &Stored,
        summary: &RolledBackMove,
    ) -> Result<(), Failure> {
        match self.replace_with_summary(stored, ROLLED_BACK, ROLLBACK_SUMMARY, summary).await {
            Ok(Replaced::Yes | Replaced::Gone(_)) => Ok(()),
            Ok(Replaced::Changed(why)) => Err(self.changed_failure(&why)),
            // Without the summary it is rolled back all the same.
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => self.remove(stored).await,
            Err(failure) => Err(failure),
        }
    }

    async fn replace_with_summary(
        &self,
        stored: &Stored,
        label: &str,
        entry: &str,
        summary: &impl Serialize,
    ) -> Result<Replaced, Failure> {
        let key = self.key(&stored.name);
        let summary = serde_json::to_string_pretty(summary).map_err(|error| unwritable_record(&error))?;
        let patch = json!({
            "metadata": {
                "resourceVersion": stored.resource_version,
                "labels": {LABEL: null, label: self.role()},
            },
            "data": {ENTRY: null, LIST: null, entry: summary},
        });
        match self.handle.patch(&self.kind, &key, &patch).await {
            Ok(_) => Ok(Replaced::Yes),
            Err(PlaceError::Conflict(why) | PlaceError::NotFound(why)) => {
                Ok(match self.handle.get(&self.kind, &key).await? {
                    // Our own write, whose answer got lost.
                    Some(there) if there.meta.has_label(label) => Replaced::Yes,
                    Some(_) => Replaced::Changed(why),
                    None => Replaced::Gone(why),
                })
            }
            Err(error) => Err(self.handle.request_failure("closing", Some(&key), error)),
        }
    }

    /// The moves whose records here, as far as they may be read, say that they can't be rolled back.
    pub(crate) async fn find_irreversible(&self) -> Result<BTreeSet<String>, Failure> {
        let (under_way, ended) = match tokio::try_join!(self.list_under_way(), self.list_finished()) {
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Default::default(),
            read => read?,
        };
        let committed = under_way.into_iter().filter(|stored| stored.record.phase.is_committed());
        let committed = committed.map(|stored| stored.record.move_id);
        Ok(committed.chain(ended.into_iter().map(|ended| ended.move_id)).collect())
    }

    /// The summaries that the last moves left behind, the latest first.
    pub(crate) async fn list_finished(&self) -> Result<Vec<Finished>, Failure> {
        Ok(self.list_finished_by_name().await?.into_iter().map(|(finished, _)| finished).collect())
    }

    async fn list_finished_by_name(&self) -> Result<Vec<(Finished, String)>, Failure> {
        let mut all: Vec<(Finished, String)> =
            self.list_summaries(FINISHED, SUMMARY, Finished::parse).await?;
        all.sort_by(|(a, _), (b, _)| b.ended_at.cmp(&a.ended_at).then_with(|| a.move_id.cmp(&b.move_id)));
        Ok(all)
    }

    /// The summaries of the last moves that were rolled back, the latest first.
    pub(crate) async fn list_rolled_back(&self) -> Result<Vec<RolledBackMove>, Failure> {
        Ok(self.list_rolled_back_by_name().await?.into_iter().map(|(summary, _)| summary).collect())
    }

    async fn list_rolled_back_by_name(&self) -> Result<Vec<(RolledBackMove, String)>, Failure> {
        let mut all: Vec<(RolledBackMove, String)> =
            self.list_summaries(ROLLED_BACK, ROLLBACK_SUMMARY, RolledBackMove::parse).await?;
        all.sort_by(|(a, _), (b, _)| b.ended_at.cmp(&a.ended_at).then_with(|| a.move_id.cmp(&b.move_id)));
        Ok(all)
    }

    /// Summaries, with the names of their ConfigMaps.
    async fn list_summaries<T>(
        &self,
        label: &str,
        entry: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<(T, String)>, Failure> {
        let listing = self.handle.list_labelled(&self.kind, self.namespace.name(), label).await?;
        let summaries = listing.objects.iter().filter_map(|object| {
            let text = self.read_entry(object, entry).ok()?;
            // A newer release may have written one that is unreadable here. Without it an import is not found, and the
            // run is refused before anything is changed.
            Some((parse(&text)?, object.meta.name.clone()))
        });
        Ok(summaries.collect())
    }

    /// The namespaces of a move by their names on this side. Namespaces of two tenants can have one name in sources of theirs.
    fn namespaces_here(&self, scope: &Scope) -> Namespaces {
        match self.handle.side {
            Side::Source => scope.namespaces.clone(),
            Side::Target => scope.namespaces.in_target(&scope.namespace_map),
        }
    }

    /// Removes the summaries of the oldest moves of the same namespaces that were rolled back, to make room for one more.
    pub(crate) async fn forget_old_rollbacks(&self, scope: &Scope) -> Result<(), Failure> {
        let namespaces = self.namespaces_here(scope);
        let all = self.list_rolled_back_by_name().await?.into_iter();
        let old = all
            .filter(|(summary, _)| self.namespaces_here(&summary.scope) == namespaces)
            .skip(MAX_SUMMARIES - 1);
        try_join_all(old.map(|(_, name)| self.remove_named(name))).await.map(drop)
    }

    /// Removes the summaries of the oldest moves of the same namespaces, to make room for one more. As long as a Cluster has a move's mark,
    /// that move's summary may have to show that it ended.
    pub(crate) async fn forget_old(&self, kinds: &KindsOfSide, scope: &Scope) -> Result<(), Failure> {
        let namespaces = self.namespaces_here(scope);
        let all = self.list_finished_by_name().await?.into_iter();
        let (imports, others): (Vec<_>, Vec<_>) = all.partition(|(finished, _)| finished.files.is_some());
        let others = others.into_iter().filter(|(finished, _)| {
            finished.scope.as_ref().is_none_or(|scope| self.namespaces_here(scope) == namespaces)
        });
        let old = others.skip(MAX_SUMMARIES - 1).chain(imports.into_iter().skip(MAX_IMPORT_SUMMARIES - 1));
        let old: Vec<(Finished, String)> = old.collect();
        let clusters = kinds.iter().find(|(gk, _)| is_cluster(gk)).map(|(_, kind)| kind);
        let clusters = match clusters.filter(|_| !old.is_empty()) {
            Some(kind) => self.handle.list_meta(kind, None).await?,
            None => Vec::new(),
        };
        let old = old
            .into_iter()
            .filter(|(finished, _)| !clusters.iter().any(|cluster| cluster.has_mark(&finished.move_id)));
        try_join_all(old.map(|(_, name)| self.remove_named(name))).await.map(drop)
    }
}
