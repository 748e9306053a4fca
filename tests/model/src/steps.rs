//! Who may do what next, and the result.

use stateright::{Model, Property};

use crate::handover::{Action, Handover};
use crate::pair::{Item, Lock, OneOfTwo, Pair, PerLock, Run};
use crate::process::{Command, Process, Step, Why};
use crate::state::{Faults, Holder, Object, Phase, Source, State, Target};
use crate::turn::Turn;

impl Model for Handover {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let object = Some(Object { paused_by: None, content: 0 });
        vec![State {
            source: Source {
                lost: false,
                objects: Pair(object, object),
                leases: PerLock::default(),
                records: Pair(None, None),
            },
            target: Target {
                lost: false,
                copies: Pair(None, None),
                records: Pair(None, None),
                lists: Pair(None, None),
            },
            runs: Pair(Process::IDLE, Process::IDLE),
            latest: Pair(0, 0),
            ended: Pair(None, None),
            left: self.config.faults,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let Faults { crashes, answers, edits, source, target, take_overs } = state.left;
        for run in Run::BOTH {
            let process = &state.runs[run];
            let step = process.step;
            if step == Step::Idle {
                let commands = [Command::Move, Command::Rollback, Command::MoveToItself];
                let allowed = commands.into_iter().filter(|command| self.may_start(state, run, *command));
                actions.extend(allowed.map(|command| Action::Start(run, command)));
                continue;
            }
            let waits = self.must_wait(state, run);
            let watched = match step {
                Step::Watch(lock) => state.source.leases[lock].map(|lease| (lock, lease.holder)),
                _ => None,
            };
            match watched {
                // A run that lost this Lease to the dead run noticed that long before the dead run's time is over, too.
                Some((_, Holder::Dead)) if state.robbed(run.other()) => {}
                Some((lock, Holder::Dead)) if !state.source.lost => actions.push(Action::Expire(run, lock)),
                _ if waits => {}
                _ => actions.push(Action::Do(run, step)),
            }
            if step == Step::CloseTarget && !waits {
                let held = Lock::EACH.into_iter().filter(|lock| process.taken[*lock]);
                actions.extend(held.map(|lock| Action::Do(run, Step::UnlockBesideClose(lock))));
            }
            if let Some((lock, Holder::Run(_))) = watched
                && take_overs > 0
            {
                actions.push(Action::TakeOver(run, lock));
            }
            if answers > 0 && step.writes() && !waits {
                actions.push(Action::LoseAnswer(run, step));
            }
            let held = |lock: &Lock| {
                state.source.leases[*lock].is_some_and(|lease| lease.holder == Holder::Run(run))
            };
            if state.robbed(run) && !step.gives_back() || state.source.lost && !process.gone {
                actions.push(Action::Fence(run));
            }
            if crashes > 0 {
                actions.push(Action::Crash(run));
                if Lock::EACH.iter().any(held) && !step.gives_back() && !waits {
                    actions.push(Action::Stop(run));
                }
            }
        }
        for item in Item::BOTH {
            let committed = state.source.records.0.iter().chain(&state.source.records.1);
            let committed = committed.into_iter().any(|record| record.phase >= Phase::Committed);
            if edits > 0 && state.source.objects[item].is_some() && !state.source.lost && !committed {
                actions.push(Action::Edit(item));
            }
        }
        if source && !state.source.lost && !state.target.lost {
            actions.push(Action::LoseSource);
        }
        if target && !state.source.lost && !state.target.lost {
            actions.push(Action::LoseTarget);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut turn = Turn { config: &self.config, state: last.clone(), run: Run::R1 };
        match action {
            Action::Start(run, command) => turn.by(run).start(command),
            Action::Do(run, step) => {
                turn.by(run).go(step);
                turn.act();
            }
            Action::LoseAnswer(run, _) => {
                turn.by(run).act();
                turn.lose_answer(last);
                turn.state.left.answers -= 1;
            }
            Action::Expire(run, lock) => turn.by(run).expire(lock),
            Action::TakeOver(run, lock) => {
                turn.by(run).expire(lock);
                turn.me().took_over = true;
                turn.state.left.take_overs -= 1;
            }
            Action::Fence(run) => turn.by(run).die(),
            Action::Crash(run) => {
                turn.by(run).die();
                turn.state.left.crashes -= 1;
            }
            Action::Stop(run) => {
                turn.by(run).give_back(Why::Stopped);
                turn.state.left.crashes -= 1;
            }
            Action::Edit(item) => {
                if let Some(object) = &mut turn.state.source.objects[item] {
                    object.content += 1;
                    turn.state.latest[item] = object.content;
                }
                turn.state.left.edits -= 1;
            }
            Action::LoseSource => turn.state.source.lost = true,
            Action::LoseTarget => turn.state.target.lost = true,
        }
        turn.state.forget();
        (turn.state != *last).then_some(turn.state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        crate::properties::all(self.config.shows)
    }
}
