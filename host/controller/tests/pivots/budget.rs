//! The bytes of its own cluster's answers that a move holds.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use pivot_controller::{GROUP, KubeOpener, Opener, VERSION};
use pivot_core::KindLabels;
use pivot_memory::MemoryPlace;
use pivot_places::{Budget, ConnectOptions, KubePlace, Place};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::stage::{Stage, kind, object};

const MACHINES: usize = 300;
/// Bytes that an object counts for beside its text.
const EACH: usize = 512;

fn add_machines(place: &MemoryPlace, namespace: &str) {
    for index in 0..MACHINES {
        let mut machine = object(namespace, "Machine", &format!("more-{index}"), Some("Cluster"));
        machine["status"] = json!({"nodeRef": {"name": format!("more-{index}")}});
        machine["spec"] = json!({"text": "x".repeat(2_000)});
        place.insert(machine).unwrap();
    }
}

/// Returns true if a move of these machines is done with a budget of so many bytes.
async fn moves(budget: usize) -> bool {
    let mut stage = Stage::new(&["a"]);
    stage.budget = Some(budget);
    add_machines(&stage.home, "a");
    stage.ask("a");
    let running = stage.start();
    let held = |stage: &Stage| {
        stage.pivot("a").unwrap()["status"]["message"].to_string().contains("would be held at once")
    };
    stage.until("ended", |stage| stage.is("a", "Succeeded") || held(stage)).await;
    running.kill();
    stage.is("a", "Succeeded")
}

/// docs/controller.md says by this how many objects a budget has room for.
#[tokio::test(start_paused = true)]
async fn moves_hold_a_third_more_than_their_objects() {
    let stage = Stage::new(&["a"]);
    add_machines(&stage.home, "a");
    let of_a = stage.home.keys().into_iter().filter(|key| key.namespace.as_deref() == Some("a"));
    let all: usize = of_a.map(|key| stage.home.body(&key).unwrap().to_string().len() + EACH).sum();
    assert!(moves(all * 4 / 3).await);
    assert!(!moves(all * 9 / 10).await, "the budget counts nothing");
}

const MIB: usize = 1 << 20;

/// Page of a list of Secrets: 10 MiB.
fn page(token: &str) -> Value {
    let secret = |n: usize| json!({"metadata": {"name": format!("s{n}"), "namespace": "shop"}, "data": {"a": "x".repeat(MIB)}});
    let items: Vec<Value> = (0..10).map(secret).collect();
    json!({"metadata": {"resourceVersion": "7", "continue": token}, "items": items})
}

/// An API server with one page of Secrets in `bank`, three in `shop`, and one Pivot. The test lets it send each page of `shop`.
async fn serve(listener: TcpListener, pages: mpsc::Sender<oneshot::Sender<()>>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let pages = pages.clone();
        let answer = service_fn(move |request: Request<Incoming>| {
            let (uri, pages) = (request.uri().to_string(), pages.clone());
            async move {
                if uri.contains("/shop/") {
                    let (send, word) = oneshot::channel();
                    pages.send(send).await.unwrap();
                    word.await.unwrap();
                }
                let pivot = json!({"metadata": {"name": "pivot", "namespace": "shop"}});
                let list = match () {
                    () if uri.contains("/pivots") => {
                        json!({"metadata": {"resourceVersion": "7"}, "items": [pivot]})
                    }
                    () if uri.contains("/bank/") || uri.contains("continue=third") => page(""),
                    () if uri.contains("continue=second") => page("third"),
                    () => page("second"),
                };
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(list.to_string()))))
            }
        });
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

/// Connects to it by a kubeconfig.
async fn connect(url: &str, budget: &Budget) -> KubePlace {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": url}}], "users": [{"name": "a", "user": {}}],
    });
    let file = std::env::temp_dir().join(format!("pivots-budget-{}.kubeconfig", std::process::id()));
    std::fs::write(&file, config.to_string()).unwrap();
    let (kubeconfig, budget) = (Some(file.clone()), Some(budget.clone()));
    let place = KubePlace::connect(ConnectOptions { kubeconfig, budget, ..ConnectOptions::default() }).await;
    std::fs::remove_file(file).unwrap();
    place.unwrap()
}

/// A user who may write Pivots may fill their namespace, and fails only their own lists.
// proves: T147
#[tokio::test]
async fn each_pivot_has_a_budget_for_its_own_cluster() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (send, mut pages) = mpsc::channel(1);
    let server = tokio::spawn(serve(listener, send));
    // The controller has 5 MiB for itself, all moves have 40, and each has 15.
    let whole = Budget::new(45 * MIB);
    let home = connect(&url, &whole).await;
    let (own, home) = (home.limit_answers(40 * MIB), home.limit_answers(5 * MIB));
    let opener = KubeOpener { own: own.clone(), agents: None, answers: 15 * MIB, special_networks: vec![] };
    let secrets = Arc::new(kind("", "Secret", "secrets", "v1", KindLabels::default()));
    let pivots = Arc::new(kind(GROUP, "Pivot", "pivots", VERSION, KindLabels::default()));
    let left = |bytes: usize| whole.share().grow(bytes, "what is left").is_ok();

    let one = opener.open_own();
    let reading = tokio::spawn({
        let secrets = secrets.clone();
        async move { one.list(&secrets, Some("shop")).await.map(drop) }
    });
    pages.recv().await.unwrap().send(()).unwrap();
    let second = pages.recv().await.unwrap();
    // With the first page read, there is room for others and their pages.
    assert!(left(25 * MIB));
    let other = opener.open_own().list(&secrets, Some("bank")).await.unwrap();
    home.list_identities(&pivots, None).await.unwrap();
    second.send(()).unwrap();
    let refused = reading.await.unwrap().unwrap_err();
    assert!(refused.to_string().contains("more than 15 MiB"), "{refused}");
    assert!(pages.try_recv().is_err(), "more is read than may be held");
    drop(other);
    assert!(left(45 * MIB));

    // All moves hold all that they may, and the Pivots are listed.
    let held: Vec<_> = futures::future::join_all(
        (0..3).map(|_| async { opener.open_own().list(&secrets, Some("bank")).await.unwrap() }),
    )
    .await;
    let refused = opener.open_own().list(&secrets, Some("bank")).await.unwrap_err();
    assert!(refused.to_string().contains("more than 40 MiB"), "{refused}");
    home.list_identities(&pivots, None).await.unwrap();
    drop(held);
    let refused = home.list(&secrets, Some("bank")).await.unwrap_err();
    assert!(refused.to_string().contains("more than 5 MiB"), "{refused}");
    opener.open_own().list(&secrets, Some("bank")).await.unwrap();
    server.abort();
}
