//! Something that is held for as long as an object is.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Keeps something until the last copy of an object's metadata is dropped: the part of a budget that its bytes were taken from. All
/// of these are equal: it says nothing about the object.
#[derive(Clone, Default)]
pub struct Held(Option<Arc<dyn Any + Send + Sync>>);

impl Held {
    /// Keeps this.
    pub fn from_owner(owner: Arc<dyn Any + Send + Sync>) -> Self {
        Self(Some(owner))
    }

    /// Keeps both.
    pub fn and(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Some(one), Some(two)) => Self::from_owner(Arc::new((one.clone(), two.clone()))),
            (one, two) => Self(one.as_ref().or(two.as_ref()).cloned()),
        }
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
