//! Children whose parent is away once a move into them is committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::rbac::v1::Role;
use kube::api::{Api, Patch, PatchParams};
use pivot_lab::proxy::{Fault, Moment, Rule, Seen, Times};
use pivot_lab::{Dump, FaultProxy, Observer, Rules, process, say};
use pivot_scenarios::host::{AGENT, Run};
use pivot_scenarios::link::Link;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::agents::{AGENT_ACCOUNT, ended, grant, installed, options, roles};
use crate::stage::{ACCOUNT, Stage, same};

/// The controller that dies at a write of itself or of its agent.
struct Death {
    /// Whether the child's server is asked for it.
    far: bool,
    nth: u64,
    moment: Moment,
    hits: fn(&Seen) -> bool,
}

/// The source's record says Committed; the target's isn't sealed.
const UNSEALED: Death = Death {
    far: false,
    // The first says Copied.
    nth: 2,
    moment: Moment::After,
    hits: |seen| {
        seen.method == "PATCH" && seen.path.contains("/configmaps/pivot-host-source") && writes(seen)
    },
};
/// The target's record is sealed, and no copy runs yet: the first patch of it.
const SEALED: Death = Death {
    far: true,
    nth: 1,
    moment: Moment::After,
    hits: |seen| {
        seen.method == "PATCH" && seen.path.contains("/configmaps/pivot-host-target") && writes(seen)
    },
};
/// The next thing after that: a Cluster would be resumed.
const RESUMING: Death = Death {
    far: true,
    nth: 1,
    moment: Moment::Instead,
    hits: |seen| seen.method == "PATCH" && seen.path.contains("/clusters/c") && writes(seen),
};

fn writes(seen: &Seen) -> bool {
    seen.user_agent.starts_with(AGENT) && seen.is_mutating()
}

fn reads_records(seen: &Seen) -> bool {
    seen.method == "GET" && seen.path.contains("/namespaces/kube-system/configmaps")
}

/// A parent and a child after the parent's controller died.
struct Bereaved {
    stage: Stage,
    link: Link,
    before: Dump,
    observer: Observer,
    agent: Run,
    far: FaultProxy,
}

impl Bereaved {
    async fn by(death: &Death, when_away: &str) -> Self {
        let stage = Stage::start(&["shop"]).await;
        let (home, child) = (&stage.pair.source, &stage.pair.target);
        let before = stage.moved(home, "shop").await;
        let observer = Observer::of(&stage.pair, &["shop"]).await.unwrap();
        let near = FaultProxy::start(home).await.unwrap();
        let far = FaultProxy::start(child).await.unwrap();
        let (tell, pid) = oneshot::channel();
        let kill = async move { process::kill(pid.await.unwrap()).unwrap() };
        let rule = Rule::new(Times::Nth(death.nth), Fault::action(death.moment, kill), death.hits);
        if death.far { &far } else { &near }.faults().add(rule);
        let link = Link::new().unwrap();
        let running = link.controller(near.kubeconfig()).await.unwrap();
        tell.send(running.id()).unwrap();
        let agent = link.agent_with(far.kubeconfig(), &["--finish-alone-after", "3s"]).await.unwrap();
        let spec = json!({"to": {"agent": "edge"}, "whenAway": when_away, "options": options()});
        stage.ask_for("shop", spec).await;
        let killed = running.end().await.unwrap();
        assert_eq!(killed.code, None, "it did not die\n{}", killed.stderr);
        Self { stage, link, before, observer, agent, far }
    }

    /// Whether a Cluster runs in the child.
    async fn runs(&self) -> bool {
        let child = self.stage.moved(&self.stage.pair.target, "shop").await;
        let cluster = child.iter().find(|(key, _)| key.kind == "Cluster.cluster.x-k8s.io").unwrap().1;
        cluster["spec"]["paused"] != true
    }

    /// A controller is started again, and the move comes to its usual end.
    async fn returns(self) {
        let Self { stage, link, before, observer, agent, .. } = self;
        let mut next = link.controller(stage.pair.source.kubeconfig()).await.unwrap();
        stage.until("shop", "Succeeded", &mut next).await;
        same(before, stage.moved(&stage.pair.target, "shop").await);
        assert!(stage.moved(&stage.pair.source, "shop").await.is_empty());
        stage.tidy().await;
        assert_eq!(observer.finish(&Rules::new()).await.unwrap(), [], "invariants");
        ended(next).await;
        ended(agent).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sealed_child_finishes_alone_and_the_parent_that_returns_closes_the_move() {
    let mut child = Bereaved::by(&SEALED, "Finish").await;
    let paused = child.stage.moved(&child.stage.pair.source, "shop").await;
    child.agent.until_it_says("its copies run here").await.unwrap();
    assert!(child.runs().await);
    // The parent has everything that it had, paused, and nobody there was asked.
    same(paused, child.stage.moved(&child.stage.pair.source, "shop").await);
    say("the parent returns");
    child.returns().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_is_not_sealed_waits_for_its_parent() {
    for (death, when_away) in [(&UNSEALED, "Finish"), (&RESUMING, "Wait")] {
        let child = Bereaved::by(death, when_away).await;
        let looks = || child.far.faults().requests().iter().filter(|seen| reads_records(seen)).count();
        let before = looks();
        sleep(Duration::from_secs(8)).await;
        assert!(looks() > before, "{when_away}: it never looked whether there is something to finish");
        assert!(!child.runs().await, "{when_away}");
        child.returns().await;
    }
}

/// With the agent's own permissions, which are printed, and with none fewer.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_needs_to_finish_alone_is_printed_and_looked_at_before_the_move() {
    let stage = Stage::start(&["shop"]).await;
    let (home, child) = (&stage.pair.source, &stage.pair.target);
    let before = stage.moved(home, "shop").await;
    let edge = installed(child).await;
    grant((home, ACCOUNT), (child, AGENT_ACCOUNT)).await;
    let near = FaultProxy::start(home).await.unwrap();
    let (tell, pid) = oneshot::channel();
    let kill = async move { process::kill(pid.await.unwrap()).unwrap() };
    // It dies when it has resumed the child and is about to look whether the source is still paused.
    let committed = Arc::new(AtomicBool::new(false));
    let (commits, looks) = (committed.clone(), committed);
    let commit = async move { commits.store(true, Ordering::SeqCst) };
    near.faults().add(Rule::new(
        Times::Nth(UNSEALED.nth),
        Fault::action(Moment::Before, commit),
        UNSEALED.hits,
    ));
    near.faults().add(Rule::new(Times::Nth(1), Fault::action(Moment::Before, kill), move |seen| {
        let of_the_move = seen.path.contains("/namespaces/shop/") && !seen.path.contains("/pivots");
        looks.load(Ordering::SeqCst) && seen.method == "GET" && of_the_move
    }));
    let link = Link::new().unwrap();
    let mut running = link.controller(near.kubeconfig()).await.unwrap();
    tell.send(running.id()).unwrap();
    let mut agent = link.agent_with(&edge, &["--finish-alone-after", "3s"]).await.unwrap();
    let spec = json!({"to": {"agent": "edge"}, "whenAway": "Finish", "options": options()});
    stage.ask_for("shop", spec.clone()).await;
    let shown = stage.until_false("shop", "Succeeded", &mut running).await;
    let why = shown["message"].as_str().unwrap();
    assert!(why.contains("leases") && why.contains("kube-system"), "{why}");
    same(before.clone(), stage.moved(home, "shop").await);

    let words = ["--side", "target", "--bind-to", AGENT_ACCOUNT, "--finish-alone"];
    let ours = |role: &&Value| role["kind"] == "Role" && role["metadata"]["namespace"] == "kube-system";
    for role in roles((home, child), &words).await.iter().filter(ours) {
        let patch = Patch::Merge(json!({ "rules": role["rules"] }));
        let (of, name) = (Api::<Role>::namespaced(child.client(), "kube-system"), &role["metadata"]["name"]);
        of.patch(name.as_str().unwrap(), &PatchParams::default(), &patch).await.unwrap();
    }
    stage.delete("shop").await;
    stage.until_gone("shop", &mut running).await;
    stage.ask_for("shop", spec).await;
    let killed = running.end().await.unwrap();
    assert_eq!(killed.code, None, "it did not die\n{}", killed.stderr);
    agent.until_it_says("its copies run here").await.unwrap();
    let mut next = link.controller(home.kubeconfig()).await.unwrap();
    stage.until("shop", "Succeeded", &mut next).await;
    same(before, stage.moved(child, "shop").await);
    assert!(stage.moved(home, "shop").await.is_empty());
    stage.tidy().await;
}
