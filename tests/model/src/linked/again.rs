//! From every reachable state, repeating a command ends the move; and a sealed child needs nobody.
//!
//! As `rescue` does for two runs: the checker can't see on its own that some way leads to an end, so this walks it. The run is dead, the
//! link is made again, what the agent does alone is done, and then the command is typed until there is nothing left to do.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use crate::linked::rules::{Linked, Way};
use crate::linked::state::{Agent, Link, Linking, Run};
use crate::linked::step::Step;
use crate::pair::{Item, OneOfTwo};
use crate::state::Phase;

/// More commands, and more requests of one, than any way has.
const FAR: usize = 100;

impl Linked {
    /// Whether the command, again and again, leads to an end: `rollback` as long as that is possible, or `move`.
    pub(crate) fn ends(&self, state: &Linking, back: bool) -> bool {
        let mut state =
            Linking { run: Run::IDLE, late: None, link: Link::Up, may_edit: false, ..state.clone() };
        let print = fingerprint(&state);
        let [forward, backward] = &self.known;
        let known = if back { backward } else { forward };
        if locked(known).contains(&print) {
            return true;
        }
        self.finish(&mut state);
        let ends = (0..FAR).any(|_| {
            let over = at_rest(&state) || needs_a_human(&state);
            if !over {
                self.typed(&mut state, back);
            }
            over
        });
        if ends {
            locked(known).insert(print);
        }
        ends
    }

    /// What the agent has begun, to its end.
    fn finish(&self, state: &mut Linking) {
        while state.agent != Agent::Answers {
            self.alone(state);
        }
    }

    /// One command, by a run that nothing disturbs.
    fn typed(&self, state: &mut Linking, back: bool) {
        let decides = state.at_source.or(state.under_way().map(|record| record.phase));
        // An orphan says Live, and can be rolled back.
        let possible = decides.is_none_or(|phase| phase < Phase::Released) && !state.committed();
        state.run = Run { step: Step::ReadRecords, back: back && possible, ..Run::IDLE };
        for _ in 0..FAR {
            let Some(request) = state.run.requests().first().copied() else { return };
            self.perform(state, request);
        }
    }

    /// Whether a child whose parent is gone for good manages itself in the end, if its move was sealed.
    pub(crate) fn manages_itself(&self, state: &Linking) -> bool {
        let sealed = state.under_way().is_some_and(|record| record.sealed);
        if !(state.parent_gone && sealed && self.way == Way::Into) {
            return true;
        }
        let mut state = state.clone();
        self.finish(&mut state);
        if self.may_begin(&state) {
            self.begin(&mut state);
            self.finish(&mut state);
        }
        state.runs()
    }
}

fn locked<T>(known: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fingerprint(state: &Linking) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// No record is open, and each object is active, once.
fn at_rest(state: &Linking) -> bool {
    let once = |item: &Item| match (state.originals[*item], state.copies[*item]) {
        (Some(original), None) => original.active,
        (None, Some(copy)) => copy.active,
        _ => false,
    };
    state.at_source.is_none() && state.under_way().is_none() && Item::BOTH.iter().all(once)
}

/// What no command can finish, as the protocol says.
fn needs_a_human(state: &Linking) -> bool {
    // A user edited a paused object after the run compared it for the last time: the run stops with the difference.
    let edited = |item: &Item| match (state.originals[*item], state.under_way()) {
        (Some(original), Some(record)) => state.committed() && original.content != record.list[*item],
        _ => false,
    };
    state.parent_gone || state.past.decided || Item::BOTH.iter().any(edited)
}
