//! One attempt at the move of a Pivot: opens both clusters, reads their records, takes the action that they call for, and reports
//! the result.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use futures::poll;
use pivot_core::records::record::Phase;
use pivot_core::{Key, Side};
use pivot_engine::{
    Exit, Failure, Halt, Halter, Options, Parking, Report, Rollback, Scheduler, Setup, Sides, Stop, run,
};
use pivot_places::{Place, PlaceError};
use tokio::time::timeout;

use crate::clusters::{self, OPENING_TIMEOUT, OpenSidesError, OpenedSides};
use crate::decide::{Action, Intent, decide_action, find_recorded_move, foreign_id};
use crate::reason::Reason;
use crate::resource::{GROUP, OF_RECORDS, Pivot, Spec};
use crate::shared::Shared;
use crate::status::{ConditionType, PivotStatus, time_after};
use crate::turns::Turn;
use crate::view::PivotView;

/// The first pause after a failure doubles each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_secs(300);
/// The pause before the next attempt at a Pivot that waits until clusters are built.
const WAITING_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause for a stalled Pivot. The first one is as long as for a Pivot that waits: the missing change may be in either
/// cluster, and a Secret may be created seconds after its Pivot.
const MAX_STALLED_PAUSE: Duration = Duration::from_secs(600);

/// The result of an attempt, which decides when the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The move has ended.
    Done,
    /// The move had ended before.
    Over,
    /// The Pivot was deleted, and nothing of it is under way.
    Gone,
    /// Another try may do.
    Retry,
    /// The move begins once its clusters are built, which is under way.
    Waits,
    /// The move begins once a user changes `spec.suspend`.
    Suspended,
    /// The move needs a change by a user. The change may be anywhere, so the controller tries again now and then.
    Stalled,
    /// The attempt was halted.
    Halted,
}

impl Verdict {
    /// Returns the name in the metrics, if the verdict counts: each controller that starts looks at all moves that are over or
    /// suspended.
    pub(crate) fn metrics_label(self) -> Option<&'static str> {
        Some(match self {
            Self::Over | Self::Suspended => return None,
            Self::Done => "done",
            Self::Gone => "gone",
            Self::Retry => "retry",
            Self::Waits => "waits",
            Self::Stalled => "stalled",
            Self::Halted => "halted",
        })
    }

    /// Returns the pause before the next attempt after so many failures in a row, if there is a next attempt.
    pub(crate) fn retry_pause(self, failures: u32) -> Option<Duration> {
        match self {
            Self::Done | Self::Over | Self::Gone | Self::Suspended => None,
            Self::Halted => Some(Duration::ZERO),
            Self::Retry => Some(double_pause(failures, FIRST_PAUSE, MAX_PAUSE)),
            Self::Waits => Some(WAITING_PAUSE),
            Self::Stalled => Some(double_pause(failures, WAITING_PAUSE, MAX_STALLED_PAUSE)),
        }
    }
}

/// Returns the pause after so many failures in a row.
fn double_pause(failures: u32, first: Duration, longest: Duration) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(longest)
}

/// Message for a Pivot that was deleted too late for a rollback of its move.
const FINISHING_MESSAGE: &str =
    "the Pivot was deleted after the commit of its move: the move is finished first";

/// Message for a Pivot that was deleted or suspended in time.
const ROLLBACK_MESSAGE: &str =
    "the Pivot was deleted or suspended: its move, which isn't committed, is rolled back first";

/// A reason why an attempt failed.
enum Trouble {
    /// A request to the Pivot's own cluster.
    Home(PlaceError),
    /// A source has a record of a move that isn't this Pivot's.
    Foreign(String),
    Open(OpenSidesError),
    /// The target is still being built.
    Unbuilt(String),
    Stop(Box<Stop>),
    /// The spec.
    Spec(String),
}

impl From<PlaceError> for Trouble {
    fn from(error: PlaceError) -> Self {
        Self::Home(error)
    }
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Self {
        Self::Stop(Box::new(stop))
    }
}

const WAITS_FOR_ITS_TURN: &str = "waiting for its turn";
/// The first work of an attempt in its turn.
const READS_RECORDS: &str = "reading the records of both sides";
/// Replaces the message about the wait, because the next one may take a while.
const TURN_HAS_COME: &str = "going on, because its turn has come";
/// Time that an attempt may take to reach a safe point once its turn is over.
const HALT_TIMEOUT: Duration = Duration::from_secs(120);
/// Signal that stops a run at its next safe point.
const TERMINATE: u8 = 15;

/// Makes one attempt. `failures` is the number of consecutive failures before it.
pub(crate) async fn run_attempt(shared: Arc<Shared>, pivot: Pivot, failures: u32, halter: Halter) -> Verdict {
    let door = tokio::select! {
        door = shared.opening_turns.wait_for_turn(pivot.namespace(), pivot.status.has_changed_something()) => door,
        _ = halter.wait() => return Verdict::Halted,
    };
    // Read again, because the Pivot may be older than the last attempt's status.
    let pivot = match shared.home.reload_pivot(&pivot).await {
        Ok(Some(now)) if now.has_finalizer() || !now.is_deleted() => now,
        Ok(_) => return Verdict::Gone,
        Err(error) => {
            tracing::warn!(%error, pivot = %pivot.key, "it can't be read");
            return Verdict::Retry;
        }
    };
    if !pivot.is_deleted() && pivot.status.is_true(ConditionType::Succeeded) {
        // The last controller may have died just before it did this.
        return match shared.home.delete_target_secret(&pivot).await {
            Ok(()) => Verdict::Over,
            Err(_) => Verdict::Retry,
        };
    }
    let mut status = pivot.status.clone();
    status.failures = failures;
    status.begin_attempt(pivot.meta.generation, pivot.requested_at());
    let view = Arc::new(PivotView::new(pivot.key.clone(), status, shared.metrics.clone()));
    let work = async {
        let result = Attempt { shared: &shared, pivot: &pivot, view: &view, halter: &halter }
            .open_and_move(door)
            .await;
        report_result(&shared, &pivot, &view, failures, result)
    };
    let verdict = tokio::select! {
        verdict = work => verdict,
        () = view.keep_writing(&shared.home, &pivot) => Verdict::Retry,
    };
    match verdict {
        // A status is gone with its Pivot; Events stay.
        Verdict::Gone => view.write_events(&shared.home, &pivot).await,
        _ => view.write_changes(&shared.home, &pivot, &mut PivotStatus::default()).await,
    }
    verdict
}

/// Gives a turn back while the attempt waits for others. The turn ends with its attempt, whatever else of a run is left.
struct TurnScheduler {
    turn: Weak<Turn>,
    view: Arc<PivotView>,
}

#[async_trait]
impl Scheduler for TurnScheduler {
    fn park(&self) {
        if let Some(turn) = self.turn.upgrade() {
            turn.park();
        }
    }

    async fn admit(&self) {
        let Some(turn) = self.turn.upgrade() else { return };
        let mut admitted = std::pin::pin!(turn.unpark(self.view.status().has_changed_something()));
        if poll!(&mut admitted).is_pending() {
            self.view.change_status(|status| status.set_message(WAITS_FOR_ITS_TURN));
            admitted.await;
            self.view.change_status(|status| status.set_message(TURN_HAS_COME));
        }
    }
}

struct Attempt<'a> {
    shared: &'a Arc<Shared>,
    pivot: &'a Pivot,
    view: &'a Arc<PivotView>,
    halter: &'a Halter,
}

impl Attempt<'_> {
    /// Opens both clusters, and waits for a turn before anything is read that may take long.
    async fn open_and_move(&self, door: Turn) -> Result<Verdict, Trouble> {
        let Self { shared, pivot, .. } = *self;
        // A move that succeeded or never began needs no rollback, whatever else is wrong with the Pivot.
        if pivot.is_deleted() && (pivot.status.is_true(ConditionType::Succeeded) || !pivot.status.has_begun())
        {
            return self.release_pivot().await;
        }
        let spec = pivot.spec.as_ref().map_err(|why| Trouble::Spec(why.clone()))?;
        let mut options = spec.engine_options(pivot.namespace()).map_err(Trouble::Spec)?;
        if spec.from.is_own() {
            options.scope.also_copy.extend(shared.settings.also_copy.iter().cloned());
        }
        if spec.names_namespace(&shared.settings.record_namespace) {
            return Err(Trouble::Spec(OF_RECORDS.to_owned()));
        }
        let wait = |wait: Duration| wait.min(shared.settings.longest_wait);
        let options = Options {
            pause_timeout: wait(options.pause_timeout),
            check_timeout: wait(options.check_timeout),
            takeover_timeout: wait(options.takeover_timeout),
            operator: pivot.operator_name(),
            asked_by: Some(pivot.meta.uid.clone()),
            record_namespace: shared.settings.record_namespace.clone(),
            release_list_limit: shared.settings.release_list_limit,
            kubectl_flags: shared.settings.kubectl_flags.clone(),
            ..options
        };
        // Each attempt at a move begins with the finalizer. Without it nothing has begun, and no cluster is opened.
        if matches!(pivot.intent(), Intent::Suspend { .. }) && !pivot.has_finalizer() {
            return Ok(self.suspend_move());
        }
        if !pivot.is_deleted() && !shared.home.add_finalizer(pivot).await? {
            return Ok(Verdict::Gone);
        }
        self.view.change_status(|status| status.show_pending("connecting to both clusters"));
        let record_namespace = &shared.settings.record_namespace;
        let ends =
            match clusters::open_both_clusters(&shared.home, &*shared.opener, pivot, spec, record_namespace)
                .await
            {
                Ok(ends) => ends,
                Err(OpenSidesError::NoTarget { source, why, still_building }) => {
                    return self.handle_missing_target(options, source, why, still_building).await;
                }
                Err(error) => return Err(Trouble::Open(error)),
            };
        drop(door);
        let OpenedSides { sides, found_by } = ends;
        let setup = self.build_setup(sides, Options { found_by, ..options });
        self.view.change_status(|status| status.show_pending(WAITS_FOR_ITS_TURN));
        let turn = tokio::select! {
            turn = shared.turns.wait_for_turn(pivot.namespace(), pivot.status.has_changed_something()) => Arc::new(turn),
            _ = self.halter.wait() => return Ok(Verdict::Halted),
        };
        self.view.change_status(|status| status.show_pending(READS_RECORDS));
        let parks = TurnScheduler { turn: Arc::downgrade(&turn), view: self.view.clone() };
        let setup = Setup { parking: Parking::new(Arc::new(parks)), ..setup };
        let mut work = std::pin::pin!(self.follow_records(setup, spec));
        tokio::select! {
            result = &mut work => return result,
            () = turn.wait_until_overdue() => {}
        }
        tracing::info!(pivot = %pivot.key, "its turn is over, because others wait");
        self.halter.halt(Halt::Signal(TERMINATE));
        // One that doesn't come to a safe point is left as if the controller had died: the next attempt goes on.
        timeout(HALT_TIMEOUT, work).await.unwrap_or(Ok(Verdict::Halted))
    }

    /// Does what the records of both sides call for.
    async fn follow_records(&self, mut setup: Setup, spec: &Spec) -> Result<Verdict, Trouble> {
        let Self { pivot, .. } = *self;
        let status = run::status(setup.clone()).await?;
        // The controller's `--also-copy` may have changed since. A move is resumed with the objects that it began with.
        let mut begun = status.moves.iter().filter(|one| one.record.started_by == pivot.operator_name());
        if let Some(asked) = begun.find_map(|one| one.asked.as_ref()).filter(|_| spec.from.is_own()) {
            setup.options.scope.also_copy.clone_from(&asked.also_copy);
        }
        // With one side silent, its records may say something else.
        if let Some((side, why)) = status.silent {
            return Err(Trouble::Open(OpenSidesError::NoAnswer(format!("no answer from the {side}: {why}"))));
        }
        let foreign = foreign_id(&status, &pivot.operator_name(), &pivot.meta.uid);
        if let Some(id) = foreign.filter(|_| setup.options.confined == Some(Side::Target)) {
            return Err(Trouble::Foreign(format!(
                "a record of move {id} names this Pivot as its author, which began no move with such an id: its moves' ids end in {}",
                pivot.meta.uid
            )));
        }
        match decide_action(pivot.intent(), find_recorded_move(&status, &pivot.operator_name())) {
            Action::Move { recorded } => {
                if pivot.is_deleted() && self.is_first_since_the_change() {
                    self.view.announce(true, Reason::Finishing, FINISHING_MESSAGE.to_owned());
                }
                self.run_move(setup, recorded).await
            }
            Action::RollBack { move_id } => {
                if self.is_first_since_the_change() {
                    self.view.announce(true, Reason::RollingBack, ROLLBACK_MESSAGE.to_owned());
                }
                self.view.change_status(PivotStatus::show_rollback);
                let rollback = Rollback { move_id: Some(move_id), ..Rollback::default() };
                run::rollback(setup, rollback).await?;
                self.view.announce(
                    true,
                    Reason::RolledBack,
                    "the move is rolled back; the source is unpaused".to_owned(),
                );
                if pivot.is_deleted() { self.release_pivot().await } else { Ok(self.suspend_move()) }
            }
            Action::Suspend => Ok(self.suspend_move()),
            Action::Report { move_id, moved, kept } => self.report_success(&move_id, moved, kept).await,
            Action::Refuse { move_id, one_sided } => Err(Stop::one_sided(move_id, one_sided).into()),
            Action::Release => self.release_pivot().await,
        }
    }

    /// Shows how a user begins the move.
    fn suspend_move(&self) -> Verdict {
        let Pivot { key: Key { name, .. }, spec, .. } = self.pivot;
        let from = spec.as_ref().ok().and_then(|spec| {
            let agent = spec.from.agent.as_ref()?;
            let namespace = spec.source_namespace(self.pivot.namespace());
            Some(format!(" out of namespace {namespace} of agent {agent}"))
        });
        let message = format!(
            "suspended: no move{} begins until a user allows it: kubectl patch -n {} pivots.{GROUP} {name} --type merge -p \
             '{{\"spec\":{{\"suspend\":false}}}}'",
            from.unwrap_or_default(),
            self.pivot.namespace()
        );
        let told = self.pivot.status.has_message(ConditionType::Succeeded, &message);
        self.view.change_status(|status| status.show_suspension(&message));
        if !told {
            self.view.announce(true, Reason::Suspended, message);
        }
        Verdict::Suspended
    }

    /// Returns true if the last attempt began before the Pivot was deleted or suspended, which changes its generation.
    fn is_first_since_the_change(&self) -> bool {
        self.pivot.status.observed_generation != self.pivot.meta.generation
    }

    async fn run_move(&self, setup: Setup, recorded: Option<Phase>) -> Result<Verdict, Trouble> {
        // Written before any change: a Pivot without this phase never began.
        self.view.change_status(|status| status.show_move(recorded));
        self.shared.home.write_status(self.pivot, &self.view.status()).await?;
        let Report { move_id, done, .. } = run::start(setup).await?;
        let verdict =
            self.report_success(&move_id, done.moved.values().sum(), done.kept.values().sum()).await?;
        if self.pivot.is_deleted() { self.release_pivot().await } else { Ok(verdict) }
    }

    async fn report_success(&self, move_id: &str, moved: usize, kept: usize) -> Result<Verdict, Trouble> {
        self.view.change_status(|status| status.show_success(move_id, moved, kept));
        self.view.announce(true, Reason::Succeeded, format!("move {move_id}: {moved} objects moved"));
        // Only the target's records have the end of the move. Until the Pivot shows it, the target's Secret is needed.
        self.shared.home.write_status(self.pivot, &self.view.status()).await?;
        self.shared.home.delete_target_secret(self.pivot).await?;
        Ok(Verdict::Done)
    }

    async fn release_pivot(&self) -> Result<Verdict, Trouble> {
        self.shared.home.delete_target_secret(self.pivot).await?;
        self.shared.home.remove_finalizer(self.pivot).await?;
        Ok(Verdict::Gone)
    }

    /// Ends an attempt whose target can't be reached. The source's records say whether the move ended, or whether one is under
    /// way.
    async fn handle_missing_target(
        &self,
        options: Options,
        source: Arc<dyn Place>,
        why: String,
        still_building: bool,
    ) -> Result<Verdict, Trouble> {
        let sides = Sides { source: source.clone(), target: source };
        let setup = self.build_setup(sides, options);
        let status = timeout(OPENING_TIMEOUT, run::status_of_one(setup, Side::Source)).await;
        let status = status.map_err(|_| {
            let seconds = OPENING_TIMEOUT.as_secs();
            Trouble::Open(OpenSidesError::NoAnswer(format!(
                "no answer from the source within {seconds} seconds"
            )))
        })??;
        match decide_action(self.pivot.intent(), find_recorded_move(&status, &self.pivot.operator_name())) {
            Action::Report { move_id, moved, kept } => self.report_success(&move_id, moved, kept).await,
            Action::Release => self.release_pivot().await,
            Action::Refuse { move_id, one_sided } => Err(Stop::one_sided(move_id, one_sided).into()),
            Action::Suspend if !self.pivot.status.has_begun() => Ok(self.suspend_move()),
            Action::Move { .. } if still_building => Err(Trouble::Unbuilt(why)),
            Action::Suspend | Action::Move { .. } | Action::RollBack { .. } => {
                Err(Trouble::Open(OpenSidesError::Wrong(format!("the target is not known: {why}"))))
            }
        }
    }

    fn build_setup(&self, sides: Sides, options: Options) -> Setup {
        Setup {
            sides,
            options,
            plugins: (self.shared.plugins)(),
            watcher: self.view.clone(),
            halter: self.halter.clone(),
            parking: Parking::default(),
            workload_clusters: None,
        }
    }
}

/// Reports the result of an attempt in the Pivot's status, and returns the verdict.
fn report_result(
    shared: &Shared,
    pivot: &Pivot,
    view: &PivotView,
    failures: u32,
    result: Result<Verdict, Trouble>,
) -> Verdict {
    let (verdict, connected, reason, message) = match result {
        Ok(verdict) => return verdict,
        Err(Trouble::Spec(why)) => (Verdict::Stalled, None, Reason::Spec, why),
        Err(Trouble::Home(error)) => (Verdict::Retry, None, Reason::NoAnswer, error.to_string()),
        Err(Trouble::Open(OpenSidesError::NoAnswer(why))) => {
            (Verdict::Retry, Some(false), Reason::NoAnswer, why)
        }
        Err(Trouble::Foreign(why)) => (Verdict::Stalled, Some(true), Reason::Refused, why),
        Err(Trouble::Unbuilt(why)) => (Verdict::Waits, Some(false), Reason::Waiting, why),
        Err(Trouble::Open(OpenSidesError::Wrong(why) | OpenSidesError::NoTarget { why, .. })) => {
            (Verdict::Stalled, Some(false), Reason::NoCluster, why)
        }
        Err(Trouble::Stop(stop)) => {
            view.change_status(|status| {
                if let Some(move_id) = &stop.move_id {
                    status.move_id = Some(move_id.clone());
                }
            });
            let (verdict, connected, reason) = classify_stop(&stop);
            (verdict, connected, reason, (shared.settings.explain)(&stop))
        }
    };
    if verdict == Verdict::Halted {
        view.change_status(|status| status.set_message("stopped with the controller; the next one goes on"));
        return verdict;
    }
    // A repeated problem is announced once.
    let told = matches!(verdict, Verdict::Waits | Verdict::Stalled)
        && pivot.status.has_message(ConditionType::Succeeded, &message);
    let failures = if verdict == Verdict::Waits { 0 } else { failures + 1 };
    view.change_status(|status| {
        status.failures = failures;
        status.next_attempt = verdict.retry_pause(failures).map(time_after);
        match connected {
            Some(true) => status.set_connected(),
            Some(false) => status.set_condition(ConditionType::Connected, false, reason, &message),
            None => {}
        }
        status.stop_attempt(verdict == Verdict::Stalled, reason, &message);
    });
    if !told {
        view.announce(verdict == Verdict::Waits, reason, message);
    }
    verdict
}

/// Returns the verdict of a stop of the engine, whether the clusters answered, and the reason.
fn classify_stop(stop: &Stop) -> (Verdict, Option<bool>, Reason) {
    let silent = matches!(&stop.failure, Failure::Unreachable { .. })
        || matches!(&stop.failure, Failure::Place { error, .. } if error.is_transient());
    // The server or the user is not trusted.
    let distrusted = matches!(
        &stop.failure,
        Failure::Place { error: PlaceError::Unauthorized(_) | PlaceError::Untrusted(_), .. }
    );
    let busy = matches!(&stop.failure, Failure::Refused(refusals)
        if !refusals.is_empty() && refusals.iter().all(|refusal| refusal.code == "run-active"));
    let lost = matches!(&stop.failure, Failure::Halted(Halt::LeaseLost(_)));
    match stop.exit {
        // The next controller shows the attempt as running.
        Exit::Interrupted | Exit::Terminated => (Verdict::Halted, None, Reason::Running),
        _ if silent => (Verdict::Retry, Some(false), Reason::NoAnswer),
        _ if busy => (Verdict::Retry, None, Reason::OtherRun),
        _ if lost => (Verdict::Retry, None, Reason::LeaseLost),
        Exit::Plugin => (Verdict::Stalled, Some(true), Reason::Plugins),
        // A target that doesn't answer counts as passing, too, and is handled above.
        Exit::Refused | Exit::Unreachable if stop.passes() => (Verdict::Waits, Some(true), Reason::Waiting),
        Exit::Refused if distrusted => (Verdict::Stalled, Some(false), Reason::NoCluster),
        Exit::Refused | Exit::Unreachable | Exit::Differs => (Verdict::Stalled, Some(true), Reason::Refused),
        Exit::Empty => (Verdict::Stalled, Some(true), Reason::NothingToMove),
        Exit::PartWay => (Verdict::Retry, None, Reason::PartWay),
        Exit::PastCommit => (Verdict::Retry, None, Reason::PastCommit),
        Exit::Timeout => (Verdict::Retry, None, Reason::Timeout),
        Exit::Unexpected | Exit::Usage => (Verdict::Retry, None, Reason::Unexpected),
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::GroupKind;

    use super::*;
    use crate::turns::Turns;

    #[tokio::test(start_paused = true)]
    async fn coming_turn_ends_its_message() {
        let turns = Turns::new(1);
        let turn = Arc::new(turns.wait_for_turn("a", true).await);
        let pivot = Key::new(GroupKind::new("", "Pivot"), Some("a"), "p");
        let view = Arc::new(PivotView::new(pivot, PivotStatus::default(), Arc::default()));
        let parks = TurnScheduler { turn: Arc::downgrade(&turn), view: view.clone() };
        parks.park();
        let other = turns.wait_for_turn("b", true).await;
        let mut admitted = std::pin::pin!(parks.admit());
        assert!(poll!(&mut admitted).is_pending());
        assert_eq!(view.status().message.as_deref(), Some(WAITS_FOR_ITS_TURN));
        drop(other);
        admitted.await;
        assert_eq!(view.status().message.as_deref(), Some(TURN_HAS_COME));
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses = |verdict: Verdict| {
            (1..=8)
                .map(move |failures| verdict.retry_pause(failures).unwrap().as_secs())
                .collect::<Vec<u64>>()
        };
        assert_eq!(pauses(Verdict::Retry), [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(pauses(Verdict::Stalled), [15, 30, 60, 120, 240, 480, 600, 600]);
        assert_eq!(Verdict::Retry.retry_pause(u32::MAX), Some(MAX_PAUSE));
    }

    fn stop(failure: Failure, exit: Exit, phase: Option<Phase>) -> Stop {
        let (state, next, times) = (String::new(), Vec::new(), Vec::new());
        Stop { failure, phase, exit, state, next, move_id: None, times, done: Default::default() }
    }

    #[test]
    fn untrusted_server_is_not_connected() {
        let error = PlaceError::Untrusted("invalid peer certificate: UnknownIssuer".into());
        let failure = Failure::Place {
            side: Side::Target,
            doing: "identifying the cluster".into(),
            object: None,
            error,
        };
        let of = classify_stop(&stop(failure, Exit::Refused, None));
        assert_eq!(of, (Verdict::Stalled, Some(false), Reason::NoCluster));
    }

    /// A server that is too busy renews no lease for a while, and no user must change anything.
    #[test]
    fn lost_lease_is_retried() {
        for (exit, phase) in [(Exit::Refused, None), (Exit::PartWay, Some(Phase::Copied))] {
            let failure = Failure::Halted(Halt::LeaseLost("it was not renewed for 10 seconds".into()));
            let stop = stop(failure, exit, phase);
            assert_eq!(classify_stop(&stop).0, Verdict::Retry, "{stop:?}");
        }
    }
}
