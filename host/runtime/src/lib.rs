//! Plugins: WebAssembly components that decide, in a sandbox without authority.
//!
//! To be loaded, a component must pass three gates that agree: what it *declares* (`describe`), what the operator *grants*
//! (`plugins.toml`), and what its binary *imports*, which is read rather than believed. Its digest must be the one it was
//! admitted with (`plugins.lock`). [`Runtime::load`] reports everything that is wrong with a plugin before anything moves; a call
//! can fail only with a [`CallError`].
//!
//! | module | what it answers |
//! |---|---|
//! | `engine` | which machine the components run on |
//! | `directory` | which files there are, and that none lies outside |
//! | `parse` | what a file is before anything of it is compiled |
//! | `trial`, `trial_process` | what compiling it takes, in a process of its own; what that process does |
//! | `candidate` | what it is and says of itself, in the sandbox |
//! | `operator`, `trust` | what the operator admits and grants, and whether it covers what is asked for |
//! | `worst` | what it could do at worst, for whoever decides about it |
//! | `load` | from a directory to plugins, or to everything that is wrong with it |
//! | `describe` | what a plugin says of itself |
//! | `plugin`, `call`, `answers` | a hook called once: fresh store, limits, time, errors, answers |
//! | `limits`, `tally` | what one call may use, and all calls together |
//! | `interface`, `inert` | the names of interfaces; the empty world that WASI is served from |
//! | `border`, `asked` | what a component may ask the host, WASI included; what it asked in one call |
//! | `text` | objects on their way in, words on their way out |
//! | `services` | who answers a plugin's questions |
//! | `scene` | the answers outside a move: lists of objects |
//! | `probe` | endpoints asked from here |

mod answers;
mod asked;
mod border;
mod call;
mod candidate;
mod context;
mod contract;
mod describe;
mod directory;
mod engine;
mod error;
mod inert;
mod interface;
mod limits;
mod load;
mod operator;
mod parse;
mod plugin;
pub mod probe;
mod scene;
mod services;
mod tally;
mod text;
mod trial;
mod trial_process;
pub mod trust;
mod worst;

pub use describe::{Change, Declaration, Read};
pub use engine::Runtime;
pub use error::{CallError, LoadError, Refused, Who};
pub use limits::Limits;
pub use load::{Admission, Disabled, Inspection, Loaded};
pub use operator::LoadOptions;
pub use plugin::{MoveContext, Plugin};
pub use scene::Scene;
pub use services::{Answer, Denied, Probe, Query, ServiceError, Services, Vantage};
pub use tally::Used;
pub use trial::TrialProgram;
pub use trial_process::{TrialLimits, try_compile};
