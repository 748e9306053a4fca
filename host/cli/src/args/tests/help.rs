//! Help texts and their examples.

use super::*;

/// The commands, by name; `None` is the program itself.
fn commands_of_moves() -> [Option<&'static str>; 18] {
    let others = [
        "plan",
        "move",
        "status",
        "resume",
        "rollback",
        "handover",
        "generate",
        "generate rbac",
        "generate protection",
        "generate controller",
        "generate agent",
        "describe",
        "plugin",
        "controller",
        "controller run",
        "agent",
        "agent run",
    ]
    .map(Some);
    std::array::from_fn(|index| index.checked_sub(1).and_then(|index| others[index]))
}

#[test]
fn short_help_is_a_page_and_long_help_has_every_flag_and_examples() {
    for verb in commands_of_moves() {
        let line = format!("pivot-host {}", verb.unwrap_or_default());
        let help = |flag: &str| parsed(&format!("{line} {flag}")).unwrap_err();
        let (short, long) = (help("-h"), help("--help"));
        assert!(short.lines().count() <= 40, "{line}: {} lines\n{short}", short.lines().count());
        assert!(!short.contains("Examples:") && short.contains("Use --help for every flag"), "{short}");
        let mut command = command(None);
        command.build();
        let words = verb.unwrap_or_default().split_whitespace();
        let of = words.fold(&command, |of, word| of.find_subcommand(word).unwrap());
        for flag in of.get_arguments().filter_map(|arg| arg.get_long()) {
            assert!(long.contains(&format!("--{flag}")), "{line}: --{flag} is not in:\n{long}");
        }
        let examples = examples::of(verb);
        assert!(!examples.is_empty() && long.contains("Examples:"), "{line}");
        for (what, example) in examples {
            let shown = long.replace(" \\\n    --", " --");
            assert!(shown.contains(&format!("  # {what}\n  {example}\n")), "{long}");
        }
        let mut shown = long.split("Examples:").nth(1).unwrap().lines().filter(|line| line.starts_with("  "));
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
    for verb in commands_of_moves() {
        for (_, line) in examples::of(verb) {
            meant(line);
            let of = line.starts_with(&format!("pivot-host {}", verb.unwrap_or_default()));
            // The second step of a handover is a move.
            assert!(of || verb == Some("handover"), "{line}");
        }
    }
}

#[test]
fn plans_and_roles_offer_no_flag_of_a_run() {
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
fn move_has_at_most_forty_arguments() {
    let own = Cli::command();
    let own = own.find_subcommand("move").unwrap().get_arguments().count();
    let mut whole = command(None);
    whole.build();
    let whole = whole.find_subcommand("move").unwrap().get_arguments().count();
    // Hidden ones are among them; the flags of every command and `--help` come on top.
    assert!(own <= 40 && whole <= 44, "{own}, {whole} with those of every command");
}
