//! Tests of the server in memory beyond its verbs as a place, which the contract in `host/places/tests/contract` checks.

use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::KindLabels;
use pivot_places::Place;

use super::*;

fn machines() -> Arc<Kind> {
    Arc::new(Kind {
        group_kind: GroupKind::new("cluster.x-k8s.io", "Machine"),
        version: "v1beta2".to_owned(),
        plural: "machines".to_owned(),
        namespaced: true,
        status_subresource: true,
        served: vec!["v1beta2".to_owned()],
        labels: KindLabels::default(),
    })
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
async fn orphans_are_collected_on_request() {
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
