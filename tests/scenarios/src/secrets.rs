//! The content of the Secrets in the scenarios, and the watcher that finds it where it doesn't belong.

use std::fmt::Display;

use anyhow::{Result, ensure};

/// Content of every Secret, and of nothing else.
pub const MARKER: &str = "hunter2-of-the-lab";
/// The marker as the data of a Secret has it.
pub const ENCODED: &str = "aHVudGVyMi1vZi10aGUtbGFi";

/// Fails if a text that people or other programs read contains the marker.
pub fn ensure_no_secret(place: impl Display, text: &str) -> Result<()> {
    let found = [MARKER, ENCODED].iter().find(|marker| text.contains(**marker));
    // Without the text: this message ends up in logs.
    ensure!(found.is_none(), "the content of a Secret is in {place}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_is_found_in_clear_and_encoded() {
        assert!(ensure_no_secret("stdout", "c-ca is a Secret").is_ok());
        for marker in [MARKER, ENCODED] {
            let error = ensure_no_secret("stdout", &format!("data: {marker}.")).unwrap_err().to_string();
            assert_eq!(error, "the content of a Secret is in stdout");
        }
    }
}
