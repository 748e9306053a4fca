//! Copies in the target: body, mark, content and takeover.
//!
//! | module | content |
//! |---|---|
//! | `body` | the body that creates a copy |
//! | `conversion` | differences between a copy and its original that a newer version of the kind explains |
//! | `provider_pause` | changes that providers make to the objects of a paused Cluster |
//! | `mark` | the annotations that show which move made a copy |
//! | `content` | the content of a copy that must be unchanged at the commit |
//! | `signs` | signs that the controllers of the target see the paused copies |
//! | `readiness` | evidence that the controllers of the target have taken over |

pub mod body;
pub mod content;
pub mod conversion;
pub mod mark;
pub mod provider_pause;
pub mod readiness;
pub mod signs;
