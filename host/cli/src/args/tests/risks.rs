//! Flags that accept a risk are typed on purpose.

use pivot_core::GroupKind;
use pivot_core::messages::risk::AcceptedBy;

use super::super::risks::RISKY_FLAGS;
use super::*;

#[test]
fn each_risk_code_has_a_command() {
    let commands = [
        AcceptedBy::Move,
        AcceptedBy::StartHandover,
        AcceptedBy::Plan,
        AcceptedBy::Resume,
        AcceptedBy::Rollback,
        AcceptedBy::FinishHandover,
        AcceptedBy::CancelHandover,
    ];
    let flags = [Risk::LeaseBroken, Risk::WithoutSource, Risk::WithoutTarget];
    for risk in Risk::ALL {
        let of_commands: Vec<_> = commands.into_iter().filter(|by| risk.is_accepted_by(*by)).collect();
        assert_eq!(of_commands.is_empty(), flags.contains(&risk), "{risk}");
        // A run that continues a move takes the risks of its scope from its record.
        if risk.is_of_scope() {
            let begins = [AcceptedBy::Move, AcceptedBy::StartHandover, AcceptedBy::Plan];
            let of_directories = [AcceptedBy::Move, AcceptedBy::Plan];
            let begins = if risk == Risk::SourceMayRun { &of_directories[..] } else { &begins };
            assert_eq!(of_commands, begins, "{risk}");
        }
        // A Pivot moves and continues its move, and nobody is there who could name a directory.
        let moves = of_commands.iter().any(|by| *by != AcceptedBy::Rollback);
        assert!(moves || !risk.is_accepted_by(AcceptedBy::Pivot), "{risk}");
    }
    assert!(!Risk::SourceMayRun.is_accepted_by(AcceptedBy::Pivot));
}

#[test]
fn completion_offers_usable_codes() {
    let codes = |words: &[&str]| {
        let words: Vec<_> = words.iter().chain(&["--accept", ""]).map(Into::into).collect();
        let lines = candidates(&words);
        lines.lines().filter_map(|line| Some(line.split_once('\t')?.0.to_owned())).collect::<Vec<_>>()
    };
    let typed = |risk: Risk| format!("{risk}{}", if risk.takes_kinds() { "=" } else { "" });
    let by = |by| Risk::accepted_by(by).map(typed).collect::<Vec<_>>();
    for (words, command) in [
        (&["move"][..], AcceptedBy::Move),
        (&["plan"], AcceptedBy::Plan),
        (&["doctor"], AcceptedBy::Plan),
        (&["handover", "start"], AcceptedBy::StartHandover),
        (&["generate", "rbac"], AcceptedBy::Plan),
        (&["resume"], AcceptedBy::Resume),
    ] {
        assert_eq!(codes(words), by(command), "{words:?}");
    }
}

#[test]
fn code_is_completed_up_to_its_kind() {
    let offered = |word: &str| candidates(&["move", "--accept", word].map(Into::into));
    let ends = |word: &str| offered(word).lines().last().unwrap_or_default().to_owned();
    assert!(
        offered("owner").starts_with("owner-dropped=\t") && ends("owner") == ":6",
        "{}",
        offered("owner")
    );
    assert!(offered("already").starts_with("already-paused\t") && ends("already") == ":4");
    assert_eq!((ends("un").as_str(), ends("nothing").as_str()), (":4", ":4"));
    assert!(candidates(&["explain", "owner"].map(Into::into)).starts_with("owner-dropped\t"));
}

#[test]
fn found_kinds_are_named_with_their_flags() {
    let found = [GroupKind::new("g.io", "A"), GroupKind::new("", "Secret")].into();
    assert_eq!(
        needs_kinds(Risk::OwnerDropped, &found),
        "--accept owner-dropped: name each kind that it is accepted for: --accept owner-dropped=Secret --accept owner-dropped=A.g.io"
    );
}

#[test]
fn kinds_of_a_move_are_named() {
    let kinds = [GroupKind::new("g.io", "A"), GroupKind::new("", "Secret")].into();
    assert_eq!(
        needs_kinds_of_move(Risk::CopyChanged, &kinds),
        "--accept copy-changed: write copy-changed=KIND.group for each kind; the kinds of the move are Secret, A.g.io"
    );
    assert_eq!(
        needs_kinds_of_move(Risk::CopyChanged, &Default::default()),
        "--accept copy-changed: write copy-changed=KIND.group for each kind; the refusal names the kinds"
    );
}

#[test]
fn saved_plan_accepts_risks_of_its_run() {
    let saved = choices("pivot-host plan --out p.json --accept pause-unchecked");
    assert!(saved.flags_to_resume().ends_with(&["--accept".to_owned(), "pause-unchecked".to_owned()]));
}

#[test]
fn no_tip_proposes_a_risk() {
    let mistyped = [
        "source",
        "source-off",
        "acept",
        "accept-all",
        "dro",
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
        "to",
        "target",
        "all",
        "selector",
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

#[test]
fn flags_of_other_programs_are_answered() {
    let target = "there is no such flag: name the target with --to-kubeconfig or --to-directory";
    for (typed, tip) in [
        ("--to prod", target),
        ("--to=prod", target),
        ("--target prod", target),
        ("--all", "there is no such flag: for all namespaces, type --all-namespaces"),
        ("--selector a=b", "there is no such flag: name Clusters one by one, with --cluster NAMESPACE/NAME"),
    ] {
        for verb in ["plan", "move"] {
            let error = parsed(&format!("pivot-host {verb} {typed}")).unwrap_err();
            assert!(error.contains(tip) && error.matches("tip:").count() == 1, "{verb} {typed}: {error}");
        }
    }
}
