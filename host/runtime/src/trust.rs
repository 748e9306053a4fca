//! What the operator admits and grants, and whether it covers what a plugin asks for.

mod gates;
mod grants;
mod lock;
mod pattern;

use crate::error::Refused;

pub use grants::{Grants, OnFailure, OperatorFile};
pub use lock::{Entry, Lock};
pub(crate) use pattern::reachable;
pub use pattern::{Network, Pattern};

pub(crate) use gates::{Extent, extent, granted, met, reached, shown, undeclared};
pub(crate) use grants::section;

/// What is wrong with an operator's file, and where. Its lines are not quoted: somebody else may have written them.
fn not_toml(text: &str, error: &toml::de::Error) -> Refused {
    let place = error.span().and_then(|span| text.get(..span.start)).map(|before| {
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("line {line}, column {column}: ")
    });
    Refused::Operator(format!("{}{}", place.unwrap_or_default(), error.message()))
}

/// More plugins than any directory has. What is said of each could not be read by anyone.
const MOST_PLUGINS: usize = 1_000;

fn few(plugins: usize) -> Result<(), String> {
    if plugins <= MOST_PLUGINS {
        return Ok(());
    }
    Err(format!("it has {plugins} plugins, and {MOST_PLUGINS} is the most"))
}

/// The operator's grants, beside the plugins.
pub const GRANTS_FILE: &str = "plugins.toml";
/// The digests of the plugins that were admitted, beside them.
pub const LOCK_FILE: &str = "plugins.lock";
