//! Flags that accept a risk are typed on purpose.

use super::super::risks::RISKY_FLAGS;
use super::*;

/// The flags below a heading of the help, of all commands.
fn flags_below(heading: &str, command: &clap::Command) -> Vec<String> {
    let below = command.get_arguments().filter(|arg| arg.get_help_heading() == Some(heading));
    let own = below.filter_map(|arg| arg.get_long().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(|verb| flags_below(heading, verb))).collect()
}

#[test]
fn every_accepted_danger_is_risky() {
    let dangers = flags_below("Dangers accepted by name", &Cli::command());
    assert!(dangers.len() >= 9, "{dangers:?}");
    for flag in dangers {
        assert!(RISKY_FLAGS.contains(&flag.as_str()), "--{flag}");
    }
}

#[test]
fn no_tip_proposes_a_risk() {
    let mistyped = [
        "source",
        "source-off",
        "accept",
        "accept-all",
        "drop",
        "auto-approve",
        "assume-yes",
        "no-lock",
        "takeover",
        "no-verify",
        "force",
        "yes",
        "without-plugin",
        "no-wai",
        "target-gon",
        "hand-over",
        "unlock",
        "world-change",
        "unpaus",
    ];
    for verb in ["", "plan", "move", "resume", "rollback", "status"] {
        for flag in mistyped {
            let error = parsed(&format!("pivot-host {verb} --{flag}")).unwrap_err();
            assert!(error.contains(&format!("unexpected argument '--{flag}' found")), "{error}");
            for risky in RISKY_FLAGS {
                let named = error.split(|c: char| !(c.is_alphanumeric() || c == '-'));
                let named = named.filter(|word| *word == format!("--{risky}")).count();
                assert_eq!(named, 0, "pivot-host {verb} --{flag}: {error}");
            }
        }
    }
    let error = parsed("pivot-host move --force").unwrap_err();
    assert!(error.contains("there is no such flag: read the plan first"), "{error}");
    let error = parsed("pivot-host move --to-kubeconfi b").unwrap_err();
    assert!(error.contains("'--to-kubeconfig'"), "{error}");
}
