//! The protocol, explored: with its rules kept it holds, and each broken rule is found.

#[cfg(test)]
mod broken;
#[cfg(test)]
mod files;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod linked;
#[cfg(test)]
mod restored;

use pivot_model::{Action, Faults, State};
use stateright::Path;

/// Nothing goes wrong.
const NO_FAULTS: Faults =
    Faults { crashes: 0, answers: 0, edits: 0, source: false, target: false, take_overs: 0 };

/// What happened, a line each.
fn trace(path: Path<State, Action>) -> String {
    path.into_actions().iter().map(|action| format!("  {action:?}\n")).collect()
}
