//! A dataflow over a directed acyclic graph: a node starts the moment the nodes it waits for are done.
//!
//! No barriers between layers: a slow object delays only its dependents. The number of nodes that run side by side adapts. Too
//! few waste the round trip, too many only queue in the API server: the limit grows while answers come about as fast as the
//! fastest ones did, shrinks while they queue, and is halved when the server asks for fewer.
//!
//! If one node begins something that another ends, ends go first, and only so many beginnings are open at a time.

use std::collections::VecDeque;
use std::future::Future;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tracing::Instrument;

use crate::base::outcome::failure::Failure;
use crate::base::requests::halt::Halter;
use crate::base::requests::limiter::Limiter;

/// A node's role towards another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NodeRole {
    /// Nothing.
    #[default]
    Whole,
    /// The node begins something.
    Begin,
    /// The node ends something that another node began.
    End,
}

/// The nodes that begin and end something.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// By node; nodes that are not listed are [`NodeRole::Whole`]. Every beginning has an end that waits for it, and waits for the
    /// beginnings of everything that its end waits for: so there is always an end that can run.
    pub(crate) of: Vec<NodeRole>,
    /// Maximum number of open beginnings: started, while their ends are not.
    pub(crate) most: usize,
}

/// Runs every node once, each after those it waits for. Returns the first failure once all running nodes have ended; a requested
/// stop counts as a failure.
pub(crate) async fn run<S, F>(
    after: &[Vec<usize>],
    limiter: Limiter,
    halter: &Halter,
    start: S,
) -> Result<(), Failure>
where
    S: FnMut(usize) -> F,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    run_parts(after, &Parts::default(), limiter, halter, start).await
}

/// Returns the nodes that wait for each node.
fn list_dependents(after: &[Vec<usize>]) -> Result<Vec<Vec<usize>>, Failure> {
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (node, before) in after.iter().enumerate() {
        for &earlier in before {
            dependents
                .get_mut(earlier)
                .ok_or_else(|| Failure::Bug(format!("node {node} waits for {earlier}, which is not there")))?
                .push(node);
        }
    }
    Ok(dependents)
}

/// Runs every node once, see [`run`], and limits how many beginnings are open.
pub(crate) async fn run_parts<S, F>(
    after: &[Vec<usize>],
    parts: &Parts,
    mut limiter: Limiter,
    halter: &Halter,
    mut start: S,
) -> Result<(), Failure>
where
    S: FnMut(usize) -> F,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut waits: Vec<usize> = after.iter().map(Vec::len).collect();
    let dependents = list_dependents(after)?;
    let mut ready = Ready::new(parts);
    (0..after.len()).filter(|&node| waits.get(node) == Some(&0)).for_each(|node| ready.push(node));
    let mut running: JoinSet<(usize, Duration, Result<(), Failure>)> = JoinSet::new();
    let mut first_failure = None;
    let mut done = 0;
    loop {
        while first_failure.is_none() && limiter.has_room(running.len()) {
            if let Some(halt) = halter.halt_reason() {
                first_failure = Some(Failure::Halted(halt));
                break;
            }
            let Some(node) = ready.pop() else { break };
            let work = start(node);
            let timed = async move {
                let begun = Instant::now();
                let result = work.await;
                (node, begun.elapsed(), result)
            };
            running.spawn(timed.in_current_span());
        }
        let Some(finished) = running.join_next().await else { break };
        let (node, took, result) = finished.map_err(task_failure)?;
        limiter.record_answer(took);
        match result {
            Ok(()) => {
                done += 1;
                for &dependent in dependents.get(node).map_or(&[][..], Vec::as_slice) {
                    if let Some(count) = waits.get_mut(dependent) {
                        *count -= 1;
                        if *count == 0 {
                            ready.push(dependent);
                        }
                    }
                }
            }
            Err(failure) => {
                first_failure.get_or_insert(failure);
            }
        }
    }
    match first_failure {
        Some(failure) => Err(failure),
        None if done == after.len() => Ok(()),
        None => {
            Err(Failure::Bug(format!("{} of {} nodes wait for each other", after.len() - done, after.len())))
        }
    }
}

/// Nodes that no longer wait for anything. First in, first out: whole subtrees become free early, and the run's memory stays
/// bounded.
struct Ready<'a> {
    parts: &'a Parts,
    begins: VecDeque<usize>,
    others: VecDeque<usize>,
    /// Beginnings that were started while their ends were not.
    open: usize,
}

impl<'a> Ready<'a> {
    fn new(parts: &'a Parts) -> Self {
        Self { parts, begins: VecDeque::new(), others: VecDeque::new(), open: 0 }
    }

    fn part_of(&self, node: usize) -> NodeRole {
        self.parts.of.get(node).copied().unwrap_or_default()
    }

    fn push(&mut self, node: usize) {
        let queue = if self.part_of(node) == NodeRole::Begin { &mut self.begins } else { &mut self.others };
        queue.push_back(node);
    }

    fn pop(&mut self) -> Option<usize> {
        let Some(node) = self.others.pop_front() else {
            let node = if self.open < self.parts.most { self.begins.pop_front() } else { None };
            self.open += usize::from(node.is_some());
            return node;
        };
        self.open -= usize::from(self.part_of(node) == NodeRole::End);
        Some(node)
    }
}

/// Without the error's own text: it quotes a panic, which may quote the object at hand.
fn task_failure(error: JoinError) -> Failure {
    Failure::Bug(if error.is_panic() { "a task panicked" } else { "a task was cut off" }.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::base::requests::halt::Halt;

    fn limiter() -> Limiter {
        Limiter::new(Arc::default())
    }

    #[tokio::test]
    async fn node_starts_after_its_dependencies() {
        let after = vec![vec![], vec![0], vec![0, 1], vec![]];
        let order = Arc::new(Mutex::new(Vec::new()));
        run(&after, limiter(), &Halter::default(), |node| {
            let order = order.clone();
            async move {
                order.lock().unwrap().push(node);
                Ok(())
            }
        })
        .await
        .unwrap();
        let order = order.lock().unwrap().clone();
        let at = |node| order.iter().position(|n| *n == node).unwrap();
        assert!(at(0) < at(1) && at(1) < at(2) && order.len() == 4);
    }

    /// Ten things to begin and end, each the owner of the one before it, with three open at a time.
    #[tokio::test]
    async fn open_beginnings_stay_below_limit() {
        for owned in [false, true] {
            let mut after = Vec::new();
            for thing in 0..10_usize {
                let before = thing.checked_sub(1).filter(|_| owned);
                after.push(before.map(|before| 2 * before).into_iter().collect());
                after.push(before.map(|before| 2 * before + 1).into_iter().chain([2 * thing]).collect());
            }
            let parts = Parts { of: [NodeRole::Begin, NodeRole::End].repeat(10), most: 3 };
            let open = Arc::new(Mutex::new((0, 0)));
            run_parts(&after, &parts, limiter(), &Halter::default(), |node| {
                let open = open.clone();
                {
                    let mut open = open.lock().unwrap();
                    open.0 += if node % 2 == 0 { 1 } else { -1 };
                    open.1 = open.0.max(open.1);
                }
                async move {
                    tokio::task::yield_now().await;
                    Ok(())
                }
            })
            .await
            .unwrap();
            let (left, most) = *open.lock().unwrap();
            assert_eq!(left, 0);
            assert_eq!(most, if owned { 2 } else { 3 });
        }
    }

    #[tokio::test]
    async fn dependents_of_failed_node_never_start() {
        let started = Arc::new(Mutex::new(Vec::new()));
        let result = run(&[vec![], vec![0]], limiter(), &Halter::default(), |node| {
            started.lock().unwrap().push(node);
            async { Err(Failure::NoMove) }
        })
        .await;
        assert!(matches!(result, Err(Failure::NoMove)));
        assert_eq!(*started.lock().unwrap(), [0]);
    }

    #[tokio::test]
    async fn nothing_starts_after_halt() {
        let halter = Halter::default();
        halter.halt(Halt::Signal(2));
        let result = run(&[vec![]], limiter(), &halter, |_| async { Ok(()) }).await;
        assert!(matches!(result, Err(Failure::Halted(Halt::Signal(2)))));
    }

    // proves: T128
    #[tokio::test]
    async fn panic_message_is_not_quoted() {
        let work = |_| async { if true { panic!("hunter2") } else { Ok(()) } };
        let failure = run(&[vec![]], limiter(), &Halter::default(), work).await.unwrap_err();
        assert_eq!(failure.to_string(), "unexpected: a task panicked; please report it");
    }

    #[tokio::test]
    async fn dependency_cycle_is_an_error() {
        let result = run(&[vec![1], vec![0]], limiter(), &Halter::default(), |_| async { Ok(()) }).await;
        assert!(matches!(result, Err(Failure::Bug(_))));
    }
}
