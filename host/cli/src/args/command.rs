//! The command as clap sees it: the flags, and what all of them share.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::builder::{
    BoolishValueParser, EnumValueParser, PossibleValue, PossibleValuesParser, StyledStr, TypedValueParser,
};
use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches, ValueEnum};

use super::flags::{Cli, OutputFormat, Picture};
use super::risks::RISKY_FLAGS;
use super::{environment, examples, risks};

const MORE: &str = "Use --help for every flag and examples.";
/// Last line of a short help whose command has no examples.
const MORE_FLAGS: &str = "Use --help for every flag.";
pub(super) const ENVIRONMENT: &str = "Flags can be set in the environment too: --to-kubeconfig as PIVOT_HOST_TO_KUBECONFIG. Flags that accept a risk can't.";
/// The commands with so many flags that `-h` shows only the usual ones, and those flags.
const LONG: [&str; 17] = [
    "plan",
    "doctor",
    "move",
    "backup",
    "status",
    "resume",
    "rollback",
    "handover start",
    "handover finish",
    "handover cancel",
    "generate rbac",
    "generate backup",
    "generate agent",
    "agent run",
    "agent invite",
    "describe cluster",
    "controller run",
];
const USUAL: [&str; 27] = [
    "image",
    "show-conditions",
    "agents",
    "agents-host",
    "listen",
    "grouping",
    "secret",
    "kubeconfig",
    "kubeconfig-context",
    "to-kubeconfig",
    "to-kubeconfig-context",
    "to-workload",
    "from-directory",
    "to-directory",
    "namespace",
    "all-namespaces",
    "dry-run",
    "plan",
    "out",
    "side",
    "bind-to",
    "plugins",
    "call",
    "credentials",
    "tls",
    "allow-namespace",
    "role",
];
/// Flags of every command that `-h` hides.
const RARE: [&str; 5] =
    ["log-format", "hide-api-warnings", "lease-identity", "allow-special-network", "longest-wait"];
/// The longest line of an example.
const WIDTH: usize = 76;
/// More than any log level that users mean.
const MOST_VERBOSE: usize = 9;

/// The whole command, under the name it was called by: `kubectl-pivot` shows as `kubectl pivot` in usage texts.
pub(crate) fn command(called: Option<&str>) -> Command {
    let host = called.and_then(host_of);
    let name = host.map_or("pivot-host".to_owned(), |host| format!("{host} pivot"));
    let command = with_help(bare(), None, &name);
    if host.is_some() { command.bin_name(name) } else { command }
}

/// The flags alone, with their environment variables.
pub(super) fn bare() -> Command {
    let command = Cli::command();
    let output = command.get_arguments().find(|arg| arg.get_id() == "output").cloned();
    let output = output.map(|arg| {
        let help = "Format of the result on stdout";
        arg.help(help).value_parser(Formats { more: None })
    });
    let command = match output {
        Some(output) => command.mut_subcommands(|verb| with_output(verb, None, &output)),
        None => command,
    };
    with_environment(command)
}

/// The commands that can draw a plan.
const DRAWING: [&str; 3] = ["plan", "move", "handover start"];

/// The commands whose result can be a report of tests.
const TESTING: [&str; 3] = ["plugin rehearse", "plugin replay", "plugin test"];

/// The command whose result can be a page, and no graph.
const PAGE: &str = "plan show";

/// Gives each command that draws no plan a flag without the formats of drawings.
fn with_output(command: Command, of: Option<&str>, output: &Arg) -> Command {
    let name = name_subcommand(of, command.get_name());
    let command = command.mut_subcommands(|verb| with_output(verb, Some(&name), output));
    match name.as_str() {
        name if DRAWING.contains(&name) => command,
        name if TESTING.contains(&name) => command.arg(with_format(output, OutputFormat::Junit)),
        PAGE => command.arg(with_format(output, OutputFormat::Picture(Picture::Html))),
        _ => command.arg(output),
    }
}

fn with_format(output: &Arg, more: OutputFormat) -> Arg {
    output.clone().value_parser(Formats { more: Some(more) })
}

/// Reads the formats of commands that draw no graphs: the usual ones, and one more.
#[derive(Clone)]
struct Formats {
    more: Option<OutputFormat>,
}

impl Formats {
    fn values(&self) -> impl Iterator<Item = PossibleValue> + use<> {
        let more = self.more;
        let has = move |format: &&OutputFormat| match format {
            OutputFormat::Picture(_) | OutputFormat::Junit => Some(**format) == more,
            OutputFormat::Text | OutputFormat::Json | OutputFormat::Yaml => true,
        };
        let formats = OutputFormat::value_variants().iter().filter(has);
        formats.filter_map(ValueEnum::to_possible_value).map(|value| value.hide(false))
    }
}

impl TypedValueParser for Formats {
    type Value = OutputFormat;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<OutputFormat, clap::Error> {
        PossibleValuesParser::new(self.values()).parse_ref(command, arg, value)?;
        EnumValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values()))
    }
}

/// The name we were called by.
pub(crate) fn invoked_name(typed: &[OsString]) -> Option<&str> {
    typed.first().and_then(|name| Path::new(name).file_stem()).and_then(|stem| stem.to_str())
}

/// The examples of a command, each below what it does; empty if there are none.
pub(super) fn examples_of(of: Option<&str>, name: &str) -> String {
    let mut text = String::new();
    for (what, line) in examples::of(of) {
        let line = line.replacen("pivot-host", name, 1);
        // A line that the terminal wraps could not be pasted.
        let line = if line.len() > WIDTH {
            [" --to-kubeconfig ", " --call ", " --accept ", " --encrypt-to "]
                .iter()
                .fold(line, |line, flag| line.replacen(flag, &format!(" \\\n   {flag}"), 1))
        } else {
            line
        };
        let before = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{before}  # {what}\n  {line}\n"));
    }
    text
}

/// The words that name a subcommand.
pub(super) fn name_subcommand(of: Option<&str>, verb: &str) -> String {
    of.map_or_else(|| verb.to_owned(), |of| format!("{of} {verb}"))
}

/// `-h` is at most a page; `--help` has all flags, and examples.
fn with_help(command: Command, of: Option<&str>, name: &str) -> Command {
    let examples = examples_of(of, name);
    let more = match examples.as_str() {
        "" => ENVIRONMENT.to_owned(),
        examples => format!("Examples:\n{examples}\n{ENVIRONMENT}"),
    };
    let long = LONG.contains(&of.unwrap_or_default());
    let command = command.mut_args(|arg| {
        let flag = arg.get_long();
        let is_usual =
            flag.is_none_or(|flag| if long { USUAL.contains(&flag) } else { !RARE.contains(&flag) });
        arg.hide_short_help(!is_usual)
    });
    let command =
        command.after_help(if examples.is_empty() { MORE_FLAGS } else { MORE }).after_long_help(more);
    command.mut_subcommands(|verb| {
        let of = name_subcommand(of, verb.get_name());
        with_help(verb, Some(&of), name)
    })
}

/// Parses a command line.
pub(crate) fn parse(typed: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = command(invoked_name(typed));
    let matches = command
        .try_get_matches_from_mut(levels_as_flags(typed))
        .map_err(|error| risks::drop_risky_tips(error, || usage_of(&command, typed)))
        .map_err(|error| environment::name_variables(error, typed))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Describes variables of the environment that set no flag, but look as if they did.
pub(crate) fn describe_variables_without_effect() -> Vec<String> {
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    environment::describe_without_effect(set, &command(None))
}

/// The usage of the command that was typed.
fn usage_of(command: &Command, typed: &[OsString]) -> StyledStr {
    let words = typed.iter().skip(1).filter_map(|word| word.to_str());
    let verb = words.fold(command, |verb, word| verb.find_subcommand(word).unwrap_or(verb));
    verb.clone().render_usage()
}

/// clusterctl takes a number as log level (`-v 5`, `--v=5`): turn it into as many `-v`.
fn levels_as_flags(typed: &[OsString]) -> Vec<OsString> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        // A number too long to parse is more than enough.
        digits.then(|| text.parse().unwrap_or(MOST_VERBOSE).min(MOST_VERBOSE))
    };
    let mut words = Vec::with_capacity(typed.len());
    let mut rest = typed.iter().peekable();
    while let Some(word) = rest.next() {
        if word == "--" {
            words.push(word.clone());
            words.extend(rest.cloned());
            break;
        }
        let text = word.to_str().unwrap_or_default();
        let level = match text {
            "-v" | "--v" | "--verbose" => {
                let level = rest.peek().and_then(|next| next.to_str()).and_then(number);
                if level.is_some() {
                    rest.next();
                }
                level
            }
            _ => ["--v=", "--verbose=", "-v=", "-v"]
                .iter()
                .find_map(|flag| text.strip_prefix(flag))
                .and_then(number),
        };
        match level {
            Some(level) => words.extend(std::iter::repeat_n(OsString::from("-v"), level)),
            None => words.push(word.clone()),
        }
    }
    words
}

/// The command that runs us as a plugin, derived from our name.
fn host_of(called: &str) -> Option<&'static str> {
    match called {
        "kubectl-pivot" => Some("kubectl"),
        "clusterctl-pivot" => Some("clusterctl"),
        _ => None,
    }
}

/// Gives each flag its environment variable, except those that accept a risk.
fn with_environment(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let Some(long) = arg.get_long().filter(|long| !RISKY_FLAGS.contains(long)) else { return arg };
            let variable = environment::variable_of(long);
            match arg.get_action() {
                ArgAction::SetTrue => {
                    arg.env(variable).hide_env(true).value_parser(BoolishValueParser::new())
                }
                ArgAction::Set | ArgAction::Count => arg.env(variable).hide_env(true),
                // A variable with several values separates them as a list of groups does.
                ArgAction::Append => arg.env(variable).hide_env(true).value_delimiter(','),
                _ => arg,
            }
        })
        .mut_subcommands(with_environment)
}
