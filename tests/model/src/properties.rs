//! What must always hold, and what must be possible.

use stateright::Property;

use crate::handover::Handover;
use crate::pair::{Item, Move, OneOfTwo, Run};
use crate::process::{Command, Step, Why, works_in};
use crate::rescue::Way;
use crate::state::{End, State};

/// Invariant 1.
pub const EXISTS: &str = "1: each object exists on at least one side";
/// Invariant 2.
pub const ACTIVE_ONCE: &str = "2: no object is active on both sides";
/// Invariant 3.
pub const COPIED: &str = "3: nothing is deleted in a state that was not copied";
/// Invariant 9.
pub const TWO_SIDES: &str = "9: no move from a cluster to itself";
/// Invariant 10, forward.
pub const MOVE_AGAIN: &str = "10: typed again, a move ends";
/// Invariant 10, back.
pub const ROLL_BACK: &str = "10: rolled back, or typed again where that is refused, a move ends";
/// Invariant 11, before the commit.
pub const SEEN: &str = "11: nothing is committed where no controller sees the copies";
/// The locks, of runs that are alive.
pub const ALONE: &str = "locks: no two runs of different moves change one namespace";
/// The locks, of runs that died.
pub const CLAIMED: &str = "locks: no run changes a namespace that an unfinished move of another touched";
/// Invariant 2, and why it holds.
pub const AFTER_COMMIT: &str = "2: no copy is active before the source says Committed";

type Condition = fn(&Handover, &State) -> bool;

/// What must hold in every state.
pub const ALWAYS: [(&str, Condition); 10] = [
    (EXISTS, |_, state| Item::BOTH.into_iter().all(|item| exists(state, item))),
    (ACTIVE_ONCE, |_, state| Item::BOTH.into_iter().all(|item| !active_twice(state, item))),
    (AFTER_COMMIT, |_, state| Item::BOTH.into_iter().all(|item| active_late_enough(state, item))),
    (COPIED, |_, state| Item::BOTH.into_iter().all(|item| copied_or_there(state, item))),
    (TWO_SIDES, |_, state| Run::BOTH.into_iter().all(|run| tells_apart(state, run))),
    (ALONE, |_, state| alone(state)),
    (CLAIMED, |_, state| claimed(state)),
    (SEEN, |model, state| model.config.has_controllers || !committed(state)),
    // Without controllers, a move can only be rolled back.
    (MOVE_AGAIN, |model, state| !model.config.has_controllers || model.ends(state, Way::Forward)),
    (ROLL_BACK, |model, state| model.ends(state, Way::Back)),
];

/// A move succeeds.
pub const MOVED: &str = "a move ends";
/// A rollback succeeds.
pub const ROLLED_BACK: &str = "a rollback ends";
/// Two runs meet and one of them backs off.
pub const BACKS_OFF: &str = "a run backs off from a run that lives";
/// A dead run's move locks another out.
pub const KEPT_OUT: &str = "the claim of a dead run keeps another out";
/// A dead run's Lease is taken.
pub const STALE_TAKEN: &str = "a stale Lease is taken";

fn possible(name: &'static str) -> Condition {
    match name {
        MOVED => |_, state| Move::BOTH.iter().any(|id| state.ended[*id] == Some(End::Moved)),
        ROLLED_BACK => |_, state| Move::BOTH.iter().any(|id| state.ended[*id] == Some(End::RolledBack)),
        BACKS_OFF => |_, state| {
            let other_lives = |run: &Run| state.runs[run.other()].lives();
            let backs_off = |run: &Run| matches!(state.runs[*run].step, Step::GiveBack(_, Why::Held(_)));
            Run::BOTH.iter().any(|run| backs_off(run) && other_lives(run))
        },
        KEPT_OUT => |_, state| {
            let other_dead = |run: &Run| !state.runs[run.other()].lives();
            let kept_out = |run: &Run| matches!(state.runs[*run].step, Step::GiveBack(_, Why::Claimed));
            Run::BOTH.iter().any(|run| kept_out(run) && other_dead(run))
        },
        _ => |_, state| {
            Run::BOTH.iter().any(|run| {
                let process = &state.runs[*run];
                process.stale.is_some_and(|lock| {
                    process.step == Step::WriteClaim(lock)
                        && state.source.leases[lock].is_some_and(|lease| lease.known_to[*run])
                })
            })
        },
    }
}

/// Everything that is checked in every configuration, and those of `sometimes` that it must be able to show.
pub fn all(sometimes: &[&'static str]) -> Vec<Property<Handover>> {
    let always = ALWAYS.into_iter().map(|(name, condition)| Property::always(name, condition));
    let sometimes = sometimes.iter().map(|name| Property::sometimes(name, possible(name)));
    always.chain(sometimes).collect()
}

/// A source that was lost counts until the move of its object ended without it.
fn exists(state: &State, item: Item) -> bool {
    let ended = |id: Move| state.ended[id] == Some(End::Moved);
    let in_source = state.source.objects[item].is_some_and(|object| !object.paused_by.is_some_and(ended));
    in_source || state.target.copies[item].is_some()
}

fn active_twice(state: &State, item: Item) -> bool {
    let in_source = state.source.objects[item].is_some_and(|object| object.paused_by.is_none());
    in_source && state.target.copies[item].is_some_and(|copy| copy.active)
}

fn active_late_enough(state: &State, item: Item) -> bool {
    let Some(copy) = state.target.copies[item].filter(|copy| copy.active) else { return true };
    let uncommitted = |record: crate::SourceRecord| record.phase < crate::Phase::Committed;
    state.source.lost || !state.source.records[copy.mark].is_some_and(uncommitted)
}

fn copied_or_there(state: &State, item: Item) -> bool {
    let copied = || state.target.copies[item].is_some_and(|copy| copy.content == state.latest[item]);
    state.source.objects[item].is_some() || copied()
}

fn committed(state: &State) -> bool {
    let source = Move::BOTH.iter().filter_map(|id| state.source.records[*id].as_ref());
    let mut source = source.map(|record| record.phase);
    source.any(|phase| phase >= crate::Phase::Committed)
        || Move::BOTH.iter().any(|id| state.target.records[*id].is_some())
}

fn tells_apart(state: &State, run: Run) -> bool {
    let process = &state.runs[run];
    process.command != Command::MoveToItself || matches!(process.step, Step::Idle | Step::Identify)
}

fn alone(state: &State) -> bool {
    let (one, two) = (&state.runs.0, &state.runs.1);
    one.id == two.id || !works_in(one).meets(works_in(two))
}

fn claimed(state: &State) -> bool {
    let free = |run: &Run, id: &Move| {
        let touched = state.source.records[*id].map(|record| record.touched).unwrap_or_default();
        state.runs[*run].id == *id || !works_in(&state.runs[*run]).meets(touched)
    };
    Run::BOTH.iter().all(|run| Move::BOTH.iter().all(|id| free(run, id)))
}
