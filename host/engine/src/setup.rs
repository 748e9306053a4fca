//! What a command works with.

use std::sync::Arc;

use crate::events::Watcher;
use crate::options::Options;
use crate::plugins::hooks::Hooks;
use crate::requests::halt::Halter;
use crate::requests::side::Sides;

/// What a command works with.
#[derive(Clone)]
pub struct Setup {
    /// The two places.
    pub sides: Sides,
    /// What the user decides.
    pub options: Options,
    /// The plugins, in their order.
    pub plugins: Vec<Arc<dyn Hooks>>,
    /// Who is told.
    pub watcher: Arc<dyn Watcher>,
    /// Who may ask for a stop.
    pub halter: Halter,
}
