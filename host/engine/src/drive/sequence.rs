//! The path of one move through its phases, up to the commit; from there on [`after_commit`](crate::drive::after_commit). A phase is
//! recorded before its first change is made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::messages::risk::Risk;
use pivot_core::plan::{Fate as PlanFate, Step};
use pivot_core::plugins::hooks::Point;
use pivot_core::records::backup::{BackupFacts, UnfinishedWork};
use pivot_core::records::record::{Finished, MOST_MOVED_CLUSTERS, Phase, RolledBackMove};
use pivot_core::records::release::ReleaseList;
use pivot_core::{GroupKind, Key, Side, Uid};
use pivot_places::{Begun, Closing, PlaceError};
use tokio::time::Instant;

use crate::act::commit::{self, SideComparison};
use crate::act::copy::{self, Copies};
use crate::act::guard;
use crate::act::handover;
use crate::act::live::KnownObjects;
use crate::act::new_namespaces;
use crate::act::pausing::{self, PauseResult};
use crate::act::read_only_source;
use crate::act::signs;
use crate::act::unpausing;
use crate::base::clock::utc_now;
use crate::base::events::{self, Awaited, Event};
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::plugins::calls;
use crate::base::requests::MAX_ROUNDS;
use crate::base::state::cluster_copies;
use crate::base::state::journal::Journal;
use crate::base::state::locks::{Lock, MoveLeft};
use crate::check::approved;
use crate::check::before_pause::{self, TargetState};
use crate::check::gitops;
use crate::drive::rollback::{self, RolledBack};
use crate::read::first_reading::FirstReading;
use crate::read::namespaces;
use crate::read::readings;
use crate::read::snapshot::Snapshot;

/// A move under way.
pub(crate) struct ActiveMove {
    pub(crate) job: Arc<Job>,
    pub(crate) journal: Journal,
    /// See [`crate::base::state::moves::FoundMove::orphaned`].
    pub(crate) orphaned: bool,
    /// See [`crate::base::state::moves::FoundMove::one_sided`].
    pub(crate) one_sided: Option<OneSidedMove>,
    /// Whether the source has yet to become authoritative again ([`crate::drive::recovery`]); its stored record says Committed.
    pub(crate) recovers: bool,
    /// See [`crate::base::state::moves::FoundMove::other_files`].
    pub(crate) other_files: bool,
    /// Reading of the source from before the state of the move was known.
    pub(crate) first: Option<Result<FirstReading, Failure>>,
    /// Duration of each phase.
    pub(crate) times: Vec<(Phase, Duration)>,
    pub(crate) began: Instant,
}

/// The result of a move.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Objects that are now in the target and no longer in the source.
    pub moved: BTreeMap<GroupKind, usize>,
    /// Objects that are on both sides.
    pub kept: BTreeMap<GroupKind, usize>,
    /// Objects that the user added, and that are in the target only.
    pub added: BTreeMap<GroupKind, usize>,
    /// Kinds that no controller of the target was seen to take over.
    pub unverified: BTreeSet<GroupKind>,
    /// The source was handed over in files, and stays paused: the move has not ended.
    pub handed_over: bool,
}

impl ActiveMove {
    /// See [`crate::base::state::moves::FoundMove::is_targets_word`].
    pub(crate) fn is_targets_word(&self) -> bool {
        self.journal.stored_in_source().is_err() && (self.orphaned || self.one_sided.is_some())
    }

    /// Runs the move from its current phase to the end.
    pub(crate) async fn forward(&mut self) -> Result<Done, Failure> {
        if self.journal.record.phase.is_committed() {
            let list = match self.journal.release_list().await? {
                Some(list) => Arc::new(list),
                // The list is removed before the record: the last run died while it closed the move.
                None => {
                    self.close(&Done::default(), &BTreeMap::new()).await?;
                    let note =
                        format!("move {} had already finished; its last record is removed", self.job.move_id);
                    self.job.report(Event::note("already-done", note));
                    return Ok(Done::default());
                }
            };
            let known = readings::read_moved_objects(&self.job, &self.journal, &list).await?;
            return self.finish_committed(list, KnownObjects::ReadAgain(known)).await;
        }
        match self.journal.record.handed_over().cloned() {
            Some(contents) if self.job.route.target_runs() => {
                let (list, known) = self.commit_import(&contents).await?;
                return self.finish_committed(list, KnownObjects::ReadAgain(known)).await;
            }
            Some(_) => handover::reopen_files(&self.job, &mut self.journal).await?,
            None => {
                let begun = match self.journal.is_written() {
                    true => Begun::UnderWay,
                    false if self.job.route.is_backup() => Begun::Overwrite,
                    false => Begun::No,
                };
                self.job.target.open(&self.job.move_id, begun).await?;
            }
        }
        if self.journal.phase().is_some_and(Phase::has_uncommitted_copies) {
            rollback::refuse_running_copies(&self.job, &self.journal.record).await?;
            if self.journal.record.is_recovered() {
                self.journal.forget_earlier_attempt().await?;
                rollback::clear_earlier_attempts(&self.job, &self.journal.record).boxed().await?;
            }
        }
        let (first, mut target_state, known_keys) = self.check().await?;
        let unfinished = std::mem::take(&mut target_state.unfinished);
        self.journal.note_namespaces(&target_state.namespaces.missing());
        let snapshot = self.pause(first, known_keys).await?;
        let copies = self.copy(&snapshot, target_state).await?;
        if !self.job.route.target_runs() {
            return match self.job.route.is_handover() {
                true => self.hand_over(copies).await,
                false => self.unpause_source(&snapshot, unfinished).await,
            };
        }
        drop(snapshot);
        self.wait_until_seen(&copies).await?;
        let (list, known) = self.commit(copies).await?;
        self.finish_committed(list, KnownObjects::Copied(known)).await
    }

    async fn check(&mut self) -> Result<(Snapshot, TargetState, BTreeSet<Key>), Failure> {
        let job = self.job.clone();
        approved::check_sides(&job, &self.journal.record)?;
        let first = self.first.take().transpose()?;
        let (snapshot, first_reads) = readings::read_first(&job, first).await?;
        // A record that nobody can read again would leave a source paused that no command knows of.
        let believable = self.journal.record.check_bounds();
        believable.map_err(|what| Failure::Declined(format!("the {what} of this move can't be right")))?;
        job.report(Event::PhaseBegun { phase: Phase::Checked, objects: snapshot.plan.steps.len() });
        let target_state = before_pause::check_all(&job, &snapshot, &first_reads).await?;
        let begun = self.journal.phase() >= Some(Phase::Paused);
        approved::check_before_pause(&job, &snapshot, &target_state, begun)?;
        job.safe_point()?;
        self.record_time(Phase::Checked);
        let keys = snapshot.plan.steps.iter().map(|step| step.key.clone()).collect();
        Ok((snapshot, target_state, keys))
    }

    async fn pause(&mut self, first: Snapshot, known: BTreeSet<Key>) -> Result<Arc<Snapshot>, Failure> {
        let job = self.job.clone();
        if job.route.pauses_in_reading() {
            return self.pause_read_only(first).await;
        }
        if !job.route.pauses_source() {
            return Ok(Arc::new(first));
        }
        job.report(Event::PhaseBegun { phase: Phase::Paused, objects: first.plan.steps.len() });
        if job.options.guard {
            // The record comes first, so that commands find the move of each guard.
            self.lock(locks_of(&job, &first)).await?;
            self.journal.note_touched(first.kinds(), first.namespaces());
            self.journal.enter_phase(Phase::Paused).await?;
            guard::create_and_await(&job, &self.journal.record.kinds).await?;
        }
        let snapshot = self.pause_until_stable(first, None).await?;
        approved::check_after_pause(&job, &snapshot)?;
        before_pause::check_new_objects(&job, &snapshot, &known).await?;
        calls::wait_for_checks(&job, &snapshot.plugin_view(), Point::AfterPause).await?;
        job.safe_point()?;
        self.record_time(Phase::Paused);
        Ok(Arc::new(snapshot))
    }

    /// Pauses the objects of a source in files in the reading alone.
    async fn pause_read_only(&mut self, first: Snapshot) -> Result<Arc<Snapshot>, Failure> {
        let job = self.job.clone();
        self.lock(locks_of(&job, &first)).await?;
        let snapshot = Arc::new(read_only_source::pause_in_reading(&job, first).await?);
        job.services.use_paused_source(snapshot.inventory.clone());
        // No controller takes part in the pause of a backup, so there is nothing to check.
        if !job.route.is_backup() {
            calls::wait_for_checks(&job, &snapshot.plugin_view(), Point::AfterPause).await?;
        }
        job.safe_point()?;
        Ok(snapshot)
    }

    /// Pauses until a reading of the source has nothing left to pause and nothing to wait for; that reading is what is
    /// copied. Objects that appear in the meantime are paused too. Keeps the first reading if the `earlier` one has all its objects
    /// and the source still has them as they were read.
    async fn pause_until_stable(
        &mut self,
        mut snapshot: Snapshot,
        earlier: Option<&Snapshot>,
    ) -> Result<Snapshot, Failure> {
        let job = self.job.clone();
        let deadline = job.parking.deadline(job.options.pause_timeout);
        let mut keeps_reading = earlier.is_some_and(|earlier| !snapshot.has_more_than(&earlier.uids()));
        loop {
            // The record names objects before they are paused, so that a rollback finds them. Objects that are not locked are not
            // touched. Before the lock, another run may have changed them.
            keeps_reading &= !self.lock(locks_of(&job, &snapshot)).await?;
            self.journal.note_touched(snapshot.kinds(), snapshot.namespaces());
            self.journal.enter_phase(Phase::Paused).await?;
            let PauseResult { changed, is_outdated } = pausing::pause_all(&job, &snapshot).await?;
            let known = snapshot.uids();
            if !keeps_reading || is_outdated {
                // Two readings at once would be the most that a move ever holds.
                drop(snapshot);
                snapshot = readings::read_again(&job).await?;
            }
            keeps_reading = false;
            unpausing::unpause_departed(&job, &snapshot).await?;
            let left = deadline.time_left();
            let acknowledged = pausing::wait_until_acknowledged(&job, &snapshot, left).await?;
            if acknowledged && !snapshot.has_more_than(&known) {
                return read_only_source::pause_elsewhere_in_reading(&job, snapshot).await;
            }
            if left.is_zero() {
                let what = format!("the source to come to rest ({changed} objects were paused last)");
                return Err(Failure::TimedOut(vec![Awaited::from_text(what)]));
            }
        }
    }

    async fn copy(
        &mut self,
        snapshot: &Arc<Snapshot>,
        target_state: TargetState,
    ) -> Result<Arc<Copies>, Failure> {
        let job = self.job.clone();
        let TargetState { used, mut namespaces, mut new_namespaces, .. } = target_state;
        namespaces.look_up(&job, snapshot).await?;
        let missing = namespaces.missing();
        // Namespaces that the record already names can be created while the phase is recorded.
        let named = self.journal.recorded_namespaces(&missing);
        new_namespaces.retain(|name, _| named.contains(name));
        self.journal.note_touched(snapshot.kinds(), snapshot.namespaces());
        self.journal.note_namespaces(&missing);
        let (entered, made) = tokio::join!(
            self.journal.enter_phase(Phase::Copied),
            new_namespaces::create_namespaces(&job, new_namespaces)
        );
        entered?;
        job.report(Event::PhaseBegun { phase: Phase::Copied, objects: snapshot.plan.steps.len() });
        made?;
        let late = missing.difference(&named).cloned().collect();
        new_namespaces::create_namespaces(&job, namespaces::read_metadata(&job, &late).await).await?;
        let copies = Arc::new(Copies::new(snapshot, BTreeMap::new()));
        copy::copy_all(&job, &copies, &Arc::new(used)).await?;
        self.record_time(Phase::Copied);
        Ok(copies)
    }

    /// Waits until the target's controllers show that they see the copies. Nothing is recorded if no sign is awaited.
    async fn wait_until_seen(&mut self, copies: &Copies) -> Result<(), Failure> {
        let job = self.job.clone();
        let awaited = signs::select_signs(&job, copies)?;
        let (phase, objects) = (Phase::Ready, awaited.copies.values().map(BTreeSet::len).sum());
        if objects > 0 {
            job.report(Event::PhaseBegun { phase, objects });
            self.journal.enter_phase(phase).await?;
        }
        signs::wait_for_signs(&job, copies, awaited).await?;
        job.safe_point()?;
        if objects > 0 {
            self.record_time(phase);
        }
        Ok(())
    }

    /// A copy in a directory doesn't take over: the source stays in service.
    async fn unpause_source(
        &mut self,
        snapshot: &Snapshot,
        unfinished: Vec<UnfinishedWork>,
    ) -> Result<Done, Failure> {
        let facts = self.job.options.backup.clone();
        let backup = facts.map(|facts| Box::new(BackupFacts { unfinished, ..facts }));
        // Before the source is released, so that a failure here can still be retried with the same command.
        self.job.target.close(Closing::Complete { handover: false, backup }).await?;
        if self.job.route.pauses_source() {
            let undone = unpausing::undo_all(&self.job, &self.journal).await?;
            undone.undo_lost.iter().for_each(|key| unpausing::report_undo_lost(&self.job, key, Side::Source));
        }
        let done = Done { kept: kinds_of(snapshot), added: self.added(), ..Done::default() };
        self.close(&done, &BTreeMap::new()).await?;
        Ok(done)
    }

    /// The source stays paused, and its record says what becomes of it once the files are imported elsewhere.
    async fn hand_over(&mut self, copies: Arc<Copies>) -> Result<Done, Failure> {
        let copies = self.verified(copies).await?;
        let list = commit::build_release_list(&self.job, &copies)?;
        self.job.safe_point()?;
        handover::end_copy(&self.job, &mut self.journal, &list).await?;
        let (kept, added) = (kinds_of(&copies.snapshot), self.added());
        Ok(Done { kept, added, handed_over: true, ..Done::default() })
    }

    /// The target imported what was handed over in files: checks that it did, then commits. Nothing is changed before.
    async fn commit_import(&mut self, contents: &Uid) -> Result<(Arc<ReleaseList>, Inventory), Failure> {
        let list = Arc::new(handover::read_list(&self.job, &self.journal).await?);
        let phase = Phase::Committed;
        self.job.report(Event::PhaseBegun { phase, objects: list.entries.len() });
        let known = readings::read_moved_objects(&self.job, &self.journal, &list).await?;
        handover::commit_import(&self.job, &mut self.journal, contents, &list, &known).await?;
        self.record_time(phase);
        Ok((list, known))
    }

    /// Runs the plugins' checks and then compares, in this order, to see changes made while a plugin makes the move wait.
    async fn verified(&mut self, mut copies: Arc<Copies>) -> Result<Arc<Copies>, Failure> {
        let job = self.job.clone();
        calls::wait_for_checks(&job, &copies.snapshot.plugin_view(), Point::BeforeCommit).await?;
        let mut last = None;
        for _ in 0..MAX_ROUNDS {
            let (comparison, ()) = tokio::try_join!(
                commit::compare_sides(&job, &copies),
                check_before_commit(&job, &copies.snapshot)
            )?;
            let edited = match comparison {
                SideComparison::Same => return Ok(copies),
                SideComparison::CopiesChanged(edited) => edited,
                SideComparison::Changed => {
                    let reading = readings::read_again(&job).await?;
                    let now = Arc::new(self.pause_until_stable(reading, Some(&copies.snapshot)).await?);
                    approved::check_after_pause(&job, &now)?;
                    new_namespaces::create_late(&job, &mut self.journal, &now).await?;
                    let (brought, changed) = commit::bring_up_to_date(&job, &copies, &now).await?;
                    copies = brought;
                    if changed {
                        last = None;
                        let awaited = signs::select_signs(&job, &copies)?;
                        signs::wait_for_signs(&job, &copies, awaited).await?;
                        calls::wait_for_checks(&job, &copies.snapshot.plugin_view(), Point::BeforeCommit)
                            .await?;
                        continue;
                    }
                    // Versions changed, contents did not: controllers touch the status of paused objects, too. The copies were not
                    // compared yet, and the pause took time.
                    let (edited, ()) = tokio::try_join!(
                        commit::compare_copies(&job, &copies).boxed(),
                        check_before_commit(&job, &copies.snapshot)
                    )?;
                    if edited.is_empty() {
                        return Ok(copies);
                    }
                    edited
                }
            };
            copies = commit::copy_again(&job, &copies, &edited).await?;
            last = copies.find_first(&edited).cloned();
        }
        let error =
            PlaceError::Conflict(format!("it changed in each of {MAX_ROUNDS} looks although it is paused"));
        Err(match last {
            Some(copy) => job.target.request_failure("comparing the copy", Some(&copy), error),
            None => job.source.request_failure("comparing the copy with the source", None, error),
        })
    }

    async fn commit(&mut self, copies: Arc<Copies>) -> Result<(Arc<ReleaseList>, Inventory), Failure> {
        let job = self.job.clone();
        job.report(Event::PhaseBegun { phase: Phase::Committed, objects: copies.snapshot.plan.steps.len() });
        let copies = self.verified(copies).await?;
        let snapshot = &copies.snapshot;
        let list = commit::build_release_list(&job, &copies)?;
        // The last moment before the point of no return.
        job.safe_point()?;
        let kinds = snapshot.plan.steps.iter().map(|step| step.key.group_kind.clone()).collect();
        self.journal.commit(&list, kinds).await?;
        guard::cover_content(&job, &self.journal.record.kinds, &list, &snapshot.providers).await;
        self.record_time(Phase::Committed);
        let snapshot = snapshot.clone();
        drop(copies);
        // Mostly nobody else has it any more, and of many objects a second copy of their metadata is much.
        let inventory = match Arc::try_unwrap(snapshot) {
            Ok(snapshot) => snapshot.inventory,
            Err(shared) => shared.inventory.clone(),
        };
        Ok((Arc::new(list), inventory))
    }

    /// Rolls everything back and forgets the move.
    pub(crate) async fn roll_back(&mut self) -> Result<RolledBack, Failure> {
        // A commit that got half-way has already written the target's record. That record is removed first of all: left behind
        // alone, it would decide, and a resume would delete a source whose copy is gone.
        let (job, record) = (self.job.clone(), self.journal.record.clone());
        // Nothing is written into a source on the word of the target alone.
        if record.handed_over().is_some() && !self.orphaned {
            self.journal.note_rollback_begun().await?;
        }
        // Before Copied nothing was written to the target: its state, whatever it is, keeps nothing in the source paused.
        if !job.target.end_kind.is_absent() && record.phase >= Phase::Copied {
            job.target.open(&job.move_id, Begun::UnderWay).await?;
        }
        // Only the commit writes the target's record; a target that can't be reached must not keep the source paused.
        if record.phase >= Phase::Copied {
            rollback::refuse_running_copies(&job, &record).await?;
            self.journal.forget_target().await?;
        }
        let taken = rollback::roll_back(&self.job, &self.journal).await?;
        guard::remove(&self.job).await;
        if let Err(trouble) = self.abandon().await {
            tracing::warn!(%trouble, "the target's record of the move could not be closed");
        }
        let summary = RolledBackMove {
            format: Default::default(),
            move_id: record.move_id,
            started_by: record.started_by,
            started_at: record.started_at,
            ended_at: utc_now(),
            phase: record.phase,
            scope: record.scope,
            source_label: job.source.place.label().to_owned(),
            target_label: job.target.place.label().to_owned(),
        };
        self.journal.forget_rolled_back(&summary).await?;
        Ok(taken)
    }

    /// Frees the place reserved for a move that never began.
    pub(crate) async fn abandon(&self) -> Result<(), Failure> {
        if self.job.target.end_kind.is_absent() {
            return Ok(());
        }
        self.job.target.close(Closing::Abandoned).await
    }

    /// Returns the objects from manifests, by the record: a run that finishes a committed move has no files.
    pub(crate) fn added(&self) -> BTreeMap<GroupKind, usize> {
        let mut kinds = BTreeMap::new();
        for added in &self.journal.record.scope.from_manifests {
            *kinds.entry(added.object.group_kind.clone()).or_default() += 1;
        }
        kinds
    }

    /// Ends the move. `moved` are its Clusters, by their names and UIDs in the source.
    pub(crate) async fn close(&mut self, done: &Done, moved: &BTreeMap<Key, Uid>) -> Result<(), Failure> {
        let job = self.job.clone();
        // While there is a record, every later run tries this again.
        guard::remove(&job).await;
        let (closed, clusters) = tokio::join!(
            self.journal.close(&job.kinds),
            cluster_copies::describe_moved(&job.target, &job.kinds.target, moved)
        );
        closed?;
        // Everything else is done: the end doesn't depend on what it says of them.
        let clusters = clusters.unwrap_or_else(|failure| {
            tracing::debug!(%failure, "the summary doesn't describe the Clusters that moved");
            Vec::new()
        });
        let record = &self.journal.record;
        // By an earlier run, if not by this one.
        let mut accepted = job.options.clone();
        if record.is_recovered() || record.source_went_back {
            accepted.accept.insert(Risk::WorldChanged);
        }
        let finished = Finished {
            format: Default::default(),
            move_id: record.move_id.clone(),
            started_by: record.started_by.clone(),
            started_at: record.started_at.clone(),
            ended_at: utc_now(),
            scope: Some(record.scope.clone()),
            files: record.source.clone().filter(|_| record.is_of_files()),
            source: record.source.clone(),
            target: record.target.clone(),
            clusters,
            all_clusters: (moved.len() > MOST_MOVED_CLUSTERS).then(|| moved.values().collect()),
            source_label: job.source.place.label().to_owned(),
            target_label: job.target.place.label().to_owned(),
            moved: done.moved.values().sum(),
            kept: done.kept.values().sum(),
            plugins: record.plugins.clone(),
            accepted: events::describe_accepted_risks(&accepted, job.command.absent_side()),
        };
        // The locks are released beside the last write, which is bound to the record as this run wrote it, and needs no lock.
        let unlock = async {
            if let Some(locks) = &job.locks {
                locks.give_back(MoveLeft::Nothing).await;
            }
        };
        let (finished, ()) = tokio::join!(self.journal.finish(&finished), unlock);
        finished
    }

    /// Takes more locks; doesn't wait for one that another run has. Returns whether there were any to take.
    async fn lock(&self, more: BTreeSet<Lock>) -> Result<bool, Failure> {
        let Some(locks) = &self.job.locks else { return Ok(false) };
        locks.take_more(&more).await
    }

    pub(crate) fn record_time(&mut self, phase: Phase) {
        let now = Instant::now();
        let time = now - self.began;
        self.times.push((phase, time));
        self.began = now;
        let milliseconds = time.as_millis().try_into().unwrap_or(u64::MAX);
        self.job.report(Event::PhaseDone { phase, milliseconds });
    }
}

/// Counts the objects of each kind that are copied from the source.
fn kinds_of(snapshot: &Snapshot) -> BTreeMap<GroupKind, usize> {
    let mut kinds = BTreeMap::new();
    for step in snapshot.plan.steps.iter().filter(|step| step.treatment().is_in_source()) {
        *kinds.entry(step.key.group_kind.clone()).or_default() += 1;
    }
    kinds
}

/// Returns the leases that a run needs to pause and delete the objects of a plan.
fn locks_of(job: &Job, snapshot: &Snapshot) -> BTreeSet<Lock> {
    let works_on = |step: &&Step| step.fate == PlanFate::Move || pausing::works_on(job, step);
    let worked_on = snapshot.plan.steps.iter().filter(works_on);
    worked_on
        .map(|step| match &step.key.namespace {
            Some(namespace) => Lock::Namespace(namespace.clone()),
            None => Lock::ClusterScoped,
        })
        .collect()
}

/// Checks the facts that users may change while everything is paused.
async fn check_before_commit(job: &Job, snapshot: &Snapshot) -> Result<(), Failure> {
    tokio::try_join!(
        before_pause::check_no_dependents_lost(job, snapshot),
        gitops::check_no_active_owners(job, &snapshot.inventory, snapshot.moved_objects())
    )?;
    Ok(())
}
