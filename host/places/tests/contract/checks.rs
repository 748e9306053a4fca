//! The checks of the contract, each for a server and the place that leads to it. `host/link` includes this file: whatever is between
//! the two, the engine must not be able to tell.

use std::borrow::Cow;
use std::time::Duration;

use futures::TryStreamExt;
use pivot_core::Kind;
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{
    Access, Begun, Change, Closing, Event, Opening, Place, PlaceError, Preconditions, ServicePath,
    Subresource,
};
use serde_json::json;

use crate::behaviour::{TERMINATING, key, machine, machines, patch, watch_in_vain};

/// A test of each check, for the place that a function makes of a server.
macro_rules! contract {
    ($place_of:path) => {
        crate::checks::contract! { $place_of:
            place_has_the_identity_of_its_server,
            bodies_have_the_bytes_of_the_server,
            lists_of_objects_and_metadata_have_one_version,
            open_watch_expires,
            abandoned_watch_ends,
            two_places_are_two_clusters,
            permissions_equal_those_of_the_server,
            announced_operations_are_accepted,
            errors_equal_those_of_the_server,
            lost_answer_follows_a_stored_change,
        }

        async fn serve_machines() -> crate::behaviour::Server {
            let server = crate::checks::server();
            let expired = crate::checks::prepare(&server).await;
            crate::behaviour::Server { place: $place_of(&server).await, expired }
        }

        crate::behaviour::behaviours! { tests (serve_machines()) }
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

/// A server with machines in the namespaces `a` and `b`.
pub(crate) fn server() -> MemoryPlace {
    let server = MemoryPlace::new("memory");
    server.add_kind(Kind::clone(&machines())).add_namespace("a").add_namespace("b");
    server
}

/// Begins to delete a namespace, and makes the server forget its events; a version from before them.
pub(crate) async fn prepare(server: &MemoryPlace) -> String {
    let terminating = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": TERMINATING, "deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let mut held = machine("held");
    held["metadata"]["namespace"] = TERMINATING.into();
    held["metadata"]["finalizers"] = json!(["f"]);
    for object in [terminating, held] {
        server.insert(object).unwrap();
    }
    let version = server.list(&machines(), None).await.unwrap().resource_version;
    server.expire_watches();
    version
}

pub(crate) async fn place_has_the_identity_of_its_server(server: &MemoryPlace, place: &dyn Place) {
    assert_eq!(place.label(), "memory");
    assert_eq!((place.capabilities(), place.end_kind()), (server.capabilities(), server.end_kind()));
    assert_eq!(place.identify().await.unwrap(), server.identify().await.unwrap());
    assert_eq!(place.kinds().await.unwrap(), server.kinds().await.unwrap());
}

pub(crate) async fn bodies_have_the_bytes_of_the_server(server: &MemoryPlace, place: &dyn Place) {
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

pub(crate) async fn lists_of_objects_and_metadata_have_one_version(server: &MemoryPlace, place: &dyn Place) {
    server.insert(machine("m")).unwrap();
    let listing = place.list(&machines(), None).await.unwrap();
    let only = place.list_meta(&machines(), None).await.unwrap();
    assert_eq!((only.metas.len(), only.resource_version), (1, listing.resource_version));
}

pub(crate) async fn open_watch_expires(server: &MemoryPlace, place: &dyn Place) {
    let listing = place.list(&machines(), None).await.unwrap();
    server.insert(machine("m")).unwrap();
    let mut events = place.watch(&machines(), Some("a"), &listing.resource_version).await.unwrap();
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Applied(o)) if o.meta.name == "m"));
    server.expire_watches();
    assert!(matches!(events.try_next().await, Err(PlaceError::Expired(_))));
    assert!(matches!(watch_in_vain(place, &listing.resource_version).await, PlaceError::Expired(_)));
}

pub(crate) async fn abandoned_watch_ends(server: &MemoryPlace, place: &dyn Place) {
    let version = place.list(&machines(), None).await.unwrap().resource_version;
    // Many more than a link carries at once.
    for _ in 0..1_000 {
        drop(place.watch(&machines(), None, &version).await.unwrap());
    }
    let mut events = place.watch(&machines(), None, &version).await.unwrap();
    server.insert(machine("m")).unwrap();
    assert!(matches!(events.try_next().await.unwrap(), Some(Event::Applied(o)) if o.meta.name == "m"));
}

pub(crate) async fn two_places_are_two_clusters(_: &MemoryPlace, place: &dyn Place) {
    assert_ne!(server().identify().await.unwrap(), place.identify().await.unwrap());
}

pub(crate) async fn permissions_equal_those_of_the_server(server: &MemoryPlace, place: &dyn Place) {
    let access = |verb| Access {
        verb: Cow::Borrowed(verb),
        group: "cluster.x-k8s.io".to_owned(),
        resource: "machines".to_owned(),
        subresource: Cow::Borrowed(""),
        namespace: Some("a".to_owned()),
    };
    server.deny(access("delete"));
    let denied = place.find_denied(&[access("create"), access("delete"), access("patch")]).await.unwrap();
    assert_eq!(denied, [access("delete")]);
}

pub(crate) async fn announced_operations_are_accepted(_: &MemoryPlace, place: &dyn Place) {
    place.learn(&[machines()]).await.unwrap();
    place.open(&Opening { move_id: "move-1".to_owned(), begun: Begun::No }).await.unwrap();
    place.close(&Closing::Complete { handover: false, backup: None }).await.unwrap();
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
        PlaceError::Untrusted(why()),
        PlaceError::Invalid(why()),
        PlaceError::Expired(why()),
        PlaceError::TooManyRequests { retry_after: None },
        PlaceError::TooManyRequests { retry_after: Some(Duration::from_millis(2_500)) },
        PlaceError::Unavailable(why()),
        PlaceError::Unreadable(why()),
        PlaceError::unsupported("this place", "do that"),
    ]
}

pub(crate) async fn errors_equal_those_of_the_server(server: &MemoryPlace, place: &dyn Place) {
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
            patch(place, "m", json!({}), Subresource::None).await.map(drop),
            place.delete(&kind, &key, &Preconditions::default()).await,
            Err(watch_in_vain(place, &object.meta.resource_version).await),
        ];
        for asked in asked {
            assert_eq!(asked, Err(error.clone()));
        }
    }
}

pub(crate) async fn lost_answer_follows_a_stored_change(server: &MemoryPlace, place: &dyn Place) {
    let lost = PlaceError::Unavailable("lost".to_owned());
    let fault = lost.clone();
    server.on_call(move |verb, _| (verb == "create").then(|| Fault::After(fault.clone())));
    assert_eq!(place.create(&machines(), &machine("m"), Change::Real).await.map(drop), Err(lost));
    assert!(server.body(&key("m")).is_some());
}
