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

/// Objects that are read one by one may take this part of a budget in addition. So leases can be read if lists take everything.
const SINGLE_OBJECTS_PART: usize = 4;

/// Bytes that may be held at once.
#[derive(Clone, Debug)]
pub struct Budget {
    bytes: Arc<Bytes>,
    /// Bytes in addition, for objects that are read one by one.
    single_objects: Arc<Bytes>,
}

#[derive(Debug)]
struct Bytes {
    limit: usize,
    taken: AtomicUsize,
    /// The bytes that these are a part of.
    parent: Option<Arc<Self>>,
}

/// A part of a budget, until it is dropped.
#[derive(Debug)]
pub struct Share {
    of: Arc<Bytes>,
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
        Self::with_parent(limit, Some(self))
    }

    fn with_parent(limit: usize, parent: Option<&Self>) -> Self {
        let bytes = Bytes::new(limit, parent.map(|parent| &parent.bytes));
        let parent = parent.map(|parent| &parent.single_objects);
        Self { bytes, single_objects: Bytes::new(limit / SINGLE_OBJECTS_PART, parent) }
    }

    /// Creates an empty share.
    pub fn share(&self) -> Share {
        Share { of: self.bytes.clone(), bytes: 0 }
    }

    /// Creates the share of an object that is read on its own.
    ///
    /// # Errors
    /// If neither the bytes for single objects nor the others are enough.
    pub(crate) fn share_of_object(&self, bytes: usize, about: &str) -> Result<Share, PlaceError> {
        let bytes = bytes.saturating_add(OBJECT_OVERHEAD);
        if self.single_objects.take(bytes).is_ok() {
            return Ok(Share { of: self.single_objects.clone(), bytes });
        }
        let mut share = self.share();
        share.grow(bytes, about)?;
        Ok(share)
    }
}

impl Bytes {
    fn new(limit: usize, parent: Option<&Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { limit, taken: AtomicUsize::new(0), parent: parent.cloned() })
    }

    /// Takes bytes here, and then from the parent.
    ///
    /// # Errors
    /// The limit that is reached, here or above. Nothing is taken then.
    fn take(&self, bytes: usize) -> Result<(), usize> {
        let Self { limit, taken, parent } = self;
        let more = |taken: usize| taken.checked_add(bytes).filter(|sum| sum <= limit);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| *limit)?;
        let above = parent.as_ref().map_or(Ok(()), |parent| parent.take(bytes));
        if above.is_err() {
            taken.fetch_sub(bytes, Ordering::Relaxed);
        }
        above
    }

    fn give_back(&self, bytes: usize) {
        let Self { taken, parent, .. } = self;
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
        assert_eq!(whole.bytes.taken.load(Ordering::Relaxed), 35);
        first.shrink_to(5);
        assert!(first.grow(11, "a list").is_err(), "the whole has no more");
        first.grow(10, "a list").unwrap();
        drop((first, second));
        whole.share().grow(40, "a list").unwrap();
    }

    // proves: T147
    #[test]
    fn full_lists_leave_room_for_single_objects() {
        let limit = 16 * OBJECT_OVERHEAD;
        let whole = Budget::new(2 * limit);
        let (one, other) = (whole.allot(limit), whole.allot(limit));
        let object = |budget: &Budget| budget.share_of_object(OBJECT_OVERHEAD, "an object");
        let full = |budget: &Budget| {
            let mut lists = budget.share();
            lists.grow(limit, "lists").map(|()| lists)
        };
        let lists = full(&one).unwrap();
        // A quarter in addition.
        let mut objects = vec![object(&one).unwrap(), object(&one).unwrap()];
        let refused = object(&one).unwrap_err();
        assert!(refused.to_string().contains("an object"), "{refused}");
        // Another part still has as many bytes as before.
        drop((full(&other).unwrap(), object(&other).unwrap()));
        objects.pop();
        objects.push(object(&one).unwrap());
        // More objects take what lists have left.
        drop(lists);
        objects.push(object(&one).unwrap());
        assert!(full(&one).is_err());
        drop(objects);
        full(&one).unwrap();
    }
}
