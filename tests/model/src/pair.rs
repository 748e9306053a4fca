//! Small tables: two values, or one for each lock. Indexing them can't fail.

use std::ops::{Index, IndexMut};

/// A run: a terminal at which one run at a time is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Run {
    /// The first.
    R1,
    /// The second.
    R2,
}

/// A move. A new move started by run `R1` is `M1`, one started by `R2` is `M2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Move {
    /// Started by `R1`.
    M1,
    /// Started by `R2`.
    M2,
}

/// An object. Each lives in a namespace of its own, so this identifies the namespace, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    /// A Cluster: paused in the source, resumed in the target after the commit.
    Cluster,
    /// A host: held in the source, released in the target when the move settles.
    Host,
}

/// A Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lock {
    /// `pivot-host`, the one for all.
    All,
    /// `pivot-host.ns.<namespace>`.
    Namespace(Item),
}

/// An index with two values.
pub trait OneOfTwo: Copy {
    /// Both.
    const BOTH: [Self; 2];
    /// Whether it is the first of the two.
    fn is_first(self) -> bool;
}

macro_rules! one_of_two {
    ($type:ident, $first:ident, $second:ident) => {
        impl OneOfTwo for $type {
            const BOTH: [Self; 2] = [$type::$first, $type::$second];
            fn is_first(self) -> bool {
                self == $type::$first
            }
        }
    };
}
one_of_two!(Run, R1, R2);
one_of_two!(Move, M1, M2);
one_of_two!(Item, Cluster, Host);

impl Run {
    /// The other run.
    pub fn other(self) -> Self {
        if self == Self::R1 { Self::R2 } else { Self::R1 }
    }

    /// The id of a new move that this run starts.
    pub fn own_move(self) -> Move {
        if self == Self::R1 { Move::M1 } else { Move::M2 }
    }
}

impl Lock {
    /// In the order in which they are taken.
    pub const EACH: [Lock; 3] = [Lock::All, Lock::Namespace(Item::Cluster), Lock::Namespace(Item::Host)];
}

/// A pair of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pair<T>(pub T, pub T);

impl<T, K: OneOfTwo> Index<K> for Pair<T> {
    type Output = T;
    fn index(&self, key: K) -> &T {
        if key.is_first() { &self.0 } else { &self.1 }
    }
}

impl<T, K: OneOfTwo> IndexMut<K> for Pair<T> {
    fn index_mut(&mut self, key: K) -> &mut T {
        if key.is_first() { &mut self.0 } else { &mut self.1 }
    }
}

/// A set of objects, or of their namespaces.
pub type Items = Pair<bool>;

impl Items {
    /// No object.
    pub const NONE: Self = Pair(false, false);
    /// Both objects.
    pub const ALL: Self = Pair(true, true);

    /// Whether any object is in both sets.
    pub fn meets(self, other: Self) -> bool {
        (self.0 && other.0) || (self.1 && other.1)
    }

    /// Both sets together.
    pub fn with(self, other: Self) -> Self {
        Pair(self.0 || other.0, self.1 || other.1)
    }
}

/// One value for each lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PerLock<T> {
    /// For the lock for all.
    pub all: T,
    /// For the lock of each namespace.
    pub namespaces: Pair<T>,
}

impl<T> Index<Lock> for PerLock<T> {
    type Output = T;
    fn index(&self, lock: Lock) -> &T {
        match lock {
            Lock::All => &self.all,
            Lock::Namespace(item) => &self.namespaces[item],
        }
    }
}

impl<T> IndexMut<Lock> for PerLock<T> {
    fn index_mut(&mut self, lock: Lock) -> &mut T {
        match lock {
            Lock::All => &mut self.all,
            Lock::Namespace(item) => &mut self.namespaces[item],
        }
    }
}

/// The content of an object: how often users edited it.
pub type Content = u8;
