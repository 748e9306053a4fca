//! The records of one move, and the order in which they are written.
//!
//! Up to the commit the source's record alone counts; with the commit the target's is written, and decides from the
//! moment the source's says so; at the end the source's goes first. Where the source keeps no state the target's record
//! is the only one, from the first phase on, and one write to it is the commit.

use std::collections::BTreeSet;

use pivot_core::record::{Finished, Phase, Record};
use pivot_core::release::ReleaseList;
use pivot_core::{Both, Side};
use pivot_places::PlaceError;

use crate::base::Base;
use crate::outcome::failure::Failure;
use crate::state::records::{CHUNK, Records, Stored};

/// A record as it is known here, and as it lies on the two sides.
pub(crate) struct Journal {
    pub(crate) record: Record,
    /// None where there is no state to keep: a directory, or a side that is gone.
    records: Both<Option<Records>>,
    at: Both<Option<Stored>>,
    /// How far this run has come, where no side keeps a record.
    entered: Option<Phase>,
}

impl Journal {
    /// What was found of a move.
    pub(crate) fn new(record: Record, records: Both<Option<Records>>, at: Both<Option<Stored>>) -> Self {
        Self { record, records, at, entered: None }
    }

    /// How far the move has come; none where nothing was written down yet.
    pub(crate) fn phase(&self) -> Option<Phase> {
        let written = self.at.source.is_some() || self.at.target.is_some();
        if written { Some(self.record.phase) } else { self.entered }
    }

    /// Whether a record of the move is there, for others to go on with.
    pub(crate) fn is_written(&self) -> bool {
        self.at.source.is_some() || self.at.target.is_some()
    }

    /// When the source's server wrote the first line of the record.
    pub(crate) fn begun(&self) -> Option<&str> {
        self.at.source.as_ref()?.created.as_deref()
    }

    /// Notes what is about to be touched: a rollback must find it.
    pub(crate) fn note(&mut self, base: &Base) {
        self.record.kinds.extend(base.plan.steps.iter().map(|step| step.key.group_kind.clone()));
        self.record.touched.extend(base.namespaces());
    }

    /// Notes namespaces that are about to be made, beside those that earlier runs made.
    pub(crate) fn note_namespaces(&mut self, missing: &BTreeSet<String>) {
        let named = std::mem::take(&mut self.record.namespaces).into_iter().chain(missing.iter().cloned());
        self.record.namespaces = named.collect::<BTreeSet<_>>().into_iter().collect();
    }

    /// Which of these namespaces a record names that is written: a rollback finds them.
    pub(crate) fn named(&self, namespaces: &BTreeSet<String>) -> BTreeSet<String> {
        let written = self.first().and_then(|side| self.at.of(side).as_ref());
        let written = written.map_or(&[][..], |stored| &stored.record.namespaces);
        namespaces.iter().filter(|name| written.contains(name)).cloned().collect()
    }

    /// The side whose record counts before the commit.
    fn first(&self) -> Option<Side> {
        match &self.records {
            Both { source: Some(_), .. } => Some(Side::Source),
            Both { target: Some(_), .. } => Some(Side::Target),
            Both { source: None, target: None } => None,
        }
    }

    /// The side whose record decides to the end: the target's, where it keeps any.
    fn last(&self) -> Side {
        if self.records.target.is_some() { Side::Target } else { Side::Source }
    }

    /// Writes a phase before the commit; never back to an earlier one.
    pub(crate) async fn enter(&mut self, phase: Phase) -> Result<(), Failure> {
        let record = Record { phase: phase.max(self.record.phase), ..self.record.clone() };
        match self.first() {
            Some(side) => self.write(side, &record, None).await?,
            None => self.entered = Some(record.phase),
        }
        self.record = record;
        Ok(())
    }

    async fn write(&mut self, side: Side, record: &Record, list: Option<String>) -> Result<(), Failure> {
        let Some(records) = self.records.of(side) else { return Err(no_record()) };
        let written = match self.at.of(side) {
            Some(stored) if stored.record == *record && list.is_none() => return Ok(()),
            Some(stored) => records.update(stored, record, list).await?,
            None => records.create(record, list).await?,
        };
        *self.at.of_mut(side) = Some(written);
        Ok(())
    }

    /// The point of no return: the list and the target's record, then the source's by compare-and-swap.
    pub(crate) async fn commit(&mut self, list: &ReleaseList, base: &Base) -> Result<(), Failure> {
        let Some(target) = &self.records.target else { return Err(no_record()) };
        let mut chunks = list.chunks(CHUNK);
        // One that is short enough lies in the record itself: one write, and never one without the other.
        let inline = if chunks.len() == 1 { chunks.pop() } else { None };
        let mut record =
            Record { phase: Phase::Committed, release_chunks: chunks.len(), ..self.record.clone() };
        record.kinds = base.plan.steps.iter().map(|step| step.key.group_kind.clone()).collect();
        // The target's says Live already: until the source's says Committed it decides nothing, and then that is next.
        let live = Record { phase: Phase::Live, ..record.clone() };
        if self.at.target.is_some() {
            // Of an attempt that got half-way, whose list may have been longer.
            target.remove_lists(&record.move_id).await?;
        }
        // The list first: with the source gone the record alone decides, and must not be there without it.
        target.write_list(&chunks, &record.move_id).await?;
        self.write(Side::Target, &live, inline)
            .await
            .map_err(|failure| self.undecided(Side::Target, failure))?;
        if self.records.source.is_some() {
            self.write(Side::Source, &record, None)
                .await
                .map_err(|failure| self.undecided(Side::Source, failure))?;
        }
        self.record = live;
        Ok(())
    }

    /// Of the write that commits: whether the server acted is not known, and with it which record decides. Mostly the
    /// lease is lost first.
    fn undecided(&self, side: Side, failure: Failure) -> Failure {
        let commits = self.first() == Some(side);
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

    /// Writes a phase after the commit into the target's record.
    pub(crate) async fn advance(&mut self, phase: Phase) -> Result<(), Failure> {
        if phase <= self.record.phase {
            return Ok(());
        }
        let record = Record { phase, ..self.record.clone() };
        self.write(Side::Target, &record, None).await?;
        self.record = record;
        Ok(())
    }

    /// The list of a committed move; none where it is being closed.
    pub(crate) async fn release_list(&self) -> Result<Option<ReleaseList>, Failure> {
        let (Some(target), Some(stored)) = (&self.records.target, &self.at.target) else {
            return Err(no_record());
        };
        let Record { move_id, phase, .. } = &self.record;
        match target.read_list(stored).await? {
            None if *phase < Phase::Settled => Err(target.list_missing(move_id)),
            list => Ok(list),
        }
    }

    /// When the target's record was written, by the target's clock. It is written by the commit.
    pub(crate) fn committed_at(&self) -> Result<&str, Failure> {
        self.at.target.as_ref().and_then(|stored| stored.created.as_deref()).ok_or_else(no_record)
    }

    /// Whether the source keeps records and has none of this move.
    pub(crate) fn source_forgot(&self) -> bool {
        self.records.source.is_some() && self.at.source.is_none()
    }

    /// Whether a resume reads the release list from ConfigMaps of its own. Those are removed before the record is, so that one
    /// of them may be missing only once the record says that nothing is left to release.
    pub(crate) fn has_list_beside(&self) -> bool {
        self.record.release_chunks > 0
    }

    /// Ends a move that is done: everything but the last write.
    pub(crate) async fn close(&mut self) -> Result<(), Failure> {
        let last = self.last();
        let list = async {
            match &self.records.target {
                Some(target) => target.remove_list(&self.record.move_id, self.record.release_chunks).await,
                None => Ok(()),
            }
        };
        let source = async {
            match last {
                Side::Target => remove(&self.records.source, &self.at.source).await,
                Side::Source => Ok(()),
            }
        };
        let forget = async {
            let Some(records) = self.records.of(last) else { return };
            // A failure costs nothing: the next move that ends tries again.
            if let Err(failure) = records.forget_old().await {
                tracing::debug!(%failure, "what old moves left behind was not removed");
            }
        };
        let (source, list, ()) = tokio::join!(source, list, forget);
        source.and(list)
    }

    /// The last write: the record that decided to the end turns into what the move leaves behind.
    pub(crate) async fn finish(&mut self, finished: &Finished) -> Result<(), Failure> {
        let last = self.last();
        if let (Some(records), Some(stored)) = (self.records.of(last), self.at.of(last)) {
            records.finish(stored, finished).await?;
        }
        self.at = Both::default();
        self.entered = None;
        Ok(())
    }

    /// Undoes what a commit that did not happen wrote into the target.
    pub(crate) async fn forget_target(&mut self) -> Result<(), Failure> {
        if self.at.source.is_none() && self.at.target.is_some() {
            // The only record there is: it stays until what it speaks of is gone, and decides nothing meanwhile.
            let copied = Record { phase: Phase::Copied, ..self.record.clone() };
            return self.write(Side::Target, &copied, None).await;
        }
        // The record first: what it decides must be gone before anything that it speaks of.
        remove(&self.records.target, &self.at.target).await?;
        self.at.target = None;
        if let Some(target) = &self.records.target {
            target.remove_lists(&self.record.move_id).await?;
        }
        Ok(())
    }

    /// Forgets a move that was rolled back.
    pub(crate) async fn forget(&mut self) -> Result<(), Failure> {
        if let (Some(target), Some(_)) = (&self.records.target, &self.at.target) {
            target.remove_lists(&self.record.move_id).await?;
        }
        remove(&self.records.target, &self.at.target).await?;
        remove(&self.records.source, &self.at.source).await?;
        self.at = Both::default();
        self.entered = None;
        Ok(())
    }
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
