//! The pure core of pivot-host: objects, their owners, the selection of objects to move, and their order.
//!
//! Nothing here does IO, asks the clock or is async: everything is a value that can be printed, serialised and compared in a
//! test. IO lives in the crates around it (places, engine, runtime).
//!
//! | module | what is in it |
//! |---|---|
//! | [`names`] | labels, annotations and API groups, each spelled only here |
//! | [`kind`] | the name of a kind, its served versions, whether it is labelled for moving |
//! | [`object`] | one object: its metadata parsed, its body as the bytes the server sent |
//! | [`merge`] | JSON merge patches: apply, invert, derive |
//! | [`scope`] | the scope of a move, with the accepted risks |
//! | [`mapping`] | namespaces that have another name in the target |
//! | [`inventory`] | all objects that were read, each once |
//! | [`relations`] | relations between objects that plugins returned |
//! | [`soft`] | links that no owner reference expresses |
//! | [`reach`] | the reach of plugins' relations |
//! | [`part`] | all objects of a kind, or one, as users name them |
//! | [`graph`], [`select`], `named`, `mentions`, `exclude`, `carry` | owners and dependents, and the set of objects that move |
//! | [`plan`] | the objects that move, are kept or stay, and their order |
//! | [`planner`] | makes a plan from the inventory |
//! | [`addition`], [`added`] | objects from files, and how they are added to a plan |
//! | [`preflight`], [`served`], [`providers`], [`danger`], [`collateral`] | checks before anything is changed |
//! | [`typed`] | parses kinds and parts that users type |
//! | [`usable`] | rules for the names of objects, kinds and labels |
//! | [`unusable_objects`] | names and bodies that no move can work with |
//! | [`pause`] | patches that pause objects, and that undo each pause |
//! | [`body`] | the body that creates a copy, and whether the answer matches it |
//! | [`release`] | the list of source objects to delete at the end, in order |
//! | [`readiness`] | observations in the target that are required before anything is deleted |
//! | [`record`], [`mod@format`] | the state that outlives a run, and the version of its format |
//! | [`route`] | the kind of each side, and the effects of a move on it |
//! | [`treatment`] | the effect of a move on one object |
//! | [`saved_plan`] | a plan in a file, and its comparison with the objects that a move finds |
//! | [`hooks`] | the answers of plugins |
//! | [`plugin_set`] | the plugins of two parties, compared |
//! | [`side`] | the two sides of a move, and a pair with one value for each |
//! | [`refusal`], [`remedy`] | a reason to refuse a move, and its remedies |
//! | [`mod@describe`] | one Cluster as a tree, with its state |
//! | [`network`] | networks, and addresses that only the operator can allow |
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
pub mod unusable_objects;
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
