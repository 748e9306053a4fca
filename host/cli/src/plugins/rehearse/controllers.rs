//! Simulated controllers of both sides: they report a pause, and report again what they had reported once an object runs.

mod metal3;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use pivot_core::objects::merge;
use pivot_core::objects::names::{GROUP_CLUSTER, LABEL_CLUSTER, MARK, PAUSED};
use pivot_core::{Both, GroupKind, Key, Object};
use pivot_memory::MemoryPlace;
use pivot_places::Place;
use serde_json::{Value, json};

/// Time between two turns of the controllers.
const TURN: Duration = Duration::from_millis(50);
/// Conditions that controllers report about a paused object: the contract's, and Metal3's for a machine.
const REPORTED_IN_PAUSE: [&str; 2] = ["Paused", "AssociateBareMetalHost"];
/// Ends of annotations by which providers pause.
const PAUSES: [&str; 2] = ["/paused", "/detached"];
/// The lists of conditions in a status.
const CONDITIONS: [&str; 2] = ["/conditions", "/v1beta2/conditions"];

/// The report of each object's controller: the conditions and the observed generation of its status.
pub(super) type Reports = BTreeMap<Key, Value>;

/// Returns the report of an object's controller. Kubernetes' own objects have no controller here.
pub(super) fn find_report(object: &Object) -> Option<(Key, Value)> {
    if object.kind.group_kind.group.is_empty() {
        return None;
    }
    let body = object.value().ok()?;
    let mut report = json!({});
    // Elsewhere a report would change the generation that it names.
    let status = body.get("status").filter(|_| object.kind.status_subresource).unwrap_or(&Value::Null);
    for path in CONDITIONS {
        if let Some(conditions) = status.pointer(path) {
            merge::apply_patch(&mut report, &conditions_patch(path, conditions.clone()));
        }
    }
    if let Some(generation) = status.get("observedGeneration") {
        merge::apply_patch(&mut report, &json!({ "observedGeneration": generation }));
    }
    Some((object.key(), report))
}

/// Lets the controllers of both sides work until the future is dropped.
pub(super) async fn run_controllers(places: &Both<MemoryPlace>, reports: &Both<Reports>) -> Infallible {
    loop {
        for (place, reports) in [(&places.source, &reports.source), (&places.target, &reports.target)] {
            reports.iter().for_each(|(key, report)| reconcile(place, key, report));
        }
        tokio::time::sleep(TURN).await;
    }
}

/// Writes the report about an object into its status, if that differs.
fn reconcile(place: &MemoryPlace, key: &Key, report: &Value) {
    let Some(body) = place.body(key) else { return };
    let is_cluster_paused = is_cluster_paused(place, key, &body);
    metal3::reconcile_host(place, key, &body, is_cluster_paused);
    let Some(body) = place.body(key) else { return };
    let is_paused = is_cluster_paused || has_pause(&body);
    let status = body.get("status").cloned().unwrap_or_else(|| json!({}));
    let mut reported = status.clone();
    for path in CONDITIONS {
        let Some(conditions) = report.pointer(path).and_then(Value::as_array) else { continue };
        let written = conditions.iter().filter(|one| !is_paused || is_reported_in_pause(one)).cloned();
        let mut written: Vec<Value> = written.collect();
        if is_paused {
            let known = status.pointer(path).and_then(Value::as_array).into_iter().flatten();
            written.extend(known.filter(|one| !is_reported_in_pause(one)).cloned());
        }
        let word = if is_paused { "True" } else { "False" };
        written.iter_mut().filter(|one| one["type"] == "Paused").for_each(|one| one["status"] = word.into());
        if written.is_empty() {
            continue;
        }
        merge::apply_patch(&mut reported, &conditions_patch(path, written.into()));
    }
    if let Some(generation) = report.get("observedGeneration").filter(|_| !is_paused) {
        merge::apply_patch(&mut reported, &json!({ "observedGeneration": generation }));
    }
    if let Some(generation) =
        body.pointer("/metadata/generation").filter(|_| !is_paused || reported != status)
    {
        set_generation(&mut reported, generation);
    }
    let manager = format!("controllers-of-{}", place.label());
    let has_written = body.pointer("/metadata/managedFields/0/manager").is_some_and(|name| *name == manager);
    // The engine expects a write to each copy that runs, also if its restored status is right.
    let is_marked = body.pointer("/metadata/annotations").is_some_and(|all| all.get(MARK).is_some());
    let is_new = !is_paused && !has_written && is_marked;
    if reported == status && !is_new {
        return;
    }
    let written = place.edit(key, |body| {
        let time = body.pointer("/metadata/creationTimestamp").cloned();
        let entry = json!({"manager": manager, "operation": "Update", "time": time});
        merge::apply_patch(body, &json!({"metadata": {"managedFields": [entry]}}));
        if let Some(fields) = body.as_object_mut().filter(|_| reported != status) {
            fields.insert("status".to_owned(), reported);
        }
    });
    if let Err(error) = written {
        tracing::debug!(%key, %error, "the simulated controller wrote nothing");
    }
}

fn conditions_patch(path: &str, conditions: Value) -> Value {
    path.rsplit('/').filter(|name| !name.is_empty()).fold(conditions, |inner, name| json!({ name: inner }))
}

fn is_reported_in_pause(condition: &Value) -> bool {
    condition["type"].as_str().is_some_and(|kind| REPORTED_IN_PAUSE.contains(&kind))
}

/// Returns true if an annotation of the object pauses it.
fn has_pause(body: &Value) -> bool {
    let annotations = body.pointer("/metadata/annotations").and_then(Value::as_object);
    let mut names = annotations.into_iter().flat_map(|all| all.keys());
    names.any(|name| name == PAUSED || PAUSES.iter().any(|end| name.ends_with(end)))
}

/// Returns true if the object is a paused Cluster, or its Cluster is paused.
fn is_cluster_paused(place: &MemoryPlace, key: &Key, body: &Value) -> bool {
    let kind = GroupKind::new(GROUP_CLUSTER, "Cluster");
    let labels = body.pointer("/metadata/labels").and_then(Value::as_object);
    let cluster = match labels.and_then(|labels| labels.get(LABEL_CLUSTER)?.as_str()) {
        _ if key.group_kind == kind => Some(body.clone()),
        Some(name) => place.body(&Key::new(kind, key.namespace.as_deref(), name)),
        None => None,
    };
    cluster.is_some_and(|cluster| cluster.pointer("/spec/paused") == Some(&true.into()))
}

/// Sets every observed generation in a status.
fn set_generation(value: &mut Value, generation: &Value) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match name.as_str() {
            "observedGeneration" => value.clone_from(generation),
            _ => set_generation(value, generation),
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| set_generation(item, generation)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::{Kind, KindLabels};

    use super::*;

    #[test]
    fn controllers_report_pause_then_all_conditions() {
        let place = MemoryPlace::new("target");
        place.add_kind(Kind {
            group_kind: GroupKind::new("test.io", "Host"),
            version: "v1".into(),
            plural: "hosts".into(),
            namespaced: true,
            status_subresource: true,
            served: vec!["v1".into()],
            labels: KindLabels::default(),
        });
        let conditions = |paused: &str, generation: u64| {
            json!([
                {"type": "Ready", "status": "True", "observedGeneration": generation},
                {"type": "Paused", "status": paused, "observedGeneration": generation},
            ])
        };
        let copy = place.insert(json!({
            "apiVersion": "test.io/v1", "kind": "Host",
            "metadata": {"name": "h", "namespace": "n", "generation": 2, "annotations": {PAUSED: "", MARK: "m"}},
        }));
        let key = copy.unwrap().key();
        let report = json!({"conditions": conditions("False", 7), "observedGeneration": 7});
        reconcile(&place, &key, &report);
        let paused = json!({"conditions": [conditions("True", 2)[1]]});
        assert_eq!(place.body(&key).unwrap()["status"], paused);
        place
            .edit(&key, |body| drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove(PAUSED)))
            .unwrap();
        reconcile(&place, &key, &report);
        let expected = json!({"conditions": conditions("False", 2), "observedGeneration": 2});
        let body = place.body(&key).unwrap();
        assert_eq!(body["status"], expected);
        assert_eq!(body["metadata"]["managedFields"][0]["manager"], "controllers-of-target");
        reconcile(&place, &key, &report);
        assert_eq!(place.body(&key).unwrap(), body);
    }
}
