//! The loop: follows the Pivots of a cluster, keeps at most one attempt at work for each, and starts the next when it is due.
//!
//! What is remembered between attempts is only when to try again. Everything else is read from the Pivot and from the records of
//! its two sides, so that another controller can take over at any moment.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::OptionFuture;
use pivot_core::{Key, Uid};
use pivot_engine::{Halt, Halter, Plugins};
use pivot_link::{AgentName, Agents};
use pivot_places::{Place, PlaceError};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, broadcast};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::attempt::{Verdict, attempt};
use crate::ends::Opener;
use crate::follow::{Change, follow};
use crate::home::Home;
use crate::leader::Leadership;
use crate::metrics::Metrics;
use crate::resource::Pivot;
use crate::shared::{Settings, Shared};

/// The first pause after a failure doubles each time, up to the longest.
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(300);
/// The pause before a Pivot that waits until clusters are built is looked at again.
const WAITING: Duration = Duration::from_secs(15);
/// The longest pause for what is stalled, which begins with the one for what waits: what has to change may be in either cluster, and a
/// Secret may be created seconds after its Pivot.
const LONGEST_STALLED: Duration = Duration::from_secs(600);
/// How long attempts may take to reach a safe point when the controller stops.
const FAREWELL: Duration = Duration::from_secs(60);
/// A stop that is asked for like this ends at the next safe point.
const TERMINATE: u8 = 15;

/// What carries out the Pivots of a cluster.
pub struct Controller {
    /// The cluster that they live in.
    pub home: Arc<dyn Place>,
    /// Opens the others.
    pub opener: Arc<dyn Opener>,
    /// The plugins of each move.
    pub plugins: Arc<dyn Fn() -> Plugins + Send + Sync>,
    /// How it runs.
    pub settings: Settings,
    /// Where it counts.
    pub metrics: Arc<Metrics>,
    /// The agents that may call, and where.
    pub agents: Option<(SocketAddr, Arc<Agents>)>,
}

impl Controller {
    /// Waits until it leads, and works until it is asked to stop.
    pub async fn run(self, halter: Halter) -> Result<(), PlaceError> {
        let Self { home, opener, plugins, settings, metrics, agents } = self;
        let leadership = Leadership::new(home.clone(), &settings.namespace, &settings.identity)?;
        let shared = Arc::new(Shared {
            home: Arc::new(Home::new(home, &settings.namespace)?),
            opener,
            plugins,
            turns: Semaphore::new(settings.at_once.max(1)),
            settings,
            metrics,
        });
        loop {
            shared.metrics.leads(false);
            let version = tokio::select! {
                version = leadership.won() => version,
                _ = halter.wait() => return Ok(()),
            };
            tracing::info!(identity = shared.settings.identity, "this controller leads");
            shared.metrics.leads(true);
            let mut desk = Desk::new(shared.clone());
            let mut lost = std::pin::pin!(leadership.lost(version));
            // Until it is dropped, after the attempts have ended, it keeps the links alive.
            let mut called = std::pin::pin!(called(agents.as_ref()));
            let why = tokio::select! {
                () = desk.work(agents.as_ref().map(|(_, agents)| &**agents)) => continue,
                never = &mut called => match never {},
                why = &mut lost => Some(why),
                _ = halter.wait() => None,
            };
            match why {
                Some(why) => {
                    tracing::warn!(why, "this controller no longer leads");
                    desk.stop().await;
                }
                None => {
                    // Until the attempts have ended nobody else is to begin.
                    tokio::select! {
                        () = desk.stop() => leadership.give_back().await,
                        why = lost => tracing::warn!(why, "this controller no longer leads"),
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// Takes agents, as only the controller that leads does: who meets another calls again.
async fn called(agents: Option<&(SocketAddr, Arc<Agents>)>) -> Infallible {
    let Some((address, agents)) = agents else { return pending().await };
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => match agents.clone().listen(listener).await {},
            Err(error) => tracing::warn!(%error, %address, "agents can't call"),
        }
        sleep(FIRST).await;
    }
}

/// What is known of one Pivot.
struct Entry {
    pivot: Pivot,
    running: Option<Running>,
    failures: u32,
    /// What the last attempt was about, and when the next one is due, if one is.
    tried: Option<(Seen, Option<Instant>)>,
}

/// What an attempt depends on.
type Seen = (Uid, Option<i64>, bool);

struct Running {
    halter: Halter,
    about: Seen,
}

impl Entry {
    fn seen(&self) -> Seen {
        (self.pivot.meta.uid.clone(), self.pivot.meta.generation, self.pivot.deleted())
    }

    /// When an attempt is due; `None` if only a change makes one.
    fn due(&self, now: Instant) -> Option<Instant> {
        match &self.tried {
            _ if self.running.is_some() => None,
            Some((seen, next)) if *seen == self.seen() => *next,
            _ => Some(now),
        }
    }
}

struct Desk {
    shared: Arc<Shared>,
    entries: BTreeMap<Key, Entry>,
    attempts: JoinSet<Verdict>,
    /// Which attempt is whose.
    whose: BTreeMap<Id, Key>,
}

impl Desk {
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, entries: BTreeMap::new(), attempts: JoinSet::new(), whose: BTreeMap::new() }
    }

    /// Works until it is dropped.
    async fn work(&mut self, agents: Option<&Agents>) {
        let mut changes = follow(self.shared.home.clone());
        let mut calls = agents.map(Agents::calls);
        loop {
            self.begin_what_is_due();
            self.count();
            let now = Instant::now();
            let next = self.entries.values().filter_map(|entry| entry.due(now)).min();
            tokio::select! {
                change = changes.next() => match change {
                    Some(change) => self.changed(change),
                    None => return,
                },
                Some(ended) = self.attempts.join_next_with_id() => self.ended(ended),
                Some(Ok(name)) = OptionFuture::from(calls.as_mut().map(broadcast::Receiver::recv)) => self.called(&name),
                Some(()) = OptionFuture::from(next.map(sleep_until)) => {}
            }
        }
    }

    fn changed(&mut self, change: Change) {
        match change {
            Change::All(pivots) => {
                let there: BTreeMap<Key, Pivot> =
                    pivots.into_iter().map(|pivot| (pivot.key.clone(), pivot)).collect();
                self.entries.retain(|key, entry| there.contains_key(key) || entry.running.is_some());
                there.into_values().for_each(|pivot| self.seen(pivot));
            }
            Change::Seen(pivot) => self.seen(*pivot),
            Change::Gone(key) => {
                if self.entries.get(&key).is_some_and(|entry| entry.running.is_none()) {
                    self.entries.remove(&key);
                }
            }
        }
    }

    fn seen(&mut self, pivot: Pivot) {
        let key = pivot.key.clone();
        match self.entries.get_mut(&key) {
            Some(entry) => entry.pivot = pivot,
            None => {
                let entry = Entry { pivot, running: None, failures: 0, tried: None };
                self.entries.insert(key.clone(), entry);
            }
        }
        let Some(entry) = self.entries.get(&key) else { return };
        // What was deleted or changed meanwhile is stopped, to be undone, finished, or begun as it is now.
        if let Some(Running { halter, about }) = &entry.running
            && *about != entry.seen()
        {
            halter.halt(Halt::Signal(TERMINATE));
        }
    }

    /// What stopped may have waited for this agent, or for what its cluster's people have changed.
    fn called(&mut self, name: &AgentName) {
        let now = Instant::now();
        for entry in self.entries.values_mut().filter(|entry| entry.pivot.is_of(name)) {
            if let Some((_, Some(next))) = &mut entry.tried {
                *next = now;
            }
        }
    }

    fn begin_what_is_due(&mut self) {
        let now = Instant::now();
        for (key, entry) in &mut self.entries {
            if entry.due(now).is_none_or(|due| due > now) {
                continue;
            }
            // What failed was something else.
            if entry.tried.as_ref().is_some_and(|(seen, _)| *seen != entry.seen()) {
                entry.failures = 0;
            }
            let halter = Halter::default();
            let work = attempt(self.shared.clone(), entry.pivot.clone(), entry.failures, halter.clone());
            let task = self.attempts.spawn(work);
            self.whose.insert(task.id(), key.clone());
            entry.running = Some(Running { halter, about: entry.seen() });
        }
    }

    fn ended(&mut self, ended: Result<(Id, Verdict), JoinError>) {
        let (id, verdict) = match ended {
            Ok(ended) => ended,
            // What the panic says may quote an object.
            Err(error) => {
                tracing::error!("an attempt panicked; this is a bug in pivot-host, please report it");
                (error.id(), Verdict::Retry)
            }
        };
        self.shared.metrics.attempt(verdict.word());
        let Some(key) = self.whose.remove(&id) else { return };
        let Some(entry) = self.entries.get_mut(&key) else { return };
        let Some(Running { about, .. }) = entry.running.take() else { return };
        // Unless another of the same name has come meanwhile.
        if verdict == Verdict::Gone && entry.pivot.meta.uid == about.0 {
            self.entries.remove(&key);
            return;
        }
        let now = Instant::now();
        entry.failures = match verdict {
            Verdict::Retry | Verdict::Stalled => entry.failures.saturating_add(1),
            Verdict::Done | Verdict::Gone | Verdict::Halted | Verdict::Waits => 0,
        };
        let next = match verdict {
            Verdict::Done | Verdict::Gone => None,
            Verdict::Halted => Some(now),
            Verdict::Retry => Some(now + pause(entry.failures, FIRST, LONGEST)),
            Verdict::Waits => Some(now + WAITING),
            Verdict::Stalled => Some(now + pause(entry.failures, WAITING, LONGEST_STALLED)),
        };
        entry.tried = Some((about, next));
    }

    fn count(&self) {
        let phase = |entry: &Entry| entry.pivot.status.phase.clone().unwrap_or_else(|| "Pending".to_owned());
        self.shared.metrics.pivots(self.entries.values().map(phase), self.attempts.len());
    }

    /// Stops all attempts at their next safe point.
    async fn stop(&mut self) {
        for running in self.entries.values().filter_map(|entry| entry.running.as_ref()) {
            running.halter.halt(Halt::Signal(TERMINATE));
        }
        let all = async { while self.attempts.join_next().await.is_some() {} };
        if timeout(FAREWELL, all).await.is_err() {
            tracing::warn!("some moves reached no safe point in time; the next controller goes on with them");
        }
        self.attempts.shutdown().await;
    }
}

/// The pause after so many failures in a row.
fn pause(failures: u32, first: Duration, longest: Duration) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses = |first, longest| {
            (1..=8).map(move |failures| pause(failures, first, longest).as_secs()).collect::<Vec<u64>>()
        };
        assert_eq!(pauses(FIRST, LONGEST), [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(pauses(WAITING, LONGEST_STALLED), [15, 30, 60, 120, 240, 480, 600, 600]);
        assert_eq!(pause(u32::MAX, FIRST, LONGEST), LONGEST);
    }
}
