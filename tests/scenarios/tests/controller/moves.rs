//! Pivots whose controller lives.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use pivot_lab::audit::Request;
use pivot_lab::kubeconfig;
use pivot_lab::{Observer, Pair, Rules, Server, say};
use pivot_scenarios::host::{AGENT, Host, Run};
use pivot_scenarios::pivots::condition;
use pivot_scenarios::shape;
use serde_json::{Value, json};

use crate::stage::{LOOPBACK, Stage, is, same};

/// Longer than anything takes that is waited for here.
const PATIENCE: Duration = Duration::from_secs(60);

async fn controller(stage: &Stage) -> Run {
    controller_with(stage, &[]).await
}

async fn controller_with(stage: &Stage, more: &[&str]) -> Run {
    let host = Host::out_of(&stage.account());
    let words = ["controller", "run", "--listen", "127.0.0.1:0", "--allow-special-network", LOOPBACK];
    let mut run = host.start(&[&words[..], more].concat()).await.unwrap();
    run.until_it_says("metrics and health: ").await.unwrap();
    run
}

/// What a path of its server answers.
pub(crate) async fn page(run: &Run, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let said = run.said();
    let address = said.split("http://").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

// proves: T40
#[tokio::test(flavor = "multi_thread")]
async fn from_one_manifest_a_bootstrap_cluster_moves_into_the_cluster_that_it_made() {
    let stage = Stage::start(&["shop"]).await;
    stage.grant(&["shop"]).await;
    let before = stage.moved(&stage.pair.source, "shop").await;
    let observer = Observer::of(&stage.pair, &["shop"]).await.unwrap();
    let mut running = controller(&stage).await;
    assert!(page(&running, "/healthz").await.starts_with("HTTP/1.1 200"));
    stage.ask("shop").await;
    let shown = stage.until("shop", "Succeeded", &mut running).await;
    assert_eq!(shown["phase"], "Succeeded");
    assert!(is(&shown, "Connected") && is(&shown, "Committed") && !is(&shown, "Stalled"), "{shown:#}");
    same(before, stage.moved(&stage.pair.target, "shop").await);
    let left = stage.moved(&stage.pair.source, "shop").await;
    assert!(left.is_empty(), "{:?}", left.keys());
    assert!(page(&running, "/readyz").await.starts_with("HTTP/1.1 200"));
    let numbers = page(&running, "/metrics").await;
    for line in [
        "content-type: text/plain; version=0.0.4",
        "pivot_host_leader 1",
        "pivot_host_pivots{phase=\"Succeeded\"} 1",
    ] {
        assert!(numbers.contains(line), "{numbers}");
    }
    // What has begun is fixed.
    for spec in [
        json!({"to": {"cluster": "other"}}),
        json!({"clusters": ["c"]}),
        json!({"options": {"exclude": ["Secret"]}}),
    ] {
        let refused = stage.change("shop", spec).await.unwrap_err();
        assert!(refused.contains("the move is under way or has ended"), "{refused}");
    }
    // What only decides how it goes on is not.
    stage
        .change(
            "shop",
            json!({"options": {"accept": [
                {"code": "no-plugin", "kinds": ["BareMetalHost.metal3.io"]},
                {"code": "unverified", "kinds": ["Machine.cluster.x-k8s.io"]},
            ]}}),
        )
        .await
        .unwrap();
    stage.tidy().await;
    stage.delete("shop").await;
    stage.until_gone("shop", &mut running).await;
    running.signal("TERM").unwrap();
    let ended = running.end().await.unwrap().ends_with(0).unwrap();
    assert!(!ended.stderr.contains("LS0t"), "a certificate: {}", ended.stderr);
    assert_eq!(observer.finish(&Rules::new()).await.unwrap(), [], "invariants");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pivot_waits_until_its_cluster_is_built() {
    let stage = Stage::start(&["shop"]).await;
    stage.grant(&["shop"]).await;
    let before = stage.moved(&stage.pair.source, "shop").await;
    let secrets: Api<Secret> = Api::namespaced(stage.pair.source.client(), "shop");
    let mut kubeconfig = secrets.get("c-kubeconfig").await.unwrap();
    secrets.delete("c-kubeconfig", &Default::default()).await.unwrap();
    let mut running = controller(&stage).await;
    stage.ask("shop").await;
    let shown = stage.until_false("shop", "Connected", &mut running).await;
    let connected = condition(&shown, "Connected").unwrap();
    assert_eq!((&connected["reason"], is(&shown, "Stalled")), (&json!("Waiting"), false), "{shown:#}");
    assert!(shown["message"].as_str().unwrap().contains("is not initialised yet"), "{shown:#}");
    until_it_looks_again(&stage).await;
    (kubeconfig.metadata.uid, kubeconfig.metadata.resource_version) = (None, None);
    secrets.create(&Default::default(), &kubeconfig).await.unwrap();
    stage.until("shop", "Succeeded", &mut running).await;
    same(before, stage.moved(&stage.pair.target, "shop").await);
    // It looked several times, and told once what it waits for.
    let events: Api<Event> = Api::namespaced(stage.pair.source.client(), "shop");
    let events = events.list(&Default::default()).await.unwrap().items;
    assert_eq!(events.iter().filter(|event| event.reason.as_deref() == Some("Waiting")).count(), 1);
    stage.tidy().await;
}

/// Waits until the controller has looked once more for the kubeconfig that isn't there.
async fn until_it_looks_again(stage: &Stage) {
    let source = &stage.pair.source;
    let (mark, patience) = (source.audit_mark().await.unwrap(), Instant::now() + PATIENCE);
    let looks =
        |asked: &Request| asked.resource == "secrets" && asked.name == "c-kubeconfig" && asked.code == 404;
    while source.audit_since(mark).await.unwrap().of(AGENT).only(looks).requests.is_empty() {
        assert!(Instant::now() < patience, "the controller does not look again");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_pivots_at_once_and_two_controllers() {
    let names: Vec<String> = (0..10).map(|index| format!("shop-{index}")).collect();
    let namespaces: Vec<&str> = names.iter().map(String::as_str).collect();
    let stage = Stage::start(&namespaces).await;
    stage.grant(&namespaces).await;
    let before = stage.moved_in_each(&stage.pair.source, &namespaces).await;
    let mut first = controller(&stage).await;
    let mut second = controller(&stage).await;
    for namespace in &namespaces {
        stage.ask(namespace).await;
    }
    stage.until(namespaces[0], "Succeeded", &mut first).await;
    // The one that leads dies; the other goes on.
    let leads = page(&first, "/metrics").await.contains("pivot_host_leader 1");
    let (dies, stays) = if leads { (&mut first, &mut second) } else { (&mut second, &mut first) };
    dies.kill().unwrap();
    for (namespace, before) in namespaces.iter().zip(before) {
        stage.until(namespace, "Succeeded", stays).await;
        same(before, stage.moved(&stage.pair.target, namespace).await);
    }
    // All may have been moved by the one that died, before its lease ran out.
    let patience = Instant::now() + PATIENCE;
    while !page(stays, "/metrics").await.contains("pivot_host_leader 1") {
        assert!(Instant::now() < patience, "nobody leads");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    stage.tidy_except_leases().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_says_why_and_changes_nothing() {
    let stage = Stage::start(&["shop"]).await;
    stage.grant(&["shop"]).await;
    let before = stage.moved(&stage.pair.source, "shop").await;
    let mut running = controller(&stage).await;
    stage.ask_with("shop", json!({"accept": [{"code": "takeover-unchecked"}]})).await;
    let shown = stage.until("shop", "Stalled", &mut running).await;
    let message = shown["message"].as_str().unwrap();
    assert!(
        message.contains("BareMetalHost") && message.contains("options.accept: [{code: no-plugin, kinds: ["),
        "{message}"
    );
    assert!(message.contains("nothing is changed"), "{message}");
    same(before.clone(), stage.moved(&stage.pair.source, "shop").await);
    // A mistyped field reaches the controller.
    stage.ask_for("default", json!({"cluster": ["c"], "to": {"kubeconfig": {"name": "any"}}})).await;
    let shown = stage.until("default", "Stalled", &mut running).await;
    assert!(shown["message"].as_str().unwrap().contains("unknown field `cluster`"), "{shown:#}");
    // The server knows what can't be right.
    for (spec, why) in [
        (json!({"to": {"cluster": null}}), "spec.from and spec.to are both this cluster"),
        (json!({"to": {"kubeconfig": {"name": "other"}}}), "exclude each other"),
        (json!({"from": {"namespace": "other"}}), "a Pivot moves its own namespace"),
        (
            json!({"from": {"kubeconfig": {"name": "other"}}, "to": {"cluster": null, "namespace": "other"}}),
            "into this cluster, a Pivot moves to its own namespace",
        ),
    ] {
        let refused = stage.change("shop", spec.clone()).await.unwrap_err();
        assert!(refused.contains(why), "{spec}: {refused}");
    }
    let corrected = json!({"options": {"accept": [{"code": "takeover-unchecked"}, {"code": "no-plugin", "kinds": ["BareMetalHost.metal3.io"]}]}});
    stage.change("shop", corrected).await.unwrap();
    stage.until("shop", "Succeeded", &mut running).await;
    same(before, stage.moved(&stage.pair.target, "shop").await);
}

// proves: T38
#[tokio::test(flavor = "multi_thread")]
async fn without_a_role_for_the_move_it_is_refused_by_name() {
    let stage = Stage::start(&["shop"]).await;
    let mut running = controller(&stage).await;
    stage.ask("shop").await;
    let shown = stage.until("shop", "Stalled", &mut running).await;
    let message = shown["message"].as_str().unwrap();
    assert!(message.contains("forbidden") && message.contains("secrets"), "{message}");
    assert!(!message.contains('\n'), "columns end at the first line break: {message}");
    stage.grant(&["shop"]).await;
    until_granted(&stage).await;
    stage.request("shop").await;
    let shown: Value = stage.until("shop", "Succeeded", &mut running).await;
    say(format_args!("{}", shown["message"]));
}

/// Whoever has its token could otherwise rewrite what the cluster itself keeps there: who its users are, for one.
// proves: T149
#[tokio::test(flavor = "multi_thread")]
async fn controllers_account_changes_nothing_in_kube_system() {
    let stage = Stage::start(&["shop"]).await;
    stage.grant(&["shop"]).await;
    until_granted(&stage).await;
    let client = kubeconfig::client(&stage.account()).await.unwrap();
    let maps = |namespace: &str| -> Api<ConfigMap> { Api::namespaced(client.clone(), namespace) };
    let map = |name: &str| ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    let is_forbidden = |answer: Result<(), kube::Error>| matches!(answer, Err(kube::Error::Api(status)) if status.code == 403);
    let (system, theirs) = (maps("kube-system"), "extension-apiserver-authentication");
    let patch = Patch::Merge(json!({"data": {"client-ca-file": ""}}));
    assert!(is_forbidden(system.create(&PostParams::default(), &map("aws-auth")).await.map(drop)));
    assert!(is_forbidden(system.create(&PostParams::default(), &map("pivot-host-source-x")).await.map(drop)));
    assert!(is_forbidden(system.patch(theirs, &PatchParams::default(), &patch).await.map(drop)));
    assert!(is_forbidden(system.delete(theirs, &DeleteParams::default()).await.map(drop)));
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    assert!(is_forbidden(leases.delete("kube-controller-manager", &DeleteParams::default()).await.map(drop)));
    // Where records are there is nothing else.
    let records = maps("pivot-host-records");
    records.create(&PostParams::default(), &map("pivot-host-source-x")).await.unwrap();
    records.delete("pivot-host-source-x", &DeleteParams::default()).await.unwrap();
}

/// Waits until the server knows of all permissions: a plan asks for them, too.
async fn until_granted(stage: &Stage) {
    let host = Host::out_of(&stage.account()).without_controllers();
    let words = [&["plan", "-n", "shop", "--to-workload", "c"][..], &shape::WITHOUT_PLUGIN].concat();
    let patience = Instant::now() + PATIENCE;
    loop {
        let ended = host.run(&words).await.unwrap();
        if ended.code == Some(0) {
            return;
        }
        assert!(Instant::now() < patience, "{}", ended.stderr);
    }
}

/// The account may read the Secrets of the two namespaces, and no others.
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_hands_on_what_has_a_label() {
    const CARRY: [&str; 4] = [
        "--also-copy",
        "Secret/keys/*:example.com/hand-on=yes",
        "--also-copy",
        "ConfigMap:example.com/hand-on",
    ];
    let stage = Stage::start(&["shop"]).await;
    let Pair { source, target } = &stage.pair;
    let of = |kind: &str, namespace: &str, name: &str, label: &str| {
        json!({"apiVersion": "v1", "kind": kind, "data": {"of": "aHVzaA=="},
            "metadata": {"namespace": namespace, "name": name, "labels": {"example.com/hand-on": label}}})
    };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "keys"}});
    let labelled = [
        of("Secret", "keys", "aws", "yes"),
        of("Secret", "keys", "root", "no"),
        of("ConfigMap", "shop", "policy", ""),
    ];
    source.apply_values([namespace].into_iter().chain(labelled).collect()).await.unwrap();
    stage.grant_with(&["shop"], &CARRY).await;
    let mut running = controller_with(&stage, &CARRY).await;
    stage.ask("shop").await;
    stage.until("shop", "Succeeded", &mut running).await;
    let there = async |server: &Server| {
        let dump = server.dump(&["shop", "keys"]).await.unwrap();
        let mut names: Vec<String> =
            dump.into_keys().map(|key| format!("{} {}", key.kind, key.name)).collect();
        names.retain(|name| ["Secret aws", "Secret root", "ConfigMap policy"].contains(&name.as_str()));
        names
    };
    assert_eq!(there(target).await, ["ConfigMap policy", "Secret aws"]);
    assert_eq!(there(source).await, ["ConfigMap policy", "Secret aws", "Secret root"]);
    stage.tidy().await;
}
