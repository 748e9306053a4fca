//! What could be typed next, for kubectl: it asks a program named `kubectl_complete-pivot` for that, in the form of the library it is
//! built with (cobra): a candidate a line, with what it means behind a tab, and a number that says how the shell goes on from there.

use std::ffi::{OsStr, OsString};

use clap::{Arg, ValueHint};
use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCompleter, complete};
use pivot_core::messages::risk::Risk;

use super::command::command;

/// The shell completes file names.
const FILES: &str = ":0\n";
/// There is nothing else to offer.
const NO_FILES: &str = ":4\n";
/// There is nothing else to offer, and the word goes on behind the candidate.
const NO_SPACE: &str = ":6\n";
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
    let accepts = words.len() > 1 && words.get(words.len() - 2).is_some_and(|before| before == "--accept");
    let word = all.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let mut command = with_files(command(None));
    // An error means that there are none.
    let found = complete(&mut command, all, last, None).unwrap_or_default();
    let is_file = |one: &CompletionCandidate| one.get_value().to_string_lossy().ends_with(ANY_FILE);
    let mut lines = String::new();
    let mut go_on = true;
    for one in found.iter().filter(|one| !is_file(one)) {
        let value = one.get_value().to_string_lossy();
        // A list of commands among fifty flags is none: flags are listed once the word begins as one.
        if value.starts_with('-') && !word.starts_with('-') {
            continue;
        }
        let takes_kinds = accepts && value.parse().is_ok_and(Risk::takes_kinds);
        go_on &= takes_kinds;
        let value = if takes_kinds { format!("{value}=") } else { value.into_owned() };
        let help = one.get_help().map(ToString::to_string).unwrap_or_default();
        match help.lines().next() {
            Some(help) => lines.push_str(&format!("{value}\t{help}\n")),
            None => lines.push_str(&format!("{value}\n")),
        }
    }
    let end = match found.iter().any(is_file) {
        true => FILES,
        false if go_on && !lines.is_empty() => NO_SPACE,
        false => NO_FILES,
    };
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
