//! What could be typed next, for kubectl: it asks a program named `kubectl_complete-pivot` for that, in the form of the library it is
//! built with (cobra): a candidate a line, with what it means behind a tab, and a number that says how the shell goes on from there.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ValueHint};
use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCompleter, complete};

use super::command::command;

/// The shell completes file names.
const FILES: &str = ":0\n";
/// There is nothing else to offer.
const NO_FILES: &str = ":4\n";
/// Stands for every file: no name can have it.
const ANY_FILE: &str = "\0";

/// The candidates for the last of these words.
pub(crate) fn candidates(words: &[OsString]) -> String {
    let mut all = vec![OsString::from("pivot-host")];
    all.extend_from_slice(words);
    if words.is_empty() {
        all.push(OsString::new());
    }
    let last = all.len() - 1;
    let word = all.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let mut command = with_files(command(None));
    // An error means that there are none.
    let found = complete(&mut command, all, last, None).unwrap_or_default();
    let is_file = |one: &CompletionCandidate| one.get_value().to_string_lossy().ends_with(ANY_FILE);
    let end = if found.iter().any(is_file) { FILES } else { NO_FILES };
    // A list of commands among fifty flags is none: flags are listed once the word begins as one.
    let wanted = |value: &str| word.starts_with('-') || !value.starts_with('-');
    let mut lines = String::new();
    for one in found.iter().filter(|one| !is_file(one)) {
        let value = one.get_value().to_string_lossy();
        if !wanted(&value) {
            continue;
        }
        let help = one.get_help().map(ToString::to_string).unwrap_or_default();
        match help.lines().next() {
            Some(help) => lines.push_str(&format!("{value}\t{help}\n")),
            None => lines.push_str(&format!("{value}\n")),
        }
    }
    lines + end
}

fn with_files(command: clap::Command) -> clap::Command {
    command.mut_args(files).mut_subcommands(with_files)
}

/// The shell knows better how to complete, and to quote, the name of a file.
fn files(arg: Arg) -> Arg {
    match arg.get_value_hint() {
        ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath => {
            arg.add(ArgValueCompleter::new(|_: &OsStr| vec![CompletionCandidate::new(ANY_FILE)]))
        }
        _ => arg,
    }
}
