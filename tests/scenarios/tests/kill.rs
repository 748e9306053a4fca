//! The process dies, at any point of a move, and another one continues from elsewhere.
//!
//! The other one learns everything from the two servers: each run of the program has a directory and a home of its own.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, PostParams};
use pivot_lab::observer::Side;
use pivot_lab::proxy::Moment;
use pivot_lab::{Observer, Rules, say};
use pivot_scenarios::host::Host;
use pivot_scenarios::point::Point;
use pivot_scenarios::{sampling, shape, state};
use serde_json::json;

use crate::stage::{Stage, Wired, all, clean, same};

/// Moves that die and are resumed at the same time. They wait most of the time: for leases of the dead.
const AT_ONCE: usize = 8;

/// Up to the point of no return.
const EARLY: [Point; 9] = [
    Point::of_source("POST", "/leases", 1, Moment::After),
    // The record of a move that has started.
    Point::of_source("POST", "/configmaps", 1, Moment::After),
    Point::of_source("PATCH", "/clusters/c", 1, Moment::Before),
    Point::of_source("PATCH", "/baremetalhosts/", 1, Moment::After),
    Point::of_target("POST", "/api/v1/namespaces?", 1, Moment::After),
    Point::of_target("POST", "/clusters?", 1, Moment::After),
    Point::of_target("POST", "/machines?", 1, Moment::Instead),
    Point::of_target("POST", "/secrets?", 4, Moment::After),
    // The target's record, with the release list in it.
    Point::of_target("POST", "/configmaps?", 1, Moment::After),
];

/// From the moment the target's record exists.
const LATE: [Point; 10] = [
    // The commit never arrives.
    Point::of_source("PATCH", "/configmaps/", 2, Moment::Instead),
    // The source's record says Committed.
    Point::of_source("PATCH", "/configmaps/", 2, Moment::After),
    Point::of_target("PATCH", "/clusters/c", 1, Moment::Before),
    Point::of_target("PATCH", "/metal3datatemplates/c", 1, Moment::After),
    // Between the two requests that release an object.
    Point::of_source("PATCH", "/machines/", 1, Moment::After),
    Point::of_source("DELETE", "/machines/", 1, Moment::Instead),
    Point::of_source("DELETE", "/secrets/", 5, Moment::After),
    Point::of_source("DELETE", "/clusters/c", 1, Moment::After),
    // The target's record says Released.
    Point::of_target("PATCH", "/configmaps/", 1, Moment::After),
    // The source's record is deleted, the target's still exists.
    Point::of_source("DELETE", "/configmaps/pivot-host-source", 1, Moment::After),
];

/// A namespace whose move dies at a point, behind a network that no other move uses.
struct Case<'a> {
    point: Point,
    namespace: &'a str,
    wired: Wired,
}

impl Case<'_> {
    /// Runs a move that dies there. Returns its id and phase, if it left a record.
    async fn die(&self, stage: &Stage) -> Option<(String, String)> {
        let faults = match self.point.side {
            Side::Source => self.wired.source.faults(),
            Side::Target => self.wired.target.faults(),
        };
        self.point.kill(&self.wired.host, &moving(self.namespace), faults).await.unwrap();
        let mut records = 0;
        for server in [&stage.pair.source, &stage.pair.target] {
            records += state::ensure_no_secret_in_records(server).await.unwrap();
        }
        let found = find_move(&self.wired.host, self.namespace).await;
        assert!(found.is_none() || records > 0);
        let phase = found.as_ref().map_or("none", |(_, phase)| phase);
        say(format_args!("{} died in {phase}: {}", self.namespace, self.point));
        found
    }
}

fn moving(namespace: &str) -> Vec<&str> {
    [&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat()
}

/// The id and phase of a namespace's move, as `status` shows them.
async fn find_move(host: &Host, namespace: &str) -> Option<(String, String)> {
    let status = host.run(&["status"]).await.unwrap().done().unwrap();
    assert!(status["underWay"].is_boolean());
    let records = status["moves"].as_array().unwrap().iter().map(|one| &one["record"]);
    let mut own = records.filter(|record| record["scope"]["namespaces"]["one"] == namespace);
    let found = own.next().map(|record| {
        let text = |field: &str| record[field].as_str().unwrap().to_owned();
        (text("moveId"), text("phase"))
    });
    assert!(own.next().is_none(), "two moves of {namespace}: {status}");
    found
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

async fn resume_after_each_death(points: Vec<Point>, round_trip: Duration) {
    let stage = Stage::start().await;
    let namespaces = fill(&stage, points.len()).await;
    let observer = Observer::of(&stage.pair, &names(&namespaces)).await.unwrap();
    let number = points.len();
    let cases = points.into_iter().zip(&namespaces).map(async |(point, namespace)| {
        let wired = stage.wired().await;
        wired.delay(round_trip);
        let (case, start) = (Case { point, namespace, wired }, Instant::now());
        let before = all(&stage.pair.source, &[namespace]).await;
        let found = case.die(&stage).await;
        let go_on = match &found {
            // Nothing was recorded: repeat the same command.
            None => [&moving(namespace)[..], &["--break-lease"]].concat(),
            Some((id, _)) => vec!["resume", "--break-lease", id],
        };
        case.wired.host.run(&go_on).await.unwrap().done().unwrap();
        same(before, all(&stage.pair.target, &[namespace]).await);
        assert!(all(&stage.pair.source, &[namespace]).await.is_empty(), "{point}");
        say(format_args!("{namespace} resumed, {:.1} s in all", start.elapsed().as_secs_f64()));
        found.map_or_else(|| "none".to_owned(), |(_, phase)| phase)
    });
    let phases: Vec<String> = stream::iter(cases).buffer_unordered(AT_ONCE).collect().await;
    assert_eq!(phases.len(), number, "deaths");
    say(format_args!("counted: {number} deaths of moves that were resumed"));
    // No status shows Committed: from then on the target's record decides, and it says Live. Nor Settled: nothing is held, so
    // nothing settles.
    let expected = ["none", "Paused", "Copied", "Live", "Released"];
    assert_eq!(
        phases.into_iter().collect::<BTreeSet<_>>(),
        expected.map(str::to_owned).into_iter().collect()
    );
    stage.tidy(&names(&namespaces)).await;
    clean(observer, &Rules::new()).await;
}

fn all_points() -> Vec<Point> {
    EARLY.into_iter().chain(LATE).collect()
}

// proves: D24, I1
#[tokio::test(flavor = "multi_thread")]
async fn a_move_killed_anywhere_is_resumed_from_elsewhere() {
    resume_after_each_death(all_points(), Duration::ZERO).await;
    if sampling::is_nightly() {
        // A slow network. In a landing, the simulation has latencies.
        resume_after_each_death(all_points(), Duration::from_millis(20)).await;
    }
}

// proves: I10
#[tokio::test(flavor = "multi_thread")]
async fn a_move_killed_before_the_commit_is_rolled_back_without_a_trace() {
    let stage = Stage::start().await;
    let namespaces = fill(&stage, EARLY.len()).await;
    let observer = Observer::of(&stage.pair, &names(&namespaces)).await.unwrap();
    // Otherwise the first run would die while it makes the namespace.
    let records = json!({"metadata": {"name": "pivot-host-records"}});
    let namespaces_of_source: Api<Namespace> = Api::all(stage.pair.source.client());
    namespaces_of_source
        .create(&PostParams::default(), &serde_json::from_value(records).unwrap())
        .await
        .unwrap();
    let known = state::namespaces(&stage.pair.target).await.unwrap();
    let mut cases = EARLY.into_iter().zip(&namespaces).map(async |(point, namespace)| {
        let case = Case { point, namespace, wired: stage.wired().await };
        let before = all(&stage.pair.source, &[namespace]).await;
        match case.die(&stage).await {
            None => {
                case.wired.host.run(&["rollback", "--break-lease"]).await.unwrap().ends_with(7).unwrap();
                // A lease without a record locks nobody out for long: the next move of the namespace takes it, or it stays.
                let left = state::belongings(&stage.pair.source).await.unwrap();
                let lease = format!("pivot-host.ns.{namespace}");
                assert_eq!(left, [format!("Lease pivot-host-records/{lease}")]);
                let leases: Api<Lease> = Api::namespaced(stage.pair.source.client(), "pivot-host-records");
                leases.delete(&lease, &DeleteParams::default()).await.unwrap();
            }
            Some((id, _)) => {
                let words = ["rollback", "--break-lease", &id];
                case.wired.host.run(&words).await.unwrap().ends_with(0).unwrap();
            }
        }
        let after = all(&stage.pair.source, &[namespace]).await;
        // Including status: nothing has changed it.
        let (before, after) = (pivot_lab::normalise(before), pivot_lab::normalise(after));
        assert!(before == after, "{point}: {}", state::difference(&before, &after));
        assert!(all(&stage.pair.target, &[namespace]).await.is_empty(), "{point}");
        state::until_gone(&stage.pair.target, namespace).await.unwrap();
    });
    // It leaves no record by which it could be told from other moves.
    cases.next().unwrap().await;
    assert_eq!(stream::iter(cases).buffer_unordered(AT_ONCE).count().await, EARLY.len() - 1, "deaths");
    say(format_args!("counted: {} deaths of moves that were rolled back", EARLY.len()));
    assert_eq!(state::namespaces(&stage.pair.target).await.unwrap(), known);
    stage.tidy(&names(&namespaces)).await;
    clean(observer, &Rules::new()).await;
}

/// Without knowing that the other run is dead: its lease has to expire first.
// proves: T124
#[tokio::test(flavor = "multi_thread")]
async fn a_resume_waits_for_a_dead_runs_lease() {
    let stage = Stage::start().await;
    let before = stage.fill("shop", 1).await;
    let case = Case { point: EARLY[5], namespace: "shop", wired: stage.wired().await };
    case.die(&stage).await.unwrap();
    let start = Instant::now();
    let ended = case.wired.host.run(&["resume"]).await.unwrap().ends_with(0).unwrap();
    assert!(
        ended.stderr.contains("if it isn't renewed by then, that run counts as dead"),
        "{}",
        ended.stderr
    );
    assert!((10..40).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    same(before, all(&stage.pair.target, &["shop"]).await);
    stage.tidy(&["shop"]).await;
}
