//! The network fails as requested, and only as requested.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use http::{Method, Request};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use pivot_lab::process::Process;
use pivot_lab::proxy::{Fault, Moment, Partition, Rule, Times};
use pivot_lab::{FaultProxy, Server};
use serde_json::json;

const AGENT: &str = "lab-test/1";

struct Setup {
    server: Server,
    proxy: FaultProxy,
    client: Client,
    maps: Api<ConfigMap>,
}

async fn setup() -> Setup {
    let server = Server::start("behind").await.unwrap();
    let proxy = FaultProxy::start(&server).await.unwrap();
    let client = proxy.client().await.unwrap();
    Setup { maps: Api::default_namespaced(client.clone()), client, proxy, server }
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
}

async fn create(client: &Client, name: &str, query: &str) -> Result<ConfigMap, kube::Error> {
    let request = Request::post(format!("/api/v1/namespaces/default/configmaps?{query}"))
        .header("user-agent", AGENT)
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&json!({ "metadata": { "name": name } })).unwrap());
    client.request(request.unwrap()).await
}

fn code(error: kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}

#[tokio::test]
async fn delays_answers_and_resets_hit_the_requests_they_are_for() {
    let Setup { server, proxy, client, maps } = setup().await;
    let faults = proxy.faults();
    let direct: Api<ConfigMap> = Api::default_namespaced(server.client());
    let create = async |name: &str| create(&client, name, "").await;

    create("plain").await.unwrap();
    faults.delay(Duration::from_millis(200));
    let start = Instant::now();
    maps.get("plain").await.unwrap();
    assert!(start.elapsed() > Duration::from_millis(195), "{:?}", start.elapsed());
    faults.clear();
    let hundred = async |maps: &Api<ConfigMap>| {
        let start = Instant::now();
        for _ in 0..100 {
            maps.get("plain").await.unwrap();
        }
        start.elapsed().as_secs_f64() * 10.0
    };
    let (bare, proxied) = (hundred(&direct).await, hundred(&maps).await);
    pivot_lab::say(format_args!("a request takes {bare:.2} ms, through the proxy {proxied:.2} ms"));

    let busy = faults
        .add(Rule::new(Times::First(2), Fault::too_many_requests(7), |seen| seen.method == Method::POST));
    assert_eq!(code(create("a").await.unwrap_err()), 429);
    maps.get("plain").await.unwrap();
    assert_eq!(code(create("a").await.unwrap_err()), 429);
    create("a").await.unwrap();
    assert_eq!(faults.fired(busy), 2);

    let answer = Fault::Answer { status: 503, retry_after: None };
    faults.add(Rule::new(Times::Every(3), answer, |seen| {
        seen.user_agent.is_empty() && seen.method == Method::GET
    }));
    let mut codes = Vec::new();
    for _ in 0..6 {
        codes.push(maps.get("plain").await.map_or_else(code, |_| 200));
    }
    assert_eq!(codes, [200, 200, 503, 200, 200, 503]);
    faults.clear();

    faults.add(Rule::new(Times::First(1), Fault::ResetBefore, |seen| seen.path.contains("/configmaps")));
    assert_eq!(code(create("before").await.unwrap_err()), 0);
    assert_eq!(direct.get_opt("before").await.unwrap(), None);
    faults.clear();
    faults.add(Rule::new(Times::First(1), Fault::ResetAfter, |seen| seen.is_mutating()));
    assert_eq!(code(create("after").await.unwrap_err()), 0);
    assert!(direct.get_opt("after").await.unwrap().is_some());

    faults.set_partition(Partition::Refuse);
    maps.get("plain").await.unwrap_err();
    faults.set_partition(Partition::Hang);
    let waiting = tokio::spawn({
        let maps = maps.clone();
        async move { maps.get("plain").await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    faults.set_partition(Partition::None);
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn watches_stream_and_can_be_cut() {
    let Setup { server: _server, proxy, maps, .. } = setup().await;
    let watch = async |maps: &Api<ConfigMap>| {
        let version = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        maps.watch(&WatchParams::default(), &version).await.unwrap().boxed()
    };
    let mut events = watch(&maps).await;
    maps.create(&PostParams::default(), &map("seen")).await.unwrap();
    assert!(matches!(events.try_next().await, Ok(Some(WatchEvent::Added(_)))));

    proxy.faults().set_partition(Partition::Hang);
    let silent = tokio::time::timeout(Duration::from_millis(200), events.next()).await;
    assert!(silent.is_err(), "an event came through a partition");
    proxy.faults().set_partition(Partition::None);
    maps.create(&PostParams::default(), &map("again")).await.unwrap();
    assert!(matches!(events.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    proxy.faults().cut_open_watches();
    assert!(!matches!(events.next().await, Some(Ok(_))));

    proxy.faults().cut_watches(Duration::from_millis(300));
    let start = Instant::now();
    let mut events = watch(&maps).await;
    assert!(!matches!(events.next().await, Some(Ok(_))));
    assert!((250..2000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_process_dies_at_the_request_it_was_meant_to_die_at() {
    let Setup { server, proxy, client, .. } = setup().await;
    let direct: Api<ConfigMap> = Api::default_namespaced(server.client());
    let victim = async |name: &str| {
        let mut command = Command::new("sleep");
        command.arg("600");
        Process::spawn("victim", &command, server.dir().join(name)).await.unwrap()
    };

    let mut process = victim("a.log").await;
    proxy.faults().kill_on_mutating(2, "lab-", Moment::Instead, process.id());
    create(&client, "dry", "dryRun=All").await.unwrap();
    create(&client, "one", "").await.unwrap();
    process.still_runs().unwrap();
    create(&client, "two", "").await.unwrap_err();
    assert!(!process.wait().await.unwrap().success());
    assert_eq!(direct.get_opt("two").await.unwrap(), None);

    let mut process = victim("b.log").await;
    proxy.faults().kill_on_mutating(1, "lab-", Moment::After, process.id());
    create(&client, "three", "").await.unwrap();
    assert!(process.exited().unwrap().is_some() || !process.wait().await.unwrap().success());
    assert!(direct.get_opt("three").await.unwrap().is_some());

    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    proxy.faults().on_mutating(
        1,
        "other",
        Moment::Before,
        async move { flag.store(true, Ordering::Relaxed) },
    );
    create(&client, "four", "").await.unwrap();
    assert!(!ran.load(Ordering::Relaxed), "an action for another user agent ran");
    assert_eq!(proxy.faults().counts()[&("POST".to_owned(), AGENT.to_owned())], 5);
}

#[tokio::test]
async fn the_audit_log_counts_who_asked_for_what() {
    let Setup { server, proxy, client, .. } = setup().await;
    create(&client, "early", "").await.unwrap();
    let mark = server.audit_mark().await.unwrap();
    let before = server.audit().await.unwrap().of(AGENT).tally();
    assert_eq!((before.mutating, before.dry_run), (1, 0));

    create(&client, "counted", "").await.unwrap();
    create(&client, "not-made", "dryRun=All").await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let patch = Patch::Merge(json!({ "data": { "a": "b" } }));
    maps.patch("counted", &PatchParams::default(), &patch).await.unwrap();
    let audit = server.audit_since(mark).await.unwrap();
    let tally = audit.of(AGENT).tally();
    assert_eq!((tally.mutating, tally.dry_run, tally.read), (1, 1, 0));
    let key = (AGENT.to_owned(), "create".to_owned(), "configmaps".to_owned());
    assert_eq!(audit.counts()[&key], 1);
    assert!(audit.requests.iter().any(|request| request.verb == "patch" && request.name == "counted"));
    assert!(proxy.address().ip().is_loopback());
}

/// Impersonation is passed on: permissions can be tested behind the proxy too.
#[tokio::test]
async fn impersonation_passes_the_proxy() {
    let Setup { server: _server, proxy: _proxy, client, .. } = setup().await;
    let request = Request::get("/api/v1/namespaces/default/configmaps").header("impersonate-user", "nobody");
    let error = client.request_text(request.body(Vec::new()).unwrap()).await.unwrap_err();
    assert_eq!(code(error), 403);
}
