//! How a run takes a move through its phases, or back.

use crate::pair::{Item, Items, Move, OneOfTwo, Pair};
use crate::process::{Command, Step, Why};
use crate::state::{Copied, End, Phase, SourceRecord, TargetRecord};
use crate::turn::Turn;

impl Turn<'_> {
    pub(crate) fn phase_step(&mut self, step: Step) {
        let id = self.me().id;
        match step {
            Step::ReadRecords => self.read_records(id),
            Step::EnterPaused => self.enter_paused(id),
            Step::Pause(item) => {
                if let Some(object) = &mut self.state.source.objects[item] {
                    object.paused_by = object.paused_by.or(Some(id));
                }
                self.pause_after(item);
            }
            Step::List => self.list(),
            Step::NoteTouched(item) => {
                let noted = |record: &SourceRecord| record.touched[item];
                self.write_source(noted, |record| record.touched[item] = true, Step::Pause(item));
            }
            Step::EnterCopied => {
                let entered = |record: &SourceRecord| record.phase >= Phase::Copied;
                self.write_source(
                    entered,
                    |record| record.phase = Phase::Copied,
                    Step::Create(Item::Cluster),
                );
            }
            Step::Create(item) => self.create(item),
            Step::EnterReady => {
                let entered = |record: &SourceRecord| record.phase >= Phase::Ready;
                self.write_source(entered, |record| record.phase = Phase::Ready, Step::Verify);
            }
            Step::Verify if self.config.rules.await_signs && !self.config.has_controllers => {
                self.give_back(Why::Stopped);
            }
            Step::Verify => self.verify(),
            Step::CommitList => {
                self.state.target.lists[id] = Some(self.me().base);
                let first = self.config.rules.target_commits_first;
                self.go(if first { Step::CommitTarget } else { Step::CommitSource });
            }
            Step::CommitTarget => {
                let rules = &self.config.rules;
                let next = match (rules.target_commits_first, rules.resume_after_commit) {
                    (true, true) => Step::CommitSource,
                    _ => Step::Resume(Item::Cluster),
                };
                self.commit_target(id, next);
            }
            Step::CommitSource => {
                let rules = &self.config.rules;
                let next = match (rules.target_commits_first, rules.resume_after_commit) {
                    (true, true) => Step::Resume(Item::Cluster),
                    (true, false) => Step::StillPaused,
                    (false, _) => Step::CommitTarget,
                };
                let entered = |record: &SourceRecord| record.phase >= Phase::Committed;
                self.write_source(entered, |record| record.phase = Phase::Committed, next);
            }
            Step::Resume(item) => {
                self.activate(id, item);
                let uncommitted =
                    self.state.source.records[id].is_some_and(|record| record.phase < Phase::Committed);
                let early = !self.config.rules.resume_after_commit && uncommitted && !self.state.source.lost;
                let gone = self.me().gone;
                let next = match (early, gone) {
                    (true, _) => Step::CommitSource,
                    (_, true) => self.settle_or_close(id),
                    (_, false) => Step::StillPaused,
                };
                self.go(next);
            }
            Step::StillPaused => self.still_paused(id),
            Step::EnterReleased => self.write_target(Phase::Released, Step::EnterReleasedAtSource),
            Step::EnterReleasedAtSource => {
                let entered = |record: &SourceRecord| record.phase >= Phase::Released;
                self.write_source(
                    entered,
                    |record| record.phase = Phase::Released,
                    Step::Release(Item::Host),
                );
            }
            Step::Release(item) => self.release(id, item),
            Step::EnterSettled => self.write_target(Phase::Settled, Step::Settle(Item::Host)),
            Step::LookForLeft => self.look_for_left(id),
            Step::Settle(item) => {
                self.activate(id, item);
                let gone = self.state.source.lost && self.me().gone;
                self.go(if gone { Step::CloseList } else { Step::CloseSource });
            }
            Step::CloseSource => {
                self.state.source.records[id] = None;
                // A list that is part of the record is deleted with it.
                let settled = self.state.target.records[id].is_some_and(|r| r.phase == Phase::Settled);
                self.go(if settled { Step::CloseList } else { Step::CloseTarget });
            }
            Step::CloseList => {
                self.state.target.lists[id] = None;
                self.go(Step::CloseTarget);
            }
            Step::UnlockBesideClose(lock) => {
                self.delete_lease(lock);
                self.go(Step::CloseTarget);
            }
            Step::CloseTarget => {
                self.write_target(Phase::Finished, Step::Idle);
                let finished = |record: TargetRecord| record.phase == Phase::Finished;
                if self.state.target.records[id].is_some_and(finished) {
                    self.state.target.lists[id] = None;
                    self.state.ended[id] = Some(End::Moved);
                    self.delete_next_lock();
                }
            }
            step => self.rollback_step(id, step),
        }
    }

    fn read_records(&mut self, id: Move) {
        let run = self.run;
        let process = *self.me();
        let (source, target) = (&mut self.state.source, &mut self.state.target);
        let at_source = source.records[id].filter(|_| !source.lost);
        if let Some(record) = source.records[id].as_mut().filter(|_| !source.lost) {
            record.known_to[run] = true;
        }
        let at_target = target.records[id].filter(|_| !target.lost);
        if let Some(record) = target.records[id].as_mut().filter(|_| !target.lost) {
            record.known_to[run] = true;
        }
        if process.gone && source.lost {
            return match at_target {
                Some(record) => self.take_up(record.phase),
                None => self.die(),
            };
        }
        let overlaps = |other: &Move| {
            let touched = source.records[*other].map_or(Items::NONE, |record| record.touched);
            *other != id && touched.meets(process.covers())
        };
        if self.config.rules.refuse_overlap && Move::BOTH.iter().any(overlaps) {
            return self.give_back(Why::Claimed);
        }
        if self.takes_more(at_source.map_or(Items::NONE, |record| record.touched)) {
            return;
        }
        let rollback = process.command == Command::Rollback;
        let to_move = self.config.scopes[id].first;
        let to_move =
            Item::BOTH.into_iter().any(|item| to_move[item] && self.state.source.objects[item].is_some());
        match (at_source.map(|record| record.phase), at_target.map(|record| record.phase)) {
            (Some(Phase::Committed | Phase::Released), _) if rollback => self.give_back(Why::Committed),
            (Some(Phase::Committed | Phase::Released), Some(Phase::Released)) if !process.gone => {
                self.go(Step::EnterReleasedAtSource);
            }
            (Some(Phase::Committed | Phase::Released), Some(phase)) => self.take_up(phase),
            (Some(Phase::Committed | Phase::Released), None) => self.give_back(Why::Forgotten),
            (Some(_), _) if rollback => self.undo(),
            (Some(_), _) => self.go(Step::EnterPaused),
            (None, Some(phase)) if phase < Phase::Finished && !rollback => self.take_up(phase),
            (None, Some(phase)) if phase < Phase::Finished => self.give_back(Why::Committed),
            // The move ended between the read and the lock.
            _ if process.found && !rollback => self.give_back(Why::Nothing),
            _ if rollback || !to_move => self.give_back(Why::Nothing),
            _ => self.go(Step::EnterPaused),
        }
    }

    /// Where a committed move continues.
    fn take_up(&mut self, phase: Phase) {
        match phase {
            Phase::Finished => self.delete_next_lock(),
            Phase::Settled => self.go(Step::Settle(Item::Host)),
            // The source's record is deleted when nothing is left to release.
            Phase::Released if !self.me().gone => self.go(Step::LookForLeft),
            _ => self.go(Step::Resume(Item::Cluster)),
        }
    }

    fn enter_paused(&mut self, id: Move) {
        let mut known_to = Pair(false, false);
        known_to[self.run] = true;
        let touched = self.config.scopes[id].first;
        let record = &mut self.state.source.records[id];
        match record {
            Some(record) => record.known_to[self.run] = true,
            None => *record = Some(SourceRecord { phase: Phase::Paused, touched, known_to }),
        }
        self.pause_next(Item::BOTH.into_iter());
    }

    fn pause_after(&mut self, item: Item) {
        self.pause_next(Item::BOTH.into_iter().filter(move |next| *next > item));
    }

    fn pause_next(&mut self, mut items: impl Iterator<Item = Item>) {
        let process = self.state.runs[self.run];
        let wanted = self.config.scopes[process.id].items();
        let next = items.find(|item| wanted[*item] && process.covers()[*item]);
        self.go(next.map_or(Step::List, Step::Pause));
    }

    /// The second list. A namespace that it finds is locked before it is recorded, and recorded before it is changed.
    fn list(&mut self) {
        let id = self.me().id;
        let wanted = self.config.scopes[id].items();
        let content = |item: Item| self.state.source.objects[item].map(|object| object.content);
        let read = |item: Item| content(item).filter(|_| wanted[item]);
        let base = Pair(read(Item::Cluster), read(Item::Host));
        self.me().base = base;
        if !self.takes_more(Pair(base.0.is_some(), base.1.is_some())) {
            self.go(Step::EnterCopied);
        }
    }

    /// A compare-and-swap of the source's record; done already counts as done.
    fn write_source(
        &mut self,
        done: impl Fn(&SourceRecord) -> bool,
        write: impl Fn(&mut SourceRecord),
        next: Step,
    ) {
        let (run, id) = (self.run, self.me().id);
        match &mut self.state.source.records[id] {
            Some(record) if done(record) => record.known_to[run] = true,
            Some(record) if record.known_to[run] => {
                write(record);
                record.known_to = Pair(false, false);
                record.known_to[run] = true;
            }
            // Another run wrote it: this run is not alone, and stops.
            _ => return self.give_back(Why::Stopped),
        }
        self.go(next);
    }

    fn write_target(&mut self, phase: Phase, next: Step) {
        let (run, id) = (self.run, self.me().id);
        match &mut self.state.target.records[id] {
            Some(record) if record.phase >= phase => record.known_to[run] = true,
            Some(record) if record.known_to[run] => {
                *record = TargetRecord { phase, known_to: Pair(false, false) };
                record.known_to[run] = true;
            }
            _ => return self.give_back(Why::Stopped),
        }
        self.go(next);
    }

    fn commit_target(&mut self, id: Move, next: Step) {
        let mut known_to = Pair(false, false);
        known_to[self.run] = true;
        match &mut self.state.target.records[id] {
            Some(_) => return self.write_target(Phase::Live, next),
            none => *none = Some(TargetRecord { phase: Phase::Live, known_to }),
        }
        self.go(next);
    }

    fn create(&mut self, item: Item) {
        let me = *self.me();
        let copy = &mut self.state.target.copies[item];
        match (me.base[item], &copy) {
            // Someone else's object of that name: never overwritten.
            (Some(_), Some(there)) if there.mark != me.id => return self.give_back(Why::Stopped),
            (Some(content), Some(there)) => *copy = Some(Copied { content, ..*there }),
            (Some(content), None) => *copy = Some(Copied { active: false, mark: me.id, content }),
            (None, _) => {}
        }
        self.go(match item {
            Item::Cluster => Step::Create(Item::Host),
            Item::Host if self.config.rules.await_signs => Step::EnterReady,
            Item::Host => Step::Verify,
        });
    }

    /// Compares once more: changed objects are listed and copied again.
    fn verify(&mut self) {
        let me = *self.me();
        let as_listed = |item: Item| match (self.state.source.objects[item], me.base[item]) {
            (Some(object), Some(content)) => object.content == content && object.paused_by.is_some(),
            (object, None) => object.is_none() || !self.config.scopes[me.id].items()[item],
            (None, Some(_)) => false,
        };
        let same = Item::BOTH.into_iter().all(as_listed);
        if same { self.go(Step::CommitList) } else { self.pause_next(Item::BOTH.into_iter()) }
    }

    fn activate(&mut self, id: Move, item: Item) {
        if let Some(copy) = self.state.target.copies[item].as_mut().filter(|copy| copy.mark == id) {
            copy.active = true;
        }
    }

    /// Before anything is deleted: the source is still paused, and the copies are there.
    fn still_paused(&mut self, id: Move) {
        let list = self.state.target.lists[id].unwrap_or_default();
        let fine = |item: Item| {
            let paused = self.state.source.objects[item].is_none_or(|object| object.paused_by.is_some());
            let stands = self.state.target.copies[item].is_some();
            list[item].is_none() || (paused && stands)
        };
        let fine = Item::BOTH.into_iter().all(fine);
        if fine { self.go(Step::EnterReleased) } else { self.give_back(Why::Stopped) }
    }

    fn release(&mut self, id: Move, item: Item) {
        let listed = self.state.target.lists[id].unwrap_or_default()[item];
        let object = &mut self.state.source.objects[item];
        if let (Some(content), Some(there)) = (listed, *object) {
            if there.content != content && self.config.rules.delete_by_version {
                return self.give_back(Why::Changed);
            }
            *object = None;
        }
        let next = self.settle_or_close(id);
        self.go(if item == Item::Host { Step::Release(Item::Cluster) } else { next });
    }

    /// A host is held, and settles. If nothing settles, that phase isn't recorded.
    fn settle_or_close(&mut self, id: Move) -> Step {
        let settles = self.state.target.lists[id].is_some_and(|list| list[Item::Host].is_some());
        match (settles, self.me().gone && self.state.source.lost) {
            (true, _) => Step::EnterSettled,
            (false, true) => Step::CloseTarget,
            (false, false) => Step::CloseSource,
        }
    }

    /// Without a record in the source nothing is deleted there.
    fn look_for_left(&mut self, id: Move) {
        let list = self.state.target.lists[id].unwrap_or_default();
        let left = |item: Item| list[item].is_some() && self.state.source.objects[item].is_some();
        if Item::BOTH.into_iter().any(left) {
            return self.give_back(Why::Stopped);
        }
        let next = self.settle_or_close(id);
        self.go(next);
    }
}
