//! How a run rolls back a move.

use crate::pair::{Item, Move};
use crate::process::{Step, Why};
use crate::state::{End, Object, TargetRecord};
use crate::turn::Turn;

impl Turn<'_> {
    /// Back to the original state of the source.
    pub(crate) fn undo(&mut self) {
        let lost = self.state.target.lost && self.me().gone;
        self.go(match (lost, self.config.rules.forget_target_first) {
            (true, _) => Step::TakeBack(Item::Host),
            (false, true) => Step::ForgetTarget,
            (false, false) => Step::Remove(Item::Cluster),
        });
    }

    pub(crate) fn rollback_step(&mut self, id: Move, step: Step) {
        let target_first = self.config.rules.forget_target_first;
        match step {
            Step::ForgetTarget => {
                let run = self.run;
                let moved_on = |record: &TargetRecord| !record.known_to[run];
                if self.config.rules.forget_by_version
                    && self.state.target.records[id].as_ref().is_some_and(moved_on)
                {
                    return self.give_back(Why::Stopped);
                }
                self.state.target.records[id] = None;
                self.go(Step::ForgetList);
            }
            Step::ForgetList => {
                self.state.target.lists[id] = None;
                if target_first { self.go(Step::Remove(Item::Cluster)) } else { self.rolled_back(id) }
            }
            Step::Remove(item) => {
                let copy = &mut self.state.target.copies[item];
                *copy = copy.filter(|copy| copy.mark != id);
                self.go(if item == Item::Cluster {
                    Step::Remove(Item::Host)
                } else {
                    Step::TakeBack(Item::Host)
                });
            }
            Step::TakeBack(item) => {
                let mine = |object: &&mut Object| object.paused_by == Some(id);
                if let Some(object) = self.state.source.objects[item].as_mut().filter(mine) {
                    object.paused_by = None;
                }
                self.go(if item == Item::Host { Step::TakeBack(Item::Cluster) } else { Step::ForgetSource });
            }
            Step::ForgetSource => {
                self.state.source.records[id] = None;
                let rest = !target_first && !self.state.target.lost;
                if rest { self.go(Step::ForgetTarget) } else { self.rolled_back(id) }
            }
            _ => {}
        }
    }

    fn rolled_back(&mut self, id: Move) {
        self.state.ended[id] = Some(End::RolledBack);
        self.delete_next_lock();
    }
}
