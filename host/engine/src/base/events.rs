//! Events that the engine reports while it works. The engine never prints: readers decide how an event looks.
//!
//! Guarantees to readers:
//!
//! - Events are values: owned, serialisable, the same on the far end of a link. Only the whole plan stays in this process
//!   (see [`Event::Planned`]).
//! - They carry no data of Secrets, and no flag or command of pivot-host: remedies of findings are the plugin's own text.
//! - [`Event::PhaseBegun`] comes before the work of a phase, [`Event::PhaseDone`] after it. A phase that stops gets no
//!   `PhaseDone`. An object's event names the phase that its change belongs to: a rollback's events name the phase that is
//!   undone, and objects that changed before the commit are paused and copied once more while `Committed` is under way.
//! - An object is reported once for each change that this run made to it, after the server's answer. Changes by earlier runs are
//!   not reported again.
//! - Names of events, verbs and risks, and the codes of notes and warnings, are stable. Texts are for people and may change.
//!
//! `docs/events.md` has a table of them.

mod accepted;
mod awaited;
mod summary;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::plan::{Note, Plan};
use pivot_core::plugins::hooks::{Finding, Severity};
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Key, Side};
use serde::{Deserialize, Serialize};

use crate::base::outcome::under_way::MoveStatus;

pub(crate) use accepted::accepted_risk_events;
pub use accepted::describe_accepted_risks;
pub use awaited::Awaited;
pub use summary::Summary;
pub use words::{LeaseState, Verb};

/// Number of awaited items that an event names.
const MAX_AWAITED: usize = 100;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// A side is being read, before the first phase.
    Reading {
        /// The side.
        side: Side,
    },
    /// The plan is ready.
    Planned {
        /// Size of the plan.
        #[serde(flatten)]
        summary: Summary,
        /// The whole plan, for readers in this process; it is not serialised.
        #[serde(skip)]
        plan: Arc<Plan>,
    },
    /// The user accepted a risk. Reported at the beginning, whether or not the risk turns out to apply.
    Accepted {
        /// Code of the risk.
        code: Risk,
        /// For which kinds; empty if the risk takes none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kinds: Vec<GroupKind>,
    },
    /// A plan is being made while a move that the two sides know of is under way.
    UnderWay {
        /// State of that move.
        #[serde(flatten)]
        status: Box<MoveStatus>,
    },
    /// A phase begins.
    PhaseBegun {
        /// The phase.
        phase: Phase,
        /// Number of objects that the phase works on.
        objects: usize,
    },
    /// A phase is done.
    PhaseDone {
        /// The phase.
        phase: Phase,
        /// Duration of the phase.
        milliseconds: u64,
    },
    /// Something was done to an object.
    Object {
        /// The change.
        verb: Verb,
        /// The object.
        object: Key,
        /// On which side.
        side: Side,
        /// The phase that the change belongs to, or the phase that is undone.
        phase: Phase,
    },
    /// A plugin's check found something, or its `settle` said stop.
    Finding {
        /// Name of the plugin.
        plugin: String,
        /// The plugin's code for it.
        code: String,
        /// Severity; findings that make a move wait are in [`Event::Waiting`].
        severity: Severity,
        /// The object it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<Key>,
        /// The finding, for people.
        text: String,
        /// Remedy that the plugin suggests.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        remedy: String,
    },
    /// Still waiting. Reported on a change, at most every five seconds, and every thirty without one.
    Waiting {
        /// The first hundred awaited items.
        awaited: Vec<Awaited>,
        /// Number of further items.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: usize,
        /// Seconds until the wait times out.
        seconds_left: u64,
    },
    /// A side has not answered yet for the first time. Reported after a second, and every few seconds until it answers.
    Asking {
        /// The side.
        side: Side,
        /// Name of the side: the server.
        place: String,
        /// For how long it has been asked.
        seconds: u64,
    },
    /// A side has not accepted a request for a while; it is sent again. Reported once, until the side answers again.
    Retrying {
        /// The side.
        side: Side,
        /// Number of times that the request was sent so far.
        attempt: u32,
        /// The last error.
        error: String,
    },
    /// A side asked for fewer requests, and gets fewer. Reported at most once a second.
    Throttled {
        /// The side.
        side: Side,
        /// Number of requests that the side rejected since the run began.
        requests: u64,
        /// Time that the side asked the run to wait.
        after_milliseconds: u64,
    },
    /// The lock that keeps other runs out.
    Lease {
        /// Side of the Lease.
        side: Side,
        /// The name of the Lease.
        object: Key,
        /// Name of the run that holds the lease.
        holder: String,
        /// State of the lease for this run.
        state: LeaseState,
        /// While waiting: seconds until the lease counts as abandoned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds_left: Option<u64>,
        /// While waiting: when its holder renewed it last, by that run's clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        renewed: Option<String>,
    },
    /// A piece of information.
    Note {
        /// Stable code of the message, for programs.
        code: String,
        /// The object that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<Key>,
        /// The text, for people.
        text: String,
        /// Remedies, best first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remedies: Vec<Remedy>,
    },
    /// Something that needs attention.
    Warning {
        /// Stable code of the message, for programs.
        code: String,
        /// The object that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<Key>,
        /// The text, for people.
        text: String,
        /// Remedies, best first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remedies: Vec<Remedy>,
    },
}

impl Event {
    /// A note that is about no object.
    pub(crate) fn note(code: &str, text: impl Into<String>) -> Self {
        Self::Note { code: code.to_owned(), object: None, text: text.into(), remedies: Vec::new() }
    }

    /// A warning that is about no object.
    pub(crate) fn warning(code: &str, text: impl Into<String>) -> Self {
        Self::Warning { code: code.to_owned(), object: None, text: text.into(), remedies: Vec::new() }
    }

    /// An event about a plugin's finding.
    pub(crate) fn finding(plugin: &str, finding: &Finding) -> Self {
        let Finding { severity, code, message, object, remedy } = finding.clone();
        Self::Finding { plugin: plugin.to_owned(), code, severity, object, text: message, remedy }
    }

    /// An event about a wait. Caps the list, so that thousands of objects are not named every few seconds.
    pub(crate) fn waiting(mut awaited: Vec<Awaited>, seconds_left: u64) -> Self {
        let more = awaited.len().saturating_sub(MAX_AWAITED);
        awaited.truncate(MAX_AWAITED);
        Self::Waiting { awaited, more, seconds_left }
    }
}

impl From<Note> for Event {
    fn from(Note { code, object, message }: Note) -> Self {
        Self::Note { code: code.into(), object, text: message, remedies: Vec::new() }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Receives events. Called from many tasks at once; events of one object arrive in the order in which they happened.
pub trait Watcher: Send + Sync + 'static {
    /// Something happened.
    fn event(&self, event: Event);
}

/// Ignores all events.
#[derive(Debug, Default)]
pub struct NoWatcher;

impl Watcher for NoWatcher {
    fn event(&self, _event: Event) {}
}
