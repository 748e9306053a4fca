//! Whether what was seen of a real run is a behaviour of the model.
//!
//! From outside, both clusters can be seen, and the death of a run; its reads, and what it remembers, can't. So this keeps every state
//! in which the model may be, and takes each change of the picture as far as one action of a run, or of the agent, explains it. What
//! changes nothing that the model knows, as renewing a Lease does, or copying a third object, is no step of it.

use std::fmt;

use stateright::Model;

use crate::linked::rules::Linked;
use crate::linked::state::{Action, Agent, Linking};
use crate::linked::step::Step;
use crate::pair::{Item, Pair};
use crate::state::Phase;

/// What can be seen of both clusters from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The source's objects, if they exist: whether they are active.
    pub originals: Pair<Option<bool>>,
    /// The copies.
    pub copies: Pair<Option<bool>>,
    /// The phase in the source's record.
    pub at_source: Option<Phase>,
    /// The phase in the target's record, and whether it is sealed.
    pub at_target: Option<(Phase, bool)>,
}

impl Linking {
    /// What can be seen of it.
    pub fn picture(&self) -> Picture {
        let original = |item| self.originals[item].map(|original| original.active);
        let copy = |item| self.copies[item].map(|copy| copy.active);
        Picture {
            originals: Pair(original(Item::Cluster), original(Item::Host)),
            copies: Pair(copy(Item::Cluster), copy(Item::Host)),
            at_source: self.at_source,
            // The summary of what has ended says nothing of it.
            at_target: self
                .at_target
                .map(|record| (record.phase, record.sealed && record.phase < Phase::Finished)),
        }
    }
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Both clusters, after a write.
    Both(Picture),
    /// The run died; the next one reaches the other side.
    Died,
    /// The run died, and the cell with it: there is no link.
    Away,
    /// The cell is back, and so is the link.
    Back,
}

/// What was seen is nothing that the model does.
#[derive(Debug)]
pub struct Refused {
    /// How many of those seen it does.
    pub after: usize,
    /// The steps that explain those.
    pub steps: Vec<Step>,
    /// What it doesn't do.
    pub seen: Picture,
    /// What it could do instead, and what would be seen then.
    pub instead: Vec<(Step, Picture)>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "after {} that the model does ({:?}), it doesn't do this:\n  {:?}",
            self.after, self.steps, self.seen
        )?;
        self.instead
            .iter()
            .try_for_each(|(step, picture)| writeln!(f, "it could do {step:?}:\n  {picture:?}"))
    }
}

/// A state in which the model may be, and the visible steps that led there.
type May = (Linking, Vec<Step>);

impl Linked {
    /// The steps that explain what was seen, in order; those that change nothing that can be seen are left out.
    pub fn explain(&self, trace: &[Seen]) -> Result<Vec<Step>, Refused> {
        let mut picture = Linking::BEFORE.picture();
        let mut may = self.unseen(vec![(Linking::BEFORE, Vec::new())]);
        for (after, seen) in trace.iter().enumerate() {
            may = match seen {
                Seen::Both(same) if *same == picture => continue,
                Seen::Both(new) => {
                    picture = *new;
                    let next = || may.iter().flat_map(|may| self.next(may));
                    let explained: Vec<May> =
                        next().filter(|(state, _)| state.picture() == picture).collect();
                    if explained.is_empty() {
                        let steps = may.first().map(|(_, steps)| steps.clone()).unwrap_or_default();
                        return Err(Refused { after, steps, seen: picture, instead: self.instead(&may) });
                    }
                    self.unseen(explained)
                }
                event => {
                    let (dies, calls) = (*event != Seen::Back, *event != Seen::Away);
                    let changed = may.into_iter().map(|(mut state, steps)| {
                        if dies {
                            self.die(&mut state);
                        }
                        if calls {
                            self.call(&mut state);
                        }
                        (state, steps)
                    });
                    self.unseen(changed.collect())
                }
            };
        }
        Ok(may.into_iter().next().map(|(_, steps)| steps).unwrap_or_default())
    }

    /// What a run may do from here, begin or ask, and what the agent may do alone.
    fn next(&self, (state, steps): &May) -> Vec<May> {
        let mut actions = Vec::new();
        self.actions(state, &mut actions);
        let acts = actions.into_iter().filter(|action| {
            matches!(action, Action::Start { .. } | Action::Do(_) | Action::Begin | Action::Alone(_))
        });
        let next = acts.filter_map(|action| {
            let next = self.next_state(state, action)?;
            let mut steps = steps.clone();
            steps.extend(match action {
                _ if next.picture() == state.picture() => None,
                Action::Do(step) => Some(step),
                Action::Alone(Agent::Resume) => Some(Step::Resume(Item::Cluster)),
                Action::Alone(Agent::Settle) => Some(Step::Settle(Item::Host)),
                _ => None,
            });
            Some((next, steps))
        });
        next.collect()
    }

    /// The same states, and those that nobody can tell from them.
    fn unseen(&self, mut may: Vec<May>) -> Vec<May> {
        let mut from = 0;
        while let Some(one) = may.get(from) {
            let picture = one.0.picture();
            let same = self.next(one).into_iter().filter(|(state, _)| state.picture() == picture);
            let new: Vec<May> =
                same.filter(|(state, _)| may.iter().all(|(known, _)| known != state)).collect();
            may.extend(new);
            from += 1;
        }
        may
    }

    fn instead(&self, may: &[May]) -> Vec<(Step, Picture)> {
        let mut instead: Vec<(Step, Picture)> = Vec::new();
        for one in may {
            let before = one.1.len();
            for (state, steps) in self.next(one) {
                let could = steps.get(before).map(|step| (*step, state.picture()));
                instead.extend(could.filter(|could| !instead.contains(could)));
            }
        }
        instead
    }
}
