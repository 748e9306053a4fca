//! A MachineDeployment that a user scales while its cluster is handed over.

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use pivot_lab::proxy::{Fault, Moment, Rule, Seen, Times};
use pivot_lab::{Dump, Server, say};
use serde_json::json;
use tokio::sync::oneshot;

use crate::cases::{Case, Cases, of_agent};
use crate::stage::same;

/// When somebody scales, by a request of the agent to its server; and where.
struct When {
    what: &'static str,
    method: &'static str,
    path: &'static str,
    moment: Moment,
    in_parent: bool,
}

const fn in_parent(what: &'static str, method: &'static str, path: &'static str, moment: Moment) -> When {
    When { what, method, path, moment, in_parent: true }
}

const fn in_child(what: &'static str, method: &'static str, path: &'static str, moment: Moment) -> When {
    When { what, method, path, moment, in_parent: false }
}

/// What counts without anybody's doing.
const IN_TIME: [When; 6] = [
    in_parent("before the pause", "POST", "dryRun=", Moment::Before),
    in_parent("before the first copy", "POST", "/namespaces?", Moment::After),
    in_parent("before its own copy", "POST", "/machinedeployments?", Moment::Before),
    in_parent("after its copy", "POST", "/machinedeployments?", Moment::After),
    in_child("when the child is made live", "PATCH", "/clusters/c?", Moment::After),
    in_child("when the parent has released it", "PATCH", "/configmaps/", Moment::After),
];

/// The child has it already, and the parent not yet released it.
const TOO_LATE: When = in_parent("in the parent after the commit", "PATCH", "/clusters/c?", Moment::Before);

impl When {
    fn hits(&self, seen: &Seen) -> bool {
        let path = if seen.path.contains('?') { seen.path.clone() } else { format!("{}?", seen.path) };
        let tried = |path: &str| path.contains("dryRun=");
        let it_is =
            seen.method == self.method && path.contains(self.path) && tried(&path) == tried(self.path);
        of_agent(seen) && it_is
    }
}

/// The MachineDeployments of a namespace.
pub(crate) fn deployments(server: &Server, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "MachineDeployment");
    Api::namespaced_with(server.client(), namespace, &ApiResource::from_gvk(&kind))
}

/// Somebody scales the one that is there.
pub(crate) async fn scale(deployments: &Api<DynamicObject>, replicas: i32) {
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let scaled = deployments.patch("c-workers", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(scaled.data["spec"]["replicas"], replicas);
}

/// Has it scaled then; whether it was.
fn scaled(cases: &Cases, child: &Case, when: &'static When, replicas: i32) -> oneshot::Receiver<()> {
    let pair = &cases.stage.pair;
    let there = deployments(if when.in_parent { &pair.source } else { &pair.target }, &child.namespace);
    let (tell, told) = oneshot::channel();
    let action = async move {
        scale(&there, replicas).await;
        // The test may have failed already.
        let _ = tell.send(());
    };
    let rule = Rule::new(Times::Nth(1), Fault::action(when.moment, action), |seen| when.hits(seen));
    child.far.faults().add(rule);
    told
}

/// What there was to move, with another number of replicas.
fn with(before: &Dump, replicas: i32) -> Dump {
    let mut after = before.clone();
    let deployments = after.iter_mut().filter(|(key, _)| key.kind == "MachineDeployment.cluster.x-k8s.io");
    let count = deployments.map(|(_, deployment)| deployment["spec"]["replicas"] = replicas.into()).count();
    assert_eq!(count, 1);
    after
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_scale_counts_whenever_during_the_move_it_is_asked_for() {
    let mut cases = Cases::start().await;
    let mut running = cases.controller().await;
    let mut children = cases.more(IN_TIME.len()).await;
    let observer = cases.observer(&children).await;
    let (mut agents, mut told) = (Vec::new(), Vec::new());
    for ((child, when), replicas) in children.iter_mut().zip(&IN_TIME).zip(10..) {
        agents.push(cases.agent(child).await);
        told.push(scaled(&cases, child, when, replicas));
        child.before = with(&child.before, replicas);
    }
    for child in &children {
        cases.ask(child).await;
    }
    for ((child, when), told) in children.iter().zip(&IN_TIME).zip(told) {
        cases.until_moved(child, &mut running).await;
        told.await.unwrap();
        say(format_args!("scaled {}: it counts", when.what));
    }
    cases.stage.tidy().await;
    Cases::clean(observer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scale_in_the_parent_after_the_commit_is_not_lost_in_silence() {
    let mut cases = Cases::start().await;
    let mut running = cases.controller().await;
    let mut child = cases.more(1).await.remove(0);
    let _agent = cases.agent(&child).await;
    let told = scaled(&cases, &child, &TOO_LATE, 7);
    cases.ask(&child).await;
    told.await.unwrap();
    let shown = cases.stage.until_false(&child.namespace, "Succeeded", &mut running).await;
    let message = shown["message"].as_str().unwrap();
    say(format_args!("scaled {}: {message}", TOO_LATE.what));
    assert!(message.contains("MachineDeployment") && message.contains("replicas"), "{message}");
    // Both are still there.
    let (parent, target) = (&cases.stage.pair.source, &cases.stage.pair.target);
    same(child.before.clone(), cases.stage.moved(target, &child.namespace).await);
    // Whoever asked for it asks the child, and takes it back in the parent.
    scale(&deployments(target, &child.namespace), 7).await;
    scale(&deployments(parent, &child.namespace), 1).await;
    child.before = with(&child.before, 7);
    cases.until_moved(&child, &mut running).await;
    cases.stage.tidy().await;
}
