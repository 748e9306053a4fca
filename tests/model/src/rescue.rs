//! Invariant 10: from every reachable state, repeating the same command ends the move.
//!
//! The checker can't see on its own that some way leads to an end: its `eventually` gives up on cycles, and a run that is refused
//! is one. So this walks the way: a live run continues undisturbed; then, while a move is unfinished, it is typed again (or
//! rolled back), until there is nothing left to do. The final state is then judged. Ways from different states soon join, and a
//! state that is known to end well is not walked from again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::PoisonError;

use stateright::Model;

use crate::handover::{Action, Handover};
use crate::pair::{Item, Lock, Move, OneOfTwo, Run};
use crate::process::{Command, Step};
use crate::state::{Faults, Holder, Phase, State};

/// How somebody tries to reach an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `move`, again and again.
    Forward,
    /// `rollback`, and `move` if that is refused.
    Back,
}

/// More steps than any way has.
const FAR: usize = 400;

impl Handover {
    /// Whether the way leads to an end from this state.
    pub fn ends(&self, state: &State, way: Way) -> bool {
        let known = match way {
            Way::Forward => &self.rescue.forward,
            Way::Back => &self.rescue.back,
        };
        let mut state = State { left: Faults::default(), ..state.clone() };
        let mut walked = Vec::new();
        while walked.len() < FAR {
            let print = fingerprint(&state);
            if known.lock().unwrap_or_else(PoisonError::into_inner).contains(&print) {
                break;
            }
            walked.push(print);
            match self.next(&state, way) {
                Some(next) => state = next,
                None if self.at_rest(&state) || needs_a_human(&state) => break,
                None => return false,
            }
        }
        if walked.len() == FAR {
            return false;
        }
        known.lock().unwrap_or_else(PoisonError::into_inner).extend(walked);
        true
    }

    /// The next step of a live run, or else the next command that changes something.
    fn next(&self, state: &State, way: Way) -> Option<State> {
        self.step(state).or_else(|| {
            let unfinished = Move::BOTH.into_iter().filter(|id| unfinished(state, *id));
            unfinished.filter_map(|id| self.command(state, id, way)).find(|after| after != state)
        })
    }

    fn step(&self, state: &State) -> Option<State> {
        let mut actions = Vec::new();
        self.actions(state, &mut actions);
        let fence = actions.iter().find(|action| matches!(action, Action::Fence(_)));
        let goes_on = |action: &&Action| matches!(action, Action::Do(..) | Action::Expire(..));
        let action = fence.or_else(|| actions.iter().find(goes_on))?;
        self.next_state(state, *action)
    }

    /// The result of one command, in the terminal of the move's own run.
    fn command(&self, state: &State, id: Move, way: Way) -> Option<State> {
        let run = Run::BOTH.into_iter().find(|run| run.own_move() == id)?;
        let committed = state.source.records[id].is_none_or(|record| record.phase >= Phase::Committed);
        let back = match way {
            Way::Forward => state.target.lost,
            Way::Back => !committed,
        };
        let command = if back && !state.source.lost { Command::Rollback } else { Command::Move };
        let mut actions = Vec::new();
        self.actions(state, &mut actions);
        let start = actions.into_iter().find(|action| *action == Action::Start(run, command))?;
        let mut state = self.next_state(state, start)?;
        for _ in 0..FAR {
            match self.step(&state) {
                Some(next) => state = next,
                None => return Some(state),
            }
        }
        None
    }

    /// No run is active, nothing is paused, and no lock locks anybody out.
    fn at_rest(&self, state: &State) -> bool {
        let idle = Run::BOTH.iter().all(|run| state.runs[*run].step == Step::Idle);
        let closed = Move::BOTH.iter().all(|id| !unfinished(state, *id));
        let in_source = |item: &Item| state.source.objects[*item].filter(|_| !state.source.lost);
        let in_target = |item: &Item| state.target.copies[*item].filter(|_| !state.target.lost);
        let active = |item: &Item| match (in_source(item), in_target(item)) {
            (Some(object), None) => object.paused_by.is_none(),
            (None, Some(copy)) => copy.active,
            (Some(_), Some(_)) => false,
            (None, None) => true,
        };
        let free = |lock: &Lock| {
            let lease = state.source.leases[*lock].filter(|_| !state.source.lost);
            lease.is_none_or(|lease| {
                !matches!(lease.holder, Holder::Run(_)) && state.source.records[lease.claim].is_none()
            })
        };
        idle && closed && Item::BOTH.iter().all(active) && Lock::EACH.iter().all(free)
    }
}

fn unfinished(state: &State, id: Move) -> bool {
    let at_source = !state.source.lost && state.source.records[id].is_some();
    let at_target = state.target.records[id].is_some_and(|record| record.phase < Phase::Finished);
    at_source || (!state.target.lost && at_target)
}

/// What no command can finish, as the protocol says: a person has to decide.
fn needs_a_human(state: &State) -> bool {
    let undecided = |id: &Move| state.target.records[*id].is_none();
    // The source is lost before anything was written to the target's record: there is a paused partial copy at most.
    let too_early = state.source.lost && Move::BOTH.iter().any(undecided);
    let committed =
        |id: &Move| state.source.records[*id].is_some_and(|record| record.phase >= Phase::Committed);
    // The target is lost after the commit: the source is the last copy, unpaused by hand.
    let too_late = state.target.lost && Move::BOTH.iter().any(committed);
    // A user edited a paused object after the run compared it for the last time: the run stops with the difference.
    let differs = |id: &Move, item: &Item| match (state.source.objects[*item], state.target.lists[*id]) {
        (Some(object), Some(list)) => {
            committed(id) && list[*item].is_some_and(|content| content != object.content)
        }
        _ => false,
    };
    let edited = Move::BOTH.iter().any(|id| Item::BOTH.iter().any(|item| differs(id, item)));
    too_early || too_late || edited
}

pub(crate) fn fingerprint(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
