//! Commands: plan, move, resume, roll back, status. Each opens both sides, finds the moves under way and continues from there.
//! Each failure becomes a [`Stop`] with the state of both sides and the next commands.
//!
//! Every command is a future that can run concurrently with others. Commands share only objects that their caller shares.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{FutureExt, future};
use pivot_core::messages::risk::Risk;
use pivot_core::plan::Plan;
use pivot_core::records::record::Record;
use pivot_core::{Both, Side};
use tracing::{Instrument, Span, field, info_span};

use crate::base::command::{Command, Resume, Rollback};
use crate::base::events::Event;
use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::stop::Stop;
use crate::base::setup::Setup;
use crate::base::state::locks::{Lock, LockRequest, Locks, MoveLeft};
use crate::base::state::moves::{FoundMove, Moves, refuse_for_other_move};
use crate::check::before_pause::{self, TargetState};
use crate::check::fitting_plugins::propose_plugins;
use crate::check::permissions::{self, Permissions};
use crate::drive::begin::{begin_move, new_move_id};
use crate::drive::carry_out::Outcome;
use crate::drive::open::{Opened, open_for_writing, open_sides};
use crate::drive::recovery;
use crate::drive::report::{Report, Status};
use crate::drive::rollback::RolledBack;
use crate::drive::sequence::{ActiveMove, Done};
use crate::drive::status;
use crate::drive::stopping::{stop_move, stop_without_move};
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
