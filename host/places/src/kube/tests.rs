//! Against a server that a test scripts: what a real API server does only on bad days.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use pivot_core::{Key, Meta};
use serde_json::json;

use super::*;
use crate::testing::kind;

mod connecting;

#[derive(Clone, Default)]
struct Reply {
    code: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<Bytes>,
}

fn reply(code: u16, body: impl Into<Bytes>) -> Reply {
    Reply { code, headers: Vec::new(), pieces: vec![body.into()] }
}

/// Answers in the given order, repeats the last answer, and records the requests.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let (notes, count) = (Arc::clone(&asked), Arc::clone(&connections));
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let (notes, replies) = (Arc::clone(&notes), Arc::clone(&replies));
                let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                    answer(request, Arc::clone(&notes), Arc::clone(&replies))
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(socket), service);
                tokio::spawn(async move {
                    // A client that disconnects is not the server's failure.
                    let _ = connection.await;
                });
            }
        });
        Self { url, asked, connections }
    }

    fn place(&self) -> KubePlace {
        let mut config = ::kube::Config::new(self.url.parse().unwrap());
        config.default_retry = false;
        KubePlace::from_client(::kube::Client::try_from(config).unwrap(), "test")
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn answer(
    request: Request<Incoming>,
    notes: Arc<Mutex<Vec<String>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
) -> Result<Response<http_body_util::combinators::BoxBody<Bytes, Infallible>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let mut note = format!("{} {}", parts.method, parts.uri);
    if !body.is_empty() {
        note.push_str(&format!(" {}", String::from_utf8_lossy(&body)));
    }
    notes.lock().unwrap().push(note);
    let reply = {
        let mut replies = replies.lock().unwrap();
        if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }.unwrap()
    };
    let mut response = Response::builder().status(reply.code);
    for (name, value) in &reply.headers {
        response = response.header(*name, value);
    }
    // Each piece is its own frame, with time to arrive separately.
    let frames = stream::iter(reply.pieces).enumerate().then(|(index, piece)| async move {
        if index > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(Frame::data(piece))
    });
    Ok(response.body(BodyExt::boxed(StreamBody::new(frames))).unwrap())
}

fn machines() -> Arc<Kind> {
    kind("cluster.x-k8s.io", "v1beta2", "Machine", "machines", true)
}

fn secrets() -> Arc<Kind> {
    kind("", "v1", "Secret", "secrets", true)
}

fn page(names: &[&str], token: &str, version: &str) -> Reply {
    let items: Vec<_> =
        names.iter().map(|name| json!({"metadata": {"name": name, "namespace": "a"}})).collect();
    let page = json!({"metadata": {"resourceVersion": version, "continue": token}, "items": items});
    reply(200, page.to_string())
}

fn status(code: u16, reason: &str, message: &str) -> Reply {
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message});
    reply(code, status.to_string())
}

fn listed(listing: &Listing) -> Vec<&str> {
    listing.objects.iter().map(|object| object.meta.name.as_str()).collect()
}

#[tokio::test]
async fn list_is_read_page_by_page() {
    let server = Server::start([page(&["m1", "m2"], "t=/1", "7"), page(&["m3"], "", "7")]).await;
    let listing = server.place().list(&machines(), Some("a")).await.unwrap();
    assert_eq!((listed(&listing), listing.resource_version.as_str()), (vec!["m1", "m2", "m3"], "7"));
    let path = "GET /apis/cluster.x-k8s.io/v1beta2/namespaces/a/machines?limit=500";
    assert_eq!(server.asked(), [path.to_owned(), format!("{path}&continue=t%3D%2F1")]);
}

/// Summaries of moves add up, and each may be large.
#[tokio::test]
async fn labelled_lists_have_smaller_pages() {
    let filler = "x".repeat(2 << 20);
    let page = |name: &str, token: &str| {
        let items: Vec<_> = (0..20)
            .map(|n| json!({"metadata": {"name": format!("{name}{n}")}, "data": {"list": filler}}))
            .collect();
        let meta = json!({"resourceVersion": "7", "continue": token});
        let text = json!({"metadata": meta, "items": items}).to_string();
        Reply { code: 200, headers: Vec::new(), pieces: vec![text.into()] }
    };
    let server = Server::start([page("a", "t"), page("b", "")]).await;
    let listing = server.place().list_labelled(&machines(), "a", "example.com/l").await.unwrap();
    assert_eq!(listing.objects.len(), 40);
    let path =
        "GET /apis/cluster.x-k8s.io/v1beta2/namespaces/a/machines?labelSelector=example.com%2Fl&limit=20";
    assert_eq!(server.asked(), [path.to_owned(), format!("{path}&continue=t")]);
}

#[tokio::test]
async fn lists_at_one_version_check_each_answer() {
    let (first, last) = (page(&["a"], "t", "7"), page(&["b"], "", "7"));
    let server = Server::start([first.clone(), last]).await;
    let listing = server.place().list_snapshot(&machines(), Some("ns"), "7").await.unwrap();
    assert_eq!((listed(&listing), listing.resource_version.as_str()), (vec!["a", "b"], "7"));
    let queries = server.asked().into_iter().map(|path| path.split_once('?').unwrap().1.to_owned());
    // With a token, a server refuses the version.
    let expected = ["limit=500&resourceVersion=7&resourceVersionMatch=Exact", "limit=500&continue=t"];
    assert_eq!(queries.collect::<Vec<_>>(), expected);

    // A server that ignores the parameter, on the first page or on the next one.
    for pages in [vec![page(&["a"], "", "8")], vec![first.clone(), page(&["b"], "", "8")]] {
        let server = Server::start(pages).await;
        let error = server.place().list_snapshot(&machines(), Some("ns"), "7").await.unwrap_err();
        assert!(
            error.to_string().contains("asked for resourceVersion 7, and the answer has \"8\""),
            "{error}"
        );
        assert!(error.is_version_refusal());
    }
    // The token that an expired page offers leads to another version.
    let server = Server::start([first, status(410, "Expired", "continue token too old")]).await;
    let error = server.place().list_snapshot(&machines(), Some("ns"), "7").await.unwrap_err();
    assert!(matches!(error, PlaceError::Expired(_)), "{error}");
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn expired_list_is_read_in_one_page() {
    let expired = status(410, "Expired", "continue token too old");
    let server = Server::start([page(&["old"], "t", "7"), expired, page(&["m1"], "", "9")]).await;
    let listing = server.place().list(&machines(), None).await.unwrap();
    assert_eq!((listed(&listing), listing.resource_version.as_str()), (vec!["m1"], "9"));
    assert_eq!(server.asked().last().unwrap(), "GET /apis/cluster.x-k8s.io/v1beta2/machines");
}

#[tokio::test]
async fn list_that_keeps_expiring_fails() {
    let server = Server::start([status(410, "Expired", "no")]).await;
    assert!(matches!(server.place().list(&machines(), None).await, Err(PlaceError::Expired(_))));
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn null_lists_are_empty_and_tokens_unique() {
    let null = reply(200, r#"{"metadata":{"resourceVersion":"3"},"items":null}"#);
    let listing = Server::start([null]).await.place().list(&machines(), None).await.unwrap();
    assert!(listing.objects.is_empty());
    let server = Server::start([page(&["m"], "t", "7")]).await;
    assert!(matches!(server.place().list(&machines(), None).await, Err(PlaceError::Unreadable(_))));
}

// proves: T105
#[tokio::test]
async fn endless_list_is_refused() {
    let server = Server::start((0..3_000).map(|n| page(&["m"], &format!("t{n}"), "7"))).await;
    let error = server.place().list(&machines(), None).await.err().unwrap();
    assert!(matches!(&error, PlaceError::Unreadable(text) if text.contains("no end")), "{error}");
    assert_eq!(server.asked().len(), 2_000);
}

#[tokio::test]
async fn huge_list_is_read_without_copies() {
    let filler = "x".repeat(1 << 20);
    let items: Vec<_> =
        (0..40).map(|n| json!({"metadata": {"name": format!("m{n}")}, "spec": filler})).collect();
    let text = json!({"metadata": {"resourceVersion": "1"}, "items": items}).to_string();
    let pieces = text.as_bytes().chunks(3_000_001).map(Bytes::copy_from_slice).collect();
    let server = Server::start([Reply { code: 200, headers: Vec::new(), pieces }]).await;
    let listing = server.place().list(&machines(), None).await.unwrap();
    assert_eq!(listing.objects.len(), 40);
    let starts: Vec<usize> = listing.objects.iter().map(|object| object.raw().as_ptr() as usize).collect();
    let span = starts.iter().max().unwrap() - starts.iter().min().unwrap();
    assert!(span < text.len(), "the objects lie in one buffer");
}

#[tokio::test]
async fn metadata_is_read_from_whole_objects() {
    let server = Server::start([page(&["m1"], "", "7")]).await;
    let listing = server.place().list_meta(&machines(), None).await.unwrap();
    assert_eq!(listing.metas[0].name, "m1");
}

/// Of thousands of objects, the rest is most of what would be held.
#[tokio::test]
async fn identities_have_only_names_and_owners() {
    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"});
    let meta = json!({"name": "m1", "namespace": "a", "uid": "1", "resourceVersion": "2", "labels": {"l": "1"},
        "annotations": {"a": "1"}, "finalizers": ["f"], "ownerReferences": [owner],
        "managedFields": [{"manager": "m", "operation": "Apply"}]});
    let list = json!({"metadata": {"resourceVersion": "7"}, "items": [{"metadata": meta}]}).to_string();
    let server = Server::start([Reply { code: 200, headers: Vec::new(), pieces: vec![list.into()] }]).await;
    let listing = server.place().list_identities(&machines(), None).await.unwrap();
    let only = json!({"name": "m1", "namespace": "a", "uid": "1", "resourceVersion": "2", "ownerReferences": [owner]});
    assert_eq!(listing.metas, [serde_json::from_value::<Meta>(only).unwrap()]);
}

#[tokio::test]
async fn throttling_has_the_requested_pause() {
    let mut slow = status(429, "TooManyRequests", "later");
    slow.headers.push(("retry-after", "3".to_owned()));
    let server = Server::start([slow]).await;
    let Err(error) = server.place().list(&machines(), None).await else { panic!() };
    assert!(error.is_transient());
    let PlaceError::TooManyRequests { retry_after } = error else { panic!("{error}") };
    assert_eq!(retry_after, Some(Duration::from_secs(3)));
    assert_eq!(server.asked().len(), 1, "only the engine retries");
}

// proves: T110, W15
#[tokio::test]
async fn w15_only_the_server_reports_absent_objects() {
    let key = Key::new(machines().group_kind.clone(), Some("a"), "m");
    let gone = Server::start([status(404, "NotFound", "machines \"m\" not found")]).await;
    assert!(gone.place().get(&machines(), &key).await.unwrap().is_none());
    for other in ["404 page not found", "<html>nothing here</html>", "{}"] {
        let server = Server::start([reply(404, other)]).await;
        let error = server.place().get(&machines(), &key).await.unwrap_err();
        assert!(matches!(error, PlaceError::NotFound(_)), "{error}");
    }
}

// proves: T108
#[tokio::test]
async fn invalid_response_is_not_quoted() {
    let key = Key::new(secrets().group_kind.clone(), Some("a"), "s");
    let server = Server::start([reply(200, "hunter2")]).await;
    let place = server.place();
    let errors = [
        place.get(&secrets(), &key).await.unwrap_err(),
        place.list(&secrets(), None).await.unwrap_err(),
        place.kinds().await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, PlaceError::Unreadable(_)), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn writes_are_strict_and_name_their_manager() {
    let server = Server::start([reply(201, r#"{"metadata":{"name":"m"}}"#)]).await;
    let (place, machine) = (server.place(), machines());
    let key = Key::new(machine.group_kind.clone(), Some("a"), "m");
    let body = json!({"metadata": {"name": "m", "namespace": "a"}});
    place.create(&machine, &body, Change::DryRun).await.unwrap();
    let patch = Patch { body: json!({"a": 1}), subresource: Subresource::Status, change: Change::Real };
    place.patch(&machine, &key, &patch).await.unwrap();
    let must = Preconditions { uid: Some(Uid("u".to_owned())), resource_version: Some("5".to_owned()) };
    place.delete(&machine, &key, &must).await.unwrap();
    let path = "/apis/cluster.x-k8s.io/v1beta2/namespaces/a/machines";
    let query = "?fieldManager=pivot-host&fieldValidation=Strict";
    assert_eq!(
        server.asked(),
        [
            format!("POST {path}{query}&dryRun=All {body}"),
            format!("PATCH {path}/m/status{query} {}", json!({"a": 1})),
            format!(
                "DELETE {path}/m {}",
                json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
                    "preconditions": {"uid": "u", "resourceVersion": "5"}})
            ),
        ]
    );
}

// proves: I8, T108, T128
#[tokio::test]
async fn rejected_secret_reveals_no_values() {
    let server = Server::start([status(400, "BadRequest", "illegal base64 in ...hunter2...")]).await;
    let body = json!({"metadata": {"name": "s", "namespace": "a"}, "data": {"k": "hunter2"}});
    let error = server.place().create(&secrets(), &body, Change::Real).await.unwrap_err();
    assert_eq!(error.to_string(), "refused: create Secret a/s: BadRequest");
}

/// Admission webhooks receive the object that is deleted.
// proves: I8, T108, T128
#[tokio::test]
async fn refused_delete_reveals_no_values() {
    let denied = "admission webhook \"v.example.com\" denied the request";
    let server = Server::start([status(400, "BadRequest", &format!("{denied}: it has hunter2"))]).await;
    let key = Key::new(secrets().group_kind.clone(), Some("a"), "s");
    let error = server.place().delete(&secrets(), &key, &Preconditions::default()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("refused: delete Secret a/s: {denied}: BadRequest"));
}

#[tokio::test]
async fn watch_events_may_arrive_in_any_chunks() {
    let line =
        |kind: &str, object: serde_json::Value| format!("{}\n", json!({"type": kind, "object": object}));
    let object = |name: &str| json!({"metadata": {"name": name, "namespace": "a"}});
    let text = line("ADDED", object("m1"))
        + &line("BOOKMARK", json!({"metadata": {"resourceVersion": "9"}}))
        + &line("MODIFIED", object("m2"))
        + &line("DELETED", object("m1"));
    for size in [7, 40, 10_000] {
        let pieces = text.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
        let server = Server::start([Reply { code: 200, headers: Vec::new(), pieces }]).await;
        let events: Vec<Event> =
            server.place().watch(&machines(), None, "5").await.unwrap().try_collect().await.unwrap();
        let [Event::Applied(a), Event::Applied(b), Event::Deleted(c)] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!([&a.meta.name, &b.meta.name, &c.meta.name], ["m1", "m2", "m1"]);
        let asked = "/machines?watch=true&allowWatchBookmarks=true&resourceVersion=5";
        assert!(server.asked()[0].ends_with(asked));
    }
}

#[tokio::test]
async fn watch_expires_at_once_or_later() {
    let event = json!({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}});
    for reply in [status(410, "Expired", "too old"), reply(200, format!("{event}\n"))] {
        let server = Server::start([reply]).await;
        let error = match server.place().watch(&machines(), None, "5").await {
            Err(error) => error,
            Ok(mut events) => {
                let error = events.next().await.unwrap().unwrap_err();
                assert!(events.next().await.is_none());
                error
            }
        };
        assert!(matches!(error, PlaceError::Expired(_)), "{error}");
    }
}

#[tokio::test]
async fn watch_reports_a_cut_line() {
    let server = Server::start([reply(200, r#"{"type":"ADDED","obj"#)]).await;
    let mut events = server.place().watch(&machines(), None, "5").await.unwrap();
    assert!(matches!(events.next().await, Some(Err(PlaceError::Unavailable(_)))));
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn unreachable_server_is_a_transient_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let server = Server { url, asked: Arc::default(), connections: Arc::default() };
    let error = server.place().identify().await.unwrap_err();
    assert!(error.is_transient(), "{error}");
}

#[tokio::test]
async fn identity_needs_permission_for_kube_system() {
    let server = Server::start([status(403, "Forbidden", "no")]).await;
    assert_eq!(server.place().identify().await.unwrap(), Identity::Unknown);
    let server = Server::start([reply(200, r#"{"metadata":{"name":"kube-system","uid":"u"}}"#)]).await;
    assert_eq!(server.place().identify().await.unwrap(), Identity::Cluster(Uid("u".to_owned())));
}

#[tokio::test]
async fn denied_access_keeps_its_order() {
    let yes = reply(201, r#"{"status":{"allowed":true}}"#);
    let server = Server::start([reply(201, r#"{"status":{}}"#), yes, reply(201, r#"{"status":{}}"#)]).await;
    let access = |verb: &'static str| Access {
        verb: verb.into(),
        group: "g".to_owned(),
        resource: "as".to_owned(),
        subresource: "".into(),
        namespace: None,
    };
    let denied =
        server.place().find_denied(&[access("create"), access("delete"), access("list")]).await.unwrap();
    assert_eq!(denied.len(), 2);
}

#[tokio::test]
async fn administrator_needs_one_access_review() {
    let yes = reply(201, r#"{"status":{"allowed":true}}"#);
    let server = Server::start([yes, reply(500, "")]).await;
    let access = Access {
        verb: "create".into(),
        group: String::new(),
        resource: "secrets".to_owned(),
        subresource: "".into(),
        namespace: None,
    };
    assert_eq!(server.place().find_denied(&[access.clone(), access]).await.unwrap(), []);
}

/// One full namespace must not keep others from a list of all.
// proves: T147
#[tokio::test]
async fn metadata_above_budget_has_small_pages() {
    let replies = [page(&["first"], "t", "7"), large_page(60, ""), large_page(20, "u"), large_page(20, "")];
    let server = Server::start(replies).await;
    let place = server.place().limit_answers(50 << 20);
    let listing = place.list_identities(&machines(), None).await.unwrap();
    assert_eq!(listing.metas.len(), 41);
    let path = "GET /apis/cluster.x-k8s.io/v1beta2/machines?limit=";
    let asked = ["500", "500&continue=t", "20&continue=t", "20&continue=u"];
    assert_eq!(server.asked(), asked.map(|query| format!("{path}{query}")));
    // All of a whole object is kept: smaller pages would hold no less.
    let server = Server::start([large_page(60, "")]).await;
    let refused = server.place().limit_answers(50 << 20).list(&machines(), None).await.err().unwrap();
    assert!(refused.to_string().contains("more than 50 MiB"), "{refused}");
    assert_eq!(server.asked().len(), 1);
}

/// Replies with pages of so many objects, each of 1 MiB of metadata.
fn large_page(count: usize, token: &str) -> Reply {
    let item =
        |n: usize| json!({"metadata": {"name": format!("m{n}"), "annotations": {"a": "x".repeat(1 << 20)}}});
    let items: Vec<_> = (0..count).map(item).collect();
    let page = json!({"metadata": {"resourceVersion": "7", "continue": token}, "items": items});
    reply(200, page.to_string())
}

/// The times are kept of each object, and are texts like all others.
// proves: T147
#[tokio::test]
async fn long_times_of_metadata_are_held() {
    for field in ["creationTimestamp", "deletionTimestamp"] {
        let page = |token: &str| {
            let item = json!({"metadata": {"name": "m", field: "x".repeat(3 << 20)}});
            let meta = json!({"resourceVersion": "7", "continue": token});
            reply(200, json!({"metadata": meta, "items": [item]}).to_string())
        };
        let server = Server::start([page("t"), page("")]).await;
        let place = server.place().limit_answers(4 << 20);
        let refused = place.list_identities(&machines(), None).await.err().unwrap();
        assert!(refused.to_string().contains("more than 4 MiB"), "{field}: {refused}");
    }
}

/// A move has a watch open for each kind and namespace that it waits for.
// proves: T147
#[tokio::test]
async fn watches_hold_what_they_read_ahead() {
    let event = |size: usize| {
        let object = json!({"metadata": {"name": "m", "namespace": "a"}, "spec": "x".repeat(size)});
        format!("{}\n", json!({"type": "ADDED", "object": object}))
    };
    let watch = async |text: String| {
        let pieces = text.as_bytes().chunks(1 << 18).map(Bytes::copy_from_slice).collect();
        let server = Server::start([Reply { code: 200, headers: Vec::new(), pieces }]).await;
        let place = server.place().limit_answers(3 << 20);
        place.watch(&machines(), None, "5").await.unwrap().try_collect::<Vec<Event>>().await
    };
    // One after the other.
    assert_eq!(watch(event(1 << 20).repeat(5)).await.unwrap().len(), 5);
    let refused = watch(event(4 << 20)).await.unwrap_err();
    assert!(refused.to_string().contains("more than 3 MiB"), "{refused}");
}

/// A move keeps objects that it reads one by one, for example while it waits for the takeover.
// proves: T147
#[tokio::test]
async fn objects_read_one_by_one_are_held() {
    let object = json!({"metadata": {"name": "m", "namespace": "a"}, "spec": "x".repeat(3 << 19)});
    let server = Server::start([reply(200, object.to_string())]).await;
    // Single objects have 1 MiB in addition, which is too little for one of these.
    let (place, machines) = (server.place().limit_answers(4 << 20), machines());
    let key = Key::new(machines.group_kind.clone(), Some("a"), "m");
    let get = || place.get(&machines, &key);
    let kept = [get().await.unwrap(), get().await.unwrap()];
    let refused = get().await.unwrap_err();
    assert!(refused.to_string().contains("read Machine a/m: more than 4 MiB"), "{refused}");
    // The answer to a write is never lost.
    place.create(&machines, &object, Change::Real).await.unwrap();
    drop(kept);
    get().await.unwrap();
}

/// A move keeps the ids of each copy, and the version of each list that it watches.
// proves: T147
#[tokio::test]
async fn ids_that_no_server_assigns_are_refused() {
    let key = Key::new(machines().group_kind.clone(), Some("a"), "m");
    let body = json!({"metadata": {"name": "m", "namespace": "a"}});
    let page = |meta: Value, item: &Value| reply(200, json!({"metadata": meta, "items": [item]}).to_string());
    for (field, id) in [("uid", "x".repeat(254)), ("resourceVersion", "1 2".to_owned())] {
        let object = json!({"metadata": {"name": "m", "namespace": "a", field: id}});
        let one = Server::start([reply(200, object.to_string())]).await.place();
        let list = Server::start([page(json!({"resourceVersion": "7"}), &object)]).await.place();
        let event = format!("{}\n", json!({"type": "ADDED", "object": object}));
        let watch = Server::start([reply(200, event)]).await.place();
        for error in [
            one.get(&machines(), &key).await.unwrap_err(),
            one.create(&machines(), &body, Change::Real).await.unwrap_err(),
            list.list(&machines(), None).await.unwrap_err(),
            list.list_identities(&machines(), None).await.unwrap_err(),
            watch.watch(&machines(), None, "5").await.unwrap().next().await.unwrap().unwrap_err(),
        ] {
            assert!(error.to_string().contains("isn't a valid uid or resourceVersion"), "{error}");
        }
    }
    let list = Server::start([page(json!({"resourceVersion": "x".repeat(254)}), &body)]).await.place();
    assert!(list.list(&machines(), None).await.is_err());
}

/// Even twenty objects may be more than is held for one side of a move.
// proves: T147
#[tokio::test]
async fn pages_of_metadata_shrink_until_they_fit() {
    let refused = [20, 20, 10, 5].map(|count| large_page(count, "t"));
    // So small, they are more than any list has pages of the usual size.
    let small = (0..2_100).map(|n| page(&["m"], &format!("t{n}"), "7"));
    let replies = refused.into_iter().chain([large_page(2, "t")]).chain(small).chain([large_page(1, "")]);
    let server = Server::start(replies).await;
    let place = server.place().limit_answers(4 << 20);
    let listing = place.list_identities(&machines(), None).await.unwrap();
    assert_eq!(listing.metas.len(), 2 + 2_100 + 1);
    let limits: Vec<_> =
        server.asked().iter().map(|asked| asked.split(['=', '&']).nth(1).unwrap().to_owned()).collect();
    assert_eq!(limits[..6], ["500", "20", "10", "5", "2", "2"]);
    // One that doesn't fit is the end.
    let server = Server::start([large_page(5, "t")]).await;
    let refused =
        server.place().limit_answers(4 << 20).list_identities(&machines(), None).await.err().unwrap();
    assert!(refused.to_string().contains("more than 4 MiB"), "{refused}");
    assert_eq!(server.asked().len(), 6);
}

// proves: T147
#[tokio::test]
async fn large_expired_list_is_paged() {
    let expired = status(410, "Expired", "continue token too old");
    let replies =
        [page(&["old"], "t", "6"), expired, large_page(9, ""), large_page(2, "u"), large_page(1, "")];
    let server = Server::start(replies).await;
    let listing = server.place().limit_answers(4 << 20).list_identities(&machines(), None).await.unwrap();
    assert_eq!((listing.metas.len(), listing.resource_version.as_str()), (3, "7"));
    let asked = server.asked();
    let queries: Vec<_> =
        asked.iter().map(|asked| asked.split_once('?').map_or("", |(_, query)| query)).collect();
    assert_eq!(queries, ["limit=500", "limit=500&continue=t", "", "limit=20", "limit=20&continue=u"]);
}
