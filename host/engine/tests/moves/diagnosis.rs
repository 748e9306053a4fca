//! The diagnosis of a management cluster, alone and next to another one.

use std::sync::{Arc, Mutex};

use pivot_core::messages::remedy::Remedy;
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Key, KindLabels, Side};
use pivot_engine::{Event, Failure, Setup, Sides, Stop, Watcher, diagnosis};
use pivot_memory::Fault;
use pivot_places::{DirectoryPlace, Place, PlaceError};
use serde_json::{Value, json};

use crate::asked::UnderWay;
use crate::clusters::Notes;
use crate::stage::{CLUSTERS, Stage, is_record, key, kind, picture};
use crate::{dangling, gitops, plugins, run};

const DEFINITIONS: &str = "apiextensions.k8s.io";

/// Returns the codes of the problems, and the warnings. Nothing may be written.
async fn diagnose(stage: &Stage) -> (Vec<&'static str>, Vec<String>) {
    let warnings = Arc::new(Notes::default());
    let before = (picture(&stage.source), picture(&stage.target));
    let found = diagnosis::diagnose(Setup { watcher: warnings.clone(), ..stage.setup() }).await;
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    let codes = match found {
        Ok(_) => Vec::new(),
        Err(Stop { failure: Failure::Refused(refusals), .. }) => {
            refusals.iter().map(|refusal| refusal.code).collect()
        }
        Err(other) => panic!("{other}"),
    };
    (codes, warnings.lines_of(""))
}

/// Gives the Cluster of a side an address and an authority.
fn build(stage: &Stage, authority: &str) {
    let cluster = key(CLUSTERS, "Cluster", "c");
    let endpoint = |body: &mut Value| {
        body["spec"]["controlPlaneEndpoint"] = json!({"host": "10.0.0.1", "port": 6443});
    };
    stage.source.edit(&cluster, endpoint).unwrap();
    let secret = |authority| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c-ca", "namespace": "ns"},
            "data": {"tls.crt": authority}})
    };
    stage.source.insert(secret("b25l")).unwrap();
    stage.target.insert(stage.source.body(&cluster).unwrap()).unwrap();
    stage.target.insert(secret(authority)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn healthy_clusters_have_no_problems() {
    let stage = Stage::new();
    assert_eq!(diagnose(&stage).await, (Vec::new(), Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn diagnosis_reports_all_problems_at_once() {
    let stage = dangling::stage();
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), |body| body["spec"]["paused"] = json!(true)).unwrap();
    let (codes, warnings) = diagnose(&stage).await;
    assert_eq!(codes, ["already-paused"]);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let is_dangling =
        |text: &String| text.starts_with("would-dangle: ") && !text.contains("isn't in the target");
    assert!(warnings.iter().all(is_dangling), "{warnings:?}");
}

#[derive(Debug, Default)]
struct Remedies(Mutex<Vec<Remedy>>);

impl Watcher for Remedies {
    fn event(&self, event: Event) {
        if let Event::Warning { remedies, .. } = event {
            self.0.lock().unwrap().extend(remedies);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn dangling_warnings_have_remedies_of_plans() {
    let (stage, told) = (dangling::stage(), Arc::new(Remedies::default()));
    diagnosis::diagnose(Setup { watcher: told.clone(), ..stage.setup() }).await.unwrap();
    let stop = run::plan(stage.setup()).await.unwrap_err();
    let Failure::Refused(refusals) = stop.failure else { panic!() };
    let of_plan: Vec<Remedy> = refusals.into_iter().flat_map(|refusal| refusal.remedies).collect();
    assert!(of_plan.len() > 2 && *told.0.lock().unwrap() == of_plan, "{told:?} {of_plan:?}");
}

#[tokio::test(start_paused = true)]
async fn active_gitops_owners_are_problems() {
    assert_eq!(diagnose(&gitops::stage_with_owner()).await.0, ["gitops-active"]);
}

#[tokio::test(start_paused = true)]
async fn broken_plugins_hide_no_problem() {
    let mut stage = Stage::new();
    stage.plugins.push(plugins::broken_check());
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), |body| body["spec"]["paused"] = json!(true)).unwrap();
    let (codes, warnings) = diagnose(&stage).await;
    assert_eq!(codes, ["already-paused"]);
    assert!(warnings.iter().any(|warning| warning.starts_with("plugins-failed: ")), "{warnings:?}");
}

#[tokio::test(start_paused = true)]
async fn outdated_stored_versions_are_warnings() {
    let stage = Stage::new();
    let mut definition =
        kind(DEFINITIONS, "CustomResourceDefinition", "customresourcedefinitions", KindLabels::default());
    definition.namespaced = false;
    stage.source.add_kind(definition);
    let versions = json!([
        {"name": "v1beta1", "served": true, "storage": false, "deprecated": true},
        {"name": "v1beta2", "served": true, "storage": true},
    ]);
    let define = |plural: &str, stored: Value| {
        json!({"apiVersion": format!("{DEFINITIONS}/v1beta2"), "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{CLUSTERS}")},
            "spec": {"versions": versions}, "status": {"storedVersions": stored}})
    };
    stage.source.insert(define("clusters", json!(["v1beta2"]))).unwrap();
    stage.source.insert(define("machines", json!(["v1beta1", "v1beta2"]))).unwrap();
    let (codes, warnings) = diagnose(&stage).await;
    assert!(codes.is_empty(), "{codes:?}");
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.starts_with("outdated-versions: "), "{warning}");
    assert!(warning.ends_with(": Machine.cluster.x-k8s.io (v1beta1)"), "{warning}");
}

#[tokio::test(start_paused = true)]
async fn clusters_active_in_both_are_refused() {
    let stage = Stage::new();
    build(&stage, "b25l");
    assert_eq!(diagnose(&stage).await.0, ["active-in-both"]);
    stage.target.edit(&key(CLUSTERS, "Cluster", "c"), |body| body["spec"]["paused"] = json!(true)).unwrap();
    assert!(diagnose(&stage).await.0.is_empty(), "the target's Cluster is paused");
}

/// A namespace may have another name in the other cluster.
#[tokio::test(start_paused = true)]
async fn other_namespaces_are_compared_too() {
    let stage = Stage::new();
    build(&stage, "b25l");
    stage.target.add_namespace("elsewhere");
    let cluster = key(CLUSTERS, "Cluster", "c");
    let secret = Key::new(GroupKind::new("", "Secret"), Some("ns"), "c-ca");
    for key in [cluster, secret] {
        let mut body = stage.target.body(&key).unwrap();
        stage.target.remove(&key).unwrap();
        body["metadata"]["namespace"] = json!("elsewhere");
        body["metadata"]["uid"] = json!(format!("elsewhere-{}", key.name));
        body["metadata"]["finalizers"] = json!([]);
        stage.target.insert(body).unwrap();
    }
    assert_eq!(diagnose(&stage).await.0, ["active-in-both"]);
}

/// Anyone who can write Clusters chooses their addresses.
#[tokio::test(start_paused = true)]
async fn another_cluster_with_the_address_hides_none() {
    let stage = Stage::new();
    build(&stage, "b25l");
    let mut other = stage.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap();
    other["metadata"]["name"] = json!("z");
    other["metadata"]["uid"] = json!("z");
    stage.target.insert(other).unwrap();
    assert_eq!(diagnose(&stage).await.0, ["active-in-both"]);
}

#[tokio::test(start_paused = true)]
async fn unreadable_authorities_are_one_warning() {
    let stage = Stage::new();
    build(&stage, "b25l");
    let mut other = stage.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap();
    other["metadata"]["name"] = json!("z");
    other["metadata"]["uid"] = json!("z");
    stage.target.insert(other).unwrap();
    stage.target.on_call(|verb, key| {
        let denied = verb == "get" && key.group_kind.is_secret();
        denied.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    let (codes, warnings) = diagnose(&stage).await;
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(codes.is_empty() && warning.starts_with("authority-unreadable: "), "{codes:?} {warning}");
    let pairs = " (no): Cluster ns/c (Cluster ns/c in target) and Cluster ns/c (Cluster ns/z in target)";
    assert!(warning.ends_with(pairs), "{warning}");
}

/// Stages a move whose source is complete and paused after the commit.
async fn stage_committed_move() -> Stage {
    let mut stage = Stage::new();
    stage.options.stop_before_release = true;
    assert!(run::start(stage.setup()).await.is_err());
    stage
}

#[tokio::test(start_paused = true)]
async fn committed_move_hides_nothing() {
    let (codes, _) = diagnose(&stage_committed_move().await).await;
    assert_eq!(codes, ["paused-by-other-move"; 2], "the Cluster and its class");
}

#[tokio::test(start_paused = true)]
async fn unreadable_records_hide_no_problems() {
    let stage = stage_committed_move().await;
    let record = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
    stage.source.edit(&record, |body| body["data"] = json!({})).unwrap();
    let (codes, warnings) = diagnose(&stage).await;
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(
        codes == ["paused-by-other-move"; 2] && warning.starts_with("moves-unreadable: "),
        "{codes:?} {warning}"
    );
}

#[tokio::test(start_paused = true)]
async fn moves_out_and_in_are_reported() {
    let stage = stage_committed_move().await;
    let Sides { source, target } = stage.setup().sides;
    let files = tempfile::tempdir().unwrap();
    let nowhere: Arc<dyn Place> = Arc::new(DirectoryPlace::to_write(files.path()).unwrap());
    for (source, target, expected) in [
        (source.clone(), target.clone(), (None, Side::Target, Phase::Live)),
        (source.clone(), nowhere.clone(), (Some(Side::Target), Side::Source, Phase::Committed)),
        (target, nowhere, (Some(Side::Source), Side::Target, Phase::Live)),
    ] {
        let told = Arc::new(UnderWay::default());
        let setup = Setup { sides: Sides { source, target }, watcher: told.clone(), ..stage.setup() };
        let _ = diagnosis::diagnose(setup).await;
        let told = told.0.lock().unwrap();
        let [one] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((one.missing, one.decides, one.record.phase), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn other_authority_is_another_cluster() {
    let stage = Stage::new();
    build(&stage, "dHdv");
    assert!(diagnose(&stage).await.0.is_empty());
}
