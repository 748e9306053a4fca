//! The content of the Secrets in the scenarios, and the watcher that finds it where it doesn't belong.

use std::fmt::Display;

use anyhow::{Result, ensure};
use pivot_worlds::has_secret;
use serde_json::{Value, json};

/// Content of every Secret, and of nothing else.
pub const MARKER: &str = pivot_worlds::SECRET_CONTENT;
/// The marker as the data of a Secret has it.
pub const ENCODED: &str = pivot_worlds::SECRET_DATA;

/// Adds the marker to the data of an object that is a Secret.
pub fn mark_secret(object: &mut Value) {
    if object.get("kind").is_some_and(|kind| kind == "Secret")
        && let Some(fields) = object.as_object_mut()
        && let Some(data) = fields.entry("data").or_insert_with(|| json!({})).as_object_mut()
    {
        data.insert("lab".to_owned(), ENCODED.into());
    }
}

/// Fails if a text that people or other programs read contains the marker.
pub fn ensure_no_secret(place: impl Display, text: &str) -> Result<()> {
    // Without the text: this message ends up in logs.
    ensure!(!has_secret(text), "the content of a Secret is in {place}");
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

    #[test]
    fn only_secrets_get_the_marker() {
        for (kind, more, marked) in [
            ("Secret", json!({}), true),
            ("Secret", json!({"data": {"value": "eA=="}, "stringData": {"a": "b"}}), true),
            ("ConfigMap", json!({"data": {"value": "x"}}), false),
        ] {
            let mut object = more.clone();
            object["kind"] = json!(kind);
            mark_secret(&mut object);
            assert_eq!(object.to_string().contains(ENCODED), marked, "{object}");
            assert_eq!(object["data"]["value"], more["data"]["value"]);
        }
    }
}
