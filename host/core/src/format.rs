//! The version of data that outlives a run.
//!
//! An older program must not continue with what a newer one wrote: it would drop fields that it doesn't know, which could widen
//! the move. So every format carries its number, and a newer number is refused before anything is changed.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A format's number. The current one is written; it and all earlier ones are read. Data without a number is of the first
/// release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format<const KNOWN: u32>;

impl<const KNOWN: u32> Serialize for Format<KNOWN> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(KNOWN)
    }
}

impl<'de, const KNOWN: u32> Deserialize<'de> for Format<KNOWN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            found if found <= KNOWN => Ok(Self),
            found => Err(D::Error::custom(format!("format {found}, but this pivot-host only knows {KNOWN}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: T104
    #[test]
    fn a_newer_format_is_refused_and_older_ones_are_written_anew() {
        for known in ["1", "2"] {
            let read: Format<2> = serde_json::from_str(known).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), "2");
        }
        let error = serde_json::from_str::<Format<2>>("3").unwrap_err().to_string();
        assert!(error.contains("format 3, but this pivot-host only knows 2"), "{error}");
    }
}
