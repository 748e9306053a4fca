//! Checks the promises of a handover on the observed events.
//!
//! A pure function of a log, so that tests can break each promise by hand: a checker that never complains proves nothing. The
//! numbers are those of the design's invariants.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::log::{Event, Log, Side};
use super::rules::{Rules, touchable, uid};
use crate::kinds::{ObjectKey, text};

const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";

/// A broken promise.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The object.
    pub key: ObjectKey,
    /// The event that showed it: an index into [`Log::events`].
    pub at: usize,
    /// The promise.
    pub what: Broken,
}

/// Which promise was broken.
#[derive(Debug, Clone, PartialEq)]
pub enum Broken {
    /// 1: it exists on neither side.
    Lost {
        /// The side where it existed last.
        side: Side,
    },
    /// 2: controllers act on it on both sides.
    ActiveTwice,
    /// 3: the source deleted a state that the target never had.
    NeverCopied {
        /// Paths in which the last copy differs; empty if there was no copy at all.
        differs: Vec<String>,
    },
    /// 4: a source object that was being deleted lost annotations.
    AnnotationsLost {
        /// Their keys.
        lost: Vec<String>,
    },
    /// 4: it is being deleted, and its pause is gone.
    DeletedUnpaused {
        /// The side.
        side: Side,
    },
    /// 7: the target had it before the run, without a mark of ours, and it has changed.
    Overwritten {
        /// Paths in which it differs; empty if it is gone.
        differs: Vec<String>,
    },
}

impl Broken {
    /// The number of the invariant in the design.
    #[must_use]
    pub fn invariant(&self) -> u8 {
        match self {
            Self::Lost { .. } => 1,
            Self::ActiveTwice => 2,
            Self::NeverCopied { .. } => 3,
            Self::AnnotationsLost { .. } | Self::DeletedUnpaused { .. } => 4,
            Self::Overwritten { .. } => 7,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "invariant {} (event {}): {} ", self.what.invariant(), self.at, self.key)?;
        match &self.what {
            Broken::Lost { side } => write!(formatter, "exists on neither side; the {side} had it last"),
            Broken::ActiveTwice => write!(formatter, "is active on both sides"),
            Broken::NeverCopied { differs } if differs.is_empty() => {
                write!(formatter, "was deleted from the source and never copied")
            }
            Broken::NeverCopied { differs } => write!(
                formatter,
                "was deleted from the source in a state that the target never had: {}",
                differs.join(", ")
            ),
            Broken::AnnotationsLost { lost } => {
                write!(formatter, "lost annotations in the source while being deleted: {}", lost.join(", "))
            }
            Broken::DeletedUnpaused { side } => {
                write!(formatter, "is being deleted in the {side}, and the pause that it had is gone")
            }
            Broken::Overwritten { differs } if differs.is_empty() => {
                write!(formatter, "was in the target before the move, and is being deleted there")
            }
            Broken::Overwritten { differs } => {
                write!(
                    formatter,
                    "was in the target before the move, and was changed: {}",
                    differs.join(", ")
                )
            }
        }
    }
}

/// All broken promises, in the order in which they were broken.
#[must_use]
pub fn check(log: &Log, rules: &Rules) -> Vec<Violation> {
    let mut checker = Checker {
        rules,
        now: BTreeMap::new(),
        copies: BTreeMap::new(),
        paused: BTreeSet::new(),
        twice: BTreeSet::new(),
    };
    let (before, run) = log.events.split_at(log.started.min(log.events.len()));
    for event in before {
        checker.note(event);
    }
    let mut foreign = rules.foreign(&checker.now);
    let there: BTreeSet<ObjectKey> =
        checker.now.keys().filter(|(side, _)| *side == Side::Source).map(|(_, key)| key.clone()).collect();
    let mut violations = Vec::new();
    for (index, event) in run.iter().enumerate() {
        let old = checker.note(event);
        let at = log.started + index;
        if let Some(what) = overwritten(event, &foreign) {
            // Reported once: from here on it is another object.
            foreign.remove(&event.key);
            violations.push(Violation { key: event.key.clone(), at, what });
        }
        if rules.is_moved(&event.key, || there.contains(&event.key)) {
            let broken = checker.broken(event, old.as_ref());
            violations.extend(broken.into_iter().map(|what| Violation { key: event.key.clone(), at, what }));
        }
    }
    violations
}

struct Checker<'a> {
    rules: &'a Rules,
    /// The existing objects.
    now: BTreeMap<(Side, ObjectKey), Value>,
    /// The states that the target has had.
    copies: BTreeMap<ObjectKey, Vec<Value>>,
    /// UIDs of objects that were paused at some time.
    paused: BTreeSet<(Side, String)>,
    /// Objects known to be active on both sides: reported once, not with every event.
    twice: BTreeSet<ObjectKey>,
}

impl Checker<'_> {
    /// Records an event; returns the state before it.
    fn note(&mut self, event: &Event) -> Option<Value> {
        if event.side == Side::Target && !event.gone {
            let state = self.rules.state(&event.key, &event.object);
            let copies = self.copies.entry(event.key.clone()).or_default();
            if copies.last() != Some(&state) {
                copies.push(state);
            }
        }
        if self.rules.is_paused(&event.key, &event.object) {
            self.paused.insert((event.side, uid(&event.object).to_owned()));
        }
        let place = (event.side, event.key.clone());
        if event.gone { self.now.remove(&place) } else { self.now.insert(place, event.object.clone()) }
    }

    fn broken(&mut self, event: &Event, old: Option<&Value>) -> Vec<Broken> {
        let found = [
            self.lost(event),
            self.active_twice(event),
            self.never_copied(event),
            annotations_lost(event, old),
            self.deleted_unpaused(event),
        ];
        found.into_iter().flatten().collect()
    }

    fn exists(&self, side: Side, key: &ObjectKey) -> bool {
        self.now.contains_key(&(side, key.clone()))
    }

    fn lost(&self, event: &Event) -> Option<Broken> {
        let side = event.side;
        (event.gone && !self.exists(side.other(), &event.key)).then_some(Broken::Lost { side })
    }

    fn active_twice(&mut self, event: &Event) -> Option<Broken> {
        let active = |side: Side| {
            let object = self.now.get(&(side, event.key.clone()))?;
            self.rules.is_active(&event.key, object)
        };
        let twice = active(Side::Source) == Some(true) && active(Side::Target) == Some(true);
        if !twice {
            self.twice.remove(&event.key);
            return None;
        }
        self.twice.insert(event.key.clone()).then_some(Broken::ActiveTwice)
    }

    fn never_copied(&self, event: &Event) -> Option<Broken> {
        if event.side != Side::Source || !event.gone {
            return None;
        }
        let state = self.rules.state(&event.key, &event.object);
        let copies = self.copies.get(&event.key).map(Vec::as_slice).unwrap_or_default();
        if copies.contains(&state) {
            return None;
        }
        let mut differs = Vec::new();
        if let Some(last) = copies.last() {
            differences(&state, last, "", &mut differs);
        }
        Some(Broken::NeverCopied { differs })
    }

    fn deleted_unpaused(&self, event: &Event) -> Option<Broken> {
        let (side, rules) = (event.side, self.rules);
        let had = self.paused.contains(&(side, uid(&event.object).to_owned()));
        // Once the source has released an object, the target's controllers may delete it.
        let ours = side == Side::Source || self.exists(Side::Source, &event.key);
        let gone = event.is_ending() && had && ours && !rules.is_paused(&event.key, &event.object);
        gone.then_some(Broken::DeletedUnpaused { side })
    }
}

/// Annotations that a source object had until the event that begins or continues its deletion.
fn annotations_lost(event: &Event, old: Option<&Value>) -> Option<Broken> {
    let (Side::Source, Some(old)) = (event.side, old) else { return None };
    let new: BTreeSet<_> = Event::annotations(&event.object).collect();
    let releases = event.is_ending() || new.contains(DELETE_FOR_MOVE) || loses_finalizers(old, &event.object);
    let lost: Vec<_> = Event::annotations(old).filter(|key| !new.contains(key)).map(str::to_owned).collect();
    (uid(old) == uid(&event.object) && releases && !lost.is_empty())
        .then_some(Broken::AnnotationsLost { lost })
}

/// A target object that is not the move's, and has changed.
fn overwritten(event: &Event, foreign: &BTreeMap<ObjectKey, Value>) -> Option<Broken> {
    let before = foreign.get(&event.key).filter(|_| event.side == Side::Target)?;
    let mut differs = Vec::new();
    if !event.is_ending() {
        differences(before, &touchable(&event.object), "", &mut differs);
    }
    (event.is_ending() || !differs.is_empty()).then_some(Broken::Overwritten { differs })
}

/// From some finalizers to none: a release starts like that.
fn loses_finalizers(old: &Value, new: &Value) -> bool {
    let any = |object: &Value| !text(object, "/metadata/finalizers/0").is_empty();
    any(old) && !any(new)
}

/// JSON pointers to what differs. Paths only: values may be secret.
fn differences(left: &Value, right: &Value, path: &str, found: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let side =
                    |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                differences(&side(left), &side(right), &format!("{path}/{key}"), found);
            }
        }
        (left, right) if left != right => found.push(path.to_owned()),
        _ => {}
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
