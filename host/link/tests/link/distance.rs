//! A place that is 200 ms away: what can be asked at once is, and a lease is renewed beside a long list.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use pivot_core::objects::names::MARK;
use pivot_core::{GroupKind, Key, Kind};
use pivot_lab::Relay;
use pivot_link::{Guard, LinkPlace, Role, serve};
use pivot_memory::MemoryPlace;
use pivot_places::{Change, Place, builtin_kinds};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

const ROUND_TRIP: Duration = Duration::from_millis(200);

/// The agent dials; the one that is called asks.
async fn distant(place: &MemoryPlace) -> (Arc<LinkPlace>, Relay) {
    let cell = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = Relay::start(cell.local_addr().unwrap()).await.unwrap();
    relay.delay(ROUND_TRIP);
    let agent = TcpStream::connect(relay.address()).await.unwrap();
    let (near, _) = cell.accept().await.unwrap();
    for stream in [&agent, &near] {
        stream.set_nodelay(true).unwrap();
    }
    let far = Arc::new(place.clone());
    let guard = Guard {
        namespaces: None,
        record_namespace: "pivot-host-records".into(),
        role: Role::Target,
        keep_answering: false,
    };
    tokio::spawn(async move { drop(serve(agent, far, guard).await) });
    let (place, alive) = LinkPlace::connect(near).await.unwrap();
    tokio::spawn(alive);
    (place, relay)
}

fn kind(name: &str) -> Arc<Kind> {
    Arc::new(builtin_kinds().into_iter().find(|kind| kind.group_kind.kind == name).unwrap())
}

fn config_map(index: usize, size: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "x".repeat(size)},
        "metadata": {"name": format!("c{index}"), "namespace": "default", "annotations": {MARK: "1"}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_creates_take_few_round_trips() {
    let place = MemoryPlace::new("far");
    let (link, _relay) = distant(&place).await;
    let config_maps = kind("ConfigMap");
    let begun = Instant::now();
    let creates = futures::stream::iter(0..1_000).map(|index| {
        let (link, kind) = (link.clone(), config_maps.clone());
        async move { link.create(&kind, &config_map(index, 2_000), Change::Real).await.unwrap() }
    });
    let made = creates.buffer_unordered(256).count().await;
    let took = begun.elapsed();
    println!("1,000 creates of 2 kB at 200 ms, 256 at once: {took:?}");
    assert_eq!(made, 1_000);
    // Four waves; a link that carries one at a time takes 200 seconds.
    assert!(took < Duration::from_secs(8), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lease_is_read_during_a_list() {
    let place = MemoryPlace::new("far");
    for index in 0..400 {
        place.insert(config_map(index, 100_000)).unwrap();
    }
    let (link, _relay) = distant(&place).await;
    let (config_maps, namespaces) = (kind("ConfigMap"), kind("Namespace"));
    let begun = Instant::now();
    let list = tokio::spawn({
        let link = link.clone();
        async move { (link.list(&config_maps, None).await.unwrap().objects.len(), begun.elapsed()) }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let asked = Instant::now();
    let key = Key::new(GroupKind::new("", "Namespace"), None, "default");
    link.get(&namespaces, &key).await.unwrap().unwrap();
    let answered = asked.elapsed();
    let (objects, took) = list.await.unwrap();
    println!("a list of 40 MB at 200 ms: {took:?}; one object meanwhile: {answered:?}");
    assert_eq!(objects, 400);
    assert!(answered < Duration::from_secs(4), "{answered:?}");
}
