//! Executes a plan: phases, concurrency, retry, resume, rollback.
//!
//! Everything is written once, against [`pivot_places::Place`]. The state of a move is kept on its two sides, so the process can
//! be killed at any point and another one can resume the move.
//!
//! | room | what is in it |
//! |---|---|
//! | [`run`] | the commands: plan, move, resume, roll back, status |
//! | `state` | what outlives a run: locks, records, the journal that writes them in the order that safety needs |
//! | `status` | the state of moves, from both sides or the only one given or reachable; `leftover`: may the source be deleted |
//! | [`mod@describe`] | reading one Cluster, to show it |
//! | `discovery` | which kinds there are, reading the source, from there to a plan |
//! | `checks` | every check that can refuse the move before anything is touched |
//! | `phases` | the steps of a move, a file each; only `sequence.rs` knows their order |
//! | `plugins` | hook calls to plugins, services for plugins, the bounds of their patches |
//! | `requests` | one side with retries, concurrency, waiting by watch, stopping |
//! | `outcome` | what can go wrong, the state of both sides afterwards, what a run did |
//! | [`events`] | what the engine reports while it works, as values |
//! | [`options`], `command` | what the user decides, for all commands and for one of them |

pub mod describe;
pub mod events;
pub mod options;
pub mod run;

mod checks;
mod clock;
mod command;
mod copy_body;
mod discovery;
mod job;
mod leftover;
mod outcome;
mod phases;
mod plugins;
mod requests;
mod setup;
mod snapshot;
mod state;
mod status;

pub use checks::approved::end_of;
pub use checks::rights::Rights;
pub use clock::{Clock, Moment};
pub use command::{Resume, Rollback};
pub use events::{Awaited, Event, LeaseState, NoWatcher, Summary, Verb, Watcher, accepted_in_words};
pub use leftover::Leftover;
pub use options::{DryRun, Options};
pub use outcome::advice::{Files, KnownSides, OneRecord, Situation, Why};
pub use outcome::change_counts::Counts;
pub use outcome::failure::{Exit, Failure, Held, Lines};
pub use outcome::one_sided::OneSidedMove;
pub use outcome::report::{LeaseStatus, Report, Status, WaitingCopies};
pub use outcome::stop::{Next, Stop};
pub use outcome::under_way::MoveStatus;
pub use phases::rollback::RolledBack;
pub use plugins::bounds::violation;
pub use plugins::hooks::{self, HookError, Hooks};
pub use plugins::loading::Plugins;
pub use requests::halt::{Halt, Halter};
pub use requests::parking::{Parking, Scheduler};
pub use requests::side::Sides;
pub use setup::Setup;
