//! Values that plugins return.
//!
//! | module | content |
//! |---|---|
//! | `conformance` | rules for plugins that are checked without a move |
//! | `expectations` | comparison of answers with the answers that scenes expect |
//! | `hooks` | hooks, findings and descriptions of plugins |
//! | `reach` | the objects that a plugin may see and relate outside the scope |
//! | `relations` | links, needs, leaves and keeps of all plugins |

pub mod conformance;
pub mod expectations;
pub mod hooks;
pub mod reach;
pub mod relations;
