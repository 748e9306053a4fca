//! Tables of the rules.

use serde_json::json;

use super::*;
use crate::testing::{key, kind};

fn codes(found: impl IntoIterator<Item = Defect>) -> Vec<String> {
    found.into_iter().map(|defect| defect.code).collect()
}

fn group_kind(name: &str) -> GroupKind {
    kind(name).group_kind.clone()
}

#[test]
fn kinds_without_a_hook_are_idle() {
    let changed = [group_kind("Machine")];
    for (hooks, kinds, found) in [
        (vec![Hook::Hold], vec!["Machine"], false),
        (vec![Hook::Hold], vec!["Machine", "Secret"], true),
        (vec![Hook::Hold, Hook::Check], vec!["Machine", "Secret"], false),
        (vec![Hook::Relate], vec!["Secret"], false),
    ] {
        let kinds = kinds.into_iter().map(group_kind).collect();
        let description = Description { hooks, kinds, ..Description::default() };
        assert_eq!(find_idle_kinds(&description, changed.iter()).is_some(), found, "{description:?}");
    }
    let whole = GroupKind::new(changed[0].group.clone(), "*");
    let description = Description { hooks: vec![Hook::Hold], kinds: vec![whole], ..Description::default() };
    assert_eq!(find_idle_kinds(&description, changed.iter()), None);
}

#[test]
fn reach_is_needed_across_namespaces() {
    let reach = Reach { kind: group_kind("Secret"), namespace: "*".to_owned(), delete: false };
    for (one, other, needed) in [
        ("Machine a/m", "Secret b/s", true),
        ("Secret b/s", "Machine a/m", true),
        ("Machine a/m", "Secret a/s", false),
        ("Machine a/m", "ConfigMap b/c", false),
    ] {
        let related = [(key(one), key(other))];
        let found = find_needless_reach(std::slice::from_ref(&reach), &related);
        assert_eq!(found.is_none(), needed, "{one} {other}");
    }
}

#[test]
fn only_codes_of_the_host_are_failures() {
    assert_eq!(codes(find_failure("trap", "it panicked")), ["trap"]);
    assert_eq!(codes(find_failure("invalid-code", "no")), ["invalid-code"]);
    assert_eq!(find_failure("not-ready", "its state is new"), None);
}

#[test]
fn answers_must_be_the_same_again() {
    assert_eq!(codes(find_unsteady_answer(&Some(1), &None)), ["unsteady"]);
    assert_eq!(find_unsteady_answer(&Some(1), &Some(1)), None);
    let (one, other) = (json!({"a": 1}), json!({"a": 2}));
    assert_eq!(codes(find_repeated_settlement(&one, &one)), ["not-idempotent"]);
    assert_eq!(find_repeated_settlement(&one, &other), None);
    assert_eq!(find_repeated_patch(None), None);
    assert!(find_repeated_patch(Some(&one)).unwrap().message.ends_with("still changes /a"));
}

#[test]
fn users_pause_is_not_changed() {
    let annotated = |name: &str, value: Value| json!({"metadata": {"annotations": {name: value}}});
    let held = BTreeSet::from(["test.io/frozen".to_owned()]);
    for (name, ours, found) in [
        ("test.io/frozen", None, true),
        ("test.io/paused", None, true),
        ("test.io/detached", None, true),
        ("test.io/note", None, false),
        ("test.io/frozen", Some(annotated("test.io/frozen", json!("moving"))), false),
    ] {
        let changes: Vec<Value> = ours.into_iter().collect();
        let (source, patch) = (annotated(name, json!("by-a-user")), annotated(name, Value::Null));
        assert_eq!(find_removed_pause(&source, &changes, &patch, &held).is_some(), found, "{name}");
        assert_eq!(find_removed_pause(&json!({}), &changes, &patch, &held), None);
    }
}

#[test]
fn generations_of_the_source_are_stale() {
    let copy = json!({"metadata": {"generation": 1}});
    for (patch, found) in [
        (json!({"status": {"observedGeneration": 7}}), true),
        (json!({"status": {"conditions": [{"observedGeneration": 1}, {"observedGeneration": 2}]}}), true),
        (json!({"status": {"observedGeneration": 1, "size": 7}}), false),
    ] {
        assert_eq!(find_stale_generation(&copy, &patch).is_some(), found, "{patch}");
    }
}

#[test]
fn rounded_integers_are_found() {
    let before = json!({"spec": {"small": 7, "size": 9_007_199_254_740_993_u64, "all": [{"id": -9_007_199_254_740_993_i64}]}});
    for (patch, found) in [
        (json!({"spec": {"size": 9_007_199_254_740_992_u64}}), true),
        (json!({"spec": {"size": 9_007_199_254_740_992.0}}), true),
        (json!({"spec": {"all": [{"id": -9_007_199_254_740_992_i64}]}}), true),
        (json!({"spec": {"size": 9_007_199_254_740_993_u64}}), false),
        (json!({"spec": {"small": 7.0}}), false),
        (json!({"spec": {"size": 7, "new": 9_007_199_254_740_992_u64}}), false),
    ] {
        assert_eq!(find_rounded_integer(&before, &patch).is_some(), found, "{patch}");
    }
}

#[test]
fn invalid_codes_are_found() {
    let finding = |code: &str| Finding {
        severity: Severity::Note,
        code: code.to_owned(),
        message: String::new(),
        object: None,
        remedy: String::new(),
    };
    assert_eq!(find_invalid_code([finding("busy")].iter()), None);
    assert_eq!(codes(find_invalid_code([finding("busy"), finding(INVALID_CODE)].iter())), [INVALID_CODE]);
}
