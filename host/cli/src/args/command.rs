//! The command as clap sees it: the flags, and what is the same for all of them.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Command, CommandFactory, FromArgMatches};

use super::flags::Cli;

const AFTER: &str =
    "Each flag can be given in the environment too: --to-kubeconfig as PIVOT_HOST_TO_KUBECONFIG.";

/// The whole command, named as it was called: `kubectl-pivot` reads `kubectl pivot` in usage texts.
pub(crate) fn command(called: Option<&str>) -> Command {
    let mut command = with_environment(Cli::command()).after_help(AFTER);
    if let Some(host) = called.and_then(host_of) {
        command = command.bin_name(format!("{host} pivot"));
    }
    command
}

/// Reads a command line.
pub(crate) fn parse(typed: &[OsString]) -> Result<Cli, clap::Error> {
    let called = typed.first().and_then(|name| Path::new(name).file_stem()).and_then(|stem| stem.to_str());
    let mut command = command(called);
    let matches = command.try_get_matches_from_mut(typed)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The command that we are a plugin of, by our name.
fn host_of(called: &str) -> Option<&'static str> {
    match called {
        "kubectl-pivot" => Some("kubectl"),
        "clusterctl-pivot" => Some("clusterctl"),
        _ => None,
    }
}

/// Gives each flag its variable, so that none can be forgotten.
fn with_environment(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let Some(long) = arg.get_long() else { return arg };
            let variable = format!("PIVOT_HOST_{}", long.to_uppercase().replace('-', "_"));
            match arg.get_action() {
                ArgAction::SetTrue => {
                    arg.env(variable).hide_env(true).value_parser(BoolishValueParser::new())
                }
                ArgAction::Set | ArgAction::Count => arg.env(variable).hide_env(true),
                // Several values in one variable are separated as in a list of groups.
                ArgAction::Append => arg.env(variable).hide_env(true).value_delimiter(','),
                _ => arg,
            }
        })
        .mut_subcommands(with_environment)
}
