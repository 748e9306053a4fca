//! Whether what was seen of two real runs is a behaviour of the model of leases and records.
//!
//! From outside, Leases, records and objects can be seen, and that a run begins, dies or ends; its reads, and what it remembers, can't.
//! So this keeps every state in which the model may be, and takes each change of the picture as far as one action of one of the runs
//! explains it. How many objects are paused, or run, is part of the picture, and not which: requests about one object each have no
//! order.

use std::collections::BTreeSet;
use std::fmt;

use stateright::Model;

use crate::handover::{Action, Handover};
use crate::pair::{Item, Lock, Move, OneOfTwo, Pair, PerLock, Run};
use crate::process::{Command, Step};
use crate::rescue::fingerprint;
use crate::state::{Holder, Phase, State};

/// What can be seen of both clusters from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Who holds each Lease that is there, and the move that claims it.
    pub leases: PerLock<Option<(Holder, Move)>>,
    /// The phase in the source's record of each move.
    pub at_source: Pair<Option<Phase>>,
    /// The phase in the target's.
    pub at_target: Pair<Option<Phase>>,
    /// How many objects are in the source, and how many of them are paused.
    pub originals: (usize, usize),
    /// How many copies there are, and how many of them are active.
    pub copies: (usize, usize),
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Both clusters, before or after a write.
    Both(Picture),
    /// A run begins.
    Starts(Run, Command),
    /// A run is killed.
    Dies(Run),
    /// A run is over, as it wanted.
    Ends(Run),
}

/// What was seen is nothing that the model does.
#[derive(Debug)]
pub struct Refused {
    /// How many of those seen it does.
    pub after: usize,
    /// The steps that explain those.
    pub steps: Vec<(Run, Step)>,
    /// What it doesn't do.
    pub seen: Seen,
    /// What it could do instead, and what would be seen then.
    pub instead: Vec<(Run, Step, Picture)>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "after {} that the model does, {:?}, it doesn't do this:", self.after, self.steps)?;
        writeln!(f, "  {:?}", self.seen)?;
        let mut instead = self.instead.iter();
        instead.try_for_each(|(run, step, picture)| writeln!(f, "{run:?} could do {step:?}:\n  {picture:?}"))
    }
}

impl State {
    /// What can be seen of it.
    pub fn picture(&self) -> Picture {
        let mut picture = Picture {
            at_source: Pair(
                self.source.records.0.map(|record| record.phase),
                self.source.records.1.map(|record| record.phase),
            ),
            at_target: Pair(
                self.target.records.0.map(|record| record.phase),
                self.target.records.1.map(|record| record.phase),
            ),
            ..Picture::default()
        };
        for lock in Lock::EACH {
            picture.leases[lock] = self.source.leases[lock].map(|lease| (lease.holder, lease.claim));
        }
        for item in Item::BOTH {
            if let Some(original) = self.source.objects[item] {
                picture.originals.0 += 1;
                picture.originals.1 += usize::from(original.paused_by.is_some());
            }
            if let Some(copy) = self.target.copies[item] {
                picture.copies.0 += 1;
                picture.copies.1 += usize::from(copy.active);
            }
        }
        picture
    }
}

/// A state in which the model may be, and the visible steps that led there.
type May = (State, Vec<(Run, Step)>);

impl Handover {
    /// The steps that explain what was seen, in order; those that change nothing that can be seen are left out.
    pub fn explain(&self, trace: &[Seen]) -> Result<Vec<(Run, Step)>, Refused> {
        let begin = self.init_states().into_iter().map(|state| (state, Vec::new()));
        let mut may = self.unseen(begin.collect());
        let mut picture = may.first().map(|(state, _)| state.picture()).unwrap_or_default();
        for (after, seen) in trace.iter().enumerate() {
            let next: Vec<May> = match seen {
                Seen::Both(same) if *same == picture => continue,
                Seen::Both(new) => {
                    picture = *new;
                    let next = may.iter().flat_map(|may| self.may_follow(may));
                    next.filter(|(state, _)| state.picture() == picture).collect()
                }
                Seen::Starts(run, command) => self.after(&may, Action::Start(*run, *command)),
                Seen::Dies(run) => self.after(&may, Action::Crash(*run)),
                Seen::Ends(run) => {
                    may.iter().filter(|(state, _)| !state.runs[*run].lives()).cloned().collect()
                }
            };
            if next.is_empty() {
                let steps = may.first().map(|(_, steps)| steps.clone()).unwrap_or_default();
                return Err(Refused { after, steps, seen: *seen, instead: self.instead(&may) });
            }
            if let Seen::Dies(_) = seen
                && let Some((state, _)) = next.first()
            {
                picture = state.picture();
            }
            may = self.unseen(next);
        }
        Ok(may.into_iter().next().map(|(_, steps)| steps).unwrap_or_default())
    }

    /// The states after what happened to a run from outside.
    fn after(&self, may: &[May], action: Action) -> Vec<May> {
        let mut next = Vec::new();
        for (state, steps) in may {
            let mut actions = Vec::new();
            self.actions(state, &mut actions);
            if actions.contains(&action)
                && let Some(state) = self.next_state(state, action)
            {
                next.push((state, steps.clone()));
            }
        }
        next
    }

    /// What the runs may do from here.
    fn may_follow(&self, (state, steps): &May) -> Vec<May> {
        let mut actions = Vec::new();
        self.actions(state, &mut actions);
        let own = |action: &Action| {
            matches!(action, Action::Do(..) | Action::Expire(..) | Action::TakeOver(..) | Action::Fence(_))
        };
        let next = actions.into_iter().filter(own).filter_map(|action| {
            let next = self.next_state(state, action)?;
            let mut steps = steps.clone();
            if let Action::Do(run, step) = action
                && next.picture() != state.picture()
            {
                steps.push((run, step));
            }
            Some((next, steps))
        });
        next.collect()
    }

    /// The same states, and those that nobody can tell from them.
    fn unseen(&self, may: Vec<May>) -> Vec<May> {
        let mut known = BTreeSet::new();
        let mut is_new = |state: &State| known.insert(fingerprint(state));
        let mut all: Vec<May> = may.into_iter().filter(|(state, _)| is_new(state)).collect();
        let mut from = 0;
        while let Some(one) = all.get(from) {
            let picture = one.0.picture();
            let same = self.may_follow(one).into_iter().filter(|(state, _)| state.picture() == picture);
            let new: Vec<May> = same.filter(|(state, _)| is_new(state)).collect();
            all.extend(new);
            from += 1;
        }
        all
    }

    fn instead(&self, may: &[May]) -> Vec<(Run, Step, Picture)> {
        let mut instead = Vec::new();
        for one in may {
            for (state, steps) in self.may_follow(one) {
                let could = steps.get(one.1.len()).map(|(run, step)| (*run, *step, state.picture()));
                instead.extend(could.filter(|could| !instead.contains(could)));
            }
        }
        instead
    }
}
