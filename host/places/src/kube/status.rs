//! Maps an API server's error answers to errors.
//!
//! A `Status` message may quote values of the object that was sent, so for a Secret the message is dropped and only the reason
//! and the field names remain.

use std::collections::BTreeSet;
use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

use crate::place::PlaceError;

/// Longer messages are cut: some webhooks answer with whole schemas.
const MESSAGE_LIMIT: usize = 2000;

/// Part of an API server's message if an admission webhook refused the request.
const WEBHOOK_DENIAL: &str = "\" denied the request";

/// Whether an error may quote the object that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    /// The server's message is passed on.
    Message,
    /// Reason and field names only.
    Names,
}

/// The part of a `meta/v1` Status that is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct KubeStatus {
    kind: String,
    reason: String,
    message: String,
    pub(super) code: u16,
    details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    causes: Option<Vec<Cause>>,
    retry_after_seconds: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cause {
    field: String,
}

impl KubeStatus {
    /// Parses a Status; none if the answer is something else (a proxy's page, plain text).
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(body).ok().filter(|status| status.kind == "Status")
    }

    /// Returns the server's words if an admission webhook refused the request, without the words of the webhook.
    fn denial(&self) -> Option<&str> {
        let end = self.message.find(WEBHOOK_DENIAL)?.checked_add(WEBHOOK_DENIAL.len())?;
        self.message.get(..end).filter(|words| words.starts_with("admission webhook \""))
    }

    fn error_text(&self, quote: Quote) -> String {
        if quote == Quote::Message && !self.message.is_empty() {
            return shorten_message(&self.message);
        }
        let names = self.list_names();
        self.denial().map_or_else(|| names.clone(), |denial| format!("{denial}: {names}"))
    }

    /// Returns the reason and the names of the invalid fields.
    fn list_names(&self) -> String {
        let fields = self.invalid_fields().into_iter().collect::<Vec<_>>().join(", ");
        let reason = if self.reason.is_empty() { "no reason given" } else { &self.reason };
        if fields.is_empty() { reason.to_owned() } else { format!("{reason}: {fields}") }
    }

    /// Returns the names of the invalid fields.
    fn invalid_fields(&self) -> BTreeSet<&str> {
        let causes = self.details.as_ref().and_then(|details| details.causes.as_deref()).unwrap_or_default();
        causes.iter().map(|cause| cause.field.as_str()).filter(|field| !field.is_empty()).collect()
    }
}

/// Returns the error for an answer. `about` describes the request, without any content.
pub(super) fn to_place_error(
    code: StatusCode,
    retry_after: Option<Duration>,
    status: Option<&KubeStatus>,
    quote: Quote,
    about: &str,
) -> PlaceError {
    let text = match status {
        Some(status) => format!("{about}: {}", status.error_text(quote)),
        // An API server answers so for a kind it doesn't serve, and a proxy for any path.
        None if code == StatusCode::NOT_FOUND => format!("{about}: not served here"),
        None => format!("{about}: {code}, from something other than the API server"),
    };
    let reason = status.map_or("", |status| status.reason.as_str());
    match code.as_u16() {
        // A webhook chooses the code: 404 doesn't mean that the object is gone, nor 409 that it has changed.
        400..=407 | 409..=428
            if code != StatusCode::FORBIDDEN && status.is_some_and(|status| status.denial().is_some()) =>
        {
            PlaceError::Invalid(text)
        }
        401 => PlaceError::Unauthorized(text),
        403 => PlaceError::Forbidden(text),
        404 => PlaceError::NotFound(text),
        409 if reason == "AlreadyExists" => PlaceError::AlreadyExists(text),
        409 => PlaceError::Conflict(text),
        // The patch names another UID than the object's: the object was replaced.
        422 if status.is_some_and(|status| status.invalid_fields().contains("metadata.uid")) => {
            PlaceError::Conflict(text)
        }
        410 => PlaceError::Expired(text),
        429 => PlaceError::TooManyRequests {
            retry_after: retry_after.or_else(|| {
                let details = status.and_then(|status| status.details.as_ref());
                details.and_then(|details| details.retry_after_seconds).map(Duration::from_secs)
            }),
        },
        408 | 500..=599 => PlaceError::Unavailable(text),
        400..=499 => PlaceError::Invalid(text),
        _ => PlaceError::Unreadable(text),
    }
}

fn shorten_message(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_LIMIT) {
        None => message.to_owned(),
        Some((end, _)) => format!("{}… (cut)", message.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: u16, body: &str, quote: Quote) -> PlaceError {
        to_place_error(
            StatusCode::from_u16(code).unwrap(),
            None,
            KubeStatus::parse(body.as_bytes()).as_ref(),
            quote,
            "it",
        )
    }

    #[test]
    fn reason_distinguishes_meanings_of_a_code() {
        let taken = r#"{"kind":"Status","reason":"AlreadyExists","message":"m"}"#;
        let changed = r#"{"kind":"Status","reason":"Conflict","message":"m"}"#;
        assert!(matches!(read(409, taken, Quote::Message), PlaceError::AlreadyExists(_)));
        assert!(matches!(read(409, changed, Quote::Message), PlaceError::Conflict(_)));
    }

    #[test]
    fn webhooks_do_not_decide_what_is_gone() {
        let body = |code: u16, reason: &str| {
            format!(
                r#"{{"kind":"Status","reason":"{reason}","code":{code},
                "message":"admission webhook \"v.example.com\" denied the request: it has hunter2"}}"#
            )
        };
        for (code, reason) in [
            (400, ""),
            (401, ""),
            (404, "NotFound"),
            (409, "Conflict"),
            (409, "AlreadyExists"),
            (410, "Gone"),
            (422, ""),
        ] {
            let error = read(code, &body(code, reason), Quote::Message);
            assert!(matches!(error, PlaceError::Invalid(_)) && error.is_webhook_refusal(), "{code}: {error}");
        }
        let forbidden = read(403, &body(403, "Forbidden"), Quote::Names);
        assert!(matches!(forbidden, PlaceError::Forbidden(_)) && forbidden.is_webhook_refusal());
        assert_eq!(
            forbidden.to_string(),
            PlaceError::Forbidden(
                "it: admission webhook \"v.example.com\" denied the request: Forbidden".into()
            )
            .to_string()
        );
        // The webhook failed, or is busy: the same request may succeed.
        assert!(matches!(read(500, &body(500, ""), Quote::Message), PlaceError::Unavailable(_)));
        assert!(matches!(read(429, &body(429, ""), Quote::Message), PlaceError::TooManyRequests { .. }));
    }

    #[test]
    fn another_uid_is_a_conflict() {
        let body = |field| {
            format!(
                r#"{{"kind":"Status","reason":"Invalid","details":{{"causes":[{{"field":"{field}"}}]}}}}"#
            )
        };
        let other = read(422, &body("metadata.uid"), Quote::Message);
        assert!(matches!(other, PlaceError::Conflict(_)));
        let owner = read(422, &body("metadata.ownerReferences[0].uid"), Quote::Message);
        assert!(matches!(owner, PlaceError::Invalid(_)));
    }

    #[test]
    fn secret_is_not_quoted() {
        let body = r#"{"kind":"Status","reason":"Invalid","message":"data.k: Invalid value: \"hunter2\"",
            "details":{"causes":[{"field":"data.k","message":"hunter2"},{"field":"type"}]}}"#;
        let text = read(422, body, Quote::Names).to_string();
        assert_eq!(text, "refused: it: Invalid: data.k, type");
        assert!(read(422, body, Quote::Message).to_string().contains("hunter2"));
    }

    // proves: T108
    #[test]
    fn proxy_error_page_is_not_quoted() {
        let text = read(502, "<html>hunter2</html>", Quote::Message).to_string();
        assert_eq!(text, "no answer: it: 502 Bad Gateway, from something other than the API server");
    }

    #[test]
    fn body_can_contain_the_pause() {
        let body = r#"{"kind":"Status","details":{"retryAfterSeconds":7}}"#;
        let PlaceError::TooManyRequests { retry_after } = read(429, body, Quote::Message) else { panic!() };
        assert_eq!(retry_after, Some(Duration::from_secs(7)));
    }
}
