//! The version of data that outlives a run.
//!
//! An older program must not continue with data that a newer one wrote: it would drop unknown fields, which could widen the move.
//! Every format therefore carries its number, and a newer number is refused before anything is changed. Data of an earlier format
//! that is still supported is converted before it is parsed.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Number of the only format that is written and parsed.
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
            found if found == KNOWN => Ok(Self),
            found => Err(D::Error::custom(format!("format {found}, but this pivot-host only knows {KNOWN}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: T104
    #[test]
    fn other_formats_are_refused() {
        let known: Format<2> = serde_json::from_str("2").unwrap();
        assert_eq!(serde_json::to_string(&known).unwrap(), "2");
        for other in ["1", "3"] {
            let error = serde_json::from_str::<Format<2>>(other).unwrap_err().to_string();
            assert!(error.contains(&format!("format {other}, but this pivot-host only knows 2")), "{error}");
        }
    }
}
