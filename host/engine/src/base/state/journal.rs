//! The records of one move, and the order in which they are written.
//!
//! Before the commit only the source's record counts. The commit writes the target's record, which decides as soon as the
//! source's says Committed. Before the first object is deleted, both say Released. At the end the source's is removed first. If the source keeps no state, the target's record is the
//! only one from the first phase on, and one write to it is the commit.

use std::collections::BTreeSet;

use pivot_core::records::record::{
    FinishAlone, Finished, Handover, Phase, Record, RolledBackMove, is_move_id,
};
use pivot_core::records::release::{ReleaseFate, ReleaseList};
use pivot_core::{Both, GroupKind, Key, Side, Uid};
use pivot_places::PlaceError;

use crate::base::outcome::failure::Failure;
use crate::base::state::cluster_copies::KindsOfSide;
use crate::base::state::moves::{is_of_earlier_attempt, of_committed};
use crate::base::state::records::{CHUNK_BYTES, Records, Stored};

/// A record as this run knows it, and as it is stored on the two sides.
pub(crate) struct Journal {
    pub(crate) record: Record,
    /// `None` if there is no state to keep: a directory, or a side that is gone.
    records: Both<Option<Records>>,
    at: Both<Option<Stored>>,
    /// Phase of this run, if no side keeps a record.
    entered: Option<Phase>,
}

impl Journal {
    /// Starts with the records that were found of a move.
    pub(crate) fn new(record: Record, records: Both<Option<Records>>, at: Both<Option<Stored>>) -> Self {
        Self { record, records, at, entered: None }
    }

    /// Returns the phase of the move; `None` if nothing was recorded yet.
    pub(crate) fn phase(&self) -> Option<Phase> {
        let written = self.at.source.is_some() || self.at.target.is_some();
        if written { Some(self.record.phase) } else { self.entered }
    }

    /// Returns true if the move has a stored record, from which other runs can continue.
    pub(crate) fn is_written(&self) -> bool {
        self.at.source.is_some() || self.at.target.is_some()
    }

    /// Returns the creation time of the record, by the source's clock.
    pub(crate) fn created_at(&self) -> Option<&str> {
        self.at.source.as_ref()?.created.as_deref()
    }

    /// Notes the kinds and namespaces that are about to be touched, so that a rollback finds them.
    pub(crate) fn note_touched(&mut self, kinds: BTreeSet<GroupKind>, namespaces: BTreeSet<String>) {
        self.record.kinds.extend(kinds);
        self.record.copied_namespaces.extend(namespaces);
    }

    /// Notes namespaces that are about to be created, in addition to those of earlier runs.
    pub(crate) fn note_namespaces(&mut self, missing: &BTreeSet<String>) {
        let named =
            std::mem::take(&mut self.record.created_namespaces).into_iter().chain(missing.iter().cloned());
        self.record.created_namespaces = named.collect::<BTreeSet<_>>().into_iter().collect();
    }

    /// Returns those of the namespaces that a stored record names, so that a rollback finds them.
    pub(crate) fn recorded_namespaces(&self, namespaces: &BTreeSet<String>) -> BTreeSet<String> {
        let written = self.first_side().and_then(|side| self.at.get(side).as_ref());
        let written = written.map_or(&[][..], |stored| &stored.record.created_namespaces);
        namespaces.iter().filter(|name| written.contains(name)).cloned().collect()
    }

    /// The side whose record counts before the commit.
    fn first_side(&self) -> Option<Side> {
        match &self.records {
            Both { source: Some(_), .. } => Some(Side::Source),
            Both { target: Some(_), .. } => Some(Side::Target),
            Both { source: None, target: None } => None,
        }
    }

    /// The side whose record decides until the end: the target, if it keeps records.
    fn last_side(&self) -> Side {
        if self.records.target.is_some() { Side::Target } else { Side::Source }
    }

    /// Records a phase before the commit; never goes back to an earlier one.
    pub(crate) async fn enter_phase(&mut self, phase: Phase) -> Result<(), Failure> {
        let record = Record { phase: phase.max(self.record.phase), ..self.record.clone() };
        match self.first_side() {
            Some(side) => self.write(side, &record, None).await?,
            None => self.entered = Some(record.phase),
        }
        self.record = record;
        Ok(())
    }

    async fn write(&mut self, side: Side, record: &Record, list: Option<String>) -> Result<(), Failure> {
        let Some(records) = self.records.get(side) else { return Err(no_record()) };
        // Notes are added to a record that the other side may have written. While a record can't be read, no move of that cluster
        // continues.
        let believable = record.check_bounds();
        believable.map_err(|what| Failure::Declined(format!("the {what} of this move can't be right")))?;
        let written = match self.at.get(side) {
            Some(stored) if stored.record == *record && list.is_none() => return Ok(()),
            Some(stored) => records.update(stored, record, list).await?,
            None => records.create(record, list).await?,
        };
        *self.at.get_mut(side) = Some(written);
        Ok(())
    }

    /// Records that all files are written: from here on the source waits for their import. The list is written first: the record must
    /// not exist without it.
    pub(crate) async fn hand_over(&mut self, list: &ReleaseList, handover: Handover) -> Result<(), Failure> {
        let Some(source) = &self.records.source else { return Err(no_record()) };
        let (chunks, inline) = split_list(list);
        source.write_list(&chunks, &self.record.move_id).await?;
        let (release_chunks, handover) = (chunks.len(), Some(handover));
        let record = Record { release_chunks, handover, ..self.record.clone() };
        self.write(Side::Source, &record, inline).await?;
        self.record = record;
        Ok(())
    }

    /// Records that the files, which were never closed, are written again.
    pub(crate) async fn restart_handover(&mut self) -> Result<(), Failure> {
        let handover = Some(Handover::default());
        let record = Record { release_chunks: 0, handover, ..self.record.clone() };
        self.write(Side::Source, &record, None).await?;
        self.record = record;
        self.remove_handed_over().await
    }

    /// Records that a rollback unpauses the source, so that no reader of the record imports the files any more.
    pub(crate) async fn note_rollback_begun(&mut self) -> Result<(), Failure> {
        let handover =
            self.record.handover.clone().map(|handover| Handover { rollback_begun: true, ..handover });
        let record = Record { handover, ..self.record.clone() };
        self.write(Side::Source, &record, None).await?;
        self.record = record;
        Ok(())
    }

    /// Reads the list of the objects that were handed over.
    pub(crate) async fn read_handover_list(&self) -> Result<ReleaseList, Failure> {
        let (Some(source), Some(stored)) = (&self.records.source, &self.at.source) else {
            return Err(no_record());
        };
        source.read_list(stored).await?.ok_or_else(|| source.list_missing(&self.record.move_id))
    }

    /// Returns the moves that imported these files into the target: those that ended, and those under way.
    pub(crate) async fn find_imports(&self, contents: &Uid) -> Result<Imports, Failure> {
        let Some(target) = &self.records.target else { return Err(no_record()) };
        let (under_way, ended) = tokio::try_join!(target.list_under_way(), target.list_finished())?;
        let under_way = under_way.into_iter().map(|stored| stored.record);
        let ended = ended.into_iter().filter(|ended| ended.files.as_ref() == Some(contents));
        Ok(Imports {
            under_way: under_way.filter(|record| record.source.as_ref() == Some(contents)).collect(),
            // Anyone with permission to write ConfigMaps there can write a summary.
            ended: ended.map(|ended| ended.move_id).filter(|id| is_move_id(id)).collect(),
        })
    }

    /// The point of no return of a source that was handed over in files.
    pub(crate) async fn commit_import(
        &mut self,
        list: &ReleaseList,
        target: Option<Uid>,
        imports: BTreeSet<String>,
        copy_changed: BTreeSet<GroupKind>,
    ) -> Result<(), Failure> {
        let kinds = self.record.kinds.clone();
        let before = self.record.handover.take();
        let handover = before.map(|before| Handover { imported_by: imports, copy_changed, ..before });
        self.record = Record { into_directory: false, target, handover, ..self.record.clone() };
        self.commit(list, kinds).await
    }

    /// The point of no return: the list and the target's record, then the source's by compare-and-swap.
    pub(crate) async fn commit(
        &mut self,
        list: &ReleaseList,
        kinds: BTreeSet<GroupKind>,
    ) -> Result<(), Failure> {
        let Some(target) = &self.records.target else { return Err(no_record()) };
        let (chunks, inline) = split_list(list);
        target.refuse_long_list(inline.as_ref().map_or(chunks.as_slice(), std::slice::from_ref))?;
        let release_chunks = chunks.len();
        let record = Record {
            phase: Phase::Committed,
            release_chunks,
            release_digest: Some(list.digest()),
            release_uids: Some(list.uid_set()),
            kinds,
            committed_at: None,
            ..self.record.clone()
        };
        let mut committed_at = None;
        if self.at.target.is_some() {
            // Left by an attempt that got half-way; its list may have been longer.
            target.remove_lists(&record.move_id).await?;
            // Controllers that wrote since that attempt may be gone by now.
            committed_at = Some(target.read_time(&record.move_id).await?);
        }
        // The target's record already says Live: it decides nothing until the source's says Committed, and then Live is next.
        let live = Record { phase: Phase::Live, committed_at, ..record.clone() };
        // The list first: if the source is gone only the record decides, and it must not exist without its list.
        target.write_list(&chunks, &record.move_id).await?;
        target.check_lease()?;
        self.write(Side::Target, &live, inline)
            .await
            .map_err(|failure| self.mark_undecided(Side::Target, failure))?;
        if let Some(source) = &self.records.source {
            source.check_lease()?;
            self.write(Side::Source, &record, None)
                .await
                .map_err(|failure| self.mark_undecided(Side::Source, failure))?;
        }
        self.record = live;
        Ok(())
    }

    /// Commits again a move whose source went back to before its commit: by the list of the target, whose record decides from here on.
    pub(crate) async fn commit_again(&mut self, list: &ReleaseList) -> Result<(), Failure> {
        let (Some(source), Some(at_target)) = (&self.records.source, &self.at.target) else {
            return Err(no_record());
        };
        let there = at_target.record.clone();
        let record = Record {
            phase: Phase::Committed,
            release_chunks: there.release_chunks,
            release_digest: Some(list.digest()),
            release_uids: Some(list.uid_set()),
            source_went_back: true,
            ..self.record.clone()
        };
        source.check_lease()?;
        self.write(Side::Source, &record, None).await?;
        self.record = Record { written_by: record.written_by.clone(), ..of_committed(&record, &there) };
        Ok(())
    }

    /// Says in the target's record that the source's says Committed: from then on the target may finish without it.
    pub(crate) async fn allow_finishing_alone(&mut self) -> Result<(), Failure> {
        if self.record.finish_alone != Some(FinishAlone::Requested) {
            return Ok(());
        }
        let record = Record { finish_alone: Some(FinishAlone::Allowed), ..self.record.clone() };
        self.write(Side::Target, &record, None).await?;
        self.record = record;
        Ok(())
    }

    /// Says in the target's record that the target has finished without its source.
    pub(crate) async fn note_finished_alone(&mut self) -> Result<(), Failure> {
        let record = Record { finish_alone: Some(FinishAlone::Done), ..self.record.clone() };
        self.write(Side::Target, &record, None).await?;
        self.record = record;
        Ok(())
    }

    /// Marks a failure of the write that commits. The write was sent, so that the run does not know which record decides. In most
    /// cases the lease is lost while the run waits for the answer.
    fn mark_undecided(&self, side: Side, failure: Failure) -> Failure {
        let commits = self.first_side() == Some(side);
        match failure {
            failure @ (Failure::Halted(_)
            | Failure::Unreachable { .. }
            | Failure::Place { error: PlaceError::Unavailable(_), .. })
                if commits =>
            {
                Failure::Undecided(Box::new(failure))
            }
            other => other,
        }
    }

    /// Records a phase after the commit, in the target's record.
    pub(crate) async fn advance_to(&mut self, phase: Phase) -> Result<(), Failure> {
        if phase <= self.record.phase {
            return Ok(());
        }
        let record = Record { phase, ..self.record.clone() };
        self.write(Side::Target, &record, None).await?;
        self.record = record;
        Ok(())
    }

    /// Records that deleting begins: in both records, so that each alone tells whether the source is complete.
    pub(crate) async fn enter_released(&mut self) -> Result<(), Failure> {
        self.advance_to(Phase::Released).await?;
        let stored = self.at.source.as_ref().map(|stored| &stored.record);
        let Some(complete) = stored.filter(|record| record.phase < Phase::Released) else { return Ok(()) };
        let written_by = self.record.written_by.clone();
        let record = Record { phase: Phase::Released, written_by, ..complete.clone() };
        self.write(Side::Source, &record, None).await
    }

    /// The list of a committed move; `None` if the move is being closed.
    pub(crate) async fn release_list(&self) -> Result<Option<ReleaseList>, Failure> {
        let (Some(target), Some(stored)) = (&self.records.target, &self.at.target) else {
            return Err(no_record());
        };
        let Record { move_id, phase, .. } = &self.record;
        let list = match target.read_committed_list(stored, self.committed_digest()).await? {
            // By the target's word alone no move is over whose source is whole.
            None if *phase < Phase::Settled || self.has_deleted_nothing() => {
                return Err(target.list_missing(move_id));
            }
            list => list,
        };
        if let Some(list) = &list {
            self.check_list(target, list)?;
        }
        Ok(list)
    }

    /// The list that the target has of this move, before the source's record says that it is committed.
    pub(crate) async fn list_in_target(&self) -> Result<ReleaseList, Failure> {
        let (Some(target), Some(stored)) = (&self.records.target, &self.at.target) else {
            return Err(no_record());
        };
        let list = target.read_committed_list(stored, self.committed_digest()).await?;
        let list = list.ok_or_else(|| target.list_missing(&self.record.move_id))?;
        self.check_list(target, &list)?;
        Ok(list)
    }

    /// Returns the digest of the list that the source committed; `None` in records of older versions.
    fn committed_digest(&self) -> Option<&str> {
        self.at.source.as_ref()?.record.release_digest.as_deref()
    }

    /// Refuses a list of objects that the source's record has not. The list is the target's word, and may be another's by now. Records of
    /// older versions don't know it again: by them it is only where the move was.
    fn check_list(&self, target: &Records, list: &ReleaseList) -> Result<(), Failure> {
        let Some(Stored { record: Record { move_id, copied_namespaces, .. }, .. }) = &self.at.source else {
            return Ok(());
        };
        let moved =
            |key: &Key| key.namespace.as_ref().is_some_and(|namespace| copied_namespaces.contains(namespace));
        let mut deleted =
            list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete).map(|entry| &entry.key);
        match deleted.find(|key| !moved(key)) {
            Some(other) => Err(target.list_has_others(move_id, other)),
            None => Ok(()),
        }
    }

    /// Returns the time of the commit, by the target's clock. It is the record's creation, unless the commit found a record there.
    pub(crate) fn committed_at(&self) -> Result<&str, Failure> {
        let stored = self.at.target.as_ref();
        let at = stored.and_then(|stored| stored.record.committed_at.as_ref().or(stored.created.as_ref()));
        at.map(String::as_str).ok_or_else(no_record)
    }

    /// Returns true once objects may be missing in the source. The target's record alone says that only if the source's can't.
    pub(crate) fn has_begun_to_delete(&self) -> bool {
        self.record.phase > Phase::Live && !self.has_deleted_nothing()
    }

    /// Returns true if the source's record proves that nothing was deleted there. Older formats, which don't say when deleting begins,
    /// prove nothing.
    pub(crate) fn has_deleted_nothing(&self) -> bool {
        let stored = self.at.source.as_ref().map(|stored| &stored.record);
        stored.is_some_and(|record| record.phase < Phase::Released && record.release_uids.is_some())
    }

    /// The source's record as it is stored.
    pub(crate) fn stored_in_source(&self) -> Result<&Record, Failure> {
        self.at.source.as_ref().map(|stored| &stored.record).ok_or_else(no_record)
    }

    /// Returns when the move ended, if the target has its summary.
    pub(crate) async fn ended_in_target(&self) -> Result<Option<String>, Failure> {
        let Some(target) = &self.records.target else { return Err(no_record()) };
        let ended = target.list_finished().await?.into_iter().find(|one| one.move_id == self.record.move_id);
        Ok(ended.map(|ended| ended.ended_at))
    }

    /// Returns true if the source keeps records and has none of this move.
    pub(crate) fn source_record_is_gone(&self) -> bool {
        self.records.source.is_some() && self.at.source.is_none()
    }

    /// Returns true if a resume reads the release list from separate ConfigMaps. These are removed before the record is, so one of them
    /// may be missing only once the record says that nothing is left to release.
    pub(crate) fn has_separate_list(&self) -> bool {
        self.record.release_chunks > 0
    }

    /// Ends a move that is done, except for the last write.
    pub(crate) async fn close(&mut self, kinds: &Both<KindsOfSide>) -> Result<(), Failure> {
        let last = self.last_side();
        let list = async {
            match &self.records.target {
                Some(target) => target.remove_list(&self.record.move_id, self.record.release_chunks).await,
                None => Ok(()),
            }
        };
        let source = async {
            match last {
                Side::Target => {
                    self.remove_handed_over().await?;
                    remove(&self.records.source, &self.at.source).await
                }
                Side::Source => Ok(()),
            }
        };
        let forget = async {
            let Some(records) = self.records.get(last) else { return };
            // A failure costs nothing: the next move that ends tries again.
            if let Err(failure) = records.forget_old(kinds.get(last), &self.record.scope).await {
                tracing::debug!(%failure, "leftovers of old moves were not removed");
            }
        };
        let (source, list, ()) = tokio::join!(source, list, forget);
        source.and(list)
    }

    /// The last write: the record that decided until the end becomes the summary that the move leaves behind.
    pub(crate) async fn finish(&mut self, finished: &Finished) -> Result<(), Failure> {
        let last = self.last_side();
        if let (Some(records), Some(stored)) = (self.records.get(last), self.at.get(last)) {
            records.finish(stored, finished).await?;
        }
        self.at = Both::default();
        self.entered = None;
        Ok(())
    }

    /// Undoes the writes into the target of a commit that did not complete.
    pub(crate) async fn forget_target(&mut self) -> Result<(), Failure> {
        if self.at.source.is_none() && self.at.target.is_some() {
            // The only record: it stays until the objects it covers are gone, and decides nothing meanwhile.
            let copied = Record { phase: Phase::Copied, ..self.record.clone() };
            return self.write(Side::Target, &copied, None).await;
        }
        // The record first: its decision must be gone before any object it covers.
        remove(&self.records.target, &self.at.target).await?;
        self.at.target = None;
        if let Some(target) = &self.records.target {
            target.remove_lists(&self.record.move_id).await?;
        }
        Ok(())
    }

    /// Removes the record and the list of an earlier attempt, if the target returned with those.
    pub(crate) async fn forget_earlier_attempt(&mut self) -> Result<(), Failure> {
        let is_earlier = match (&self.at.source, &self.at.target) {
            (Some(source), Some(target)) => is_of_earlier_attempt(&source.record, &target.record),
            _ => false,
        };
        if is_earlier { self.forget_target().await } else { Ok(()) }
    }

    /// Removes the record and the list that an earlier attempt, or a commit that did not complete, left in the target.
    pub(crate) async fn forget_attempts(&mut self) -> Result<(), Failure> {
        let Some(target) = &self.records.target else { return Err(no_record()) };
        let left = target
            .list_under_way()
            .await?
            .into_iter()
            .find(|left| left.record.move_id == self.record.move_id);
        if let Some(left) = left {
            target.remove(&left).await?;
        }
        self.at.target = None;
        target.remove_lists(&self.record.move_id).await
    }

    /// Forgets a move that was rolled back, except for a summary where its record was that counted.
    pub(crate) async fn forget_rolled_back(&mut self, summary: &RolledBackMove) -> Result<(), Failure> {
        if let (Some(target), Some(_)) = (&self.records.target, &self.at.target) {
            target.remove_lists(&self.record.move_id).await?;
        }
        self.forget_record(Side::Target, summary).await?;
        self.remove_handed_over().await?;
        self.forget_record(Side::Source, summary).await?;
        self.at = Both::default();
        self.entered = None;
        Ok(())
    }

    async fn forget_record(&self, side: Side, summary: &RolledBackMove) -> Result<(), Failure> {
        let (Some(records), Some(stored)) = (self.records.get(side), self.at.get(side)) else {
            return Ok(());
        };
        if self.first_side() != Some(side) {
            return records.remove(stored).await;
        }
        // A failure costs nothing: the next rollback tries again.
        if let Err(failure) = records.forget_old_rollbacks(&summary.scope).await {
            tracing::debug!(%failure, "leftovers of old rollbacks were not removed");
        }
        records.finish_rollback(stored, summary).await
    }

    /// Removes the list that a handover stored next to the source's record. Without that record there is none of this move.
    async fn remove_handed_over(&self) -> Result<(), Failure> {
        match (&self.records.source, self.record.handover.as_ref().filter(|_| self.at.source.is_some())) {
            (Some(source), Some(_)) => source.remove_lists(&self.record.move_id).await,
            _ => Ok(()),
        }
    }
}

/// The moves that imported some files.
pub(crate) struct Imports {
    pub(crate) under_way: Vec<Record>,
    /// Marks of those that ended.
    pub(crate) ended: BTreeSet<String>,
}

/// Splits a list into pieces, which are stored next to the record. A short list is stored in the record itself: with one write,
/// neither exists without the other.
fn split_list(list: &ReleaseList) -> (Vec<String>, Option<String>) {
    let mut chunks = list.to_chunks(CHUNK_BYTES);
    let inline = if chunks.len() == 1 { chunks.pop() } else { None };
    (chunks, inline)
}

async fn remove(records: &Option<Records>, seen: &Option<Stored>) -> Result<(), Failure> {
    match (records, seen) {
        (Some(records), Some(stored)) => records.remove(stored).await,
        _ => Ok(()),
    }
}

fn no_record() -> Failure {
    Failure::Bug("a move between API servers has no record".into())
}
