//! The two sides of a move, and a pair type with one value for each.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One of the two sides of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The side that the objects come from.
    Source,
    /// The side that the objects go to.
    Target,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

/// A pair of values, one for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both<T> {
    /// The source's.
    pub source: T,
    /// The target's.
    pub target: T,
}

impl<T> Both<T> {
    /// One for each side.
    pub fn new(source: T, target: T) -> Self {
        Self { source, target }
    }

    /// Returns the value of a side.
    pub fn get(&self, side: Side) -> &T {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// Returns the value of a side, mutable.
    pub fn get_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Source => &mut self.source,
            Side::Target => &mut self.target,
        }
    }

    /// A reference to both values.
    pub fn as_ref(&self) -> Both<&T> {
        Both { source: &self.source, target: &self.target }
    }

    /// Converts both values.
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> Both<U> {
        Both { source: make(self.source), target: make(self.target) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_has_its_own() {
        let mut both = Both::new("a", "b");
        *both.get_mut(Side::Target) = "c";
        assert_eq!((*both.get(Side::Source), *both.get(Side::Target)), ("a", "c"));
        assert_eq!(both.as_ref().map(|text| text.len()), Both::new(1, 1));
    }
}
