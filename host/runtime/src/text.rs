//! Objects passed to plugins, and text returned by them.
//!
//! Objects are passed as the text that the server sent, except for the content of Secrets. Returned text comes from someone
//! else's program and is printed to a terminal, into logs and reports: it is limited in length and contains no control
//! characters. The output of a plugin that sees the data of Secrets is limited to codes.

use std::borrow::Cow;

pub(crate) use pivot_core::messages::safe_text::to_line;
use pivot_core::objects::names;
use pivot_core::{Key, Object};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// Replaces a plugin's words if they are withheld.
pub(crate) const WITHHELD: &str = "(it sees the data of Secrets, so its words are withheld)";

/// An object as the plugin of that name receives it. The error contains no part of the body.
pub(crate) fn object_for_plugin<'a>(
    object: &'a Object,
    plugin: &str,
    secret_data: bool,
) -> Result<Cow<'a, str>, String> {
    let kind = &object.kind.group_kind;
    let unreadable = || format!("{} is not readable as JSON text", object.key());
    if kind.is_secret() && !secret_data {
        let mut value = object.value().map_err(|_| unreadable())?;
        redact_secret(&mut value, plugin);
        return Ok(Cow::Owned(value.to_string()));
    }
    let raw = std::str::from_utf8(object.raw()).map_err(|_| unreadable())?;
    if names_kind(raw) {
        return Ok(Cow::Borrowed(raw));
    }
    // Items of lists of built-in kinds lack their kind.
    let rest = raw.trim_start().strip_prefix('{').ok_or_else(unreadable)?;
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    let head = json!({"apiVersion": object.kind.api_version(), "kind": kind.kind}).to_string();
    let head = head.strip_suffix('}').unwrap_or(&head);
    Ok(Cow::Owned(format!("{head}{comma}{rest}")))
}

/// Returns true if the text names its kind. Servers write the kind first, so usually nothing is parsed.
fn names_kind(raw: &str) -> bool {
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

/// Removes the content of a Secret, or of a patch of a Secret, but keeps its keys. Annotations may hold a copy of all of it: the
/// last-applied configuration, or what someone's operator or pivot-host needs for undoing. So the only values kept are those that
/// control how an object is moved, and those that the plugin itself wrote.
pub fn redact_secret(secret: &mut Value, plugin: &str) {
    for field in ["data", "stringData"] {
        withhold_values(secret.get_mut(field), &Value::Null, |_| false);
    }
    let memory = names::memory_prefix(plugin);
    // Still strings, like any annotation, so that plugins can see which ones exist.
    withhold_values(secret.pointer_mut("/metadata/annotations"), &Value::from(""), |key| {
        key.split_once('/')
            .is_some_and(|(prefix, _)| prefix == memory || is_in_group(prefix, names::GROUP_CLUSTER))
    });
}

/// Replaces all values but those whose keys are open.
fn withhold_values(values: Option<&mut Value>, instead: &Value, open: impl Fn(&str) -> bool) {
    match values {
        Some(Value::Object(map)) => {
            let closed = map.iter_mut().filter(|(key, _)| !open(key));
            closed.for_each(|(_, value)| value.clone_from(instead));
        }
        Some(other) => *other = Value::Null,
        None => {}
    }
}

/// Returns true if a prefix is a group or a subdomain of it.
fn is_in_group(prefix: &str, group: &str) -> bool {
    prefix.strip_suffix(group).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Replaces a code that is invalid or not allowed.
const INVALID_CODE: &str = "invalid-code";
/// The most codes of a plugin that sees the data of Secrets.
const CODES: usize = 32;

/// The codes that a plugin declared.
pub(crate) type Codes = [String];

/// A code for programs. A plugin that sees the data of Secrets may use only the few it declared before it saw any: it could
/// encode what it saw in any other word.
pub(crate) fn permitted_code(word: &str, declared: Option<&Codes>) -> String {
    let fine = !word.is_empty()
        && word.len() <= 48
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let known = declared.is_none_or(|declared| declared.iter().take(CODES).any(|code| code == word));
    if fine && known { word.to_owned() } else { INVALID_CODE.to_owned() }
}

/// Returns true if a word can be the name of an object or a namespace.
pub(crate) fn is_object_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 253
        // Path steps, in case the name becomes part of a path.
        && !matches!(name, "." | "..")
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':'))
}

/// Returns true if a key is well-formed.
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
    fn plugins_get_objects_byte_for_byte() {
        let raw = r#"{"apiVersion":"v1", "kind":"ConfigMap","metadata":{"name":"a"},"n":1.10}"#;
        assert!(
            matches!(object_for_plugin(&parsed("ConfigMap", raw), "p", false), Ok(Cow::Borrowed(text)) if text == raw)
        );
        let raw = r#"{"metadata":{"name":"a"},"kind":"ConfigMap","apiVersion":"v1"}"#;
        assert!(
            matches!(object_for_plugin(&parsed("ConfigMap", raw), "p", false), Ok(Cow::Borrowed(text)) if text == raw)
        );
    }

    #[test]
    fn list_item_gets_its_kind() {
        let parsed = parsed("ConfigMap", r#"{"metadata":{"name":"a"},"n":1.10}"#);
        let text = object_for_plugin(&parsed, "p", false).unwrap();
        assert_eq!(text, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"n":1.10}"#);
    }

    // proves: T5
    #[test]
    fn secret_keeps_keys_and_loses_values() {
        let raw = r#"{"metadata":{"name":"a"},"data":{"key":"aHVzaA=="},"stringData":{"b":"hush"},"type":"Opaque"}"#;
        let secret = parsed("Secret", raw);
        let withheld: Value = serde_json::from_str(&object_for_plugin(&secret, "p", false).unwrap()).unwrap();
        assert_eq!(
            withheld,
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"key": null},
                "stringData": {"b": null}, "type": "Opaque"})
        );
        assert!(object_for_plugin(&secret, "p", true).unwrap().contains("aHVzaA=="));
    }

    #[test]
    fn copies_in_a_secrets_annotations_are_withheld() {
        let seen = |annotations: Value| {
            let raw = json!({"metadata": {"name": "a", "annotations": annotations}}).to_string();
            let text = object_for_plugin(&parsed("Secret", &raw), "hosts", false).unwrap().into_owned();
            serde_json::from_str::<Value>(&text).unwrap()["metadata"]["annotations"].clone()
        };
        for key in [
            "kubectl.kubernetes.io/last-applied-configuration",
            "kapp.k14s.io/original",
            "objectset.rio.cattle.io/applied",
            "cert-manager.io/certificate-name",
            "pivot-host.io/undo",
            "others.pivot-host.io/state",
            "evil-cluster.x-k8s.io/copy",
            "cluster.x-k8s.io.example.com/copy",
            "cluster.x-k8s.io",
        ] {
            assert_eq!(seen(json!({key: "hush"})), json!({key: ""}));
        }
        for key in
            ["cluster.x-k8s.io/paused", "clusterctl.cluster.x-k8s.io/block-move", "hosts.pivot-host.io/state"]
        {
            assert_eq!(seen(json!({key: "x"})), json!({key: "x"}));
        }
    }

    #[test]
    fn object_names_are_checked() {
        for name in ["a", "A.b-c_d:e", "..."] {
            assert!(is_object_name(name), "{name}");
        }
        for name in ["", ".", "..", "a/b", "a\n", "\u{3164}"] {
            assert!(!is_object_name(name), "{name}");
        }
    }

    #[test]
    fn code_that_isnt_a_word_is_replaced() {
        assert_eq!(permitted_code("not-yet", None), "not-yet");
        assert_eq!(permitted_code("Geheim: 123", None), "invalid-code");
    }

    #[test]
    fn number_of_declared_codes_is_limited() {
        let some = ["not-ready", "Not: ready"].map(str::to_owned);
        assert_eq!(permitted_code("not-ready", Some(&some)), "not-ready");
        for word in ["hunter2", "Not: ready", ""] {
            assert_eq!(permitted_code(word, Some(&some)), "invalid-code");
        }
        let many: Vec<_> = (0..1_000).map(|n| format!("c{n}")).collect();
        let said = many.iter().filter(|word| permitted_code(word, Some(&many)) == **word);
        assert_eq!(said.count(), CODES);
    }
}
