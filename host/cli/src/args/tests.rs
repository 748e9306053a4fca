//! Command lines, and the tasks they turn into.

mod described;
mod help;
mod kubectl;
mod manual;
mod pages;
mod pivots;
mod risks;
mod service;

use std::path::PathBuf;
use std::time::Duration;

use clap::CommandFactory;
use expect_test::{Expect, expect};
use pivot_core::Side;
use pivot_core::risk::Risk;
use pivot_core::scope::Namespaces;
use pivot_engine::{DryRun, Resume, Rollback};

use super::clusters::Namespace;
use super::flags::Cli;
use super::*;

fn parsed(line: &str) -> Result<Cli, String> {
    let typed: Vec<_> = line.split_whitespace().map(Into::into).collect();
    parse(&typed).map_err(|error| error.to_string())
}

fn meant(line: &str) -> Task {
    match check(parsed(line).unwrap()) {
        Ok(task) => task,
        Err(UsageError(text)) => panic!("{line}: {text}"),
    }
}

fn choices(line: &str) -> Choices {
    match meant(line) {
        Task::Plan(choices)
        | Task::Move(choices)
        | Task::Status(choices, _)
        | Task::Resume(choices, _)
        | Task::Rollback(choices, _) => choices,
        other => panic!("{other:?}"),
    }
}

fn resume(line: &str) -> Resume {
    let Task::Resume(_, resume) = meant(line) else { panic!("{line}") };
    resume
}

fn rollback(line: &str) -> Rollback {
    let Task::Rollback(_, rollback) = meant(line) else { panic!("{line}") };
    rollback
}

fn refused(line: &str, expected: &Expect) {
    match parsed(line).map(check) {
        Ok(Err(UsageError(text))) => expected.assert_eq(&text),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_flags_make_a_consistent_command() {
    Cli::command().debug_assert();
    command(None).debug_assert();
}

#[test]
fn flags_have_variables_unless_they_accept_risks() {
    let mut command = command(None);
    command.build();
    let mut flags = 0;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        for flag in verb.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str())) {
            let Some(long) = flag.get_long() else { continue };
            let variable = format!("PIVOT_HOST_{}", long.to_uppercase().replace('-', "_"));
            let variable = (!super::risks::RISKY_FLAGS.contains(&long)).then_some(variable);
            assert_eq!(flag.get_env().and_then(|name| name.to_str()), variable.as_deref(), "--{long}");
            flags += 1;
        }
    }
    assert!(flags > 60, "{flags}");
}

#[test]
fn clusterctl_lines_mean_what_they_meant() {
    let choices = choices(
        "clusterctl-pivot move --kubeconfig a --kubeconfig-context x --to-kubeconfig b \
         --to-kubeconfig-context y -n ns --hide-api-warnings none",
    );
    let (SourceEnd::Kube(source), TargetEnd::Kube(target)) = (&choices.ends.source, &choices.ends.target)
    else {
        panic!("{:?}", choices.ends)
    };
    assert_eq!((source.kubeconfig.as_deref(), source.context.as_deref()), (Some("a".as_ref()), Some("x")));
    assert_eq!((target.kubeconfig.as_deref(), target.context.as_deref()), (Some("b".as_ref()), Some("y")));
    assert_eq!(choices.options(Some("other")).scope.namespaces, Namespaces::One("ns".into()));
}

#[test]
fn examples_of_clusterctls_help_keep_their_meaning() {
    let Task::Move(to_cluster) = meant("clusterctl-pivot move --to-kubeconfig=target-kubeconfig.yaml") else {
        panic!()
    };
    let TargetEnd::Kube(target) = &to_cluster.ends.target else { panic!("{to_cluster:?}") };
    assert_eq!(target.kubeconfig.as_deref(), Some("target-kubeconfig.yaml".as_ref()));
    let Task::Move(to_files) = meant("clusterctl-pivot move --to-directory /tmp/backup-directory") else {
        panic!()
    };
    assert!(matches!(to_files.ends.target, TargetEnd::Directory(_)) && !to_files.hands_over());
    let line = "clusterctl-pivot move --from-directory /tmp/backup-directory";
    let Task::Move(from_files) = meant(line) else { panic!() };
    let TargetEnd::Kube(target) = &from_files.ends.target else { panic!("{from_files:?}") };
    assert!(from_files.target_is_implied && target.context.is_none(), "{target:?}");
    let named = from_files.with_target_context("prod");
    let TargetEnd::Kube(target) = &named.ends.target else { panic!("{named:?}") };
    assert_eq!(target.context.as_deref(), Some("prod"));
    // Only where clusterctl has the command.
    let Task::Plan(planned) = meant("pivot-host plan --from-directory d") else { panic!() };
    assert!(matches!(planned.ends.target, TargetEnd::None));
    assert!(!choices("pivot-host move --from-directory d --to-kubeconfig b").target_is_implied);
}

#[test]
fn each_flag_of_clusterctls_move_is_here() {
    let line = "clusterctl-pivot move --kubeconfig=a --kubeconfig-context=x --to-kubeconfig=b --to-kubeconfig-context=y \
                --namespace=ns --dry-run=true --hide-api-warnings=none";
    let Task::Plan(choices) = meant(line) else { panic!() };
    assert_eq!(choices.options(None).scope.namespaces, Namespaces::One("ns".into()));
    for (flag, hidden) in [("default", Hide::Default), ("all", Hide::All), ("none", Hide::None)] {
        let line = format!("clusterctl-pivot move --to-directory d --hide-api-warnings {flag}");
        assert_eq!(parsed(&line).unwrap().look.hide_api_warnings, hidden);
    }
}

#[test]
fn without_a_namespace_it_is_the_contexts() {
    let choices = choices("pivot-host move --to-kubeconfig b");
    let namespace = |of_context| choices.options(of_context).scope.namespaces;
    assert_eq!(namespace(Some("ctx")), Namespaces::One("ctx".into()));
    assert_eq!(namespace(None), Namespaces::One("default".into()));
}

#[test]
fn a_directory_is_taken_whole() {
    let whole = choices("pivot-host plan --from-directory d");
    assert_eq!(whole.options(None).scope.namespaces, Namespaces::All);
    let part = choices("pivot-host plan --from-directory d -n ns");
    assert_eq!(part.options(None).scope.namespaces, Namespaces::One("ns".into()));
}

#[test]
fn clusters_are_named_within_what_moves() {
    let scope = |line: &str| {
        let scope = choices(&format!("pivot-host move --to-kubeconfig b {line}")).options(Some("ctx")).scope;
        format!("{:?} {scope}", scope.namespaces)
    };
    for (line, expected) in [
        ("--cluster a", r#"One("ctx") Cluster ctx/a"#),
        ("-n ns --cluster a --cluster ns/b", r#"One("ns") Clusters ns/a and ns/b"#),
        ("--cluster a,b,a", r#"One("ctx") Clusters ctx/a and ctx/b"#),
        // Their namespace is the one that moves, if nothing else was said.
        ("--cluster ns/a --cluster ns/b", r#"One("ns") Clusters ns/a and ns/b"#),
        ("-A --cluster ns/a --cluster other/a", "All Clusters ns/a and other/a"),
        ("-n ns", r#"One("ns") namespace ns"#),
    ] {
        assert_eq!(scope(line), expected, "{line}");
    }
    for (line, expected) in [
        ("-A --cluster a", expect!["--cluster a: with --all-namespaces, write it as NAMESPACE/NAME"]),
        (
            "-n ns --cluster other/a",
            expect!["--cluster other/a is not in namespace ns, which is the one that moves"],
        ),
        (
            "--cluster ns/a,b",
            expect!["--cluster b: write NAMESPACE/NAME like the others, or add --namespace"],
        ),
        (
            "--cluster ns/a,other/b",
            expect!["Clusters of several namespaces (ns, other) need --all-namespaces"],
        ),
        (
            "--cluster ns/a/b",
            expect![[r#"--cluster "ns/a/b": "a/b" isn't a valid name; write NAME or NAMESPACE/NAME"#]],
        ),
        (
            "--cluster ns/",
            expect![[r#"--cluster "ns/": "" isn't a valid name; write NAME or NAMESPACE/NAME"#]],
        ),
    ] {
        refused(&format!("pivot-host move --to-kubeconfig b {line}"), &expected);
    }
    refused(
        "pivot-host plan --from-directory d --cluster a",
        &expect!["--cluster a: with --all-namespaces, write it as NAMESPACE/NAME"],
    );
}

#[test]
fn parts_are_kinds_or_objects() {
    let excluded = choices(
        "pivot-host move --to-kubeconfig b --exclude Secret,Pool.g.io/ns/p --exclude Identity.g.io/i",
    );
    let excluded: Vec<_> = excluded.options(None).scope.exclude.iter().map(ToString::to_string).collect();
    assert_eq!(excluded, ["Secret", "Identity.g.io/i", "Pool.g.io/ns/p"]);
    let added =
        choices("pivot-host move --to-kubeconfig b --with-manifest bom.yaml --with-manifest out/pull.json");
    assert_eq!(added.add, ["bom.yaml", "out/pull.json"].map(PathBuf::from));
    let resumed = choices("pivot-host resume --to-kubeconfig b --with-manifest bom.yaml");
    assert_eq!(resumed.add, [PathBuf::from("bom.yaml")]);
    assert!(parsed("pivot-host rollback --to-kubeconfig b --with-manifest bom.yaml").is_err());
    let carried =
        choices("pivot-host move --to-kubeconfig b --also-copy ConfigMap/ns/bom --also-copy Secret");
    let carried: Vec<_> = carried.options(None).scope.also_copy.iter().map(ToString::to_string).collect();
    assert_eq!(carried, ["ConfigMap/ns/bom", "Secret"]);
    refused(
        "pivot-host move --to-kubeconfig b --also-copy secrets",
        &expect![[
            r#"--also-copy "secrets": not a kind; write it as in manifests, like Machine.cluster.x-k8s.io/NAMESPACE/NAME"#
        ]],
    );
    for (typed, expected) in [
        (
            "secret/ns/a",
            expect![[
                r#"--exclude "secret/ns/a": not a kind; write it as in manifests, like Machine.cluster.x-k8s.io/NAMESPACE/NAME"#
            ]],
        ),
        (
            "Secret/ns/",
            expect![[
                r#"--exclude "Secret/ns/": "" isn't a valid name; write KIND.group, KIND.group/NAMESPACE/NAME, KIND.group/NAMESPACE/* or KIND.group:LABEL=VALUE"#
            ]],
        ),
        (
            "Secret//a",
            expect![[
                r#"--exclude "Secret//a": "" isn't a valid name; write KIND.group, KIND.group/NAMESPACE/NAME, KIND.group/NAMESPACE/* or KIND.group:LABEL=VALUE"#
            ]],
        ),
        (
            "Secret/ns/a/b",
            expect![[
                r#"--exclude "Secret/ns/a/b": write KIND.group, KIND.group/NAMESPACE/NAME, KIND.group/NAMESPACE/* or KIND.group:LABEL=VALUE"#
            ]],
        ),
        (
            "Secret.g..io",
            expect![[
                r#"--exclude "Secret.g..io": "g..io" isn't a valid API group; write KIND.group, KIND.group/NAMESPACE/NAME, KIND.group/NAMESPACE/* or KIND.group:LABEL=VALUE"#
            ]],
        ),
        (
            "*",
            expect![[
                r#"--exclude "*": "*" isn't a valid kind; write KIND.group, KIND.group/NAMESPACE/NAME, KIND.group/NAMESPACE/* or KIND.group:LABEL=VALUE"#
            ]],
        ),
    ] {
        refused(&format!("pivot-host move --to-kubeconfig b --exclude {typed}"), &expected);
    }
}

#[test]
fn target_context_alone_uses_sources_kubeconfig() {
    let choices = choices("pivot-host move --kubeconfig both --to-kubeconfig-context y");
    let TargetEnd::Kube(target) = &choices.ends.target else { panic!("{:?}", choices.ends) };
    assert_eq!((target.kubeconfig.as_deref(), target.context.as_deref()), (Some("both".as_ref()), Some("y")));
}

#[test]
fn quiet_and_verbose_exclude_each_other() {
    assert!(choices("pivot-host plan --from-directory d --tree").tree);
    assert!(!choices("pivot-host plan --from-directory d").tree);
    assert!(parsed("pivot-host move -q --to-kubeconfig b").unwrap().look.quiet);
    assert!(parsed("pivot-host plan --quiet -v").unwrap_err().contains("cannot be used with"));
}

// proves: D2, W2
#[test]
fn w2_a_dry_run_is_a_plan() {
    for (line, expected) in [
        ("pivot-host plan", DryRun::Plan),
        ("pivot-host move --dry-run", DryRun::Plan),
        ("pivot-host move --dry-run --to-kubeconfig b", DryRun::Plan),
        ("pivot-host move --dry-run=client --to-directory d", DryRun::Plan),
        ("pivot-host move --dry-run=true --to-directory d", DryRun::Plan),
        ("pivot-host move --dry-run=True --to-directory d", DryRun::Plan),
        ("pivot-host move --dry-run=1 --to-directory d", DryRun::Plan),
        ("pivot-host move --dry-run=t --to-directory d", DryRun::Plan),
        ("pivot-host move --dry-run=server --to-kubeconfig b", DryRun::Server),
    ] {
        let Task::Plan(choices) = meant(line) else { panic!("{line}") };
        assert_eq!(choices.options(None).dry_run, expected, "{line}");
    }
    for flag in ["", "--dry-run=none", "--dry-run=false", "--dry-run=False", "--dry-run=0", "--dry-run=F"] {
        let Task::Move(choices) = meant(&format!("pivot-host move --to-kubeconfig b {flag}")) else {
            panic!("{flag}")
        };
        assert_eq!(choices.options(None).dry_run, DryRun::Off);
    }
    assert!(parsed("pivot-host move --to-kubeconfig b --dry-run=plan").is_err());
}

#[test]
fn accepted_risks_reach_the_options() {
    let choices = choices(
        "pivot-host move --to-kubeconfig b -A --accept owner-dropped=A.g --accept owner-dropped=C.g --accept dependents-lost=D \
         --accept already-paused --accept existing-differs --accept unverified=E.g --map-namespace x=y,a=b --break-lease",
    );
    let options = choices.options(None);
    let of_scope = [
        "--accept",
        "owner-dropped=A.g",
        "--accept",
        "owner-dropped=C.g",
        "--accept",
        "dependents-lost=D",
        "--accept",
        "already-paused",
    ];
    assert_eq!(super::risks::words(&options.scope.accept), of_scope);
    let of_run = ["--accept", "existing-differs", "--accept", "unverified=E.g"];
    assert_eq!(super::risks::words(&options.accept), of_run);
    assert_eq!(options.scope.namespace_map.to_string(), "a as b, x as y");
    assert!(options.break_lease);
    assert_eq!(options.scope.namespaces, Namespaces::All);
}

#[test]
fn waiting_is_said_as_people_say_it() {
    let options = choices(
        "pivot-host move --to-kubeconfig b --pause-timeout 90 --check-timeout 1h30m --takeover-timeout 2m \
         --accept pause-unchecked --accept takeover-unchecked --unpause-batch 1 --accept unverified=A.g --accept unverified=B.g --stop-before release",
    );
    // A run that resumes the move gets the same flags, but doesn't stop where this one did.
    let decided = [
        "--unpause-batch",
        "1",
        "--accept",
        "pause-unchecked",
        "--accept",
        "unverified=A.g",
        "--accept",
        "unverified=B.g",
        "--accept",
        "takeover-unchecked",
    ];
    assert_eq!(options.flags_to_resume(), decided);
    let options = options.options(None);
    assert_eq!(options.pause_timeout, Duration::from_secs(90));
    assert_eq!(options.check_timeout, Duration::from_secs(5400));
    assert_eq!(options.takeover_timeout, Duration::from_secs(120));
    assert!(options.stop_before_release);
}

#[test]
fn unpause_batch_has_default_and_bounds() {
    for verb in ["move --to-kubeconfig b", "resume --to-kubeconfig b"] {
        let at_once = |flag| choices(&format!("pivot-host {verb} {flag}")).options(None).unpause_batch;
        assert_eq!(["", "--unpause-batch 1", "--unpause-batch 64"].map(at_once), [8, 1, 64], "{verb}");
    }
    for value in ["0", "65", "many", "-1"] {
        let refused =
            parsed(&format!("pivot-host move --to-kubeconfig b --unpause-batch={value}")).unwrap_err();
        assert!(refused.contains(&format!("invalid value '{value}' for '--unpause-batch <N>'")), "{refused}");
    }
}

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
fn reports_get_the_words_of_the_command() {
    for (flags, command) in [
        ("--to-kubeconfig b", "move"),
        ("--to-kubeconfig b", "resume"),
        ("--to-kubeconfig b", "rollback"),
        ("d", "handover start"),
        ("--to-kubeconfig b", "handover finish"),
        ("--accept maybe-imported", "handover cancel"),
    ] {
        assert_eq!(choices(&format!("pivot-host {command} {flags}")).command, command);
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

#[test]
fn impersonated_user_belongs_to_a_side() {
    let choices = choices("pivot-host move --to-kubeconfig b --as u --as-group g --as-group h --to-as v");
    let (SourceEnd::Kube(source), TargetEnd::Kube(target)) = (&choices.ends.source, &choices.ends.target)
    else {
        panic!("{:?}", choices.ends)
    };
    assert_eq!(source.impersonate.as_deref(), Some("u"));
    assert_eq!(source.impersonate_groups, ["g", "h"]);
    assert_eq!(target.impersonate.as_deref(), Some("v"));
}

#[test]
fn what_makes_no_sense_is_said() {
    refused(
        "pivot-host move",
        &expect![
            "a target is required: --to-kubeconfig, --to-kubeconfig-context, --to-workload or --to-directory"
        ],
    );
    refused(
        "pivot-host move --to-kubeconfig b --to-directory d",
        &expect![
            "--to-directory excludes --to-kubeconfig, --to-kubeconfig-context and --to-as: the target is one or the other"
        ],
    );
    refused(
        "pivot-host plan --from-directory d --kubeconfig a",
        &expect![
            "--from-directory excludes --kubeconfig, --kubeconfig-context and --as: the source is one or the other"
        ],
    );
    refused("pivot-host plan -n ns -A", &expect!["--namespace and --all-namespaces exclude each other"]);
    refused(
        "pivot-host move --dry-run=server --to-directory d",
        &expect!["--dry-run=server asks the target's server, so it needs --to-kubeconfig or --to-workload"],
    );
    refused(
        "pivot-host move --to-kubeconfig b --takeover-timeout soon",
        &expect![[r#"--takeover-timeout "soon" is not a duration; write 90s, 5m or 1h30m"#]],
    );
    for (accept, why) in [
        (
            "owner-dropped=machine",
            r#"--accept "owner-dropped=machine": not a kind; write it as in manifests, like Machine.cluster.x-k8s.io"#,
        ),
        (
            "owner-dropped=A.g/b",
            r#"--accept "owner-dropped=A.g/b": "g/b" isn't a valid API group; write one kind, like Machine.cluster.x-k8s.io"#,
        ),
        ("unprovisioned=A.g", r#"--accept "unprovisioned=A.g": unprovisioned takes no kind"#),
        ("all", r#""all" is not the code of a risk; `explain` lists all of them"#),
    ] {
        let cli = parsed(&format!("pivot-host plan --accept {accept}")).unwrap();
        assert_eq!(check(cli).unwrap_err(), UsageError(why.to_owned()));
    }
    for bare in ["owner-dropped", "owner-dropped=*", "owner-dropped=Secret,A.g"] {
        let planned = choices(&format!("pivot-host plan --accept {bare}"));
        assert_eq!(planned.without_kind, [Risk::OwnerDropped], "the plan finds the kinds");
    }
    for command in ["handover finish", "resume"] {
        let typed = choices(&format!("pivot-host {command} --to-kubeconfig b --accept copy-changed"));
        assert_eq!(typed.without_kind, [Risk::CopyChanged], "the record has the kinds");
    }
    refused(
        "pivot-host resume --to-kubeconfig b --accept unprovisioned",
        &expect![
            "--accept unprovisioned: this command can't use it; it can use existing-differs, pause-unchecked, unverified, takeover-unchecked, plugins-changed, copy-changed, world-changed"
        ],
    );
    for (line, code) in [
        ("handover start d", "source-may-run"),
        ("handover start d", "plugins-changed"),
        ("generate rbac --side source --to-kubeconfig b", "pause-unchecked"),
        ("plan", "pause-unchecked"),
    ] {
        let other = check(parsed(&format!("pivot-host {line} --accept {code}")).unwrap()).unwrap_err();
        let why = match code {
            "pause-unchecked" => "a move uses it, or a plan that is saved with --out; leave it out here",
            _ => "this command can't use it; it can use owner-dropped",
        };
        assert!(other.0.starts_with(&format!("--accept {code}: {why}")), "{other:?}");
    }
    refused(
        "pivot-host plan --identity k",
        &expect!["--identity opens a directory, so it needs --from-directory"],
    );
    refused(
        "pivot-host move --to-kubeconfig b --encrypt-to r",
        &expect!["--encrypt-to is for the files of a directory, so it needs --to-directory"],
    );
    refused(
        "pivot-host plan --as-group g",
        &expect!["--as-group needs --as, and --to-as-group needs --to-as"],
    );
    refused(
        "pivot-host generate rbac --side source -n shop",
        &expect![
            "--side source: what a move needs depends on where it goes; name the target with --to-kubeconfig, --to-workload or --to-directory"
        ],
    );
    refused(
        "pivot-host rollback",
        &expect!["the move's target is required: --to-kubeconfig, --to-workload or --to-directory"],
    );
}

#[test]
fn workload_cluster_is_in_the_objects_namespace() {
    let within = |line: &str| match choices(line).ends.target {
        TargetEnd::Workload(workload) => (workload.within, workload.name),
        other => panic!("{line}: {other:?}"),
    };
    let named = |namespace: &str| Within::Namespace(namespace.into());
    for (line, expected) in [
        ("move --to-workload c", Within::OfContext),
        ("move --to-workload c -n ns", named("ns")),
        ("move --to-workload other/c -n ns", named("other")),
        ("move --to-workload other/c -A", named("other")),
        ("plan --to-workload c -A", Within::Any),
        ("move --dry-run=server --to-workload c -A", Within::Any),
        ("status --to-workload c", Within::Any),
        ("resume --to-workload ns/c", named("ns")),
        ("rollback --to-workload ns/c", named("ns")),
    ] {
        assert_eq!(within(&format!("pivot-host {line}")), (expected, "c".to_owned()), "{line}");
    }
    let choices = choices("pivot-host move --to-workload c --as u --to-as v --to-as-group g");
    let TargetEnd::Workload(Workload { options, .. }) = &choices.ends.target else { panic!() };
    assert_eq!((options.impersonate.as_deref(), options.impersonate_groups.len()), (Some("v"), 1));
}

#[test]
fn workload_target_excludes_others_needs_source() {
    for more in ["--to-kubeconfig b", "--to-kubeconfig-context y", "--to-directory d"] {
        refused(
            &format!("pivot-host move --to-workload c {more}"),
            &expect![
                "--to-workload excludes --to-kubeconfig, --to-kubeconfig-context and --to-directory: the target is one of them"
            ],
        );
    }
    for line in ["plan --from-directory d", "resume --without-source"] {
        refused(
            &format!("pivot-host {line} --to-workload c"),
            &expect![
                "--to-workload reads a kubeconfig from the source cluster, so --from-directory and --without-source need --to-kubeconfig"
            ],
        );
    }
    for typed in ["", "/c", "ns/", "a/b/c", "C", "-c", "c-", "c:x", "ns/c\u{202e}"] {
        let line = ["pivot-host", "plan", &format!("--to-workload={typed}")].map(Into::into);
        let Err(UsageError(text)) = parse(&line).map(check).unwrap() else { panic!("{typed:?}") };
        assert_eq!(
            text,
            format!(
                "--to-workload: {typed:?} is not a valid name of a Cluster; write NAME or NAMESPACE/NAME"
            )
        );
    }
}

#[test]
fn the_usage_text_follows_our_name() {
    let usage = |line| parsed(line).unwrap_err();
    assert!(usage("/usr/bin/kubectl-pivot move --nope").contains("Usage: kubectl pivot move"));
    assert!(usage("clusterctl-pivot --nope").contains("Usage: clusterctl pivot"));
    assert!(usage("pivot-host --nope").contains("Usage: pivot-host"));
}

#[test]
fn verbosity_may_be_a_number() {
    let verbose = |line: &str| parsed(line).unwrap_or_else(|error| panic!("{line}: {error}")).look.verbose;
    for (flags, expected) in [
        ("", 0),
        ("-v", 1),
        ("-v -v", 2),
        ("-vvv", 3),
        ("-v 0", 0),
        ("-v=1", 1),
        ("-v2", 2),
        ("-v 5", 5),
        ("--v 5", 5),
        ("--v=5", 5),
        ("--verbose=5", 5),
        ("--verbose 5", 5),
        ("-v 5 -v", 6),
        ("-v 10", 9),
        ("-v=99999999999999999999999", 9),
    ] {
        assert_eq!(verbose(&format!("pivot-host plan {flags} -n 5")), expected, "{flags}");
        assert_eq!(verbose(&format!("pivot-host {flags} plan -n 5")), expected, "{flags}");
    }
    assert_eq!(choices("pivot-host plan -v -n 5").namespace, Namespace::Named("5".into()));
    for line in ["plan -v five", "plan -v=", "plan -v=-1", "plan --v", "plan 5 -v", "plan -- -v 5"] {
        parsed(&format!("pivot-host {line}")).unwrap_err();
    }
}

#[test]
fn only_a_plan_is_drawn() {
    for line in ["pivot-host plan -o dot", "pivot-host move --to-kubeconfig t --dry-run -o mermaid"] {
        assert!(matches!(meant(line), Task::Plan(_)), "{line}");
    }
    for line in ["pivot-host move --to-kubeconfig t -o dot", "pivot-host -o html version"] {
        refused(
            line,
            &expect!["-o dot, mermaid and html draw a plan: they go with `plan` and `move --dry-run`"],
        );
    }
    let other = parsed("pivot-host status -o html").unwrap_err();
    assert!(other.contains("[possible values: text, json, yaml]"), "{other}");
    let shown = parsed("pivot-host plan show plan.json -o html").unwrap_err();
    assert!(shown.contains("[possible values: text, json, yaml]"), "{shown}");
    let formats =
        ["-o yaml status", "status -o yaml"].map(|line| parsed(&format!("pivot-host {line}")).unwrap());
    assert!(formats.iter().all(|cli| cli.look.output == OutputFormat::Yaml), "{formats:?}");
}

#[test]
fn reports_are_pages_or_documents() {
    for line in [
        "pivot-host move --to-kubeconfig t --report r.html",
        "pivot-host resume --to-kubeconfig t --report r.JSON",
        "pivot-host rollback --to-kubeconfig t --report r.json",
        "pivot-host plan --report r.html",
        "pivot-host move --to-kubeconfig t --dry-run --report r.json",
        "pivot-host handover start d --dry-run --report r.json",
    ] {
        assert!(choices(line).report.is_some(), "{line}");
    }
    refused(
        "pivot-host rollback --to-kubeconfig t --report report",
        &expect![[r#"--report "report": the name has to end in .html or .json"#]],
    );
}
