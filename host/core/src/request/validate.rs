//! Checks whether a move can work with the names of objects and kinds.
//!
//! Names become part of paths, of file names and of lines in the release list. API servers check most of what they store, but
//! anyone can write the files of a directory, and servers that are aggregated into a cluster return anything. So names are
//! checked before the pause: a server or a file system would reject them too, but only when the move is half done.

use crate::messages::safe_text;
use crate::objects::selector::Label;
use crate::{GroupKind, Kind};

/// The longest name of an object, namespace or group, and the longest UID.
const NAME: usize = 253;
/// The longest kind or version.
const LABEL: usize = 63;
/// Largest number of characters of an unusable name that are printed.
const SHOWN: usize = 100;

/// Describes the error in a group and kind; none if a server could serve the kind.
pub fn find_kind_error(kind: &GroupKind) -> Option<String> {
    let letter = kind.kind.starts_with(|c: char| c.is_ascii_alphabetic());
    if !letter || !is_label(&kind.kind) {
        return Some(format!("{:?} isn't a valid kind", abbreviate(&kind.kind)));
    }
    let group = kind.group.is_empty() || is_group(&kind.group);
    (!group).then(|| format!("{:?} isn't a valid API group", abbreviate(&kind.group)))
}

/// Describes the error in a version of a kind; none if a server could serve it.
pub fn find_version_error(version: &str) -> Option<String> {
    (!is_label(version)).then(|| format!("{:?} can't be an API version", abbreviate(version)))
}

/// Describes the error in the resource name of a kind in paths; none if a server could serve it.
pub(crate) fn find_resource_error(plural: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let good =
        plural.len() <= NAME && plural.split('.').all(|part| !part.is_empty() && part.chars().all(plain));
    (!good).then(|| format!("{:?} isn't a valid resource", abbreviate(plural)))
}

/// Describes the first error in a kind's definition; none if a server could serve the kind.
pub fn find_definition_error(kind: &Kind) -> Option<String> {
    let versions =
        || kind.served.iter().chain([&kind.version]).find_map(|version| find_version_error(version));
    find_kind_error(&kind.group_kind).or_else(|| find_resource_error(&kind.plural)).or_else(versions)
}

/// Describes the error in the name of an object or namespace; none if the name can be part of a path and is fully visible.
pub fn find_name_error(name: &str) -> Option<String> {
    let plain = |c: char| !(c.is_whitespace() || safe_text::is_hidden(c) || c == '/' || c == '%');
    let good =
        !name.is_empty() && name.len() <= NAME && name.chars().all(plain) && name != "." && name != "..";
    (!good).then(|| format!("{:?} isn't a valid name", abbreviate(name)))
}

/// Describes the error in a label; none if a server could store the label.
pub(crate) fn find_label_error(label: &Label) -> Option<String> {
    let word = |text: &str, most: usize| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        text.len() <= most && text.chars().all(plain)
    };
    let Label { key, value } = label;
    let (prefix, name) = key.split_once('/').unwrap_or(("x", key));
    let good = !prefix.is_empty() && word(prefix, NAME) && !name.is_empty() && word(name, LABEL);
    if !good {
        return Some(format!("{:?} can't be the key of a label", abbreviate(key)));
    }
    let odd = value.as_ref().filter(|value| !word(value, LABEL))?;
    Some(format!("{:?} can't be the value of a label", abbreviate(odd)))
}

/// Describes the error in a UID or resource version; none if it can be a word of a line. A write conditional on an empty one would
/// be unconditional.
pub fn find_id_error(id: &str) -> Option<String> {
    let good = !id.is_empty() && id.len() <= NAME && id.chars().all(|c| c.is_ascii_graphic());
    (!good).then(|| format!("{:?} isn't a valid uid or resourceVersion", abbreviate(id)))
}

fn is_label(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !text.is_empty() && text.len() <= LABEL && text.chars().all(plain)
}

fn is_group(text: &str) -> bool {
    text.len() <= NAME && text.split('.').all(is_label)
}

pub(crate) fn abbreviate(text: &str) -> String {
    safe_text::to_line(text, SHOWN)
}

/// Returns a kind as a case-insensitive file system sees it.
pub fn fold_case(kind: &GroupKind) -> (String, String) {
    (kind.group.to_ascii_lowercase(), kind.kind.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;

    #[test]
    fn names_that_servers_serve_are_usable() {
        for name in [
            "Machine.cluster.x-k8s.io",
            "Secret",
            "IPAddress.ipam.cluster.x-k8s.io",
            "NodeMetrics.metrics.k8s.io",
        ] {
            assert_eq!(find_kind_error(&name.parse().unwrap()), None);
        }
        let names =
            ["a", "system:node:a", "kube-root-ca.crt", "A_b", "c1-x7", &"x".repeat(253)].map(find_name_error);
        assert_eq!(names, [None, None, None, None, None, None]);
        assert_eq!(
            [
                find_version_error("v1"),
                find_version_error("v1alpha1"),
                find_id_error("0d3f-11"),
                find_id_error("123")
            ],
            [None, None, None, None]
        );
        assert_eq!(find_definition_error(&kind("Machine")), None);
    }

    #[test]
    fn names_that_change_paths_are_errors() {
        for kind in ["../x", "a/b", "a\0b", "", "1a", "Ä", "a b", "a\nb", &"x".repeat(64)] {
            assert!(find_kind_error(&GroupKind::new("g.io", kind)).is_some(), "{kind:?}");
        }
        for group in ["../x", "..", ".", "a..b", "a/b", "a b", ".a", "a.", "a\0", &"x.".repeat(200)] {
            assert!(find_kind_error(&GroupKind::new(group, "Kind")).is_some(), "{group:?}");
        }
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "../a",
            "a%2fb",
            "a b",
            "a\nb",
            "a\0",
            "a\u{2028}b",
            "a\u{ad}b",
            &"x".repeat(254),
        ] {
            assert!(find_name_error(name).is_some(), "{name:?}");
        }
        let label = |key: &str, value: Option<&str>| {
            find_label_error(&Label { key: key.to_owned(), value: value.map(str::to_owned) })
        };
        for (key, value) in [("a", None), ("a.b/c-d_e", Some("")), ("a", Some("v1.0_x"))] {
            assert_eq!(label(key, value), None, "{key}={value:?}");
        }
        for (key, value) in [
            ("", None),
            ("/a", None),
            ("a/", None),
            ("a/b/c", None),
            ("a b", None),
            ("a", Some("b/c")),
            ("a", Some("ä")),
        ] {
            assert!(label(key, value).is_some(), "{key}={value:?}");
        }
        for id in ["", "a b", "a\n", "ä", &"x".repeat(254)] {
            assert!(find_id_error(id).is_some(), "{id:?}");
        }
        for version in ["", "..", "v1/../x", "v 1"] {
            let odd = Kind { served: vec![version.into()], ..Kind::clone(&kind("Machine")) };
            assert!(
                find_version_error(version).is_some() && find_definition_error(&odd).is_some(),
                "{version:?}"
            );
        }
        let told =
            find_kind_error(&GroupKind::new("g", format!("a\nerror: {}", "x".repeat(10_000)))).unwrap();
        assert!(told.len() < 200 && !told.contains('\n'), "{told}");
    }
}
