//! What the operator admits and grants, and whether it covers what a plugin asks for.

mod gates;
mod grants;
mod lock;
mod pattern;

pub use grants::{Grants, OnFailure, OperatorFile};
pub use lock::{Entry, Lock};
pub(crate) use pattern::reachable;
pub use pattern::{Network, Pattern};

pub(crate) use gates::{Reach, granted, reach, undeclared};
pub(crate) use grants::section;

/// The operator's grants, beside the plugins.
pub const GRANTS_FILE: &str = "plugins.toml";
/// The digests of the plugins that were admitted, beside them.
pub const LOCK_FILE: &str = "plugins.lock";
