//! The pure core of pivot-host: what the objects are, who owns whom, what moves and in which order.
//!
//! Nothing here does IO, asks the clock or is async: everything is a value that can be printed, serialised and compared in a
//! test. IO lives in the crates around it (places, engine, runtime).
//!
//! | module | what it answers |
//! |---|---|
//! | [`names`] | which labels, annotations and groups mean something, spelled once |
//! | [`kind`] | what a kind is called, in which versions it is served, whether it is labelled for moving |
//! | [`object`] | one object: its metadata parsed, its body as the bytes the server sent |
//! | [`merge`] | JSON merge patches: apply, invert, derive |
//! | [`scope`] | what the user asked for, which dangers were accepted |
//! | [`inventory`] | everything that was read, each object once |
//! | [`relations`] | what plugins said of objects |
//! | [`soft`] | links that no owner reference expresses |
//! | [`reach`] | how far what plugins say reaches |
//! | [`graph`], [`select`] | who belongs to whom, and what of it is in the set |
//! | [`plan`] | what moves, what is kept, what stays, in which order |
//! | [`preflight`], [`served`], [`providers`], [`danger`], [`collateral`] | why not to go on, before anything is touched |
//! | [`usable`] | whether a move can work with what objects and kinds are called |
//! | [`pause`] | how objects are paused, and how every pause is undone |
//! | [`body`] | what is sent to make a copy, and whether the answer is what was sent |
//! | [`release`] | which source objects are deleted in the end, in which state, in which order |
//! | [`readiness`] | what must be seen in the target before anything is deleted |
//! | [`record`], [`mod@format`] | what must outlive a run, and the version it is written in |
//! | [`hooks`] | what plugins say |
//! | [`side`] | the two places of a move, and whatever there is one of for each |
//! | [`refusal`], [`remedy`] | how a reason not to go on is told, and what can be done about it |
//! | [`grouped`] | what many objects have in common, as one line |
//! | [`shell`] | commands that people are offered to type |
//! | [`words`] | what others wrote, as one bounded line |

pub mod body;
pub mod collateral;
pub mod format;
pub mod grouped;
pub mod hooks;
pub mod inventory;
pub mod kind;
pub mod merge;
pub mod names;
pub mod object;
pub mod pause;
pub mod plan;
pub mod preflight;
pub mod providers;
pub mod reach;
pub mod readiness;
pub mod record;
pub mod refusal;
pub mod relations;
pub mod release;
pub mod remedy;
pub mod scope;
pub mod select;
pub mod served;
pub mod shell;
pub mod side;
pub mod soft;
pub mod usable;
pub mod words;

mod beyond;
mod danger;
mod fate;
mod garbage;
mod graph;
mod order;
mod selection;
#[cfg(test)]
mod testing;
mod wire;

pub use kind::{GroupKind, Kind, KindLabels};
pub use object::{Key, Meta, Object, ObjectError, OwnerReference, Uid};
pub use side::{Both, Side};
