//! A resource that lives as long as an object.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Keeps a value until the last copy of an object's metadata is dropped, for example the part of a budget that its bytes were
/// taken from. All values are equal, because they describe nothing of the object.
#[derive(Clone, Default)]
pub struct Held(Option<Arc<dyn Any + Send + Sync>>);

impl Held {
    /// Wraps a value that is kept.
    pub fn from_owner(owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self(Some(owner))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.0.is_some()).finish()
    }
}

impl PartialEq for Held {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Held {}
