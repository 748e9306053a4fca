//! Bounds for what is held of a server's answers.
//!
//! A server may be a stranger's, and may answer each list with as much as is read of it. What a program reads for a stranger has a
//! budget, which gets its bytes back when what was read is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::held::Held;

use crate::place::PlaceError;

/// Bytes that an object takes beside its text, at least: a server that sends tiny ones would be held for a tenth of what they take.
const EACH: usize = 512;

/// Bytes that may be held at once.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    limit: usize,
    taken: AtomicUsize,
}

/// A part of a budget, until it is dropped.
#[derive(Debug)]
pub struct Share {
    of: Arc<Bytes>,
    bytes: usize,
}

impl Budget {
    /// Allows so many bytes.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Bytes { limit, taken: AtomicUsize::new(0) }))
    }

    /// A share of nothing yet.
    pub fn share(&self) -> Share {
        Share { of: self.0.clone(), bytes: 0 }
    }
}

impl Share {
    /// Takes more.
    ///
    /// # Errors
    /// If the budget has not as much left.
    pub fn grow(&mut self, bytes: usize, about: &str) -> Result<(), PlaceError> {
        let Bytes { limit, taken } = &*self.of;
        let more = |taken: usize| taken.checked_add(bytes).filter(|sum| sum <= limit);
        if taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            let limit = limit >> 20;
            return Err(PlaceError::Unreadable(format!(
                "{about}: more than {limit} MiB of this server's answers would be held at once"
            )));
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Takes what so many objects need beside their bytes.
    ///
    /// # Errors
    /// If the budget has not as much left.
    pub fn grow_by_objects(&mut self, objects: usize, about: &str) -> Result<(), PlaceError> {
        self.grow(objects.saturating_mul(EACH), about)
    }

    /// Gives back what is no longer held.
    pub fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.of.taken.fetch_sub(less, Ordering::Relaxed);
        self.bytes -= less;
    }

    /// Keeps it for as long as one of the objects is held.
    pub fn into_held(self) -> Held {
        Held::from_owner(Arc::new(self))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_comes_back_with_the_last_object() {
        let budget = Budget::new(2_000);
        let mut share = budget.share();
        share.grow(900, "a list").unwrap();
        share.grow_by_objects(2, "a list").unwrap();
        let refused = budget.share().grow(100, "another list").unwrap_err();
        assert!(refused.to_string().contains("another list"), "{refused}");
        let held = share.into_held();
        let copy = held.clone();
        drop(held);
        assert!(budget.share().grow(100, "another list").is_err());
        drop(copy);
        budget.share().grow(2_000, "another list").unwrap();
    }
}
