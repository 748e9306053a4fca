//! The results of hooks: relations, findings, settlements.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::patch::{apply_merge_patch, set_at};
use crate::{Key, Object, Patch, Side};

/// A statement about how one object relates to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The object belongs to the other: it moves when that moves, and after it.
    Link(Key),
    /// When the object moves, the other must move too.
    Need(Key),
    /// When the object moves, the other must be copied too. It is kept in the source, whatever else moves it.
    Share(Key),
    /// The object stays in the source, for this reason.
    Leave(String),
    /// The object is copied and not deleted from the source, for this reason.
    Keep(String),
}

impl Relation {
    /// States that the object belongs to `to`.
    pub fn link(to: impl Into<Key>) -> Self {
        Self::Link(to.into())
    }

    /// States that `what` must move with the object.
    pub fn need(what: impl Into<Key>) -> Self {
        Self::Need(what.into())
    }

    /// States that the object needs a copy of `what`, which others may use in the source.
    pub fn share(what: impl Into<Key>) -> Self {
        Self::Share(what.into())
    }

    /// States that the object stays in the source.
    pub fn leave(reason: impl Into<String>) -> Self {
        Self::Leave(reason.into())
    }

    /// States that the object is copied and kept in the source.
    pub fn keep(reason: impl Into<String>) -> Self {
        Self::Keep(reason.into())
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Worth a person's attention.
    Warn,
    /// Not yet: the host checks again until it is gone, or its gate times out.
    Wait,
    /// The move must not continue.
    Stop,
}

impl Severity {
    /// The severity as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Wait => "wait",
            Self::Stop => "stop",
        }
    }
}

/// A finding of a check.
///
/// ```
/// use pivot_sdk::{Finding, Kind};
///
/// const HOST: Kind = Kind::new("metal3.io", "BareMetalHost");
/// let finding = Finding::wait("inspecting", "the host is being inspected")
///     .on_object(HOST.key_in("metal3", "node-0"))
///     .with_remedy("wait until its state is available, or take it out of the move");
/// assert!(finding.to_string().starts_with("wait: inspecting: BareMetalHost.metal3.io metal3/node-0: the host"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Finding {
    /// Severity of the finding.
    pub severity: Severity,
    /// The problem that was found.
    pub problem: Problem,
}

/// A problem that a user should know about: a check found it, or it keeps an object from being released.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Problem {
    /// A stable code for programs: lower-case words joined by dashes, 48 characters at most.
    pub code: Cow<'static, str>,
    /// A sentence for people about the problem.
    pub message: String,
    /// The objects that have the problem: none, one or several.
    pub objects: Vec<Key>,
    /// Advice for a person, in words.
    pub remedy: String,
    /// A command for that, shown after the words.
    pub command: Option<Kubectl>,
}

/// A kubectl command. The host adds the flags that name the side's kubeconfig and context, quotes the arguments, and leaves the
/// command out if the side is not a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubectl {
    /// The side on which to run it.
    pub side: Side,
    /// Verb and arguments, not quoted.
    pub arguments: Vec<String>,
}

impl Problem {
    /// A problem without objects and remedy.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            objects: Vec::new(),
            remedy: String::new(),
            command: None,
        }
    }

    /// Adds an object that has the problem.
    pub fn on_object(mut self, object: impl Into<Key>) -> Self {
        self.objects.push(object.into());
        self
    }

    /// Sets the advice for a person: something to check, to wait for, to change.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Sets a kubectl command for the remedy, without `kubectl` and without flags for a kubeconfig.
    pub fn with_kubectl<W: Into<String>>(
        mut self,
        side: Side,
        arguments: impl IntoIterator<Item = W>,
    ) -> Self {
        self.command = Some(Kubectl { side, arguments: arguments.into_iter().map(Into::into).collect() });
        self
    }
}

impl From<Finding> for Problem {
    fn from(finding: Finding) -> Self {
        finding.problem
    }
}

impl std::ops::Deref for Finding {
    type Target = Problem;

    fn deref(&self) -> &Problem {
        &self.problem
    }
}

impl Finding {
    /// A finding of a severity chosen at run time.
    pub fn new(severity: Severity, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { severity, problem: Problem::new(code, message) }
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

    /// The move must not continue.
    pub fn stop(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Stop, code, message)
    }

    /// Adds an object that has the problem.
    pub fn on_object(mut self, object: impl Into<Key>) -> Self {
        self.problem = self.problem.on_object(object);
        self
    }

    /// Sets the advice for a person: something to check, to wait for, to change.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.problem = self.problem.with_remedy(remedy);
        self
    }

    /// Sets a kubectl command for the remedy, without `kubectl` and without flags for a kubeconfig.
    pub fn with_kubectl<W: Into<String>>(
        mut self,
        side: Side,
        arguments: impl IntoIterator<Item = W>,
    ) -> Self {
        self.problem = self.problem.with_kubectl(side, arguments);
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
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        match &self.command {
            Some(command) => write!(f, ": `{command}`"),
            None => Ok(()),
        }
    }
}

/// The next step before an object is released.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    /// Nothing.
    Done,
    /// This change of labels and annotations; then call again.
    Patch(Patch),
    /// Nothing yet: call again after a change, or after a few seconds.
    Wait(Problem),
    /// The object can't be released, or is no longer what it was. It stays unchanged, and nothing more is released.
    Stop(Problem),
}

impl Settlement {
    /// Nothing yet.
    pub fn wait(problem: impl Into<Problem>) -> Self {
        Self::Wait(problem.into())
    }

    /// The object can't be released.
    pub fn stop(problem: impl Into<Problem>) -> Self {
        Self::Stop(problem.into())
    }
}

impl From<Patch> for Settlement {
    /// A patch that changes nothing means done.
    fn from(patch: Patch) -> Self {
        if patch.is_empty() { Self::Done } else { Self::Patch(patch) }
    }
}

impl fmt::Display for Kubectl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kubectl {}", self.arguments.join(" "))
    }
}

/// The status that a copy gets.
///
/// ```
/// use pivot_sdk::Restoration;
///
/// let restoration = Restoration::copy_field("/status").set("/status/restored", true);
/// assert_eq!(restoration.copy, ["/status"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Restoration {
    /// JSON pointers to fields of the source's status that the host copies, with the copy's generation.
    pub copy: Vec<String>,
    /// A merge patch, applied to what was copied.
    pub patch: Option<Value>,
}

impl Restoration {
    /// Creates a restoration that copies a field of the source's status; `/status` is all of it. No data passes through the
    /// plugin.
    pub fn copy_field(pointer: impl Into<String>) -> Self {
        Self::default().and_copy_field(pointer)
    }

    /// Adds another field that the host copies.
    pub fn and_copy_field(mut self, pointer: impl Into<String>) -> Self {
        self.copy.push(pointer.into());
        self
    }

    /// Sets the value at a JSON pointer below `/status`, after the copying. Null removes it.
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        set_at(
            self.patch.get_or_insert_with(|| Value::Object(serde_json::Map::new())),
            pointer,
            value.into(),
        );
        self
    }

    /// Returns true if nothing would change, regardless of the source's status.
    pub fn is_empty(&self) -> bool {
        self.copy.is_empty() && self.patch.is_none()
    }

    /// Returns the change to the created object, as the host makes it.
    ///
    /// # Errors
    /// If a pointer is not to a field of the status.
    pub fn to_patch(&self, source: &Object, created: &Object) -> Result<Patch, String> {
        let mut wanted = created.value().clone();
        for pointer in &self.copy {
            let copied = pivot_bounds::restoration::copy_field(source.value(), &mut wanted, pointer);
            copied.map_err(|_| format!("it copies `{pointer}`, which is no field of the status"))?;
        }
        if let Some(patch) = &self.patch {
            apply_merge_patch(&mut wanted, patch);
        }
        Ok(created.patch().edit_value(|object| *object = wanted))
    }
}

impl From<Patch> for Restoration {
    fn from(patch: Patch) -> Self {
        Self { copy: Vec::new(), patch: patch.to_value() }
    }
}
