//! The records of one move, and the order in which they are written.
//!
//! Up to the commit the source's record alone counts; with the commit the target's is written, and decides from the
//! moment the source's says so; at the end the source's goes first.

use pivot_core::record::{Phase, Record};
use pivot_core::release::ReleaseList;
use pivot_places::PlaceError;

use crate::base::Base;
use crate::outcome::failure::Failure;
use crate::state::records::{CHUNK, Records, Stored};

/// A record as it is known here, and as it lies on the two sides.
pub(crate) struct Journal {
    pub(crate) record: Record,
    /// None where there is no state to keep: a directory, or a side that is gone.
    source: Option<Records>,
    target: Option<Records>,
    at_source: Option<Stored>,
    at_target: Option<Stored>,
}

impl Journal {
    /// What was found; records of other moves are not taken for this one's.
    pub(crate) fn new(
        record: Record,
        (source, target): (Option<Records>, Option<Records>),
        (at_source, at_target): (Option<Stored>, Option<Stored>),
    ) -> Self {
        let ours = |stored: Option<Stored>| stored.filter(|stored| stored.record.move_id == record.move_id);
        let (at_source, at_target) = (ours(at_source), ours(at_target));
        Self { record, source, target, at_source, at_target }
    }

    /// How far the move has come; none where nothing was written down yet.
    pub(crate) fn phase(&self) -> Option<Phase> {
        (self.at_source.is_some() || self.at_target.is_some()).then_some(self.record.phase)
    }

    /// When the source's server wrote the first line of the record.
    pub(crate) fn begun(&self) -> Option<&str> {
        self.at_source.as_ref()?.created.as_deref()
    }

    /// Notes what is about to be touched: a rollback must find it.
    pub(crate) fn note(&mut self, base: &Base) {
        self.record.kinds.extend(base.plan.steps.iter().map(|step| step.key.group_kind.clone()));
        self.record.touched.extend(base.namespaces());
    }

    /// Writes a phase before the commit into the source's record; never back to an earlier one.
    pub(crate) async fn enter(&mut self, phase: Phase) -> Result<(), Failure> {
        let Some(source) = &self.source else { return Ok(()) };
        let record = Record { phase: phase.max(self.record.phase), ..self.record.clone() };
        self.at_source = Some(match &self.at_source {
            Some(stored) if stored.record == record => stored.clone(),
            Some(stored) => source.update(stored, &record).await?,
            None => source.create(&record).await?,
        });
        self.record = record;
        Ok(())
    }

    /// The point of no return: the list and the target's record, then the source's by compare-and-swap.
    pub(crate) async fn commit(&mut self, list: &ReleaseList, base: &Base) -> Result<(), Failure> {
        let (Some(source), Some(target)) = (&self.source, &self.target) else { return Err(no_record()) };
        let chunks = list.chunks(CHUNK);
        let mut record =
            Record { phase: Phase::Committed, release_chunks: chunks.len(), ..self.record.clone() };
        record.kinds = base.plan.steps.iter().map(|step| step.key.group_kind.clone()).collect();
        // The target's says Live already: until the source's says Committed it decides nothing, and then that is next.
        let live = Record { phase: Phase::Live, ..record.clone() };
        if self.at_target.is_some() {
            // Of an attempt that got half-way, whose list may have been longer.
            target.remove_lists(&record.move_id).await?;
        }
        // The list first: with the source gone the record alone decides, and must not be there without it.
        target.write_list(&chunks, &record.move_id).await?;
        self.at_target = Some(match &self.at_target {
            Some(stored) => target.update(stored, &live).await?,
            None => target.create(&live).await?,
        });
        let stored = self.at_source.as_ref().ok_or_else(no_record)?;
        self.at_source = Some(match source.update(stored, &record).await {
            // Whether the server acted is not known, and with it which record decides. Mostly the lease is lost first.
            Err(
                failure @ (Failure::Halted(_) | Failure::Place { error: PlaceError::Unavailable(_), .. }),
            ) => {
                return Err(Failure::Undecided(Box::new(failure)));
            }
            other => other?,
        });
        self.record = live;
        Ok(())
    }

    /// Writes a phase after the commit into the target's record.
    pub(crate) async fn advance(&mut self, phase: Phase) -> Result<(), Failure> {
        if phase <= self.record.phase {
            return Ok(());
        }
        let (Some(target), Some(stored)) = (&self.target, &self.at_target) else { return Err(no_record()) };
        let record = Record { phase, ..self.record.clone() };
        self.at_target = Some(target.update(stored, &record).await?);
        self.record = record;
        Ok(())
    }

    /// The list of a committed move; none where it is being closed.
    pub(crate) async fn release_list(&self) -> Result<Option<ReleaseList>, Failure> {
        let target = self.target.as_ref().ok_or_else(no_record)?;
        match target.read_list(&self.record.move_id, self.record.release_chunks).await? {
            None if self.record.phase < Phase::Settled => Err(target.list_missing()),
            list => Ok(list),
        }
    }

    /// Removes the records of a move that is done: the target's last of all, which decides to the end.
    pub(crate) async fn close(&self) -> Result<(), Failure> {
        let Record { move_id, release_chunks, .. } = &self.record;
        let list = async {
            match &self.target {
                Some(target) => target.remove_list(move_id, *release_chunks).await,
                None => Ok(()),
            }
        };
        let (source, list) = tokio::join!(remove(&self.source, &self.at_source, move_id), list);
        source.and(list)?;
        remove(&self.target, &self.at_target, move_id).await
    }

    /// Takes back what a commit that did not happen wrote into the target.
    pub(crate) async fn forget_target(&mut self) -> Result<(), Failure> {
        if let Some(target) = &self.target {
            target.remove_lists(&self.record.move_id).await?;
        }
        remove(&self.target, &self.at_target, &self.record.move_id).await?;
        self.at_target = None;
        Ok(())
    }

    /// Forgets a move that was taken back.
    pub(crate) async fn forget_source(&mut self) -> Result<(), Failure> {
        remove(&self.source, &self.at_source, &self.record.move_id).await?;
        self.at_source = None;
        Ok(())
    }
}

async fn remove(records: &Option<Records>, seen: &Option<Stored>, move_id: &str) -> Result<(), Failure> {
    match records {
        Some(records) => records.remove(move_id, seen.as_ref()).await,
        None => Ok(()),
    }
}

fn no_record() -> Failure {
    Failure::Bug("a move between API servers has no record".into())
}
