//! Bounds for what is held of a server's answers.
//!
//! A server may belong to a stranger, and may answer each list with as much as is read of it. Answers of strangers have a budget,
//! which gets its bytes back when the answers are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::objects::memory_budget::Held;

use crate::place::PlaceError;

/// Least bytes that an object takes in addition to its text: without them, tiny objects would count for a tenth of their memory.
const OBJECT_OVERHEAD: usize = 512;

/// Bytes that may be held at once.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    limit: usize,
    taken: AtomicUsize,
    /// The budget that this is a part of.
    parent: Option<Budget>,
}

/// A part of a budget, until it is dropped.
#[derive(Debug)]
pub struct Share {
    of: Budget,
    bytes: usize,
}

impl Budget {
    /// Creates a budget of this many bytes.
    pub fn new(limit: usize) -> Self {
        Self::with_parent(limit, None)
    }

    /// Allots so many of this budget's bytes. A user of the part takes no more from the others.
    #[must_use]
    pub fn allot(&self, limit: usize) -> Self {
        Self::with_parent(limit, Some(self.clone()))
    }

    fn with_parent(limit: usize, parent: Option<Self>) -> Self {
        Self(Arc::new(Bytes { limit, taken: AtomicUsize::new(0), parent }))
    }

    /// Creates an empty share.
    pub fn share(&self) -> Share {
        Share { of: self.clone(), bytes: 0 }
    }

    /// Takes bytes here, and then from the parent.
    ///
    /// # Errors
    /// The limit of the budget that has not as many left. Nothing is taken then.
    fn take(&self, bytes: usize) -> Result<(), usize> {
        let Bytes { limit, taken, parent } = &*self.0;
        let more = |taken: usize| taken.checked_add(bytes).filter(|sum| sum <= limit);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| *limit)?;
        let above = parent.as_ref().map_or(Ok(()), |parent| parent.take(bytes));
        if above.is_err() {
            taken.fetch_sub(bytes, Ordering::Relaxed);
        }
        above
    }

    fn give_back(&self, bytes: usize) {
        let Bytes { taken, parent, .. } = &*self.0;
        taken.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(parent) = parent {
            parent.give_back(bytes);
        }
    }
}

impl Share {
    /// Takes more.
    ///
    /// # Errors
    /// If the budget has not as much left.
    pub fn grow(&mut self, bytes: usize, about: &str) -> Result<(), PlaceError> {
        self.of.take(bytes).map_err(|limit| {
            let limit = limit >> 20;
            PlaceError::Unreadable(format!(
                "{about}: more than {limit} MiB of this server's answers would be held at once"
            ))
        })?;
        self.bytes += bytes;
        Ok(())
    }

    /// Takes the bytes that this many objects need in addition to their text.
    ///
    /// # Errors
    /// If the budget has not as much left.
    pub fn grow_by_objects(&mut self, objects: usize, about: &str) -> Result<(), PlaceError> {
        self.grow(objects.saturating_mul(OBJECT_OVERHEAD), about)
    }

    /// Gives back what is no longer held.
    pub fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.of.give_back(less);
        self.bytes -= less;
    }

    /// Keeps the share for as long as one of the objects is held.
    pub fn into_held(self) -> Held {
        Held::from_owner(Arc::new(self))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_returns_with_the_last_object() {
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

    #[test]
    fn part_takes_no_more_than_its_limit() {
        let whole = Budget::new(40);
        let (one, other) = (whole.allot(15), whole.allot(30));
        let (mut first, mut second) = (one.share(), other.share());
        first.grow(10, "a list").unwrap();
        assert!(first.grow(6, "a list").is_err());
        // A refusal takes nothing, here or above.
        second.grow(25, "a list").unwrap();
        assert!(second.grow(6, "a list").is_err());
        assert_eq!(whole.0.taken.load(Ordering::Relaxed), 35);
        first.shrink_to(5);
        assert!(first.grow(11, "a list").is_err(), "the whole has no more");
        first.grow(10, "a list").unwrap();
        drop((first, second));
        whole.share().grow(40, "a list").unwrap();
    }
}
