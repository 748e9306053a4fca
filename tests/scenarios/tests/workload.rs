//! Into the workload cluster of a Cluster in the source, by the kubeconfig that the source keeps for it.

use std::time::Duration;

use futures::{StreamExt, stream};
use kube::api::{Patch, PatchParams};
use pivot_lab::managers::{kubeconfig_secret, workload_kubeconfig};
use pivot_lab::proxy::Moment;
use pivot_lab::{Dump, FaultProxy, Observer, Rules, say};
use pivot_scenarios::host::{Ended, Host};
use pivot_scenarios::point::Point;
use pivot_scenarios::shape;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::stage::{Stage, all, clean, same};

/// Moves that die and are resumed at the same time.
const AT_ONCE: usize = 8;

/// A cluster of one machine in each namespace, whose kubeconfig is the target's; returns their state.
async fn fill(stage: &Stage, namespaces: &[&str]) -> Dump {
    let value = kubeconfig_secret(&stage.pair.target, "any", "c").unwrap()["data"]["value"].clone();
    let mut objects: Vec<Value> =
        namespaces.iter().flat_map(|namespace| shape::cluster(namespace, 1)).collect();
    let kubeconfigs = objects.iter_mut().filter(|object| object["metadata"]["name"] == "c-kubeconfig");
    kubeconfigs.for_each(|secret| secret["data"]["value"] = value.clone());
    stage.pair.source.apply_values(objects).await.unwrap();
    all(&stage.pair.source, namespaces).await
}

fn out_of(source: &std::path::Path) -> Host {
    // No controllers run in the target.
    Host::out_of(source).without_controllers()
}

/// Nothing that it prints is from the kubeconfig: certificates and keys are its only long words.
fn tells_nothing(stage: &Stage, ended: &Ended) {
    let text = String::from_utf8(workload_kubeconfig(&stage.pair.target).unwrap()).unwrap();
    let words = text.split(|c: char| c.is_whitespace() || "\",:{}[]".contains(c));
    let secrets: Vec<&str> = words.filter(|word| word.len() > 60).collect();
    assert!(secrets.len() >= 3, "{}", secrets.len());
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!secrets.iter().any(|secret| printed.contains(secret)), "{}", ended.words);
}

// proves: T91
#[tokio::test(flavor = "multi_thread")]
async fn a_bootstrap_cluster_is_pivoted_into_the_cluster_that_it_made() {
    let stage = Stage::start().await;
    let before = fill(&stage, &["shop"]).await;
    let observer = Observer::of(&stage.pair, &["shop"]).await.unwrap();
    let host = out_of(stage.pair.source.kubeconfig());
    let to = ["--to-workload", "c", "-n", "shop"];
    let plan = host.run(&[&["plan"][..], &to, &shape::WITHOUT_PLUGIN].concat()).await.unwrap();
    tells_nothing(&stage, &plan);
    plan.done().unwrap();
    let ended = host.run(&[&["move"][..], &to, &shape::WITHOUT_PLUGIN].concat()).await.unwrap();
    tells_nothing(&stage, &ended);
    // What it says how to keep has to be said before it is gone.
    assert!(ended.stderr.contains("| base64 -d > c.kubeconfig"), "{}", ended.stderr);
    ended.done().unwrap();
    same(before, all(&stage.pair.target, &["shop"]).await);
    assert!(all(&stage.pair.source, &["shop"]).await.is_empty());
    let gone = host.run(&["status", "--to-workload", "shop/c"]).await.unwrap().ends_with(3).unwrap();
    assert!(gone.stderr.contains("there is no Cluster shop/c, nor any other"), "{}", gone.stderr);
    stage.tidy(&["shop"]).await;
    clean(observer, &Rules::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_leads_to_no_workload_cluster_says_why() {
    let stage = Stage::start().await;
    fill(&stage, &["shop", "store"]).await;
    let host = out_of(stage.pair.source.kubeconfig());
    let refused = async |to: &[&str]| {
        let plan = [&["plan"][..], to, &shape::WITHOUT_PLUGIN].concat();
        host.run(&plan).await.unwrap().ends_with(3).unwrap().stderr
    };
    let said = refused(&["--to-workload", "c", "-A"]).await;
    assert!(said.contains("2 Clusters: shop/c, store/c; name one of them: --to-workload shop/c"), "{said}");
    let said = refused(&["--to-workload", "d", "-n", "shop"]).await;
    assert!(said.contains("there is no Cluster shop/d, but 2 Clusters: shop/c, store/c"), "{said}");
    // As before its control plane is initialised.
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::namespaced(stage.pair.source.client(), "shop");
    secrets.delete("c-kubeconfig", &Default::default()).await.unwrap();
    let said = refused(&["--to-workload", "shop/c", "-A"]).await;
    let why =
        "Secret shop/c-kubeconfig doesn't exist: the control plane of Cluster shop/c is not initialised yet";
    assert!(said.contains(why), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_waits_for_the_cluster_that_is_still_being_built() {
    let stage = Stage::start().await;
    let before = fill(&stage, &["shop"]).await;
    let secrets: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::namespaced(stage.pair.source.client(), "shop");
    let mut kubeconfig = secrets.get("c-kubeconfig").await.unwrap();
    let kinds = stage.pair.source.kinds().await.unwrap();
    let machines = kinds.iter().find(|known| known.name() == "Machine.cluster.x-k8s.io").unwrap();
    let machines = machines.api(stage.pair.source.client()).constrain("shop");
    let provisioned = machines.get("c-0").await.unwrap().data["status"]["nodeRef"].clone();
    let node = async |node: Value| {
        let patch = Patch::Merge(json!({ "status": { "nodeRef": node } }));
        machines.patch_status("c-0", &PatchParams::default(), &patch).await.unwrap();
    };
    node(Value::Null).await;
    secrets.delete("c-kubeconfig", &Default::default()).await.unwrap();
    let building = all(&stage.pair.source, &["shop"]).await;
    let host = out_of(stage.pair.source.kubeconfig());
    let go = |wait: &'static str| {
        [&["move", "--to-workload", "c", "-n", "shop", wait][..], &shape::WITHOUT_PLUGIN].concat()
    };
    let late = host.run(&go("--wait-for-provisioning=1s")).await.unwrap().ends_with(8).unwrap().stderr;
    assert!(late.contains("of waiting to begin: source: Secret shop/c-kubeconfig"), "{late}");
    same(building, all(&stage.pair.source, &["shop"]).await);

    let mut run = host.start(&go("--wait-for-provisioning")).await.unwrap();
    run.until_it_says("waiting to begin: source: Secret shop/c-kubeconfig doesn't exist").await.unwrap();
    (kubeconfig.metadata.uid, kubeconfig.metadata.resource_version) = (None, None);
    secrets.create(&Default::default(), &kubeconfig).await.unwrap();
    run.until_it_says("is not provisioned yet: it has no node").await.unwrap();
    node(provisioned).await;
    run.end().await.unwrap().done().unwrap();
    same(before, all(&stage.pair.target, &["shop"]).await);
    stage.tidy(&["shop"]).await;
}

/// Writes to the source at which a run dies, and whether the source still leads to the target then.
const POINTS: [(Point, bool); 9] = [
    (Point::of_source("PATCH", "/clusters/c", 1, Moment::After), true),
    // The commit.
    (Point::of_source("PATCH", "/configmaps/", 2, Moment::After), true),
    // Its owners are taken off.
    (Point::of_source("PATCH", "/secrets/c-kubeconfig", 1, Moment::Instead), true),
    (Point::of_source("PATCH", "/secrets/c-kubeconfig", 1, Moment::After), true),
    (Point::of_source("DELETE", "/machines/", 1, Moment::After), true),
    // Nothing else is left.
    (Point::of_source("DELETE", "/clusters/c", 1, Moment::After), true),
    (Point::of_source("DELETE", "/secrets/c-kubeconfig", 1, Moment::Instead), true),
    // Only the records are left.
    (Point::of_source("DELETE", "/secrets/c-kubeconfig", 1, Moment::After), false),
    (Point::of_source("DELETE", "/configmaps/pivot-host-source", 1, Moment::After), false),
];

// proves: D4
#[tokio::test(flavor = "multi_thread")]
async fn killed_anywhere_the_source_alone_leads_to_the_target_until_all_else_is_done() {
    let stage = Stage::start().await;
    let names: Vec<String> = (0..POINTS.len()).map(|index| format!("case-{index}")).collect();
    let namespaces: Vec<&str> = names.iter().map(String::as_str).collect();
    let models = fill(&stage, &namespaces).await;
    let observer = Observer::of(&stage.pair, &namespaces).await.unwrap();
    let cases = POINTS.into_iter().zip(&namespaces).map(async |((point, leads), &namespace)| {
        let source = FaultProxy::start(&stage.pair.source).await.unwrap();
        let by_source = out_of(source.kubeconfig());
        let by_file = Host::between(source.kubeconfig(), stage.pair.target.kubeconfig());
        let before = all(&stage.pair.source, &[namespace]).await;
        let workload = format!("{namespace}/c");
        let to = ["--to-workload", &workload];
        let go = [&["move", "-n", namespace][..], &to, &shape::WITHOUT_PLUGIN].concat();
        point.kill(&by_source, &go, source.faults()).await.unwrap();
        stage.pair.source.collect_garbage(&models).await.unwrap();

        if leads {
            // Until its lease has expired, a run counts as being at work, and nothing is offered beside it.
            sleep(Duration::from_secs(16)).await;
        }
        let status = by_source.run(&[&["status"][..], &to].concat()).await.unwrap();
        let (host, to, status) = if leads {
            (&by_source, &to[..], status.done().unwrap())
        } else {
            let status = status.ends_with(3).unwrap();
            assert!(
                status.stderr.contains("name a saved copy of its kubeconfig with --to-kubeconfig"),
                "{}",
                status.stderr
            );
            (&by_file, &[][..], by_file.run(&["status"]).await.unwrap().done().unwrap())
        };
        let moves = status["moves"].as_array().unwrap();
        let own = moves.iter().find(|one| one["record"]["scope"]["namespaces"]["one"] == namespace).unwrap();
        say(format_args!("died in {}: {point}", own["record"]["phase"]));
        if leads {
            let next = own["next"][0].as_str().unwrap();
            assert!(next.contains(&format!("--to-workload {workload}")), "{next}");
        }
        let id = own["record"]["moveId"].as_str().unwrap();
        host.run(&[&["resume", "--break-lease", id], to].concat()).await.unwrap().done().unwrap();
        same(before, all(&stage.pair.target, &[namespace]).await);
        assert!(all(&stage.pair.source, &[namespace]).await.is_empty(), "{point}");
    });
    assert_eq!(stream::iter(cases).buffer_unordered(AT_ONCE).count().await, POINTS.len(), "deaths");
    stage.tidy(&namespaces).await;
    clean(observer, &Rules::new()).await;
}
