//! Carries a plan out: phases, concurrency, retry, resume, rollback.
//!
//! Written once against [`pivot_places::Place`]. The state of a move lives on its two sides, so everything here can
//! be killed at any point and taken up by another process.
//!
//! | module | what it does |
//! |---|---|
//! | [`run`] | the way of a move through its phases, and what happens when it fails on the way |
//! | [`hooks`] | what the engine asks plugins |
//! | [`events`] | what it tells the people watching |
//! | [`failure`] | what can go wrong, and how it is told |
//! | [`options`] | what the user decides |

pub mod events;
pub mod failure;
pub mod hooks;
pub mod options;
pub mod run;

mod answers;
mod asking;
mod bounds;
mod carry;
mod checks;
mod commit;
mod copy;
mod discover;
mod dryrun;
mod existing;
mod flow;
mod ground;
mod halt;
mod job;
mod journal;
mod latecomers;
mod lease;
mod live;
mod namespaces;
mod nudge;
mod planning;
mod quiet;
mod records;
mod release;
mod remedies;
mod rights;
mod rollback;
mod settle;
mod sides;
mod stopping;
mod twins;
mod wait;

pub use bounds::violation;
pub use events::{Event, Watcher};
pub use failure::{Exit, Failure, Stop};
pub use halt::{Halt, Halter};
pub use hooks::{HookError, Hooks};
pub use options::{DryRun, Options};
pub use rollback::TakenBack;
pub use sides::Sides;
