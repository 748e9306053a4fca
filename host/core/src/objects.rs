//! Objects as a server has them: names, kinds, metadata and bodies.
//!
//! | module | content |
//! |---|---|
//! | `kind` | the name of a kind, its served versions, whether it is labelled for moving |
//! | `object` | one object: metadata parsed, body as the bytes that the server sent |
//! | `object_json` | an object as JSON between processes |
//! | `memory_budget` | memory that is reserved as long as an object exists |
//! | `label_selector` | a label selector of Kubernetes |
//! | `selector` | all objects of a kind, of a namespace or with a label, or one object |
//! | `names` | labels, annotations and groups that mean something, spelled once |
//! | `merge` | JSON merge patches: apply, invert, derive |
//! | `pause` | pausing objects, and undoing each pause |
//! | `side` | the two sides of a move, and a pair with one value for each |

pub mod kind;
pub(crate) mod label_selector;
pub mod memory_budget;
pub mod merge;
pub mod names;
pub mod object;
mod object_json;
pub mod pause;
pub mod selector;
pub mod side;
