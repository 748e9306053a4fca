//! Two servers with a small management cluster on the first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::{FINISHED, ROLLED_BACK};
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key, Kind, KindLabels};
use pivot_engine::Setup;
use pivot_engine::{Clock, Halter, Hooks, Moment, MoveStatus, Options, Sides, Stop, run};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::behind;
use crate::secret_watcher::SecretWatcher;

pub(crate) const CLUSTERS: &str = "cluster.x-k8s.io";
pub(crate) const INFRA: &str = "infrastructure.cluster.x-k8s.io";

pub(crate) struct Stage {
    pub(crate) source: MemoryPlace,
    pub(crate) target: MemoryPlace,
    pub(crate) options: Options,
    pub(crate) plugins: Vec<Arc<dyn Hooks>>,
    pub(crate) watcher: Arc<SecretWatcher>,
}

pub(crate) fn kind(group: &str, kind: &str, plural: &str, labels: KindLabels) -> Kind {
    Kind {
        group_kind: GroupKind::new(group, kind),
        version: "v1beta2".into(),
        plural: plural.into(),
        namespaced: kind != "Identity",
        status_subresource: true,
        served: vec!["v1beta2".into()],
        labels,
    }
}

pub(crate) fn kinds() -> Vec<Kind> {
    let discover = KindLabels { discover: true, ..KindLabels::default() };
    let moves = KindLabels { moves: true, ..discover };
    vec![
        kind(CLUSTERS, "Cluster", "clusters", discover),
        kind(CLUSTERS, "ClusterClass", "clusterclasses", discover),
        kind(CLUSTERS, "Machine", "machines", discover),
        kind(CLUSTERS, "MachineSet", "machinesets", discover),
        kind(INFRA, "InfraCluster", "infraclusters", discover),
        kind(INFRA, "InfraMachine", "inframachines", discover),
        kind(INFRA, "InfraTemplate", "infratemplates", discover),
        kind(INFRA, "Pool", "pools", moves),
        kind(INFRA, "Host", "hosts", moves),
    ]
}

pub(crate) fn body(group: &str, kind: &str, name: &str, owner: Option<(&str, &str, &str)>) -> Value {
    let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1beta2") };
    let mut body = json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": "ns", "uid": format!("{kind}-{name}"), "labels": {"l": name}},
    });
    if kind != "Secret" {
        body["metadata"]["finalizers"] = json!([format!("{}/finalizer", group)]);
    }
    if let Some((group, kind, name)) = owner {
        body["metadata"]["ownerReferences"] = json!([{"apiVersion": format!("{group}/v1beta2"), "kind": kind,
            "name": name, "uid": format!("{kind}-{name}"), "controller": true}]);
    }
    body
}

/// A Cluster of two machines with a class, a pool and what belongs to them.
pub(crate) fn objects() -> Vec<Value> {
    let cluster = Some((CLUSTERS, "Cluster", "c"));
    let mut all = vec![
        body(CLUSTERS, "ClusterClass", "class", None),
        body(INFRA, "InfraTemplate", "t", Some((CLUSTERS, "ClusterClass", "class"))),
        body(CLUSTERS, "Cluster", "c", None),
        body(INFRA, "InfraCluster", "c", cluster),
        body(INFRA, "Pool", "p", None),
        body("", "Secret", "c-kubeconfig", None),
    ];
    all[2]["spec"] = json!({"topology": {"classRef": {"name": "class"}}, "paused": false});
    all[2]["metadata"]["annotations"] = json!({"mine": "1"});
    all[2]["status"] = json!({"initialization": {"infrastructureProvisioned": true},
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    all[5]["data"] = json!({"value": "c2VjcmV0"});
    for name in ["m0", "m1"] {
        let mut machine = body(CLUSTERS, "Machine", name, cluster);
        machine["status"] = json!({"nodeRef": {"name": name}});
        let mut infra = body(INFRA, "InfraMachine", name, Some((CLUSTERS, "Machine", name)));
        infra["spec"] = json!({"big": 9_007_199_254_740_993_i64});
        let mut secret = body("", "Secret", &format!("{name}-bootstrap"), Some((CLUSTERS, "Machine", name)));
        secret["data"] = json!({"value": "Ym9vdA=="});
        all.extend([machine, infra, secret]);
    }
    let mut stranger = body("", "Secret", "pull", None);
    stranger["data"] = json!({"p": "eA=="});
    all.push(stranger);
    all
}

impl Stage {
    pub(crate) fn new() -> Self {
        let stage = Self::empty();
        objects().into_iter().for_each(|object| drop(stage.source.insert(object).unwrap()));
        stage
    }

    pub(crate) fn empty() -> Self {
        let (source, target) = (MemoryPlace::new("source"), MemoryPlace::new("target"));
        for place in [&source, &target] {
            kinds().into_iter().for_each(|kind| {
                place.add_kind(kind);
            });
        }
        source.add_namespace("ns");
        // Nobody is at work in the target.
        let scope = Scope::new(Namespaces::One("ns".into()));
        let options =
            Options { break_lease: true, accept: Risk::TakeoverUnchecked.into(), ..Options::new(scope) };
        Self { source, target, options, plugins: Vec::new(), watcher: Arc::default() }
    }

    pub(crate) fn setup(&self) -> Setup {
        Setup {
            sides: Sides { source: behind::source(&self.source), target: behind::target(&self.target) },
            options: self.options.clone(),
            plugins: self.plugins.clone().into(),
            watcher: self.watcher.clone(),
            halter: halter(),
            parking: Default::default(),
            workload_clusters: None,
        }
    }

    /// Runs the move until, after the target was asked `once`, the source is to do what is `dead`: there it dies, and both answer
    /// again.
    pub(crate) async fn dies(
        &self,
        once: impl Fn(&str, &Key) -> bool + Send + Sync + 'static,
        dead: impl Fn(&str, &Key) -> bool + Send + Sync + 'static,
    ) -> Stop {
        let armed = Arc::new(AtomicBool::new(false));
        self.target.on_call({
            let armed = armed.clone();
            move |verb, key| {
                armed.fetch_or(once(verb, key), Ordering::SeqCst);
                None
            }
        });
        self.source.on_call(move |verb, key| {
            let dead = armed.load(Ordering::SeqCst) && dead(verb, key);
            dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
        });
        let stop = run::start(self.setup()).await.unwrap_err();
        self.source.on_call(|_, _| None);
        self.target.on_call(|_, _| None);
        stop
    }
}

/// Asks for stops, and judges leases by tokio's clock alone: where that stands still, a busy machine doesn't cost a run its lease.
pub(crate) fn halter() -> Halter {
    let began = Instant::now();
    let wall = move || SystemTime::UNIX_EPOCH + began.elapsed();
    Halter::with_clock(Clock::new(move || Moment { steady: Instant::now(), wall: wall() }))
}

/// What a server holds, in a form in which two servers can be compared: owners by name, nothing a server gives.
pub(crate) fn picture(place: &MemoryPlace) -> BTreeMap<String, Value> {
    let keys = place.keys();
    let names: BTreeMap<String, String> = keys
        .iter()
        .filter_map(|key| Some((place.body(key)?["metadata"]["uid"].as_str()?.to_owned(), key.to_string())))
        .collect();
    let mut picture = BTreeMap::new();
    for key in keys {
        let mut body = place.body(&key).unwrap();
        // Locks and what moves leave behind are judged apart.
        if key.group_kind.is("", "Namespace") || key.group_kind.kind == "Lease" || is_summary(&body) {
            continue;
        }
        let metadata = body["metadata"].as_object_mut().unwrap();
        for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(field);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("pivot-host.io/move");
            annotations.remove("pivot-host.io/copy-of");
            annotations.remove("pivot-host.io/added");
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
            let uid = owner["uid"].as_str().unwrap();
            owner["uid"] = json!(names.get(uid).cloned().unwrap_or_else(|| format!("dangling {uid}")));
        }
        // A create drops status; whether it comes back is its controllers' business.
        body.as_object_mut().unwrap().remove("status");
        picture.insert(key.to_string(), body);
    }
    picture
}

/// Whether an object is the record that a side keeps of a move.
pub(crate) fn is_record(key: &Key, side: &str) -> bool {
    key.group_kind.is("", "ConfigMap") && key.name.starts_with(&format!("pivot-host-{side}"))
}

/// Returns true if an object is what a move left behind that ended or was rolled back.
pub(crate) fn is_summary(body: &Value) -> bool {
    [FINISHED, ROLLED_BACK].iter().any(|label| body["metadata"]["labels"].get(label).is_some())
}

/// The moves that claim a lock of a server.
pub(crate) fn claims(place: &MemoryPlace) -> Vec<String> {
    let leases = place.keys().into_iter().filter(|key| key.group_kind.kind == "Lease");
    let claim =
        |key| Some(place.body(&key)?["metadata"]["annotations"]["pivot-host.io/claim"].as_str()?.to_owned());
    leases.filter_map(claim).collect()
}

/// The one move that is under way, if there is one.
pub(crate) async fn under_way(setup: Setup) -> Option<MoveStatus> {
    let status = run::status(setup).await.unwrap();
    assert!(status.moves.len() <= 1, "{status:?}");
    status.moves.into_iter().next()
}

/// The key of an object of the stage.
pub(crate) fn key(group: &str, kind: &str, name: &str) -> Key {
    Key::new(GroupKind::new(group, kind), Some("ns"), name)
}
