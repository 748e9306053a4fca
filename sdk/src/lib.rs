//! Write provider plugins for pivot-host.
//!
//! A plugin is a WebAssembly component that pivot-host calls at certain points of a move: how objects relate, whether the move
//! may continue, what keeps a provider's controllers away, what a status was. It computes and returns decisions; the host carries
//! them out, within bounds. A plugin can't open a socket, read a file, see the clock or change anything itself.
//!
//! Implement [`Plugin`], name the hooks in [`export!`], test with [`test::Harness`] (natively, `cargo test`), build
//! with `cargo build --release --target wasm32-wasip2`. docs/plugin-authors.md is the guide.
//!
//! ```
//! use pivot_sdk::prelude::*;
//!
//! const HOST: Kind = Kind::new("example.io", "Host");
//!
//! /// Keeps hosts from moving while they are being set up.
//! #[derive(Default, serde::Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct Hosts {
//!     /// Hosts in these states are let through, too.
//!     also: Vec<String>,
//! }
//!
//! impl Plugin for Hosts {
//!     fn about() -> About {
//!         About::new("example-hosts", "0.1.0", "Hosts move when they are at rest.")
//!             .reads(Side::Source, HOST)
//!             .holds(HOST)
//!     }
//!
//!     fn configure() -> Result<Self> {
//!         config::get()
//!     }
//!
//!     fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
//!         if !point.is_before_copy() {
//!             return Ok(vec![]);
//!         }
//!         let hosts = objects::get_all(Side::Source, moving.of_kind(&HOST))?;
//!         let restless = |host: &Object| {
//!             let state = host.text("/status/state").unwrap_or("unknown");
//!             state != "ready" && !self.also.iter().any(|also| also == state)
//!         };
//!         let finding = |host| {
//!             Finding::wait("not-at-rest", "the host is being worked on")
//!                 .on_object(&host)
//!                 .with_remedy("wait until its state is ready")
//!         };
//!         Ok(hosts.into_iter().flatten().filter(restless).map(finding).collect())
//!     }
//!
//!     fn hold(&self, host: &Object) -> Result<Patch> {
//!         Ok(host.patch().set_annotation("example.io/paused", "true"))
//!     }
//! }
//!
//! pivot_sdk::export!(Hosts, hooks = [check, hold]);
//! # fn main() {}
//! ```

mod about;
mod answers;
pub mod bounds;
mod conditions;
pub mod config;
pub mod context;
pub mod endpoints;
mod error;
mod export;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod guest;
mod host;
mod kind;
mod level;
pub mod log;
mod memory;
mod moving;
mod object;
pub mod objects;
mod patch;
mod pause;
mod plugin;
mod probe;
mod provider;
mod query;
mod selector;
#[cfg(not(target_arch = "wasm32"))]
pub mod test;

pub use about::{About, Change, Reach, Read, Versions};
pub use answers::{Finding, Kubectl, Problem, Relation, Restoration, Settlement, Severity};
pub use conditions::Condition;
pub use error::{Error, Result};
pub use kind::{Key, Kind};
pub use moving::{Hook, Move, Namespace, Point, Side};
pub use object::Object;
pub use patch::Patch;
pub use plugin::{Exported, Plugin};
pub use selector::{Glob, Selector};

/// A plugin's source starts with `use pivot_sdk::prelude::*;`.
pub mod prelude {
    pub use crate::endpoints::{Answer, Probe};
    pub use crate::{
        About, Error, Finding, Key, Kind, Move, Object, Patch, Plugin, Point, Problem, Relation, Restoration,
        Result, Settlement, Severity, Side, config, context, debug, endpoints, error, info, objects, warn,
    };
}

/// The guide's examples, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/plugin-authors.md")]
struct Guide;

/// The cookbook's recipes, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/plugin-cookbook.md")]
struct Cookbook;
