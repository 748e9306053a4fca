//! Golden texts: how runs end.

use std::time::Duration;

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::shell::Kubectl;
use pivot_core::plugins::hooks::{Finding, Hook, PluginFinding};
use pivot_engine::{Exit, Failure, HeldObject, HookError, Next, OneSidedMove, Report, Stop};
use pivot_places::PlaceError;

use super::*;

pub(super) fn stop(failure: Failure) -> Stop {
    Stop {
        failure,
        phase: Some(Phase::Copied),
        exit: Exit::PartWay,
        state: "the source is the truth".into(),
        next: vec![Next::Resume, Next::Rollback],
        move_id: None,
        times: vec![(Phase::Checked, Duration::from_millis(120))],
        done: [(Verb::Paused, [(GroupKind::new("cluster.x-k8s.io", "Cluster"), 2)].into())].into(),
    }
}

fn shown(stop: &Stop, told: AlreadyShown) -> String {
    let (output, _, err) = output(0, LogFormat::Text);
    print_stop(&output, stop, told, &["pivot-host resume".into(), "pivot-host rollback".into()]);
    err.text()
}

pub(super) fn held(name: &str, why: &str) -> HeldObject {
    HeldObject { object: key("infra.io", "Host", Some("ns"), name), why: why.into() }
}

pub(super) fn awaited(object: Option<Key>) -> Awaited {
    Awaited {
        object,
        side: None,
        plugin: Some("readiness".into()),
        what: "no controller of the target has written a status yet".into(),
        remedy: String::new(),
    }
}

#[test]
fn message_about_many_objects_is_printed_once() {
    let machines = |count: usize| (0..count).map(|n| capi("Machine", &format!("c1-m{n}")));
    let waits: Vec<Awaited> =
        machines(6).chain([capi("Cluster", "c1")]).map(|key| awaited(Some(key))).collect();
    check(
        shown(&stop(Failure::TimedOut(waits.clone())), AlreadyShown::Plan),
        &expect![[r#"
            error: timed out:
              - plugin readiness: no controller of the target has written a status yet (6 Machines: ns/c1-m0, ns/c1-m1, ns/c1-m2, … and 3 more)
              - plugin readiness: Cluster ns/c1: no controller of the target has written a status yet
            state: the source is the truth
            next:  pivot-host resume
               or  pivot-host rollback
        "#]],
    );
    let finding = |object| Finding {
        severity: Severity::Stop,
        code: "off".into(),
        message: "it is off".into(),
        object: Some(object),
        remedy: "switch it on".into(),
    };
    let found = |object| PluginFinding { plugin: "hosts".into(), finding: finding(object) };
    let findings = machines(2).map(found).collect();
    check(
        shown(&stop(Failure::Gate(findings)), AlreadyShown::Plan),
        &expect![[r#"
            error: a check says stop:
              - plugin hosts: it is off (off) (2 Machines: ns/c1-m0, ns/c1-m1); switch it on
            state: the source is the truth
            next:  pivot-host resume
               or  pivot-host rollback
        "#]],
    );
    let why = "still held: nothing more was released after a plugin said stop for Host ns/h4";
    let left = (7..200).map(|n| held(&format!("h{n:03}"), why)).chain([held("h004", "it broke")]);
    check(
        shown(&stop(Failure::Unsettled(left.collect())), AlreadyShown::Plan),
        &expect![[r#"
            error: moved, but these objects could not be released and stay paused:
              - still held: nothing more was released after a plugin said stop for Host ns/h4 (193 Hosts: ns/h007, ns/h008, ns/h009, … and 190 more)
              - Host ns/h004: it broke
            fix:   resume, which checks it again
               or  fix the plugins, and resume with --accept plugins-changed
            state: the source is the truth
            next:  pivot-host resume
               or  pivot-host rollback
        "#]],
    );
    let document = error_document(&stop(Failure::TimedOut(waits)), Vec::new());
    let document = serde_json::to_value(document).unwrap();
    assert_eq!(document["awaited"].as_array().unwrap().len(), 7, "a document has each of them: {document}");
}

#[test]
fn missing_rights_lead_to_rbac() {
    let error = PlaceError::Forbidden("User \"jane\" cannot list".into());
    let failure =
        Failure::Place { side: Side::Target, doing: "listing configmaps".into(), object: None, error };
    check(
        shown(&stop(failure), AlreadyShown::Nothing),
        &expect![[r#"
            error: listing configmaps in the target: forbidden: User "jane" cannot list
            fix:   ask an administrator of the target to print and apply the roles: `generate rbac --side target --bind-to USER`, with the scope of this command
               or  name a kubeconfig of a user with that permission: --to-kubeconfig
            state: the source is the truth
            next:  pivot-host resume
               or  pivot-host rollback
        "#]],
    );
    crate::next::tests::typed(
        &["generate", "rbac", "--side", "target", "--bind-to", "USER", "--to-kubeconfig", "b"]
            .map(str::to_owned),
    );
}

#[test]
fn silent_controllers_are_looked_at_first() {
    let stop = stop(Failure::NotTakenOver(vec![awaited(Some(capi("Cluster", "c1")))]));
    let flags = ["--kubeconfig", "to it", "--context", "prod"].map(str::to_owned).to_vec();
    let (output, _, err) = output(0, LogFormat::Text);
    let advice = Advice::new(&stop, &Both::new(Vec::new(), flags), Vec::new());
    output.report_stop(&stop, AlreadyShown::Nothing, &advice);
    let fix = err.text().lines().find(|line| line.starts_with("fix:")).unwrap().to_owned();
    assert_eq!(
        fix,
        "fix:   check that the target's controllers run: `kubectl --kubeconfig 'to it' --context prod get deployments -A -l \
         cluster.x-k8s.io/provider -o wide`"
    );
}

#[test]
fn silent_server_has_its_own_reason() {
    let failure = || Failure::Unreachable {
        side: Side::Source,
        place: "boot".into(),
        named_in: None,
        why: "refused".into(),
    };
    let reason = |exit| {
        let stop = Stop { exit, ..stop(failure()) };
        serde_json::to_value(error_document(&stop, Vec::new())).unwrap()["reason"].clone()
    };
    assert_eq!(
        (reason(Exit::Unreachable), reason(Exit::PastCommit)),
        ("Unreachable".into(), "PastCommit".into())
    );
}

#[test]
fn shortened_list_counts_and_names_the_flag() {
    let failure =
        || Failure::Unsettled((0..25).map(|n| held(&format!("h{n:02}"), &format!("why {n}"))).collect());
    let text = shown(&stop(failure()), AlreadyShown::Nothing);
    assert!(text.contains("  - Host ns/h19: why 19\n  and 5 more; -v shows them\n"), "{text}");
    let (output, _, err) = output(1, LogFormat::Text);
    print_stop(&output, &stop(failure()), AlreadyShown::Nothing, &[]);
    assert!(err.text().contains("Host ns/h24") && !err.text().contains(" more"), "{}", err.text());
    // A document lists all of them, and programs get no hint at flags.
    let document = serde_json::to_value(error_document(&stop(failure()), Vec::new())).unwrap();
    assert_eq!(document["held"].as_array().unwrap().len(), 25);
    assert!(document["message"].as_str().unwrap().ends_with("and 5 more"), "{document}");
}

#[test]
fn remedies_for_directories_have_no_kubectl_commands() {
    let remedies = |more: &[Remedy]| {
        let look = Kubectl::object(Side::Source, "get", &capi("Cluster", "c"), &[]);
        let look = Remedy::kubectl("look: ", look, "");
        let refusal = Refusal::source("a", capi("Cluster", "c"), "text".to_owned(), look);
        let refusal = Refusal { remedies: [&refusal.remedies[..], more].concat(), ..refusal };
        let failure = Failure::Refused(vec![refusal]);
        match name_kubeconfigs(stop(failure), &Both::default(), &Both::new(true, false)).failure {
            Failure::Refused(refusals) => refusals.into_iter().flat_map(|refusal| refusal.remedies).collect(),
            _ => Vec::new(),
        }
    };
    assert_eq!(remedies(&[Remedy::MovePaused]), [Remedy::MovePaused]);
    let again = "correct it in the cluster that the files come from, and write them again; if that cluster is lost, correct it in a copy of the files";
    assert_eq!(remedies(&[]), [Remedy::from(again)]);
}

#[test]
fn similar_refusals_are_grouped() {
    let paused = |n: usize| {
        let cluster = capi("Cluster", &format!("c{n:03}"));
        let look = Kubectl::object(Side::Source, "get", &cluster, &["-o", "yaml"]);
        let look = Remedy::kubectl("find out who paused it (", look, ")");
        let message = format!("{cluster} is paused already");
        let refusal = Refusal::source("already-paused", cluster, message, look);
        Refusal { remedies: [refusal.remedies.clone(), vec![Remedy::MovePaused]].concat(), ..refusal }
    };
    let flags = Both::new(vec!["--kubeconfig".to_owned(), "boot".to_owned()], Vec::new());
    let failure = || {
        let refusals = (0..150).map(paused).chain(refusals().into_iter().skip(1)).collect();
        name_kubeconfigs(stop(Failure::Refused(refusals)), &flags, &Both::new(false, true)).failure
    };
    check(
        shown(&stop(failure()), AlreadyShown::Nothing),
        &expect![[r#"
            error: refused, for 2 reasons
              - source: Cluster ns/c000 is paused already
                likewise 149 more Clusters: ns/c001, ns/c002, ns/c003, … and 146 more
                find out who paused it (`kubectl --kubeconfig boot get -n ns cluster.cluster.x-k8s.io c000 -o yaml`), or move it paused: --accept already-paused
              - target: kind Machine.cluster.x-k8s.io is not served
                install Cluster API
            state: the source is the truth
            next:  pivot-host resume
               or  pivot-host rollback
        "#]],
    );
    let (output, _, err) = output(1, LogFormat::Text);
    print_stop(&output, &stop(failure()), AlreadyShown::Nothing, &[]);
    assert_eq!(err.text().matches("ns/c").count(), 150, "-v names each: {}", err.text());
    let document = serde_json::to_value(error_document(&stop(failure()), Vec::new())).unwrap();
    assert_eq!(document["refusals"].as_array().unwrap().len(), 151, "a document has each of them");
}

#[test]
fn stop_shows_failure_state_and_command() {
    check(
        shown(&stop(Failure::Refused(refusals())), AlreadyShown::Nothing),
        &expect![[r#"
            error: refused, for 2 reasons
              - source: Cluster ns/edge is paused
                unpause it, or --accept already-paused
              - target: kind Machine.cluster.x-k8s.io is not served
                install Cluster API
            state: the source is the truth
            next:  pivot-host resume
               or  pivot-host rollback
        "#]],
    );
}

#[test]
fn plan_refusals_are_not_shown_twice() {
    check(
        shown(&stop(Failure::Refused(refusals())), AlreadyShown::Refusals),
        &expect![[r#"
            error: refused, for 2 reasons
            state: the source is the truth
            next:  pivot-host resume
               or  pivot-host rollback
        "#]],
    );
}

#[test]
fn error_document_matches_the_text() {
    let document = error_document(&stop(Failure::Refused(refusals())), vec!["pivot-host resume".into()]);
    check(
        serde_json::to_string_pretty(&document).unwrap(),
        &expect![[r#"
            {
              "apiVersion": "pivot-host.io/v1alpha1",
              "kind": "Error",
              "exitCode": 4,
              "reason": "PartWay",
              "message": "refused, for 2 reasons",
              "refusals": [
                {
                  "code": "paused",
                  "side": "source",
                  "object": {
                    "group": "cluster.x-k8s.io",
                    "kind": "Cluster",
                    "namespace": "ns",
                    "name": "edge"
                  },
                  "message": "Cluster ns/edge is paused",
                  "remedy": "unpause it, or --accept already-paused"
                },
                {
                  "code": "crd-missing",
                  "side": "target",
                  "message": "kind Machine.cluster.x-k8s.io is not served",
                  "remedy": "install Cluster API"
                }
              ],
              "phase": "Copied",
              "state": "the source is the truth",
              "next": [
                "pivot-host resume"
              ],
              "done": {
                "paused": {
                  "Cluster.cluster.x-k8s.io": 2
                }
              },
              "phases": [
                {
                  "phase": "Checked",
                  "milliseconds": 120
                }
              ]
            }"#]],
    );
}

#[test]
fn required_names_are_shown_with_flags() {
    let id = || "m".to_owned();
    let plugins = |remedy| Failure::Plugins {
        move_id: id(),
        begun: "hosts 1.0.0".to_owned(),
        remedy: Box::new(remedy),
    };
    for (failure, expected) in [
        (
            Failure::Several(vec!["a".into(), "b".into()]),
            "several moves are under way; name one of them by its ID:\n  - a\n  - b",
        ),
        (
            Failure::OtherEnd { move_id: id(), into_directory: true },
            "move m copies into a directory: name that with --to-directory, or roll it back first",
        ),
        (
            Failure::OtherEnd { move_id: id(), into_directory: false },
            "move m goes to a cluster: name that with --to-kubeconfig, or roll it back first",
        ),
        (
            plugins(Remedy::AcceptPluginChange),
            "move m was begun with hosts 1.0.0, and this run has others (or others of the same name); \
             --accept plugins-changed continues anyway",
        ),
        (
            plugins("give it the same".into()),
            "move m was begun with hosts 1.0.0, and this run has others (or others of the same name); give it the same",
        ),
    ] {
        let document = serde_json::to_value(error_document(&stop(failure), Vec::new())).unwrap();
        assert_eq!(document["message"], expected);
    }
}

pub(super) fn broken(hook: Hook) -> Failure {
    let error = HookError { code: "trap".into(), message: "it broke".into() };
    Failure::Hook { plugin: "hosts".into(), hook, object: None, error }
}

#[test]
fn stop_of_a_plugin_names_remedies() {
    check(
        shown(&stop(broken(Hook::Restore)), AlreadyShown::Nothing),
        &expect![[r#"
        error: plugin hosts failed in restore: trap: it broke
        fix:   roll back, which needs no plugin; fix plugin hosts, and move again
           or  roll back, switch plugin hosts off (enabled = false below [plugins.hosts] in plugins.toml), and move again
        state: the source is the truth
        next:  pivot-host resume
           or  pivot-host rollback
    "#]],
    );
    let past = Stop { exit: Exit::PastCommit, ..stop(broken(Hook::Check)) };
    check(
        shown(&past, AlreadyShown::Nothing),
        &expect![[r#"
            error: plugin hosts failed in check: trap: it broke
            fix:   resume, which checks it again
               or  let failing checks of plugin hosts pass (on-failure = { check = "warn" } below [plugins.hosts] in plugins.toml), then resume
               or  fix plugin hosts, and resume with --accept plugins-changed
            state: the source is the truth
            next:  pivot-host resume
               or  pivot-host rollback
        "#]],
    );
    let before = Stop { exit: Exit::Refused, ..stop(broken(Hook::Adapt)) };
    check(
        shown(&before, AlreadyShown::Nothing),
        &expect![[r#"
        error: plugin hosts failed in adapt: trap: it broke
        fix:   correct plugin hosts or its configuration in plugins.toml, then run this command again
           or  switch plugin hosts off (enabled = false below [plugins.hosts] in plugins.toml), then run this command again
        state: the source is the truth
        next:  pivot-host resume
           or  pivot-host rollback
    "#]],
    );
    let unsettled = Failure::Unsettled(vec![held("a", "it broke")]);
    check(
        shown(&Stop { exit: Exit::PastCommit, ..stop(unsettled) }, AlreadyShown::Nothing),
        &expect![[r#"
            error: moved, but these objects could not be released and stay paused:
              - Host ns/a: it broke
            fix:   resume, which checks it again
               or  fix the plugins, and resume with --accept plugins-changed
            state: the source is the truth
            next:  pivot-host resume
               or  pivot-host rollback
        "#]],
    );
}

#[test]
fn commands_for_readers_elsewhere_name_a_kubeconfig() {
    let text = crate::output::explain_stop(&stop(Failure::NotTakenOver(Vec::new()))).message();
    assert!(text.contains("`kubectl --kubeconfig TARGET.kubeconfig get deployments"), "{text}");
    assert!(!text.contains("`kubectl get"), "{text}");
}

#[test]
fn stopping_check_is_in_the_document() {
    let finding = Finding {
        severity: Severity::Stop,
        code: "not-ready".into(),
        message: "it is not ready".into(),
        object: Some(capi("Cluster", "edge")),
        remedy: "wait".into(),
    };
    let gate = Failure::Gate(vec![PluginFinding { plugin: "readiness".into(), finding }]);
    let stop = Stop { exit: Exit::PastCommit, ..stop(gate) };
    let document = serde_json::to_value(error_document(&stop, Vec::new())).unwrap();
    let found = &document["findings"][0];
    assert_eq!((&found["plugin"], &found["code"]), (&"readiness".into(), &"not-ready".into()));
    assert_eq!((&found["severity"], &found["object"]["name"]), (&"stop".into(), &"edge".into()));
    let ways: Vec<Remedy> = serde_json::from_value(document["remedies"].clone()).unwrap();
    assert_eq!(ways, stop.remedies());
    let mut texts = document["remedies"].as_array().unwrap().iter().map(|way| way["text"].as_str().unwrap());
    assert!(texts.next_back().unwrap().contains("--accept plugins-changed"), "{document}");
}

#[test]
fn handed_over_source_shows_next_commands() {
    let mut report = Report { move_id: "1234".into(), done: Default::default(), times: Vec::new() };
    report.done.kept.insert(GroupKind::new("", "Secret"), 12);
    report.done.handed_over = true;
    check(
        crate::output::handed_over(&report, ("kind-boot", "directory out"), false),
        &expect![[r#"
            Handed over: 12 objects, from kind-boot into directory out (move 1234)
            The source stays paused until the handover is finished or canceled:
              to load it there  move --from-directory DIR --to-kubeconfig FILE
              then, to finish   handover finish --to-kubeconfig FILE
              or, to cancel     handover cancel --accept maybe-imported

              OBJECTS  KIND
              12       Secret

              PHASE  TIME
        "#]],
    );
}

#[test]
fn report_has_counts_and_duration() {
    let mut report = Report {
        move_id: "1234".into(),
        done: Default::default(),
        times: vec![
            (Phase::Checked, Duration::from_millis(120)),
            (Phase::Copied, Duration::from_millis(2345)),
        ],
    };
    report.done.moved.insert(GroupKind::new("cluster.x-k8s.io", "Machine"), 5);
    report.done.moved.insert(GroupKind::new("", "Secret"), 12);
    report.done.kept.insert(GroupKind::new("cluster.x-k8s.io", "ClusterClass"), 1);
    check(
        move_result(&report, SIDES, false),
        &expect![[r#"
        Moved: 17 objects, 1 kept on both sides, from kind-boot to prod (move 1234)

          MOVED  KEPT  KIND
          12     0     Secret
          0      1     ClusterClass.cluster.x-k8s.io
          5      0     Machine.cluster.x-k8s.io

          PHASE    TIME
          Checked  0.12s
          Copied   2.34s
    "#]],
    );
    let document = ReportDocument::done("Moved", &report, SIDES);
    check(
        serde_json::to_string(&document).unwrap(),
        &expect![[
            r#"{"apiVersion":"pivot-host.io/v1alpha1","kind":"Report","outcome":"Moved","moveId":"1234","source":"kind-boot","target":"prod","moved":{"Machine.cluster.x-k8s.io":5,"Secret":12},"kept":{"ClusterClass.cluster.x-k8s.io":1},"phases":[{"phase":"Checked","milliseconds":120},{"phase":"Copied","milliseconds":2345}]}"#
        ]],
    );
}

#[test]
fn missing_cluster_lists_the_existing_ones() {
    let there: Vec<Key> = (0..23).map(|n| capi("Cluster", &format!("c{n}"))).collect();
    let failed = |failure: Failure| {
        let (output, _, err) = output(0, LogFormat::Text);
        print_stop(&output, &Stop { next: Vec::new(), ..stop(failure) }, AlreadyShown::Nothing, &[]);
        err.text()
    };
    let text = failed(Failure::NoCluster { named: "ns/d".into(), there: there.clone() });
    assert!(text.starts_with("error: there is no Cluster ns/d, but:\n  - Cluster ns/c0\n"), "{text}");
    assert!(text.contains("  and 3 more; -v shows them\n"), "{text}");
    let none = failed(Failure::NoCluster { named: "d".into(), there: Vec::new() });
    assert!(none.starts_with("error: there is no Cluster d, nor any other\n"), "{none}");
    expect![[r#"
        error: several Clusters have this name; name one of them with its namespace:
          - Cluster ns/c0
          - Cluster ns/c1
        state: the source is the truth
    "#]]
    .assert_eq(&failed(Failure::SeveralClusters(there[..2].to_vec())));
}

#[test]
fn one_sided_moves_name_copies_to_keep() {
    let said = |one_sided: OneSidedMove| {
        let failure = Failure::OneSidedMove { move_id: "1234".into(), one_sided };
        let (output, _, err) = output(0, LogFormat::Text);
        print_stop(&output, &stop(failure), AlreadyShown::Nothing, &["pivot-host status".into()]);
        err.text()
    };
    expect![[r#"
        error: the source says that move 1234 is committed, and the target has no record of it, and no complete copy that runs: the target may have been restored from a backup, and the source may be the last copy
        fix:   if nothing of the move runs in the target: restore it from a backup of after the commit, then resume
           or  only if there is no such backup: make sure that no other management cluster runs these Clusters, and compare the machines of each with the cloud or the rack; then resume with --accept world-changed, which copies again, or rollback with --accept world-changed, which keeps the source. Each Cluster stays paused until it is named
        state: the source is the truth
        next:  pivot-host status
    "#]].assert_eq(&said(OneSidedMove::LastCopyInSource));
    expect![[r#"
        error: the target says that move 1234 has deleted nothing yet, and its source has neither a record nor any of the objects: the source seems to have been released, and the target restored from a backup of before that, so that its copies are the last
        state: the source is the truth
        next:  pivot-host status
    "#]].assert_eq(&said(OneSidedMove::LastCopyInTarget));
    let awake = vec![Key::new(GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("ns"), "c")];
    let proof = "the target says that move 1234 ended at noon".to_owned();
    expect![[r#"
        error: the target says that move 1234 ended at noon, and the source is in a state of before that, as after a restore from a backup: Cluster ns/c may be managed twice; pause what the source has of them at once
        fix:   if the target runs it, too, pause it in the source: `kubectl patch -n ns cluster.cluster.x-k8s.io c --type merge -p '{"spec":{"paused":true}}'`
           or  pause those whose copies run in the target: resume with --accept world-changed, which only pauses them. Hosts and pools still run then: scale the source's providers to 0, too
        state: the source is the truth
        next:  pivot-host status
    "#]].assert_eq(&said(OneSidedMove::SourceWentBack { proof: proof.clone(), awake: awake.clone(), is_recorded: true }));
    expect![[r#"
        error: the target says that move 1234 ended at noon, and the source is in a state of before that, as after a restore from a backup: Cluster ns/c may be managed twice; pause what the source has of them at once
        fix:   compare each of these Clusters with the one in the target, and name those that are the same and run there: resume with --accept world-changed and --pause ns/c. That pauses the named Clusters in the source, and does nothing else. Hosts and pools still run then: scale the source's providers to 0, too
        state: the source is the truth
        next:  pivot-host status
    "#]].assert_eq(&said(OneSidedMove::SourceWentBack { proof, awake, is_recorded: false }));
    expect![[r#"
        error: the target says that move 1234 ended at noon: the target has taken over, and what the source has is out of date; keep its Clusters paused
        fix:   no command deletes what the source has: without the move's list of what was copied, nothing shows that the target has it in the same state. Keep the source, paused; only if each of its Clusters runs in the target, switch off what the source's management cluster runs on
        state: the source is the truth
        next:  pivot-host status
    "#]]
        .assert_eq(&said(OneSidedMove::TakenOver("the target says that move 1234 ended at noon".into())));
}
