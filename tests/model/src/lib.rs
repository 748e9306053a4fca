//! The handover as a state machine, explored exhaustively.
//!
//! A move is a protocol between runs that may die anywhere, and two servers that know nothing of each other. It has more
//! interleavings than tests can be written for. This is a second description of it, one request at a time, and a checker visits
//! every state that two runs can reach.
//!
//! | module | content |
//! |---|---|
//! | [`pair`] | the names: two runs, two moves, two objects, three locks |
//! | [`state`] | everything that matters at one moment |
//! | [`process`] | what a run is and remembers; [`Step`] has the engine's names |
//! | [`rules`] | what is explored: scopes, faults, and the rules, each of which can be broken |
//! | [`steps`] | who may do what next |
//! | `turn` | how an action changes the state |
//! | `locks` | how a run takes its locks and releases them |
//! | `phases`, `rollback` | how it takes a move through its phases, or back |
//! | [`properties`] | what must always hold, and what must be possible |
//! | [`files`] | a source that is handed over in files: a model of its own |
//! | [`linked`] | a move over an agent's link, and a child that finishes alone: a model of its own |
//! | [`restored`] | a side that is restored from a backup: a model of its own |
//! | [`rescue`] | the proof that repeating a command finishes from every state |
//! | [`trace`] | whether what was seen of real runs is a behaviour of this model |
//!
//! # What is left out
//!
//! - **Versions.** An object knows who read or wrote it last (`known_to`): only their compare-and-swap succeeds. That models
//!   resourceVersion without growing numbers. A source object's content is its version.
//! - **Time.** A Lease expires only when its holder is dead. The model assumes that a run which can't renew stops writing before
//!   that (the fence), and that none of its requests takes effect later. Being unable to renew counts as dying. `--break-lease` is
//!   the exception: the old holder is alive, and notices at any time.
//! - **Requests that never arrive.** Sending them again has the same effect; a run that gives up is a run that stops or dies.
//! - **A third lock.** The one for cluster-scoped objects is taken, and checked, like one of a namespace.
//! - **Plans.** A Cluster and a host, each in a namespace of its own, represent everything: the Cluster is resumed at Live, the
//!   host is held, and released at Settled. A user's edits are explored only before the commit; later the run stops with the
//!   difference, and a person decides (`rescue`). Users who unpause an object by hand are left out.
//! - **A side that comes back.** Lost is for good. What was there still counts for the promises, but is out of reach. [`linked`] has
//!   sides that are given up and come back, [`restored`] one that comes back as it was before.
//! - **A move that is started over.** When a move has ended, its scope is not moved a second time.
//!
//! # Reading a counterexample
//!
//! A failing test prints the promise, the actions and the last state. `Do(R1, Pause(Cluster))`: the run at the first terminal
//! paused the Cluster and got the answer. `M1` is the move that `R1` started; `R2` may work on it, too. `LoseAnswer` acts like
//! `Do`, but the run does not know. Tests of broken rules search with one thread, so their traces are short; for a short trace of
//! another failing test, remove its `threads(2)`. The checker continues for a few steps before it reports, so look for the first
//! step that breaks the promise and ignore what follows. If a promise of invariant 10 is broken, the last state is one from which
//! repeating the same command does not finish.

pub mod files;
pub mod handover;
pub mod linked;
mod locks;
pub mod pair;
mod phases;
pub mod process;
pub mod properties;
pub mod rescue;
pub mod restored;
mod rollback;
pub mod rules;
pub mod state;
pub mod steps;
pub mod trace;
mod turn;

pub use handover::{Action, Handover, Rescue};
pub use pair::{Content, Item, Items, Lock, Move, Pair, PerLock, Run};
pub use process::*;
pub use rules::{Config, Rules, Scope};
pub use state::*;
