//! Checks observations beyond the observer's own rules: here the controllers are real, so it matters when they acknowledged the
//! pause, and whether anything ever looked to them like a real deletion.

use std::collections::{BTreeMap, BTreeSet};

use pivot_lab::ObjectKey;
use pivot_lab::assets::CLUSTER_API_SILENT;
use pivot_lab::observer::{Event, Log, Side};
use serde_json::Value;

use super::world::{CLUSTER_NAME, conditions};

const CLUSTER: &str = "Cluster.cluster.x-k8s.io";

/// Kinds whose controllers write a status.
const AT_WORK: [&str; 8] = [
    CLUSTER,
    "Machine.cluster.x-k8s.io",
    "MachineSet.cluster.x-k8s.io",
    "MachineDeployment.cluster.x-k8s.io",
    "KubeadmConfig.bootstrap.cluster.x-k8s.io",
    "KubeadmControlPlane.controlplane.cluster.x-k8s.io",
    "LabCluster.infrastructure.cluster.x-k8s.io",
    "LabMachine.infrastructure.cluster.x-k8s.io",
];

/// Those whose controllers report a pause.
pub(crate) fn speaking(version: &str) -> &'static [&'static str] {
    // Before 1.9 only the lab's own provider does.
    if version == CLUSTER_API_SILENT { &AT_WORK[6..] } else { &AT_WORK }
}

/// Violations in words, for kinds whose controllers report a pause.
pub(crate) fn complaints(log: &Log, speaking: &[&str]) -> Vec<String> {
    let mut seen = Seen::default();
    let mut complaints = Vec::new();
    let (mut copying, mut deleting) = (false, false);
    for (index, event) in log.events.iter().enumerate() {
        if index >= log.started {
            if !copying && event.side == Side::Target && seen.at(Side::Source, &event.key).is_some() {
                copying = true;
                complaints.extend(seen.not_acknowledged(speaking));
            }
            if !deleting && event.gone && event.side == Side::Source {
                deleting = true;
                complaints.extend(seen.not_taken_over());
            }
            complaints.extend(seen.ends_for_real(event));
        }
        seen.note(event);
    }
    if !copying {
        complaints.push("nothing was copied".to_owned());
    }
    complaints
}

/// How often finalizers came back on a source object after they had been removed.
pub(crate) fn finalizers_back(log: &Log) -> usize {
    let mut had: BTreeMap<&ObjectKey, bool> = BTreeMap::new();
    let mut count = 0;
    for event in log.events.iter().skip(log.started).filter(|event| event.side == Side::Source) {
        let has = event.object.pointer("/metadata/finalizers/0").is_some();
        if had.insert(&event.key, has) == Some(false) && has {
            count += 1;
        }
    }
    count
}

/// The state of both sides at one moment.
#[derive(Default)]
struct Seen {
    objects: BTreeMap<(Side, ObjectKey), Value>,
}

impl Seen {
    fn at(&self, side: Side, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(&(side, key.clone()))
    }

    fn note(&mut self, event: &Event) {
        let place = (event.side, event.key.clone());
        if event.gone {
            self.objects.remove(&place);
        } else {
            self.objects.insert(place, event.object.clone());
        }
    }

    /// Objects whose controllers had not acknowledged the pause at the moment of the first copy.
    fn not_acknowledged(&self, speaking: &[&str]) -> Vec<String> {
        let source = self.objects.iter().filter(|((side, _), _)| *side == Side::Source);
        let mut silent: BTreeSet<&str> = speaking.iter().copied().collect();
        let mut complaints = Vec::new();
        for ((_, key), object) in source {
            match conditions(object).get("Paused") {
                None => {}
                Some(&"True") => drop(silent.remove(key.kind.as_str())),
                Some(_) => complaints.push(format!("{key} was copied before its controller had stopped")),
            }
        }
        complaints.extend(silent.into_iter().map(|kind| format!("no {kind} acknowledged the pause")));
        complaints
    }

    /// Kinds whose controllers had written nothing in the target at the moment of the first deletion: a copy has no status.
    fn not_taken_over(&self) -> Vec<String> {
        let written = |kind: &str| {
            self.objects.iter().any(|((side, key), object)| {
                let status = object.get("status").and_then(Value::as_object);
                *side == Side::Target && key.kind == kind && status.is_some_and(|status| !status.is_empty())
            })
        };
        let silent = AT_WORK.into_iter().filter(|kind| !written(kind));
        silent.map(|kind| format!("the source was deleted before a controller of {kind} took over")).collect()
    }

    /// A deletion that controllers had to carry out: in the source while its Cluster is not paused or is gone, in the target at
    /// any time.
    fn ends_for_real(&self, event: &Event) -> Option<String> {
        let deleting = event.object.pointer("/metadata/deletionTimestamp").is_some();
        if !(event.gone || deleting) {
            return None;
        }
        if event.side == Side::Target {
            return Some(format!("{} is deleted in the target", event.key));
        }
        let paused = |cluster: &str| {
            let cluster = self.at(Side::Source, &ObjectKey::new(CLUSTER, &event.key.namespace, cluster))?;
            Some(cluster.pointer("/spec/paused") == Some(&Value::Bool(true)))
        };
        let label = event.object.pointer("/metadata/labels").and_then(|labels| labels.get(CLUSTER_NAME));
        match label.and_then(Value::as_str).map(paused) {
            None | Some(Some(true)) => None,
            Some(Some(false)) => Some(format!("{} is deleted while its Cluster is not paused", event.key)),
            Some(None) => Some(format!("{} is deleted after its Cluster", event.key)),
        }
    }
}
