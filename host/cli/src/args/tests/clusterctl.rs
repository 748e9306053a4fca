//! Command lines of clusterctl.

use super::*;

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
