//! A run of the engine in the cell: what it asks next, and what that does.

use crate::linked::rules::{LinkRules, Linked};
use crate::linked::state::{Agent, Copy, Linking, Run, TargetRecord};
use crate::linked::step::Step;
use crate::pair::{Item, Items, OneOfTwo, Pair};
use crate::state::{End, Phase};

impl Linked {
    /// The run's request takes effect and is answered.
    pub(crate) fn perform(&self, state: &mut Linking, step: Step) {
        let run = Run { step, ..state.run };
        state.run = self.asked(state, run);
    }

    /// A request takes effect whose run is gone, or doesn't know that it is still under way.
    pub(crate) fn perform_late(&self, state: &mut Linking) {
        if let Some(run) = state.late.take() {
            self.asked(state, run);
        }
    }

    /// What a run does that is about to ask this: the run as it is once it has the answer.
    fn asked(&self, state: &mut Linking, run: Run) -> Run {
        if run.step.is_far(self.way) && !run.step.reads() && state.agent != Agent::Answers {
            state.past.together = true;
        }
        let mut turn = Turn { seals: self.seals, rules: &self.rules, state, run };
        turn.act().map_or(Run::IDLE, |next| turn.next(next))
    }
}

/// One request of one run.
struct Turn<'a> {
    seals: bool,
    rules: &'a LinkRules,
    state: &'a mut Linking,
    run: Run,
}

impl Turn<'_> {
    /// The run before the request `step`, or before the next object of those that the last one was about.
    fn next(&mut self, step: Step) -> Run {
        let same = step.about(Item::Cluster) == self.run.step.about(Item::Cluster);
        let todo = if same { self.run.todo } else { Items::ALL };
        let begun = Run { step: step.about(Item::Cluster), todo, ..self.run };
        if step == Step::Idle { Run::IDLE } else { begun }
    }

    /// One object less; whether that was the last.
    fn done(&mut self, item: Item) -> bool {
        self.run.todo[item] = false;
        self.run.todo == Items::NONE
    }

    /// What the request does, and the next one; `None` if the run stops.
    fn act(&mut self) -> Option<Step> {
        let step = self.run.step;
        let next = match step {
            Step::Idle => Step::Idle,
            Step::ReadRecords => return self.read_records(),
            Step::LookAtCopies => return self.look_at_copies(),
            Step::EnterPaused => {
                self.write_source(Phase::Paused)?;
                Step::Pause(Item::Cluster)
            }
            Step::Pause(item) => {
                self.state.set_original(item, false);
                if self.done(item) { Step::List } else { step }
            }
            Step::List => {
                let content = |item| self.state.originals[item].map_or(0, |original| original.content);
                self.run.base = Pair(content(Item::Cluster), content(Item::Host));
                Step::EnterCopied
            }
            Step::EnterCopied => {
                self.write_source(Phase::Copied)?;
                Step::Create(Item::Cluster)
            }
            Step::Create(item) => {
                let active = self.state.copies[item].is_some_and(|copy| copy.active);
                self.state.copies[item] = Some(Copy { active, content: self.run.base[item] });
                if self.done(item) { Step::Verify } else { step }
            }
            // What changed is listed and copied again.
            Step::Verify if !self.is_as_copied() => Step::Pause(Item::Cluster),
            Step::Verify => self.first_of_commit(),
            Step::CommitTarget => {
                let sealed = self.seals && !self.rules.seals_after_commit;
                self.write_target(TargetRecord { phase: Phase::Live, sealed, list: self.run.base })?;
                if self.rules.target_commits_first { Step::CommitSource } else { self.after_commit() }
            }
            Step::CommitSource => {
                self.write_source(Phase::Committed)?;
                if self.rules.target_commits_first { self.after_commit() } else { Step::CommitTarget }
            }
            Step::Seal => {
                let record = self.run.at_target?;
                self.write_target(TargetRecord { sealed: true, ..record })?;
                if self.rules.seals_before_resuming { Step::Resume(Item::Cluster) } else { Step::StillPaused }
            }
            Step::Resume(item) => {
                self.state.resume_copy(item);
                let late = self.seals && !self.rules.seals_before_resuming;
                if late { Step::Seal } else { Step::StillPaused }
            }
            Step::StillPaused => return self.still_paused().then_some(Step::EnterReleased),
            Step::EnterReleased => {
                self.advance(Phase::Released)?;
                self.after_released()
            }
            Step::EnterReleasedAtSource => {
                self.write_source(Phase::Released)?;
                Step::Release(Item::Cluster)
            }
            Step::Release(item) => {
                self.release(item)?;
                if self.done(item) { Step::EnterSettled } else { step }
            }
            Step::LookForLeft => {
                let nothing = self.state.originals == Pair(None, None);
                return nothing.then_some(Step::EnterSettled);
            }
            Step::EnterSettled => {
                self.advance(Phase::Settled)?;
                Step::Settle(Item::Host)
            }
            Step::Settle(item) => {
                self.state.resume_copy(item);
                Step::CloseSource
            }
            Step::CloseSource => {
                self.forget_source()?;
                Step::CloseTarget
            }
            Step::CloseTarget => {
                self.advance(Phase::Finished)?;
                self.state.ended = Some(End::Moved);
                Step::Idle
            }
            Step::ForgetTarget => {
                let moved_on = self.state.at_target != self.run.at_target;
                if moved_on && self.rules.compares_records {
                    return None;
                }
                self.state.at_target = None;
                Step::Remove(Item::Cluster)
            }
            Step::Remove(item) => {
                self.state.past.tore_down |= self.state.copies[item].is_some_and(|copy| copy.active);
                self.state.copies[item] = None;
                if self.done(item) { Step::TakeBack(Item::Cluster) } else { step }
            }
            Step::TakeBack(item) => {
                self.state.set_original(item, true);
                if self.done(item) { Step::ForgetSource } else { step }
            }
            Step::ForgetSource => {
                self.forget_source()?;
                self.state.ended = Some(End::RolledBack);
                Step::Idle
            }
        };
        Some(next)
    }

    fn first_of_commit(&self) -> Step {
        if self.rules.target_commits_first { Step::CommitTarget } else { Step::CommitSource }
    }

    fn after_commit(&mut self) -> Step {
        self.run.base = Pair(0, 0);
        match self.run.at_target {
            Some(TargetRecord { sealed: false, .. }) if self.seals && self.rules.seals_before_resuming => {
                Step::Seal
            }
            _ => Step::Resume(Item::Cluster),
        }
    }

    /// Nothing is deleted before the source's record says Released, too.
    fn after_released(&self) -> Step {
        match self.run.at_source {
            Some(phase) if phase < Phase::Released => Step::EnterReleasedAtSource,
            _ => Step::Release(Item::Cluster),
        }
    }

    /// Where the move is continued, if it is.
    fn read_records(&mut self) -> Option<Step> {
        (self.run.at_source, self.run.at_target) = (self.state.at_source, self.state.at_target);
        let at_target = self.state.under_way();
        match (self.state.at_source, at_target) {
            (Some(Phase::Committed | Phase::Released), _) if self.run.back => None,
            (Some(Phase::Committed | Phase::Released), Some(record)) => Some(match record.phase {
                Phase::Released => self.after_released(),
                Phase::Settled => Step::Settle(Item::Host),
                _ => self.after_commit(),
            }),
            // It was finished without this source.
            (Some(Phase::Committed | Phase::Released), None) => None,
            (Some(Phase::Copied), _) => Some(Step::LookAtCopies),
            (Some(_), _) if self.run.back => Some(Step::TakeBack(Item::Cluster)),
            (Some(_), _) => Some(Step::EnterPaused),
            (None, Some(record)) if record.phase <= Phase::Live => {
                match (self.run.back, self.rules.refuses_orphans) {
                    (true, _) => Some(Step::LookAtCopies),
                    (false, true) => None,
                    (false, false) => Some(self.after_commit()),
                }
            }
            // The source's record goes last of all that the source has.
            (None, Some(record)) if !self.run.back => match record.phase {
                Phase::Settled => Some(Step::Settle(Item::Host)),
                _ => Some(Step::LookForLeft),
            },
            (None, None) if !self.run.back && self.state.ended.is_none() => Some(Step::EnterPaused),
            (None, _) => None,
        }
    }

    fn look_at_copies(&self) -> Option<Step> {
        let running = Item::BOTH.iter().any(|item| self.state.copies[*item].is_some_and(|copy| copy.active));
        match (running && self.rules.looks_at_copies, self.run.back) {
            (true, _) => None,
            (false, true) => Some(Step::ForgetTarget),
            (false, false) => Some(Step::EnterPaused),
        }
    }

    fn is_as_copied(&self) -> bool {
        Item::BOTH.into_iter().all(|item| {
            let there = self.state.copies[item].map(|copy| copy.content);
            self.state.originals[item]
                .is_some_and(|original| !original.active && Some(original.content) == there)
        })
    }

    /// Before anything is deleted.
    fn still_paused(&self) -> bool {
        Item::BOTH.into_iter().all(|item| {
            let paused = self.state.originals[item].is_none_or(|original| !original.active);
            paused && self.state.copies[item].is_some()
        })
    }

    fn release(&mut self, item: Item) -> Option<()> {
        let listed = self.run.at_target?.list[item];
        if let Some(original) = self.state.originals[item] {
            if original.content != listed && self.rules.deletes_as_copied {
                return None;
            }
            self.state.past.lost |=
                self.state.copies[item].is_none_or(|copy| copy.content != original.content);
        }
        self.state.originals[item] = None;
        Some(())
    }

    /// A compare-and-swap of the source's record, which never goes back to an earlier phase; done already counts as done.
    fn write_source(&mut self, phase: Phase) -> Option<()> {
        let wanted = Some(phase).max(self.run.at_source);
        if self.state.at_source != wanted {
            if self.state.at_source != self.run.at_source && self.rules.compares_records {
                return None;
            }
            self.state.at_source = wanted;
        }
        self.run.at_source = wanted;
        Some(())
    }

    fn forget_source(&mut self) -> Option<()> {
        let there = self.state.at_source;
        if there.is_some() && there != self.run.at_source && self.rules.compares_records {
            return None;
        }
        self.state.at_source = None;
        Some(())
    }

    /// The same of the target's.
    fn write_target(&mut self, wanted: TargetRecord) -> Option<()> {
        let wanted = Some(wanted);
        if self.state.at_target != wanted {
            if self.state.at_target != self.run.at_target && self.rules.compares_records {
                return None;
            }
            self.state.at_target = wanted;
        }
        self.run.at_target = wanted;
        Some(())
    }

    fn advance(&mut self, phase: Phase) -> Option<()> {
        let record = self.run.at_target?;
        self.write_target(TargetRecord { phase: phase.max(record.phase), ..record })
    }
}
