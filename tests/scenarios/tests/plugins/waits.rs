//! The bundled plugins' gates in a move: closed, opened while the move waits, and timed out.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use pivot_lab::pki::Authority;
use pivot_lab::{Server, say};
use pivot_scenarios::host::{Host, Run};
use pivot_scenarios::ironic::{Ironic, State};
use pivot_scenarios::{shape, state};
use serde_json::{Value, json};

use crate::stage::{Plugins, Stage, as_before, cluster, decent, says};

/// Everything that `readiness` checks, except providers.
const READINESS: &str = "
[plugins.readiness.config]
skip = ['definitions', 'clusters', 'machines', 'rollouts', 'addons', 'packages']
";

/// The grants of a bundled plugin: from its section to the next.
fn granted(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/plugins.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let head = format!("[plugins.{name}]\n");
    let (_, rest) = text.split_once(&head).unwrap();
    format!("{head}{}\n", rest.split("\n[plugins.").next().unwrap())
}

/// A move that waits and reports what for, until the gate opens; then it finishes.
async fn opened(stage: &Stage, host: &Host, words: &[&str], says: &str, open: impl AsyncFnOnce()) -> Run {
    let words = [words, &["--check-timeout", "5m"]].concat();
    let mut run = host.start(&words).await.unwrap();
    run.until_it_says(says).await.unwrap();
    assert!(run.said().contains("waiting, "), "{}", run.said());
    assert!(run.still_runs().unwrap(), "{}", run.said());
    assert!(!state::belongings(&stage.pair.source).await.unwrap().is_empty(), "a move is under way");
    open().await;
    run
}

/// Exits 0, with nothing left in the source.
async fn done(stage: &Stage, run: Run, namespace: &str) {
    let ended = run.end().await.unwrap();
    say(format_args!("{namespace}: opened, exit {:?}", ended.code));
    decent(&ended).unwrap_or_else(|why| panic!("{why}\n{}", ended.stderr));
    ended.done().unwrap();
    assert!(stage.picture(namespace).await[0].is_empty());
}

/// Exit 8 after the gate's timeout, with everything unchanged.
async fn timed_out(stage: &Stage, host: &Host, words: &[&str], told: &[&str]) {
    let namespace = words[2];
    let before = stage.picture(namespace).await;
    let words = [words, &["--check-timeout", "1s"]].concat();
    let ended = host.run(&words).await.unwrap();
    say(format_args!("{namespace}: timed out, exit {:?}", ended.code));
    let judged = decent(&ended).and_then(|()| says(&ended, told)).and_then(|()| says(&ended, &["timed out"]));
    judged.unwrap_or_else(|why| panic!("{why}\n{}", ended.stderr));
    let ended = ended.ends_with(8).unwrap();
    let untouched = ended.stderr.contains("state: nothing is changed");
    assert!(untouched || ended.stderr.contains("unpaused again"), "{}", ended.stderr);
    as_before(&before, &stage.picture(namespace).await, untouched).unwrap();
    stage.no_traces(namespace).await.unwrap();
}

fn deployment(available: bool) -> Value {
    let labels = json!({ "cluster.x-k8s.io/provider": "infrastructure-metal3" });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "capm3", "namespace": "capm3-system", "labels": labels },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "manager", "image": "capm3" }] },
            },
        },
        "status": rollout(available),
    })
}

fn rollout(available: bool) -> Value {
    let ready = i32::from(available);
    let word = if available { "True" } else { "False" };
    json!({
        "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1,
        "readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": 1 - ready,
        "conditions": [{ "type": "Available", "status": word, "reason": "Lab", "message": "" }],
    })
}

async fn say_available(server: &Server) {
    let deployments =
        kube::Api::<k8s_openapi::api::apps::v1::Deployment>::namespaced(server.client(), "capm3-system");
    let patch = Patch::Merge(json!({ "status": rollout(true) }));
    deployments.patch_status("capm3", &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_becomes_available() {
    let stage = Stage::start().await;
    let operator = format!("{}{READINESS}", granted("readiness"));
    let plugins = stage.bundled("readiness", &["readiness"], &operator).await;
    let host = stage.between(&plugins);
    stage.fill(cluster("provider", "", "")).await;
    stage.fill(vec![deployment(true)]).await;
    stage.pair.target.apply_values(vec![deployment(false)]).await.unwrap();
    let words = ["move", "-n", "provider"];
    let told = "provider infrastructure-metal3 of the target is not available";
    timed_out(&stage, &host, &words, &["readiness", told, "describe -n capm3-system deployment capm3"]).await;
    let run = opened(&stage, &host, &words, told, async || say_available(&stage.pair.target).await).await;
    done(&stage, run, "provider").await;
}

/// Writes the condition that an operator waits for.
async fn say_blessed(server: &Server, namespace: &str) {
    let kinds = server.kinds().await.unwrap();
    let kind = kinds.iter().find(|kind| kind.name() == "Cluster.cluster.x-k8s.io").unwrap();
    let status = json!({ "conditions": [
        { "type": "ControlPlaneInitialized", "status": "True", "reason": "Lab", "message": "", "lastTransitionTime": "2026-08-03T10:58:41Z" },
        { "type": "Blessed", "status": "True", "reason": "Lab", "message": "", "lastTransitionTime": "2026-08-03T10:58:41Z" },
    ]});
    let patch = Patch::Merge(json!({ "status": status }));
    let api = kind.api(server.client()).constrain(namespace);
    api.patch_status("c", &PatchParams::default(), &patch).await.unwrap();
}

/// A condition that the site's own controllers write, in the source and, once it is resumed, in the target.
#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_becomes_true_on_either_side() {
    let stage = Stage::start().await;
    let extra = "extra = [{ kind = 'Cluster.cluster.x-k8s.io', conditions = ['Blessed'] }]\n";
    let operator = format!("{}{READINESS}{extra}", granted("readiness"));
    let plugins = stage.bundled("conditions", &["readiness"], &operator).await;
    let host = stage.between(&plugins);
    stage.fill(cluster("conditions", "", "")).await;
    let words = ["move", "-n", "conditions"];
    timed_out(&stage, &host, &words, &["readiness", "conditions are not true", "Blessed", "kubectl"]).await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let mut run = opened(&stage, &host, &words, "conditions are not true", async || {
        say_blessed(source, "conditions").await
    })
    .await;
    // The copy has no status before a controller of the target writes one.
    run.until_it_says("unpausing the copies in the target").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(run.still_runs().unwrap(), "{}", run.said());
    assert!(!source.dump(&["conditions"]).await.unwrap().is_empty(), "nothing is deleted before");
    say_blessed(target, "conditions").await;
    done(&stage, run, "conditions").await;
}

async fn endpoints(stage: &Stage, name: &str, url: &str, probe: &str) -> Plugins {
    let grants = granted("metal3-endpoints");
    let (before, _) = grants.split_once("probes = ").unwrap();
    let operator = format!(
        "{before}probes = ['{probe}', 'ironic/ironic:6385']\n[plugins.metal3-endpoints.config]\n\
         endpoint = '{url}'\nup = 'after-pause'\n"
    );
    stage.bundled(name, &["metal3-endpoints"], &operator).await
}

fn moving(namespace: &str) -> Vec<&str> {
    [&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_comes_up_late() {
    let stage = Stage::start().await;
    let ironic = Ironic::start(None).await.unwrap();
    let url = format!("http://127.0.0.1:{}/v1/", ironic.port);
    stage.fill(shape::cluster("late", 1)).await;
    let words = moving("late");

    // Only a pattern that names this machine covers it.
    let anywhere = endpoints(&stage, "anywhere", &url, "*:*").await;
    let ended = stage.between(&anywhere).run(&words).await.unwrap().ends_with(3).unwrap();
    says(&ended, &["metal3-endpoints", "must not be probed", "probes in plugins.toml", "unpaused again"])
        .unwrap();

    let plugins = endpoints(&stage, "late", &url, &format!("127.0.0.1:{}", ironic.port)).await;
    let host = stage.between(&plugins);
    timed_out(&stage, &host, &words, &["metal3-endpoints", "Ironic does not answer at", &url]).await;
    ironic.is(State::Starting);
    timed_out(&stage, &host, &words, &["metal3-endpoints", "no conductor is running yet"]).await;
    ironic.is(State::Down);
    let mut run =
        opened(&stage, &host, &words, "Ironic does not answer at", async || ironic.is(State::Starting)).await;
    run.until_it_says("no conductor is running yet").await.unwrap();
    ironic.is(State::Up);
    done(&stage, run, "late").await;
}

/// Ironic usually has a certificate of the site's own.
// proves: T117
#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_with_a_private_authority() {
    let stage = Stage::start().await;
    let authority = Authority::new("the site's authority").unwrap();
    let ironic = Ironic::start(Some(&authority.server().unwrap())).await.unwrap();
    ironic.is(State::Up);
    let url = format!("https://127.0.0.1:{}/v1/", ironic.port);
    stage.fill(shape::cluster("private", 1)).await;
    let words = moving("private");
    let plugins = endpoints(&stage, "private", &url, &format!("127.0.0.1:{}", ironic.port)).await;
    let host = stage.between(&plugins);
    timed_out(&stage, &host, &words, &["TLS failed", "SSL_CERT_FILE", &url]).await;

    let file = plugins.dir.join("authority.pem");
    std::fs::write(&file, authority.certificate()).unwrap();
    let ended = host.with_variable("SSL_CERT_FILE", file.to_str().unwrap()).run(&words).await.unwrap();
    decent(&ended).unwrap();
    ended.done().unwrap();
}
