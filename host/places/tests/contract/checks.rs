//! The checks of the contract, each for a server and the place that leads to it. `host/link` includes this file: whatever is between
//! the two, the engine must not be able to tell.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use pivot_core::names::MARK;
use pivot_core::{GroupKind, Key, Kind, KindLabels, Object, Uid};
use pivot_places::memory::Fault;
use pivot_places::{
    Access, Begun, Change, Closing, Event, Identity, MemoryPlace, Opening, Patch, Place, PlaceError,
    Preconditions, Result, ServicePath, Subresource,
};
use serde_json::{Value, json};

/// A test of each check, for the place that a function makes of a server.
macro_rules! contract {
    ($place_of:path) => {
        crate::checks::contract! { $place_of:
            it_is_what_the_server_is,
            create_does_what_a_server_does,
            bodies_are_the_bytes_that_the_server_has,
            lists_have_what_was_asked_for,
            patches_respect_parts_versions_and_generations,
            finalizers_hold_an_object,
            a_watch_reports_past_and_new_events,
            a_watch_that_nobody_reads_any_more_ends,
            two_places_are_not_the_same_cluster,
            permissions_are_those_of_the_server,
            what_is_announced_is_accepted,
            each_error_is_the_servers,
            an_answer_is_lost_after_the_act,
        }
    };
    ($place_of:path: $($check:ident,)*) => {
        $(
            #[tokio::test]
            async fn $check() {
                let server = crate::checks::server();
                let place = $place_of(&server).await;
                crate::checks::$check(&server, &*place).await;
            }
        )*
    };
}

pub(crate) use contract;

fn kind(version: &str) -> Arc<Kind> {
    Arc::new(Kind {
        group_kind: GroupKind::new("cluster.x-k8s.io", "Machine"),
        version: version.to_owned(),
        plural: "machines".to_owned(),
        namespaced: true,
        status_subresource: true,
        served: vec![version.to_owned()],
        labels: KindLabels::default(),
    })
}

fn machines() -> Arc<Kind> {
    kind("v1beta2")
}

/// A server with machines in namespace `a`.
pub(crate) fn server() -> MemoryPlace {
    let server = MemoryPlace::new("memory");
    server.add_kind(Kind::clone(&machines())).add_namespace("a").add_namespace("b");
    server
}

/// As a move brings it: an agent changes nothing else.
fn machine(name: &str) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "namespace": "a", "annotations": {MARK: "move-1"}}, "spec": {"x": 1}, "status": {"ready": true}})
}

fn key(name: &str) -> Key {
    Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("a"), name)
}

async fn patch(place: &dyn Place, body: Value, subresource: Subresource) -> Result<Object> {
    let patch = Patch { body, subresource, change: Change::Real };
    place.patch(&machines(), &key("m"), &patch).await
}

pub(crate) async fn it_is_what_the_server_is(server: &MemoryPlace, place: &dyn Place) {
    assert_eq!(place.label(), "memory");
    assert_eq!(place.can(), server.can());
    assert_eq!(place.identify().await.unwrap(), server.identify().await.unwrap());
    assert_eq!(place.kinds().await.unwrap(), server.kinds().await.unwrap());
}

pub(crate) async fn create_does_what_a_server_does(server: &MemoryPlace, place: &dyn Place) {
    let object = place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    let body = object.value().unwrap();
    assert_eq!((body.get("status"), &body["metadata"]["generation"]), (None, &json!(1)));
    let again = place.create(&machines(), &machine("m"), Change::Real).await;
    assert!(matches!(again, Err(PlaceError::AlreadyExists(_))));
    let mut elsewhere = machine("m");
    elsewhere["metadata"]["namespace"] = "nowhere".into();
    let error = place.create(&machines(), &elsewhere, Change::Real).await;
    assert!(matches!(error, Err(PlaceError::NotFound(_))));
    assert!(matches!(place.list(&kind("v1beta1"), None).await, Err(PlaceError::NotFound(_))));
    let before = server.keys();
    place.create(&machines(), &machine("dry"), Change::DryRun).await.unwrap();
    assert_eq!(server.keys(), before);
}

pub(crate) async fn bodies_are_the_bytes_that_the_server_has(server: &MemoryPlace, place: &dyn Place) {
    let mut body = machine("m");
    body["spec"] = json!({"big": 9_007_199_254_740_993_u64, "small": 1e-7, "text": "ü\u{2028}\"\\\u{0}", "null": null,
        "long": "x".repeat(300_000)});
    server.insert(body).unwrap();
    let there = server.get(&machines(), &key("m")).await.unwrap().unwrap();
    let here = place.get(&machines(), &key("m")).await.unwrap().unwrap();
    assert!(here.raw() == there.raw());
    assert!(place.list(&machines(), None).await.unwrap().objects.remove(0).raw() == there.raw());
    assert!(place.get(&machines(), &key("n")).await.unwrap().is_none());
}

pub(crate) async fn lists_have_what_was_asked_for(server: &MemoryPlace, place: &dyn Place) {
    for (name, namespace, labels) in
        [("m", "a", json!({"l": "1"})), ("n", "a", json!({})), ("m", "b", json!({"l": ""}))]
    {
        let mut body = machine(name);
        body["metadata"]["namespace"] = namespace.into();
        body["metadata"]["labels"] = labels;
        body["metadata"]["finalizers"] = json!(["f"]);
        server.insert(body).unwrap();
    }
    let named = |objects: &[pivot_core::Meta]| {
        let name =
            |meta: &pivot_core::Meta| format!("{}/{}", meta.namespace.as_deref().unwrap_or(""), meta.name);
        objects.iter().map(name).collect::<Vec<_>>()
    };
    let (all, of_a) = (["a/m", "a/n", "b/m"], ["a/m", "a/n"]);
    for (namespace, expected) in [(None, &all[..]), (Some("a"), &of_a)] {
        let listing = place.list(&machines(), namespace).await.unwrap();
        let metas: Vec<_> = listing.objects.iter().map(|object| object.meta.clone()).collect();
        assert_eq!(named(&metas), expected);
        let only = place.list_meta(&machines(), namespace).await.unwrap();
        assert_eq!((named(&only.metas), &only.resource_version), (named(&metas), &listing.resource_version));
        assert_eq!(only.metas[0].finalizers, ["f"]);
        let reduced = place.list_identities(&machines(), namespace).await.unwrap().metas;
        assert_eq!(named(&reduced), expected);
        assert!(reduced[0].finalizers.is_empty() && reduced[0].uid == metas[0].uid);
    }
    let labelled = place.list_labelled(&machines(), "a", "l").await.unwrap();
    assert_eq!(labelled.objects.iter().map(|object| &*object.meta.name).collect::<Vec<_>>(), ["m"]);
    assert!(place.list(&machines(), Some("nowhere")).await.unwrap().objects.is_empty());
}

pub(crate) async fn patches_respect_parts_versions_and_generations(_: &MemoryPlace, place: &dyn Place) {
    let first = place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    let both = json!({"metadata": {"labels": {"l": "1"}}, "spec": {"x": 2}, "status": {"y": 1}});
    let main = patch(place, both.clone(), Subresource::None).await.unwrap();
    assert_eq!((main.meta.generation, main.meta.labelled("l")), (Some(2), true));
    assert!(main.value().unwrap().get("status").is_none());
    let status =
        patch(place, json!({"metadata": {"labels": {"m": "1"}}, "status": {"y": 1}}), Subresource::Status)
            .await
            .unwrap();
    assert_eq!((status.meta.generation, status.meta.labelled("m")), (Some(2), false));
    assert_eq!(status.value().unwrap()["status"]["y"], 1);
    let same = patch(place, both, Subresource::None).await.unwrap();
    assert_eq!(same.meta.resource_version, status.meta.resource_version);
    let tried =
        Patch { body: json!({"spec": {"x": 3}}), subresource: Subresource::None, change: Change::DryRun };
    let tried = place.patch(&machines(), &key("m"), &tried).await.unwrap().value().unwrap();
    assert_eq!(tried["spec"]["x"], 3);
    let now = place.get(&machines(), &key("m")).await.unwrap().unwrap();
    assert_eq!(now.value().unwrap()["spec"]["x"], 2);
    let stale = json!({"metadata": {"resourceVersion": first.meta.resource_version}});
    assert!(matches!(patch(place, stale, Subresource::None).await, Err(PlaceError::Conflict(_))));
    let other = json!({"metadata": {"uid": "other"}});
    assert!(matches!(patch(place, other, Subresource::None).await, Err(PlaceError::Conflict(_))));
}

pub(crate) async fn finalizers_hold_an_object(_: &MemoryPlace, place: &dyn Place) {
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
    assert!(matches!(patch(place, more, Subresource::None).await, Err(PlaceError::Invalid(_))));
    patch(place, json!({"metadata": {"finalizers": null}}), Subresource::None).await.unwrap();
    assert!(place.get(&machines(), &key("m")).await.unwrap().is_none());
    let gone = place.delete(&machines(), &key("m"), &Preconditions::default()).await;
    assert!(matches!(gone, Err(PlaceError::NotFound(_))));
}

/// Where a place is far away, a watch that can't begin ends at once.
async fn not_begun(place: &dyn Place, version: &str) -> PlaceError {
    match place.watch(&machines(), None, version).await {
        Err(error) => error,
        Ok(mut events) => events.try_next().await.unwrap_err(),
    }
}

pub(crate) async fn a_watch_reports_past_and_new_events(server: &MemoryPlace, place: &dyn Place) {
    let listing = place.list(&machines(), None).await.unwrap();
    place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    let mut events = place.watch(&machines(), Some("a"), &listing.resource_version).await.unwrap();
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Applied(o)) if o.meta.name == "m"));
    let later = server.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        later.edit(&key("m"), |body| body["status"]["ready"] = true.into()).unwrap();
        later.remove(&key("m")).unwrap();
    });
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Applied(_))));
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Deleted(o)) if o.meta.name == "m"));
    server.expire_watches();
    assert!(matches!(events.try_next().await, Err(PlaceError::Expired(_))));
    assert!(matches!(not_begun(place, &listing.resource_version).await, PlaceError::Expired(_)));
}

pub(crate) async fn a_watch_that_nobody_reads_any_more_ends(server: &MemoryPlace, place: &dyn Place) {
    let version = place.list(&machines(), None).await.unwrap().resource_version;
    // Many more than a link carries at once.
    for _ in 0..1_000 {
        drop(place.watch(&machines(), None, &version).await.unwrap());
    }
    let mut events = place.watch(&machines(), None, &version).await.unwrap();
    server.insert(machine("m")).unwrap();
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Applied(o)) if o.meta.name == "m"));
}

pub(crate) async fn two_places_are_not_the_same_cluster(_: &MemoryPlace, place: &dyn Place) {
    let identity = place.identify().await.unwrap();
    assert!(matches!(identity, Identity::Cluster(_)));
    assert_eq!(place.identify().await.unwrap(), identity);
    assert_ne!(server().identify().await.unwrap(), identity);
}

pub(crate) async fn permissions_are_those_of_the_server(server: &MemoryPlace, place: &dyn Place) {
    let access = |verb| Access {
        verb: Cow::Borrowed(verb),
        group: "cluster.x-k8s.io".to_owned(),
        resource: "machines".to_owned(),
        subresource: Cow::Borrowed(""),
        namespace: Some("a".to_owned()),
    };
    server.deny(access("delete"));
    let denied = place.denied(&[access("create"), access("delete"), access("patch")]).await.unwrap();
    assert_eq!(denied, [access("delete")]);
}

pub(crate) async fn what_is_announced_is_accepted(_: &MemoryPlace, place: &dyn Place) {
    place.learn(&[machines()]).await.unwrap();
    place.open(&Opening { move_id: "move-1".to_owned(), begun: Begun::No }).await.unwrap();
    place.close(&Closing::Complete { handover: false }).await.unwrap();
    let service = ServicePath {
        namespace: "a".to_owned(),
        service: "s".to_owned(),
        port: "80".to_owned(),
        path: "v1".to_owned(),
    };
    let unsupported = PlaceError::unsupported("this place", "ask services");
    assert_eq!(place.proxy_get(&service, 1).await, Err(unsupported));
}

fn errors() -> Vec<PlaceError> {
    let why = || "because".to_owned();
    vec![
        PlaceError::NotFound(why()),
        PlaceError::AlreadyExists(why()),
        PlaceError::Conflict(why()),
        PlaceError::Forbidden(why()),
        PlaceError::Unauthorized(why()),
        PlaceError::Invalid(why()),
        PlaceError::Expired(why()),
        PlaceError::TooManyRequests { retry_after: None },
        PlaceError::TooManyRequests { retry_after: Some(Duration::from_millis(2_500)) },
        PlaceError::Unavailable(why()),
        PlaceError::Unreadable(why()),
        PlaceError::unsupported("this place", "do that"),
    ]
}

pub(crate) async fn each_error_is_the_servers(server: &MemoryPlace, place: &dyn Place) {
    let object = place.create(&machines(), &machine("m"), Change::Real).await.unwrap();
    for error in errors() {
        let fault = error.clone();
        server.on_call(move |_, _| Some(Fault::Before(fault.clone())));
        let (kind, key) = (machines(), key("m"));
        let asked = [
            place.list(&kind, None).await.map(drop),
            place.list_labelled(&kind, "a", "l").await.map(drop),
            place.list_meta(&kind, None).await.map(drop),
            place.list_identities(&kind, None).await.map(drop),
            place.get(&kind, &key).await.map(drop),
            place.create(&kind, &machine("n"), Change::Real).await.map(drop),
            patch(place, json!({}), Subresource::None).await.map(drop),
            place.delete(&kind, &key, &Preconditions::default()).await,
            Err(not_begun(place, &object.meta.resource_version).await),
        ];
        for asked in asked {
            assert_eq!(asked, Err(error.clone()));
        }
    }
}

pub(crate) async fn an_answer_is_lost_after_the_act(server: &MemoryPlace, place: &dyn Place) {
    let lost = PlaceError::Unavailable("lost".to_owned());
    let fault = lost.clone();
    server.on_call(move |verb, _| (verb == "create").then(|| Fault::After(fault.clone())));
    assert_eq!(place.create(&machines(), &machine("m"), Change::Real).await.map(drop), Err(lost));
    assert!(server.body(&key("m")).is_some());
}
