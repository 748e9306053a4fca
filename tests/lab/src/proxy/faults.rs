//! What is currently wrong with the network: rules, a delay, a partition.
//!
//! Rules can be added and removed while requests pass, from any thread. Each rule counts every request it matches, whatever
//! earlier rules do to it; the first rule that is due decides.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::lock::lock;
use super::rule::{Fault, Moment, Rule, Seen, Times};
use crate::{process, say};

/// Identifies an added rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(u64);

/// Whether anything gets through at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Partition {
    /// Yes.
    #[default]
    None,
    /// Requests and answers are delayed until the partition ends; watches fall silent.
    Hang,
    /// Connections are reset, watches too.
    Refuse,
}

/// The state of the network, shared by all who hold it.
#[derive(Clone, Default)]
pub struct Faults(Arc<State>);

#[derive(Default)]
struct State {
    delay: AtomicU64,
    next_rule: AtomicU64,
    rules: Mutex<BTreeMap<RuleId, Active>>,
    line: watch::Sender<Line>,
    log: Mutex<Vec<Seen>>,
}

/// The state that open watches need.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line {
    pub(super) partition: Partition,
    /// Counts how often all open watches were cut.
    pub(super) cuts: u64,
}

struct Active {
    rule: Rule,
    matched: u64,
    fired: u64,
}

impl Faults {
    /// Every round trip takes this much longer: half before the server, half after it.
    pub fn delay(&self, round_trip: Duration) {
        let micros = u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX);
        self.0.delay.store(micros, Ordering::Relaxed);
    }

    /// Adds a rule, with the lowest precedence.
    pub fn add(&self, rule: Rule) -> RuleId {
        let id = RuleId(self.0.next_rule.fetch_add(1, Ordering::Relaxed));
        lock(&self.0.rules).insert(id, Active { rule, matched: 0, fired: 0 });
        id
    }

    /// Removes a rule.
    pub fn remove(&self, id: RuleId) {
        lock(&self.0.rules).remove(&id);
    }

    /// How many requests a rule has affected; none if it was removed.
    #[must_use]
    pub fn fired(&self, id: RuleId) -> u64 {
        lock(&self.0.rules).get(&id).map_or(0, |active| active.fired)
    }

    /// Removes all rules, the delay and the partition.
    pub fn clear(&self) {
        lock(&self.0.rules).clear();
        self.delay(Duration::ZERO);
        self.set_partition(Partition::None);
    }

    /// Cuts each watch this long after it started.
    pub fn cut_watches(&self, after: Duration) -> RuleId {
        self.add(Rule::new(Times::Always, Fault::CutAfter(after), Seen::is_watch))
    }

    /// Cuts the open watches.
    pub fn cut_open_watches(&self) {
        self.0.line.send_modify(|line| line.cuts += 1);
    }

    /// Starts or ends a partition.
    pub fn set_partition(&self, partition: Partition) {
        self.0.line.send_modify(|line| line.partition = partition);
    }

    /// Runs `action` at the k-th mutating request (not counting dry runs; counted from now, starting at 1) of user agents that
    /// start like this.
    pub fn on_mutating(
        &self,
        k: u64,
        user_agent: &str,
        moment: Moment,
        action: impl Future<Output = ()> + Send + 'static,
    ) -> RuleId {
        let prefix = user_agent.to_owned();
        let when = move |seen: &Seen| seen.is_mutating() && seen.user_agent.starts_with(&prefix);
        self.add(Rule::new(Times::Nth(k), Fault::action(moment, action), when))
    }

    /// Kills a process (SIGKILL) at its k-th mutating request, see [`Faults::on_mutating`].
    pub fn kill_on_mutating(&self, k: u64, user_agent: &str, moment: Moment, pid: u32) -> RuleId {
        self.on_mutating(k, user_agent, moment, async move {
            if let Err(error) = process::kill(pid) {
                say(format_args!("{error:#}"));
            }
        })
    }

    /// The requests that have arrived, in order, including those that were never forwarded.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        lock(&self.0.log).clone()
    }

    /// How many requests have arrived, by method and user agent.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for seen in lock(&self.0.log).iter() {
            *counts.entry((seen.method.to_string(), seen.user_agent.clone())).or_default() += 1;
        }
        counts
    }

    pub(super) fn partition(&self) -> Partition {
        self.0.line.borrow().partition
    }

    pub(super) fn line(&self) -> watch::Receiver<Line> {
        self.0.line.subscribe()
    }

    pub(super) fn half_delay(&self) -> Duration {
        Duration::from_micros(self.0.delay.load(Ordering::Relaxed) / 2)
    }

    /// Records a request, and decides what happens to it.
    pub(super) fn judge(&self, seen: Seen) -> Option<Fault> {
        let mut verdict = None;
        for active in lock(&self.0.rules).values_mut().filter(|active| (active.rule.when)(&seen)) {
            active.matched += 1;
            if verdict.is_none() && active.rule.times.hits(active.matched) {
                active.fired += 1;
                verdict = Some(active.rule.fault.clone());
            }
        }
        lock(&self.0.log).push(seen);
        verdict
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = lock(&self.0.rules).len();
        write!(formatter, "{rules} rules, {:?} delay, {:?}", self.half_delay() * 2, self.partition())
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn seen(method: Method, path: &str) -> Seen {
        Seen { method, path: path.to_owned(), user_agent: "t/1".to_owned() }
    }

    #[test]
    fn rules_count_for_themselves_and_the_first_decides() {
        let faults = Faults::default();
        let answer = |status| Fault::Answer { status, retry_after: None };
        let every = faults.add(Rule::new(Times::Every(2), answer(500), |_| true));
        let nth = faults.add(Rule::new(Times::Nth(3), answer(503), Seen::is_mutating));
        let first = faults.add(Rule::new(Times::First(4), answer(429), Seen::is_mutating));
        let statuses: Vec<_> = (0..6)
            .map(|_| match faults.judge(seen(Method::POST, "/a")) {
                Some(Fault::Answer { status, .. }) => status,
                _ => 0,
            })
            .collect();
        assert_eq!(statuses, [429, 500, 503, 500, 0, 500]);
        assert_eq!([every, nth, first].map(|id| faults.fired(id)), [3, 1, 1]);
        assert_eq!(faults.counts()[&("POST".to_owned(), "t/1".to_owned())], 6);
    }
}
