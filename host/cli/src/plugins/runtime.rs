//! This program's plugin runtime, which starts this same program to compile components that nobody vetted.

use pivot_engine::Exit;
use pivot_runtime::{Runtime, TrialProgram};

use crate::exit::Result;

/// The hidden verb of the process that tries to compile a component.
const TRY_COMPILE: &str = "try-compile";

pub(super) fn runtime() -> Result<Runtime> {
    let path = std::env::current_exe().map_err(|error| {
        (Exit::Unexpected, format!("where this program lies is not known: {error}").into())
    })?;
    Ok(Runtime::with_trials(TrialProgram { path, arguments: vec!["plugin".into(), TRY_COMPILE.into()] }))
}
