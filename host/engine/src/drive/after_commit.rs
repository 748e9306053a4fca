//! Runs a move from its commit to the end. There is no way back, and the record shows each run where the last one stopped.

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::risk::Risk;
use pivot_core::plugins::hooks::Point;
use pivot_core::records::record::{FinishAlone, Phase};
use pivot_core::records::release::{Entry, ReleaseFate, ReleaseList};
use pivot_core::{GroupKind, Key};

use crate::act::live::{self, KnownObjects};
use crate::act::{lost_record, pausing, release, settle};
use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls;
use crate::base::plugins::view::PluginView;
use crate::check::agent::refuse_unable_agent;
use crate::check::{evidence, new_dependents};
use crate::drive::sequence::{ActiveMove, Done};

impl ActiveMove {
    /// Unpauses the copies, deletes from the source, settles, and closes the move.
    pub(crate) async fn finish_committed(
        &mut self,
        list: Arc<ReleaseList>,
        mut seen: KnownObjects,
    ) -> Result<Done, Failure> {
        let job = self.job.clone();
        let count = list.entries.len();
        let mut dropped = BTreeSet::new();
        // If deleting has begun, the target has already shown that it reconciles, and another check could only delay the end.
        // An import has unpaused and settled its copies itself, and shown it before the commit.
        if !self.journal.has_begun_to_delete() && !job.route.is_handover() {
            job.report(Event::PhaseBegun { phase: Phase::Live, objects: count });
            let (known, copied) = match &seen {
                KnownObjects::Copied(known) => (known, Some(known)),
                KnownObjects::ReadAgain(known) => {
                    // Users may have unpaused the source since the commit: then the target must not run as well.
                    if !job.source.end_kind.is_absent() {
                        pausing::check_still_paused(&job, &list).await?;
                    }
                    (known, None)
                }
            };
            // This comes before anything runs in the target: a run that died between the two would leave a target that may not
            // go on.
            if !job.source.end_kind.is_absent() {
                self.report_unable_agent();
                self.journal.allow_finishing_alone().await?;
            }
            // Before anything is unpaused: a later pause excuses no missing takeover.
            let record = &self.journal.record;
            let kept_paused = match record.is_recovered() || job.route.may_restore(record) {
                true => Box::pin(live::find_kept_paused(&job, record, &list)).await?,
                false => BTreeSet::new(),
            };
            dropped = live::unpause_copies(&job, &self.journal.record, &list, copied).await?;
            calls::wait_for_checks(&job, &PluginView::from_list(&list), Point::AfterResume).await?;
            let since = Some(self.journal.committed_at()?);
            evidence::wait_for_takeover(&job, &list, known, &kept_paused, since).await?;
            job.safe_point()?;
            self.record_time(Phase::Live);
        }
        if job.options.stop_before_release && !job.source.end_kind.is_absent() {
            return Err(self.stop_before_release());
        }
        seen = keep_needed(&job, &list, seen);
        let mut prepared = None;
        // The list's versions are of another history of this source.
        let list = match self.journal.record.source_went_back && !job.source.end_kind.is_absent() {
            true => Arc::new(release::update_versions(&job, &list).await?),
            false => list,
        };
        if self.journal.source_record_is_gone() && !job.source.end_kind.is_absent() {
            lost_record::refuse_left_entries(&job, &list).await?;
        } else if !job.source.end_kind.is_absent() && self.has_to_release(&list).await? {
            // Files are not deleted.
            let objects = if job.route.pauses_source() { count } else { 0 };
            job.report(Event::PhaseBegun { phase: Phase::Released, objects });
            // These checks come before the phase is recorded: from Released on, no run checks again whether the target
            // reconciles.
            let (marks, accepted) = self.marks_and_accepted();
            tokio::try_join!(
                live::check_copies(&job, &list, &marks, &accepted),
                pausing::check_still_paused(&job, &list),
                new_dependents::refuse_new_dependents(&job, &list, self.journal.created_at()),
                self.report_missing(&job, &list, &seen),
            )?;
            // Nothing is deleted before the phase is recorded; the steps before a delete do no harm without it.
            let (written, may_delete) = tokio::sync::watch::channel(false);
            let advance = async {
                let advanced = self.journal.enter_released().await;
                if advanced.is_ok() {
                    written.send_replace(true);
                }
                // A sender that is dropped unsent tells the waiting tasks that nothing will be written.
                drop(written);
                advanced
            };
            let (advanced, released) =
                tokio::join!(advance, release::release_all(&job, &list, seen.copied_objects(), may_delete));
            advanced?;
            prepared = Some(released?);
            self.record_time(Phase::Released);
        }
        // If nothing settles, only closing the move is left to do; a resume may just as well find it Released.
        let settling = if job.route.is_handover() { 0 } else { settle::count_held(&job, &list) };
        let settles = settling > 0;
        if self.journal.has_separate_list() || settles {
            self.journal.advance_to(Phase::Settled).await?;
        }
        job.report(Event::PhaseBegun { phase: Phase::Settled, objects: settling });
        if settles {
            let (KnownObjects::Copied(known) | KnownObjects::ReadAgain(known)) = &seen;
            let commit = settle::Commit { at: self.journal.committed_at().ok(), source: Some(known) };
            settle::settle_all(&job, &list, &commit).await?;
        }
        if !job.source.end_kind.is_absent() && !self.journal.source_record_is_gone() {
            release::delete_last(&job, &list, seen.copied_objects(), prepared).await?;
        }
        let unverified = evidence::find_unverified_kinds(&job, &list);
        let mut done = Done { unverified, added: self.added(), ..Done::default() };
        for entry in list.entries.iter().filter(|entry| !dropped.contains(&entry.key)) {
            let counts = if entry.fate == ReleaseFate::Delete { &mut done.moved } else { &mut done.kept };
            *counts.entry(entry.key.group_kind.clone()).or_default() += 1;
        }
        let moved = list.entries.iter().filter(|entry| is_cluster(&entry.key.group_kind));
        let moved = moved.map(|entry| (entry.key.clone(), entry.uid.clone())).collect();
        self.close(&done, &moved).await?;
        self.record_time(Phase::Settled);
        Ok(done)
    }

    /// Returns true if the source may have objects left. After the target's record says Settled, that is so only if the source
    /// went back.
    async fn has_to_release(&self, list: &ReleaseList) -> Result<bool, Failure> {
        if self.journal.record.phase <= Phase::Released || self.job.source.end_kind.is_files() {
            return Ok(self.journal.record.phase <= Phase::Released);
        }
        let left = lost_record::find_left_entries(&self.job, list).await?;
        Ok(left.iter().any(|entry| !entry.last))
    }

    /// Reports an agent that can't finish the move alone any more: it may have connected again with other plugins.
    fn report_unable_agent(&self) {
        if self.journal.record.finish_alone == Some(FinishAlone::Requested)
            && let Some(Refusal { code, message, .. }) = refuse_unable_agent(&self.job)
        {
            self.job.report(Event::warning(code, message));
        }
    }

    /// Returns the reason for a stop before deleting: as requested, or because the request comes too late.
    fn stop_before_release(&self) -> Failure {
        let record = &self.journal.record;
        match self.journal.has_begun_to_delete() {
            true => Failure::Declined(format!(
                "move {} has begun to delete from the source: it can't stop before that any more",
                record.move_id
            )),
            false => Failure::StoppedBeforeRelease,
        }
    }

    /// Reports objects that are on neither side, if the source's record proves that nothing was deleted, and another run made
    /// the copies.
    async fn report_missing(
        &self,
        job: &Job,
        list: &ReleaseList,
        seen: &KnownObjects,
    ) -> Result<(), Failure> {
        match seen {
            KnownObjects::ReadAgain(_) if self.journal.has_deleted_nothing() => {
                live::report_missing_on_both(job, list).await
            }
            KnownObjects::ReadAgain(_) | KnownObjects::Copied(_) => Ok(()),
        }
    }

    /// Returns the marks of the copies, and the kinds of copies that may be gone.
    fn marks_and_accepted(&self) -> (BTreeSet<String>, BTreeSet<GroupKind>) {
        match &self.journal.record.handover {
            Some(handover) => {
                let accepted = handover.copy_changed.union(self.job.options.accept.kinds(Risk::CopyChanged));
                (handover.imported_by.clone(), accepted.cloned().collect())
            }
            None => {
                let accepted = self.job.options.accept.kinds(Risk::CopyChanged).clone();
                (BTreeSet::from([self.job.move_id.clone()]), accepted)
            }
        }
    }
}

/// Keeps only the objects that are needed once the target has taken over: objects without a digest, which are compared as a whole, and
/// objects that settle. The bodies of all others are most of a large move's memory.
fn keep_needed(job: &Job, list: &ReleaseList, seen: KnownObjects) -> KnownObjects {
    let is_needed = |entry: &&Entry| entry.digest.is_none() || settle::should_settle(job, entry);
    let needed: BTreeSet<&Key> = list.entries.iter().filter(is_needed).map(|entry| &entry.key).collect();
    let keep = |known: Inventory| known.keep_only(|key| needed.contains(key));
    match seen {
        KnownObjects::Copied(known) => KnownObjects::Copied(keep(known)),
        KnownObjects::ReadAgain(known) => KnownObjects::ReadAgain(keep(known)),
    }
}
