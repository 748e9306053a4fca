//! The results of hooks: relations, findings, settlements.

use std::borrow::Cow;
use std::fmt;

use crate::{Key, Patch};

/// A statement about how one object relates to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The object belongs to the other: it moves when that moves, and after it.
    Link(Key),
    /// When the object moves, the other must move too.
    Need(Key),
    /// The object stays in the source, for this reason.
    Leave(String),
    /// The object is copied and not deleted from the source, for this reason.
    Keep(String),
}

impl Relation {
    /// The object belongs to `to`.
    pub fn link(to: impl Into<Key>) -> Self {
        Self::Link(to.into())
    }

    /// The object needs `what` to move too.
    pub fn need(what: impl Into<Key>) -> Self {
        Self::Need(what.into())
    }

    /// The object stays in the source.
    pub fn leave(reason: impl Into<String>) -> Self {
        Self::Leave(reason.into())
    }

    /// The object is copied and stays in the source as well.
    pub fn keep(reason: impl Into<String>) -> Self {
        Self::Keep(reason.into())
    }
}

/// How severe a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Worth a person's attention.
    Warn,
    /// Not yet: the host checks again until it is gone, or its gate times out.
    Wait,
    /// The move may not go on.
    Stop,
}

impl Severity {
    /// The contract's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Wait => "wait",
            Self::Stop => "stop",
        }
    }
}

/// What a check found.
///
/// ```
/// use pivot_sdk::{Finding, Kind};
///
/// const HOST: Kind = Kind::new("metal3.io", "BareMetalHost");
/// let finding = Finding::wait("inspecting", "the host is being inspected")
///     .on(HOST.named("metal3", "node-0"))
///     .remedy("wait until its state is available, or take it out of the move");
/// assert!(finding.to_string().starts_with("wait: inspecting: BareMetalHost.metal3.io metal3/node-0: the host"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Finding {
    /// How severe it is.
    pub severity: Severity,
    /// A stable code for programs: lower-case words joined by dashes, 48 characters at most.
    pub code: Cow<'static, str>,
    /// A sentence for people: what was found.
    pub message: String,
    /// The objects it is about: none, one, or all that have the same problem.
    pub objects: Vec<Key>,
    /// What a person can do about it.
    pub remedy: String,
}

impl Finding {
    /// A finding of a severity chosen at run time.
    pub fn new(severity: Severity, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            severity,
            code: code.into(),
            message: message.into(),
            objects: Vec::new(),
            remedy: String::new(),
        }
    }

    /// Worth knowing.
    pub fn note(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// Worth a person's attention. Say in the remedy how to get rid of it.
    pub fn warn(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warn, code, message)
    }

    /// Not yet: the host checks again until it is gone, or its gate times out.
    pub fn wait(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Wait, code, message)
    }

    /// The move may not go on.
    pub fn stop(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Stop, code, message)
    }

    /// Adds an object it is about.
    pub fn on(mut self, object: impl Into<Key>) -> Self {
        self.objects.push(object.into());
        self
    }

    /// What a person can do about it: a command to run, something to check.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.severity.as_str(), self.code)?;
        for (at, object) in self.objects.iter().enumerate() {
            let end = if at + 1 < self.objects.len() { "," } else { ":" };
            write!(f, "{object}{end} ")?;
        }
        f.write_str(&self.message)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

/// What is still to be done before an object is released.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    /// Nothing.
    Done,
    /// This change of labels and annotations; then call again.
    Patch(Patch),
    /// Nothing yet: call again after a change, or after a few seconds.
    Wait(Finding),
    /// The object can't be released, or is no longer what it was. It stays unchanged, and nothing more is released.
    Stop(Finding),
}

impl From<Patch> for Settlement {
    /// A patch that changes nothing means done.
    fn from(patch: Patch) -> Self {
        if patch.is_empty() { Self::Done } else { Self::Patch(patch) }
    }
}
