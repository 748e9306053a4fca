//! The process dies, at any point of a move, and another one continues from elsewhere.
//!
//! The other one learns everything from the two servers: each run of the program has a directory and a home of its own.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams};
use pivot_lab::proxy::{Fault, Moment, Rule, Seen, Times};
use pivot_lab::{Observer, Rules, process, say};
use pivot_scenarios::host::{AGENT, Host, Run};
use pivot_scenarios::{shape, state};
use tokio::sync::oneshot;

use crate::stage::{Stage, Wired, all, clean, same};

/// Where a run dies: at the n-th of its requests to one side with this method and this text in their path.
struct Point {
    source: bool,
    method: &'static str,
    path: &'static str,
    nth: u64,
    moment: Moment,
}

const fn source(method: &'static str, path: &'static str, nth: u64, moment: Moment) -> Point {
    Point { source: true, method, path, nth, moment }
}

const fn target(method: &'static str, path: &'static str, nth: u64, moment: Moment) -> Point {
    Point { source: false, method, path, nth, moment }
}

/// Up to the point of no return.
const EARLY: [Point; 9] = [
    source("POST", "/leases", 1, Moment::After),
    // The record of a move that has started.
    source("POST", "/configmaps", 1, Moment::After),
    source("PATCH", "/clusters/c", 1, Moment::Before),
    source("PATCH", "/baremetalhosts/", 1, Moment::After),
    target("POST", "/api/v1/namespaces?", 1, Moment::After),
    target("POST", "/clusters?", 1, Moment::After),
    target("POST", "/machines?", 1, Moment::Instead),
    target("POST", "/secrets?", 4, Moment::After),
    // The target's record, with the release list in it.
    target("POST", "/configmaps?", 1, Moment::After),
];

/// From the moment the target's record exists.
const LATE: [Point; 10] = [
    // The commit never arrives.
    source("PATCH", "/configmaps/", 2, Moment::Instead),
    // The source's record says Committed.
    source("PATCH", "/configmaps/", 2, Moment::After),
    target("PATCH", "/clusters/c", 1, Moment::Before),
    target("PATCH", "/metal3datatemplates/c", 1, Moment::After),
    // Between the two requests that release an object.
    source("PATCH", "/machines/", 1, Moment::After),
    source("DELETE", "/machines/", 1, Moment::Instead),
    source("DELETE", "/secrets/", 5, Moment::After),
    source("DELETE", "/clusters/c", 1, Moment::After),
    // The target's record says Released.
    target("PATCH", "/configmaps/", 1, Moment::After),
    // The source's record is deleted, the target's still exists.
    source("DELETE", "/configmaps/pivot-host-source", 1, Moment::After),
];

impl Point {
    fn hits(&self, seen: &Seen) -> bool {
        // A query is appended to every path, so that "machines" can be distinguished from "machines/m".
        let path = if seen.path.contains('?') { seen.path.clone() } else { format!("{}?", seen.path) };
        seen.user_agent.starts_with(AGENT)
            && seen.is_mutating()
            && seen.method == self.method
            && path.contains(self.path)
    }

    fn says(&self) -> String {
        let Self { source, method, path, nth, moment } = self;
        let side = if *source { "source" } else { "target" };
        format!("{method} {path} number {nth} to the {side}, {moment:?}")
    }
}

/// Starts a move that dies at that point, and waits until it is dead.
async fn die(wired: &Wired, namespace: &str, point: &'static Point) {
    let faults = if point.source { wired.source.faults() } else { wired.target.faults() };
    let (tell, pid) = oneshot::channel();
    let kill = async move { process::kill(pid.await.unwrap()).unwrap() };
    let rule = Rule::new(Times::Nth(point.nth), Fault::action(point.moment, kill), |seen| point.hits(seen));
    let rule = faults.add(rule);
    let run = begin(&wired.host, namespace).await;
    tell.send(run.id()).unwrap();
    let ended = run.end().await.unwrap();
    assert_eq!(ended.code, None, "{}: it did not die\n{}", point.says(), ended.stderr);
    faults.remove(rule);
}

async fn begin(host: &Host, namespace: &str) -> Run {
    host.start(&[&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat()).await.unwrap()
}

/// The phase that `status` shows.
async fn phase(host: &Host) -> String {
    let status = host.run(&["status"]).await.unwrap().done().unwrap();
    assert!(status["underWay"].is_boolean());
    status["moves"][0]["record"]["phase"].as_str().unwrap_or("none").to_owned()
}

/// Clusters with one machine each, one per point.
async fn fill(stage: &Stage, points: usize) -> Vec<String> {
    let namespaces: Vec<_> = (0..points).map(|index| format!("case-{index}")).collect();
    let objects = namespaces.iter().flat_map(|namespace| shape::cluster(namespace, 1)).collect();
    stage.pair.source.apply_values(objects).await.unwrap();
    namespaces
}

fn names(namespaces: &[String]) -> Vec<&str> {
    namespaces.iter().map(String::as_str).collect()
}

async fn killed_and_resumed(points: Vec<&'static Point>, round_trip: Duration) {
    let stage = Stage::start().await;
    let wired = stage.wired().await;
    let namespaces = fill(&stage, points.len()).await;
    let observer = Observer::of(&stage.pair, &names(&namespaces)).await.unwrap();
    wired.delay(round_trip);
    let mut phases = BTreeSet::new();
    for (point, namespace) in points.into_iter().zip(&namespaces) {
        let start = Instant::now();
        let before = all(&stage.pair.source, &[namespace]).await;
        die(&wired, namespace, point).await;
        let phase = phase(&wired.host).await;
        say(format_args!("died in {phase}: {}", point.says()));
        let go_on = match phase.as_str() {
            // Nothing was recorded: repeat the same command.
            "none" => [&["move", "-n", namespace, "--take-over"][..], &shape::WITHOUT_PLUGIN].concat(),
            _ => vec!["resume", "--take-over"],
        };
        wired.host.run(&go_on).await.unwrap().done().unwrap();
        same(before, all(&stage.pair.target, &[namespace]).await);
        assert!(all(&stage.pair.source, &[namespace]).await.is_empty(), "{}", point.says());
        phases.insert(phase);
        say(format_args!("  resumed, {:.1} s in all", start.elapsed().as_secs_f64()));
    }
    // No status shows Committed: from then on the target's record decides, and it says Live. Nor Settled: nothing is held, so
    // nothing settles.
    let expected = ["none", "Paused", "Copied", "Live", "Released"];
    assert_eq!(phases, expected.map(str::to_owned).into_iter().collect());
    stage.tidy(&names(&namespaces)).await;
    clean(observer, &Rules::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_killed_anywhere_is_resumed_from_elsewhere() {
    killed_and_resumed(EARLY.iter().chain(&LATE).collect(), Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_killed_anywhere_on_a_slow_network_is_resumed_from_elsewhere() {
    // Every second point: ten of them, every phase.
    let points = EARLY.iter().chain(&LATE).step_by(2).collect();
    killed_and_resumed(points, Duration::from_millis(20)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_killed_before_the_commit_is_rolled_back_without_a_trace() {
    let stage = Stage::start().await;
    let wired = stage.wired().await;
    let namespaces = fill(&stage, EARLY.len()).await;
    let observer = Observer::of(&stage.pair, &names(&namespaces)).await.unwrap();
    let known = state::namespaces(&stage.pair.target).await.unwrap();
    for (point, namespace) in EARLY.iter().zip(&namespaces) {
        let before = all(&stage.pair.source, &[namespace]).await;
        die(&wired, namespace, point).await;
        let phase = phase(&wired.host).await;
        say(format_args!("died in {phase}: {}", point.says()));
        let code = if phase == "none" { 7 } else { 0 };
        wired.host.run(&["rollback", "--take-over"]).await.unwrap().ends_with(code).unwrap();
        if phase == "none" {
            // A lease without a record locks nobody out for long: the next move of the namespace takes it, or it stays.
            let left = state::belongings(&stage.pair.source).await.unwrap();
            assert_eq!(left, [format!("Lease kube-system/pivot-host.ns.{namespace}")]);
            let leases: Api<Lease> = Api::namespaced(stage.pair.source.client(), "kube-system");
            leases.delete(&format!("pivot-host.ns.{namespace}"), &DeleteParams::default()).await.unwrap();
        }
        let after = all(&stage.pair.source, &[namespace]).await;
        // Including status: nothing has changed it.
        let (before, after) = (pivot_lab::normalise(before), pivot_lab::normalise(after));
        assert!(before == after, "{}: {}", point.says(), state::difference(&before, &after));
        assert!(all(&stage.pair.target, &[namespace]).await.is_empty(), "{}", point.says());
        state::until_gone(&stage.pair.target, namespace).await.unwrap();
    }
    assert_eq!(state::namespaces(&stage.pair.target).await.unwrap(), known);
    stage.tidy(&names(&namespaces)).await;
    clean(observer, &Rules::new()).await;
}

/// Without knowing that the other run is dead: its lease has to expire first.
#[tokio::test(flavor = "multi_thread")]
async fn a_resume_waits_for_a_dead_runs_lease() {
    let stage = Stage::start().await;
    let wired = stage.wired().await;
    let before = stage.fill("shop", 1).await;
    die(&wired, "shop", &EARLY[5]).await;
    let start = Instant::now();
    let ended = wired.host.run(&["resume"]).await.unwrap().ends_with(0).unwrap();
    assert!(ended.stderr.contains("--take-over"), "{}", ended.stderr);
    assert!((10..40).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    same(before, all(&stage.pair.target, &["shop"]).await);
    stage.tidy(&["shop"]).await;
}
