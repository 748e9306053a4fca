//! The data in a store, for the one call that it is made for.

use std::sync::Arc;

use pivot_core::hooks::Hook;
use tracing::Level;

use crate::contract::pivot::provider::endpoints;
use crate::describe::Declaration;
use crate::error::Who;
use crate::inert::Inert;
use crate::limits::{Limits, Meter};
use crate::questions::Questions;
use crate::services::{Probe, Query, Services};
use crate::tally::{MOST_LINES, Tally};
use crate::text;
use crate::trust::Grants;

/// Identifies a plugin and holds its permissions; shared by all its calls in one run.
pub(crate) struct Card {
    pub(crate) name: String,
    pub(crate) who: Arc<Who>,
    /// None while it is being described.
    pub(crate) admitted: Option<(Declaration, Grants)>,
    pub(crate) tally: Tally,
}

impl Card {
    /// A plugin that has not described itself yet.
    pub(crate) fn stranger(who: Who) -> Self {
        Self { name: who.file.clone(), who: Arc::new(who), admitted: None, tally: Tally::default() }
    }

    /// The same for another run, with nothing used yet.
    pub(crate) fn unused(&self) -> Self {
        let Self { name, who, admitted, tally: _ } = self;
        Self { name: name.clone(), who: Arc::clone(who), admitted: admitted.clone(), tally: Tally::default() }
    }

    /// The limits of a call. A stranger gets the defaults.
    pub(crate) fn limits(&self) -> Limits {
        self.admitted.as_ref().map(|(_, grants)| grants.limits).unwrap_or_default()
    }

    /// Whether it sees the data of Secrets: declared and granted.
    pub(crate) fn secret_data(&self) -> bool {
        self.codes().is_some()
    }

    /// The declared codes, which are all that a plugin that sees the data of Secrets may return; its words are withheld. None:
    /// its words are printed.
    pub(crate) fn codes(&self) -> Option<&text::Codes> {
        let (declared, grants) = self.admitted.as_ref()?;
        (declared.secret_data && grants.secret_data).then_some(&declared.extra)
    }
}

/// The data of a store.
pub(crate) struct Ctx {
    pub(crate) card: Arc<Card>,
    /// None: `describe`.
    pub(crate) hook: Option<Hook>,
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
    pub(crate) fn new(card: Arc<Card>, hook: Option<Hook>, services: Option<Arc<dyn Services>>) -> Self {
        let meter = Meter::new(card.limits());
        Self {
            card,
            hook,
            meter,
            services,
            reads: Questions::default(),
            probes: Questions::default(),
            inert: None,
        }
    }

    pub(crate) fn inert(&mut self) -> &mut Inert {
        self.inert.get_or_insert_default()
    }

    /// A line of the plugin's log.
    pub(crate) fn say(&self, level: Level, words: &str) {
        // A plugin that sees the data of Secrets has no log.
        if self.card.secret_data() {
            return;
        }
        let words = match self.card.tally.line() {
            line if line > MOST_LINES => return,
            MOST_LINES => format!("it has logged {MOST_LINES} lines; the rest is not shown"),
            _ => text::line(words, LINE),
        };
        let (plugin, hook) = (&*self.card.name, hook_name(self.hook));
        match level {
            Level::ERROR => tracing::error!(target: "plugin", plugin, hook, "{words}"),
            Level::WARN => tracing::warn!(target: "plugin", plugin, hook, "{words}"),
            Level::INFO => tracing::info!(target: "plugin", plugin, hook, "{words}"),
            _ => tracing::debug!(target: "plugin", plugin, hook, "{words}"),
        }
    }

    /// What it printed goes to its log.
    pub(crate) fn say_printed(&self) {
        let Some(inert) = &self.inert else { return };
        for line in inert.printed().lines().filter(|line| !line.trim().is_empty()).take(200) {
            self.say(Level::WARN, line);
        }
    }
}

/// The name of a hook's interface; none is `describe`.
pub(crate) fn hook_name(hook: Option<Hook>) -> &'static str {
    match hook {
        None => "describe",
        Some(Hook::Relate) => "relate",
        Some(Hook::Check) => "check",
        Some(Hook::Hold) => "hold",
        Some(Hook::Adapt) => "adapt",
        Some(Hook::Restore) => "restore",
        Some(Hook::Settle) => "settle",
    }
}
