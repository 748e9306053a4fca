//! Values that a plugin stores on an object between calls.

use crate::{Object, Patch, Plugin};

impl Patch {
    /// Stores a value on the object until the end of the move, in an annotation under the plugin's own prefix.
    /// [`Object::stored_value`] reads it, on either side. The host removes it when the object is settled.
    pub fn store_value<P: Plugin>(self, key: &str, value: impl Into<String>) -> Self {
        self.set_annotation(P::storage_annotation(key), value)
    }

    /// Sets, in `hold` or `adapt`, the object's group for settling: a driver, a model, a site. The host settles one object of
    /// each group first, and more once those are done, so that a problem of a group shows on one object.
    pub fn settle_group<P: Plugin>(self, group: impl Into<String>) -> Self {
        self.store_value::<P>(pivot_bounds::names::SETTLE_GROUP, group)
    }

    /// Removes the value that [`Patch::store_value`] stored.
    pub fn remove_stored_value<P: Plugin>(self, key: &str) -> Self {
        self.remove_annotation(P::storage_annotation(key))
    }
}

impl Object {
    /// Returns the value that the plugin stored on the object with [`Patch::store_value`].
    pub fn stored_value<P: Plugin>(&self, key: &str) -> Option<&str> {
        self.annotation(&P::storage_annotation(key))
    }
}
