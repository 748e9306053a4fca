//! The loop: follows the Pivots of a cluster, keeps at most one attempt at work for each, and starts the next when it is due.
//!
//! Between attempts, the controller keeps only the time of the next attempt. Everything else is read from the Pivot and from the
//! records of its two sides, so that another controller can take over at any moment.

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
use tokio::sync::broadcast;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::attempt::{Verdict, run_attempt};
use crate::clusters::Opener;
use crate::follow::{PivotChange, follow_pivots, wait_until_readable};
use crate::home::Home;
use crate::leader::Leadership;
use crate::metrics::{Metrics, PIVOTS_UNREADABLE};
use crate::offered_clusters::follow_offers;
use crate::resource::Pivot;
use crate::shared::{Settings, Shared};
use crate::status::ConditionType;
use crate::turns::Turns;

/// The pause before agents can call again at an address that could not be listened at.
const RELISTEN_PAUSE: Duration = Duration::from_secs(5);
/// Time that attempts may take to reach a safe point when the controller stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// Signal that stops a run at its next safe point.
const TERMINATE: u8 = 15;

/// Carries out the Pivots of a cluster.
pub struct Controller {
    /// The cluster that the Pivots live in.
    pub home: Arc<dyn Place>,
    /// Opens other clusters.
    pub opener: Arc<dyn Opener>,
    /// The plugins of each move.
    pub plugins: Arc<dyn Fn() -> Plugins + Send + Sync>,
    /// Settings of the controller.
    pub settings: Settings,
    /// Metrics of the controller.
    pub metrics: Arc<Metrics>,
    /// The agents that may call, and the address at which they call.
    pub agents: Option<(SocketAddr, Arc<Agents>)>,
}

impl Controller {
    /// Waits until the controller leads, and works until it is halted.
    pub async fn run(self, halter: Halter) -> Result<(), PlaceError> {
        let Self { home, opener, plugins, settings, metrics, agents } = self;
        let leadership = Leadership::new(home.clone(), &settings.namespace, &settings.identity)?;
        let shared = Arc::new(Shared {
            home: Arc::new(Home::new(home, &settings.namespace)?),
            opener,
            plugins,
            turns: Turns::new(settings.at_once),
            opening_turns: Turns::new(settings.at_once),
            settings,
            metrics,
        });
        shared.metrics.add_obstacle(PIVOTS_UNREADABLE, "not read yet".to_owned());
        loop {
            shared.metrics.set_leading(false);
            let won = async {
                wait_until_readable(&shared.home, &shared.metrics).await;
                leadership.wait_until_leading(&shared.metrics).await
            };
            let version = tokio::select! {
                version = won => version,
                _ = halter.wait() => return Ok(()),
            };
            tracing::info!(identity = shared.settings.identity, "this controller leads");
            shared.metrics.set_leading(true);
            let mut dispatcher = Dispatcher::new(shared.clone());
            let mut lost = std::pin::pin!(leadership.renew_until_lost(version));
            // Keeps the links alive until the attempts have ended and this is dropped.
            let mut listening = std::pin::pin!(listen_for_agents(agents.as_ref()));
            let mut offers = std::pin::pin!(follow_offers(&shared));
            let why = tokio::select! {
                () = dispatcher.dispatch_attempts(agents.as_ref().map(|(_, agents)| &**agents)) => continue,
                never = &mut listening => match never {},
                never = &mut offers => match never {},
                why = &mut lost => Some(why),
                _ = halter.wait() => None,
            };
            match why {
                Some(why) => {
                    tracing::warn!(why, "this controller no longer leads");
                    dispatcher.stop_attempts().await;
                }
                None => {
                    // No other controller must begin until the attempts have ended.
                    tokio::select! {
                        () = dispatcher.stop_attempts() => leadership.release_lease().await,
                        why = lost => tracing::warn!(why, "this controller no longer leads"),
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// Listens for agents. Only the leading controller does; an agent that reaches another one calls again.
async fn listen_for_agents(agents: Option<&(SocketAddr, Arc<Agents>)>) -> Infallible {
    let Some((address, agents)) = agents else { return pending().await };
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => match agents.clone().listen(listener).await {},
            Err(error) => tracing::warn!(%error, %address, "agents can't call"),
        }
        sleep(RELISTEN_PAUSE).await;
    }
}

/// The state of one Pivot.
struct Entry {
    pivot: Pivot,
    running: Option<RunningAttempt>,
    failures: u32,
    tried: Option<LastAttempt>,
}

/// The last attempt.
struct LastAttempt {
    about: AttemptBasis,
    /// The request that was seen when it began.
    request: Option<String>,
    /// When the next one is due, if one is.
    next: Option<Instant>,
}

/// The facts that an attempt depends on: UID, generation and deletion.
type AttemptBasis = (Uid, Option<i64>, bool);

struct RunningAttempt {
    halter: Halter,
    about: AttemptBasis,
    request: Option<String>,
}

impl Entry {
    fn attempt_basis(&self) -> AttemptBasis {
        (self.pivot.meta.uid.clone(), self.pivot.meta.generation, self.pivot.is_deleted())
    }

    /// Returns the time of the next attempt; `None` if only a change makes one due.
    fn next_due(&self, now: Instant) -> Option<Instant> {
        match &self.tried {
            _ if self.running.is_some() => None,
            Some(tried) if self.is_repetition_of(tried) => tried.next,
            _ => Some(now),
        }
    }

    /// Returns true if nothing calls for another attempt: neither a change of the Pivot nor a request.
    fn is_repetition_of(&self, tried: &LastAttempt) -> bool {
        tried.about == self.attempt_basis() && tried.request.as_deref() == self.pivot.requested_at()
    }
}

struct Dispatcher {
    shared: Arc<Shared>,
    entries: BTreeMap<Key, Entry>,
    attempts: JoinSet<Verdict>,
    /// The Pivot of each attempt.
    whose: BTreeMap<Id, Key>,
}

impl Dispatcher {
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, entries: BTreeMap::new(), attempts: JoinSet::new(), whose: BTreeMap::new() }
    }

    /// Runs attempts until the future is dropped.
    async fn dispatch_attempts(&mut self, agents: Option<&Agents>) {
        let mut changes = follow_pivots(self.shared.home.clone(), self.shared.metrics.clone());
        let mut calls = agents.map(Agents::subscribe_to_calls);
        loop {
            self.start_due_attempts();
            self.update_metrics();
            let now = Instant::now();
            let next = self.entries.values().filter_map(|entry| entry.next_due(now)).min();
            tokio::select! {
                change = changes.next() => match change {
                    Some(change) => self.apply_change(change),
                    None => return,
                },
                Some(ended) = self.attempts.join_next_with_id() => self.finish_attempt(ended),
                Some(Ok(name)) = OptionFuture::from(calls.as_mut().map(broadcast::Receiver::recv)) => self.retry_for_agent(&name),
                Some(()) = OptionFuture::from(next.map(sleep_until)) => {}
            }
        }
    }

    fn apply_change(&mut self, change: PivotChange) {
        match change {
            PivotChange::All(pivots) => {
                let there: BTreeMap<Key, Pivot> =
                    pivots.into_iter().map(|pivot| (pivot.key.clone(), pivot)).collect();
                self.entries.retain(|key, entry| there.contains_key(key) || entry.running.is_some());
                there.into_values().for_each(|pivot| self.update_entry(pivot));
            }
            PivotChange::Updated(pivot) => self.update_entry(*pivot),
            PivotChange::Gone(key) => {
                if self.entries.get(&key).is_some_and(|entry| entry.running.is_none()) {
                    self.entries.remove(&key);
                }
            }
        }
    }

    fn update_entry(&mut self, pivot: Pivot) {
        let key = pivot.key.clone();
        match self.entries.get_mut(&key) {
            Some(entry) => entry.pivot = pivot,
            None => {
                let entry = Entry { pivot, running: None, failures: 0, tried: None };
                self.entries.insert(key.clone(), entry);
            }
        }
        let Some(entry) = self.entries.get(&key) else { return };
        // An attempt at a Pivot that was deleted or changed meanwhile is halted. The next one rolls back, finishes, or begins
        // with the new spec.
        if let Some(RunningAttempt { halter, about, .. }) = &entry.running
            && *about != entry.attempt_basis()
        {
            halter.halt(Halt::Signal(TERMINATE));
        }
    }

    /// Makes attempts that may have waited for this agent due now.
    fn retry_for_agent(&mut self, name: &AgentName) {
        let now = Instant::now();
        for entry in self.entries.values_mut().filter(|entry| entry.pivot.is_of_agent(name)) {
            if let Some(LastAttempt { next: Some(next), .. }) = &mut entry.tried {
                *next = now;
            }
        }
    }

    fn start_due_attempts(&mut self) {
        let now = Instant::now();
        for (key, entry) in &mut self.entries {
            if entry.next_due(now).is_none_or(|due| due > now) {
                continue;
            }
            // The failures were about an older spec or request.
            if entry.tried.as_ref().is_some_and(|tried| !entry.is_repetition_of(tried)) {
                entry.failures = 0;
            }
            let halter = Halter::default();
            let work = run_attempt(self.shared.clone(), entry.pivot.clone(), entry.failures, halter.clone());
            let task = self.attempts.spawn(work);
            self.whose.insert(task.id(), key.clone());
            let request = entry.pivot.requested_at().map(str::to_owned);
            entry.running = Some(RunningAttempt { halter, about: entry.attempt_basis(), request });
        }
    }

    fn finish_attempt(&mut self, ended: Result<(Id, Verdict), JoinError>) {
        let (id, verdict) = match ended {
            Ok(ended) => ended,
            // The panic's message may quote an object, so it isn't logged.
            Err(error) => {
                tracing::error!("an attempt panicked; this is a bug in pivot-host, please report it");
                (error.id(), Verdict::Retry)
            }
        };
        if let Some(word) = verdict.metrics_label() {
            self.shared.metrics.count_attempt(word);
        }
        let Some(key) = self.whose.remove(&id) else { return };
        let Some(entry) = self.entries.get_mut(&key) else { return };
        let Some(RunningAttempt { about, request, .. }) = entry.running.take() else { return };
        // Unless there is a new Pivot of the same name.
        if verdict == Verdict::Gone && entry.pivot.meta.uid == about.0 {
            self.entries.remove(&key);
            return;
        }
        entry.failures = match verdict {
            Verdict::Retry | Verdict::Stalled => entry.failures.saturating_add(1),
            Verdict::Done
            | Verdict::Over
            | Verdict::Gone
            | Verdict::Halted
            | Verdict::Waits
            | Verdict::Suspended => 0,
        };
        let next = verdict.retry_pause(entry.failures).map(|pause| Instant::now() + pause);
        entry.tried = Some(LastAttempt { about, request, next });
    }

    fn update_metrics(&self) {
        let shown = self.entries.values().map(|entry| {
            let status = &entry.pivot.status;
            (status.phase_label(), status.is_true(ConditionType::Stalled))
        });
        self.shared.metrics.set_pivots(shown, self.attempts.len());
    }

    /// Stops all attempts at their next safe point.
    async fn stop_attempts(&mut self) {
        for running in self.entries.values().filter_map(|entry| entry.running.as_ref()) {
            running.halter.halt(Halt::Signal(TERMINATE));
        }
        let all = async { while self.attempts.join_next().await.is_some() {} };
        if timeout(STOP_TIMEOUT, all).await.is_err() {
            tracing::warn!("some moves reached no safe point in time; the next controller goes on with them");
        }
        self.attempts.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::Object;
    use serde_json::json;

    use super::*;
    use crate::resource::{GROUP, REQUESTED_AT, VERSION, pivot_kind};

    fn pivot(request: &str) -> Pivot {
        let metadata =
            json!({"name": "p", "namespace": "a", "uid": "u", "annotations": {REQUESTED_AT: request}});
        let body = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Pivot", "metadata": metadata,
            "spec": {"to": {"cluster": "c"}},
        });
        Pivot::from_object(&Object::from_value(pivot_kind(), &body).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn request_makes_one_attempt_due_at_once() {
        let now = Instant::now();
        let later = now + Duration::from_secs(600);
        let mut entry = Entry { pivot: pivot("1"), running: None, failures: 5, tried: None };
        let about = entry.attempt_basis();
        let tried = |request: &str| {
            Some(LastAttempt { about: about.clone(), request: Some(request.to_owned()), next: Some(later) })
        };
        entry.tried = tried("1");
        assert_eq!(entry.next_due(now), Some(later));
        entry.pivot = pivot("2");
        assert_eq!(entry.next_due(now), Some(now));
        // A request stops no attempt that runs: another one follows.
        assert_eq!(entry.attempt_basis(), about);
        entry.tried = tried("2");
        assert_eq!(entry.next_due(now), Some(later));
    }
}
