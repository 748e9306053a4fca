//! A → B → A gives the original.
//!
//! A create drops status, and no controller here would restore it; so the tests do, before the way back.

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use pivot_lab::{Dump, Observer, Rules};
use pivot_scenarios::{shape, state};
use serde_json::json;

use crate::stage::{Stage, all, clean, same};

/// Runs each command, checks the result, restores status, and runs each in the other direction. Objects in `stays` do not move.
async fn there_and_back(stage: &Stage, namespaces: &[&str], commands: &[Vec<&str>], stays: &[&str]) {
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let before = all(source, namespaces).await;
    let (left, moved): (Dump, Dump) =
        before.clone().into_iter().partition(|(key, _)| stays.contains(&key.name.as_str()));
    assert_eq!(left.len(), stays.len());
    let keys: BTreeSet<_> = moved.keys().cloned().collect();
    let rules = || {
        let keys = keys.clone();
        Rules::new().moved(move |key| keys.contains(key))
    };

    let observer = Observer::start(source, target, namespaces).await.unwrap();
    for command in commands {
        let report = stage.host.run(command).await.unwrap().done().unwrap();
        assert_eq!(report["outcome"], "Moved");
    }
    stage.tidy(namespaces).await;
    clean(observer, &rules()).await;
    same(moved.clone(), all(target, namespaces).await);
    same(left, all(source, namespaces).await);

    state::restore_status(target, &moved).await.unwrap();
    let observer = Observer::start(target, source, namespaces).await.unwrap();
    for command in commands {
        stage.back().run(command).await.unwrap().done().unwrap();
    }
    stage.tidy(namespaces).await;
    clean(observer, &rules()).await;
    same(before, all(source, namespaces).await);
    assert!(all(target, namespaces).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_43_objects_and_one_with_a_class_move_there_and_back() {
    let stage = Stage::start().await;
    assert_eq!(stage.fill("shop", 3).await.len(), 43);
    let classy = shape::example_file("classy.yaml").unwrap();
    stage.pair.source.apply(&classy).await.unwrap();
    let command = |namespace| [&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat();
    there_and_back(&stage, &["shop", "classy"], &[command("shop"), command("classy")], &[]).await;
}

/// The unmodified example, all namespaces at once. Firmware settings belong to hosts that move but do not move themselves as long
/// as their CRDs lack the label: first that is refused, then it is fixed.
// proves: I1, I10
#[tokio::test(flavor = "multi_thread")]
async fn the_example_moves_there_and_back() {
    let stage = Stage::start().await;
    stage.pair.source.apply(&shape::example().unwrap()).await.unwrap();
    for file in ["namespaces.yaml", "providers.yaml"] {
        stage.pair.target.apply(&shape::example_file(file).unwrap()).await.unwrap();
    }
    let command = [&["move", "-A"][..], &shape::WITHOUT_PLUGIN].concat();
    let refused = stage.host.run(&command).await.unwrap().ends_with(3).unwrap().document().unwrap();
    let remedies: Vec<_> =
        refused["refusals"].as_array().unwrap().iter().map(|r| r["remedy"].to_string()).collect();
    for kind in ["FirmwareSchema.metal3.io", "HostFirmwareSettings.metal3.io"] {
        let remedy = format!("--accept dependents-lost={kind}");
        assert!(remedies.iter().any(|text| text.contains(&remedy)), "{remedies:?}");
    }
    assert_eq!(remedies.len(), 2);

    for server in [&stage.pair.source, &stage.pair.target] {
        let crds: Api<CustomResourceDefinition> = Api::all(server.client());
        let labels = json!({ "clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move": "" });
        let patch = Patch::Merge(json!({ "metadata": { "labels": labels } }));
        for crd in ["firmwareschemas.metal3.io", "hostfirmwaresettings.metal3.io"] {
            crds.patch(crd, &PatchParams::default(), &patch).await.unwrap();
        }
    }
    // The last is named by a host, in a field that only a plugin could know.
    let stays = ["registry-pull", "rack-plan", "rack1-u02-preprov-network"];
    there_and_back(&stage, &["metal3", "classy"], &[command], &stays).await;
}
