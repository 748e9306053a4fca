//! Plugins as the engine sees them: calls to them, answers to their calls, and the bounds of their patches.

pub(crate) mod bounds;
pub(crate) mod calls;
pub mod hooks;
pub(crate) mod loading;
pub(crate) mod services;
pub(crate) mod unchanged_objects;
pub(crate) mod view;
