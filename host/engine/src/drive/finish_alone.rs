//! Finishing a committed move in the target while its source is away.
//!
//! Nothing is released, and nothing recorded but that it is done: the source's run that returns finds the phase where it was, sees that
//! the copies run already, and goes on from there. So this may be begun, given up and begun again, by whoever is beside the target; what it must
//! never do is run while the source's run still acts, which its caller sees to.

use std::sync::Arc;

use pivot_core::hooks::Point;
use pivot_core::record::{FinishAlone, Phase};

use crate::act::{live, settle};
use crate::base::events::Event;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls;
use crate::base::plugins::view::PluginView;
use crate::drive::sequence::ActiveMove;

impl ActiveMove {
    /// Resumes and settles the copies. That the target's controllers take over is not waited for: it is the evidence for deleting, and
    /// what they should report only the source knows.
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
        // The list goes before the record, once nothing is left to do.
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
