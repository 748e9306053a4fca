use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::TryStreamExt;
use pivot_core::Uid;

use super::*;
use crate::place::{Event, Patch, Place, Preconditions, Subresource};
use crate::testing::kind;

fn machines() -> Arc<Kind> {
    kind("cluster.x-k8s.io", "v1beta2", "Machine", "machines", true)
}

fn place() -> MemoryPlace {
    let place = MemoryPlace::new("memory");
    place.add_kind(Kind::clone(&machines())).add_namespace("a");
    place
}

fn machine(name: &str) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "namespace": "a"}, "spec": {"x": 1}, "status": {"ready": true}})
}

fn key(name: &str) -> Key {
    Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("a"), name)
}

async fn patch(place: &MemoryPlace, body: Value, subresource: Subresource) -> Result<Object> {
    let patch = Patch { body: body.clone(), subresource, change: Change::Real };
    place.patch(&machines(), &key("m"), &patch).await
}

#[tokio::test]
async fn create_does_what_a_server_does() {
    let place = place();
    let object = place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    let body = object.value().unwrap();
    assert_eq!((body.get("status"), &body["metadata"]["generation"]), (None, &json!(1)));
    let again = place.create(&machines(), &machine("m"), Change::Real).await;
    assert!(matches!(again, Err(PlaceError::AlreadyExists(_))));
    let mut elsewhere = machine("m");
    elsewhere["metadata"]["namespace"] = "nowhere".into();
    let error = place.create(&machines(), &elsewhere, Change::Real).await;
    assert!(matches!(error, Err(PlaceError::NotFound(_))));
    let other = kind("cluster.x-k8s.io", "v1beta1", "Machine", "machines", true);
    assert!(matches!(place.list(&other, None).await, Err(PlaceError::NotFound(_))));
    let before = place.keys();
    place.create(&machines(), &machine("dry"), Change::DryRun).await.unwrap();
    assert_eq!(place.keys(), before);
}

#[tokio::test]
async fn patches_respect_parts_versions_and_generations() {
    let place = place();
    let first = place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    let both = json!({"metadata": {"labels": {"l": "1"}}, "spec": {"x": 2}, "status": {"y": 1}});
    let main = patch(&place, both.clone(), Subresource::None).await.unwrap();
    assert_eq!((main.meta.generation, main.meta.labelled("l")), (Some(2), true));
    assert!(main.value().unwrap().get("status").is_none());
    let status =
        patch(&place, json!({"metadata": {"labels": {"m": "1"}}, "status": {"y": 1}}), Subresource::Status)
            .await
            .unwrap();
    assert_eq!((status.meta.generation, status.meta.labelled("m")), (Some(2), false));
    assert_eq!(status.value().unwrap()["status"]["y"], 1);
    let same = patch(&place, both, Subresource::None).await.unwrap();
    assert_eq!(same.meta.resource_version, status.meta.resource_version);
    let stale = json!({"metadata": {"resourceVersion": first.meta.resource_version}});
    assert!(matches!(patch(&place, stale, Subresource::None).await, Err(PlaceError::Conflict(_))));
    let other = json!({"metadata": {"uid": "other"}});
    assert!(matches!(patch(&place, other, Subresource::None).await, Err(PlaceError::Conflict(_))));
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    let place = place();
    let mut body = machine("m");
    body["metadata"]["finalizers"] = json!(["f"]);
    let object = place.create(&machines(), &body, Change::Real).await.unwrap();
    let wrong = Preconditions { uid: Some(Uid("other".to_owned())), resource_version: None };
    assert!(matches!(place.delete(&machines(), &key("m"), &wrong).await, Err(PlaceError::Conflict(_))));
    let right = Preconditions {
        uid: Some(object.meta.uid.clone()),
        resource_version: Some(object.meta.resource_version.clone()),
    };
    place.delete(&machines(), &key("m"), &right).await.unwrap();
    let dying = place.get(&machines(), &key("m")).await.unwrap().unwrap();
    assert!(dying.meta.deleting());
    let more = json!({"metadata": {"finalizers": ["f", "g"]}});
    assert!(matches!(patch(&place, more, Subresource::None).await, Err(PlaceError::Invalid(_))));
    patch(&place, json!({"metadata": {"finalizers": null}}), Subresource::None).await.unwrap();
    assert!(place.get(&machines(), &key("m")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_watch_reports_past_and_new_events() {
    let place = place();
    let listing = place.list(&machines(), None).await.unwrap();
    place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    let mut events = place.watch(&machines(), Some("a"), &listing.resource_version).await.unwrap();
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Applied(o)) if o.meta.name == "m"));
    let later = place.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        later.edit(&key("m"), |body| body["status"]["ready"] = true.into()).unwrap();
        later.remove(&key("m")).unwrap();
    });
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Applied(_))));
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Deleted(o)) if o.meta.name == "m"));
    place.expire_watches();
    assert!(matches!(events.try_next().await, Err(PlaceError::Expired(_))));
    let error = place.watch(&machines(), None, &listing.resource_version).await.err();
    assert!(matches!(error, Some(PlaceError::Expired(_))));
}

#[tokio::test]
async fn faults_occur_before_or_after_the_write() {
    let place = place();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    place.on_call(move |verb, _| {
        let lost = PlaceError::Unavailable("lost".to_owned());
        (verb == "create").then(|| match counter.fetch_add(1, Ordering::SeqCst) {
            0 => Fault::Before(lost),
            _ => Fault::After(lost),
        })
    });
    for there in [false, true] {
        assert!(place.create(&machines(), &machine("m"), Change::Real).await.is_err());
        assert_eq!(place.body(&key("m")).is_some(), there);
    }
    let journal: Vec<_> = place.journal().into_iter().map(|call| (call.verb, call.done)).collect();
    assert_eq!(journal, [("create".to_owned(), false), ("create".to_owned(), true)]);
    assert!(place.journal().is_empty());
}

#[tokio::test]
async fn orphans_are_collected_when_a_test_wants_it() {
    let place = place();
    let owner = place.insert(machine("owner")).unwrap();
    for (name, above) in [("m", "owner"), ("n", "m")] {
        let mut body = machine(name);
        let uid = place.body(&key(above)).unwrap()["metadata"]["uid"].clone();
        body["metadata"]["ownerReferences"] = json!([{"apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine", "name": above, "uid": uid}]);
        place.insert(body).unwrap();
    }
    assert!(place.collect_garbage().is_empty());
    place.remove(&owner.key()).unwrap();
    assert_eq!(place.collect_garbage(), [key("m"), key("n")]);
}

#[tokio::test]
async fn two_places_are_not_the_same_cluster() {
    let (one, other) = (place(), place());
    assert_eq!(one.identify().await.unwrap(), one.clone().identify().await.unwrap());
    assert_ne!(one.identify().await.unwrap(), other.identify().await.unwrap());
}
