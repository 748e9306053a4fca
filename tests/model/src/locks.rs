//! How a run takes its locks, and releases them.

use crate::pair::{Item, Items, Lock, Move, OneOfTwo, Pair};
use crate::process::{Command, Step, Why};
use crate::state::{Holder, Lease, Phase};
use crate::turn::Turn;

impl Turn<'_> {
    pub(crate) fn lock_step(&mut self, step: Step) {
        match step {
            Step::FindMove => self.find_move(),
            Step::Take(lock) => self.take(lock),
            Step::JudgeClaim(lock, claim, free) => self.judge_claim(lock, claim, free),
            Step::WriteClaim(lock) => self.write_claim(lock),
            Step::LookAtOther(lock) => self.look_at_other(lock),
            Step::JudgeOther(lock, claim, free) => self.judge_other(lock, claim, free),
            Step::SetAside(lock) => self.set_aside(lock),
            Step::Watch(lock) => self.watch(lock),
            Step::GiveBack(lock, why) => self.give_one_back(lock, why),
            Step::DeleteLock(lock) => {
                self.delete_lease(lock);
                self.delete_next_lock();
            }
            _ => {}
        }
    }

    /// Reads the records before any lock is held: only to know for which move to request locks.
    fn find_move(&mut self) {
        let own = self.run.own_move();
        let unfinished = |id: &Move| {
            let at_source = !self.state.source.lost && self.state.source.records[*id].is_some();
            let at_target =
                self.state.target.records[*id].is_some_and(|record| record.phase < Phase::Finished);
            self.config.same(own, *id) && (at_source || (at_target && !self.state.target.lost))
        };
        let found = Move::BOTH.into_iter().find(unfinished);
        let over = |id: &Move| self.config.same(own, *id) && self.state.ended[*id].is_some();
        let begins = self.state.runs[self.run].command == Command::Move
            && !Move::BOTH.iter().any(over)
            && !self.state.source.lost;
        match found {
            None if !begins => return self.die(),
            _ => {
                let me = self.me();
                (me.id, me.found) = (found.unwrap_or(own), found.is_some());
            }
        }
        if self.state.source.lost { self.go(Step::ReadRecords) } else { self.take_next() }
    }

    /// The first lock that the scope needs and that is not held; then the check of the other kind.
    fn take_next(&mut self) {
        let process = &self.state.runs[self.run];
        let (scope, taken) = (self.config.scopes[process.id], process.taken);
        let wanted = |lock: &Lock| match lock {
            Lock::All => scope.all,
            Lock::Namespace(item) => !scope.all && scope.first[*item],
        };
        let missing = Lock::EACH.into_iter().find(|lock| wanted(lock) && !taken[*lock]);
        let other = if scope.all { Lock::Namespace(Item::Cluster) } else { Lock::All };
        self.go(match missing {
            Some(lock) => Step::Take(lock),
            None if self.config.rules.look_at_other => Step::LookAtOther(other),
            None => Step::ReadRecords,
        });
    }

    /// Whether something was paused already: a lock that is requested now is for what the second list found.
    fn is_late(&self) -> bool {
        self.state.runs[self.run].base != Pair(None, None)
    }

    fn taken(&mut self, lock: Lock, mine_before: bool) {
        let late = self.is_late();
        let me = self.me();
        me.taken[lock] = true;
        me.mine_before[lock] = mine_before;
        match lock {
            Lock::Namespace(item) if late => self.go(Step::NoteTouched(item)),
            _ => self.take_next(),
        }
    }

    fn take(&mut self, lock: Lock) {
        let run = self.run;
        let (id, stale) = (self.me().id, self.me().stale);
        let Some(lease) = &mut self.state.source.leases[lock] else {
            let lease = Lease { holder: Holder::Run(run), claim: id, known_to: Pair(false, false) };
            self.write_lease(lock, lease);
            return self.taken(lock, false);
        };
        if lease.holder == Holder::Run(run) {
            // An earlier attempt whose answer was lost. The previous claim is no longer known.
            return self.taken(lock, true);
        }
        let same_version = lease.known_to[run] || !self.config.rules.take_watched_version;
        lease.known_to[run] = true;
        let (claim, holder) = (lease.claim, lease.holder);
        let stale = stale == Some(lock) && same_version;
        let free = holder == Holder::Nobody || stale || !self.config.rules.wait_for_fence;
        if !stale && self.me().stale == Some(lock) {
            self.me().stale = None;
        }
        self.go(Step::JudgeClaim(lock, claim, free));
    }

    /// A claim is valid while the source has an unfinished record of its move.
    fn good(&mut self, claim: Move) -> bool {
        let id = self.me().id;
        claim != id && self.config.rules.honor_claims && self.state.source.records[claim].is_some()
    }

    fn judge_claim(&mut self, lock: Lock, claim: Move, free: bool) {
        if !free {
            self.blocked(Why::Held(lock));
        } else if self.good(claim) {
            self.blocked(Why::Claimed);
        } else {
            self.go(Step::WriteClaim(lock));
        }
    }

    fn write_claim(&mut self, lock: Lock) {
        let (run, id) = (self.run, self.me().id);
        match self.state.source.leases[lock] {
            Some(lease) if lease.known_to[run] => {
                self.write_lease(lock, Lease { holder: Holder::Run(run), claim: id, ..lease });
                self.taken(lock, lease.claim == id);
            }
            _ => self.go(Step::Take(lock)),
        }
    }

    fn write_lease(&mut self, lock: Lock, lease: Lease) {
        let mut known_to = Pair(false, false);
        known_to[self.run] = true;
        self.state.source.leases[lock] = Some(Lease { known_to, ..lease });
    }

    fn look_at_other(&mut self, lock: Lock) {
        let (run, stale) = (self.run, self.me().stale);
        let Some(lease) = &mut self.state.source.leases[lock] else {
            return self.looked_at(lock);
        };
        let stale = stale == Some(lock) && lease.known_to[run];
        lease.known_to[run] = true;
        let (claim, holder) = (lease.claim, lease.holder);
        if !stale {
            self.me().stale = self.me().stale.filter(|stale| *stale != lock);
        }
        self.go(Step::JudgeOther(lock, claim, holder == Holder::Nobody || stale));
    }

    fn judge_other(&mut self, lock: Lock, claim: Move, free: bool) {
        if !free {
            self.blocked(Why::Held(lock));
        } else if self.good(claim) {
            self.blocked(Why::Claimed);
        } else if self.me().stale == Some(lock) {
            self.go(Step::SetAside(lock));
        } else {
            self.looked_at(lock);
        }
    }

    /// A stale lock of the other kind is not needed, but its holder has to notice that it lost it.
    fn set_aside(&mut self, lock: Lock) {
        match self.state.source.leases[lock] {
            Some(lease) if lease.known_to[self.run] => {
                self.write_lease(lock, Lease { holder: Holder::Nobody, ..lease });
                self.me().stale = None;
                self.looked_at(lock);
            }
            _ => self.go(Step::LookAtOther(lock)),
        }
    }

    fn looked_at(&mut self, lock: Lock) {
        let more = lock == Lock::Namespace(Item::Cluster);
        self.go(if more { Step::LookAtOther(Lock::Namespace(Item::Host)) } else { Step::ReadRecords });
    }

    /// A lock is not available. Nothing is held while waiting; what was paused already is undone.
    fn blocked(&mut self, why: Why) {
        if self.is_late() { self.undo() } else { self.give_back(why) }
    }

    fn watch(&mut self, lock: Lock) {
        match self.state.source.leases[lock].map(|lease| lease.holder) {
            None | Some(Holder::Nobody) => self.take_next(),
            // It is renewed: a run is active.
            _ => self.die(),
        }
    }

    /// The Lease that was watched may be taken at this version.
    pub(crate) fn expire(&mut self, lock: Lock) {
        let run = self.run;
        if let Some(lease) = &mut self.state.source.leases[lock] {
            lease.known_to[run] = true;
        }
        self.me().stale = Some(lock);
        self.take_next();
    }

    /// Releases all locks, one request for each.
    pub(crate) fn give_back(&mut self, why: Why) {
        if self.state.source.lost {
            return self.die();
        }
        let taken = self.me().taken;
        match (Lock::EACH.into_iter().find(|lock| taken[*lock]), why) {
            (Some(lock), _) => self.go(Step::GiveBack(lock, why)),
            (None, Why::Held(lock)) => self.go(Step::Watch(lock)),
            (None, _) => self.die(),
        }
    }

    fn give_one_back(&mut self, lock: Lock, why: Why) {
        let (run, me) = (self.run, self.state.runs[self.run]);
        // A move whose record may exist keeps its claim.
        let keeps = match why {
            Why::Nothing => false,
            Why::Stopped | Why::Committed | Why::Changed | Why::Forgotten => true,
            Why::Held(_) | Why::Claimed => me.mine_before[lock],
        };
        match self.state.source.leases[lock] {
            Some(lease) if keeps && lease.holder == Holder::Run(run) => {
                self.write_lease(lock, Lease { holder: Holder::Nobody, ..lease });
            }
            _ => self.delete_lease(lock),
        }
        self.me().taken[lock] = false;
        self.give_back(why);
    }

    /// Removes a Lease, if this run still holds it.
    pub(crate) fn delete_lease(&mut self, lock: Lock) {
        let held = |lease: &Lease| lease.holder == Holder::Run(self.run);
        if self.state.source.leases[lock].as_ref().is_some_and(held) {
            self.state.source.leases[lock] = None;
        }
        self.me().taken[lock] = false;
    }

    /// The move has ended: its locks are deleted one by one, then the run is over.
    pub(crate) fn delete_next_lock(&mut self) {
        let taken = self.me().taken;
        match Lock::EACH.into_iter().find(|lock| taken[*lock]) {
            Some(lock) => self.go(Step::DeleteLock(lock)),
            None => self.die(),
        }
    }

    /// Requests the lock of a namespace that is not covered yet. True if there is one.
    pub(crate) fn takes_more(&mut self, wanted: Items) -> bool {
        let covered = self.me().covers();
        let missing = Item::BOTH.into_iter().find(|item| wanted[*item] && !covered[*item]);
        if let Some(item) = missing {
            self.go(Step::Take(Lock::Namespace(item)));
        }
        missing.is_some()
    }
}
