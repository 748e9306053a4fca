//! `pivot-host verify --restore`: restores a directory into memory, and compares.
//!
//! The engine moves the files into an empty cluster in memory, with the plugins that the restore would load. Then each object of the
//! files must be there: with its fields, and with its owners. Status isn't compared, because controllers write it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pivot_core::copies::body::find_lost_fields;
use pivot_core::messages::grouping::MAX_LISTED_NAMES;
use pivot_core::messages::refusal::some_of;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::{ADDED, BLOCK_MOVE, COPY_OF, MARK, RETURN, UNDO};
use pivot_core::plan::Plan;
use pivot_core::plugins::hooks::Hook;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{Both, Key, Object};
use pivot_engine::{Event, Halter, Hooks, Options, Setup, Sides, Watcher, run};
use pivot_memory::MemoryPlace;
use pivot_places::Place;
use serde_json::Value;

use super::super::Loading;
use super::controllers::{find_report, run_controllers};
use super::stage::VARYING_METADATA;
use crate::args::{DirectoryEnd, PluginArgs, SourceEnd};
use crate::ends;
use crate::output::Text;

/// Limit of each wait. Nothing changes after the first turns of the controllers.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Annotations that a move writes or removes.
const ANNOTATIONS_OF_MOVES: [&str; 6] = [ADDED, BLOCK_MOVE, COPY_OF, MARK, RETURN, UNDO];

/// The result of a restore into memory.
pub(crate) struct RestoreComparison {
    /// Number of the objects in the files.
    pub(crate) objects: usize,
    /// Number of the objects whose fields plugins changed.
    pub(crate) changed_by_plugins: usize,
    /// Differences from the files. Each is a sentence about one object.
    pub(crate) differences: Vec<String>,
}

impl RestoreComparison {
    /// Returns the differences as one message; none if there are none.
    pub(crate) fn describe_differences(&self) -> Option<Text> {
        (!self.differences.is_empty()).then(|| {
            let listed = some_of(&self.differences, MAX_LISTED_NAMES);
            Text::from(format!("a restore differs from the files: {listed}"))
        })
    }
}

/// Restores a directory into memory, and compares.
///
/// # Errors
///
/// Fails with the reason why the restore would stop.
pub(crate) async fn restore_into_memory(
    directory: &DirectoryEnd,
    with: &PluginArgs,
) -> Result<RestoreComparison, Text> {
    let loading = Loading::begin(with);
    let opened = ends::open_single_end(&SourceEnd::Directory(directory.clone())).await;
    let (source, _) = opened.map_err(|error| Text::from(error.to_string()))?;
    let unread = |error: pivot_places::PlaceError| Text::from(error.to_string());
    let target = MemoryPlace::new("memory");
    let mut objects = Vec::new();
    for kind in source.kinds().await.map_err(unread)? {
        target.add_kind((*kind).clone());
        objects.extend(source.list(&kind, None).await.map_err(unread)?.objects);
    }
    let watcher = Arc::<PlanKeeper>::default();
    let plugins = restore(source, &target, &objects, &loading, watcher.clone()).await?;
    let plan = watcher.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    let stays: BTreeMap<Key, String> = plan
        .iter()
        .flat_map(|plan| &plan.stays)
        .map(|stay| (stay.key.clone(), stay.reason.to_string()))
        .collect();
    Ok(compare(&objects, &target, &stays, &plugins))
}

/// Moves the files into the target, and returns the plugins that took part.
async fn restore(
    source: Arc<dyn Place>,
    target: &MemoryPlace,
    objects: &[Object],
    loading: &Loading,
    watcher: Arc<dyn Watcher>,
) -> Result<Vec<Arc<dyn Hooks>>, Text> {
    let mut options = Options::new(Scope::new(Namespaces::All));
    // Neither a cluster nor a controller is there.
    options.scope.accept.insert(Risk::SourceMayRun);
    options.accept.insert(Risk::TakeoverUnchecked);
    options.accept.insert_kinds(Risk::Unseen, objects.iter().map(|object| object.kind.group_kind.clone()));
    let setup = Setup {
        sides: Sides { source, target: Arc::new(target.clone()) },
        options: Options {
            pause_timeout: MAX_WAIT,
            check_timeout: MAX_WAIT,
            takeover_timeout: MAX_WAIT,
            ..options
        },
        plugins: loading.participating(|_| ()),
        watcher,
        halter: Halter::default(),
        parking: Default::default(),
        // The copies in memory run no clusters.
        workload_clusters: None,
    };
    let reports = objects.iter().filter_map(find_report).collect();
    let (places, reports) =
        (Both::new(MemoryPlace::new("files"), target.clone()), Both::new(BTreeMap::new(), reports));
    let result = tokio::select! {
        // The first turn comes before the move.
        biased;
        never = run_controllers(&places, &reports) => match never {},
        result = run::start(setup) => result,
    };
    let loaded = loading.wait_for_plugins().await?;
    result.map(|_| loaded).map_err(|stop| Text::from(format!("a restore stops: {stop}")))
}

/// Keeps the plan of the restore.
#[derive(Default)]
struct PlanKeeper(Mutex<Option<Arc<Plan>>>);

impl Watcher for PlanKeeper {
    fn event(&self, event: Event) {
        if let Event::Planned { plan, .. } = &event {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan.clone());
        }
    }
}

/// Compares the objects of the files with the copies.
fn compare(
    objects: &[Object],
    target: &MemoryPlace,
    stays: &BTreeMap<Key, String>,
    plugins: &[Arc<dyn Hooks>],
) -> RestoreComparison {
    let copies: BTreeMap<Key, Value> =
        target.keys().into_iter().filter_map(|key| target.body(&key).map(|body| (key, body))).collect();
    let uids: BTreeSet<&str> =
        copies.values().filter_map(|copy| copy.pointer("/metadata/uid")?.as_str()).collect();
    let (mut differences, mut changed_by_plugins) = (Vec::new(), 0);
    for object in objects {
        let key = object.key();
        let Some(copy) = copies.get(&key) else {
            let reason = stays.get(&key).map(|reason| format!(": {reason}"));
            differences.push(format!("{key} is not restored{}", reason.unwrap_or_default()));
            continue;
        };
        let Ok(expected) = object.value() else {
            differences.push(format!("{key} can't be read"));
            continue;
        };
        let lost = find_lost_fields(&strip_changing_fields(expected), copy);
        let is_adapted = plugins.iter().any(|plugin| {
            [Hook::Adapt, Hook::Settle].iter().any(|hook| plugin.changes(*hook, &key.group_kind))
        });
        match (lost.is_empty(), is_adapted) {
            (true, _) => {}
            (false, true) => changed_by_plugins += 1,
            (false, false) => {
                differences.push(format!("{key} differs in {}", some_of(&lost, MAX_LISTED_NAMES)));
            }
        }
        differences.extend(find_lost_owners(object, &key, copy, &uids));
    }
    RestoreComparison { objects: objects.len(), changed_by_plugins, differences }
}

/// Removes the fields that a server sets, and the annotations of moves.
fn strip_changing_fields(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.remove("status");
    }
    let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) else { return body };
    VARYING_METADATA.iter().chain(&["ownerReferences", "generateName"]).for_each(|field| {
        metadata.remove(*field);
    });
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !ANNOTATIONS_OF_MOVES.contains(&name.as_str()));
    }
    body
}

/// Returns a sentence for each owner in the files that the copy doesn't have.
fn find_lost_owners(object: &Object, key: &Key, copy: &Value, uids: &BTreeSet<&str>) -> Vec<String> {
    let references = copy.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let references: Vec<&Value> = references.into_iter().flatten().collect();
    let lost = object.meta.owner_references.iter().filter(|owner| {
        !references.iter().any(|reference| {
            let is_same = reference["kind"] == *owner.kind && reference["name"] == *owner.name;
            is_same && reference["uid"].as_str().is_some_and(|uid| uids.contains(uid))
        })
    });
    lost.map(|owner| format!("{key} has lost its owner {} {}", owner.kind, owner.name)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pivot_core::{GroupKind, Kind, KindLabels};
    use serde_json::json;

    use super::*;

    #[test]
    fn lost_fields_and_owners_are_differences() {
        let kind = Arc::new(Kind {
            group_kind: GroupKind::new("x.io", "Host"),
            version: "v1".to_owned(),
            plural: "hosts".to_owned(),
            namespaced: true,
            status_subresource: true,
            served: vec!["v1".to_owned()],
            labels: KindLabels::default(),
        });
        let body = |spec: Value| {
            let owner = json!({"apiVersion": "x.io/v1", "kind": "Rack", "name": "r", "uid": "u"});
            let metadata = json!({"namespace": "ns", "name": "h", "ownerReferences": [owner]});
            json!({"apiVersion": "x.io/v1", "kind": "Host", "metadata": metadata, "spec": spec})
        };
        let object = Object::from_value(kind.clone(), &body(json!({"kept": 1, "lost": 2}))).unwrap();
        let target = MemoryPlace::new("memory");
        target.add_kind((*kind).clone()).add_namespace("ns");
        target.insert(body(json!({"kept": 1}))).unwrap();
        let found = compare(&[object], &target, &BTreeMap::new(), &[]);
        assert_eq!(
            found.differences,
            ["Host ns/h differs in spec.lost", "Host ns/h has lost its owner Rack r"]
        );
    }
}
