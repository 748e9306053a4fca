//! The connections of a run: few, and not missed if they break.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use pivot_core::Key;
use pivot_lab::proxy::Break;
use pivot_lab::{Observer, Rules, Server, say};
use pivot_places::{ConnectOptions, KubePlace, Place};
use pivot_scenarios::host::Host;
use pivot_scenarios::shape;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::stage::{Stage, all, clean, same};

/// TLS records that a wire carries before it is cut for the first time: some dozens of requests with their answers.
const RECORDS_BEFORE_CUT: u64 = 100;
/// After each cut, a wire carries so many records more, so that long lists get through, too.
const MORE_RECORDS: u64 = 50;

/// Each has 43 objects.
const NAMESPACES: [&str; 3] = ["shop", "bank", "mail"];

async fn filled() -> Stage {
    let stage = Stage::start().await;
    let objects = NAMESPACES.iter().flat_map(|namespace| shape::cluster(namespace, 3)).collect();
    stage.pair.source.apply_values(objects).await.unwrap();
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_opens_few_connections() {
    let stage = filled().await;
    for round_trip in [Duration::ZERO, Duration::from_millis(20)] {
        let wires = stage.relayed().await;
        wires.delay(round_trip);
        let begun = Instant::now();
        let words = [&["plan", "-A"][..], &shape::WITHOUT_PLUGIN].concat();
        let plan = wires.host.run(&words).await.unwrap().done().unwrap();
        let (source, target) = (wires.source.connections(), wires.target.connections());
        say(format_args!(
            "{round_trip:?}: {source} connections to the source, {target} to the target, {:.2?}",
            begun.elapsed()
        ));
        assert_eq!(plan["steps"].as_array().map(Vec::len), Some(129), "{plan:#}");
        assert!(source <= 8 && target <= 8, "{source} connections to the source, {target} to the target");
    }
}

/// A proxy that asks for a password; counts the tunnels that it makes.
async fn proxy(tunnels: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let tunnels = tunnels.clone();
            tokio::spawn(async move {
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    head.push(char::from(near.read_u8().await.unwrap()));
                }
                let server = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
                if !head.to_lowercase().contains("proxy-authorization: basic dtpwqa==\r\n") {
                    return near
                        .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                        .await
                        .unwrap();
                }
                let mut far = TcpStream::connect(server.unwrap()).await.unwrap();
                tunnels.fetch_add(1, Ordering::SeqCst);
                near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                // How a connection ends is for its two ends.
                let _ = copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    format!("http://u:p%40@{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_opens_few_tunnels_through_a_proxy() {
    let stage = filled().await;
    let (tunnels, dir) = (Arc::new(AtomicUsize::new(0)), tempfile::tempdir().unwrap());
    let url = proxy(tunnels.clone()).await;
    let [from, to] = [&stage.pair.source, &stage.pair.target].map(|server| {
        let text = std::fs::read_to_string(server.kubeconfig()).unwrap();
        let mut kubeconfig: Value = serde_json::from_str(&text).unwrap();
        kubeconfig["clusters"][0]["cluster"]["proxy-url"] = json!(url);
        let file = dir.path().join(server.name());
        std::fs::write(&file, kubeconfig.to_string()).unwrap();
        file
    });
    let words = [&["plan", "-A"][..], &shape::WITHOUT_PLUGIN].concat();
    Host::between(&from, &to).run(&words).await.unwrap().done().unwrap();
    let tunnels = tunnels.load(Ordering::SeqCst);
    assert!((2..=16).contains(&tunnels), "{tunnels}");
}

/// A server takes 250 requests on an HTTP/2 connection; a watch is one that lasts.
#[tokio::test(flavor = "multi_thread")]
async fn watches_hold_no_other_request_up() {
    let server = Server::start("watched").await.unwrap();
    let options = ConnectOptions { kubeconfig: Some(server.kubeconfig().to_owned()), ..Default::default() };
    let place = KubePlace::connect(options).await.unwrap();
    let kinds = place.kinds().await.unwrap();
    let of = |name: &str| kinds.iter().find(|kind| kind.group_kind.kind == name).unwrap();
    let (maps, lease) = (of("ConfigMap"), of("Lease"));
    let opened = (0..300).map(|_| place.watch(maps, None, "0"));
    let watches = join_all(opened).await.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
    let key = Key::new(lease.group_kind.clone(), Some("default"), "none");
    let asked = async { (place.get(lease, &key).await, place.list(maps, None).await) };
    let (found, listed) = tokio::time::timeout(Duration::from_secs(10), asked).await.unwrap();
    assert!(found.unwrap().is_none() && !listed.unwrap().objects.is_empty());
    assert_eq!(watches.len(), 300);
}

/// Everything that is under way on a connection fails with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_outlives_its_connections() {
    let stage = filled().await;
    let before = all(&stage.pair.source, &NAMESPACES).await;
    let wires = stage.relayed().await;
    wires.delay(Duration::from_millis(5));
    let observer = Observer::of(&stage.pair, &NAMESPACES).await.unwrap();
    let mut run = wires.host.start(&[&["move", "-A"][..], &shape::WITHOUT_PLUGIN].concat()).await.unwrap();
    let mut cuts = 0;
    let mut wires = [(&wires.target, Break::Cut), (&wires.source, Break::Reset)]
        .map(|(wire, how)| (wire, how, RECORDS_BEFORE_CUT));
    while run.still_runs().unwrap() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        // A wire is cut by what it carried, not by a clock: a slow machine would use up the tries of a request.
        for (wire, how, cut_at) in &mut wires {
            if wire.records() >= *cut_at {
                wire.sever(*how);
                wire.heal();
                cuts += 1;
                *cut_at = wire.records() + RECORDS_BEFORE_CUT + MORE_RECORDS * cuts;
            }
        }
    }
    run.end().await.unwrap().done().unwrap();
    assert!(cuts > 5, "{cuts} cuts");
    same(before, all(&stage.pair.target, &NAMESPACES).await);
    assert!(all(&stage.pair.source, &NAMESPACES).await.is_empty());
    stage.tidy(&NAMESPACES).await;
    clean(observer, &Rules::new()).await;
}
