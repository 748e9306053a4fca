//! The objects to check: those that move, in their current state on a side.

use std::collections::BTreeSet;

use pivot_sdk::objects::{self, Query};
use pivot_sdk::{Key, Kind, Move, Object, Result, Side};

use crate::groups::CORE;

/// Kinds that are always checked.
pub(crate) const CHECKED_KINDS: [Kind; 7] = [
    Kind::new(CORE, "Cluster"),
    Kind::new(CORE, "Machine"),
    Kind::new(CORE, "MachineDeployment"),
    Kind::new(CORE, "MachinePool"),
    Kind::new(CORE, "MachineSet"),
    Kind::new("addons.cluster.x-k8s.io", "ClusterResourceSet"),
    Kind::new("addons.cluster.x-k8s.io", "ClusterResourceSetBinding"),
];

/// The objects that move.
pub(crate) struct Scene {
    objects: Vec<Object>,
    /// Clusters that are paused.
    paused: BTreeSet<Key>,
}

impl Scene {
    /// Reads kind by kind, not object by object: one query per machine would be too many.
    pub(crate) fn read(side: Side, moving: &Move, is_checked: impl Fn(&Kind) -> bool) -> Result<Self> {
        let keys: BTreeSet<&Key> = moving.objects.iter().collect();
        let kinds: BTreeSet<&Kind> =
            keys.iter().map(|key| &key.kind).filter(|kind| is_checked(kind)).collect();
        let queries: Vec<Query> = kinds.iter().map(|kind| Query::for_kind(side, kind)).collect();
        let mut found = Vec::new();
        for (kind, answer) in kinds.iter().zip(objects::read_all(&queries)) {
            let all = match answer {
                // The target doesn't have the kind yet.
                Err(error) if error.is_not_found() => continue,
                Err(error) => {
                    return Err(error.with_context(format!("reading {kind} of the {}", side.as_str())));
                }
                Ok(all) => all,
            };
            // The namespace may also hold objects that stay.
            found.extend(all.into_iter().filter(|object| keys.contains(&object.key())));
        }
        found.sort_by_key(Object::key);
        let paused = found.iter().filter(|o| is_cluster(o) && is_paused(o)).map(Object::key).collect();
        Ok(Self { objects: found, paused })
    }

    /// Returns the objects that a controller keeps up to date.
    pub(crate) fn reconciled_objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|object| {
            let cluster = object.text("/spec/clusterName").or(object.label("cluster.x-k8s.io/cluster-name"));
            let cluster =
                cluster.zip(object.namespace()).map(|(name, ns)| Kind::new(CORE, "Cluster").key_in(ns, name));
            !is_paused(object) && cluster.is_none_or(|cluster| !self.paused.contains(&cluster))
        })
    }
}

fn is_cluster(object: &Object) -> bool {
    object.kind() == Kind::new(CORE, "Cluster")
}

fn is_paused(object: &Object) -> bool {
    object.annotation("cluster.x-k8s.io/paused").is_some() || object.is_true("/spec/paused")
}
