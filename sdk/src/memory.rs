//! What a plugin remembers on an object between calls.

use crate::{Object, Patch, Plugin};

impl Patch {
    /// Remembers something on the object until the end of the move, in an annotation under the plugin's own prefix.
    /// [`Object::recall`] reads it, on either side. The host takes it away when the object is settled.
    pub fn remember<P: Plugin>(self, key: &str, value: impl Into<String>) -> Self {
        self.annotation(P::memory(key), value)
    }

    /// Says in `hold` or `adapt` what the object has in common with others when it comes to settling them: a driver, a model, a
    /// site. The host settles one object of each group first, and more once those are done, so that what is wrong with a
    /// group shows on one object.
    pub fn settle_group<P: Plugin>(self, group: impl Into<String>) -> Self {
        self.remember::<P>(pivot_bounds::names::SETTLE_GROUP, group)
    }

    /// Forgets what [`Patch::remember`] remembered.
    pub fn forget<P: Plugin>(self, key: &str) -> Self {
        self.remove_annotation(P::memory(key))
    }
}

impl Object {
    /// What a plugin remembered on the object with [`Patch::remember`].
    pub fn recall<P: Plugin>(&self, key: &str) -> Option<&str> {
        self.annotation(&P::memory(key))
    }
}
