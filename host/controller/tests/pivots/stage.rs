//! A management cluster in memory with Pivots in it, the cluster that it made, and controllers that can die.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use pivot_controller::{Controller, GROUP, Metrics, Opener, Settings, VERSION};
use pivot_core::objects::selector::Part;
use pivot_core::{Both, GroupKind, Key, Kind, KindLabels, Object};
use pivot_engine::{Halt, Halter, Plugins};
use pivot_link::{AgentName, OfferedCluster};
use pivot_memory::MemoryPlace;
use pivot_places::{Budget, Place, PlaceError, Preconditions};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::distant::Distant;

const CAPI: &str = "cluster.x-k8s.io";
/// The controllers' own namespace.
pub(crate) const OWN: &str = "pivot-host-system";
/// Much longer than any move here takes.
const LIMIT: u32 = 4_000;

pub(crate) struct Stage {
    pub(crate) home: MemoryPlace,
    pub(crate) target: MemoryPlace,
    /// Another cluster that Secrets may lead to.
    pub(crate) other: MemoryPlace,
    pub(crate) metrics: Arc<Metrics>,
    /// Objects that every move also copies.
    pub(crate) also_copy: BTreeSet<Part>,
    /// Bytes of what home answers that a move may hold.
    pub(crate) budget: Option<usize>,
    pub(crate) longest_wait: Duration,
    pub(crate) release_list_limit: usize,
    pub(crate) plugins: Plugins,
    pub(crate) kubectl_flags: Both<Vec<String>>,
    /// Clusters that agents offer, and the namespaces whose agents may.
    pub(crate) offers: Vec<(AgentName, BTreeSet<OfferedCluster>)>,
    pub(crate) accept_returns: BTreeSet<String>,
    started: AtomicUsize,
}

/// A controller at work.
pub(crate) struct Running {
    task: JoinHandle<Result<(), PlaceError>>,
    halter: Halter,
}

impl Running {
    /// Kills the controller, which does nothing more.
    pub(crate) fn kill(&self) {
        self.task.abort();
    }

    /// Stops the controller, and waits until it has stopped.
    pub(crate) async fn stop(self) {
        self.halter.halt(Halt::Signal(15));
        self.task.await.unwrap().unwrap();
    }
}

/// The Secret's entry is the name of the cluster.
struct ByName {
    places: Vec<(&'static str, MemoryPlace)>,
    own: MemoryPlace,
    budget: Option<usize>,
    offers: Vec<(AgentName, BTreeSet<OfferedCluster>)>,
}

#[async_trait]
impl Opener for ByName {
    async fn open_by_secret(&self, secret: Object, entry: &str) -> Result<Arc<dyn Place>, String> {
        let body = secret.value().unwrap();
        let name = body["data"][entry].as_str().ok_or("no such entry")?;
        let place = self.places.iter().find(|(there, _)| *there == name).ok_or("no such cluster")?;
        Ok(Arc::new(Distant::of(place.1.clone())))
    }

    async fn open_agent(&self, name: &AgentName) -> Result<Arc<dyn Place>, PlaceError> {
        if name.name == "absent" {
            // As long as a controller waits for its call.
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
        let found = self.places.iter().find(|(there, _)| *there == "target");
        match found.filter(|_| name.to_string() == "shop/edge") {
            Some((_, place)) => Ok(Arc::new(Distant::of(place.clone()))),
            None => Err(PlaceError::Unavailable(format!("agent {name} is not connected"))),
        }
    }

    fn list_offers(&self) -> Vec<(AgentName, BTreeSet<OfferedCluster>)> {
        self.offers.clone()
    }

    fn open_own(&self) -> Arc<dyn Place> {
        Arc::new(Distant { budget: self.budget.map(Budget::new), ..Distant::of(self.own.clone()) })
    }
}

pub(crate) fn kind(group: &str, kind: &str, plural: &str, version: &str, labels: KindLabels) -> Kind {
    Kind {
        group_kind: GroupKind::new(group, kind),
        version: version.into(),
        plural: plural.into(),
        namespaced: true,
        status_subresource: kind != "Event",
        served: vec![version.into()],
        labels,
    }
}

fn pivots() -> Kind {
    kind(GROUP, "Pivot", "pivots", VERSION, KindLabels::default())
}

pub(crate) fn object(namespace: &str, kind: &str, name: &str, owner: Option<&str>) -> Value {
    let api_version = if kind == "Secret" { "v1".to_owned() } else { format!("{CAPI}/v1beta2") };
    let mut body = json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{kind}-{name}")},
    });
    if let Some(owner) = owner {
        body["metadata"]["ownerReferences"] = json!([{
            "apiVersion": format!("{CAPI}/v1beta2"), "kind": owner, "name": "c",
            "uid": format!("{namespace}-{owner}-c"), "controller": true,
        }]);
    }
    body
}

/// A Cluster with three machines, and the Secret that leads to it.
fn cluster(namespace: &str) -> Vec<Value> {
    let mut cluster = object(namespace, "Cluster", "c", None);
    cluster["spec"] = json!({"paused": false});
    cluster["status"] = json!({"initialization": {"infrastructureProvisioned": true},
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    let mut secret = object(namespace, "Secret", "c-kubeconfig", None);
    secret["data"] = json!({"value": "target"});
    let machines = (0..3).map(|index| {
        let mut machine = object(namespace, "Machine", &format!("m{index}"), Some("Cluster"));
        machine["status"] = json!({"nodeRef": {"name": format!("m{index}")}});
        machine
    });
    [cluster, secret].into_iter().chain(machines).collect()
}

/// Adds a namespace with a Cluster.
pub(crate) fn add_cluster(place: &MemoryPlace, namespace: &str) {
    place.add_namespace(namespace);
    cluster(namespace).into_iter().for_each(|object| drop(place.insert(object).unwrap()));
}

impl Stage {
    /// With a Cluster in each namespace.
    pub(crate) fn new(namespaces: &[&str]) -> Self {
        let [home, target, other] = ["home", "target", "other"].map(MemoryPlace::new);
        let discover = KindLabels { discover: true, ..KindLabels::default() };
        for place in [&home, &target, &other] {
            for (name, plural) in [("Cluster", "clusters"), ("Machine", "machines")] {
                place.add_kind(kind(CAPI, name, plural, "v1beta2", discover));
            }
        }
        home.add_kind(pivots());
        home.add_kind(kind("", "Event", "events", "v1", KindLabels::default()));
        home.add_namespace(OWN);
        namespaces.iter().for_each(|namespace| add_cluster(&home, namespace));
        let (metrics, also_copy, started) = (Arc::default(), BTreeSet::new(), AtomicUsize::new(0));
        Self {
            home,
            target,
            other,
            metrics,
            also_copy,
            budget: None,
            longest_wait: Duration::from_secs(24 * 60 * 60),
            release_list_limit: usize::MAX,
            plugins: Plugins::default(),
            kubectl_flags: Both::default(),
            offers: Vec::new(),
            accept_returns: BTreeSet::new(),
            started,
        }
    }

    /// A controller begins.
    pub(crate) fn start(&self) -> Running {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        self.start_as(format!("controller-{number}"))
    }

    /// A controller begins, which has this name among the others.
    pub(crate) fn start_as(&self, identity: String) -> Running {
        let halter = Halter::default();
        let plugins = self.plugins.clone();
        let controller = Controller {
            home: Arc::new(Distant::of(self.home.clone())),
            opener: Arc::new(ByName {
                places: vec![
                    ("home", self.home.clone()),
                    ("target", self.target.clone()),
                    ("other", self.other.clone()),
                ],
                own: self.home.clone(),
                budget: self.budget,
                offers: self.offers.clone(),
            }),
            plugins: Arc::new(move || plugins.clone()),
            settings: Settings {
                namespace: OWN.into(),
                record_namespace: "pivot-host-records".into(),
                also_copy: self.also_copy.clone(),
                accept_returns: self.accept_returns.clone(),
                identity,
                at_once: 10,
                longest_wait: self.longest_wait,
                release_list_limit: self.release_list_limit,
                kubectl_flags: self.kubectl_flags.clone(),
                explain: |stop| format!("{stop}; {}", stop.state),
            },
            metrics: self.metrics.clone(),
            agents: None,
        };
        Running { task: tokio::spawn(controller.run(halter.clone())), halter }
    }

    /// A user requests a move of the namespace into its workload cluster.
    pub(crate) fn ask(&self, namespace: &str) {
        self.ask_for(
            namespace,
            json!({"to": {"cluster": "c"}, "options": {"accept": [{"code": "takeover-unchecked"}]}}),
        );
    }

    pub(crate) fn ask_for(&self, namespace: &str, spec: Value) {
        self.ask_by_name(namespace, "pivot", spec);
    }

    pub(crate) fn ask_by_name(&self, namespace: &str, name: &str, spec: Value) {
        let metadata = json!({"name": name, "namespace": namespace, "generation": 1});
        let body = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Pivot", "metadata": metadata, "spec": spec,
        });
        self.home.insert(body).unwrap();
    }

    /// A kubeconfig of a cluster, in a Secret.
    pub(crate) fn secret(&self, namespace: &str, name: &str, cluster: &str) {
        let metadata = json!({"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")});
        let body =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"value": cluster}});
        self.home.insert(body).unwrap();
    }

    /// A user deletes the Pivot of the namespace.
    pub(crate) async fn delete(&self, namespace: &str) {
        let any = Preconditions::default();
        match self.home.delete(&Arc::new(pivots()), &pivot(namespace), &any).await {
            Ok(()) | Err(PlaceError::NotFound(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// The Pivot of a namespace, if it is there.
    pub(crate) fn pivot(&self, namespace: &str) -> Option<Value> {
        self.home.body(&pivot(namespace))
    }

    /// A condition of it.
    pub(crate) fn condition(&self, namespace: &str, of: &str) -> Option<Value> {
        let pivot = self.pivot(namespace)?;
        let conditions = pivot["status"]["conditions"].as_array()?.clone();
        conditions.into_iter().find(|condition| condition["type"] == of)
    }

    /// Asserts that the Pivot has succeeded, and that nothing is kept of it.
    pub(crate) fn done(&self, namespace: &str) -> bool {
        self.is(namespace, "Succeeded") && self.ways().is_empty()
    }

    pub(crate) fn is(&self, namespace: &str, of: &str) -> bool {
        self.condition(namespace, of).is_some_and(|condition| condition["status"] == "True")
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, so: impl Fn(&Self) -> bool) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            for _ in 0..LIMIT {
                if so(self) {
                    return;
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let shown: Vec<Value> = ["a", "b", "desk"].iter().filter_map(|name| self.pivot(name)).collect();
            panic!("{place}: never {what}: {shown:#?}");
        }
    }

    /// Returns the parts of a namespace's Cluster that are in a cluster.
    pub(crate) fn cluster_in(&self, place: &MemoryPlace, namespace: &str) -> Vec<String> {
        let of_cluster = |key: &Key| key.group_kind.group == CAPI || key.name == "c-kubeconfig";
        let keys = place.keys().into_iter();
        let mut there: Vec<String> = keys
            .filter(|key| key.namespace.as_deref() == Some(namespace) && of_cluster(key))
            .map(|key| key.to_string())
            .collect();
        there.sort();
        there
    }

    /// Returns what the controller keeps of moves: nothing, unless one is under way.
    pub(crate) fn ways(&self) -> Vec<Key> {
        let secret = |key: &Key| key.group_kind.is_secret() && key.namespace.as_deref() == Some(OWN);
        self.home.keys().into_iter().filter(secret).collect()
    }

    /// The Cluster of a namespace is whole, and active, where it is said to be, and nowhere else.
    #[track_caller]
    pub(crate) fn is_only_in(&self, place: &MemoryPlace, namespace: &str) {
        let other = if place.label() == "home" { &self.target } else { &self.home };
        let whole: Vec<String> = {
            let mut names: Vec<String> = cluster(namespace)
                .iter()
                .map(|body| {
                    format!(
                        "{} {namespace}/{}",
                        body["kind"].as_str().unwrap(),
                        body["metadata"]["name"].as_str().unwrap()
                    )
                })
                .collect();
            names.sort();
            names
        };
        assert_eq!(self.cluster_in(place, namespace), whole, "in {}", place.label());
        assert_eq!(self.cluster_in(other, namespace), Vec::<String>::new(), "in {}", other.label());
        let cluster = place.body(&Key::new(GroupKind::new(CAPI, "Cluster"), Some(namespace), "c")).unwrap();
        let paused = cluster["spec"]["paused"] == true
            || cluster.pointer("/metadata/annotations/cluster.x-k8s.io~1paused").is_some();
        assert!(!paused, "{cluster:#}");
    }
}

fn pivot(namespace: &str) -> Key {
    Key::new(GroupKind::new(GROUP, "Pivot"), Some(namespace), "pivot")
}
