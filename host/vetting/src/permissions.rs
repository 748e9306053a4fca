//! The operator's admissions and grants, and the checks of a plugin's requests against them.
//!
//! | module | is |
//! |---|---|
//! | `declaration`, `declared_card` | a plugin's requests, and the card that signers of the plugin sign |
//! | `grants`, `limits`, `pattern` | the file `plugins.toml` |
//! | `lock` | the file `plugins.lock` |
//! | `strict` | the parser of both |
//! | `gates` | the comparison of requests with grants |
//! | `risk_summary` | the worst damage by a plugin, for the person who decides about it |
//! | [`valid_names`] | the names that a plugin and its requests may have |

mod declaration;
mod declared_card;
mod gates;
mod grants;
mod limits;
mod lock;
mod pattern;
mod risk_summary;
mod strict;
pub mod valid_names;

pub use declaration::{Change, Declaration, Read, Versions, side_of};
pub use declared_card::build_card;
pub use grants::{Grants, OnFailure, OperatorFile};
pub use limits::Limits;
pub use lock::{LockEntry, LockFile};
pub use pattern::Pattern;
pub use risk_summary::summarize_risks;

pub use gates::{
    Extent, denied_imports, missing_grants, permitted_extent, permitted_kinds, permitted_reach,
    surplus_grants,
};
pub use grants::grants_section;

/// A file of the operator that can't be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: can't be understood: {why}")]
pub struct InvalidFile {
    /// Name of the file in the plugin directory.
    pub file: &'static str,
    /// The fault, and its position if it has one.
    pub why: String,
}

/// More plugins than any directory has. Messages about more would be unreadable.
const MOST_PLUGINS: usize = 1_000;

fn check_count(plugins: usize) -> Result<(), String> {
    if plugins <= MOST_PLUGINS {
        return Ok(());
    }
    Err(format!("it has {plugins} plugins, and {MOST_PLUGINS} is the most"))
}

/// File of the operator's grants, in the plugin directory.
pub const GRANTS_FILE: &str = "plugins.toml";
/// File of the admitted plugins' digests, in the plugin directory.
pub const LOCK_FILE: &str = "plugins.lock";

#[cfg(test)]
mod tests;
