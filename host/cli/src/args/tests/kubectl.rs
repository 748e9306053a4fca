//! The lines for kubectl on the pages for operators. Nothing runs them, but what they name has to be there: each names its side, and
//! resources as a server with the example's definitions knows them.

use std::collections::BTreeSet;
use std::fs;

use super::pages::{MORE_THAN_WORDS, commands, page, pages, root};
use crate::next::tests::by_a_shell;

/// What every server knows.
const NAMESPACED: [&str; 7] =
    ["configmaps", "deployments", "leases", "pods", "rolebindings", "roles", "secrets"];
const GLOBAL: [&str; 4] = ["clusterrolebindings", "clusterroles", "crd", "nodes"];

/// The resources of the example's definitions, as `machines.cluster.x-k8s.io`.
fn defined() -> BTreeSet<String> {
    let files = fs::read_dir(root().join("examples/metal3/crds")).unwrap();
    let texts = files.map(|file| page(&file.unwrap().path()));
    let names = |text: &String| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("  name: ")).map(str::to_owned).collect()
    };
    texts.flat_map(|text| names(&text)).chain(["pivots.pivot-host.io".to_owned()]).collect()
}

/// Returns the fault of a line; none if the line is right. Only a page about removal may delete anything.
fn wrong(words: &[String], defined: &BTreeSet<String>, may_delete: bool) -> Option<String> {
    let (mut plain, mut side, mut placed, mut file) = (Vec::new(), None, false, false);
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--kubeconfig" => side = words.next(),
            "-n" => placed = words.next().is_some(),
            "-A" => placed = true,
            "--show-managed-fields" | "--overwrite" => {}
            "--all" if may_delete => {}
            "-f" => file = words.next().is_some(),
            word if word.starts_with("--for=") || word.starts_with("--timeout=") => {}
            "-l" | "-o" | "-p" | "--type" | "--field-manager" if words.next().is_some() => {}
            word if word.starts_with('-') => {
                return Some(format!("{word} is not known here, or has no value"));
            }
            word => plain.push(word),
        }
    }
    if !side.is_some_and(|file| file.ends_with(".kubeconfig")) {
        return Some("it doesn't say which side it is about".to_owned());
    }
    // Where each object goes, its file says.
    if file && (plain == ["apply"] || may_delete && plain == ["delete"]) {
        return None;
    }
    if let [verb, "namespace", _] = plain.as_slice()
        && (*verb == "create" || may_delete && *verb == "delete")
    {
        return None;
    }
    let waits = plain.first() == Some(&"wait");
    if let (true, Some(what)) = (waits, plain.get_mut(1)) {
        *what = what.split('/').next().unwrap_or_default();
    }
    let mut verbs =
        ["annotate", "get", "label", "patch", "wait"].into_iter().chain(may_delete.then_some("delete"));
    let [verb, resources, names @ ..] = plain.as_slice() else {
        return Some(format!("{plain:?} is not what kubectl is used for here"));
    };
    if !verbs.any(|known| known == *verb) {
        return Some(format!("{plain:?} is not what kubectl is used for here"));
    }
    if ["delete", "get"].contains(verb) && !names.is_empty() {
        return Some(format!("{names:?} is too much"));
    }
    // Names of definitions are those of resources.
    let definitions = names.iter().take(1).filter(|_| *resources == "crd");
    let namespaced = |name: &&str| NAMESPACED.contains(name) || defined.contains(*name);
    let unknown: Vec<&str> = resources
        .split(',')
        .filter(|name| !namespaced(name) && !GLOBAL.contains(name))
        .chain(definitions.copied().filter(|name| !defined.contains(*name)))
        .collect();
    match resources.split(',').any(|name| namespaced(&name)) {
        _ if !unknown.is_empty() => Some(format!("{unknown:?}: no server has that")),
        true if !placed => Some("it looks in the namespace of whatever context there is".to_owned()),
        _ => None,
    }
}

#[test]
fn wrong_kubectl_lines_are_found() {
    let defined = BTreeSet::from(["machines.cluster.x-k8s.io".to_owned()]);
    let wrong_on = |line: &str, may_delete| wrong(&by_a_shell(line), &defined, may_delete);
    let wrong = |line: &str| wrong_on(line, false);
    for good in [
        "kubectl --kubeconfig a.kubeconfig get machines.cluster.x-k8s.io,pods -A -l x -o 'a b'",
        "kubectl --kubeconfig a.kubeconfig get nodes",
        "kubectl --kubeconfig a.kubeconfig -n ns patch machines.cluster.x-k8s.io m --type merge -p '{}'",
        "kubectl --kubeconfig a.kubeconfig label crd machines.cluster.x-k8s.io a=",
        "kubectl --kubeconfig a.kubeconfig apply -f a.yaml",
        "kubectl --kubeconfig a.kubeconfig create namespace a",
        "kubectl --kubeconfig a.kubeconfig annotate --overwrite -n ns machines.cluster.x-k8s.io m a=b",
        "kubectl --kubeconfig a.kubeconfig wait -n ns machines.cluster.x-k8s.io/m --for=condition=Ready --timeout=1m",
    ] {
        assert_eq!(wrong(good), None, "{good}");
    }
    for bad in [
        "kubectl get machines.cluster.x-k8s.io -A",
        "kubectl --kubeconfig a.kubeconfig get machines.cluster.x-k8s.io",
        "kubectl --kubeconfig a.kubeconfig get machine.cluster.x-k8s.io -A",
        "kubectl --kubeconfig a.kubeconfig get machines.cluster.x-k8s.io,machine -A",
        "kubectl --kubeconfig a.kubeconfig gte nodes",
        "kubectl --kubeconfig a.kubeconfig get nodes, pods -A",
        "kubectl --kubeconfig a.kubeconfig get pods --al",
        "kubectl --kubeconfig a.kubeconfig label crd machine a=",
        "kubectl apply -f a.yaml",
        "kubectl --kubeconfig a.kubeconfig apply a.yaml",
        "kubectl --kubeconfig a.kubeconfig create configmap a",
        "kubectl --kubeconfig a.kubeconfig wait -n ns machine/m --for=condition=Ready",
    ] {
        assert!(wrong(bad).is_some(), "{bad}");
    }
    for deletion in [
        "kubectl --kubeconfig a.kubeconfig delete -f a.yaml",
        "kubectl --kubeconfig a.kubeconfig delete namespace a",
        "kubectl --kubeconfig a.kubeconfig delete machines.cluster.x-k8s.io --all -A",
    ] {
        assert!(wrong(deletion).is_some(), "{deletion}");
        assert_eq!(wrong_on(deletion, true), None, "{deletion}");
    }
    assert!(
        wrong_on("kubectl --kubeconfig a.kubeconfig delete machines.cluster.x-k8s.io m -A", true).is_some()
    );
}

#[test]
fn kubectl_lines_name_sides_and_existing_resources() {
    let defined = defined();
    let mut lines = 0;
    for path in pages() {
        for line in commands(&page(&path), "kubectl") {
            assert!(!line.contains(MORE_THAN_WORDS), "{}: more than words: {line}", path.display());
            let may_delete = path.ends_with("docs/uninstall.md");
            assert_eq!(wrong(&by_a_shell(&line), &defined, may_delete), None, "{}: {line}", path.display());
            lines += 1;
        }
    }
    assert!(lines > 20, "{lines}");
}
