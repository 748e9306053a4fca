//! The pure heart of pivot-host: what the objects are, who owns whom, what moves and in which order.
//!
//! Nothing here does IO, asks the clock or is async: everything is a value that can be printed, serialised
//! and compared in a test. The rooms around it (places, engine, runtime) bring the world in.
//!
//! | module | what it answers |
//! |---|---|
//! | [`names`] | which labels, annotations and groups mean something, spelled once |
//! | [`kind`] | what a kind is called, in which versions it is served, whether it is labelled for moving |
//! | [`object`] | one object: its metadata parsed, its body as the bytes the server sent |
//! | [`merge`] | JSON merge patches: apply, invert, derive |

pub mod kind;
pub mod merge;
pub mod names;
pub mod object;

pub use kind::{GroupKind, Kind, KindLabels};
pub use object::{Key, Meta, Object, ObjectError, OwnerReference, Uid};
