//! A diagnosis of real management clusters.

use kube::api::{Patch, PatchParams};
use pivot_scenarios::host::Host;
use pivot_scenarios::{shape, state};
use serde_json::{Value, json};

use crate::stage::{Stage, all};

const REFUSED: i32 = 3;

fn codes(diagnosis: &Value) -> Vec<&str> {
    let refusals = diagnosis["refusals"].as_array().unwrap();
    refusals.iter().map(|refusal| refusal["code"].as_str().unwrap()).collect()
}

// proves: I2
#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_problems_and_changes_nothing() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    stage.fill("shop", 1).await;
    let before = all(source, &[]).await;
    let host = Host::out_of(source.kubeconfig());
    let found = host.run(&["doctor"]).await.unwrap().ends_with(REFUSED).unwrap().document().unwrap();
    assert_eq!((&found["kind"], codes(&found)), (&json!("Diagnosis"), vec!["needs-plugin"]), "{found:#}");
    let accepting = [&["doctor"][..], &shape::WITHOUT_PLUGIN].concat();
    let found = host.run(&accepting).await.unwrap().done().unwrap();
    assert!(codes(&found).is_empty() && found["summary"]["clusters"] == 1, "{found:#}");
    let text = host.run_as_text(&accepting).await.unwrap().ends_with(0).unwrap().stdout;
    assert!(text.contains("No problems"), "{text}");
    let after = all(source, &[]).await;
    assert!(before == after, "{}", state::difference(&before, &after));

    // A second management cluster has the same Cluster, as after a backup was restored there.
    target.apply_values(shape::cluster("shop", 1)).await.unwrap();
    let other = target.kubeconfig().display().to_string();
    let comparing = [&accepting[..], &["--to-kubeconfig", &other]].concat();
    let found = host.run(&comparing).await.unwrap().ends_with(REFUSED).unwrap().document().unwrap();
    assert_eq!(codes(&found), ["active-in-both"], "{found:#}");
    let remedy = found["refusals"][0]["remedy"].as_str().unwrap();
    assert!(remedy.contains(&format!("kubectl --kubeconfig {other} ")), "{remedy}");
    let kinds = target.kinds().await.unwrap();
    let clusters = kinds.iter().find(|kind| kind.name() == "Cluster.cluster.x-k8s.io").unwrap();
    let pause = Patch::Merge(json!({"spec": {"paused": true}}));
    let clusters = clusters.api(target.client()).constrain("shop");
    clusters.patch("c", &PatchParams::default(), &pause).await.unwrap();
    let found = host.run(&comparing).await.unwrap().done().unwrap();
    assert!(codes(&found).is_empty(), "{found:#}");
}
