//! One action of one run: how it changes the state.

use crate::pair::{Lock, Move, OneOfTwo, Run};
use crate::process::{Command, Process, Step, Why};
use crate::rules::Config;
use crate::state::{Holder, State};

/// One action of one run, being carried out.
pub(crate) struct Turn<'a> {
    pub(crate) config: &'a Config,
    pub(crate) state: State,
    pub(crate) run: Run,
}

impl Turn<'_> {
    pub(crate) fn by(&mut self, run: Run) -> &mut Self {
        self.run = run;
        self
    }

    pub(crate) fn me(&mut self) -> &mut Process {
        &mut self.state.runs[self.run]
    }

    pub(crate) fn go(&mut self, step: Step) {
        self.me().step = step;
    }

    pub(crate) fn start(&mut self, command: Command) {
        let step = if command == Command::MoveToItself { Step::Identify } else { Step::FindMove };
        let gone = self.state.source.lost || self.state.target.lost;
        *self.me() = Process { command, step, gone, ..Process::IDLE };
    }

    /// The run is over. Anything it held without releasing it stays unchanged from here on.
    pub(crate) fn die(&mut self) {
        let run = self.run;
        for lock in Lock::EACH {
            if let Some(lease) = &mut self.state.source.leases[lock] {
                lease.known_to[run] = false;
                if lease.holder == Holder::Run(run) {
                    lease.holder = Holder::Dead;
                }
            }
        }
        for record in [&mut self.state.source.records.0, &mut self.state.source.records.1] {
            record.iter_mut().for_each(|record| record.known_to[run] = false);
        }
        for record in [&mut self.state.target.records.0, &mut self.state.target.records.1] {
            record.iter_mut().for_each(|record| record.known_to[run] = false);
        }
        *self.me() = Process::IDLE;
    }

    /// The request's effect stays; what the run learned from its answer does not.
    pub(crate) fn lose_answer(&mut self, before: &State) {
        let run = self.run;
        self.state.runs[run] = before.runs[run];
        for lock in Lock::EACH {
            let (now, then) = (&mut self.state.source.leases[lock], &before.source.leases[lock]);
            if let Some(lease) = now.as_mut().filter(|lease| Some(**lease) != *then) {
                lease.known_to[run] = false;
            }
        }
        for id in Move::BOTH {
            let (now, then) = (&mut self.state.source.records[id], &before.source.records[id]);
            if let Some(record) = now.as_mut().filter(|record| Some(**record) != *then) {
                record.known_to[run] = false;
            }
            let (now, then) = (&mut self.state.target.records[id], &before.target.records[id]);
            if let Some(record) = now.as_mut().filter(|record| Some(**record) != *then) {
                record.known_to[run] = false;
            }
        }
    }

    pub(crate) fn act(&mut self) {
        let process = self.state.runs[self.run];
        let (source, target) = process.step.needs();
        let told = process.gone;
        if self.state.source.lost
            && (source || matches!(process.step, Step::FindMove | Step::ReadRecords) && !told)
        {
            return self.die();
        }
        if self.state.target.lost && target && !told {
            return self.give_back(Why::Stopped);
        }
        match process.step {
            Step::Idle => {}
            Step::Identify if self.config.rules.tell_apart => self.die(),
            Step::Identify => self.go(Step::FindMove),
            _ if process.command == Command::MoveToItself => self.die(),
            Step::FindMove
            | Step::Take(_)
            | Step::JudgeClaim(..)
            | Step::WriteClaim(_)
            | Step::LookAtOther(_)
            | Step::JudgeOther(..)
            | Step::SetAside(_)
            | Step::Watch(_)
            | Step::GiveBack(..)
            | Step::DeleteLock(_) => self.lock_step(process.step),
            step => self.phase_step(step),
        }
    }
}
