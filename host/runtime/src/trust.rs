//! What the operator admits and grants, and whether it covers what a plugin asks for.

mod gates;
mod grants;
#[cfg(test)]
mod hostile;
mod lock;
mod pattern;
mod strict;

pub use grants::{Grants, OnFailure, OperatorFile};
pub(crate) use lock::{Entry, Lock};
pub use pattern::Pattern;
pub use pivot_core::network::Network;

pub(crate) use gates::{
    Extent, denied_imports, intersect_reads, missing_grants, permitted_extent, permitted_kinds,
    permitted_reach, surplus_grants,
};
pub(crate) use grants::grants_section;

/// More plugins than any directory has. Nobody could read the messages about more.
const MOST_PLUGINS: usize = 1_000;

fn check_count(plugins: usize) -> Result<(), String> {
    if plugins <= MOST_PLUGINS {
        return Ok(());
    }
    Err(format!("it has {plugins} plugins, and {MOST_PLUGINS} is the most"))
}

/// The operator's grants, beside the plugins.
pub const GRANTS_FILE: &str = "plugins.toml";
/// The digests of the admitted plugins, beside them.
pub const LOCK_FILE: &str = "plugins.lock";
