//! Patches that pause objects, and that undo each pause.
//!
//! The patch that pauses an object also writes its inverse into one annotation ([`names::UNDO`]). So unpausing needs no other state.
//! A run on another machine, a rollback without the plugin that held the object, and the copy in the target read the inverse from
//! the object itself. If the record kept it, a lost or half-written record would leave pauses that can't be undone.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::objects::kind::{is_cluster, is_cluster_class};
use crate::objects::object::{Meta, Object, ObjectError};
use crate::objects::{merge, names};

/// Prefix of pivot-host's annotations in a JSON pointer.
const OURS_IN_PATHS: &str = "pivot-host.io~1";

/// The content of [`names::UNDO`].
#[derive(Serialize, Deserialize)]
struct Undo {
    #[serde(rename = "move")]
    move_id: String,
    patch: Value,
}

/// Returns the patch that pauses an object; none if it is paused already, because then only its user may unpause it.
pub fn pause_patch(object: &Object) -> Result<Option<Value>, ObjectError> {
    if is_paused(object)? {
        return Ok(None);
    }
    Ok(Some(if is_cluster(&object.kind.group_kind) {
        json!({"spec": {"paused": true}})
    } else {
        json!({"metadata": {"annotations": {names::PAUSED: ""}}})
    }))
}

/// Returns the patch that pauses an object whose copy took over. A later run must not mistake this pause for a user's pause.
pub fn pause_out_of_date_patch(object: &Object, move_id: &str) -> Result<Option<Value>, ObjectError> {
    let mut change = pause_patch(object)?;
    if let Some(change) = &mut change {
        merge::apply_patch(change, &json!({"metadata": {"annotations": {names::OUT_OF_DATE: move_id}}}));
    }
    Ok(change)
}

/// Returns true if an object is paused because its copy of this move took over.
pub fn is_out_of_date(meta: &Meta, move_id: &str) -> bool {
    meta.annotations.get(names::OUT_OF_DATE).is_some_and(|id| id == move_id)
}

/// Returns the patch that unpauses a Cluster or a class, regardless of the origin of the pause.
pub fn unpause_patch(object: &Object) -> Option<Value> {
    if is_cluster(&object.kind.group_kind) {
        Some(json!({"spec": {"paused": null}}))
    } else if is_cluster_class(&object.kind.group_kind) {
        Some(json!({"metadata": {"annotations": {names::PAUSED: null}}}))
    } else {
        None
    }
}

/// Adds an annotation with the inverse of a change to the change.
pub fn with_undo(before: &Value, mut change: Value, move_id: &str) -> Value {
    let undo = Undo { move_id: move_id.to_owned(), patch: merge::invert_patch(before, &change) };
    let text = serde_json::to_value(&undo).unwrap_or_default().to_string();
    merge::apply_patch(&mut change, &json!({"metadata": {"annotations": {names::UNDO: text}}}));
    change
}

/// Returns the patch that undoes a move's changes of an object; none if the move didn't change it.
pub fn undo_patch(meta: &Meta, move_id: &str) -> Option<Value> {
    let undo = read_undo(meta).filter(|undo| undo.move_id == move_id)?;
    let mut patch = undo.patch;
    // Not `merge::apply_patch`: applied to a patch it would remove the key instead of keeping the null.
    let metadata = child_map(&mut patch, "metadata")?;
    let annotations = child_map(metadata, "annotations")?;
    annotations.as_object_mut()?.insert(names::UNDO.to_owned(), Value::Null);
    Some(patch)
}

/// Restores an object's value to its state before this move paused or held it. Changes in the name of other moves remain.
pub(crate) fn undo_in(meta: &Meta, move_id: &str, value: &mut Value) {
    if let Some(undo) = read_undo(meta).filter(|undo| undo.move_id == move_id) {
        merge::apply_patch(value, &undo.patch);
    }
}

fn child_map<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    let map = value.as_object_mut()?;
    let child = map.entry(key).or_insert_with(|| json!({}));
    // An inverse that removes the whole map would lose the key to be removed from it.
    if child.is_null() {
        *child = json!({});
    }
    Some(child)
}

/// Returns a patch that triggers the object's controller and has no other effect. It is undone like a pause.
pub fn poke_patch(move_id: &str) -> Value {
    with_undo(&json!({}), json!({}), move_id)
}

/// Returns true if a move only poked the object.
pub fn is_poke(meta: &Meta, move_id: &str) -> bool {
    read_undo(meta).is_some_and(|undo| undo.move_id == move_id && undo.patch == json!({}))
}

/// Returns true if a move paused or held the object.
pub fn is_ours(meta: &Meta, move_id: &str) -> bool {
    undo_patch(meta, move_id).is_some()
}

/// Returns the id of the move that paused or held the object.
pub(crate) fn find_pausing_move(meta: &Meta) -> Option<String> {
    read_undo(meta).map(|undo| undo.move_id)
}

/// Returns true if the object has a move's undo annotation.
pub fn has_undo(meta: &Meta) -> bool {
    read_undo(meta).is_some()
}

/// Reads the undo annotation, if a move wrote it. Anyone with permission to annotate the object may have written another, which
/// would be applied with this run's permissions. An annotation that does more than undo a pause or a hold is ignored.
fn read_undo(meta: &Meta) -> Option<Undo> {
    let undo: Undo = serde_json::from_str(meta.annotations.get(names::UNDO)?).ok()?;
    let undoes = |(path, value): (String, &Value)| {
        let words: Vec<&str> = path.split('/').skip(1).collect();
        match words.as_slice() {
            ["spec", "paused"] => value.is_boolean() || value.is_null(),
            ["spec"] | ["metadata", "annotations" | "labels"] => value.is_null(),
            ["metadata", "annotations" | "labels", name] => {
                (value.is_string() || value.is_null()) && !name.starts_with(OURS_IN_PATHS)
            }
            _ => false,
        }
    };
    let nothing = undo.patch == json!({});
    (nothing || pivot_bounds::patch_leaves(&undo.patch).into_iter().all(undoes)).then_some(undo)
}

/// Returns true if a field or annotation of the object itself makes Cluster API's controllers ignore it.
pub fn is_paused(object: &Object) -> Result<bool, ObjectError> {
    #[derive(Deserialize)]
    struct View {
        #[serde(default)]
        spec: Spec,
    }
    #[derive(Deserialize, Default)]
    struct Spec {
        #[serde(default)]
        paused: Option<bool>,
    }
    if object.meta.has_annotation(names::PAUSED) {
        return Ok(true);
    }
    Ok(is_cluster(&object.kind.group_kind) && object.view::<View>()?.spec.paused == Some(true))
}

/// The client that set the pause in a Cluster's spec, as far as the server reports it.
#[derive(Debug, PartialEq, Eq)]
pub enum PauseAuthor {
    /// This program, alone or among others, and the time of its last change by the server's clock.
    ThisProgram(Option<String>),
    /// Another field manager.
    Another(String),
    /// The server reports no field manager of the pause.
    Unknown,
}

/// Returns the client that set the pause in a Cluster's spec.
pub fn find_pause_author(cluster: &Object) -> Result<PauseAuthor, ObjectError> {
    let body = cluster.value()?;
    let entries = body.pointer("/metadata/managedFields").and_then(Value::as_array);
    let sets_pause = |entry: &&Value| entry.pointer("/fieldsV1/f:spec/f:paused").is_some();
    let authors = entries.into_iter().flatten().filter(sets_pause).filter_map(|entry| {
        let time = entry.get("time").and_then(Value::as_str);
        Some((entry.get("manager")?.as_str()?, time))
    });
    let authors: Vec<(&str, Option<&str>)> = authors.collect();
    let own = authors.iter().filter(|(manager, _)| *manager == names::FIELD_MANAGER);
    Ok(match (own.map(|(_, time)| *time).max(), authors.first()) {
        (Some(time), _) => PauseAuthor::ThisProgram(time.map(str::to_owned)),
        (None, Some((another, _))) => PauseAuthor::Another((*another).to_owned()),
        (None, None) => PauseAuthor::Unknown,
    })
}

/// A reason why an object can't be copied yet although its Cluster is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    /// A provider set the block-move annotation on it.
    Blocked,
    /// The object's controller reports a `Paused` condition that is not true yet.
    NotAcknowledged,
}

impl std::fmt::Display for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Blocked => write!(f, "its provider has not removed the annotation {}", names::BLOCK_MOVE),
            Self::NotAcknowledged => f.write_str("its controller has not acknowledged the pause"),
        }
    }
}

/// Returns the reason to keep waiting for an object after the pause, if there is one.
pub fn find_pending(object: &Object, assume_paused: bool) -> Result<Option<Pending>, ObjectError> {
    if object.meta.has_annotation(names::BLOCK_MOVE) {
        return Ok(Some(Pending::Blocked));
    }
    if assume_paused {
        return Ok(None);
    }
    let conditions = read_conditions(object)?;
    let paused = conditions.iter().find(|c| c.kind == "Paused");
    Ok(paused.filter(|c| c.status != "True").map(|_| Pending::NotAcknowledged))
}

/// A status condition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Condition {
    /// Type of the condition.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    pub status: String,
    /// The generation it refers to.
    #[serde(rename = "observedGeneration", default)]
    pub observed_generation: Option<i64>,
}

/// Reads the conditions of an object's status in the current contract. Objects of an older API version have them in
/// `status.v1beta2`.
pub(crate) fn read_conditions(object: &Object) -> Result<Vec<Condition>, ObjectError> {
    let (mut all, other) = read_condition_lists(object)?;
    all.extend(other);
    Ok(all)
}

/// Reads only the conditions that an object of an older API version has in `status.v1beta2`.
pub(crate) fn read_newer_conditions(object: &Object) -> Result<Vec<Condition>, ObjectError> {
    Ok(read_condition_lists(object)?.0)
}

/// Reads the conditions in `status.v1beta2` and in `status`.
fn read_condition_lists(object: &Object) -> Result<(Vec<Condition>, Vec<Condition>), ObjectError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct View {
        status: Option<Status>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Status {
        conditions: Vec<Condition>,
        v1beta2: Option<Newer>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Newer {
        conditions: Vec<Condition>,
    }
    let status = object.view::<View>()?.status.unwrap_or_default();
    Ok((status.v1beta2.unwrap_or_default().conditions, status.conditions))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::objects::kind::{GroupKind, Kind, KindLabels};

    fn cluster(body: Value) -> Object {
        let kind = Kind {
            group_kind: GroupKind::new(names::GROUP_CLUSTER, "Cluster"),
            version: "v1beta2".into(),
            plural: "clusters".into(),
            namespaced: true,
            status_subresource: true,
            served: vec![],
            labels: KindLabels::default(),
        };
        Object::from_value(Arc::new(kind), &body).unwrap()
    }

    /// Every shape a Cluster may have before the pause: after pause and undo it must look the same.
    // proves: I4
    #[test]
    fn a_pause_is_undone_without_a_trace() {
        for before in [
            json!({"metadata": {"name": "a"}, "spec": {}}),
            json!({"metadata": {"name": "a"}, "spec": {"paused": false}}),
            json!({"metadata": {"name": "a", "annotations": {"x": "1"}}, "spec": {"paused": false, "y": 1}}),
        ] {
            let object = cluster(before.clone());
            let patch = with_undo(&before, pause_patch(&object).unwrap().unwrap(), "m1");
            let mut state = before.clone();
            merge::apply_patch(&mut state, &patch);
            let paused = cluster(state.clone());
            assert!(is_paused(&paused).unwrap());
            assert!(undo_patch(&paused.meta, "another").is_none());
            merge::apply_patch(&mut state, &undo_patch(&paused.meta, "m1").unwrap());
            // An API server drops a map of annotations that has become empty.
            if state["metadata"]["annotations"] == json!({}) {
                state["metadata"].as_object_mut().unwrap().remove("annotations");
            }
            assert_eq!(state, before);
        }
    }

    #[test]
    fn pauses_by_users_are_kept() {
        for body in [
            json!({"metadata": {"name": "a"}, "spec": {"paused": true}}),
            json!({"metadata": {"name": "a", "annotations": {names::PAUSED: "false"}}, "spec": {}}),
        ] {
            assert_eq!(pause_patch(&cluster(body)).unwrap(), None);
        }
    }

    /// It is applied with the permissions of the user who runs the move.
    // proves: T90
    #[test]
    fn undo_annotations_with_other_changes_are_ignored() {
        let noted = |patch: Value| {
            let text = json!({"move": "m1", "patch": patch}).to_string();
            cluster(json!({"metadata": {"name": "a", "annotations": {names::UNDO: text}}}))
        };
        for patch in [
            json!({}),
            json!({"spec": {"paused": false}}),
            json!({"spec": null, "metadata": {"annotations": null}}),
            json!({"metadata": {"annotations": {"a/b": "x", "hosts.pivot-host.io/state": null}, "labels": {"l": null}}}),
        ] {
            assert!(is_ours(&noted(patch.clone()).meta, "m1"), "{patch}");
        }
        let deep = (0..100).fold(json!(1), |below, _| json!({"a": below}));
        for patch in [
            json!({"metadata": {"finalizers": null}}),
            json!({"metadata": {"ownerReferences": []}}),
            json!({"metadata": {"annotations": {names::MARK: null}}}),
            json!({"metadata": {"annotations": {"a": 1}}}),
            json!({"metadata": null}),
            json!({"spec": {"paused": "no"}}),
            json!({"spec": {"paused": null, "replicas": 0}}),
            json!({"spec": {}}),
            json!({"status": null}),
            json!({"data": {"password": "x"}}),
            json!(null),
            json!([]),
            deep,
        ] {
            let object = noted(patch.clone());
            assert!(!is_ours(&object.meta, "m1") && !has_undo(&object.meta), "{patch}");
        }
    }

    /// Returns the author of the pause of a Cluster with these managers, each with a time and a field of the spec.
    fn author_among(managers: &[(&str, Option<&str>, &str)]) -> PauseAuthor {
        let entries = managers.iter().map(|(manager, time, field)| {
            json!({"manager": manager, "operation": "Update", "time": time, "fieldsV1": {"f:spec": {*field: {}}}})
        });
        let entries: Vec<Value> = entries.collect();
        let body = json!({"metadata": {"name": "a", "managedFields": entries}, "spec": {"paused": true}});
        find_pause_author(&cluster(body)).unwrap()
    }

    #[test]
    fn field_managers_tell_who_set_the_pause() {
        let (ours, pause) = (names::FIELD_MANAGER, "f:paused");
        let (early, late) = (Some("2026-11-25T10:00:00Z"), Some("2026-11-25T11:00:00Z"));
        assert_eq!(author_among(&[]), PauseAuthor::Unknown);
        assert_eq!(author_among(&[(ours, late, "f:topology")]), PauseAuthor::Unknown);
        assert_eq!(
            author_among(&[(ours, late, "f:topology"), ("kubectl-edit", early, pause)]),
            PauseAuthor::Another("kubectl-edit".to_owned())
        );
        // One entry for each version of the API.
        let several = [("flux", late, pause), (ours, early, pause), (ours, late, pause)];
        assert_eq!(author_among(&several), PauseAuthor::ThisProgram(late.map(str::to_owned)));
        assert_eq!(author_among(&[(ours, None, pause)]), PauseAuthor::ThisProgram(None));
    }

    #[test]
    fn a_poke_changes_nothing_and_is_undone() {
        let poked = cluster(json!({"metadata": {"name": "a", "annotations": {"kept": ""}}, "spec": {}}));
        let mut body = poked.value().unwrap();
        merge::apply_patch(&mut body, &poke_patch("m1"));
        let poked = cluster(body);
        assert!(is_ours(&poked.meta, "m1") && is_poke(&poked.meta, "m1") && !is_poke(&poked.meta, "m2"));
        assert!(!is_paused(&poked).unwrap());
        let pause = json!({"metadata": {"name": "a"}, "spec": {"paused": true}});
        let paused = with_undo(&json!({}), pause, "m1");
        assert!(!is_poke(&cluster(paused).meta, "m1"));
        let mut back = poked.value().unwrap();
        merge::apply_patch(&mut back, &undo_patch(&poked.meta, "m1").unwrap());
        assert_eq!(back["metadata"]["annotations"], json!({"kept": ""}));
    }

    #[test]
    fn block_move_and_unacknowledged_pause_are_pending() {
        let condition = |status: &str| {
            cluster(json!({"metadata": {"name": "a"},
                "status": {"conditions": [{"type": "Paused", "status": status}]}}))
        };
        assert_eq!(find_pending(&condition("False"), false).unwrap(), Some(Pending::NotAcknowledged));
        assert_eq!(find_pending(&condition("False"), true).unwrap(), None);
        assert_eq!(find_pending(&condition("True"), false).unwrap(), None);
        let blocked = cluster(json!({"metadata": {"name": "a", "annotations": {names::BLOCK_MOVE: ""}}}));
        assert_eq!(find_pending(&blocked, true).unwrap(), Some(Pending::Blocked));
        assert_eq!(find_pending(&cluster(json!({"metadata": {"name": "a"}})), false).unwrap(), None);
    }
}
