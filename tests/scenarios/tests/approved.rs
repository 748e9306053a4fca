//! Plans that are saved, approved and carried out: between real servers, by the real program.

use std::path::Path;

use kube::api::{DeleteParams, Patch, PatchParams};
use pivot_lab::proxy::{Fault, Rule, Seen, Times};
use pivot_lab::{Observer, Rules};
use pivot_scenarios::host::Host;
use pivot_scenarios::secrets::ensure_no_secret;
use pivot_scenarios::shape::{self, WITHOUT_PLUGIN};
use serde_json::{Value, json};

use crate::stage::{Stage, all, clean, same};

const NAMESPACE: &str = "shop";
const BLOCK: &str = "clusterctl.cluster.x-k8s.io/block-move";
const MACHINE: &str = "Machine.cluster.x-k8s.io";
const HOST: &str = "BareMetalHost.metal3.io";

/// Without the variable by which the other scenarios wait for no controllers: the plan has that decision.
fn deciding(stage: &Stage) -> Host {
    Host::between(stage.pair.source.kubeconfig(), stage.pair.target.kubeconfig()).with_controllers()
}

async fn plan(host: &Host, file: &Path) -> Value {
    let file = file.display().to_string();
    let words =
        [&["plan", "-n", NAMESPACE, "--accept", "takeover-unchecked", "--out", &file][..], &WITHOUT_PLUGIN]
            .concat();
    host.run(&words).await.unwrap().done().unwrap()
}

async fn patch(stage: &Stage, kind: &str, name: &str, change: Value) {
    let kinds = stage.pair.source.kinds().await.unwrap();
    let kind = kinds.iter().find(|known| known.name() == kind).unwrap();
    let api = kind.api(stage.pair.source.client()).constrain(NAMESPACE);
    api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}

async fn remove(stage: &Stage, kind: &str, name: &str) {
    patch(stage, kind, name, json!({ "metadata": { "finalizers": null } })).await;
    let kinds = stage.pair.source.kinds().await.unwrap();
    let kind = kinds.iter().find(|known| known.name() == kind).unwrap();
    let api = kind.api(stage.pair.source.client()).constrain(NAMESPACE);
    api.delete(name, &DeleteParams::default()).await.unwrap();
}

fn messages(refused: &Value) -> Vec<&str> {
    let refusals = refused["refusals"].as_array().unwrap();
    assert!(refusals.iter().all(|refusal| refusal["code"] == "plan-differs"), "{refusals:?}");
    refusals.iter().map(|refusal| refusal["message"].as_str().unwrap()).collect()
}

fn label() -> Value {
    json!({ "metadata": { "labels": { "lab/changed": "yes" } } })
}

// proves: T120
#[tokio::test(flavor = "multi_thread")]
async fn a_saved_plan_is_carried_out_as_it_is_or_not_at_all() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    source.apply_values(shape::cluster(NAMESPACE, 2)).await.unwrap();
    let (dir, host) = (tempfile::tempdir().unwrap(), deciding(&stage));
    let file = dir.path().join("plan.json");
    let path = file.display().to_string();
    let carry_out = ["move", "--plan", &path];
    let alone = Host::alone();

    // Nothing in it lets anyone guess at data, and it is its owner's alone.
    plan(&host, &file).await;
    let text = std::fs::read_to_string(&file).unwrap();
    ensure_no_secret(&path, &text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let shown = alone.run(&["plan", "show", &path]).await.unwrap().done().unwrap();
    assert_eq!(shown, serde_json::from_str::<Value>(&text).unwrap());
    let secret =
        shown["steps"].as_array().unwrap().iter().find(|step| step["object"]["kind"] == "Secret").unwrap();
    let (name, version) =
        (secret["object"]["name"].as_str().unwrap().to_owned(), &secret["content"]["version"]);
    assert!(version.is_string(), "{secret}");

    // Before the pause: what people change is refused, and nothing is touched.
    let late = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "b" },
        "metadata": { "name": "late", "namespace": NAMESPACE, "labels": { "clusterctl.cluster.x-k8s.io/move": "" } } });
    patch(&stage, MACHINE, "c-0", label()).await;
    source.apply_values(vec![late]).await.unwrap();
    patch(&stage, "Secret", &name, json!({ "data": { "value": "bmV3" } })).await;
    let before = all(source, &[NAMESPACE]).await;
    let refused = host.run(&carry_out).await.unwrap().ends_with(3).unwrap().document().unwrap();
    assert_eq!(
        messages(&refused),
        [
            "ConfigMap shop/late is not in the plan, and would be moved now".to_owned(),
            format!("Secret shop/{name} has changed since the plan was made"),
            "Machine shop/c-0 has changed since the plan was made".to_owned(),
        ]
    );
    same(before.clone(), all(source, &[NAMESPACE]).await);
    assert!(all(target, &[NAMESPACE]).await.is_empty());
    let newer = dir.path().join("newer.json");
    plan(&host, &newer).await;
    let newer = newer.display().to_string();
    let diff =
        alone.run(&["plan", "diff", &path, &newer]).await.unwrap().ends_with(10).unwrap().document().unwrap();
    assert_eq!((diff["differences"].as_array().unwrap().len(), &diff["otherwise"]), (3, &json!([])));
    std::fs::rename(&newer, &file).unwrap();
    remove(&stage, "ConfigMap", "late").await;
    let refused = host.run(&carry_out).await.unwrap().ends_with(3).unwrap().document().unwrap();
    assert_eq!(messages(&refused), ["ConfigMap shop/late is in the plan, and would not be moved any more"]);

    // Files that say something else than what was saved.
    let good = std::fs::read_to_string(&file).unwrap();
    for (odd, why) in [
        (good.replacen("\"move\"", "\"keep\"", 1), "its checksum does not match"),
        (good[..good.len() / 2].to_owned(), "not all of one"),
        (good.replacen("\"format\": 2", "\"format\": 3", 1), "in format 3"),
    ] {
        std::fs::write(&file, odd).unwrap();
        let refused = host.run(&carry_out).await.unwrap().ends_with(3).unwrap();
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }

    // Once the source is paused: a provider lets the move wait, and somebody changes a label meanwhile.
    patch(&stage, HOST, "host-0", json!({ "metadata": { "annotations": { BLOCK: "" } } })).await;
    plan(&host, &file).await;
    let before = all(source, &[NAMESPACE]).await;
    let mut run = host.start(&carry_out).await.unwrap();
    run.until_it_says("host-0").await.unwrap();
    patch(&stage, MACHINE, "c-1", label()).await;
    patch(&stage, HOST, "host-0", json!({ "metadata": { "annotations": { BLOCK: null } } })).await;
    let undone = run.end().await.unwrap().ends_with(3).unwrap().document().unwrap();
    assert_eq!(messages(&undone), ["Machine shop/c-1 has changed since the plan was made"]);
    assert!(undone["state"].as_str().unwrap().contains("unpaused again"), "{undone}");
    assert!(all(target, &[NAMESPACE]).await.is_empty());
    stage.tidy(&[NAMESPACE]).await;
    patch(&stage, MACHINE, "c-1", json!({ "metadata": { "labels": { "lab/changed": null } } })).await;
    patch(&stage, HOST, "host-0", json!({ "metadata": { "annotations": { BLOCK: "" } } })).await;
    same(before, all(source, &[NAMESPACE]).await);

    // That the provider lifts it is part of any move; and a status is carried out as it is by then.
    let kinds = source.kinds().await.unwrap();
    let machines = kinds.iter().find(|known| known.name() == MACHINE).unwrap().api(source.client());
    let status = Patch::Merge(json!({ "status": { "phase": "Running" } }));
    machines.constrain(NAMESPACE).patch_status("c-1", &PatchParams::default(), &status).await.unwrap();
    let observer = Observer::of(&stage.pair, &[NAMESPACE]).await.unwrap();
    let planned: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let mut run = host.start(&carry_out).await.unwrap();
    run.until_it_says("host-0").await.unwrap();
    patch(&stage, HOST, "host-0", json!({ "metadata": { "annotations": { BLOCK: null } } })).await;
    let report = run.end().await.unwrap().done().unwrap();
    let count = |map: &Value| map.as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>();
    let of = |fate: &str| {
        let steps = planned["steps"].as_array().unwrap();
        steps.iter().filter(|step| step["fate"] == fate).count() as u64
    };
    assert_eq!((count(&report["moved"]), count(&report["kept"])), (of("move"), of("keep")));
    stage.tidy(&[NAMESPACE]).await;
    clean(observer, &Rules::default()).await;
}

fn creates_machines(seen: &Seen) -> bool {
    seen.is_mutating() && seen.method.as_str() == "POST" && seen.path.contains("/machines?")
}

// proves: T120
#[tokio::test(flavor = "multi_thread")]
async fn what_changes_after_the_copy_stops_an_approved_move_before_the_commit() {
    let stage = Stage::start().await;
    let wired = stage.wired().await;
    let host = wired.host.clone().with_controllers();
    stage.pair.source.apply_values(shape::cluster(NAMESPACE, 1)).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.json");
    plan(&host, &file).await;
    let path = file.display().to_string();
    let refuses =
        Rule::new(Times::Always, Fault::Answer { status: 403, retry_after: None }, creates_machines);
    let rule = wired.target.faults().add(refuses);
    let stopped =
        host.run(&["move", "--plan", &path]).await.unwrap().ends_with(4).unwrap().document().unwrap();
    let resume = stopped["next"][0].as_str().unwrap();
    assert!(resume.contains(" resume ") && resume.contains(&format!(" --plan {path}")), "{resume}");
    wired.target.faults().remove(rule);
    let without =
        host.run(&["resume", "--accept", "takeover-unchecked"]).await.unwrap().ends_with(3).unwrap();
    assert!(without.stderr.contains("needs its file until it is committed"), "{}", without.stderr);
    patch(&stage, MACHINE, "c-0", label()).await;
    let again = host
        .run(&["resume", "--accept", "takeover-unchecked", "--plan", &path])
        .await
        .unwrap()
        .ends_with(4)
        .unwrap();
    assert_eq!(
        messages(&again.document().unwrap()),
        ["Machine shop/c-0 has changed since the plan was made"]
    );
    patch(&stage, MACHINE, "c-0", json!({ "metadata": { "labels": { "lab/changed": null } } })).await;
    host.run(&["resume", "--accept", "takeover-unchecked", "--plan", &path]).await.unwrap().done().unwrap();
    stage.tidy(&[NAMESPACE]).await;
    assert!(all(&stage.pair.source, &[NAMESPACE]).await.is_empty());
}
