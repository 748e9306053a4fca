//! What the engine reports while it works. It never prints: readers decide how an event looks.
//!
//! What a reader may rely on:
//!
//! - Events are values: owned, serialisable, the same on the far end of a link. Only the whole plan stays in this process
//!   (see [`Event::Planned`]).
//! - They carry no data of Secrets, and no flag or command of a program: remedies of findings are the plugin's words.
//! - [`Event::PhaseBegun`] comes before what is done in a phase, [`Event::PhaseDone`] after it. A phase that stops has no end.
//!   An object names the phase whose work it is: what a rollback undoes names the phase that did it, and what changed up to the
//!   commit is paused and copied once more while `Committed` is under way.
//! - An object is reported once for each change that this run made to it, after the server's answer. What an earlier run did is
//!   not reported again.
//! - Names of events, verbs and dangers, and the codes of notes and warnings, are stable. Texts are for people and may change.
//!
//! `docs/events.md` has a table of them.

mod accepted;
mod awaited;
mod summary;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use pivot_core::hooks::{Finding, Severity};
use pivot_core::plan::Plan;
use pivot_core::record::Phase;
use pivot_core::{GroupKind, Key, Side};
use serde::{Deserialize, Serialize};

use crate::outcome::under_way::MoveStatus;

pub(crate) use accepted::{accepted, accepted_in_words};
pub use awaited::Awaited;
pub use summary::Summary;
pub use words::{Danger, LeaseState, Verb};

/// How many of the things that are waited for an event names.
const AWAITED: usize = 100;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// A side is being read, before there is a phase.
    Looking {
        /// Which.
        side: Side,
    },
    /// The plan is made.
    Planned {
        /// How much it is.
        #[serde(flatten)]
        summary: Summary,
        /// All of it, for readers in this process; it is not serialised.
        #[serde(skip)]
        plan: Arc<Plan>,
    },
    /// The user accepted a danger. Reported at the beginning, whether or not it comes to matter.
    Accepted {
        /// Which.
        danger: Danger,
        /// Of which kinds; empty where the danger has no kinds.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kinds: Vec<GroupKind>,
    },
    /// A plan is made while a move is under way that the two sides know of.
    UnderWay {
        /// How far it is.
        #[serde(flatten)]
        status: Box<MoveStatus>,
    },
    /// A phase begins.
    PhaseBegun {
        /// Which.
        phase: Phase,
        /// How many objects are concerned.
        objects: usize,
    },
    /// A phase is done.
    PhaseDone {
        /// Which.
        phase: Phase,
        /// How long it took.
        milliseconds: u64,
    },
    /// Something was done to an object.
    Object {
        /// What.
        verb: Verb,
        /// To which.
        object: Key,
        /// Where.
        side: Side,
        /// The phase whose work it is, or whose work is undone.
        phase: Phase,
    },
    /// A plugin's check found something, or its `settle` said stop.
    Finding {
        /// Which plugin.
        plugin: String,
        /// The plugin's word for it.
        code: String,
        /// How much it weighs; what makes a move wait is in [`Event::Waiting`].
        severity: Severity,
        /// The object it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<Key>,
        /// What was found.
        text: String,
        /// What to do about it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        remedy: String,
    },
    /// Still waiting. Reported when it changes, no two within five seconds, and every thirty while it doesn't.
    Waiting {
        /// What for: the first hundred.
        awaited: Vec<Awaited>,
        /// How many more there are.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: usize,
        /// Seconds until the wait times out.
        seconds_left: u64,
    },
    /// A side has not answered for the first time yet. Reported after a second, and every few seconds until it answers.
    Asking {
        /// Which side.
        side: Side,
        /// What it is called: its server.
        place: String,
        /// For how long.
        seconds: u64,
    },
    /// A side has not taken a request for a while; it is sent again. Reported once, until the side answers again.
    Retrying {
        /// Which side.
        side: Side,
        /// How often the request was sent.
        attempt: u32,
        /// What came back the last time.
        error: String,
    },
    /// A side asked for fewer requests, and gets fewer. Reported once a second at most.
    Throttled {
        /// Which side.
        side: Side,
        /// How many requests it turned away since the run began.
        requests: u64,
        /// How long it asked to wait.
        after_milliseconds: u64,
    },
    /// The lock that keeps other runs out.
    Lease {
        /// Where it is.
        side: Side,
        /// What it is called.
        object: Key,
        /// Whose it is.
        holder: String,
        /// What this run does about it.
        state: LeaseState,
        /// While waiting: seconds until it counts as given up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds_left: Option<u64>,
    },
    /// Worth knowing.
    Note {
        /// What it is about, stable for programs.
        code: String,
        /// With which object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<Key>,
        /// What.
        text: String,
    },
    /// Worth attention.
    Warning {
        /// What it is about, stable for programs.
        code: String,
        /// With which object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<Key>,
        /// What.
        text: String,
    },
}

impl Event {
    /// A note about nothing in particular.
    pub(crate) fn note(code: &str, text: impl Into<String>) -> Self {
        Self::Note { code: code.to_owned(), object: None, text: text.into() }
    }

    /// A warning about nothing in particular.
    pub(crate) fn warning(code: &str, text: impl Into<String>) -> Self {
        Self::Warning { code: code.to_owned(), object: None, text: text.into() }
    }

    /// What a plugin found.
    pub(crate) fn finding(plugin: &str, finding: &Finding) -> Self {
        let Finding { severity, code, message, object, remedy } = finding.clone();
        Self::Finding { plugin: plugin.to_owned(), code, severity, object, text: message, remedy }
    }

    /// A wait. Thousands of objects are not named every few seconds.
    pub(crate) fn waiting(mut awaited: Vec<Awaited>, seconds_left: u64) -> Self {
        let more = awaited.len().saturating_sub(AWAITED);
        awaited.truncate(AWAITED);
        Self::Waiting { awaited, more, seconds_left }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Someone watching. Called from many tasks at once, in the order in which things happen to one object.
pub trait Watcher: Send + Sync + 'static {
    /// Something happened.
    fn event(&self, event: Event);
}

/// Nobody watching.
#[derive(Debug, Default)]
pub struct Nobody;

impl Watcher for Nobody {
    fn event(&self, _event: Event) {}
}
