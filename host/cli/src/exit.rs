//! How a run ends, as a number. The table is in the README; the engine's part of it is [`Exit`].

use std::process::ExitCode;

use pivot_engine::{Exit, Failure, Stop};

use crate::output::Text;

/// Of a command beside a move: where it fails, how the run ends and what to say.
pub(crate) type Result<T, E = (Exit, Text)> = std::result::Result<T, E>;

/// Done.
pub(crate) const DONE: u8 = 0;

/// The code of a run that stopped.
pub(crate) fn of(stop: &Stop, allow_empty: bool) -> u8 {
    if allow_empty && nothing_to_move(stop) { DONE } else { code(stop.exit) }
}

/// Whether it stopped because there is nothing to move.
pub(crate) fn nothing_to_move(stop: &Stop) -> bool {
    matches!(stop.failure, Failure::Empty(_))
}

/// The engine's word as a number.
pub(crate) fn code(exit: Exit) -> u8 {
    exit as u8
}

/// For the operating system.
pub(crate) fn to_system(code: u8) -> ExitCode {
    ExitCode::from(code)
}
