//! Behaviour of API servers that the engine relies on. A server in memory and the same behind a link are checked, and in
//! `tests/scenarios` a real kube-apiserver: the engine's tests are worth as much as the server in memory is like it.

use std::sync::Arc;

use futures::TryStreamExt;
use futures::stream::BoxStream;
use pivot_core::objects::names::MARK;
use pivot_core::{GroupKind, Key, Kind, KindLabels, Meta, Object, Uid};
use pivot_places::{Change, Event, Identity, Patch, Place, PlaceError, Preconditions, Result, Subresource};
use serde_json::{Value, json};

/// A namespace that is being deleted, with a machine `held` in it that a finalizer holds.
pub(crate) const TERMINATING: &str = "terminating";

/// A server with machines and the namespaces `a`, `b` and [`TERMINATING`].
pub(crate) struct Server {
    pub(crate) place: Arc<dyn Place>,
    /// A version of machines from before the events that it remembers.
    pub(crate) expired: String,
}

/// All checks: as tests, each with its own server (`tests`), or one after the other on one server (`all`).
macro_rules! behaviours {
    (@tests $server:tt $($check:ident)*) => {
        $(
            #[tokio::test]
            async fn $check() {
                crate::behaviour::$check(&$server.await).await;
            }
        )*
    };
    (@all $server:tt $($check:ident)*) => {
        $(
            println!("{}", stringify!($check));
            crate::behaviour::$check($server).await;
        )*
    };
    ($how:ident $server:tt) => {
        crate::behaviour::behaviours! { @$how $server
            created_objects_are_new
            dry_runs_show_results_and_store_nothing
            patches_respect_parts_versions_and_generations
            null_removes_maps_and_their_keys
            finalizers_hold_an_object
            stale_deletes_are_conflicts
            terminating_namespaces_accept_no_objects
            expired_watches_must_start_over
            lists_contain_only_requested_objects
            watches_report_past_and_new_events_in_order
            two_requests_reach_one_cluster
        }
    };
}

pub(crate) use behaviours;

pub(crate) fn kind(version: &str) -> Arc<Kind> {
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

pub(crate) fn machines() -> Arc<Kind> {
    kind("v1beta2")
}

/// As a move brings it: an agent changes nothing else.
pub(crate) fn machine(name: &str) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": {"name": name, "namespace": "a", "annotations": {MARK: "move-1"}}, "spec": {"x": 1}, "status": {"ready": true}})
}

pub(crate) fn key(name: &str) -> Key {
    Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("a"), name)
}

pub(crate) async fn patch(
    place: &dyn Place,
    name: &str,
    body: Value,
    subresource: Subresource,
) -> Result<Object> {
    let patch = Patch { body, subresource, change: Change::Real };
    place.patch(&machines(), &key(name), &patch).await
}

async fn create(place: &dyn Place, name: &str, finalizers: &[&str]) -> Object {
    let mut body = machine(name);
    body["metadata"]["finalizers"] = json!(finalizers);
    place.create(&machines(), &body, Change::Real).await.unwrap()
}

fn exactly(object: &Object) -> Preconditions {
    Preconditions {
        uid: Some(object.meta.uid.clone()),
        resource_version: Some(object.meta.resource_version.clone()),
    }
}

pub(crate) async fn created_objects_are_new(Server { place, .. }: &Server) {
    let object = create(&**place, "new", &[]).await;
    let body = object.value().unwrap();
    assert_eq!((body.get("status"), &body["metadata"]["generation"]), (None, &json!(1)));
    let again = place.create(&machines(), &machine("new"), Change::Real).await;
    assert!(matches!(again, Err(PlaceError::AlreadyExists(_))), "{again:?}");
    let mut elsewhere = machine("new");
    elsewhere["metadata"]["namespace"] = "nowhere".into();
    let error = place.create(&machines(), &elsewhere, Change::Real).await;
    assert!(matches!(error, Err(PlaceError::NotFound(_))), "{error:?}");
    let unserved = place.list(&kind("v1beta1"), None).await;
    assert!(matches!(unserved, Err(PlaceError::NotFound(_))), "{unserved:?}");
    let mut versioned = machine("versioned");
    versioned["metadata"]["resourceVersion"] = "1".into();
    let error = place.create(&machines(), &versioned, Change::Real).await;
    assert!(matches!(error, Err(PlaceError::Invalid(_))), "{error:?}");
}

pub(crate) async fn dry_runs_show_results_and_store_nothing(Server { place, .. }: &Server) {
    let tried = place.create(&machines(), &machine("dry"), Change::DryRun).await.unwrap().value().unwrap();
    assert!(place.get(&machines(), &key("dry")).await.unwrap().is_none());
    let made = create(&**place, "dry", &[]).await.value().unwrap();
    assert_eq!((&tried["spec"], tried.get("status")), (&made["spec"], None));
    assert_eq!(tried["metadata"]["generation"], made["metadata"]["generation"]);
    let again = place.create(&machines(), &machine("dry"), Change::DryRun).await;
    assert!(matches!(again, Err(PlaceError::AlreadyExists(_))), "{again:?}");
    let change =
        Patch { body: json!({"spec": {"x": 3}}), subresource: Subresource::None, change: Change::DryRun };
    let tried = place.patch(&machines(), &key("dry"), &change).await.unwrap();
    assert_eq!((&tried.value().unwrap()["spec"]["x"], tried.meta.generation), (&json!(3), Some(2)));
    let now = place.get(&machines(), &key("dry")).await.unwrap().unwrap();
    assert_eq!((now.value().unwrap()["spec"]["x"].clone(), now.meta.generation), (json!(1), Some(1)));
}

pub(crate) async fn patches_respect_parts_versions_and_generations(Server { place, .. }: &Server) {
    let place = &**place;
    let first = create(place, "parts", &[]).await;
    let both = json!({"metadata": {"labels": {"l": "1"}}, "spec": {"x": 2}, "status": {"y": 1}});
    let main = patch(place, "parts", both.clone(), Subresource::None).await.unwrap();
    assert_eq!((main.meta.generation, main.meta.has_label("l")), (Some(2), true));
    assert!(main.value().unwrap().get("status").is_none());
    let labels = json!({"metadata": {"labels": {"m": "1"}}, "status": {"y": 1}});
    let status = patch(place, "parts", labels, Subresource::Status).await.unwrap();
    assert_eq!((status.meta.generation, status.meta.has_label("m")), (Some(2), false));
    assert_eq!(status.value().unwrap()["status"]["y"], 1);
    let same = patch(place, "parts", both, Subresource::None).await.unwrap();
    assert_eq!(same.meta.resource_version, status.meta.resource_version);
    let notes = json!({"metadata": {"annotations": {"n": "1"}}});
    let noted = patch(place, "parts", notes, Subresource::None).await.unwrap();
    assert_eq!(noted.meta.generation, Some(2));
    let stale = json!({"metadata": {"resourceVersion": first.meta.resource_version}});
    let stale = patch(place, "parts", stale, Subresource::None).await;
    assert!(matches!(stale, Err(PlaceError::Conflict(_))), "{stale:?}");
    let other = patch(place, "parts", json!({"metadata": {"uid": "other"}}), Subresource::None).await;
    assert!(matches!(other, Err(PlaceError::Conflict(_))), "{other:?}");
}

pub(crate) async fn null_removes_maps_and_their_keys(Server { place, .. }: &Server) {
    let place = &**place;
    create(place, "null", &["f"]).await;
    let more =
        json!({"metadata": {"labels": {"l": "1", "m": "2"}}, "spec": {"map": {"a": 1, "b": {}}, "y": null}});
    let more = patch(place, "null", more, Subresource::None).await.unwrap().value().unwrap();
    assert_eq!(more["spec"], json!({"x": 1, "map": {"a": 1, "b": {}}}));
    let fewer = json!({"metadata": {"labels": {"l": null}}, "spec": {"map": {"a": null}}});
    let fewer = patch(place, "null", fewer, Subresource::None).await.unwrap().value().unwrap();
    assert_eq!(
        (&fewer["metadata"]["labels"], &fewer["spec"]["map"]),
        (&json!({"m": "2"}), &json!({"b": {}}))
    );
    // A map of the metadata that loses its last key is no longer shown; one of the spec stays, empty.
    let last = json!({"metadata": {"labels": {"m": null}}, "spec": {"map": {"b": null}}});
    let last = patch(place, "null", last, Subresource::None).await.unwrap().value().unwrap();
    assert_eq!((last["metadata"].get("labels"), &last["spec"]["map"]), (None, &json!({})));
    let none =
        json!({"metadata": {"annotations": null, "finalizers": null, "labels": null}, "spec": {"map": null}});
    let none = patch(place, "null", none, Subresource::None).await.unwrap().value().unwrap();
    for field in ["annotations", "finalizers", "labels"] {
        assert_eq!(none["metadata"].get(field), None, "{field}");
    }
    assert_eq!(none["spec"], json!({"x": 1}));
}

pub(crate) async fn finalizers_hold_an_object(Server { place, .. }: &Server) {
    let object = create(&**place, "finalized", &["f"]).await;
    let wrong = Preconditions { uid: Some(Uid("other".to_owned())), resource_version: None };
    let refused = place.delete(&machines(), &key("finalized"), &wrong).await;
    assert!(matches!(refused, Err(PlaceError::Conflict(_))), "{refused:?}");
    place.delete(&machines(), &key("finalized"), &exactly(&object)).await.unwrap();
    let dying = place.get(&machines(), &key("finalized")).await.unwrap().unwrap();
    assert!(dying.meta.is_being_deleted());
    assert_eq!(dying.meta.generation, Some(2));
    let more = json!({"metadata": {"finalizers": ["f", "g"]}});
    let more = patch(&**place, "finalized", more, Subresource::None).await;
    assert!(matches!(more, Err(PlaceError::Invalid(_))), "{more:?}");
    // A second delete changes nothing.
    place.delete(&machines(), &key("finalized"), &exactly(&dying)).await.unwrap();
    let still = place.get(&machines(), &key("finalized")).await.unwrap().unwrap();
    assert_eq!(still.meta.resource_version, dying.meta.resource_version);
    let none = json!({"metadata": {"finalizers": null}});
    patch(&**place, "finalized", none, Subresource::None).await.unwrap();
    assert!(place.get(&machines(), &key("finalized")).await.unwrap().is_none());
    let gone = place.delete(&machines(), &key("finalized"), &Preconditions::default()).await;
    assert!(matches!(gone, Err(PlaceError::NotFound(_))), "{gone:?}");
}

pub(crate) async fn stale_deletes_are_conflicts(Server { place, .. }: &Server) {
    let first = create(&**place, "stale", &[]).await;
    let change = json!({"spec": {"x": 2}});
    let second = patch(&**place, "stale", change, Subresource::None).await.unwrap();
    let stale = place.delete(&machines(), &key("stale"), &exactly(&first)).await;
    assert!(matches!(stale, Err(PlaceError::Conflict(_))), "{stale:?}");
    assert!(place.get(&machines(), &key("stale")).await.unwrap().is_some());
    place.delete(&machines(), &key("stale"), &exactly(&second)).await.unwrap();
    assert!(place.get(&machines(), &key("stale")).await.unwrap().is_none());
    // An object that replaces it is another one.
    create(&**place, "stale", &[]).await;
    let earlier = Preconditions { uid: Some(second.meta.uid), resource_version: None };
    let replaced = place.delete(&machines(), &key("stale"), &earlier).await;
    assert!(matches!(replaced, Err(PlaceError::Conflict(_))), "{replaced:?}");
}

pub(crate) async fn terminating_namespaces_accept_no_objects(Server { place, .. }: &Server) {
    let mut body = machine("late");
    body["metadata"]["namespace"] = TERMINATING.into();
    for change in [Change::DryRun, Change::Real] {
        let refused = place.create(&machines(), &body, change).await;
        assert!(matches!(refused, Err(PlaceError::Forbidden(_))), "{refused:?}");
    }
    // Existing objects can be changed.
    let held = Key { namespace: Some(TERMINATING.to_owned()), ..key("held") };
    let body = json!({"metadata": {"annotations": {MARK: "move-1"}}});
    let change = Patch { body, subresource: Subresource::None, change: Change::Real };
    place.patch(&machines(), &held, &change).await.unwrap();
}

/// The error of a watch that can't begin. Where a place is far away, such a watch ends at once.
pub(crate) async fn watch_in_vain(place: &dyn Place, version: &str) -> PlaceError {
    match place.watch(&machines(), None, version).await {
        Err(error) => error,
        Ok(mut events) => events.try_next().await.unwrap_err(),
    }
}

pub(crate) async fn expired_watches_must_start_over(Server { place, expired }: &Server) {
    let error = watch_in_vain(&**place, expired).await;
    assert!(matches!(error, PlaceError::Expired(_)), "{error:?}");
    let listing = place.list(&machines(), Some("a")).await.unwrap();
    let mut events = place.watch(&machines(), Some("a"), &listing.resource_version).await.unwrap();
    create(&**place, "watched", &[]).await;
    let event = events.try_next().await.unwrap();
    assert!(matches!(&event, Some(Event::Applied(object)) if object.meta.name == "watched"));
}

pub(crate) async fn lists_contain_only_requested_objects(Server { place, .. }: &Server) {
    for (name, namespace, labels) in [
        ("listed-m", "a", json!({"listed": "1"})),
        ("listed-n", "a", json!({})),
        ("listed-m", "b", json!({"listed": ""})),
    ] {
        let mut body = machine(name);
        body["metadata"]["namespace"] = namespace.into();
        body["metadata"]["labels"] = labels;
        body["metadata"]["finalizers"] = json!(["f"]);
        place.create(&machines(), &body, Change::Real).await.unwrap();
    }
    // Other checks may have left objects there.
    let listed = |metas: Vec<Meta>| -> Vec<Meta> {
        metas.into_iter().filter(|meta| meta.name.starts_with("listed-")).collect()
    };
    let named = |metas: &[Meta]| -> Vec<String> {
        metas
            .iter()
            .map(|meta| format!("{}/{}", meta.namespace.as_deref().unwrap_or(""), meta.name))
            .collect()
    };
    let (all, of_a) = (["a/listed-m", "a/listed-n", "b/listed-m"], ["a/listed-m", "a/listed-n"]);
    for (namespace, expected) in [(None, &all[..]), (Some("a"), &of_a)] {
        let objects = place.list(&machines(), namespace).await.unwrap().objects;
        let metas = listed(objects.into_iter().map(|object| object.meta).collect());
        assert_eq!(named(&metas), expected);
        let only = listed(place.list_meta(&machines(), namespace).await.unwrap().metas);
        assert_eq!((named(&only), &only[0].finalizers[..]), (named(&metas), &["f".to_owned()][..]));
        let reduced = listed(place.list_identities(&machines(), namespace).await.unwrap().metas);
        assert_eq!(named(&reduced), expected);
        assert!(reduced[0].finalizers.is_empty() && reduced[0].uid == metas[0].uid);
    }
    let labelled = place.list_labelled(&machines(), "a", "listed").await.unwrap();
    assert_eq!(labelled.objects.iter().map(|object| &*object.meta.name).collect::<Vec<_>>(), ["listed-m"]);
    assert!(place.list(&machines(), Some("nowhere")).await.unwrap().objects.is_empty());
}

/// The next event of a watch: what happened, and to which object.
async fn next_event(events: &mut BoxStream<'static, Result<Event>>) -> (&'static str, String) {
    match events.try_next().await.unwrap().unwrap() {
        Event::Applied(object) => ("applied", object.meta.name),
        Event::Deleted(object) => ("deleted", object.meta.name),
    }
}

pub(crate) async fn watches_report_past_and_new_events_in_order(Server { place, .. }: &Server) {
    let listing = place.list(&machines(), None).await.unwrap();
    let made = create(&**place, "seen", &[]).await;
    let mut elsewhere = machine("seen-elsewhere");
    elsewhere["metadata"]["namespace"] = "b".into();
    place.create(&machines(), &elsewhere, Change::Real).await.unwrap();
    let mut events = place.watch(&machines(), Some("a"), &listing.resource_version).await.unwrap();
    assert_eq!(next_event(&mut events).await, ("applied", "seen".to_owned()));
    let later = place.clone();
    let changes = tokio::spawn(async move {
        patch(&*later, "seen", json!({"status": {"ready": false}}), Subresource::Status).await.unwrap();
        let of_it = Preconditions { uid: Some(made.meta.uid), resource_version: None };
        later.delete(&machines(), &key("seen"), &of_it).await.unwrap();
        create(&*later, "seen", &[]).await;
    });
    for what in ["applied", "deleted", "applied"] {
        assert_eq!(next_event(&mut events).await, (what, "seen".to_owned()));
    }
    changes.await.unwrap();
}

pub(crate) async fn two_requests_reach_one_cluster(Server { place, .. }: &Server) {
    let identity = place.identify().await.unwrap();
    assert!(matches!(identity, Identity::Cluster(_)));
    assert_eq!(place.identify().await.unwrap(), identity);
}
