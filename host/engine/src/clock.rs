//! The time, for people: no decision depends on it.

use jiff::Timestamp;

/// Now, in UTC.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
