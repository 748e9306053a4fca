//! Flags that come from the environment. A variable is easily left over from another command: errors name the variable, and no variable
//! accepts a risk.

use std::env;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};

/// The variable that stands in for a flag.
pub(super) fn variable_of(flag: &str) -> String {
    format!("PIVOT_HOST_{}", flag.to_uppercase().replace('-', "_"))
}

/// Makes an error name the variable instead of a flag that was not typed.
pub(super) fn name_variables(mut error: clap::Error, typed: &[OsString]) -> clap::Error {
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => Some(value.clone()),
        _ => None,
    };
    for kind in [ContextKind::InvalidArg, ContextKind::PriorArg] {
        let named = |flag: &String| named_by(flag, value.as_deref(), typed);
        let named = match error.get(kind) {
            Some(ContextValue::String(flag)) => ContextValue::String(named(flag)),
            Some(ContextValue::Strings(flags)) => ContextValue::Strings(flags.iter().map(named).collect()),
            _ => continue,
        };
        error.insert(kind, named);
    }
    error
}

/// The variable that gave a flag its value, or the flag as it is. `argument` may have a placeholder behind the flag.
fn named_by(argument: &str, value: Option<&str>, typed: &[OsString]) -> String {
    let Some(flag) = argument.split_whitespace().next().and_then(|word| word.strip_prefix("--")) else {
        return argument.to_owned();
    };
    let is_typed = typed
        .iter()
        .filter_map(|word| word.to_str()?.strip_prefix("--"))
        .any(|word| word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')));
    let variable = variable_of(flag);
    let is_from_environment = env::var(&variable).is_ok_and(|text| match value {
        Some(value) => text.split(',').any(|one| one == value),
        // A flag may also have been typed by its letter.
        None => false,
    });
    if is_from_environment && !is_typed { variable } else { argument.to_owned() }
}
