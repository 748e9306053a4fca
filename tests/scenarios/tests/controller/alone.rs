//! Children whose parent is away once a move into them is committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
use crate::barrier::Barrier;
use crate::stage::{ACCOUNT, Stage, same};

/// The children have one server: the end of one move would end what the other agents answer.
const AGENT_FLAGS: [&str; 3] = ["--finish-alone-after", "3s", "--keep-answering"];
/// Longer than an agent waits before it looks.
const LOOKS: Duration = Duration::from_secs(30);

/// A write of the controller or of its agent, at which the controller dies.
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
    seen.method == "GET" && seen.path.contains("/namespaces/pivot-host-records/configmaps")
}

/// A parent and its children after the parent's controller died.
struct Bereaved {
    stage: Stage,
    link: Link,
    observer: Observer,
    children: Vec<Child>,
}

/// A namespace that moves into a server of all children, through an agent of its own.
struct Child {
    namespace: &'static str,
    before: Dump,
    agent: Run,
    far: FaultProxy,
}

impl Bereaved {
    /// Begins the moves one after the other, holds each at its request, and kills the controller of all of them.
    async fn by(deaths: &[(&'static str, &Death, &str)]) -> Self {
        let namespaces: Vec<&str> = deaths.iter().map(|(namespace, ..)| *namespace).collect();
        let stage = Stage::start(&namespaces).await;
        let (home, target) = (&stage.pair.source, &stage.pair.target);
        let observer = Observer::of(&stage.pair, &namespaces).await.unwrap();
        let near = FaultProxy::start(home).await.unwrap();
        let link = Link::new().unwrap();
        let running = link.controller(near.kubeconfig()).await.unwrap();
        let (barrier, mut children) = (Barrier::new(), Vec::new());
        for (namespace, death, when_away) in deaths {
            let before = stage.moved(home, namespace).await;
            let far = FaultProxy::start(target).await.unwrap();
            let hold = barrier.hold(death.moment, namespace);
            let faults = if death.far { far.faults() } else { near.faults() };
            faults.add(Rule::new(Times::Nth(death.nth), hold, death.hits));
            let agent = link.agent_of(namespace, far.kubeconfig(), &AGENT_FLAGS).await.unwrap();
            let spec = json!({"to": {"agent": "edge"}, "whenAway": when_away, "options": options()});
            stage.ask_for(namespace, spec).await;
            barrier.until_held(namespace, &running).await;
            children.push(Child { namespace, before, agent, far });
        }
        barrier.assert_held(&namespaces);
        running.kill().unwrap();
        running.end().await.unwrap();
        barrier.open();
        Self { stage, link, observer, children }
    }

    /// Whether a child's Cluster runs there.
    async fn runs(&self, child: &Child) -> bool {
        let target = self.stage.moved(&self.stage.pair.target, child.namespace).await;
        let cluster = target.iter().find(|(key, _)| key.kind == "Cluster.cluster.x-k8s.io").unwrap().1;
        cluster["spec"]["paused"] != true
    }

    /// A controller is started again, and the moves come to their usual end.
    async fn returns(self) {
        let Self { stage, link, observer, children } = self;
        let mut next = link.controller(stage.pair.source.kubeconfig()).await.unwrap();
        for Child { namespace, before, .. } in &children {
            stage.until(namespace, "Succeeded", &mut next).await;
            same(before.clone(), stage.moved(&stage.pair.target, namespace).await);
            assert!(stage.moved(&stage.pair.source, namespace).await.is_empty());
        }
        stage.tidy().await;
        assert_eq!(observer.finish(&Rules::new()).await.unwrap(), [], "invariants");
        ended(next).await;
        for child in children {
            ended(child.agent).await;
        }
    }
}

impl Child {
    /// How often its agent looked for moves to finish.
    fn looks(&self) -> usize {
        self.far.faults().requests().iter().filter(|seen| reads_records(seen)).count()
    }
}

// proves: T71
#[tokio::test(flavor = "multi_thread")]
async fn a_sealed_child_finishes_alone_and_the_parent_that_returns_closes_the_move() {
    let mut parent = Bereaved::by(&[("shop", &SEALED, "Finish")]).await;
    let paused = parent.stage.moved(&parent.stage.pair.source, "shop").await;
    parent.children[0].agent.until_it_says("its copies run here").await.unwrap();
    assert!(parent.runs(&parent.children[0]).await);
    // The parent has everything that it had, paused, and nobody there was asked.
    same(paused, parent.stage.moved(&parent.stage.pair.source, "shop").await);
    say("the parent returns");
    parent.returns().await;
}

// proves: T71
#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_is_not_sealed_waits_for_its_parent() {
    let parent = Bereaved::by(&[("finish", &UNSEALED, "Finish"), ("wait", &RESUMING, "Wait")]).await;
    let before: Vec<usize> = parent.children.iter().map(Child::looks).collect();
    for (child, before) in parent.children.iter().zip(before) {
        let patience = Instant::now() + LOOKS;
        while child.looks() == before {
            let name = child.namespace;
            assert!(
                Instant::now() < patience,
                "{name}: it never looked whether there is something to finish"
            );
            sleep(Duration::from_millis(100)).await;
        }
    }
    // It would begin at once with what it found.
    sleep(Duration::from_secs(2)).await;
    for child in &parent.children {
        assert!(!child.agent.said().contains("finishing move"), "{}", child.agent.said());
        assert!(!parent.runs(child).await, "{}", child.namespace);
    }
    parent.returns().await;
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
    let unable = link.agent(&edge).await.unwrap();
    let spec = json!({"to": {"agent": "edge"}, "whenAway": "Finish", "options": options()});
    stage.ask_for("shop", spec.clone()).await;
    let shown = stage.until_false("shop", "Succeeded", &mut running).await;
    let why = shown["message"].as_str().unwrap();
    assert!(why.contains("leases") && why.contains("pivot-host-records"), "{why}");
    assert!(why.contains("the agent doesn't finish moves alone") && why.contains("whenAway: Wait"), "{why}");
    same(before.clone(), stage.moved(home, "shop").await);

    ended(unable).await;
    let mut agent = link.agent_with(&edge, &["--finish-alone-after", "3s"]).await.unwrap();
    let words = ["--side", "target", "--bind-to", AGENT_ACCOUNT, "--finish-alone"];
    let ours =
        |role: &&Value| role["kind"] == "Role" && role["metadata"]["namespace"] == "pivot-host-records";
    for role in roles((home, child), &words).await.iter().filter(ours) {
        let patch = Patch::Merge(json!({ "rules": role["rules"] }));
        let (of, name) =
            (Api::<Role>::namespaced(child.client(), "pivot-host-records"), &role["metadata"]["name"]);
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
