//! What the checker explores: the configuration, and what can happen.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::pair::{Item, Lock, Run};
use crate::process::{Command, Step};
use crate::rules::Config;
use crate::state::State;

/// The model that the checker explores.
pub struct Handover {
    /// The configuration to explore.
    pub config: Config,
    /// States from which repeating a command is known to finish.
    pub rescue: Rescue,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Somebody starts a run.
    Start(Run, Command),
    /// The run's next request takes effect and is answered.
    Do(Run, Step),
    /// The run's next request takes effect, its answer is lost, and it will be sent again.
    LoseAnswer(Run, Step),
    /// The Lease that a run watches did not change for its duration.
    Expire(Run, Lock),
    /// Somebody uses `--break-lease` on a Lease whose holder is alive.
    TakeOver(Run, Lock),
    /// A run notices that it lost its Lease, or can't renew it, and writes nothing more.
    Fence(Run),
    /// A run dies.
    Crash(Run),
    /// A run is asked to stop: it releases its Leases and leaves its claims.
    Stop(Run),
    /// A user edits an object of the source.
    Edit(Item),
    /// The source is lost for good.
    LoseSource,
    /// The target is lost for good.
    LoseTarget,
}

impl Handover {
    /// The model of a configuration.
    pub fn new(config: Config) -> Self {
        Self { config, rescue: Rescue::default() }
    }

    pub(crate) fn may_start(&self, state: &State, run: Run, command: Command) -> bool {
        let (source, target) = (state.source.lost, state.target.lost);
        !state.runs[run].lives()
            && match command {
                Command::Move => !target,
                Command::Rollback => !source,
                Command::MoveToItself => self.config.to_itself && !source && !target,
            }
    }

    /// Whether a run that took over a Lease still has to wait for the previous holder.
    pub(crate) fn must_wait(&self, state: &State, run: Run) -> bool {
        self.config.rules.take_over_waits && state.runs[run].took_over && state.robbed(run.other())
    }
}

/// States from which a way to a good end is known.
#[derive(Default)]
pub struct Rescue {
    pub(crate) forward: Mutex<BTreeSet<u64>>,
    pub(crate) back: Mutex<BTreeSet<u64>>,
}
