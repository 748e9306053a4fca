//! The handover as a state machine, explored to its end.
//!
//! A move is a protocol between runs that may die anywhere, and two servers that know nothing of each other. It has more
//! interleavings than tests can be written for. Here it is written down once more, one request at a time, and a checker
//! visits every state that two runs can bring about.
//!
//! | module | is |
//! |---|---|
//! | [`pair`] | the names: two runs, two moves, two objects, three locks |
//! | [`state`] | what there is at one moment |
//! | [`process`] | what a run is and remembers; [`Step`] has the engine's names |
//! | [`rules`] | what is explored: scopes, faults, and the rules, each of which can be broken |
//! | [`steps`] | who may do what next |
//! | `turn` | what becomes of the state |
//! | `locks` | how a run takes its locks and gives them back |
//! | `phases`, `rollback` | how it carries a move through its phases, or back |
//! | [`properties`] | what must always hold, and what must be possible |
//! | [`rescue`] | that from every state the same command leads to an end |
//!
//! # What is left out
//!
//! - **Versions.** An object knows who read or wrote it last (`known_to`): only their compare-and-swap succeeds. That is
//!   what resourceVersion is for, without numbers that grow. Of a source object its content is its version.
//! - **Time.** A Lease expires only when its holder is dead. That a run which can't renew stops writing before that (the
//!   fence), and that no request of it acts later, is assumed. To be unable to renew is to die here. `--take-over` is the
//!   exception: there the old holder lives, and learns of it whenever it likes.
//! - **Requests that never arrive.** Sent again they change nothing; a run that gives up is a run that stops or dies.
//! - **A third lock.** The one for cluster-scoped objects is taken, and looked at, like one of a namespace.
//! - **Plans.** A Cluster and a host, each in a namespace of its own, stand for everything: the Cluster is resumed at Live,
//!   the host is held, and released at Settled. Of a user's edits those before the commit are explored; later the run stops
//!   with the difference, and somebody decides (`rescue`). The users who un-pause an object by hand are left out.
//! - **A side that comes back.** Lost is for good. What was there is still counted for the promises, out of reach.
//! - **A move that is begun anew.** When a move has ended, its scope is not moved a second time.
//!
//! # Reading a counterexample
//!
//! A test that fails prints the promise, the actions and the last state. `Do(R1, Pause(Cluster))`: the run at the first
//! terminal paused the Cluster and was told so. `M1` is the move that `R1` began; `R2` may work on it, too. `LoseAnswer`
//! acts like `Do`, but the run does not know. Tests of broken rules search with one thread, so their ways are short; for the
//! same of a test that fails, take its `threads(2)` away. The checker goes on for a few steps before it tells, so look for
//! the first step that breaks the promise: what follows it is no part of the matter. Where a promise of invariant 10 is
//! broken, the last state is one from which the same command, typed again, does not end.

pub mod handover;
mod locks;
pub mod pair;
mod phases;
pub mod process;
pub mod properties;
pub mod rescue;
mod rollback;
pub mod rules;
pub mod state;
pub mod steps;
mod turn;

pub use handover::{Action, Handover, Rescue};
pub use pair::{Content, Item, Items, Lock, Move, Pair, PerLock, Run};
pub use process::*;
pub use rules::{Config, Rules, Scope};
pub use state::*;
