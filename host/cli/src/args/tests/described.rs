//! What is described, and how much of it.

use super::*;

#[test]
fn a_cluster_is_described_where_it_is() {
    let described = |line: &str| match meant(&format!("pivot-host describe cluster {line}")) {
        Task::Describe(description) => description,
        other => panic!("{line}: {other:?}"),
    };
    let within = |line: &str| (described(line).within, described(line).name);
    let named = |namespace: &str| Within::Namespace(namespace.into());
    for (line, expected) in [
        ("c", Within::OfContext),
        ("c -n ns", named("ns")),
        ("ns/c", named("ns")),
        ("ns/c -n ns", named("ns")),
        ("c --from-directory d", Within::Any),
        ("c --from-directory d --identity k -n ns", named("ns")),
    ] {
        assert_eq!(within(line), (expected, "c".to_owned()), "{line}");
    }
    let SourceEnd::Kube(options) = described("c --kubeconfig a --context x --as u --as-group g").end else {
        panic!()
    };
    assert_eq!((options.context.as_deref(), options.impersonate.as_deref()), (Some("x"), Some("u")));
    for (line, expected) in [
        ("ns/c -n other", expect!["ns/c is not in namespace other; leave out one of the two"]),
        ("a/b/c", expect![[r#""a/b/c": "b/c" isn't a valid name; write NAME or NAMESPACE/NAME"#]]),
        (
            "c --from-directory d --kubeconfig a",
            expect![
                "--from-directory excludes --kubeconfig, --kubeconfig-context and --as: the source is one or the other"
            ],
        ),
        ("c --as-group g", expect!["--as-group needs --as, and --to-as-group needs --to-as"]),
        (
            "c --show-conditions Machine/a/b",
            expect![[
                r#"--show-conditions "Machine/a/b": write Kind, Kind/name or all, without spaces, with a + at the end for only those that need attention"#
            ]],
        ),
    ] {
        refused(&format!("pivot-host describe cluster {line}"), &expected);
    }
    assert!(parsed("pivot-host describe cluster").is_err() && parsed("pivot-host describe").is_err());
}

#[test]
fn describe_has_clusterctls_flags() {
    let view = |line: &str| match meant(&format!("clusterctl-pivot describe cluster c {line}")) {
        Task::Describe(description) => description.view,
        other => panic!("{line}: {other:?}"),
    };
    let usual = view("");
    assert!(usual.grouping && !(usual.echo || usual.machine_sets || usual.resource_sets || usual.templates));
    let all =
        view("--show-machinesets --show-resourcesets=true --show-templates --echo=true --grouping=false -c");
    assert!(!all.grouping && all.echo && all.machine_sets && all.resource_sets && all.templates);
    assert!(!view("--echo=false").echo);
    let whose: Vec<String> = view("--show-conditions Machine/m+,all, --show-conditions Cluster")
        .conditions
        .iter()
        .map(|filter| filter.as_typed().to_owned())
        .collect();
    assert_eq!(whose, ["Machine/m+", "all", "Cluster"]);
    let color = |flags: &str| parsed(&format!("pivot-host describe cluster c {flags}")).unwrap().color();
    let colors =
        ["", "-c", "--color", "--color=true", "--color=false", "--color never", "-c=always"].map(color);
    let (auto, always, never) = (Color::Auto, Color::Always, Color::Never);
    assert_eq!(colors, [auto, always, always, always, never, never, always]);
    assert_eq!(parsed("pivot-host plan").unwrap().color(), auto);
    assert!(parsed("pivot-host plan --color always").is_err());
}
