//! What a run promises: which objects it moves, how they are paused, and which annotations it may use.

use std::collections::BTreeMap;

use serde_json::Value;

use super::log::Side;
use crate::kinds::{ObjectKey, text};

const CLUSTER: &str = "Cluster.cluster.x-k8s.io";
const PAUSED: &str = "cluster.x-k8s.io/paused";
/// The mark on the objects that a move creates.
const MARK: &str = "/metadata/annotations/pivot-host.io~1move";

/// Annotations that movers write for themselves: ours, and clusterctl's.
const BOOKKEEPING: [&str; 3] = ["pivot-host.io/", "clusterctl.cluster.x-k8s.io/", PAUSED];

type Predicate = Box<dyn Fn(&ObjectKey) -> bool + Send + Sync>;
type Strip = Box<dyn Fn(&ObjectKey, &mut Value) + Send + Sync>;

/// The rules of one run.
#[derive(Default)]
pub struct Rules {
    moved: Option<Predicate>,
    held: BTreeMap<String, String>,
    bookkeeping: Vec<String>,
    strip: Vec<Strip>,
    target_at_work: bool,
}

impl Rules {
    /// Everything that was in the source at the start moves; only Clusters are active or paused.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only these objects move. Objects created during the run are included if the predicate selects them.
    #[must_use]
    pub fn moved(mut self, moved: impl Fn(&ObjectKey) -> bool + Send + Sync + 'static) -> Self {
        self.moved = Some(Box::new(moved));
        self
    }

    /// Objects of a kind (`Kind.group`) are active unless they carry this annotation.
    #[must_use]
    pub fn held(mut self, kind: &str, annotation: &str) -> Self {
        self.held.insert(kind.to_owned(), annotation.to_owned());
        self
    }

    /// Annotations that need not be copied: a key, or a prefix that ends in a slash.
    #[must_use]
    pub fn bookkeeping(mut self, annotation: &str) -> Self {
        self.bookkeeping.push(annotation.to_owned());
        self
    }

    /// Removes what the run changes on purpose (a plugin's adaptation) before states are compared.
    #[must_use]
    pub fn strip(mut self, strip: impl Fn(&ObjectKey, &mut Value) + Send + Sync + 'static) -> Self {
        self.strip.push(Box::new(strip));
        self
    }

    /// Controllers work in the target: changes to its earlier objects say nothing about the move.
    #[must_use]
    pub fn target_at_work(mut self) -> Self {
        self.target_at_work = true;
        self
    }

    /// The target's objects that are not the move's, reduced to the parts that must not change. Marked objects may be its own,
    /// from an earlier run.
    pub(super) fn foreign(&self, now: &BTreeMap<(Side, ObjectKey), Value>) -> BTreeMap<ObjectKey, Value> {
        let foreign = now.iter().filter(|((side, _), object)| {
            let ends = !text(object, "/metadata/deletionTimestamp").is_empty();
            *side == Side::Target && !self.target_at_work && !ends && object.pointer(MARK).is_none()
        });
        foreign.map(|((_, key), object)| (key.clone(), touchable(object))).collect()
    }

    pub(super) fn is_moved(&self, key: &ObjectKey, was_there: impl FnOnce() -> bool) -> bool {
        match &self.moved {
            Some(moved) => moved(key),
            None => was_there(),
        }
    }

    /// Whether it would be reconciled; none for kinds that are not paused individually.
    pub(super) fn is_active(&self, key: &ObjectKey, object: &Value) -> Option<bool> {
        (key.kind == CLUSTER || self.held.contains_key(&key.kind)).then(|| !self.is_paused(key, object))
    }

    /// Whether it carries any kind of pause.
    pub(super) fn is_paused(&self, key: &ObjectKey, object: &Value) -> bool {
        let has = |annotation: &str| {
            let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
            annotations.is_some_and(|annotations| annotations.contains_key(annotation))
        };
        match self.held.get(&key.kind) {
            // Cluster API's annotation does not stop a controller that waits for its own.
            Some(annotation) => has(annotation),
            None if key.kind == CLUSTER => {
                object.pointer("/spec/paused") == Some(&Value::Bool(true)) || has(PAUSED)
            }
            None => has(PAUSED),
        }
    }

    /// The part of an object that a copy must have: everything but the status and, of the metadata, only labels and annotations.
    pub(super) fn state(&self, key: &ObjectKey, object: &Value) -> Value {
        let mut state = object.clone();
        if let Some(fields) = state.as_object_mut() {
            fields.remove("status");
        }
        if let Some(metadata) = state.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|field, _| field == "labels" || field == "annotations");
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.retain(|annotation, _| !self.is_bookkeeping(&key.kind, annotation));
            }
            // No annotations and an empty map of them are equal.
            metadata.retain(|_, value| value.as_object().is_some_and(|map| !map.is_empty()));
        }
        if key.kind == CLUSTER
            && let Some(spec) = state.get_mut("spec").and_then(Value::as_object_mut)
        {
            spec.remove("paused");
        }
        for strip in &self.strip {
            strip(key, &mut state);
        }
        state
    }

    fn is_bookkeeping(&self, kind: &str, annotation: &str) -> bool {
        let own = self.bookkeeping.iter().map(String::as_str).chain(self.held.get(kind).map(String::as_str));
        BOOKKEEPING.into_iter().chain(own).any(|known| match known.strip_suffix('/') {
            Some(_) => annotation.starts_with(known),
            None => annotation == known,
        })
    }
}

/// The part that a mover could overwrite: everything but the status and server-set metadata. It includes marks and pauses: they
/// don't belong on someone else's object.
pub(super) fn touchable(object: &Value) -> Value {
    let mut state = object.clone();
    if let Some(fields) = state.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = state.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| {
            ["labels", "annotations", "finalizers", "ownerReferences"].contains(&field.as_str())
        });
    }
    state
}

/// A UID, to tell an object from another of the same name.
pub(super) fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}
