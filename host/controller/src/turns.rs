//! Turns: how many attempts are at work at once, and who is next.
//!
//! Whoever may write Pivots decides how many there are, and by the clusters behind them how long each takes. So no namespace has more
//! than its share of the turns, who has fewest is next, and a part of the turns is kept for moves that have begun: their Clusters
//! are paused. A turn ends after a while if others wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// Of how many turns a namespace may have one, and one is kept for moves that have begun.
const SHARE: usize = 5;
/// Time that a turn lasts while others wait.
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// Time between two looks whether others wait.
const LOOK: Duration = Duration::from_secs(30);

/// A number of turns.
#[derive(Debug)]
pub(crate) struct Turns {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many each namespace has.
    held: BTreeMap<String, usize>,
    /// Who waits, the first to come first.
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    namespace: String,
    has_begun: bool,
    ready: oneshot::Sender<Turn>,
}

/// One turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    namespace: String,
    began: Instant,
}

impl Turns {
    /// So many at once.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most: most.max(1), state: Mutex::default() })
    }

    /// Waits for a turn. Moves that have begun come first.
    pub(crate) async fn take(self: &Arc<Self>, namespace: &str, has_begun: bool) -> Turn {
        loop {
            let (ready, turn) = oneshot::channel();
            self.state().waiting.push(Waiting { namespace: namespace.to_owned(), has_begun, ready });
            self.hand_out();
            // It is sent, unless something panicked.
            if let Ok(turn) = turn.await {
                return turn;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_out(self: &Arc<Self>) {
        loop {
            let mut state = self.state();
            let Some(next) = state.next(self.most) else { return };
            *state.held.entry(next.namespace.clone()).or_default() += 1;
            drop(state);
            let turn = Turn { turns: self.clone(), namespace: next.namespace, began: Instant::now() };
            // Who no longer waits gives it back at once.
            drop(next.ready.send(turn));
        }
    }

    /// Whether another namespace waits.
    fn others_wait(&self, namespace: &str) -> bool {
        self.state().waiting.iter().any(|one| one.namespace != namespace && !one.ready.is_closed())
    }
}

impl State {
    fn held_by(&self, namespace: &str) -> usize {
        self.held.get(namespace).copied().unwrap_or_default()
    }

    /// Takes out who is next, if there is a turn for them.
    fn next(&mut self, most: usize) -> Option<Waiting> {
        self.waiting.retain(|one| !one.ready.is_closed());
        let left = most.saturating_sub(self.held.values().sum());
        let share = (most / SHARE).max(1);
        let kept = if most < SHARE { 0 } else { share };
        let may = |one: &Waiting| {
            let turns = if one.has_begun { left } else { left.saturating_sub(kept) };
            turns > 0 && self.held_by(&one.namespace) < share
        };
        let candidates = self.waiting.iter().enumerate().filter(|(_, one)| may(one));
        let (next, _) = candidates.min_by_key(|(_, one)| (!one.has_begun, self.held_by(&one.namespace)))?;
        Some(self.waiting.remove(next))
    }
}

impl Turn {
    /// Waits until it has lasted for long enough, and another namespace waits.
    pub(crate) async fn outstayed(&self) {
        loop {
            sleep(LOOK).await;
            if self.began.elapsed() >= LONGEST && self.turns.others_wait(&self.namespace) {
                return;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        if let Some(held) = state.held.get_mut(&self.namespace) {
            *held -= 1;
            if *held == 0 {
                state.held.remove(&self.namespace);
            }
        }
        drop(state);
        self.turns.hand_out();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn now(turns: &Arc<Turns>, namespace: &str, has_begun: bool) -> Option<Turn> {
        turns.take(namespace, has_begun).now_or_never()
    }

    // proves: T146
    #[tokio::test(start_paused = true)]
    async fn no_namespace_takes_all_turns() {
        let turns = Turns::new(10);
        let many: Vec<Option<Turn>> = (0..50).map(|_| now(&turns, "many", false)).collect();
        assert_eq!(many.iter().flatten().count(), 2);
        let others: Vec<Turn> = (0..6).filter_map(|n| now(&turns, &format!("n{n}"), false)).collect();
        assert_eq!(others.len(), 6);
        // Two are kept for moves that have begun.
        assert!(now(&turns, "late", false).is_none());
        let begun = now(&turns, "late", true).unwrap();
        assert!(now(&turns, "later", true).is_some());
        drop((many, others, begun));
        assert!(turns.state().held.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn begun_moves_and_small_users_come_first() {
        let turns = Turns::new(1);
        let first = now(&turns, "a", false).unwrap();
        let order = Mutex::new(Vec::new());
        let waits = |namespace: &'static str, has_begun| {
            let (turns, order) = (turns.clone(), &order);
            async move {
                let turn = turns.take(namespace, has_begun).await;
                order.lock().unwrap().push((namespace, has_begun));
                drop(turn);
            }
        };
        let release = async {
            sleep(Duration::from_secs(1)).await;
            drop(first);
        };
        tokio::join!(waits("a", false), waits("b", false), waits("b", true), release);
        assert_eq!(*order.lock().unwrap(), [("b", true), ("a", false), ("b", false)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_turn_ends_once_others_wait() {
        let turns = Turns::new(1);
        let turn = now(&turns, "a", true).unwrap();
        let outstayed = async |turn: &Turn| tokio::time::timeout(LONGEST * 2, turn.outstayed()).await.is_ok();
        assert!(!outstayed(&turn).await, "nobody waits");
        let waits = |namespace: &'static str| {
            let turns = turns.clone();
            tokio::spawn(async move { drop(turns.take(namespace, true).await) })
        };
        let own = waits("a");
        assert!(!outstayed(&turn).await, "only its own namespace waits");
        let other = waits("b");
        assert!(outstayed(&turn).await);
        drop(turn);
        own.await.unwrap();
        other.await.unwrap();
    }
}
