//! Plugins: WebAssembly components that decide, in a sandbox without authority.
//!
//! To be loaded, a component must import nothing but the contract's interfaces, and the operator must *grant* (`plugins.toml`)
//! what it *declares* (`describe`). A question that is not both declared and granted is denied. Its digest must be the one it was
//! admitted with (`plugins.lock`). [`Runtime::load`] reports everything that is wrong with a plugin before anything moves; a call
//! can fail only with a [`CallError`].
//!
//! | module | what is in it |
//! |---|---|
//! | `engine` | the engine that runs components |
//! | `directory` | the plugin files, and the check that none is outside the directory |
//! | `parse` | inspects a file before anything in it is compiled |
//! | `trial`, `trial_process` | compiles it on trial in a separate process; that process |
//! | `candidate` | compiles and describes it, in the sandbox |
//! | `options` | the options that a component declares for its configuration |
//! | `operator` | the files in which the operator admits and grants |
//! | `signed_claims` | who vouches for a plugin, by the trust file |
//! | `admission` | admits a file, and compares it with what was admitted |
//! | `load` | loads a directory, or returns everything that is wrong with it |
//! | `describe` | parses a plugin's description of itself |
//! | `plugin`, `call`, `answers` | a single call of a hook: fresh store, limits, time, errors, answers |
//! | `context` | the run and the permissions of a call |
//! | `meter`, `tally` | the limits of one call, and of all calls together |
//! | `interface`, `inert` | the names of interfaces; the empty environment that WASI is served from |
//! | `imports`, `questions` | what a component may ask the host, including WASI; the questions of one call |
//! | `text` | objects passed to plugins, text returned by them |
//! | `trace` | calls, questions and answers in the debug log |
//! | `services` | the interface that answers a plugin's questions |
//! | `scene` | answers outside a move, from lists of objects |
//! | `served_kinds` | knows the kinds of a move's sides, for plugins that none of them concerns |
//! | `probe` | probes endpoints from this machine |

mod admission;
mod answers;
mod call;
mod candidate;
mod context;
mod contract;
mod describe;
mod directory;
mod engine;
mod error;
mod imports;
mod inert;
mod interface;
mod load;
mod meter;
mod operator;
mod options;
mod parse;
mod plugin;
pub mod probe;
mod questions;
mod scene;
mod served_kinds;
mod services;
mod tally;
mod text;
mod trace;
mod trial;
mod trial_process;

mod signed_claims;

pub use admission::{Admission, AdmitOptions, Admitted, Grant, Locked};
pub use context::{MoveContext, RunContext, RunKind};
pub use directory::{PluginFiles, list_files};
pub use engine::Runtime;
pub use error::{CallError, LoadError, PluginIdentity, Refused};
pub use load::{Disabled, Inspection, Loaded};
pub use operator::LoadOptions;
pub use options::PluginOption;
pub use plugin::Plugin;
pub use scene::{ProbeAnswers, Scene};
pub use served_kinds::ServedKinds;
pub use services::{Answer, Denied, Probe, Query, ServiceError, Services, Vantage, read_providers};
pub use signed_claims::Trust;
pub use tally::Used;
pub use text::redact_secret;
pub use trial::TrialProgram;
pub use trial_process::{TrialLimits, try_compile};
