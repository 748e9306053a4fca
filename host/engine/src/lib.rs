//! Executes a plan: phases, concurrency, retry, resume, rollback.
//!
//! Everything is written once, against [`pivot_places::Place`]. The state of a move is kept on its two sides, so the process can
//! be killed at any point and another one can resume the move.
//!
//! The folders are layers: a file imports from its own layer and from those below it.
//!
//! | layer | what is in it |
//! |---|---|
//! | `drive` | the commands ([`run`], `status`, [`mod@describe`], [`diagnosis`]), the order of the phases, resume, rollback, and the next commands |
//! | `act` | the phases of a move, a file each |
//! | `check` | every check that can refuse, before the first change and after it |
//! | `read` | discovery, readings of both sides, planning with plugins |
//! | `base` | requests, plugins, leases, records, [`events`], [`options`], failures, the clock |

mod act;
mod base;
mod check;
mod drive;
mod read;

pub use base::clock::{Clock, Moment};
pub use base::command::{Resume, Rollback};
pub use base::events::{
    Awaited, Event, LeaseState, NoWatcher, Summary, Verb, Watcher, describe_accepted_risks,
};
pub use base::options::{DryRun, Options};
pub use base::outcome::change_counts::Counts;
pub use base::outcome::failure::{Exit, Failure, HeldObject, Lines};
pub use base::outcome::one_sided::OneSidedMove;
pub use base::outcome::paused_cluster::PausedCluster;
pub use base::outcome::stop::{Next, Stop};
pub use base::outcome::under_way::MoveStatus;
pub use base::plugins::bounds::describe_violation;
pub use base::plugins::hooks::{self, HookError, Hooks};
pub use base::plugins::loading::Plugins;
pub use base::requests::halt::{Halt, Halter};
pub use base::requests::parking::{Parking, Scheduler};
pub use base::requests::side::Sides;
pub use base::setup::Setup;
pub use base::workload_clusters::WorkloadClusters;
pub use base::{events, options};
pub use check::approved::read_end;
pub use check::permissions::Permissions;
pub use drive::advice::{AdviceReason, KnownFiles, KnownSides, OneRecord, Situation};
pub use drive::backup::{back_up, backup_permissions};
pub use drive::leftover::Leftover;
pub use drive::report::{LeaseStatus, Report, Status, WaitingCopies};
pub use drive::rollback::RolledBack;
pub use drive::{describe, diagnosis, run};
