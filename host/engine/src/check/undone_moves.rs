//! Finds ended moves whose source has their Clusters again: the source was restored from a backup without any record of the
//! move.
//!
//! Only the summaries in the target mention such a move. They are the target's claim, and nothing in the source follows from
//! them.
//!
//! Three facts together show that the source is in a state of before the move: a summary that names this source and this
//! target, a UID that a Cluster had there, and a copy in the target with the move's mark.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::objects::names;
use pivot_core::records::record::{Finished, Phase, Record};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{Both, GroupKind, Key, Uid};

use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::requests::listing;
use crate::base::requests::side::Handle;
use crate::base::requests::side_by_side::LISTS;
use crate::base::state::cluster_copies::{ClusterSides, KindsOfSide};
use crate::base::state::moves::FoundMove;
use crate::base::state::records::Records;

/// The two clusters of a move.
pub(crate) struct EndedBetween<'a> {
    pub(crate) sides: &'a Both<Handle>,
    pub(crate) kinds: &'a Both<KindsOfSide>,
    pub(crate) identities: &'a Both<Option<Uid>>,
    /// The only namespace whose objects the report may mention.
    pub(crate) confined_to: Option<&'a Namespaces>,
    /// The source's own records: summaries of moves into it.
    pub(crate) source: Option<&'a Records>,
}

/// A Cluster of the source.
struct SourceCluster {
    uid: Uid,
    /// ID of the move that created the Cluster.
    made_by: Option<String>,
    /// Whether a move from this target created it.
    is_returned: bool,
}

impl EndedBetween<'_> {
    /// Finds the moves out of this source into this target whose Clusters the source has again.
    pub(crate) async fn find_undone(&self, summaries: Vec<Finished>) -> Result<Vec<FoundMove>, Failure> {
        let Both { source: Some(source), target: Some(target) } = self.identities else {
            return Ok(Vec::new());
        };
        let summaries = summaries.into_iter().filter(|summary| {
            summary.source.as_ref() == Some(source)
                && summary.target.as_ref() == Some(target)
                && !summary.clusters.is_empty()
        });
        let summaries: Vec<(Finished, Scope)> = summaries
            .filter_map(|mut summary| Some((summary.scope.take()?, summary)))
            .filter(|(scope, _)| self.confined_to.is_none_or(|own| *own == scope.namespaces))
            .map(|(scope, summary)| (summary, scope))
            .collect();
        let Some(kind) = self.kinds.source.keys().find(|gk| is_cluster(gk)).filter(|_| !summaries.is_empty())
        else {
            return Ok(Vec::new());
        };
        let mut there = self.list_clusters(kind, &summaries).await?;
        self.find_returned(&mut there, target).await?;
        let mut undone = Vec::new();
        for (summary, scope) in summaries {
            if let Some(found) = self.find_if_undone(summary, scope, kind, &there).await? {
                undone.push(found);
            }
        }
        Ok(undone)
    }

    /// Lists the source's Clusters in the namespaces of these moves. If the user can't list all of them, the others are still
    /// found.
    async fn list_clusters(
        &self,
        kind: &GroupKind,
        summaries: &[(Finished, Scope)],
    ) -> Result<BTreeMap<Key, SourceCluster>, Failure> {
        let Some(kind) = self.kinds.source.get(kind) else { return Ok(BTreeMap::new()) };
        let namespaces: BTreeSet<Option<String>> = summaries
            .iter()
            .map(|(_, scope)| match &scope.namespaces {
                Namespaces::All => None,
                Namespaces::One(one) => Some(one.clone()),
            })
            .collect();
        let wanted = namespaces.into_iter().map(|namespace| (kind.clone(), namespace)).collect();
        let mut there = BTreeMap::new();
        for ((kind, _), listed) in listing::list_metas(&self.sides.source, LISTS, wanted).await? {
            let metas = listed.into_known().into_iter().filter(|meta| !meta.is_being_deleted());
            there.extend(metas.map(|meta| {
                let made_by = meta.annotations.get(names::MARK).cloned();
                (
                    listing::key_of_meta(&kind, &meta),
                    SourceCluster { uid: meta.uid, made_by, is_returned: false },
                )
            }));
        }
        Ok(there)
    }

    /// Finds Clusters that a move from this target brought back. If that target is restored later, its old summaries don't
    /// apply to them, although the names are equal. Only a later move out of the source knows their UIDs.
    async fn find_returned(
        &self,
        there: &mut BTreeMap<Key, SourceCluster>,
        target: &Uid,
    ) -> Result<(), Failure> {
        let Some(records) = self.source.filter(|_| there.values().any(|one| one.made_by.is_some())) else {
            return Ok(());
        };
        let summaries = records.list_finished().await?;
        let back = summaries.into_iter().filter(|summary| summary.source.as_ref() == Some(target));
        let back: BTreeSet<String> = back.map(|summary| summary.move_id).collect();
        for one in there.values_mut() {
            one.is_returned = one.made_by.as_ref().is_some_and(|id| back.contains(id));
        }
        Ok(())
    }

    async fn find_if_undone(
        &self,
        summary: Finished,
        scope: Scope,
        kind: &GroupKind,
        there: &BTreeMap<Key, SourceCluster>,
    ) -> Result<Option<FoundMove>, Failure> {
        let target = self.sides.target.clone().with_namespace_map(&scope.namespace_map);
        let moved: BTreeSet<&Uid> = summary.clusters.iter().map(|cluster| &cluster.uid).collect();
        let names: BTreeSet<(&str, &str)> =
            summary.clusters.iter().map(|cluster| (&*cluster.namespace, &*cluster.name)).collect();
        let is_named = |key: &Key| {
            let own = target.own_name(key);
            names.contains(&(own.namespace.as_deref().unwrap_or_default(), &*own.name))
        };
        // Some tools restore under new UIDs.
        let back: BTreeSet<&Key> = there
            .iter()
            .filter(|(key, one)| moved.contains(&one.uid) || (!one.is_returned && is_named(key)))
            .map(|(key, _)| key)
            .collect();
        if back.is_empty() {
            return Ok(None);
        }
        let claim = format!("the target says that move {} ended at {}", summary.move_id, summary.ended_at);
        let record = Record {
            format: Default::default(),
            written_by: String::new(),
            started_by: summary.started_by,
            move_id: summary.move_id,
            copy_key: None,
            earlier_copy_keys: Vec::new(),
            phase: Phase::Settled,
            scope,
            source: summary.source,
            target: summary.target,
            into_directory: false,
            started_at: summary.started_at,
            created_namespaces: Vec::new(),
            plugins: summary.plugins,
            kinds: BTreeSet::from([kind.clone()]),
            copied_namespaces: back.iter().filter_map(|key| key.namespace.clone()).collect(),
            confined: false,
            plan_checksum: None,
            finish_alone: None,
            release_digest: None,
            release_uids: None,
            release_chunks: 0,
            source_went_back: false,
            committed_at: None,
            handover: None,
        };
        let sides = Both::new(self.sides.source.clone(), target);
        let clusters = ClusterSides { sides: &sides, kinds: self.kinds };
        let uids = moved.into_iter().cloned().collect();
        let found = clusters.find_undone(&record, &uids).await?;
        let one_sided = match found {
            None => return Ok(None),
            Some(awake) if awake.is_empty() => OneSidedMove::TakenOver(claim),
            Some(clusters) => OneSidedMove::ClaimedByTarget { claim, clusters },
        };
        Ok(Some(FoundMove::from_summary(record, one_sided)))
    }
}
