//! Finishes a committed move in the target while its source is away.
//!
//! Nothing is deleted from the source, and the only record is that this is done. When the source's run returns, it finds the
//! phase unchanged, sees that the copies run already, and continues from there.
//!
//! So this can be started, interrupted and started again by anyone with access to the target. It must never run while the
//! source's run still acts, which the caller ensures.

use std::sync::Arc;

use pivot_core::plugins::hooks::Point;
use pivot_core::records::record::{FinishAlone, Phase};

use crate::act::{live, settle};
use crate::base::events::Event;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls;
use crate::base::plugins::view::PluginView;
use crate::drive::sequence::ActiveMove;

impl ActiveMove {
    /// Unpauses and settles the copies. There is no wait for a takeover: the takeover is the evidence for deleting, and only
    /// the source knows the expected reports.
    pub(crate) async fn finish_alone(&mut self) -> Result<(), Failure> {
        let (job, record) = (self.job.clone(), &self.journal.record);
        match record.finish_alone {
            Some(FinishAlone::Allowed) => {}
            Some(FinishAlone::Done) => return Ok(()),
            Some(FinishAlone::Requested) | None => {
                return Err(Failure::Declined(format!(
                    "move {} is not sealed: the target alone can't know whether it is committed",
                    record.move_id
                )));
            }
        }
        let phase = record.phase;
        // The list is removed before the record, once nothing is left to do.
        let Some(list) = self.journal.release_list().await?.map(Arc::new) else { return Ok(()) };
        let objects = list.entries.len();
        if phase <= Phase::Live {
            job.report(Event::PhaseBegun { phase: Phase::Live, objects });
            live::unpause_copies(&job, &self.journal.record, &list, None).await?;
            calls::wait_for_checks(&job, &PluginView::from_list(&list), Point::AfterResume).await?;
            self.record_time(Phase::Live);
        }
        let settling = settle::count_held(&job, &list);
        if settling > 0 {
            job.report(Event::PhaseBegun { phase: Phase::Settled, objects: settling });
            let commit = settle::Commit { at: self.journal.committed_at().ok(), source: None };
            settle::settle_all(&job, &list, &commit).await?;
            self.record_time(Phase::Settled);
        }
        self.journal.note_finished_alone().await
    }
}
