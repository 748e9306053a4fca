//! The data in a store, for the one call that it is made for.

use std::sync::Arc;

use pivot_core::plugins::hooks::Hook;
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::{Both, Key, Object};
use pivot_vetting::permissions::{Declaration, Grants, Limits};
use serde::{Deserialize, Serialize};
use tracing::Level;

use crate::contract::pivot::provider::endpoints;
use crate::error::PluginIdentity;
use crate::inert::Inert;
use crate::meter::Meter;
use crate::questions::Questions;
use crate::services::{Probe, Query, ServiceError, Services};
use crate::tally::{MOST_LINES, Tally};
use crate::text;

/// The kind of a run. Documents use the contract's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// Nothing is changed.
    Plan,
    /// The target takes over.
    Move,
    /// The source goes on as it was.
    Copy,
    /// The source stays paused until its files are imported.
    Handover,
    /// A single hook is tried out.
    Trial,
}

impl RunKind {
    /// The contract's word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Move => "move",
            Self::Copy => "copy",
            Self::Handover => "handover",
            Self::Trial => "trial",
        }
    }
}

/// A run, as far as plugins may know it.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// The kind of the run.
    pub kind: RunKind,
    /// The move's id.
    pub move_id: String,
    /// Namespaces with another name in the target.
    pub namespace_map: NamespaceMap,
    /// The kubectl flags that name a side's kubeconfig and context; `None` if the side is no cluster.
    pub kubectl: Both<Option<Vec<String>>>,
    /// Data of Secrets that no answer must contain, except in `adapt`. The report of use says whether an answer did.
    pub marks: &'static [&'static str],
}

/// A trial: no move, and both sides stand for clusters.
impl Default for RunContext {
    fn default() -> Self {
        Self {
            kind: RunKind::Trial,
            move_id: "a-trial".to_owned(),
            namespace_map: NamespaceMap::default(),
            kubectl: Both::new(Some(Vec::new()), Some(Vec::new())),
            marks: &[],
        }
    }
}

/// The namespaces and objects that move, as a check sees them.
#[derive(Clone, Debug, Default)]
pub struct MoveContext {
    /// The namespaces that move: each name in the source, and the one in the target.
    pub namespaces: Vec<(String, String)>,
    /// The objects of the plugin's kinds that move.
    pub objects: Vec<Key>,
}

/// The function of a component that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalledFunction {
    Describe,
    Configure,
    Hook(Hook),
}

impl CalledFunction {
    /// The name of its interface.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Configure => "configure",
            Self::Hook(Hook::Relate) => "relate",
            Self::Hook(Hook::Check) => "check",
            Self::Hook(Hook::Hold) => "hold",
            Self::Hook(Hook::Adapt) => "adapt",
            Self::Hook(Hook::Restore) => "restore",
            Self::Hook(Hook::Settle) => "settle",
        }
    }
}

/// Identifies a plugin and holds its permissions; shared by all its calls in one run.
pub(crate) struct PluginAccess {
    pub(crate) name: String,
    pub(crate) who: Arc<PluginIdentity>,
    /// None while it is being described.
    pub(crate) admitted: Option<(Declaration, Grants)>,
    pub(crate) tally: Tally,
    /// The run that the calls belong to.
    pub(crate) run: Arc<RunContext>,
}

impl PluginAccess {
    /// A plugin that has not described itself yet.
    pub(crate) fn undescribed(who: PluginIdentity) -> Self {
        let (name, who) = (who.file.clone(), Arc::new(who));
        Self { name, who, admitted: None, tally: Tally::default(), run: Arc::default() }
    }

    /// Returns the plugin's identity and permissions for another run, with nothing used yet.
    pub(crate) fn for_run(&self, run: RunContext) -> Self {
        let Self { name, who, admitted, tally: _, run: _ } = self;
        let (name, who, admitted) = (name.clone(), Arc::clone(who), admitted.clone());
        Self { name, who, admitted, tally: Tally::default(), run: Arc::new(run) }
    }

    /// Fails if the plugin doesn't understand the version in which an object was read.
    pub(crate) fn check_version(&self, object: &Object) -> Result<(), ServiceError> {
        let Some((declared, _)) = &self.admitted else { return Ok(()) };
        declared.check_version(&object.kind).map_err(|why| ServiceError::new("unsupported-version", why))
    }

    /// The limits of a call. A stranger gets the defaults.
    pub(crate) fn limits(&self) -> Limits {
        self.admitted.as_ref().map(|(_, grants)| grants.limits).unwrap_or_default()
    }

    /// Returns true if the plugin sees the data of Secrets. This must be declared and granted.
    pub(crate) fn sees_secret_data(&self) -> bool {
        self.codes().is_some()
    }

    /// The declared codes, which are all that a plugin that sees the data of Secrets may return; its words are withheld. None:
    /// its words are printed.
    pub(crate) fn codes(&self) -> Option<&text::Codes> {
        let (declared, grants) = self.admitted.as_ref()?;
        (declared.secret_data && grants.secret_data).then_some(&declared.codes)
    }
}

/// The data of a store.
pub(crate) struct Ctx {
    pub(crate) card: Arc<PluginAccess>,
    pub(crate) called: CalledFunction,
    pub(crate) run: Arc<RunContext>,
    /// The moving objects, in a check.
    pub(crate) moving: Option<MoveContext>,
    pub(crate) written_since_commit: bool,
    pub(crate) meter: Meter,
    /// None in pure hooks: every question is denied.
    pub(crate) services: Option<Arc<dyn Services>>,
    /// The questions asked so far.
    pub(crate) reads: Questions<Query, Vec<String>>,
    pub(crate) probes: Questions<Probe, endpoints::Answer>,
    /// Created when a component first uses WASI; most never do.
    inert: Option<Box<Inert>>,
}

/// The longest line of a plugin's log, in bytes.
const LINE: usize = 4 << 10;

impl Ctx {
    pub(crate) fn new(
        card: Arc<PluginAccess>,
        called: CalledFunction,
        services: Option<Arc<dyn Services>>,
    ) -> Self {
        let meter = Meter::new(card.limits());
        Self {
            run: Arc::clone(&card.run),
            card,
            called,
            moving: None,
            written_since_commit: false,
            meter,
            services,
            reads: Questions::default(),
            probes: Questions::default(),
            inert: None,
        }
    }

    pub(crate) fn inert_environment(&mut self) -> &mut Inert {
        self.inert.get_or_insert_default()
    }

    /// A line of the plugin's log.
    pub(crate) fn log(&self, level: Level, words: &str) {
        // A plugin that sees the data of Secrets has no log.
        if self.card.sees_secret_data() {
            return;
        }
        let words = match self.card.tally.count_line() {
            line if line > MOST_LINES => return,
            MOST_LINES => format!("it has logged {MOST_LINES} lines; the rest is not shown"),
            _ => text::to_line(words, LINE),
        };
        let (plugin, hook) = (&*self.card.name, self.called.as_str());
        match level {
            Level::ERROR => tracing::error!(target: "plugin", plugin, hook, "{words}"),
            Level::WARN => tracing::warn!(target: "plugin", plugin, hook, "{words}"),
            Level::INFO => tracing::info!(target: "plugin", plugin, hook, "{words}"),
            _ => tracing::debug!(target: "plugin", plugin, hook, "{words}"),
        }
    }

    /// Writes the plugin's printed lines to its log.
    pub(crate) fn log_printed(&self) {
        let Some(inert) = &self.inert else { return };
        for line in inert.printed_text().lines().filter(|line| !line.trim().is_empty()).take(200) {
            self.log(Level::WARN, line);
        }
    }
}
