//! Flags that select namespaces, Clusters and objects.

use super::*;

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
