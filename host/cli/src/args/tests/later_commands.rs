//! Commands that continue a move, or undo it: resume, rollback and the handover.

use super::*;

#[test]
fn a_resumed_move_takes_its_own_flags() {
    let Task::Resume(choices, resume) = meant(
        "pivot-host resume --to-kubeconfig b --without-source --accept plugins-changed --record-namespace r",
    ) else {
        panic!()
    };
    let options = choices.options(None);
    assert!(resume.without_source && options.accept.contains(Risk::PluginsChanged));
    assert_eq!(options.record_namespace, "r");
    assert!(matches!(choices.ends.source, SourceEnd::Gone));
}

#[test]
fn rollback_may_leave_out_the_target() {
    let Task::Rollback(choices, rollback) = meant("pivot-host rollback --kubeconfig a --without-target")
    else {
        panic!()
    };
    assert_eq!(rollback.absent, Some(Side::Target));
    assert!(matches!(choices.ends.target, TargetEnd::Gone));
}

#[test]
fn clusters_to_pause_are_named_in_full() {
    let line = "pivot-host resume --kubeconfig a --to-kubeconfig b --accept world-changed";
    let named = resume(&format!("{line} --pause ns/c --pause other/d")).pause;
    assert_eq!(named.iter().map(ToString::to_string).collect::<Vec<_>>(), ["ns/c", "other/d"]);
    refused(&format!("{line} --pause c"), &expect![[r#"--pause "c": write NAMESPACE/NAME"#]]);
}

#[test]
fn clusters_to_drop_from_are_named_in_full() {
    let line = "pivot-host resume --from-directory a --to-kubeconfig b";
    let named = resume(&format!("{line} --drop ns/c --drop other/d --unpause ns/e")).drop;
    assert_eq!(named.iter().map(ToString::to_string).collect::<Vec<_>>(), ["ns/c", "other/d"]);
    refused(&format!("{line} --drop c"), &expect![[r#"--drop "c": write NAMESPACE/NAME"#]]);
    refused(
        &format!("{line} --drop ns/c --unpause ns/c"),
        &expect!["--unpause runs ns/c as it is, so it excludes --drop"],
    );
}

#[test]
fn unpaused_clusters_are_named_in_full() {
    for verb in ["resume", "rollback"] {
        let line = format!("pivot-host {verb} --kubeconfig a --to-kubeconfig b --accept world-changed");
        let task = meant(&format!("{line} --plugins p --unpause ns/c --unpause other/d"));
        let (choices, unpause) = match task {
            Task::Resume(choices, resume) => (choices, resume.unpause),
            Task::Rollback(choices, rollback) => (choices, rollback.unpause),
            other => panic!("{other:?}"),
        };
        let named: Vec<String> = unpause.iter().map(ToString::to_string).collect();
        assert!(
            choices.options(None).accept.contains(Risk::WorldChanged) && named == ["ns/c", "other/d"],
            "{verb}: {named:?}"
        );
        refused(&format!("{line} --unpause c"), &expect![[r#"--unpause "c": write NAMESPACE/NAME"#]]);
        refused(
            &format!("{line} --unpause ns/../c"),
            &expect![[r#"--unpause "ns/../c": write NAMESPACE/NAME"#]],
        );
        let gone = parsed(&format!("{line} --without-source")).map(check);
        assert!(!matches!(gone, Ok(Ok(_))), "{verb}");
    }
    let other = check(parsed("pivot-host move --to-kubeconfig b --accept world-changed").unwrap());
    assert!(other.unwrap_err().0.contains("this command can't use it"));
}

#[test]
fn handover_starts_and_is_finished_or_canceled() {
    let options = |line: &str| choices(&format!("pivot-host handover {line}")).options(None);
    assert!(options("start d --kubeconfig a").handover);
    let Task::Plan(planned) = meant("pivot-host handover start d -A --dry-run") else { panic!() };
    assert!(planned.options(None).handover);
    assert!(choices("pivot-host plan --to-directory d --handover").options(None).handover);
    for target in ["--to-kubeconfig b", "--to-workload ns/c"] {
        let finished = resume(&format!("pivot-host handover finish --kubeconfig a {target}"));
        assert!(finished.imported, "{target}");
    }
    let finish = "finish --to-kubeconfig b --accept copy-changed=A.g --accept copy-changed=B.g 12";
    assert_eq!(options(finish).accept.kinds(Risk::CopyChanged).len(), 2);
    assert_eq!(resume(&format!("pivot-host handover {finish}")).move_id.as_deref(), Some("12"));
    let cancel = "cancel --kubeconfig a --accept maybe-imported";
    assert!(options(cancel).accept.contains(Risk::MaybeImported));
    let canceled = |target: &str| rollback(&format!("pivot-host handover {cancel} {target}"));
    assert_eq!(canceled("").absent, Some(Side::Target));
    for target in ["--to-kubeconfig b", "--to-kubeconfig-context b", "--to-workload ns/c", "--to-directory d"]
    {
        assert_eq!(canceled(target).absent, None, "{target}: it is asked");
    }
    refused(
        "pivot-host plan --from-directory a --to-directory d --handover",
        &expect!["a handover leaves its source paused; no controller runs the objects of a directory"],
    );
    refused(
        "pivot-host handover finish --kubeconfig a",
        &expect!["name the cluster that imported the directory: --to-kubeconfig or --to-workload"],
    );
    for line in [
        "plan --to-kubeconfig b --handover",
        "move --to-directory d --handover",
        "handover start",
        "handover start d --from-directory a",
        "handover start d --to-kubeconfig b",
        "handover finish --to-directory d",
        "handover cancel --without-target",
    ] {
        assert!(parsed(&format!("pivot-host {line}")).is_err(), "{line}");
    }
}

#[test]
fn moves_are_named_by_an_argument() {
    for verb in ["status", "resume --to-kubeconfig b", "rollback --to-kubeconfig b"] {
        let which = |id| match meant(&format!("pivot-host {verb} {id}")) {
            Task::Status(_, move_id) => move_id,
            Task::Resume(_, resume) => resume.move_id,
            Task::Rollback(_, rollback) => rollback.move_id,
            other => panic!("{other:?}"),
        };
        assert_eq!((which("4f1c"), which("")), (Some("4f1c".to_owned()), None), "{verb}");
        assert!(parsed(&format!("pivot-host {verb} --move 4f1c")).is_err(), "{verb}");
    }
}
