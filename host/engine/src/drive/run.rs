//! Commands: plan, move, resume, roll back, status. Each opens both sides, finds the moves under way and continues from there.
//! Each failure becomes a [`Stop`] with the state of both sides and the next commands.
//!
//! Every command is a future that can run concurrently with others. Commands share only objects that their caller shares.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{FutureExt, future};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::plan::Plan;
use pivot_core::records::plugin_set::PluginSet;
use pivot_core::records::record::Record;
use pivot_core::{Both, Side};
use tracing::{Instrument, Span, field, info_span};

use crate::act::handover;
use crate::base::command::{Command, Resume, Rollback};
use crate::base::events::Event;
use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::outcome::stop::Stop;
use crate::base::setup::Setup;
use crate::base::state::locks::{Lock, LockRequest, Locks, MoveLeft};
use crate::base::state::moves::{FoundMove, Moves, refuse_for_other_author, refuse_for_other_move};
use crate::check::before_pause::{self, TargetState};
use crate::check::fitting_plugins::propose_plugins;
use crate::check::permissions::{self, Permissions};
use crate::check::{approved, from_manifests};
use crate::drive::begin::{begin_move, new_move_id};
use crate::drive::open::{Opened, open_for_writing, open_sides};
use crate::drive::report::{Report, Status};
use crate::drive::rollback::RolledBack;
use crate::drive::sequence::{ActiveMove, Done};
use crate::drive::status;
use crate::drive::stopping::{stop_and_show_status, stop_move, stop_without_move};
use crate::drive::{outdated_source, recovery};
use crate::read::first_reading::{FirstReading, FirstReads};
use crate::read::readings;
use crate::read::snapshot::Snapshot;
use crate::read::{explain_empty, planning};

/// Returns the plan of a move, or the problems that prevent it. Changes nothing.
pub async fn plan(setup: Setup) -> Result<Plan, Stop> {
    let mut begun = None;
    let result = async {
        let (active, snapshot, first_reads) = read_plan(setup.clone(), None).await?;
        begun = active.journal.phase();
        let checked = check_plan(&active, &snapshot, &first_reads).await;
        let refused = match &checked {
            Err(Failure::Refused(refusals)) => refusals.as_slice(),
            _ => &[],
        };
        // A move that was begun keeps its plugins.
        if begun.is_none() {
            propose_plugins(&active.job, &snapshot, refused);
        }
        let TargetState { mut in_target, mut changes, .. } = checked?;
        let mut plan = Arc::unwrap_or_clone(snapshot.plan);
        for step in &mut plan.steps {
            step.in_target = in_target.remove(&step.key);
            step.changes = changes.remove(&step.key).unwrap_or_default();
        }
        Ok(plan)
    };
    match result.await {
        Ok(plan) => Ok(plan),
        Err(failure) => {
            let stop = permissions::name_all_missing(&setup, stop_without_move(failure)).await;
            Err(Stop { phase: begun, ..stop })
        }
    }
}

/// Returns the permissions that the move needs on one side. Changes nothing.
pub async fn permissions(setup: Setup, side: Side) -> Result<Permissions, Stop> {
    let result = async {
        let (active, snapshot, first_reads) = read_plan(setup.clone(), None).await?;
        let target = check_plan(&active, &snapshot, &first_reads).await?;
        Permissions::for_plan(&active.job, &snapshot, &target.new_namespaces, side).await
    };
    match result.await {
        Ok(permissions) => Ok(permissions),
        Err(failure) => Err(permissions::name_all_missing(&setup, stop_without_move(failure)).await),
    }
}

/// Runs all checks of a plan.
async fn check_plan(
    active: &ActiveMove,
    snapshot: &Snapshot,
    first_reads: &FirstReads,
) -> Result<TargetState, Failure> {
    let target = before_pause::check_all(&active.job, snapshot, first_reads).await?;
    // Nothing was read of a target that isn't named, and nothing is paused.
    if active.job.route.target_runs() {
        active.job.report_unused_risks(|risk| risk != Risk::PauseUnchecked);
    }
    Ok(target)
}

/// Reads both sides, except the absent one, and makes a plan. Reports the moves under way if both sides are read.
pub(crate) async fn read_plan(
    setup: Setup,
    absent: Option<Side>,
) -> Result<(ActiveMove, Snapshot, FirstReads), Failure> {
    let opened = open_sides(&setup, absent).await?;
    let read_moves = async {
        match absent {
            None => opened.read_visible_moves().await,
            // Nothing shows how far a move is whose target isn't asked.
            Some(_) => Ok(Moves::default()),
        }
    };
    let (moves, first) = tokio::join!(read_moves, begin_reading(&setup, &opened));
    let moves = moves?;
    status::report_moves(&setup, &moves, None);
    // A move that was begun from other files is a different move, with different copies.
    let found =
        moves.of_scope(&setup.options.scope).filter(|found| !found.other_files && !found.has_ended).cloned();
    let id = new_move_id(&setup, &opened);
    let plugins = setup.wait_for_plugins().await?;
    let active = begin_move(setup, Command::Start, &plugins, opened, found, id, None)?;
    active.job.report_accepted();
    match readings::read_first(&active.job, Some(first?)).await {
        Ok((snapshot, first_reads)) => Ok((active, snapshot, first_reads)),
        Err(failure) => Err(explain_empty::explain_empty(&active.job, failure).await),
    }
}

/// Moves the objects of the scope. If a move with the same scope between the same clusters was begun, resumes it where it
/// stopped.
pub async fn start(setup: Setup) -> Result<Report, Stop> {
    match run_in_span(setup.clone(), Command::Start).await {
        Ok((active, Outcome::Moved(done))) => Ok(build_report(&active, done)),
        Ok((_, Outcome::RolledBack(_) | Outcome::FinishedAlone)) => Err(wrong_outcome()),
        Err(stop) => Err(permissions::name_all_missing(&setup, stop).await),
    }
}

/// Resumes a move where it stopped.
pub async fn resume(setup: Setup, resume: Resume) -> Result<Report, Stop> {
    match run_in_span(setup, Command::Resume(resume)).await? {
        (active, Outcome::Moved(done)) => Ok(build_report(&active, done)),
        (_, Outcome::RolledBack(_) | Outcome::FinishedAlone) => Err(wrong_outcome()),
    }
}

/// Rolls a move back.
pub async fn rollback(setup: Setup, rollback: Rollback) -> Result<RolledBack, Stop> {
    match run_in_span(setup, Command::Rollback(rollback)).await? {
        (_, Outcome::RolledBack(taken)) => Ok(taken),
        (_, Outcome::Moved(_) | Outcome::FinishedAlone) => Err(wrong_outcome()),
    }
}

/// Finishes a committed move in its target while its source is away. The move must be sealed, and the plugins must be those
/// that it was begun with. Deletes nothing from the source and ends nothing: the source's run does that when it returns.
///
/// The caller ensures that no such run acts meanwhile. No request is sent to the setup's source. Without an id, the move is the
/// only one.
pub async fn finish_alone(setup: Setup, move_id: Option<String>) -> Result<(), Stop> {
    match run_in_span(setup, Command::FinishAlone { move_id }).await? {
        (_, Outcome::FinishedAlone) => Ok(()),
        (_, Outcome::Moved(_) | Outcome::RolledBack(_)) => Err(wrong_outcome()),
    }
}

/// Reads the state of moves between two sides, as far as the sides that answer know. Changes nothing.
pub async fn status(setup: Setup) -> Result<Status, Stop> {
    // Other commands refer to this one if they don't know more; it can't refer to itself.
    status::read_status(&setup)
        .await
        .map_err(|failure| Stop { next: Vec::new(), ..stop_without_move(failure) })
}

/// Reads the state of the moves out of and into one cluster. Changes nothing.
pub async fn status_of_one(setup: Setup, given: Side) -> Result<Status, Stop> {
    status::read_status_of_one(&setup, given)
        .await
        .map_err(|failure| Stop { next: Vec::new(), ..stop_without_move(failure) })
}

/// Reads the source with the requested scope.
async fn begin_reading(setup: &Setup, opened: &Opened) -> Result<FirstReading, Failure> {
    setup.watcher.event(Event::Reading { side: Side::Source });
    let wishes = async { Ok(planning::collect_wishes(&setup.wait_for_plugins().await?)) };
    let scope = &setup.options.scope;
    let target = opened.sides.target.clone().with_namespace_map(&scope.namespace_map);
    let scope = (scope, setup.options.confined);
    FirstReading::read_sides(Both::new(&opened.sides.source, &target), &opened.kinds, scope, wishes).await
}

fn build_report(active: &ActiveMove, done: Done) -> Report {
    Report { move_id: active.journal.record.move_id.clone(), done, times: active.times.clone() }
}

fn wrong_outcome() -> Stop {
    stop_without_move(Failure::Bug("a command ended as another does".into()))
}

/// Result of a command that writes.
enum Outcome {
    Moved(Done),
    RolledBack(RolledBack),
    FinishedAlone,
}

impl Command {
    /// Returns the stop for a failure before any move is known.
    fn stop_before_move(&self, failure: Failure) -> Stop {
        if matches!(self, Self::Start) { stop_without_move(failure) } else { stop_and_show_status(failure) }
    }

    /// Returns the move that the command is about, if there is one.
    fn choose_move(&self, setup: &Setup, moves: &Moves) -> Result<Option<FoundMove>, Failure> {
        let found = match self {
            Self::Start => {
                let found = moves.of_scope(&setup.options.scope);
                let of_others = found
                    .filter(|found| found.one_sided.is_none())
                    .and_then(FoundMove::record)
                    .filter(|record| {
                        setup.options.asked_by.is_some() && record.started_by != setup.options.operator
                    });
                if let Some(record) = of_others {
                    return Err(refuse_for_other_author(record));
                }
                found.cloned()
            }
            Self::Resume(_) | Self::Rollback(_) | Self::FinishAlone { .. } => {
                let selected = moves.select(self.named_move())?;
                // Without this, a rollback could undo a move that the user didn't think of.
                if selected.other_files && self.named_move().is_none() {
                    return Err(Failure::Declined(format!(
                        "move {} was begun from other files than those given: if that is the one, name it by its id",
                        selected.describe()
                    )));
                }
                Some(selected.clone())
            }
        };
        // A move that has ended is not changed, except that a user may pause Clusters that the source has again.
        match &found {
            Some(FoundMove { one_sided: Some(one_sided), has_ended: true, .. })
                if !self.may_pause_source(&setup.options) =>
            {
                let move_id = found.as_ref().and_then(FoundMove::record).map(|record| record.move_id.clone());
                Err(Failure::OneSidedMove {
                    move_id: move_id.unwrap_or_default(),
                    one_sided: one_sided.clone(),
                })
            }
            _ => Ok(found),
        }
    }

    /// Returns true if no earlier run of the move can have used a risk that this run accepts. A repeated `move`, a Pivot and a saved plan
    /// accept for all runs of the move. A proposed `resume` has the codes of the run that stopped.
    fn can_report_unused(&self, risk: Risk, options: &Options, begun: bool) -> bool {
        let is_planned =
            || options.approved.as_ref().is_some_and(|plan| plan.decisions.accept.contains(risk));
        match self {
            Self::Start => !begun,
            Self::Resume(_) => [Risk::PluginsChanged, Risk::CopyChanged].contains(&risk) && !is_planned(),
            Self::Rollback(_) => risk == Risk::MaybeImported,
            Self::FinishAlone { .. } => false,
        }
    }

    /// Returns true if the user asked to pause the Clusters of a source that went back.
    fn may_pause_source(&self, options: &Options) -> bool {
        matches!(self, Self::Resume(_)) && options.accept.contains(Risk::WorldChanged)
    }

    /// Refuses everything now that would be refused after the move is committed again, when nothing can be undone any more.
    fn check_may_delete_from_outdated(&self, active: &ActiveMove) -> Result<(), Failure> {
        let record = &active.journal.record;
        if !self.clusters_to_unpause().is_empty() {
            return Err(Failure::Declined(format!(
                "the source of move {} is out of date, and unpauses no Cluster",
                record.move_id
            )));
        }
        self.check_handover(active)?;
        approved::check_same_plan(record, active.job.options.approved.as_deref())?;
        check_same_plugins(active, "name those: without them nothing shows what was copied")
    }

    /// Checks that the command's handover options apply to the move that was found.
    fn check_handover(&self, active: &ActiveMove) -> Result<(), Failure> {
        let (record, options) = (&active.journal.record, &active.job.options);
        let (id, begun) = (&record.move_id, record.handover.is_some());
        let imported = self.is_after_import();
        let why = match (record.handed_over(), self) {
            (Some(_), _) if record.is_being_rolled_back() => {
                format!("move {id} is being rolled back, and can't be continued")
            }
            (Some(_), _) if imported && active.job.route.target_runs() => return Ok(()),
            // If a run died before it closed them, they are written again.
            (Some(_), Self::Start) if options.handover => return Ok(()),
            (Some(_), Self::Resume(_)) if !active.job.route.target_runs() => return Ok(()),
            (Some(_), _) => handover::describe_handed_over(record),
            (None, _) if imported && !record.phase.is_committed() && begun => {
                format!("move {id} has not finished writing the files: continue that first")
            }
            (None, _) if imported && !begun => format!("move {id} hands nothing over in files"),
            (None, Self::Start) if options.handover && !begun => {
                format!(
                    "move {id} was begun as a copy that leaves its source in service: continue it as that, or roll it back"
                )
            }
            (None, Self::Start) if begun && !options.handover && !record.phase.is_committed() => {
                format!("move {id} was begun to hand its source over: continue it as that, or roll it back")
            }
            _ => return Ok(()),
        };
        Err(Failure::Declined(why))
    }

    /// Refuses to accept missing copies before any can be missing. Accepted beforehand, the risk would excuse every later
    /// deletion in the target.
    fn check_copies_can_be_gone(&self, active: &ActiveMove) -> Result<(), Failure> {
        let (record, options) = (&active.journal.record, &active.job.options);
        let applies = matches!(self, Self::Start | Self::Resume(_)) && !self.is_after_import();
        if applies && options.accept.contains(Risk::CopyChanged) && !record.phase.is_committed() {
            return Err(Failure::Declined(format!(
                "move {} is not committed, so that no copy can be gone or changed yet: accept `{}` once a run has named the copies",
                record.move_id,
                Risk::CopyChanged.code()
            )));
        }
        Ok(())
    }

    /// Refuses Clusters that the command names for an action that isn't part of the move.
    fn check_named_clusters(&self, active: &ActiveMove) -> Result<(), Failure> {
        let move_id = &active.job.move_id;
        if !self.clusters_to_pause().is_empty() && !active.is_targets_word() {
            return Err(Failure::Declined(format!(
                "Clusters to pause are named only for a move that went on, and of which the source has no record; move {move_id} is another"
            )));
        }
        if !self.clusters_to_drop().is_empty() && !active.job.route.may_restore(&active.journal.record) {
            return Err(Failure::Declined(format!(
                "move {move_id} restores no backup: its Clusters have no Machines to drop"
            )));
        }
        Ok(())
    }

    /// Checks that this run, with its options, may bring the move forward.
    fn check_may_go_forward(&self, active: &ActiveMove, begun: bool) -> Result<(), Failure> {
        if begun {
            self.check_handover(active)?;
            check_may_continue(active)?;
        }
        self.check_copies_can_be_gone(active)
    }

    async fn carry_out(&self, active: &mut ActiveMove, begun: bool) -> Result<Outcome, Failure> {
        self.check_named_clusters(active)?;
        if active.recovers {
            // These checks follow a recovery, too. A command that is refused only then has changed both sides.
            match self {
                Self::Rollback(_) => check_same_plugins(
                    active,
                    "name those: without them nothing shows that the source is complete",
                )?,
                _ => {
                    recovery::check_may_copy_again(active)?;
                    self.check_may_go_forward(active, begun)?;
                }
            }
            recovery::recover_source(active).boxed().await?;
        } else if let Some(one_sided) = active.one_sided.clone() {
            let accepted = self.may_pause_source(&active.job.options);
            if accepted {
                outdated_source::pause_clusters(active, &one_sided).boxed().await?;
            }
            if !(accepted && matches!(one_sided, OneSidedMove::SourceOutOfDate(_))) {
                return Err(Failure::OneSidedMove { move_id: active.job.move_id.clone(), one_sided });
            }
            self.check_may_delete_from_outdated(active)?;
            outdated_source::commit_again(active).boxed().await?;
        }
        recovery::check_options(active).boxed().await?;
        if matches!(self, Self::Rollback(_)) {
            check_may_resume_source(active).await?;
            let record = &active.journal.record;
            if record.phase.is_committed() && !active.orphaned {
                return Err(Failure::Declined(format!(
                    "move {} is past the point of no return ({}): it can only be resumed",
                    record.move_id, record.phase
                )));
            }
            if active.job.source.end_kind.is_absent() && !record.is_of_files() {
                return Err(Failure::Declined(format!(
                    "move {} is of a cluster, which it paused: it can only be rolled back with it",
                    record.move_id
                )));
            }
            return active.roll_back().boxed().await.map(Outcome::RolledBack);
        }
        if matches!(self, Self::FinishAlone { .. }) {
            check_same_plugins(active, "start the agent with those: the controller's image has them")?;
            return active.finish_alone().boxed().await.map(|()| Outcome::FinishedAlone);
        }
        self.check_may_go_forward(active, begun)?;
        active.forward().boxed().await.map(Outcome::Moved)
    }
}

/// Checks that a rollback may unpause a source that was handed over in files. Until its record says so, no files are complete,
/// and no cluster can have imported them.
async fn check_may_resume_source(active: &ActiveMove) -> Result<(), Failure> {
    let (record, job) = (&active.journal.record, &active.job);
    let Some(contents) = record.handed_over() else { return Ok(()) };
    if job.target.end_kind.is_cluster() {
        handover::refuse_imported(job, &active.journal, contents).await?;
    }
    // A cluster without these objects proves nothing: another cluster may have imported the files.
    let accepted = job.options.accept.contains(Risk::MaybeImported);
    if accepted {
        job.used_risks.insert(Risk::MaybeImported);
    }
    if accepted || record.is_being_rolled_back() {
        return Ok(());
    }
    Err(Failure::MayBeImported { move_id: record.move_id.clone() })
}

/// Advice about the copies of files that may be lost.
const KEEP_COPIES: &str = "its copies in the target may be the last. Keep them. Only with another copy of the backup, put the files back \
                           and resume, or roll back without the source and begin again";

/// Checks that this run may continue the move that was found.
fn check_may_continue(active: &ActiveMove) -> Result<(), Failure> {
    if active.orphaned {
        return Err(Failure::Orphan(active.journal.record.move_id.clone()));
    }
    let record = &active.journal.record;
    let unread = if active.other_files {
        let given = active.job.source.place.label();
        Some(format!(
            "move {} was begun from other files than those in {given}: name that directory, as it was",
            record.move_id
        ))
    } else if active.job.source.end_kind.is_absent() && !record.phase.is_committed() && record.is_of_files() {
        Some(format!("move {} is not committed, and needs the files that it was begun from", record.move_id))
    } else {
        None
    };
    if let Some(why) = unread {
        return Err(Failure::Declined(match record.phase.has_uncommitted_copies() {
            true => format!("{why}; {KEEP_COPIES}"),
            false => why,
        }));
    }
    // A handed over move has these objects in its files.
    let in_files = record.handed_over().is_some() && active.job.route.target_runs();
    if !in_files {
        approved::check_same_plan(record, active.job.options.approved.as_deref())?;
    }
    if !(record.phase.is_committed() || in_files) {
        from_manifests::check_same_manifests(record, &active.job.options.added)?;
    }
    match active.journal.record.phase.is_committed() {
        true => check_same_plugins(active, Remedy::AcceptPluginChange),
        false => check_same_plugins(active, "use the same plugins, or roll it back, which needs none"),
    }
}

/// Checks that the plugins are those that the move was begun with. A rollback needs no plugins.
fn check_same_plugins(active: &ActiveMove, remedy: impl Into<Remedy>) -> Result<(), Failure> {
    let (record, options) = (&active.journal.record, &active.job.options);
    let begun: PluginSet = record.plugins.iter().collect();
    if begun.matches(&active.job.plugin_set()) {
        return Ok(());
    }
    if record.phase.is_committed() && options.accept.contains(Risk::PluginsChanged) {
        active.job.used_risks.insert(Risk::PluginsChanged);
        return Ok(());
    }
    Err(Failure::Plugins {
        move_id: record.move_id.clone(),
        begun: begun.describe(),
        remedy: Box::new(remedy.into()),
    })
}

/// Runs a command that writes. All of its work, in any task, is in one span. The move's id is added once it is known.
async fn run_in_span(setup: Setup, command: Command) -> Result<(ActiveMove, Outcome), Stop> {
    run_under_locks(setup, command).instrument(info_span!("move", id = field::Empty)).await
}

/// Runs a command that writes: takes the locks, and uses the records as they are then.
async fn run_under_locks(setup: Setup, command: Command) -> Result<(ActiveMove, Outcome), Stop> {
    let command = &command;
    let opened = open_for_writing(&setup, command.absent_side()).await;
    let opened = opened.map_err(|failure| command.stop_before_move(failure))?;
    let id = new_move_id(&setup, &opened);
    let taken = take_locks(&setup, &opened, command, &id)
        .await
        .map_err(|failure| command.stop_before_move(failure))?;
    let (locks, moves, first) = match taken {
        Some((locks, moves, first)) => (locks.map(Arc::new), Some(moves), first),
        None => (None, None, None),
    };
    let (result, left) = match prepare_move(setup, opened, command, id, (locks.clone(), moves)).await {
        // The move ended while this run waited for its locks.
        Err(failure @ Failure::NoMove) => (Err(command.stop_before_move(failure)), MoveLeft::Ended),
        Err(failure) => (Err(command.stop_before_move(failure)), MoveLeft::AsItWas),
        Ok((mut active, begun)) => {
            active.first = first;
            // The agent finishes alone without a user's decision that the source is gone.
            if !matches!(command, Command::FinishAlone { .. }) {
                active.job.report_accepted();
            }
            let result = match command.carry_out(&mut active, begun).await {
                Ok(outcome) => {
                    let options = &active.job.options;
                    active.job.report_unused_risks(|risk| command.can_report_unused(risk, options, begun));
                    Ok(outcome)
                }
                Err(failure) => {
                    let failure = explain_empty::explain_empty(&active.job, failure).await;
                    Err(stop_move(&mut active, failure).await)
                }
            };
            let left = match active.journal.is_written() {
                // The move's claims are on the side where it was begun. No run would ever give up a claim that is left here.
                _ if matches!(command, Command::FinishAlone { .. }) || active.is_targets_word() => {
                    MoveLeft::AsItWas
                }
                true => MoveLeft::UnderWay,
                false => MoveLeft::Nothing,
            };
            (result.map(|outcome| (active, outcome)), left)
        }
    };
    if let Some(locks) = locks {
        locks.give_back(left).await;
    }
    result
}

/// Prepares the requested move to continue. Returns also whether it was begun before.
async fn prepare_move(
    mut setup: Setup,
    opened: Opened,
    command: &Command,
    id: String,
    (locks, moves): (Option<Arc<Locks>>, Option<Moves>),
) -> Result<(ActiveMove, bool), Failure> {
    let mut moves = match moves {
        Some(moves) => moves,
        None => opened.read_moves().await?,
    };
    let mut found = command.choose_move(&setup, &moves)?;
    let move_id = found.as_ref().and_then(FoundMove::record).map_or(&id, |record| &record.move_id);
    Span::current().record("id", field::display(move_id));
    if found.as_ref().and_then(FoundMove::record).is_some_and(|record| record.confined) {
        // This applies to every user who continues the move: its author may only change the namespace that moves.
        setup.options.confined = Some(Side::Source);
    }
    let in_source = found.as_ref().filter(|found| !found.is_targets_word());
    if let (Some(locks), Some(record)) = (&locks, in_source.and_then(FoundMove::record)) {
        if matches!(command, Command::Start) {
            locks.claim_for(&record.move_id).await?;
        }
        // An earlier run of the move may have worked in more namespaces than the scope's. Once those are locked too, the
        // records are read again.
        let touched = find_locks_of_earlier_runs(record, &opened, &setup.options);
        if locks.take_more(&touched).await? {
            moves = opened.read_moves().await?;
            found = command.choose_move(&setup, &moves)?;
        }
    }
    if let Some(found) = &found {
        recovery::report_target_run_time(found, &opened, &setup, locks.as_deref()).await?;
    }
    let begun = found.as_ref().and_then(FoundMove::record).map(|record| record.move_id.clone());
    let overlapping = moves.find_overlapping(&setup.options.scope, begun.as_ref().unwrap_or(&id));
    if let (Command::Start, Some(other)) = (command, overlapping) {
        return Err(refuse_for_other_move(other, &setup.options.scope));
    }
    let plugins = setup.wait_for_plugins().await?;
    let active = begin_move(setup, command.clone(), &plugins, opened, found, id, locks)?;
    Ok((active, begun.is_some()))
}

/// Returns the locks for everything that earlier runs of a move may have worked in.
fn find_locks_of_earlier_runs(record: &Record, opened: &Opened, options: &Options) -> BTreeSet<Lock> {
    let touched = record.copied_namespaces.iter().filter(|namespace| options.may_change_in(Some(namespace)));
    let mut touched: BTreeSet<Lock> = touched.cloned().map(Lock::Namespace).collect();
    let mut kinds = record.kinds.iter().filter_map(|gk| opened.kinds.source.get(gk));
    if options.may_change_in(None) && kinds.any(|kind| !kind.namespaced) {
        touched.insert(Lock::ClusterScoped);
    }
    touched
}

/// The locks that a run holds, if the source has anything to lock, and the results of its first reads: the moves, and the
/// source.
type ReadUnderLocks = (Option<Locks>, Moves, Option<Result<FirstReading, Failure>>);

/// Takes the locks of the scope: the requested scope, or that of the selected move. `None` if neither side has Leases.
async fn take_locks(
    setup: &Setup,
    opened: &Opened,
    command: &Command,
    id: &str,
) -> Result<Option<ReadUnderLocks>, Failure> {
    let Some(leases) = opened.leases() else { return Ok(None) };
    let (scope, move_id, wanted) = match command {
        Command::Start => (setup.options.scope.clone(), id.to_owned(), Lock::for_scope(&setup.options.scope)),
        Command::Resume(_) | Command::Rollback(_) | Command::FinishAlone { .. } => {
            let mut moves = opened.read_moves().await?;
            let mut selected = command.choose_move(setup, &moves)?.ok_or(Failure::NoMove)?;
            if selected.orphaned {
                // Both sides were read concurrently, and the move may have been begun and committed in between. Its source's
                // record is older than its target's, and is removed later.
                moves = opened.read_moves().await?;
                selected = command.choose_move(setup, &moves)?.ok_or(Failure::NoMove)?;
            }
            let record = selected.record().ok_or(Failure::NoMove)?;
            // The user named the Clusters to pause.
            let to_pause = command.clusters_to_pause();
            let of_named = || to_pause.iter().map(|name| Lock::Namespace(name.namespace.clone()));
            let wanted = if selected.is_targets_word() {
                of_named().collect()
            } else {
                Lock::for_scope(&record.scope)
            };
            if wanted.is_empty() {
                return Ok(Some((None, moves, None)));
            }
            (record.scope.clone(), record.move_id.clone(), wanted)
        }
    };
    let request = LockRequest {
        leases: leases.clone(),
        records: opened.records.get(leases.handle.side).clone(),
        scope,
        move_id,
        operator: setup.options.operator.clone(),
        break_lease: setup.options.break_lease,
        halter: setup.halter.clone(),
        parking: setup.parking.clone(),
        watcher: setup.watcher.clone(),
    };
    let read = || match command {
        Command::Start => begin_reading(setup, opened).map(Some).boxed(),
        Command::Resume(_) | Command::Rollback(_) | Command::FinishAlone { .. } => {
            future::ready(None).boxed()
        }
    };
    let (locks, moves, first) =
        Locks::take_all(request, &wanted, || opened.read_moves().boxed(), read).await?;
    Ok(Some((Some(locks), moves, first)))
}

/// Commands can run on any thread, and one process can run many.
const _: () = {
    const fn is_send<T: Send + 'static>(_: &impl Fn(Setup) -> T) {}
    is_send(&plan);
    is_send(&start);
    is_send(&|setup| resume(setup, Resume::default()));
    is_send(&|setup| rollback(setup, Rollback::default()));
    is_send(&|setup| finish_alone(setup, None));
    is_send(&status);
};
