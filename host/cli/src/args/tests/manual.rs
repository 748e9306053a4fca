//! The manual has what the help texts have.

use clap::Command;

use crate::args::{command, pages};

/// The commands that are seen, each with the name of its page.
fn seen(command: &Command, name: String) -> Vec<(String, &Command)> {
    let below = command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help");
    let below: Vec<_> = below.flat_map(|one| seen(one, format!("{name}-{}", one.get_name()))).collect();
    [(name, command)].into_iter().chain(below).collect()
}

#[test]
fn each_visible_flag_is_on_the_page_of_its_command_with_its_help_text() {
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
