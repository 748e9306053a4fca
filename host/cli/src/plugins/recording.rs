//! Recordings: the calls of plugins in a move, each with the questions and answers, for `plugin replay`.
//!
//! The engine doesn't know of it: [`CallRecorder`] is a plugin that passes each call on to another plugin.

mod asked_questions;
mod call_recorder;
mod file;
pub(super) mod format;
pub(super) mod redaction;
mod secret_carriers;
#[cfg(test)]
mod tests;

pub(super) use call_recorder::CallRecorder;
pub(crate) use file::RecordingFile;
pub(super) use secret_carriers::SecretCarriers;
