//! The agent beside the child, the network, and people.

use crate::linked::rules::{Linked, Way};
use crate::linked::state::{Agent, Gone, Link, Linking, Run, TargetRecord};
use crate::pair::{Item, OneOfTwo};
use crate::state::{End, Phase};

impl Linked {
    /// Whether the agent may begin to finish alone.
    pub(crate) fn may_begin(&self, state: &Linking) -> bool {
        let sealed = |record: TargetRecord| record.sealed || !self.rules.finishes_sealed_only;
        let away = state.link == Link::Away || !self.rules.finishes_when_away;
        self.seals
            && self.way == Way::Into
            && state.agent == Agent::Answers
            && away
            && state.under_way().is_some_and(sealed)
            && !state.runs()
    }

    /// The agent begins to finish alone.
    pub(crate) fn begin(&self, state: &mut Linking) {
        state.past.hasty |= state.link == Link::Up;
        self.end_old_requests(state);
        state.agent = Agent::Resume;
    }

    /// The next of the two things it does.
    pub(crate) fn alone(&self, state: &mut Linking) {
        state.agent = match state.agent {
            Agent::Resume => {
                state.resume_copy(Item::Cluster);
                if self.rules.settles_alone { Agent::Settle } else { Agent::Answers }
            }
            Agent::Settle => {
                state.resume_copy(Item::Host);
                state.past.alone = true;
                if let Some(record) = state.at_target.as_mut().filter(|_| !self.rules.leaves_open) {
                    record.phase = Phase::Finished;
                }
                Agent::Answers
            }
            Agent::Answers => Agent::Answers,
        };
    }

    /// The agent calls again, and is answered.
    pub(crate) fn call(&self, state: &mut Linking) {
        self.end_old_requests(state);
        state.link = Link::Up;
    }

    /// The agent's end of a link, or the agent itself, is gone: so is what it was asked.
    fn end_old_requests(&self, state: &mut Linking) {
        if self.rules.ends_old_requests {
            state.late = None;
        }
    }

    /// Whether somebody beside the one side may take the other for lost, and has something to decide.
    pub(crate) fn may_give_up(&self, state: &Linking, gone: Gone) -> bool {
        let undecided = match gone {
            Gone::Source => state.under_way().is_some_and(|record| !record.sealed),
            Gone::Target => state.at_source.is_some_and(|phase| phase < Phase::Committed),
        };
        let in_child = self.in_child(gone);
        let there = if in_child { state.agent == Agent::Answers } else { !state.parent_gone };
        state.link == Link::Away && there && undecided && !state.past.decided
    }

    /// Whether those who give a side up are in the child.
    fn in_child(&self, gone: Gone) -> bool {
        (gone == Gone::Source) == (self.way == Way::Into)
    }

    /// `resume --without-source` beside the copies, or `rollback --without-target` beside the originals: to its end, as nobody disturbs it.
    pub(crate) fn give_up(&self, state: &mut Linking, gone: Gone) {
        if self.in_child(gone) {
            self.end_old_requests(state);
        }
        state.past.decided = true;
        match gone {
            Gone::Source => {
                Item::BOTH.into_iter().for_each(|item| state.resume_copy(item));
                state.at_target.iter_mut().for_each(|record| record.phase = Phase::Finished);
                state.ended = Some(End::Moved);
            }
            Gone::Target => {
                Item::BOTH.into_iter().for_each(|item| state.set_original(item, true));
                state.at_source = None;
                state.ended = Some(End::RolledBack);
            }
        }
    }

    /// The cell is gone, and with it the run and its end of the link.
    pub(crate) fn die(&self, state: &mut Linking) {
        state.run = Run::IDLE;
        state.link = Link::Away;
    }
}
