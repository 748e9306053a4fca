//! The manual has what the help texts have.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};
use expect_test::expect_file;

use crate::args::{command, pages};

/// The commands that are seen, each with the name of its page.
fn seen(command: &Command, name: String) -> Vec<(String, &Command)> {
    let below = command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help");
    let below: Vec<_> = below.flat_map(|one| seen(one, format!("{name}-{}", one.get_name()))).collect();
    [(name, command)].into_iter().chain(below).collect()
}

#[test]
fn manual_pages_have_all_visible_flags() {
    let mut command = command(None);
    command.build();
    let pages = pages().unwrap();
    let seen = seen(&command, "pivot-host".to_owned());
    let mut flags = 0;
    for (name, command) in &seen {
        let file = format!("man1/{name}.1");
        let (_, page) = pages.iter().find(|(path, _)| *path == file).unwrap_or_else(|| panic!("no {file}"));
        let page = page.replace("\\-", "-").replace("\\*(Aq", "'");
        // How help is asked for depends on where one reads.
        let own = command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_id() != "help");
        for arg in own {
            if let Some(long) = arg.get_long() {
                assert!(page.contains(&format!("\\fB--{long}\\fR")), "{file}: --{long}");
                flags += 1;
            }
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            // Its first words; the rest has its own line breaks and escapes.
            let begin: String = help.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
            assert!(!begin.is_empty() && page.contains(&begin), "{file}: {:?} {help:?}", arg.get_id());
        }
        for below in command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help") {
            assert!(
                page.contains(&format!("{name}-{}(1)", below.get_name())),
                "{file}: {}",
                below.get_name()
            );
        }
    }
    assert!(flags > 150, "{flags}");
    // Besides, there are only the links.
    assert_eq!(pages.len(), seen.len() + 2);
}

#[test]
fn examples_stay_as_they_are_typed() {
    let pages = pages().unwrap();
    let (_, page) = pages.iter().find(|(path, _)| path == "man1/pivot-host-verify.1").unwrap();
    let (_, examples) = page.split_once(".SH EXAMPLES\n.nf\n").unwrap();
    let (examples, _) = examples.split_once(".fi\n").unwrap();
    assert!(examples.contains("\n  pivot\\-host verify backup \\-\\-identity key.txt\n"), "{examples}");
}

const BEGINNING: &str = "# Commands

All commands with their flags. `pivot-host COMMAND --help` prints the same, with examples, and `pivot-host man DIR` writes it as pages for
`man`. Each flag can be set in the environment, except flags that accept a risk: `PIVOT_HOST_TO_KUBECONFIG` sets `--to-kubeconfig`.
";

/// A flag or argument as it is typed.
fn spelling(arg: &Arg) -> String {
    let values: Vec<&str> = arg.get_value_names().into_iter().flatten().map(|name| name.as_str()).collect();
    let values = match arg.get_action() {
        ArgAction::Set | ArgAction::Append => values.join(" "),
        _ => String::new(),
    };
    let optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    let Some(long) = arg.get_long() else { return format!("`{values}`") };
    let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    match (values.as_str(), optional) {
        ("", _) => format!("{short}`--{long}`"),
        (values, true) => format!("{short}`--{long}[={values}]`"),
        (values, false) => format!("{short}`--{long} {values}`"),
    }
}

/// The text of a flag, with its values and its default.
fn description(arg: &Arg) -> String {
    let text = |help: Option<&StyledStr>| help.map(ToString::to_string).unwrap_or_default();
    let help = text(arg.get_long_help().or(arg.get_help()));
    let paragraphs = help
        .split(
            "

",
        )
        .map(|one| one.split_whitespace().collect::<Vec<_>>().join(" "));
    let paragraphs: Vec<String> = paragraphs.map(|one| one.trim_end_matches('.').to_owned()).collect();
    let mut help = paragraphs.join(". ");
    let values: Vec<String> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    let has_values = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    if has_values && !values.is_empty() && !arg.is_hide_possible_values_set() {
        write!(help, ". Values: {}", values.join(", ")).unwrap();
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if has_values && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        write!(help, ". By default {}", defaults.join(", ")).unwrap();
    }
    help.replace('|', "\\|")
}

fn push_flags<'a>(flags: impl Iterator<Item = &'a Arg>, page: &mut String) {
    let flags: Vec<&Arg> = flags.filter(|arg| !arg.is_hide_set() && arg.get_id() != "help").collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for arg in &flags {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    for (place, heading) in headings.iter().enumerate() {
        let name = heading.unwrap_or(if place == 0 { "" } else { "Other" });
        write!(page, "\n| {name} | |\n|---|---|\n").unwrap();
        for arg in flags.iter().filter(|arg| arg.get_help_heading() == *heading) {
            writeln!(page, "| {} | {} |", spelling(arg), description(arg)).unwrap();
        }
    }
}

/// `UPDATE_EXPECT=1` writes the page.
#[test]
fn page_of_commands_has_every_flag() {
    let mut command = command(None);
    command.build();
    let mut page = BEGINNING.to_owned();
    let is_global = |arg: &&Arg| arg.is_global_set();
    for (name, command) in seen(&command, "pivot-host".to_owned()) {
        let about =
            command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
        if name == "pivot-host" {
            page.push_str("\n## Flags of every command\n");
            push_flags(command.get_arguments().filter(is_global), &mut page);
            continue;
        }
        write!(page, "\n## {}\n\n{about}\n", name.replace('-', " ").replacen("pivot host", "pivot-host", 1))
            .unwrap();
        push_flags(command.get_arguments().filter(|arg| !arg.is_global_set()), &mut page);
    }
    expect_file!["../../../../../docs/commands.md"].assert_eq(&page);
}
