//! Many Pivots over links at once: each has a namespace, an agent, and a way from its agent to the server of its own.

use std::net::SocketAddr;

use pivot_lab::proxy::Seen;
use pivot_lab::{Dump, FaultProxy, Observer, Rules};
use pivot_scenarios::host::{AGENT, Run};
use pivot_scenarios::link::Link;
use pivot_scenarios::pivots::condition;
use serde_json::{Value, json};

use crate::agents::options;
use crate::stage::{Stage, same};

/// The children have one server, and one place for records: the move of another that has ended would end what this one's agent answers.
const KEEP_ANSWERING: [&str; 1] = ["--keep-answering"];

/// A parent, and what stands for as many children as there are namespaces.
pub(crate) struct Cases {
    pub(crate) stage: Stage,
    link: Link,
    made: usize,
}

/// One child.
pub(crate) struct Case {
    pub(crate) namespace: String,
    /// What there is to move.
    pub(crate) before: Dump,
    /// Between the agent and its server.
    pub(crate) far: FaultProxy,
}

impl Cases {
    pub(crate) async fn start() -> Self {
        Self { stage: Stage::start(&[]).await, link: Link::new().unwrap(), made: 0 }
    }

    /// So many more.
    pub(crate) async fn more(&mut self, count: usize) -> Vec<Case> {
        let mut cases = Vec::new();
        for _ in 0..count {
            let namespace = format!("child-{}", self.made);
            self.made += 1;
            self.stage.fill(&namespace).await;
            let before = self.stage.moved(&self.stage.pair.source, &namespace).await;
            let far = FaultProxy::start(&self.stage.pair.target).await.unwrap();
            cases.push(Case { namespace, before, far });
        }
        cases
    }

    pub(crate) async fn observer(&self, cases: &[Case]) -> Observer {
        let namespaces: Vec<&str> = cases.iter().map(|case| &*case.namespace).collect();
        Observer::of(&self.stage.pair, &namespaces).await.unwrap()
    }

    pub(crate) async fn controller(&self) -> Run {
        self.link.controller(self.stage.pair.source.kubeconfig()).await.unwrap()
    }

    /// The agent of a child, linked or not, by the way that leads from this address to the controller.
    pub(crate) async fn calling(&self, case: &Case, at: SocketAddr) -> Run {
        self.link.calling(&case.namespace, case.far.kubeconfig(), at, &KEEP_ANSWERING).await.unwrap()
    }

    /// Where agents are taken.
    pub(crate) fn address(&self) -> SocketAddr {
        self.link.address()
    }

    /// The agent of a child, when it is linked.
    pub(crate) async fn agent(&self, case: &Case) -> Run {
        self.link.agent_of(&case.namespace, case.far.kubeconfig(), &KEEP_ANSWERING).await.unwrap()
    }

    pub(crate) async fn ask(&self, case: &Case) {
        let spec = json!({"to": {"agent": "edge"}, "options": options()});
        self.stage.ask_for(&case.namespace, spec).await;
    }

    /// What a child's Pivot shows.
    pub(crate) async fn shown(&self, case: &Case) -> Value {
        self.stage.pivots().shown(&case.namespace).await.unwrap().unwrap_or_default()
    }

    /// Whether it says that it has ended.
    pub(crate) async fn succeeded(&self, case: &Case) -> bool {
        condition(&self.shown(case).await, "Succeeded").is_some_and(|one| one["status"] == "True")
    }

    /// Waits until the child has everything, and its parent nothing.
    pub(crate) async fn until_moved(&self, case: &Case, running: &mut Run) {
        self.stage.until(&case.namespace, "Succeeded", running).await;
        let (parent, child) = (&self.stage.pair.source, &self.stage.pair.target);
        same(case.before.clone(), self.stage.moved(child, &case.namespace).await);
        let left = self.stage.moved(parent, &case.namespace).await;
        assert!(left.is_empty(), "{}: {:?}", case.namespace, left.keys());
    }

    /// Nothing that was watched broke a promise.
    pub(crate) async fn clean(observer: Observer) {
        assert_eq!(observer.finish(&Rules::new()).await.unwrap(), [], "invariants");
    }
}

/// Whether a request is the agent's.
pub(crate) fn of_agent(seen: &Seen) -> bool {
    seen.user_agent.starts_with(AGENT)
}
