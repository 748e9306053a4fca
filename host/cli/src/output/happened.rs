//! Facts about a run, from its events: phases, changes, waits, retries, findings, notes. Times are milliseconds since it
//! began.

use std::collections::BTreeMap;
use std::sync::Arc;

use pivot_core::messages::grouping::MAX_LISTED_NAMES;
use pivot_core::messages::risk::Risk;
use pivot_core::plan::Plan;
use pivot_core::plugins::hooks::Severity;
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Key, Side};
use pivot_engine::{Awaited, Event, LeaseState, Verb};
use serde::{Serialize, Serializer};

use super::events;

/// Milliseconds of a part in which changes are counted.
const TICK: u64 = 100;
/// Most columns of the picture of changes.
const COLUMNS: u64 = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum PhaseState {
    Done,
    /// The run ended in it.
    Stopped,
    /// Changes of the run were undone.
    Undone,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhaseSeen {
    pub(super) phase: Phase,
    at: u64,
    milliseconds: u64,
    objects: usize,
    pub(super) state: PhaseState,
    changes: BTreeMap<Verb, usize>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportedRisk {
    code: Risk,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<GroupKind>,
    pub(super) text: String,
}

impl ReportedRisk {
    /// Reads it from an event; `None` for events about something else.
    pub(super) fn from_event(event: &Event) -> Option<Self> {
        let Event::Accepted { code, kinds } = event else { return None };
        Some(Self::new(*code, kinds.iter().cloned()))
    }

    pub(super) fn new(code: Risk, kinds: impl IntoIterator<Item = GroupKind>) -> Self {
        let kinds: Vec<GroupKind> = kinds.into_iter().collect();
        Self { text: events::risk_line(code, &kinds), code, kinds }
    }
}

/// A time in which the run could only wait.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wait {
    at: u64,
    milliseconds: u64,
    what: Awaiting,
    /// Objects that were missing last.
    awaited: Vec<String>,
    more: usize,
    #[serde(skip)]
    over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Awaiting {
    /// Objects, controllers or plugins.
    Objects,
    /// A server's first answer.
    Answer,
    /// Another run.
    Lease,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Retry {
    at: u64,
    side: Side,
    attempt: u32,
    error: String,
}

/// A finding of a plugin.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportedFinding {
    /// When it was found; only reports of moves have times.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    plugin: String,
    code: String,
    pub(super) severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "serialize_as_text")]
    object: Option<Key>,
    text: String,
    remedy: String,
}

impl ReportedFinding {
    /// Reads the finding of an event, if it has one.
    pub(super) fn from_event(at: Option<u64>, event: &Event) -> Option<Self> {
        let Event::Finding { plugin, code, severity, object, text, remedy } = event.clone() else {
            return None;
        };
        Some(Self { at, plugin, code, severity, object, text, remedy })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    at: u64,
    warning: bool,
    code: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "serialize_as_text")]
    object: Option<Key>,
    text: String,
}

impl Said {
    pub(super) fn code_and_object(&self) -> (&str, Option<&Key>) {
        (&self.code, self.object.as_ref())
    }
}

/// Serialises a key as people read it.
fn serialize_as_text<S: Serializer>(key: &Option<Key>, serializer: S) -> Result<S::Ok, S::Error> {
    key.as_ref().map(Key::to_string).serialize(serializer)
}

/// Changes to objects, in equal parts of the time.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rate {
    /// Length of a part.
    milliseconds: u64,
    changes: Vec<usize>,
}

impl Rate {
    pub(super) fn from_ticks(ticks: &BTreeMap<u64, usize>, milliseconds: u64) -> Option<Self> {
        if ticks.is_empty() {
            return None;
        }
        let part = (milliseconds / COLUMNS).next_multiple_of(TICK).max(TICK);
        let columns = milliseconds / part + 1;
        let mut changes: BTreeMap<u64, usize> = (0..columns).map(|column| (column, 0)).collect();
        for (tick, number) in ticks {
            *changes.entry((tick * TICK / part).min(columns - 1)).or_default() += number;
        }
        Some(Self { milliseconds: part, changes: changes.into_values().collect() })
    }
}

/// Events so far.
#[derive(Default)]
pub(super) struct EventHistory {
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) accepted: Vec<ReportedRisk>,
    pub(super) phases: Vec<PhaseSeen>,
    pub(super) ticks: BTreeMap<u64, usize>,
    pub(super) waits: Vec<Wait>,
    pub(super) retries: Vec<Retry>,
    pub(super) throttled: BTreeMap<Side, u64>,
    pub(super) findings: Vec<ReportedFinding>,
    pub(super) notes: Vec<Said>,
}

impl EventHistory {
    pub(super) fn record(&mut self, at: u64, event: &Event) {
        self.end_wait(at, event);
        match event.clone() {
            Event::Planned { plan, .. } => self.plan = Some(plan),
            Event::Accepted { .. } => self.accepted.extend(ReportedRisk::from_event(event)),
            Event::PhaseBegun { phase, objects } => self.phases.push(PhaseSeen {
                phase,
                at,
                milliseconds: 0,
                objects,
                // Until it is done.
                state: PhaseState::Stopped,
                changes: BTreeMap::new(),
            }),
            Event::PhaseDone { phase, milliseconds } => {
                let mut latest_first = self.phases.iter_mut().rev();
                if let Some(one) =
                    latest_first.find(|one| one.phase == phase && one.state == PhaseState::Stopped)
                {
                    (one.state, one.milliseconds) = (PhaseState::Done, milliseconds);
                }
            }
            Event::Object { verb, phase, .. } => self.object(at, verb, phase),
            Event::Finding { .. } => self.findings.extend(ReportedFinding::from_event(Some(at), event)),
            Event::Waiting { awaited, more, .. } => {
                self.wait(at, Awaiting::Objects, Awaited::lines(&awaited, MAX_LISTED_NAMES), more);
            }
            Event::Asking { side, place, .. } => {
                self.wait(at, Awaiting::Answer, vec![format!("an answer of the {side}, {place}")], 0);
            }
            Event::Lease { holder, state: LeaseState::Waiting, .. } => {
                self.wait(at, Awaiting::Lease, vec![format!("the lease of another run ({holder})")], 0);
            }
            Event::Lease { object, state: LeaseState::Broken, .. } => {
                let what = format!("the run that held {object} to notice that it was taken over");
                self.wait(at, Awaiting::Lease, vec![what], 0);
            }
            Event::Retrying { side, attempt, error } => self.retries.push(Retry { at, side, attempt, error }),
            Event::Throttled { side, requests, .. } => {
                self.throttled.insert(side, requests);
            }
            Event::Note { code, object, text, .. } => {
                self.notes.push(Said { at, warning: false, code, object, text });
            }
            Event::Warning { code, object, text, .. } => {
                self.notes.push(Said { at, warning: true, code, object, text });
            }
            Event::Reading { .. }
            | Event::UnderWay { .. }
            | Event::Lease { state: LeaseState::Acquired, .. } => {}
        }
    }

    /// An object's change belongs to the phase under way, unless it undoes one.
    fn object(&mut self, at: u64, verb: Verb, phase: Phase) {
        *self.ticks.entry(at / TICK).or_default() += 1;
        let undoes = verb == Verb::Removed || (verb == Verb::Unpaused && !phase.is_committed());
        let state = if undoes { PhaseState::Undone } else { PhaseState::Stopped };
        let under_way =
            self.phases.iter().rposition(|one| one.state == state && (!undoes || one.phase == phase));
        let index = under_way.unwrap_or_else(|| {
            let (objects, changes) = (0, BTreeMap::new());
            self.phases.push(PhaseSeen { phase, at, milliseconds: 0, objects, state, changes });
            self.phases.len() - 1
        });
        if let Some(one) = self.phases.get_mut(index) {
            *one.changes.entry(verb).or_default() += 1;
            if undoes {
                one.objects += 1;
                one.milliseconds = at - one.at;
            }
        }
    }

    /// Waiting is reported again and again: all of it is one wait, until something else happens.
    fn wait(&mut self, at: u64, what: Awaiting, awaited: Vec<String>, more: usize) {
        match self.waits.last_mut().filter(|wait| !wait.over && wait.what == what) {
            Some(wait) => {
                (wait.awaited, wait.more, wait.milliseconds) = (awaited, more, at - wait.at);
            }
            None => self.waits.push(Wait { at, milliseconds: 0, what, awaited, more, over: false }),
        }
    }

    fn end_wait(&mut self, at: u64, event: &Event) {
        let Some(wait) = self.waits.last_mut().filter(|wait| !wait.over) else { return };
        let over = match wait.what {
            // Objects change while others are waited for.
            Awaiting::Objects => matches!(event, Event::PhaseBegun { .. } | Event::PhaseDone { .. }),
            Awaiting::Answer => !matches!(event, Event::Asking { .. }),
            Awaiting::Lease => !matches!(event, Event::Lease { .. }),
        };
        if over {
            (wait.over, wait.milliseconds) = (true, at - wait.at);
        }
    }

    /// Ends the phase under way, because the run has ended.
    pub(super) fn end(&mut self, at: u64) {
        if let Some(wait) = self.waits.last_mut().filter(|wait| !wait.over) {
            (wait.over, wait.milliseconds) = (true, at - wait.at);
        }
        for one in self.phases.iter_mut().filter(|one| one.state == PhaseState::Stopped) {
            one.milliseconds = at - one.at;
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::*;

    fn event(value: Value) -> Event {
        serde_json::from_value(value).unwrap()
    }

    fn seen(events: Vec<(u64, Value)>, end: u64) -> EventHistory {
        let mut seen = EventHistory::default();
        for (at, value) in events {
            seen.record(at, &event(value));
        }
        seen.end(end);
        seen
    }

    fn object(verb: &str, phase: &str) -> Value {
        let machine = json!({"group": "cluster.x-k8s.io", "kind": "Machine", "namespace": "ns", "name": "m"});
        json!({"event": "object", "verb": verb, "object": machine, "side": "source", "phase": phase})
    }

    #[test]
    fn stop_shows_its_phase_and_undone_changes() {
        let begun = |phase: &str| json!({"event": "phase-begun", "phase": phase, "objects": 2});
        let seen = seen(
            vec![
                (0, begun("Paused")),
                (10, object("paused", "Paused")),
                (20, json!({"event": "phase-done", "phase": "Paused", "milliseconds": 20})),
                (20, begun("Copied")),
                (150, object("created", "Copied")),
                // Of an earlier phase, but done while this one is under way.
                (160, object("paused", "Paused")),
                (200, object("removed", "Copied")),
                (230, object("unpaused", "Paused")),
                (290, object("unpaused", "Paused")),
            ],
            300,
        );
        expect![[r#"
            [{"at":0,"changes":{"paused":1},"milliseconds":20,"objects":2,"phase":"Paused","state":"done"},{"at":20,"changes":{"created":1,"paused":1},"milliseconds":280,"objects":2,"phase":"Copied","state":"stopped"},{"at":200,"changes":{"removed":1},"milliseconds":0,"objects":1,"phase":"Copied","state":"undone"},{"at":230,"changes":{"unpaused":2},"milliseconds":60,"objects":2,"phase":"Paused","state":"undone"}]"#]]
        .assert_eq(&serde_json::to_value(&seen.phases).unwrap().to_string());
        let rate = Rate::from_ticks(&seen.ticks, 300).unwrap();
        assert_eq!((rate.milliseconds, rate.changes), (100, vec![1, 2, 3, 0]));
    }

    #[test]
    fn repeated_reports_are_one_wait() {
        let waiting = |what: &str| json!({"event": "waiting", "awaited": [{"what": what}], "secondsLeft": 9});
        let asking = json!({"event": "asking", "side": "target", "place": "prod", "seconds": 1});
        let begun = json!({"event": "phase-begun", "phase": "Copied", "objects": 2});
        let retrying = json!({"event": "retrying", "side": "target", "attempt": 3, "error": "timed out"});
        let throttled = |requests: u64| json!({"event": "throttled", "side": "source", "requests": requests, "afterMilliseconds": 5});
        let seen = seen(
            vec![
                (0, asking.clone()),
                (1000, asking),
                (1500, json!({"event": "reading", "side": "source"})),
                (2000, waiting("a and b")),
                (2500, object("paused", "Paused")),
                (7000, waiting("b")),
                (9000, begun),
                (9100, retrying),
                (9200, throttled(4)),
                (9300, throttled(9)),
                (9500, waiting("c")),
            ],
            9900,
        );
        let waits = seen.waits.iter().map(|wait| (wait.at, wait.milliseconds, wait.awaited.join("; ")));
        let expected = [(0, 1500, "an answer of the target, prod"), (2000, 7000, "b"), (9500, 400, "c")];
        assert_eq!(waits.collect::<Vec<_>>(), expected.map(|(at, took, what)| (at, took, what.to_owned())));
        assert_eq!(seen.retries.len(), 1);
        assert_eq!(seen.throttled, BTreeMap::from([(Side::Source, 9)]));
    }

    #[test]
    fn long_move_has_limited_columns() {
        let ticks = (0..360_000).map(|tick| (tick, 1)).collect();
        let rate = Rate::from_ticks(&ticks, 36_000_000).unwrap();
        assert!(rate.changes.len() <= 121, "{}", rate.changes.len());
        assert_eq!(rate.changes.iter().sum::<usize>(), 360_000);
    }
}
