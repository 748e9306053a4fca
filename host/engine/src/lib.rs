//! Carries a plan out: phases, concurrency, retry, resume, rollback.
//!
//! Written once against [`pivot_places::Place`]. The state of a move lives on its two sides, so everything here can
//! be killed at any point and resumed by another process.
//!
//! | room | what is in it |
//! |---|---|
//! | [`run`] | the commands: plan, move, resume, roll back, status |
//! | `state` | what outlives a run: locks, records, the journal that writes them in the order that safety needs |
//! | `status` | where moves are, of both sides or of the one that is given or answers; `leftover`: whether the source may be deleted |
//! | `discovery` | which kinds there are, reading the source, from there to a plan |
//! | `checks` | everything that can say no before anything is touched |
//! | `phases` | what a move does, a file per step; `sequence.rs` is the one place that knows their order |
//! | `plugins` | what the engine asks plugins, what it answers them, the bounds of their patches |
//! | `requests` | one side with retries, concurrency, waiting by watch, stopping |
//! | `outcome` | what can go wrong, what state both sides are in then, what a run did |
//! | [`events`] | what the engine reports while it works, as values |
//! | [`options`] | what the user decides |

pub mod events;
pub mod options;
pub mod run;

mod base;
mod checks;
mod discovery;
mod job;
mod leftover;
mod outcome;
mod phases;
mod plugins;
mod requests;
mod setup;
mod state;
mod status;

pub use events::{Awaited, Danger, Event, LeaseState, Summary, Verb, Watcher};
pub use leftover::Leftover;
pub use options::{DryRun, Options};
pub use outcome::failure::{Exit, Failure, Held, Lines};
pub use outcome::report::{LockStatus, Report, Status};
pub use outcome::stop::{Next, Stop};
pub use outcome::tally::Counts;
pub use outcome::under_way::MoveStatus;
pub use phases::rollback::TakenBack;
pub use plugins::bounds::violation;
pub use plugins::hooks::{self, HookError, Hooks};
pub use plugins::loading::Plugins;
pub use requests::halt::{Halt, Halter};
pub use requests::side::Sides;
pub use setup::Setup;
