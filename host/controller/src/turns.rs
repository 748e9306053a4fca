//! Turns limit the attempts at work at once, and decide which attempt is next.
//!
//! Anyone with write access to Pivots decides how many there are, and by the clusters behind them how long each takes. So no
//! namespace has more than its share of the turns, the namespace with fewest turns is next, and a part of the turns is kept for
//! moves that have begun: their Clusters are paused. A turn ends after a while if others wait.
//!
//! An attempt that waits for others is parked: it gives its turn back, and takes one again before it works. It holds what it has read,
//! so no more attempts are parked than there are turns, and of a namespace no more than its share. One that finds no room keeps its
//! turn.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// A namespace may have one of this many turns, and one of this many is kept for moves that have begun.
const SHARE_DIVISOR: usize = 5;
/// Time that a turn lasts while others wait.
const MAX_TURN: Duration = Duration::from_secs(30 * 60);
/// Time between two looks whether others wait.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// A number of turns.
#[derive(Debug)]
pub(crate) struct Turns {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of turns of each namespace.
    held: BTreeMap<String, usize>,
    /// Number of parked attempts of each namespace.
    parked: BTreeMap<String, usize>,
    /// Attempts that wait, in the order in which they came.
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    namespace: String,
    has_begun: bool,
    /// Whether the attempt counts as parked until it has a turn.
    is_parked: bool,
    ready: oneshot::Sender<Turn>,
}

/// One turn, until it is dropped. In between, an attempt can be parked.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    namespace: String,
    place: Mutex<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Has a turn, although it may wait for others.
    Held { since: Instant, waits: bool },
    /// Gave its turn back while it waits for others.
    Parked,
    /// Waits for its next turn, or another has taken its place: nothing counts for it.
    Left,
}

impl Turns {
    /// Creates this many turns.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most: most.max(1), state: Mutex::default() })
    }

    /// Waits for a turn. Moves that have begun come first.
    pub(crate) async fn wait_for_turn(self: &Arc<Self>, namespace: &str, has_begun: bool) -> Turn {
        self.queue_for_turn(namespace, has_begun, false).await
    }

    async fn queue_for_turn(self: &Arc<Self>, namespace: &str, has_begun: bool, mut is_parked: bool) -> Turn {
        loop {
            let (ready, turn) = oneshot::channel();
            self.enqueue(Waiting { namespace: namespace.to_owned(), has_begun, is_parked, ready });
            // The turn is sent, unless something panicked.
            if let Ok(turn) = turn.await {
                return turn;
            }
            is_parked = false;
        }
    }

    fn enqueue(self: &Arc<Self>, waiting: Waiting) {
        let mut state = self.lock_state();
        state.waiting.push(waiting);
        self.hand_out_turns(state);
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_out_turns(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let mut next = Vec::new();
        state.forget_gone();
        while let Some(position) = state.next(self.most) {
            next.push(state.take_out(position));
        }
        drop(state);
        for Waiting { namespace, ready, .. } in next {
            let place = Mutex::new(Place::Held { since: Instant::now(), waits: false });
            // If the attempt no longer waits, the turn is dropped and given back.
            drop(ready.send(Turn { turns: self.clone(), namespace, place }));
        }
    }

    /// Exchanges a turn of a namespace for a place among those that are parked. Returns false if there is no room.
    fn try_park(self: &Arc<Self>, namespace: &str) -> bool {
        let mut state = self.lock_state();
        state.forget_gone();
        decrement(&mut state.held, namespace);
        *state.parked.entry(namespace.to_owned()).or_default() += 1;
        if state.has_room(namespace, self.most) {
            self.hand_out_turns(state);
            return true;
        }
        *state.held.entry(namespace.to_owned()).or_default() += 1;
        decrement(&mut state.parked, namespace);
        false
    }

    /// Returns true if another namespace waits.
    fn has_others_waiting(&self, namespace: &str) -> bool {
        self.lock_state().waiting.iter().any(|one| one.namespace != namespace && !one.ready.is_closed())
    }
}

/// Returns the share of a namespace in so many turns.
fn namespace_share(most: usize) -> usize {
    (most / SHARE_DIVISOR).max(1)
}

fn count_of(of: &BTreeMap<String, usize>, namespace: &str) -> usize {
    of.get(namespace).copied().unwrap_or_default()
}

fn decrement(of: &mut BTreeMap<String, usize>, namespace: &str) {
    if let Some(count) = of.get_mut(namespace) {
        *count -= 1;
        if *count == 0 {
            of.remove(namespace);
        }
    }
}

impl State {
    /// Forgets attempts that no longer wait.
    fn forget_gone(&mut self) {
        for gone in self.waiting.extract_if(.., |one| one.ready.is_closed()) {
            if gone.is_parked {
                decrement(&mut self.parked, &gone.namespace);
            }
        }
    }

    /// Returns the position of the next attempt, if there is a turn for it.
    fn next(&self, most: usize) -> Option<usize> {
        let left = most.saturating_sub(self.held.values().sum());
        let kept = if most < SHARE_DIVISOR { 0 } else { namespace_share(most) };
        let candidates = self.waiting.iter().enumerate().filter(|(_, one)| {
            let turns = if one.has_begun { left } else { left.saturating_sub(kept) };
            turns > 0 && count_of(&self.held, &one.namespace) < namespace_share(most)
        });
        let next = candidates.min_by_key(|(_, one)| (!one.has_begun, count_of(&self.held, &one.namespace)));
        next.map(|(position, _)| position)
    }

    /// Gives a turn to an attempt that waits.
    fn take_out(&mut self, position: usize) -> Waiting {
        let next = self.waiting.remove(position);
        *self.held.entry(next.namespace.clone()).or_default() += 1;
        if next.is_parked {
            decrement(&mut self.parked, &next.namespace);
        }
        next
    }

    /// Returns true if no more attempts are parked than there are turns, and no more of the namespace than its share. A parked attempt that
    /// has the next turn leaves room.
    fn has_room(&self, namespace: &str, most: usize) -> bool {
        let next = self.next(most).and_then(|position| self.waiting.get(position));
        let leaves = next.filter(|next| next.is_parked);
        let all = self.parked.values().sum::<usize>() - usize::from(leaves.is_some());
        let own = leaves.is_some_and(|next| next.namespace == namespace);
        all <= most && count_of(&self.parked, namespace) - usize::from(own) <= namespace_share(most)
    }
}

impl Turn {
    /// Gives the turn back, because the attempt waits for others. If too many are parked, it keeps the turn for now.
    pub(crate) fn park(&self) {
        let mut place = self.lock_place();
        if let Place::Held { since, .. } = *place {
            let is_parked = self.turns.try_park(&self.namespace);
            *place = if is_parked { Place::Parked } else { Place::Held { since, waits: true } };
        }
    }

    /// Waits until the attempt has a turn again, if it gave its turn back.
    pub(crate) async fn unpark(&self, has_begun: bool) {
        let is_parked = {
            let mut place = self.lock_place();
            if let Place::Held { since, .. } = *place {
                *place = Place::Held { since, waits: false };
                return;
            }
            std::mem::replace(&mut *place, Place::Left) == Place::Parked
        };
        let next = self.turns.queue_for_turn(&self.namespace, has_begun, is_parked).await;
        *self.lock_place() = std::mem::replace(&mut *next.lock_place(), Place::Left);
    }

    /// Waits until the turn has lasted for long enough, and another namespace waits. Until then, parks the attempt if it waits
    /// for others and there is room.
    pub(crate) async fn wait_until_overdue(&self) {
        loop {
            sleep(LOOK_INTERVAL).await;
            let place = *self.lock_place();
            if let Place::Held { waits: true, .. } = place {
                self.park();
            }
            let since = match *self.lock_place() {
                Place::Held { since, .. } => since,
                Place::Parked | Place::Left => continue,
            };
            if since.elapsed() >= MAX_TURN && self.turns.has_others_waiting(&self.namespace) {
                return;
            }
        }
    }

    fn lock_place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let place = *self.lock_place();
        let mut state = self.turns.lock_state();
        match place {
            Place::Held { .. } => decrement(&mut state.held, &self.namespace),
            Place::Parked => decrement(&mut state.parked, &self.namespace),
            Place::Left => return,
        }
        self.turns.hand_out_turns(state);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn now(turns: &Arc<Turns>, namespace: &str, has_begun: bool) -> Option<Turn> {
        turns.wait_for_turn(namespace, has_begun).now_or_never()
    }

    // proves: T146
    #[tokio::test(start_paused = true)]
    async fn namespaces_take_no_more_than_their_share() {
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
        assert!(turns.lock_state().held.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn begun_moves_and_small_namespaces_come_first() {
        let turns = Turns::new(1);
        let first = now(&turns, "a", false).unwrap();
        let order = Mutex::new(Vec::new());
        let waits = |namespace: &'static str, has_begun| {
            let (turns, order) = (turns.clone(), &order);
            async move {
                let turn = turns.wait_for_turn(namespace, has_begun).await;
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
    async fn long_turn_ends_once_others_wait() {
        let turns = Turns::new(1);
        let turn = now(&turns, "a", true).unwrap();
        let wait_until_overdue =
            async |turn: &Turn| tokio::time::timeout(MAX_TURN * 2, turn.wait_until_overdue()).await.is_ok();
        assert!(!wait_until_overdue(&turn).await, "no attempt waits");
        let waits = |namespace: &'static str| {
            let turns = turns.clone();
            tokio::spawn(async move { drop(turns.wait_for_turn(namespace, true).await) })
        };
        let own = waits("a");
        assert!(!wait_until_overdue(&turn).await, "only its own namespace waits");
        let other = waits("b");
        assert!(wait_until_overdue(&turn).await);
        drop(turn);
        own.await.unwrap();
        other.await.unwrap();
    }

    /// Returns how many have a turn, and how many are parked.
    fn count_all(turns: &Turns) -> (usize, usize) {
        let state = turns.lock_state();
        (state.held.values().sum(), state.parked.values().sum())
    }

    // proves: T146
    #[tokio::test(start_paused = true)]
    async fn attempts_that_wait_for_others_keep_no_turn() {
        let turns = Turns::new(10);
        let take = |namespace: &str| now(&turns, namespace, true).unwrap();
        let parked: Vec<Turn> = (0..10).map(|n| take(&format!("n{}", n / 2))).collect();
        assert!(now(&turns, "late", true).is_none());
        parked.iter().for_each(Turn::park);
        assert!(turns.lock_state().held.is_empty());
        // As many as there are turns are parked; the next one keeps its turn.
        let late = take("late");
        late.park();
        assert_eq!(turns.lock_state().held["late"], 1);
        drop(parked);
        let look = tokio::time::timeout(LOOK_INTERVAL * 2, late.wait_until_overdue());
        assert!(look.await.is_err());
        assert!(turns.lock_state().held.is_empty());
        late.unpark(true).await;
        drop(late);
        assert_eq!(count_all(&turns), (0, 0));
    }

    /// A namespace with one turn, and room for one that is parked.
    #[tokio::test(start_paused = true)]
    async fn parked_attempt_with_next_turn_leaves_room() {
        let turns = Turns::new(1);
        let first = now(&turns, "a", true).unwrap();
        first.park();
        let second = now(&turns, "a", true).unwrap();
        let mut next = Box::pin(first.unpark(true));
        assert!(next.as_mut().now_or_never().is_none());
        second.park();
        next.await;
        assert_eq!(count_all(&turns), (1, 1));
        // One that is halted while it waits for its next turn.
        assert!(second.unpark(true).now_or_never().is_none());
        drop((first, second));
        assert!(now(&turns, "b", true).is_some());
        assert_eq!(count_all(&turns), (0, 0));
    }
}
