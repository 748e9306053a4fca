//! Command lines, and the tasks they turn into.

mod clusterctl;
mod described;
mod help;
mod kubectl;
mod later_commands;
mod manual;
mod pages;
mod pivots;
mod risks;
mod selection;
mod service;

use std::path::PathBuf;
use std::time::Duration;

use clap::CommandFactory;
use expect_test::{Expect, expect};
use pivot_core::Side;
use pivot_core::messages::risk::Risk;
use pivot_core::request::scope::Namespaces;
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
fn only_moves_between_clusters_have_guards() {
    assert!(choices("pivot-host move --to-kubeconfig b --guard").options(None).guard);
    assert!(!choices("pivot-host move --to-kubeconfig b").options(None).guard);
    for line in [
        "move --to-directory d --guard",
        "resume --to-kubeconfig b --guard",
        "plan --to-kubeconfig b --guard",
    ] {
        assert!(parsed(&format!("pivot-host {line}")).is_err(), "{line}");
    }
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
fn reports_get_the_words_of_the_command() {
    for (flags, command) in [
        ("--to-kubeconfig b", "move"),
        ("--to-kubeconfig b", "resume"),
        ("--to-kubeconfig b", "rollback"),
        ("d", "backup"),
        ("d", "handover start"),
        ("--to-kubeconfig b", "handover finish"),
        ("--accept maybe-imported", "handover cancel"),
    ] {
        assert_eq!(choices(&format!("pivot-host {command} {flags}")).command, command);
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
            "--accept unprovisioned: this command can't use it; it can use dangling, gitops, existing-differs, pause-unchecked, unseen, unverified, takeover-unchecked, plugins-changed, copy-changed, world-changed"
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
    for line in ["pivot-host plan show plan.json -o html", "pivot-host -o html plan show plan.json"] {
        assert!(matches!(meant(line), Task::SavedPlan(_)), "{line}");
    }
    let shown = parsed("pivot-host plan show plan.json -o dot").unwrap_err();
    assert!(shown.contains("[possible values: text, json, yaml, html]"), "{shown}");
    let differs = parsed("pivot-host plan diff a b -o html").unwrap_err();
    assert!(differs.contains("[possible values: text, json, yaml]"), "{differs}");
    refused(
        "pivot-host -o dot plan show plan.json",
        &expect!["-o dot, mermaid and html draw a plan: they go with `plan` and `move --dry-run`"],
    );
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
