//! This program's plugin runtime, which starts this same program to compile components that nobody vetted.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use pivot_engine::Exit;
use pivot_runtime::{Runtime, TrialProgram};

use crate::exit::Result;

/// Time after which a person wonders why nothing happens.
const SLOW_COMPILE: Duration = Duration::from_secs(1);
/// The hidden verb of the process that tries to compile a component.
const TRY_COMPILE: &str = "try-compile";

pub(super) fn start_runtime() -> Result<Runtime> {
    let path = std::env::current_exe().or_else(|error| called_by().ok_or(error)).map_err(|error| {
        (Exit::Unexpected, format!("where this program lies is not known: {error}").into())
    })?;
    let arguments = vec!["plugin".into(), TRY_COMPILE.into()];
    let runtime = Runtime::with_trials(TrialProgram { path, arguments });
    // A person at a terminal wonders why nothing happens.
    let is_watched = std::io::stderr().is_terminal();
    Ok(if is_watched { runtime.with_slow_compile(SLOW_COMPILE) } else { runtime })
}

/// Returns a runtime to try a component out, if wanted with places in the backtrace of a trap.
pub(super) fn start_trial_runtime(backtrace: bool) -> Result<Runtime> {
    let runtime = start_runtime()?;
    Ok(if backtrace { runtime.with_debug_information() } else { runtime })
}

/// Without /proc, as in a bare root directory, the system doesn't say which program this is; a whole path that it was called by does.
fn called_by() -> Option<PathBuf> {
    std::env::args_os().next().map(PathBuf::from).filter(|path| path.is_absolute())
}
