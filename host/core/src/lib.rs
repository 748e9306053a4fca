//! The pure core of pivot-host: what the objects are, who owns whom, what moves and in which order.
//!
//! Nothing here does IO, asks the clock or is async: everything is a value that can be printed, serialised and compared in a
//! test. IO lives in the crates around it (places, engine, runtime).
//!
//! | module | what is in it |
//! |---|---|
//! | [`names`] | labels, annotations and groups that mean something, spelled once |
//! | [`kind`] | the name of a kind, its served versions, whether it is labelled for moving |
//! | [`object`] | one object: its metadata parsed, its body as the bytes the server sent |
//! | [`merge`] | JSON merge patches: apply, invert, derive |
//! | [`scope`] | what the user asked for and which dangers were accepted |
//! | [`mapping`] | namespaces that have another name in the target |
//! | [`inventory`] | everything that was read, each object once |
//! | [`relations`] | what plugins said about objects |
//! | [`soft`] | links that no owner reference expresses |
//! | [`reach`] | how far plugins' relations reach |
//! | [`part`] | all objects of a kind, or one, as people name them |
//! | [`graph`], [`select`], `named`, `mentions`, `exclude`, `carry` | who owns whom, and which objects are in the set |
//! | [`plan`] | what moves, what is kept, what stays, in which order |
//! | [`planner`] | makes a plan from what was read |
//! | [`addition`], [`added`] | objects from files, and how they are added to a plan |
//! | [`preflight`], [`served`], [`providers`], [`danger`], [`collateral`] | checks before anything is changed |
//! | [`typed`] | kinds and parts as people type them |
//! | [`usable`] | whether a move can work with the names of objects and kinds |
//! | [`pause`] | how objects are paused, and how each pause is undone |
//! | [`body`] | the body that creates a copy, and whether the answer matches it |
//! | [`release`] | which source objects are deleted at the end, in which state, in which order |
//! | [`readiness`] | what must be observed in the target before anything is deleted |
//! | [`record`], [`mod@format`] | the state that outlives a run, and the version of its format |
//! | [`route`] | what each side is, and what a move does with it |
//! | [`treatment`] | what a move does with one object |
//! | [`saved_plan`] | a plan in a file, and how it differs from what a move finds |
//! | [`hooks`] | what plugins return |
//! | [`plugin_set`] | the plugins of two parties, compared |
//! | [`side`] | the two sides of a move, and a pair with one value for each |
//! | [`refusal`], [`remedy`] | a reason to refuse a move, and what the user can do about it |
//! | [`mod@describe`] | one Cluster as a tree, with what it says of its state |
//! | [`network`] | networks, and addresses that are reached only if the operator names them |
//! | [`grouped`] | findings about many objects in one line |
//! | [`shell`] | commands that users can paste |
//! | [`words`] | text from elsewhere, as one bounded line |

pub mod added;
pub mod addition;
pub mod body;
pub mod cluster_identity;
pub mod collateral;
pub mod copy_content;
pub mod copy_mark;
pub mod danger;
pub mod describe;
pub mod format;
pub mod grouped;
pub mod held;
pub mod hooks;
pub mod inventory;
pub mod kind;
pub mod mapping;
pub mod merge;
pub mod names;
pub mod network;
pub mod object;
pub mod outside_secrets;
pub mod part;
pub mod pause;
pub mod plan;
pub mod planner;
pub mod plugin_set;
pub mod preflight;
pub mod providers;
pub mod reach;
pub mod readiness;
pub mod record;
pub mod referred;
pub mod refusal;
pub mod relations;
pub mod release;
pub mod remedy;
pub mod risk;
pub mod route;
pub mod saved_plan;
pub mod scope;
pub mod select;
pub mod served;
pub mod shell;
pub mod side;
pub mod soft;
pub mod treatment;
pub mod typed;
pub mod usable;
pub mod words;

mod beyond;
mod carry;
mod exclude;
mod fate;
mod garbage;
mod graph;
mod mentions;
mod named;
mod order;
mod selection;
#[cfg(test)]
mod testing;
mod wire;

pub use kind::{GroupKind, Kind, KindLabels};
pub use object::{Key, Meta, Object, ObjectError, OwnerReference, Uid};
pub use side::{Both, Side};
