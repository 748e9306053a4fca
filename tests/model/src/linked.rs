//! A move over an agent's link, as a state machine of its own: the other cluster can be cut off, and the parent may never come back.
//!
//! The *parent* has the *cell*, in which runs of the engine are started, and one side of the move; the *child* has the other side, and
//! beside it the agent, which answers the cell on a link that it made itself. Into the child it is a pivot, out of it an unpivot. Any
//! run may die, the link may be cut and made again, any number of times and between any two requests; people may give up a side that
//! comes back later; the parent may go for good.
//!
//! Locks keep runs apart, as [`crate::Handover`] shows, so at most one run is alive. What it leaves behind may not be dead yet: a request
//! that was under way when the link was cut takes effect later, or never. That is what the agent's *fence* is about.
//!
//! Two things are here before they are in the engine, switched by [`Linked::seals`]. The *seal* is one more write, to the child's record,
//! after the parent's record says Committed: before it the child can't know which of the two records decides. With it the agent *finishes
//! alone* if the parent stays away: it resumes and settles the copies, and leaves the record as it is, so that a parent that comes back
//! finds a move that is Live, releases its objects and closes it.
//!
//! | module | content |
//! |---|---|
//! | [`state`], `step` | both clusters, the run, the agent, the link; what runs ask |
//! | [`rules`] | the direction, and the rules, each of which can be broken |
//! | `run` | what a run of the engine asks, and what that does |
//! | `agent` | the agent, the network, and people |
//! | [`promises`] | what must always hold, and what must be possible |
//! | `again` | that repeating a command finishes, and that a sealed child needs nobody |
//! | [`trace`] | whether what was seen of a real run is a behaviour of this model |
//!
//! # What is left out
//!
//! - **Versions.** A record's content is its version, as an object's is: no write of a record repeats an earlier content.
//! - **Edits after the commit**, as in [`crate::Handover`]: the run stops with the difference.
//! - **More than one request under way.** What is cut off is any one of them.
//! - **A run that dies in a cell that lives.** It takes the cell's end of the link with it; one that only stops waits for its answers.
//! - **Who unpauses the parent's objects by hand** while the agent finishes alone. No child can see that: it is why finishing alone is
//!   something that users ask for.
//! - **A child that is lost for good.** To a run in the cell it is a lost side, which [`crate::Handover`] has. That people give it up
//!   and it comes back is here.
//! - **A move that is started over** when one has ended, and people on both sides who each give up the other.

mod again;
mod agent;
pub mod promises;
pub mod rules;
mod run;
pub mod state;
mod step;
mod steps;
pub mod trace;

pub use rules::{LinkRules, Linked, Way};
pub use state::{Action, Agent, Gone, Link, Linking};
pub use step::Step;
