//! The run that a hook is called in.
//!
//! A patch must not depend on [`run_kind`]: a plan predicts what a move does.

use crate::{Result, Side, host};

pub use crate::provider::Provider;

/// The kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// The target takes over.
    Move,
    /// Into or from files: the source goes on as it was.
    Copy,
    /// Into files, with the source left paused.
    Handover,
    /// Nothing is changed.
    Plan,
    /// `plugin run`, and native tests.
    Trial,
    /// A kind that a newer host has and this SDK doesn't know.
    Other,
}

impl RunKind {
    /// Parses the contract's word.
    pub fn from_word(word: &str) -> Self {
        match word {
            "move" => Self::Move,
            "copy" => Self::Copy,
            "handover" => Self::Handover,
            "plan" => Self::Plan,
            "trial" => Self::Trial,
            _ => Self::Other,
        }
    }
}

/// Returns the kind of this run.
pub fn run_kind() -> RunKind {
    RunKind::from_word(&host::run_word())
}

/// Returns the move's id. In a plan, this is the id that a move would get.
pub fn move_id() -> String {
    host::move_id()
}

/// Returns true if a side is a cluster, and not a directory.
pub fn is_cluster(side: Side) -> bool {
    host::place_type(side) == "cluster"
}

/// Returns the name in the target of a namespace of the source.
pub fn target_namespace(source: &str) -> String {
    host::target_namespace(source)
}

/// Returns the name on a side of a namespace of the source, for commands that users run there.
pub fn namespace_on(side: Side, source: &str) -> String {
    match side {
        Side::Source => source.to_owned(),
        Side::Target => target_namespace(source),
    }
}

/// Returns the providers of a side. `check` and `settle` may ask.
///
/// # Errors
/// If they can't be read.
pub fn providers(side: Side) -> Result<Vec<Provider>> {
    host::list_providers(side)
}

/// Returns true if anything except pivot-host has written to the object since the commit. Known in `settle`: a status that was
/// only restored proves nothing.
pub fn was_written_since_commit() -> bool {
    host::written_since_commit()
}
