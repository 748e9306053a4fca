//! A dataflow over a directed acyclic graph: a node starts the moment what it waits for is done.
//!
//! No barriers between layers: one slow object holds up what depends on it and nothing else. How many run side by
//! side adapts. Too few waste the round trip, too many only queue in the API server: the limit grows while answers
//! come about as fast as the fastest ones did, shrinks while they queue, and is halved when the server says so.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::outcome::failure::Failure;
use crate::requests::halt::Halter;
use crate::requests::limiter::Limiter;

/// Runs every node once, each after those it waits for. Returns the first failure, once everything that was under way
/// has ended; a stop that is asked for counts as one.
pub(crate) async fn run<S, F>(
    after: &[Vec<usize>],
    mut limiter: Limiter,
    halter: &Halter,
    mut start: S,
) -> Result<(), Failure>
where
    S: FnMut(usize) -> F,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut waits: Vec<usize> = after.iter().map(Vec::len).collect();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (node, before) in after.iter().enumerate() {
        for &earlier in before {
            dependents
                .get_mut(earlier)
                .ok_or_else(|| Failure::Bug(format!("node {node} waits for {earlier}, which is not there")))?
                .push(node);
        }
    }
    // First come, first served: whole subtrees become free early, and memory of the run stays bounded.
    let mut ready: std::collections::VecDeque<usize> =
        (0..after.len()).filter(|&node| waits.get(node) == Some(&0)).collect();
    let mut running: JoinSet<(usize, Duration, Result<(), Failure>)> = JoinSet::new();
    let mut first_failure = None;
    let mut done = 0;
    loop {
        while first_failure.is_none() && limiter.room(running.len()) {
            if let Some(halt) = halter.halted() {
                first_failure = Some(Failure::Halted(halt));
                break;
            }
            let Some(node) = ready.pop_front() else { break };
            let work = start(node);
            running.spawn(async move {
                let begun = Instant::now();
                let result = work.await;
                (node, begun.elapsed(), result)
            });
        }
        let Some(finished) = running.join_next().await else { break };
        let (node, took, result) = finished.map_err(|e| Failure::Bug(e.to_string()))?;
        limiter.finished(took);
        match result {
            Ok(()) => {
                done += 1;
                for &dependent in dependents.get(node).map_or(&[][..], Vec::as_slice) {
                    if let Some(count) = waits.get_mut(dependent) {
                        *count -= 1;
                        if *count == 0 {
                            ready.push_back(dependent);
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::requests::halt::Halt;

    fn limiter() -> Limiter {
        Limiter::new(Arc::default())
    }

    #[tokio::test]
    async fn a_node_starts_after_what_it_waits_for() {
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

    #[tokio::test]
    async fn nothing_below_a_failure_starts() {
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
    async fn a_halt_starts_nothing_more() {
        let halter = Halter::default();
        halter.halt(Halt::Signal(2));
        let result = run(&[vec![]], limiter(), &halter, |_| async { Ok(()) }).await;
        assert!(matches!(result, Err(Failure::Halted(Halt::Signal(2)))));
    }

    #[tokio::test]
    async fn nodes_that_wait_for_each_other_are_an_error_not_a_hang() {
        let result = run(&[vec![1], vec![0]], limiter(), &Halter::default(), |_| async { Ok(()) }).await;
        assert!(matches!(result, Err(Failure::Bug(_))));
    }
}
