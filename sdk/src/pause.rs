//! A provider's own pause: an annotation that `hold` sets, and that users set too.

use crate::{Object, Patch, Plugin};

impl Patch {
    /// Pauses an object in `hold` with the provider's annotation, and stores that the plugin did. An object that a user paused is
    /// not changed.
    pub fn set_own_pause<P: Plugin>(self, annotation: &str, value: &str) -> Self {
        if self.patched_object().annotation(annotation).is_some() {
            return self;
        }
        self.set_annotation(annotation, value).store_value::<P>(&storage_key(annotation), value)
    }

    /// Removes in `settle` the annotation that [`Patch::set_own_pause`] set. A user's pause stays, even if its value is the same.
    pub fn remove_own_pause<P: Plugin>(self, annotation: &str) -> Self {
        if !self.patched_object().has_own_pause::<P>(annotation) {
            return self;
        }
        self.remove_annotation(annotation).remove_stored_value::<P>(&storage_key(annotation))
    }
}

impl Object {
    /// Returns true if the object still has the pause that [`Patch::set_own_pause`] set.
    pub fn has_own_pause<P: Plugin>(&self, annotation: &str) -> bool {
        let stored = self.stored_value::<P>(&storage_key(annotation));
        stored.is_some() && stored == self.annotation(annotation)
    }
}

/// The whole name is in the key: `a.io/paused` and `b.io/paused` are two pauses.
fn storage_key(annotation: &str) -> String {
    format!("own-{}", annotation.replace('/', "."))
}
