//! Help texts and their examples.

use super::*;

/// All commands that are seen, by name; the empty name is the program itself.
fn commands() -> Vec<String> {
    fn push(command: &clap::Command, of: Option<&str>, names: &mut Vec<String>) {
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
        {
            let name = command::name_subcommand(of, verb.get_name());
            push(verb, Some(&name), names);
            names.push(name);
        }
    }
    let mut names = vec![String::new()];
    push(&Cli::command(), None, &mut names);
    names
}

/// Some name of a command; none for the program itself.
fn name(verb: &str) -> Option<&str> {
    Some(verb).filter(|verb| !verb.is_empty())
}

/// The command with this name, as clap builds it.
fn find_command(verb: &str) -> clap::Command {
    let mut command = command(None);
    command.build();
    verb.split_whitespace().fold(&command, |of, word| of.find_subcommand(word).unwrap()).clone()
}

#[test]
fn short_help_fits_and_long_is_complete() {
    let commands = commands();
    assert!(commands.len() > 35, "{commands:?}");
    for verb in &commands {
        let line = format!("pivot-host {verb}");
        let help = |flag: &str| parsed(&format!("{line} {flag}")).unwrap_err();
        let (short, long) = (help("-h"), help("--help"));
        assert!(short.lines().count() <= 40, "{line}: {} lines\n{short}", short.lines().count());
        assert!(!short.contains("Examples:") && short.contains("Use --help for every flag"), "{short}");
        for flag in find_command(verb).get_arguments().filter_map(|arg| arg.get_long()) {
            assert!(long.contains(&format!("--{flag}")), "{line}: --{flag} is not in:\n{long}");
        }
        let examples = examples::of(name(verb));
        assert_eq!(examples.is_empty(), !long.contains("Examples:"), "{line}");
        assert_eq!(examples.is_empty(), !short.contains("every flag and examples"), "{line}");
        for (what, example) in examples {
            let shown = long.replace(" \\\n    --", " --");
            assert!(shown.contains(&format!("  # {what}\n  {example}\n")), "{long}");
        }
        let shown = long.split("Examples:").nth(1).unwrap_or_default();
        let mut shown = shown.lines().filter(|line| line.starts_with("  "));
        assert!(shown.all(|line| line.len() < 80), "{long}");
    }
    let named = parsed("kubectl-pivot move --help").unwrap_err();
    assert!(
        named.contains("  kubectl pivot move --kubeconfig") && !named.contains("  pivot-host move"),
        "{named}"
    );
}

#[test]
fn every_example_can_be_typed() {
    let commands = commands();
    let of_moves = [
        "",
        "plan",
        "doctor",
        "move",
        "status",
        "resume",
        "rollback",
        "handover start",
        "generate rbac",
        "agent run",
    ];
    for verb in of_moves {
        assert!(!examples::of(name(verb)).is_empty() && commands.iter().any(|one| one == verb), "{verb:?}");
    }
    for verb in &commands {
        for (_, line) in examples::of(name(verb)) {
            meant(line);
            let of = line.starts_with(&format!("pivot-host {verb}"));
            // The second step of a handover is a move.
            assert!(of || verb == "handover", "{line}");
        }
    }
}

#[test]
fn long_lists_of_flags_have_groups() {
    for verb in commands() {
        let command = find_command(&verb);
        let flags = command.get_arguments().filter(|arg| arg.get_long().is_some() && arg.get_id() != "help");
        let bare: Vec<_> =
            flags.filter(|arg| arg.get_help_heading().is_none()).map(clap::Arg::get_id).collect();
        assert!(bare.len() <= 4, "{verb}: {bare:?}");
    }
}

#[test]
fn plans_and_roles_lack_run_flags() {
    let flags = |words: &str| {
        let mut command = command(None);
        command.build();
        let of = words.split_whitespace().fold(&command, |of, word| of.find_subcommand(word).unwrap());
        of.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)).collect::<Vec<_>>()
    };
    let of_runs =
        ["break-lease", "pause-timeout", "check-timeout", "takeover-timeout", "unpause-batch", "stop-before"];
    let moves = flags("move");
    assert!(of_runs.iter().all(|flag| moves.iter().any(|there| there == flag)), "{moves:?}");
    for words in ["plan", "generate rbac"] {
        let offered: Vec<String> =
            flags(words).into_iter().filter(|flag| of_runs.contains(&flag.as_str())).collect();
        assert_eq!(offered, Vec::<String>::new(), "{words}");
    }
}

#[test]
fn move_has_few_arguments() {
    let mut command = command(None);
    command.build();
    // Hidden flags and the flags of every command are among them.
    let arguments = command.find_subcommand("move").unwrap().get_arguments();
    let counted = arguments.filter(|argument| argument.get_id() != "help").count();
    assert!(counted <= 42, "{counted}");
}
