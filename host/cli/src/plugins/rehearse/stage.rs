//! The two sides of a rehearsal in memory, and the move between them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::{self, GROUP_CLUSTERCTL};
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{Both, Key, Object, Side};
use pivot_engine::{Halter, Hooks, Options, Report, Setup, Sides, Stop, Watcher, run};
use pivot_memory::MemoryPlace;
use pivot_places::ClusterInFile;
use serde_json::Value;

use super::controllers::{Reports, find_report, run_controllers};

/// Limit of each wait. Nothing changes after the first turns of the controllers.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Fields of metadata that differ between two moves of the same objects.
pub(super) const VARYING_METADATA: [&str; 5] =
    ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"];

/// The objects that move, and the names of their namespaces.
pub(in crate::plugins) struct Scene {
    pub(in crate::plugins) source: ClusterInFile,
    pub(in crate::plugins) target: Option<ClusterInFile>,
    pub(in crate::plugins) namespaces: Namespaces,
    pub(in crate::plugins) namespace_map: NamespaceMap,
}

/// The state after a move.
pub(in crate::plugins) struct Outcome {
    pub(in crate::plugins) result: Result<Report, Box<Stop>>,
    /// Objects of the target that the scene didn't have there, without fields that vary.
    pub(in crate::plugins) copies: BTreeMap<Key, Value>,
}

impl Scene {
    /// Moves the objects with these plugins. `accepts_dangers`: as a user who accepts to move without a plugin.
    pub(in crate::plugins) async fn move_objects(
        &self,
        plugins: Vec<Arc<dyn Hooks>>,
        watcher: Arc<dyn Watcher>,
        accepts_dangers: bool,
    ) -> Outcome {
        let places = self.build_places();
        let reports: Reports = self.source.objects.iter().filter_map(find_report).collect();
        let renaming = self.namespace_map.into_target();
        let copied = reports.iter().map(|(key, report)| (renaming.rename_key(key), report.clone()));
        let reports = Both::new(reports.clone(), copied.collect());
        let before = places.target.keys();
        let mut options = Options::new(Scope {
            namespace_map: self.namespace_map.clone(),
            ..Scope::new(self.namespaces.clone())
        });
        if accepts_dangers {
            let kinds = self.source.kinds.iter().map(|kind| kind.group_kind.clone());
            options.scope.accept.insert_kinds(Risk::NoPlugin, kinds);
        }
        let setup = Setup {
            sides: Sides { source: Arc::new(places.source.clone()), target: Arc::new(places.target.clone()) },
            options: Options {
                pause_timeout: MAX_WAIT,
                check_timeout: MAX_WAIT,
                takeover_timeout: MAX_WAIT,
                ..options
            },
            plugins: plugins.into(),
            watcher,
            halter: Halter::default(),
            parking: Default::default(),
            workload_clusters: None,
        };
        let result = tokio::select! {
            // The first turn comes before the move.
            biased;
            never = run_controllers(&places, &reports) => match never {},
            result = run::start(setup) => result.map_err(Box::new),
        };
        let copies = places.target.keys().into_iter().filter(|key| !before.contains(key) && !is_record(key));
        let copies =
            copies.filter_map(|key| Some((key.clone(), strip_varying_fields(places.target.body(&key)?))));
        Outcome { result, copies: copies.collect() }
    }

    /// The target has the source's definitions, providers and Deployments.
    fn build_places(&self) -> Both<MemoryPlace> {
        let places = Both::new(MemoryPlace::new("source"), MemoryPlace::new("target"));
        for side in [Side::Source, Side::Target] {
            let place = places.get(side);
            let target = self.target.iter().filter(|_| side == Side::Target);
            for kind in [&self.source].into_iter().chain(target.clone()).flat_map(|cluster| &cluster.kinds) {
                place.add_kind((**kind).clone());
            }
            let own =
                self.source.objects.iter().filter(|object| side == Side::Source || is_installed(object));
            for object in own.chain(target.flat_map(|target| &target.objects)) {
                let inserted = object.value().map(|body| place.insert(body));
                if !matches!(inserted, Ok(Ok(_))) {
                    tracing::warn!(object = %object.key(), %side, "not put into memory");
                }
            }
        }
        places
    }
}

/// Returns true for objects that an installation of Cluster API has on both sides.
fn is_installed(object: &Object) -> bool {
    let kind = &object.kind.group_kind;
    kind.group == GROUP_CLUSTERCTL
        || kind.is("apps", "Deployment")
        || kind.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// Returns true for the objects in which a move keeps its own state.
fn is_record(key: &Key) -> bool {
    key.group_kind.is("", "Namespace") || key.namespace.as_deref() == Some(names::RECORD_NAMESPACE)
}

fn strip_varying_fields(mut body: Value) -> Value {
    let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) else { return body };
    VARYING_METADATA.iter().for_each(|field| drop(metadata.remove(*field)));
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !name.starts_with("pivot-host.io/"));
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    let owners = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut);
    owners.into_iter().flatten().filter_map(Value::as_object_mut).for_each(|owner| drop(owner.remove("uid")));
    body
}
