//! Controllers that are killed, and Pivots that are deleted, in the middle of a move.

use pivot_lab::proxy::{Fault, Moment, Rule, Seen, Times};
use pivot_lab::{FaultProxy, Observer, Rules, say};
use pivot_scenarios::host::{AGENT, Host, Run};

use crate::barrier::Barrier;
use crate::stage::{LOOPBACK, Stage, same};

/// A request of the controller to its cluster.
struct Point {
    method: &'static str,
    path: &'static str,
    nth: u64,
    moment: Moment,
}

const fn point(method: &'static str, path: &'static str, nth: u64, moment: Moment) -> Point {
    Point { method, path, nth, moment }
}

/// A few of those that `host/controller` tries all of, in memory.
const POINTS: [Point; 5] = [
    point("POST", "/namespaces/pivot-host-system/secrets", 1, Moment::After),
    point("PATCH", "/clusters/c", 1, Moment::After),
    point("PATCH", "/configmaps/", 2, Moment::After),
    point("DELETE", "/secrets/c-kubeconfig", 1, Moment::After),
    point("DELETE", "/configmaps/pivot-host-source", 1, Moment::After),
];

/// Nothing is in the target yet; part of it is; it is committed; part of the source is gone. And whether the objects end up there.
const PHASES: [(Point, bool); 4] = [
    (point("PATCH", "/clusters/c", 1, Moment::After), false),
    (point("PATCH", "/configmaps/", 1, Moment::After), false),
    (point("PATCH", "/configmaps/", 2, Moment::After), true),
    (point("DELETE", "/machines/", 1, Moment::After), true),
];

impl Point {
    fn hits(&self, seen: &Seen) -> bool {
        let path = format!("{}?", seen.path);
        seen.user_agent.starts_with(AGENT)
            && seen.is_mutating()
            && seen.method == self.method
            && path.contains(self.path)
    }
}

async fn controller(source: &FaultProxy) -> Run {
    let words = ["controller", "run", "--allow-special-network", LOOPBACK];
    Host::out_of(source.kubeconfig()).start(&words).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_killed_anywhere_is_followed_by_one_that_comes_to_the_same_end() {
    let names: Vec<String> = (0..POINTS.len()).map(|index| format!("case-{index}")).collect();
    let namespaces: Vec<&str> = names.iter().map(String::as_str).collect();
    let stage = Stage::start(&namespaces).await;
    let source = FaultProxy::start(&stage.pair.source).await.unwrap();
    let observer = Observer::of(&stage.pair, &namespaces).await.unwrap();
    let before = stage.moved_in_each(&stage.pair.source, &namespaces).await;
    let (run, barrier) = (controller(&source).await, Barrier::new());
    // One after the other: a request does not always name its move.
    for (point, namespace) in POINTS.iter().zip(&namespaces) {
        let hold = barrier.hold(point.moment, namespace);
        let rule = source.faults().add(Rule::new(Times::Nth(point.nth), hold, |seen| point.hits(seen)));
        stage.ask(namespace).await;
        barrier.until_held(namespace, &run).await;
        source.faults().remove(rule);
        say(format_args!("held at {} {} number {}", point.method, point.path, point.nth));
    }
    barrier.assert_held(&namespaces);
    run.kill().unwrap();
    run.end().await.unwrap();
    barrier.open();
    let mut next = controller(&source).await;
    for (namespace, before) in namespaces.iter().zip(before) {
        stage.until(namespace, "Succeeded", &mut next).await;
        same(before, stage.moved(&stage.pair.target, namespace).await);
        assert!(stage.moved(&stage.pair.source, namespace).await.is_empty(), "{namespace}");
    }
    next.signal("TERM").unwrap();
    next.end().await.unwrap().ends_with(0).unwrap();
    stage.tidy().await;
    assert_eq!(observer.finish(&Rules::new()).await.unwrap(), [], "invariants");
    say(format_args!("counted: {} moves whose controller died", POINTS.len()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pivot_deleted_in_any_phase_is_undone_or_finished() {
    let names: Vec<String> = (0..PHASES.len()).map(|index| format!("case-{index}")).collect();
    let namespaces: Vec<&str> = names.iter().map(String::as_str).collect();
    let stage = Stage::start(&namespaces).await;
    let source = FaultProxy::start(&stage.pair.source).await.unwrap();
    let observer = Observer::of(&stage.pair, &namespaces).await.unwrap();
    let mut running = controller(&source).await;
    for ((point, moved), namespace) in PHASES.iter().zip(namespaces.iter().copied()) {
        let says = format!("{} {} number {}", point.method, point.path, point.nth);
        say(format_args!("deleted at {says}"));
        let before = stage.moved(&stage.pair.source, namespace).await;
        let pivots = stage.pivots().in_namespace(namespace);
        let delete = async move { drop(pivots.delete("pivot", &Default::default()).await.unwrap()) };
        let rule =
            Rule::new(Times::Nth(point.nth), Fault::action(point.moment, delete), |seen| point.hits(seen));
        let rule = source.faults().add(rule);
        stage.ask(namespace).await;
        stage.until_gone(namespace, &mut running).await;
        source.faults().remove(rule);
        let (whole, empty) = if *moved {
            (&stage.pair.target, &stage.pair.source)
        } else {
            (&stage.pair.source, &stage.pair.target)
        };
        same(before, stage.moved(whole, namespace).await);
        assert!(stage.moved(empty, namespace).await.is_empty(), "{says}");
    }
    stage.tidy().await;
    assert_eq!(observer.finish(&Rules::new()).await.unwrap(), [], "invariants");
    say(format_args!("counted: {} Pivots deleted during their moves", PHASES.len()));
}
