//! Objects on their way in, words on their way out.
//!
//! Objects go in as the text the server sent. Words come from someone else's program and end up on a terminal, in
//! logs and in reports: they are bounded, and hold no control characters. A plugin that sees the data of Secrets says
//! no words at all.

use std::borrow::Cow;

use pivot_core::{Key, Object, names};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// What stands where a plugin's words are withheld.
pub(crate) const WITHHELD: &str = "(it sees the data of Secrets, so its words are withheld)";

/// An object as a plugin gets it. The error carries no part of the body.
pub(crate) fn object(object: &Object, secret_data: bool) -> Result<Cow<'_, str>, String> {
    let kind = &object.kind.group_kind;
    let unreadable = || format!("{} is not readable as JSON text", object.key());
    if kind.is_secret() && !secret_data {
        let mut value = object.value().map_err(|_| unreadable())?;
        redact(&mut value);
        return Ok(Cow::Owned(value.to_string()));
    }
    let raw = std::str::from_utf8(object.raw()).map_err(|_| unreadable())?;
    if named(raw) {
        return Ok(Cow::Borrowed(raw));
    }
    // Items of lists of built-in kinds come without their kind.
    let rest = raw.trim_start().strip_prefix('{').ok_or_else(unreadable)?;
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    let head = json!({"apiVersion": object.kind.api_version(), "kind": kind.kind}).to_string();
    let head = head.strip_suffix('}').unwrap_or(&head);
    Ok(Cow::Owned(format!("{head}{comma}{rest}")))
}

/// Whether the text says of which kind it is. Servers write that first, so that mostly nothing has to be parsed.
fn named(raw: &str) -> bool {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "apiVersion")]
        api_version: Option<IgnoredAny>,
        kind: Option<IgnoredAny>,
    }
    raw.starts_with("{\"apiVersion\":")
        || serde_json::from_str::<Head>(raw)
            .is_ok_and(|head| head.api_version.is_some() && head.kind.is_some())
}

/// Replaces what a Secret holds by nulls; which keys there are stays.
fn redact(secret: &mut Value) {
    for field in ["data", "stringData"] {
        match secret.get_mut(field) {
            Some(Value::Object(map)) => map.values_mut().for_each(|value| *value = Value::Null),
            Some(other) => *other = Value::Null,
            None => {}
        }
    }
    if let Some(applied) = secret.pointer_mut("/metadata/annotations").and_then(|a| a.get_mut(LAST_APPLIED)) {
        *applied = Value::Null;
    }
}

const LAST_APPLIED: &str = names::LAST_APPLIED;

/// One line of words: no control characters, at most so many bytes.
pub(crate) fn line(words: &str, most: usize) -> String {
    let mut out = String::with_capacity(words.len().min(most));
    for c in words.trim().chars() {
        // Also what turns text around or hides in it.
        let hidden = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        let c = if hidden { ' ' } else { c };
        if out.len() + c.len_utf8() > most {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out.trim().to_owned()
}

/// A code: a word for programs.
pub(crate) fn code(word: &str) -> String {
    let fine = !word.is_empty()
        && word.len() <= 48
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if fine { word.to_owned() } else { "invalid-code".to_owned() }
}

/// Whether a word can be the name of an object or a namespace.
pub(crate) fn is_object_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 253
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':'))
}

/// Whether a key could be that of an object.
pub(crate) fn is_key(key: &Key) -> bool {
    is_object_name(&key.name)
        && key.namespace.as_deref().is_none_or(is_object_name)
        && is_object_name(&key.group_kind.kind)
        && (key.group_kind.group.is_empty() || is_object_name(&key.group_kind.group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use pivot_core::{GroupKind, Kind, KindLabels};
    use std::sync::Arc;

    fn parsed(kind: &str, raw: &str) -> Object {
        let kind = Kind {
            group_kind: GroupKind::new("", kind),
            version: "v1".into(),
            plural: String::new(),
            namespaced: true,
            status_subresource: false,
            served: vec!["v1".into()],
            labels: KindLabels::default(),
        };
        Object::parse(Arc::new(kind), Bytes::from(raw.to_owned())).unwrap()
    }

    #[test]
    fn an_object_goes_in_as_the_text_that_came() {
        let raw = r#"{"apiVersion":"v1", "kind":"ConfigMap","metadata":{"name":"a"},"n":1.10}"#;
        assert!(matches!(object(&parsed("ConfigMap", raw), false), Ok(Cow::Borrowed(text)) if text == raw));
        let raw = r#"{"metadata":{"name":"a"},"kind":"ConfigMap","apiVersion":"v1"}"#;
        assert!(matches!(object(&parsed("ConfigMap", raw), false), Ok(Cow::Borrowed(text)) if text == raw));
    }

    #[test]
    fn an_item_of_a_list_gets_its_kind() {
        let parsed = parsed("ConfigMap", r#"{"metadata":{"name":"a"},"n":1.10}"#);
        let text = object(&parsed, false).unwrap();
        assert_eq!(text, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"n":1.10}"#);
    }

    #[test]
    fn a_secret_keeps_its_keys_and_loses_its_values() {
        let raw = r#"{"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hush",
            "other":"x"}},"data":{"key":"aHVzaA=="},"stringData":{"b":"hush"},"type":"Opaque"}"#;
        let secret = parsed("Secret", raw);
        let withheld: Value = serde_json::from_str(&object(&secret, false).unwrap()).unwrap();
        assert!(!withheld.to_string().contains("hush") && !withheld.to_string().contains("aHVz"));
        assert_eq!(withheld["data"], json!({"key": null}));
        assert_eq!(withheld["metadata"]["annotations"]["other"], "x");
        assert_eq!(withheld["kind"], "Secret");
        assert!(object(&secret, true).unwrap().contains("aHVzaA=="));
    }

    #[test]
    fn words_are_one_bounded_line_without_tricks() {
        assert_eq!(line("a\x1b[31mb\nc\u{202e}d", 100), "a [31mb c d");
        assert_eq!(line("ääää", 5), "ää…");
        assert_eq!(code("not-yet"), "not-yet");
        assert_eq!(code("Geheim: 123"), "invalid-code");
    }
}
