//! The objects that no plugin adapts.
//!
//! `adapt` is a pure hook: it answers the same for the same object. It is called before the pause, so that a refusal comes early, and
//! most answers are that nothing changes. Such an object is not passed to plugins again when it is copied, unless it has changed.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pivot_core::{Object, Uid};

/// The objects of the source that no plugin adapts, by UID and version.
#[derive(Default)]
pub(crate) struct UnchangedObjects(Mutex<BTreeSet<(Uid, String)>>);

impl UnchangedObjects {
    /// Returns true if plugins were asked about this version of the object, and none changed it.
    pub(crate) fn contains(&self, object: &Object) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&identify(object))
    }

    /// Keeps in mind that no plugin changes this version. An object without a version could change unnoticed.
    pub(crate) fn insert(&self, object: &Object) {
        if !object.meta.uid.0.is_empty() && !object.meta.resource_version.is_empty() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(identify(object));
        }
    }

    /// Forgets an object that the move changes in its reading: the version stays the same.
    pub(crate) fn forget(&self, object: &Object) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&identify(object));
    }
}

fn identify(object: &Object) -> (Uid, String) {
    (object.meta.uid.clone(), object.meta.resource_version.clone())
}
