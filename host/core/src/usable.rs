//! Checks whether a move can work with the names of objects and kinds.
//!
//! Names become part of paths, of file names and of lines in the release list. API servers check most of what they store, but
//! anyone can write the files of a directory, and servers that are aggregated into a cluster return anything. So names are
//! checked before the pause: a server or a file system would reject them too, but only when the move is half done.

use std::collections::BTreeMap;

use crate::inventory::Inventory;
use crate::part::Label;
use crate::pause::read_conditions;
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::remedy::Remedy;
use crate::shell::Kubectl;
use crate::{GroupKind, Key, Kind, Object, ObjectError, Side, words};

/// The longest name of an object, namespace or group, and the longest UID.
const NAME: usize = 253;
/// The longest kind or version.
const LABEL: usize = 63;
/// Largest number of characters of an unusable name that are printed.
const SHOWN: usize = 100;

/// Describes the error in a group and kind; none if a server could serve the kind.
pub fn odd_kind(kind: &GroupKind) -> Option<String> {
    let letter = kind.kind.starts_with(|c: char| c.is_ascii_alphabetic());
    if !letter || !is_label(&kind.kind) {
        return Some(format!("{:?} isn't a valid kind", abbreviate(&kind.kind)));
    }
    let group = kind.group.is_empty() || is_group(&kind.group);
    (!group).then(|| format!("{:?} isn't a valid API group", abbreviate(&kind.group)))
}

/// Describes the error in a version of a kind; none if a server could serve it.
pub fn odd_version(version: &str) -> Option<String> {
    (!is_label(version)).then(|| format!("{:?} can't be an API version", abbreviate(version)))
}

/// Describes the error in the resource name of a kind in paths; none if a server could serve it.
pub(crate) fn odd_resource(plural: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let good =
        plural.len() <= NAME && plural.split('.').all(|part| !part.is_empty() && part.chars().all(plain));
    (!good).then(|| format!("{:?} isn't a valid resource", abbreviate(plural)))
}

/// Describes the first error in a kind's definition; none if a server could serve the kind.
pub fn odd_definition(kind: &Kind) -> Option<String> {
    let versions = || kind.served.iter().chain([&kind.version]).find_map(|version| odd_version(version));
    odd_kind(&kind.group_kind).or_else(|| odd_resource(&kind.plural)).or_else(versions)
}

/// Describes the error in the name of an object or namespace; none if the name can be part of a path and is fully visible.
pub fn odd_name(name: &str) -> Option<String> {
    let plain = |c: char| !(c.is_whitespace() || words::is_hidden(c) || c == '/' || c == '%');
    let good =
        !name.is_empty() && name.len() <= NAME && name.chars().all(plain) && name != "." && name != "..";
    (!good).then(|| format!("{:?} isn't a valid name", abbreviate(name)))
}

/// Describes the error in a label; none if a server could store the label.
pub(crate) fn odd_label(label: &Label) -> Option<String> {
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
pub fn odd_id(id: &str) -> Option<String> {
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

fn abbreviate(text: &str) -> String {
    words::to_line(text, SHOWN)
}

/// Checks everything that moves: its names, and whether its body can be parsed.
pub fn refuse_unusable(inventory: &Inventory, plan: &Plan) -> Vec<Refusal> {
    let objects = plan.steps.iter().filter_map(|step| Some((&step.key, inventory.get(step.object)?)));
    objects.filter_map(|(key, object)| check_object(key, object)).collect()
}

fn check_object(key: &Key, object: &Object) -> Option<Refusal> {
    if object.is_too_deep() {
        return Some(Refusal::unreadable(key.clone(), &ObjectError::Deep(key.group_kind.clone())));
    }
    let namespace = key.namespace.as_deref().and_then(odd_name);
    // The engine reads these to see whether it acknowledged its pause, and what to expect of its copy.
    if let Err(error) = read_conditions(object) {
        return Some(Refusal::unreadable(key.clone(), &error));
    }
    let odd = odd_definition(&object.kind).or(namespace).or_else(|| odd_name(&key.name));
    let odd = odd.or_else(|| odd_id(&object.meta.uid.0)).or_else(|| odd_id(&object.meta.resource_version))?;
    Some(Refusal::source(
        "unusable-name",
        key.clone(),
        format!("{} can't be moved: {odd}", abbreviate(&key.to_string())),
        Remedy::kubectl(
            "find out which API server or file it is from (",
            Kubectl::object(Side::Source, "get", key, &[]),
            "), and exclude it",
        ),
    ))
}

/// Refuses kinds that differ only in case. Their files would collide on a case-insensitive file system.
pub fn refuse_same_file(plan: &Plan) -> Vec<Refusal> {
    let mut first: BTreeMap<(String, String), &Key> = BTreeMap::new();
    let mut refusals = Vec::new();
    let mut told = BTreeMap::new();
    for key in plan.steps.iter().map(|step| &step.key) {
        let other = *first.entry(fold_case(&key.group_kind)).or_insert(key);
        if other.group_kind != key.group_kind && told.insert(&key.group_kind, ()).is_none() {
            refusals.push(Refusal::source(
                "kinds-differ-in-case",
                key.clone(),
                format!(
                    "{} of {key} and {} of {other} differ only in case: some file systems can't keep both",
                    key.group_kind, other.group_kind
                ),
                "move one of them without the other, or move to a cluster",
            ));
        }
    }
    refusals
}

/// Returns a kind as a case-insensitive file system sees it.
pub fn fold_case(kind: &GroupKind) -> (String, String) {
    (kind.group.to_ascii_lowercase(), kind.kind.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::merge;
    use crate::testing::{Case, kind, objects};

    #[test]
    fn names_that_servers_serve_are_usable() {
        for name in [
            "Machine.cluster.x-k8s.io",
            "Secret",
            "IPAddress.ipam.cluster.x-k8s.io",
            "NodeMetrics.metrics.k8s.io",
        ] {
            assert_eq!(odd_kind(&name.parse().unwrap()), None);
        }
        let names =
            ["a", "system:node:a", "kube-root-ca.crt", "A_b", "c1-x7", &"x".repeat(253)].map(odd_name);
        assert_eq!(names, [None, None, None, None, None, None]);
        assert_eq!(
            [odd_version("v1"), odd_version("v1alpha1"), odd_id("0d3f-11"), odd_id("123")],
            [None, None, None, None]
        );
        assert_eq!(odd_definition(&kind("Machine")), None);
    }

    #[test]
    fn names_that_would_change_the_path_are_not() {
        for kind in ["../x", "a/b", "a\0b", "", "1a", "Ä", "a b", "a\nb", &"x".repeat(64)] {
            assert!(odd_kind(&GroupKind::new("g.io", kind)).is_some(), "{kind:?}");
        }
        for group in ["../x", "..", ".", "a..b", "a/b", "a b", ".a", "a.", "a\0", &"x.".repeat(200)] {
            assert!(odd_kind(&GroupKind::new(group, "Kind")).is_some(), "{group:?}");
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
            assert!(odd_name(name).is_some(), "{name:?}");
        }
        let label = |key: &str, value: Option<&str>| {
            odd_label(&Label { key: key.to_owned(), value: value.map(str::to_owned) })
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
            assert!(odd_id(id).is_some(), "{id:?}");
        }
        for version in ["", "..", "v1/../x", "v 1"] {
            let odd = Kind { served: vec![version.into()], ..Kind::clone(&kind("Machine")) };
            assert!(odd_version(version).is_some() && odd_definition(&odd).is_some(), "{version:?}");
        }
        let told = odd_kind(&GroupKind::new("g", format!("a\nerror: {}", "x".repeat(10_000)))).unwrap();
        assert!(told.len() < 200 && !told.contains('\n'), "{told}");
    }

    /// A Machine with a patched body and, optionally, a changed kind.
    fn refused(patch: &Value, change: impl FnOnce(&mut Kind)) -> Vec<String> {
        let mut objects = objects("Machine ns/m ! move");
        let machine = objects.remove(0);
        let mut kind = Kind::clone(&machine.kind);
        change(&mut kind);
        let mut body = machine.value().unwrap();
        merge::apply_patch(&mut body, patch);
        let mut case = Case::new("");
        case.inventory = Inventory::new(vec![Object::from_value(kind.into(), &body).unwrap()]);
        refuse_unusable(&case.inventory, &case.plan()).iter().map(|refusal| refusal.to_string()).collect()
    }

    /// Lines of the release list contain these.
    #[test]
    fn an_object_that_would_write_lines_of_its_own_is_refused() {
        assert!(refused(&json!({}), |_| {}).is_empty());
        for (field, value) in [
            ("uid", "u 1 d - - -\no 0 kube-system victim v 1 d - - -"),
            ("uid", ""),
            ("resourceVersion", "1 k"),
            ("resourceVersion", ""),
            ("name", "m u 1 d - - -"),
            ("namespace", ".."),
        ] {
            let told = refused(&json!({"metadata": {field: value}}), |_| {});
            assert!(told.len() == 1 && told[0].contains("can't be moved"), "{field}: {told:?}");
            assert!(!told[0].contains('\n') && told[0].len() < 700, "{told:?}");
        }
        let changes: [fn(&mut Kind); 3] = [
            |kind| kind.plural = "../secrets".into(),
            |kind| kind.version = "v1\nk".into(),
            |kind| kind.group_kind.kind = "Ma chine".into(),
        ];
        for change in changes {
            assert_eq!(refused(&json!({}), change).len(), 1);
        }
    }

    #[test]
    fn a_body_that_is_nested_too_deeply_is_refused() {
        let nested = |levels: usize| {
            let text = format!("{}1{}", r#"{"a":["#.repeat(levels), "]}".repeat(levels));
            let mut body = objects("Machine ns/m ! move").remove(0).value().unwrap();
            body["spec"] = json!("HERE");
            let text = body.to_string().replace("\"HERE\"", &text);
            let object = Object::parse(kind("Machine"), text.into()).unwrap();
            let parsed = object.value().is_ok();
            let mut case = Case::new("");
            case.inventory = Inventory::new(vec![object]);
            (parsed, refuse_unusable(&case.inventory, &case.plan()).len())
        };
        assert_eq!(nested(50), (true, 0));
        for levels in [63, 64, 100, 100_000] {
            assert_eq!(nested(levels).1, 1, "{levels}");
        }
        assert!(!nested(64).0, "so it would be found out only when it is copied");
        // Brackets in strings don't count.
        assert!(refused(&json!({"spec": {"a": "[{\\\"".repeat(1_000)}}), |_| {}).is_empty());
    }

    #[test]
    fn kinds_that_differ_only_in_case_are_named_once() {
        let of = |kind_name: &str, name: &str| {
            let machine = objects("Machine ns/m ! move").remove(0);
            let mut kind = Kind::clone(&machine.kind);
            kind.group_kind.kind = kind_name.into();
            let mut body = machine.value().unwrap();
            merge::apply_patch(
                &mut body,
                &json!({"metadata": {"name": name, "uid": format!("{kind_name}-{name}")}}),
            );
            Object::from_value(kind.into(), &body).unwrap()
        };
        let mut case = Case::new("");
        case.inventory = Inventory::new(vec![of("Machine", "a"), of("Machine", "b"), of("Other", "a")]);
        assert!(refuse_same_file(&case.plan()).is_empty());
        case.inventory = Inventory::new(vec![of("Machine", "a"), of("MACHINE", "a"), of("MACHINE", "b")]);
        let told: Vec<String> =
            refuse_same_file(&case.plan()).iter().map(|refusal| refusal.message.clone()).collect();
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("differ only in case"), "{told:?}");
    }
}
