//! Exit codes. The table is in the README; [`Exit`] is the engine's part of it.

use std::process::ExitCode;

use pivot_engine::{Exit, Failure, Stop};

use crate::output::Text;

/// The result of a command other than a move: on failure, the exit code and the message.
pub(crate) type Result<T, E = (Exit, Text)> = std::result::Result<T, E>;

/// Done.
pub(crate) const DONE: u8 = 0;

/// The exit code of a run that stopped.
pub(crate) fn of(stop: &Stop, allow_empty: bool) -> u8 {
    if allow_empty && nothing_to_move(stop) { DONE } else { code(stop.exit) }
}

/// Whether the run stopped because there is nothing to move.
pub(crate) fn nothing_to_move(stop: &Stop) -> bool {
    matches!(stop.failure, Failure::Empty(_))
}

/// The engine's exit as a number.
pub(crate) fn code(exit: Exit) -> u8 {
    exit as u8
}

/// The code as the operating system wants it.
pub(crate) fn to_system(code: u8) -> ExitCode {
    ExitCode::from(code)
}
