//! Plugins as the engine sees them: what it asks, what it answers, what their patches may touch.

pub(crate) mod bounds;
pub(crate) mod calls;
pub mod hooks;
pub(crate) mod loading;
pub(crate) mod scene;
pub(crate) mod services;
