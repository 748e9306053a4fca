//! Agents, and controllers, that die at any request of an agent to its server.
//!
//! Ten children move at once. An agent dies by itself; a controller dies once each child has come to its own request, so that one death
//! is one at ten places.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pivot_lab::proxy::{Fault, Moment, Rule, Times};
use pivot_lab::{process, say};
use pivot_scenarios::host::Run;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::sleep;

use crate::cases::{Case, Cases, of_agent};
use crate::whole;

const AT_ONCE: usize = 10;
/// Without the whole, one of so many requests.
const SAMPLE: usize = 31;
const LIMIT: Duration = Duration::from_secs(120);

/// A request of the agent, counted from one, and whether it dies before the server acts on it, or after.
#[derive(Clone, Copy, Debug)]
struct Point {
    nth: u64,
    moment: Moment,
}

/// The agent of a child; the children before it had the same server.
async fn calling(cases: &Cases, child: &Case) -> Run {
    cases.calling(child, cases.address()).await
}

/// All of them, by how many requests there are to a move that nobody disturbs.
async fn points(cases: &mut Cases, running: &mut Run) -> Vec<Point> {
    let child = cases.more(1).await.remove(0);
    let agent = calling(cases, &child).await;
    cases.ask(&child).await;
    cases.until_moved(&child, running).await;
    drop(agent);
    let requests = child.far.faults().requests().into_iter().filter(of_agent).count();
    assert!(requests > 100, "{requests}");
    let step = if whole() { 1 } else { SAMPLE };
    let numbers = (1..=requests).step_by(step);
    let points = numbers.flat_map(|nth| [Moment::Before, Moment::After].map(|moment| (nth, moment)));
    points.map(|(nth, moment)| Point { nth: nth.try_into().unwrap(), moment }).collect()
}

/// Until each agent is dead, or its move has ended without that request.
async fn until_dead(cases: &Cases, children: &[Case], agents: &mut [Run]) -> usize {
    let begun = Instant::now();
    let mut killed = 0;
    for (child, agent) in children.iter().zip(agents) {
        while agent.still_runs().unwrap() && !cases.succeeded(child).await {
            let shown = async || format!("{:#}\n{}", cases.shown(child).await, agent.said());
            assert!(begun.elapsed() < LIMIT, "{}: neither dead nor done: {}", child.namespace, shown().await);
            sleep(Duration::from_millis(100)).await;
        }
        killed += usize::from(!agent.still_runs().unwrap());
    }
    killed
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_at_any_request_is_followed_by_one_that_goes_on() {
    let mut cases = Cases::start().await;
    let mut running = cases.controller().await;
    let points = points(&mut cases, &mut running).await;
    let mut killed = 0;
    for some in points.chunks(AT_ONCE) {
        let children = cases.more(some.len()).await;
        let observer = cases.observer(&children).await;
        let mut agents = Vec::new();
        for (child, point) in children.iter().zip(some) {
            let (tell, pid) = oneshot::channel();
            let kill = async move { process::kill(pid.await.unwrap()).unwrap() };
            child.far.faults().add(Rule::new(
                Times::Nth(point.nth),
                Fault::action(point.moment, kill),
                of_agent,
            ));
            let agent = calling(&cases, child).await;
            tell.send(agent.id()).unwrap();
            cases.ask(child).await;
            agents.push(agent);
        }
        killed += until_dead(&cases, &children, &mut agents).await;
        drop(agents);
        let mut next = Vec::new();
        for child in &children {
            next.push(calling(&cases, child).await);
        }
        for child in &children {
            cases.until_moved(child, &mut running).await;
        }
        Cases::clean(observer).await;
        say(format_args!("agents killed at {:?} to {:?}", some.first().unwrap(), some.last().unwrap()));
    }
    // The last few requests of a move are sometimes one fewer.
    assert!(killed * 10 >= points.len() * 9, "{killed} of {}", points.len());
    cases.stage.tidy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_killed_at_any_request_to_a_child_is_followed_by_one_that_goes_on() {
    let mut cases = Cases::start().await;
    let mut running = cases.controller().await;
    let points = points(&mut cases, &mut running).await;
    let mut caught = 0;
    for some in points.chunks(AT_ONCE) {
        let children = cases.more(some.len()).await;
        let observer = cases.observer(&children).await;
        let (arrived, (go, gone)) = (Arc::new(Semaphore::new(0)), watch::channel(false));
        let mut agents = Vec::new();
        for (child, point) in children.iter().zip(some) {
            let (arrived, mut gone) = (arrived.clone(), gone.clone());
            let hold = async move {
                arrived.add_permits(1);
                // Whoever let it go may have ended.
                let _ = gone.wait_for(|gone| *gone).await;
            };
            child.far.faults().add(Rule::new(
                Times::Nth(point.nth),
                Fault::action(point.moment, hold),
                of_agent,
            ));
            agents.push(calling(&cases, child).await);
            cases.ask(child).await;
        }
        let begun = Instant::now();
        loop {
            let mut ended = 0;
            for child in &children {
                ended += usize::from(cases.succeeded(child).await);
            }
            if arrived.available_permits() + ended >= children.len() {
                break;
            }
            assert!(
                begun.elapsed() < LIMIT,
                "{} of {} are held",
                arrived.available_permits(),
                children.len()
            );
            sleep(Duration::from_millis(100)).await;
        }
        caught += arrived.available_permits();
        running.kill().unwrap();
        running.end().await.unwrap();
        go.send(true).unwrap();
        running = cases.controller().await;
        for child in &children {
            cases.until_moved(child, &mut running).await;
        }
        Cases::clean(observer).await;
        say(format_args!("controllers killed at {:?} to {:?}", some.first().unwrap(), some.last().unwrap()));
    }
    assert!(caught * 10 >= points.len() * 9, "{caught} of {}", points.len());
    cases.stage.tidy().await;
}
