//! What the engine tells the people watching. It never prints: the command line decides how it looks.

use pivot_core::plan::Plan;
use pivot_core::record::Phase;
use pivot_core::{Key, Side};

/// Something a person may want to know.
#[derive(Debug)]
pub enum Event<'a> {
    /// What is being looked at, before there is a phase.
    Looking(&'a str),
    /// The plan is made.
    Planned(&'a Plan),
    /// A phase begins; so many objects are concerned.
    Phase(Phase, usize),
    /// One object of the phase is done: what happened to it, where.
    Done(Phase, &'a Key, &'static str, Side),
    /// Still waiting: what for, seconds left.
    Waiting {
        /// What for, a line each.
        what: &'a [String],
        /// Seconds left.
        left: u64,
    },
    /// Worth knowing.
    Note(&'a str),
    /// Worth attention.
    Warning(&'a str),
}

/// Someone watching.
pub trait Watcher: Send + Sync + 'static {
    /// Something happened.
    fn event(&self, event: Event<'_>);
}

/// Nobody watching.
#[derive(Debug, Default)]
pub struct Nobody;

impl Watcher for Nobody {
    fn event(&self, _event: Event<'_>) {}
}
