//! The guides, typed as they stand, between real API servers. Each command of a page is typed at least once.

mod backup;
mod between_clusters;
mod from_bootstrap;
mod page;

use pivot_lab::proxy::{Fault, Rule, Times};
use pivot_scenarios::shape;
use serde_json::Value;

use crate::stage::Stage;

/// Commands that wait for controllers of the target, if there are any.
const WAITING: [&str; 3] = ["plan", "move", "resume"];
/// Begins lines that a run prints only if it waits for these controllers.
const AWAITED: &str = "Ready: ";
/// Accepts that no controllers run in the target.
const UNCHECKED: &str = "--accept takeover-unchecked";

/// Returns a line of a page as it is typed between servers without controllers. Leaves out lines that a run prints only if it waits
/// for controllers.
fn without_controllers(line: &str) -> Option<String> {
    (!line.starts_with(AWAITED)).then(|| accept_missing_controllers(line))
}

/// Adds the risk to a command into a cluster, if it is not in a saved plan already.
fn accept_missing_controllers(line: &str) -> String {
    let verb = line.split(' ').nth(1).unwrap_or_default();
    let has_target = line.contains(" --to-kubeconfig ") || line.contains(" --to-workload ");
    let is_planned = verb == "move" && line.contains(" --plan ");
    if line.starts_with("pivot-host ") && WAITING.contains(&verb) && has_target && !is_planned {
        line.replacen(verb, &format!("{verb} {UNCHECKED}"), 1)
    } else {
        line.to_owned()
    }
}

#[test]
fn only_waiting_commands_accept_missing_controllers() {
    for (line, typed) in [
        ("plan --to-workload a > b", "plan --accept takeover-unchecked --to-workload a > b"),
        ("plan show a", "plan show a"),
        ("plan --from-directory a", "plan --from-directory a"),
        ("move --to-kubeconfig a", "move --accept takeover-unchecked --to-kubeconfig a"),
        ("move --to-kubeconfig a --plan b", "move --to-kubeconfig a --plan b"),
        ("move --to-directory a", "move --to-directory a"),
        (
            "resume --to-kubeconfig a --plan b",
            "resume --accept takeover-unchecked --to-kubeconfig a --plan b",
        ),
        ("status --to-kubeconfig a", "status --to-kubeconfig a"),
    ] {
        assert_eq!(accept_missing_controllers(&format!("pivot-host {line}")), format!("pivot-host {typed}"));
    }
}

/// Returns a cluster with this name and three machines, and without hosts, which need a plugin.
fn cluster_without_hosts(namespace: &str, name: &str) -> Vec<Value> {
    let mut objects = shape::cluster(namespace, 3);
    objects.retain(|object| !text(object, "/metadata/name").starts_with("host-"));
    objects.iter_mut().for_each(|object| rename_cluster(object, name));
    objects
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Puts a name in place of the cluster's name, also where other names begin with it.
fn rename_cluster(value: &mut Value, name: &str) {
    match value {
        Value::String(text) if text == "c" || text.starts_with("c-") => text.replace_range(..1, name),
        Value::Array(values) => values.iter_mut().for_each(|value| rename_cluster(value, name)),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename_cluster(value, name)),
        _ => {}
    }
}

/// Refuses to create Machines, which stops a run.
fn refuse_machines() -> Rule {
    Rule::new(Times::Always, Fault::Answer { status: 403, retry_after: None }, |seen| {
        seen.is_mutating() && seen.method.as_str() == "POST" && seen.path.contains("/machines?")
    })
}

/// Runs a move that is stopped while it creates copies.
async fn stop_while_copying(stage: &Stage, words: &[&str]) {
    let wired = stage.wired().await;
    wired.target.faults().add(refuse_machines());
    wired.host.run(words).await.unwrap().ends_with(4).unwrap();
}
