//! A side that is restored at any step of a move, from a backup of any earlier one: as in the model of restores (`tests/model`), and
//! judged as the model judges it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use pivot_core::{Key, Side};
use pivot_engine::{Exit, Failure, MoveStatus, OneSidedMove};
use pivot_memory::MemoryPlace;
use pivot_model::restored::{Copies, Origin, Restorable, RestoreRules, Restored, Verdict};
use pivot_model::{Pair, Phase};

use crate::modelled::recorded_phase;
use crate::restored::{Backup, advises_nothing_by_hand, cluster, reconcile, stage};
use crate::run::{self, With};
use crate::secret_watcher::ensure_no_secret;
use crate::seeds::{distance_of_deaths, is_brief, is_nightly};
use crate::stage::{Stage, picture, under_way};

/// Both servers before a move, and after each of its writes.
struct History {
    source: Vec<Backup>,
    target: Vec<Backup>,
    /// The side to which each write goes.
    writes: Vec<Side>,
    /// The objects that the move takes.
    moved: BTreeSet<Key>,
}

impl History {
    async fn play(stage: &Stage) -> Self {
        let before = keys(&stage.source);
        let states = Arc::new(Mutex::new(Vec::new()));
        for (place, side) in [(&stage.source, Side::Source), (&stage.target, Side::Target)] {
            let (source, target, states) = (stage.source.clone(), stage.target.clone(), states.clone());
            place.on_call(move |verb, _| {
                if ["create", "patch", "patch-status", "delete"].contains(&verb) {
                    states.lock().unwrap().push((side, (Backup::take(&source), Backup::take(&target))));
                }
                None
            });
        }
        run::start(stage.setup()).await.unwrap();
        for place in [&stage.source, &stage.target] {
            place.on_call(|_, _| None);
        }
        let (writes, mut states): (Vec<Side>, Vec<_>) = states.lock().unwrap().drain(..).unzip();
        states.push((Backup::take(&stage.source), Backup::take(&stage.target)));
        let (source, target) = states.into_iter().unzip();
        let left = keys(&stage.source);
        Self { source, target, writes, moved: before.difference(&left).cloned().collect() }
    }

    /// Each step at which a side can be restored, with each earlier step at which it was in another state.
    fn restores(&self, side: Side) -> Vec<(usize, usize)> {
        let changes = |at: usize| self.writes[at] == side;
        let is_new = move |at: &usize| *at == 0 || changes(*at - 1);
        let pairs = |now: usize| (0..now).filter(is_new).map(move |then| (then, now));
        let all = (0..self.source.len()).flat_map(pairs);
        all.filter(|(then, now)| (*then..*now).any(changes)).collect()
    }

    fn restore(&self, stage: &Stage, side: Side, then: usize, now: usize) {
        let at = |one| if one == side { then } else { now };
        self.source[at(Side::Source)].restore(&stage.source);
        self.target[at(Side::Target)].restore(&stage.target);
        if runs(&stage.target) {
            reconcile(&stage.target, &cluster());
        }
    }

    /// Returns the part of a state that the model knows.
    fn describe(&self, stage: &Stage, ran: bool) -> Restorable {
        let phase = |place, side| recorded_phase(place, side).map(|(phase, _)| phase);
        let objects = |place: &MemoryPlace| {
            let there = keys(place);
            let others = self.moved.iter().any(|key| *key != cluster() && there.contains(key));
            Pair(there.contains(&cluster()), others)
        };
        let record = phase(&stage.target, "target").filter(|phase| *phase != Phase::Finished);
        let source = Origin {
            record: phase(&stage.source, "source"),
            objects: objects(&stage.source),
            paused: !runs(&stage.source),
        };
        let target = Copies {
            record,
            list: record.is_some(),
            objects: objects(&stage.target),
            runs: runs(&stage.target),
        };
        Restorable { source, target, ran, ..Restorable::UNMOVED }
    }

    /// The objects that neither side has.
    fn lost(&self, stage: &Stage) -> BTreeSet<&Key> {
        let there: BTreeSet<Key> = keys(&stage.source).union(&keys(&stage.target)).cloned().collect();
        self.moved.iter().filter(|key| !there.contains(*key)).collect()
    }
}

fn keys(place: &MemoryPlace) -> BTreeSet<Key> {
    place.keys().into_iter().collect()
}

/// Returns true if the Cluster of a side runs.
fn runs(place: &MemoryPlace) -> bool {
    place.body(&cluster()).is_some_and(|body| body["spec"]["paused"] != true)
}

fn verdict(status: Option<&MoveStatus>) -> Verdict {
    let Some(status) = status else { return Verdict::Fits };
    match &status.one_sided {
        Some(OneSidedMove::SourceWentBack { .. } | OneSidedMove::ClaimedByTarget { .. }) => Verdict::WentBack,
        Some(OneSidedMove::LastCopyInSource | OneSidedMove::PartTakenOver { .. }) => Verdict::LastInSource,
        Some(OneSidedMove::LastCopyInTarget) => Verdict::LastInTarget,
        Some(_) => Verdict::TakenOver,
        None if status.orphaned => Verdict::RolledBack,
        None => Verdict::Fits,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Resume,
    Start,
    Rollback,
    ResumeWithoutSource,
}

/// Runs a command after a restore, and checks what it did. Returns whether it refused.
async fn check(history: &History, stage: &Stage, command: Command, ran: bool, at: &str) -> bool {
    let lost = history.lost(stage);
    let (source_ran, target_ran) = (runs(&stage.source), runs(&stage.target));
    let copied = keys(&stage.target).contains(&cluster());
    let before = (picture(&stage.source), picture(&stage.target));
    let setup = stage.setup();
    let stop = match command {
        Command::Resume => run::resume(setup).await.err(),
        Command::ResumeWithoutSource => run::resume(With::absent(Side::Source, setup)).await.err(),
        Command::Start => run::start(setup).await.err(),
        Command::Rollback => run::rollback(setup).await.err(),
    };
    let at = format!("{at}, {command:?}: {}", stop.as_ref().map_or("done".to_owned(), ToString::to_string));
    assert_eq!(history.lost(stage), lost, "{at}");
    let (source_runs, target_runs) = (runs(&stage.source), runs(&stage.target));
    assert!(!(source_runs && target_runs) || (source_ran && target_ran), "{at}");
    if ran {
        assert!(source_ran || !source_runs, "the source was unpaused: {at}");
        assert!(!target_ran || target_runs, "the copy was paused or removed: {at}");
        assert!(!copied || keys(&stage.target).contains(&cluster()), "the copy was removed: {at}");
    }
    let stopped = stop.as_ref().map(|stop| format!("{stop} {stop:?}"));
    ensure_no_secret(stage, stopped.as_slice()).unwrap();
    let Some(stop) = stop else { return false };
    assert!([Exit::Refused, Exit::Empty].contains(&stop.exit), "{at}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{at}");
    if matches!(stop.failure, Failure::OneSidedMove { .. }) {
        advises_nothing_by_hand(&stop);
    }
    true
}

/// A landing tries each state that the model tells from others, the nightly run each pair of steps, and `cargo test` some pairs.
// proves: I14, T164, T165
#[tokio::test(start_paused = true)]
async fn restores_at_any_step_are_judged_as_in_the_model() {
    let stage = stage();
    let history = History::play(&stage).await;
    let first_run = history.target.iter().position(|target| {
        target.restore(&stage.target);
        runs(&stage.target)
    });
    let (mut seen, mut verdicts, mut tried, mut refused) = (Vec::new(), Vec::new(), 0, 0);
    for side in [Side::Source, Side::Target] {
        for (then, now) in history.restores(side).into_iter().step_by(distance_of_deaths()) {
            history.restore(&stage, side, then, now);
            let ran = first_run.is_some_and(|first| first <= now);
            let state = history.describe(&stage, ran);
            if !is_nightly() && seen.contains(&state) {
                continue;
            }
            seen.push(state.clone());
            let at = format!("the {side} of write {now} as of write {then}: {state:?}");
            let status = under_way(stage.setup()).await;
            ensure_no_secret(&stage, &[format!("{status:?}")]).unwrap();
            let judged = verdict(status.as_ref());
            let expected = match status.is_some_and(|status| status.has_ended) {
                // Only the summary shows it, which the model leaves out.
                true if runs(&stage.source) => Verdict::WentBack,
                true => Verdict::TakenOver,
                false => Restored(RestoreRules::KEPT).judge(&state),
            };
            assert_eq!(judged, expected, "{at}");
            let mut commands = vec![Command::Resume, Command::Start, Command::Rollback];
            if judged == Verdict::LastInTarget {
                commands.push(Command::ResumeWithoutSource);
            }
            for command in commands {
                history.restore(&stage, side, then, now);
                let refuses = check(&history, &stage, command, ran, &at).await;
                let may_refuse = judged != Verdict::LastInTarget || command != Command::ResumeWithoutSource;
                assert!(may_refuse || !refuses, "{at}");
                refused += usize::from(refuses);
            }
            if !verdicts.contains(&judged) {
                verdicts.push(judged);
            }
            tried += 1;
        }
    }
    let all = history.restores(Side::Source).len() + history.restores(Side::Target).len();
    println!("counted: {tried} of {all} restores, {refused} refusals");
    assert!(verdicts.len() == 6 || is_brief(), "{verdicts:?}");
}
