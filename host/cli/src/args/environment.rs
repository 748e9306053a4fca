//! Flags that come from the environment. A variable is easily left over from another command: errors name the variable, and no variable
//! accepts a risk.

use std::env;
use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue};
use pivot_core::messages::safe_text::find_similar;

use super::risks::RISKY_FLAGS;

/// The beginning of all variables that stand in for flags.
const PREFIX: &str = "PIVOT_HOST_";

/// Shortest name that is taken for another: many words of four or five letters are almost each other.
const SHORTEST: usize = 5;

/// The variable that stands in for a flag.
pub(super) fn variable_of(flag: &str) -> String {
    format!("{PREFIX}{}", flag.to_uppercase().replace('-', "_"))
}

/// Describes each of these variables that sets no flag: with almost the name of a variable that commands read, or with the name of a flag
/// that takes a risk. Other programs may have variables with any other name.
pub(super) fn describe_without_effect(set: impl Iterator<Item = String>, command: &Command) -> Vec<String> {
    let set: Vec<String> = set.filter(|name| name.starts_with(PREFIX) && !is_of_service(name)).collect();
    if set.is_empty() {
        return Vec::new();
    }
    let mut known = Vec::new();
    add_variables(command, &mut known);
    let known: Vec<&str> = known.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
    let warnings = set.iter().filter_map(|name| {
        if let Some(flag) = RISKY_FLAGS.into_iter().find(|flag| variable_of(flag) == *name) {
            return Some(format!(
                "{name} sets no flag: a variable takes no risk; if you mean it, type --{flag}"
            ));
        }
        let typed = name.strip_prefix(PREFIX).filter(|typed| typed.len() >= SHORTEST)?;
        let similar = find_similar(typed, &known)?;
        Some(format!("{name} sets no flag (did you mean {PREFIX}{similar}?)"))
    });
    warnings.collect()
}

/// Returns true for the variables that Kubernetes gives each container for a Service, which may be called as this program is.
fn is_of_service(name: &str) -> bool {
    name.ends_with("_PORT") || name.contains("_PORT_") || name.contains("_SERVICE_")
}

/// Adds the variables of a command and of those below it.
fn add_variables(command: &Command, known: &mut Vec<String>) {
    let variables = command.get_arguments().filter_map(|arg| arg.get_env()?.to_str());
    known.extend(variables.map(str::to_owned));
    command.get_subcommands().for_each(|verb| add_variables(verb, known));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command::command;

    fn describe(names: &[&str]) -> Vec<String> {
        describe_without_effect(names.iter().map(|name| (*name).to_owned()), &command(None))
    }

    #[test]
    fn mistyped_variables_are_described() {
        assert_eq!(
            describe(&["PIVOT_HOST_TO_KUBECONFIG", "PIVOT_HOST_TO_KUBECONFG", "HOME"]),
            ["PIVOT_HOST_TO_KUBECONFG sets no flag (did you mean PIVOT_HOST_TO_KUBECONFIG?)"]
        );
    }

    /// A script that sets one must not take the risk for accepted.
    #[test]
    fn variables_of_risks_are_described() {
        assert_eq!(
            describe(&["PIVOT_HOST_ACCEPT", "PIVOT_HOST_BREAK_LEASE"]),
            [
                "PIVOT_HOST_ACCEPT sets no flag: a variable takes no risk; if you mean it, type --accept",
                "PIVOT_HOST_BREAK_LEASE sets no flag: a variable takes no risk; if you mean it, type --break-lease"
            ]
        );
        let variables = RISKY_FLAGS.map(variable_of);
        assert_eq!(describe(&variables.each_ref().map(String::as_str)).len(), RISKY_FLAGS.len());
    }

    /// Variables of this project's tests, and of other programs.
    #[test]
    fn variables_of_others_are_not_described() {
        let others = [
            "BIN",
            "CACHE",
            "LANDING",
            "METAL3",
            "NIGHTLY",
            "PROVIDERS",
            "SAMPLE",
            "SEED",
            "SEEDS",
            "UNTIL",
            "SERVICE_HOST",
            "AGENTS_PORT",
            "AGENTS_PORT_8443_TCP",
            "AGENTS_SERVICE_HOST",
        ];
        let others = others.map(|name| format!("{PREFIX}{name}"));
        assert_eq!(describe(&others.each_ref().map(String::as_str)), [""; 0]);
    }

    /// A proposal would be an invitation.
    #[test]
    fn proposed_variables_accept_no_risk() {
        assert_eq!(describe(&["PIVOT_HOST_ACEPT", "PIVOT_HOST_BREAK_LEAS", "PIVOT_HOST_UNPAUS"]), [""; 0]);
    }
}
