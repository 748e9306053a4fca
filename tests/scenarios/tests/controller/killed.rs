//! Agents, and controllers, that die at any request of an agent to its server.
//!
//! Several children move at once. An agent dies by itself; a controller dies once each child has come to its own request, so that one death
//! is one at several places.

use std::time::{Duration, Instant};

use pivot_lab::proxy::{Fault, Moment, Rule, Times};
use pivot_lab::{process, say};
use pivot_scenarios::host::Run;
use pivot_scenarios::sampling::sample;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::barrier::Barrier;
use crate::cases::{Case, Cases, of_agent};

/// A controller begins no more at once: of its ten turns it keeps two for moves that have begun. A move whose agent is dead keeps its turn.
const AT_ONCE: usize = 8;
/// The points that a landing tests.
const SAMPLE: usize = 8;
/// How often a point is tried: the number of requests varies.
const TRIES: usize = 3;
/// How long after a move has succeeded its last requests may come.
const LAST_REQUESTS: Duration = Duration::from_secs(3);
const LIMIT: Duration = Duration::from_secs(120);

/// A request of the agent, counted from one, and whether it dies before the server acts on it, or after.
#[derive(Clone, Copy, Debug)]
struct Point {
    nth: usize,
    moment: Moment,
    /// Moves that ended without this request.
    missed: usize,
}

/// The points that are still to be tried, until some move has come to each.
struct Points {
    waiting: Vec<Point>,
    /// Points that were tried and that a move came to.
    deaths: usize,
}

impl Points {
    /// Takes those that are tried at the same time.
    fn next_round(&mut self) -> Option<Vec<Point>> {
        let count = self.waiting.len().min(AT_ONCE);
        self.deaths += count;
        (count > 0).then(|| self.waiting.drain(..count).collect())
    }

    /// Tries a point again, because the child's move ended without it. One that has fewer requests dies at its last.
    fn try_again(&mut self, point: Point, child: &Case) {
        let (missed, made) = (point.missed + 1, requests(child));
        say(format_args!("a move of {made} requests ended without {point:?}"));
        assert!(missed < TRIES, "no move came to {point:?}");
        self.deaths -= 1;
        self.waiting.push(Point { nth: point.nth.min(made), missed, ..point });
    }
}

fn list(points: &[Point]) -> String {
    let points = points.iter().map(|Point { nth, moment, .. }| format!("{moment:?} {nth}"));
    points.collect::<Vec<_>>().join(", ")
}

/// The agent of a child; the children before it had the same server.
async fn calling(cases: &Cases, child: &Case) -> Run {
    cases.calling(child, cases.address()).await
}

/// How many requests the agent of a child has made.
fn requests(child: &Case) -> usize {
    child.far.faults().requests().into_iter().filter(of_agent).count()
}

/// The points of a move that nobody disturbs.
async fn points(cases: &mut Cases, running: &mut Run) -> Points {
    let child = cases.more(1).await.remove(0);
    let agent = calling(cases, &child).await;
    cases.ask(&child).await;
    cases.until_moved(&child, running).await;
    drop(agent);
    let requests = requests(&child);
    assert!(requests > 100, "{requests}");
    let all = (1..=requests)
        .flat_map(|nth| [Moment::Before, Moment::After].map(|moment| Point { nth, moment, missed: 0 }));
    Points { waiting: sample("points of death", all, SAMPLE).unwrap(), deaths: 0 }
}

/// Waits until a move has come to its request, or has ended without it. Returns whether it has come there.
async fn comes(cases: &Cases, child: &Case, agent: &mut Run, reached: impl Fn(&mut Run) -> bool) -> bool {
    let (begun, mut ended) = (Instant::now(), None::<Instant>);
    while !reached(agent) && ended.is_none_or(|ended| ended.elapsed() < LAST_REQUESTS) {
        if cases.succeeded(child).await {
            ended.get_or_insert_with(Instant::now);
        }
        let shown = async || format!("{:#}\n{}", cases.shown(child).await, agent.said());
        assert!(begun.elapsed() < LIMIT, "{}: neither reached nor done: {}", child.namespace, shown().await);
        sleep(Duration::from_millis(100)).await;
    }
    reached(agent)
}

// proves: T72
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_at_any_request_is_followed_by_one_that_goes_on() {
    let mut cases = Cases::start().await;
    let mut running = cases.controller().await;
    let mut points = points(&mut cases, &mut running).await;
    while let Some(round) = points.next_round() {
        let children = cases.more(round.len()).await;
        let observer = cases.observer(&children).await;
        let mut agents = Vec::new();
        for (child, point) in children.iter().zip(&round) {
            let (tell, pid) = oneshot::channel();
            let kill = async move { process::kill(pid.await.unwrap()).unwrap() };
            let kill = Fault::action(point.moment, kill);
            child.far.faults().add(Rule::new(Times::Nth(point.nth as u64), kill, of_agent));
            let agent = calling(&cases, child).await;
            tell.send(agent.id()).unwrap();
            cases.ask(child).await;
            agents.push(agent);
        }
        for ((child, point), agent) in children.iter().zip(&round).zip(&mut agents) {
            if !comes(&cases, child, agent, |agent| !agent.still_runs().unwrap()).await {
                points.try_again(*point, child);
            }
        }
        drop(agents);
        let mut next = Vec::new();
        for child in &children {
            next.push(calling(&cases, child).await);
        }
        for child in &children {
            cases.until_moved(child, &mut running).await;
        }
        Cases::clean(observer).await;
        say(format_args!("agents killed at {}", list(&round)));
    }
    say(format_args!("counted: {} agents killed", points.deaths));
    cases.stage.tidy().await;
}

// proves: T72
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_killed_at_any_request_to_a_child_is_followed_by_one_that_goes_on() {
    let mut cases = Cases::start().await;
    let mut running = cases.controller().await;
    let mut points = points(&mut cases, &mut running).await;
    while let Some(round) = points.next_round() {
        let children = cases.more(round.len()).await;
        let observer = cases.observer(&children).await;
        let (barrier, mut agents) = (Barrier::new(), Vec::new());
        for (child, point) in children.iter().zip(&round) {
            let hold = barrier.hold(point.moment, &child.namespace);
            child.far.faults().add(Rule::new(Times::Nth(point.nth as u64), hold, of_agent));
            agents.push(calling(&cases, child).await);
            cases.ask(child).await;
        }
        for ((child, point), agent) in children.iter().zip(&round).zip(&mut agents) {
            if !comes(&cases, child, agent, |_| barrier.is_held(&child.namespace)).await {
                points.try_again(*point, child);
            }
        }
        running.kill().unwrap();
        running.end().await.unwrap();
        barrier.open();
        running = cases.controller().await;
        for child in &children {
            cases.until_moved(child, &mut running).await;
        }
        Cases::clean(observer).await;
        say(format_args!("controllers killed at {}", list(&round)));
    }
    say(format_args!("counted: controllers killed at {} requests", points.deaths));
    cases.stage.tidy().await;
}
