use serde_json::json;

use super::*;

fn host() -> Object {
    Object::from(json!({
        "metadata": {"name": "n0", "annotations": {"user": "kept"}},
        "spec": {"image": {"url": "a", "format": "raw"}, "nics": [{"mac": "1"}, {"mac": "2"}]},
        "status": {"state": "ready", "old": 1},
    }))
}

#[test]
fn maps_are_merged_and_never_replaced() {
    let patch = host().patch().set_annotation("metal3.io/paused", "x");
    assert_eq!(patch.to_value(), Some(json!({"metadata": {"annotations": {"metal3.io/paused": "x"}}})));
    let bare = Object::from(json!({}));
    assert_eq!(
        bare.patch().set_label("a", "b").to_value(),
        Some(json!({"metadata": {"labels": {"a": "b"}}}))
    );
}

#[test]
fn last_annotation_is_removed_by_name() {
    let patch = host().patch().remove_annotation("user").remove_annotation("never-there");
    assert_eq!(patch.to_value(), Some(json!({"metadata": {"annotations": {"user": null}}})));
}

#[test]
fn set_replaces_everything_below_a_pointer() {
    let patch = host().patch().set("/status", json!({"state": "provisioned", "none": null}));
    assert_eq!(patch.to_value(), Some(json!({"status": {"state": "provisioned", "old": null}})));
    let patch = host().patch().merge_at("/status", &json!({"new": 2}));
    assert_eq!(patch.to_value(), Some(json!({"status": {"new": 2}})));
}

#[test]
fn lists_are_replaced_whole() {
    let patch = host().patch().set("/spec/nics/1/mac", "3");
    assert_eq!(patch.to_value(), Some(json!({"spec": {"nics": [{"mac": "1"}, {"mac": "3"}]}})));
    assert!(host().patch().set("/spec/nics/7/mac", "3").is_empty());
    let patch = host().patch().remove("/spec/nics/0");
    assert_eq!(patch.to_value(), Some(json!({"spec": {"nics": [{"mac": "2"}]}})));
}

#[test]
fn names_with_slashes_are_escaped_in_pointers() {
    let patch = host().patch().set("/metadata/annotations/a~1b", "c");
    assert_eq!(patch.to_value(), Some(json!({"metadata": {"annotations": {"a/b": "c"}}})));
}

#[test]
fn patch_is_empty_once_applied() {
    let wanted = |object: &Object| {
        object
            .patch()
            .set_annotation("a", "b")
            .remove("/spec/image/format")
            .set("/status", json!({"history": {"end": null}, "empty": {}, "n": 0.1}))
            .edit_value(|object| object["spec"]["x"] = json!(null))
    };
    let patch = wanted(&host());
    let mut value = host().value().clone();
    apply_merge_patch(&mut value, &patch.to_value().unwrap());
    let after = Object::from(value);
    assert_eq!(wanted(&after).to_value(), None);
    assert_eq!(after.value()["status"], json!({"history": {}, "empty": {}, "n": 0.1}));
}

#[test]
fn empty_map_is_a_change() {
    assert_eq!(Object::from(json!({})).patch().set("/spec", json!({})).to_value(), Some(json!({"spec": {}})));
}
