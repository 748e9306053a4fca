//! The pure core of pivot-host: objects, their owners, the selection of objects to move, and their order.
//!
//! Nothing here does IO, asks the clock or is async: everything is a value that can be printed, serialised and compared in a
//! test. IO lives in the crates around it (places, engine, runtime).
//!
//! The folders are layers, lowest first: a file imports from its own folder and from those above it in this table.
//!
//! | folder | content |
//! |---|---|
//! | [`objects`] | objects as a server has them: names, kinds, metadata and bodies |
//! | [`messages`] | refusals, remedies and risks, and text for people |
//! | [`request`] | input of a user: the scope of a move, names of namespaces, manifests |
//! | [`mod@plan`] | the plan: its steps, kept objects, staying objects, notes |
//! | [`plugins`] | values that plugins return |
//! | [`discovery`] | objects that were read from one side, and how they relate |
//! | [`selection`] | the set of objects that move |
//! | [`planner`] | makes a plan: fates, order, owners, mapping |
//! | [`records`] | state that outlives a run, and decisions that follow from it |
//! | [`copies`] | copies in the target: body, mark, content and takeover |
//! | [`checks`] | checks of a plan before anything is changed |
//! | [`mod@describe`] | one Cluster as a tree with its state |

pub mod checks;
pub mod copies;
pub mod describe;
pub mod discovery;
pub mod messages;
pub mod objects;
pub mod plan;
pub mod planner;
pub mod plugins;
pub mod records;
pub mod request;
pub mod selection;
#[cfg(test)]
mod testing;

pub use objects::kind::{GroupKind, Kind, KindLabels};
pub use objects::object::{Key, Meta, Object, ObjectError, OwnerReference, Uid};
pub use objects::side::{Both, Side};
