//! What a move must preserve, and what it must not leave behind.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams};
use pivot_lab::{Dump, Server, normalise};
use serde::Serialize;
use serde_json::{Value, json};

use crate::pivots::Pivots;
use crate::secrets::ensure_no_secret;

/// By which a move knows its copies.
const MARKS: [&str; 2] = ["pivot-host.io/move", "pivot-host.io/copy-of"];
/// On what remains of a move that ended or was rolled back: a summary, for `status`.
pub const SUMMARIES: [&str; 2] = ["pivot-host.io/finished", "pivot-host.io/rolled-back"];

/// What must be identical at both ends of a move: everything but status, the marks, and what two servers never have in common.
/// Owners are named; a missing one is marked as such. If records are kept beside the moved objects, the move's summary is left
/// out.
#[must_use]
pub fn carried(dump: Dump) -> Dump {
    let mut dump = normalise(dump);
    let is_summary = |object: &Value| {
        let labels = object.pointer("/metadata/labels");
        labels.is_some_and(|labels| SUMMARIES.iter().any(|label| labels.get(label).is_some()))
    };
    dump.retain(|_, object| !is_summary(object));
    for object in dump.values_mut() {
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { continue };
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| !MARKS.contains(&name.as_str()));
        }
        // A server shows no empty map; one that held only marks disappears.
        metadata.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
    }
    dump
}

/// Describes how two states differ: names and paths, no values.
#[must_use]
pub fn difference(left: &Dump, right: &Dump) -> String {
    let keys: BTreeSet<_> = left.keys().chain(right.keys()).collect();
    let lines = keys.into_iter().filter_map(|key| match (left.get(key), right.get(key)) {
        (Some(_), None) => Some(format!("{key}: only on the left")),
        (None, Some(_)) => Some(format!("{key}: only on the right")),
        (Some(left), Some(right)) if left != right => {
            let mut paths = Vec::new();
            differing(left, right, "", &mut paths);
            Some(format!("{key}: {}", paths.join(", ")))
        }
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn differing(left: &Value, right: &Value, path: &str, found: &mut Vec<String>) {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                differing(&of(left), &of(right), &format!("{path}/{key}"), found);
            }
        }
        (left, right) if left != right => found.push(path.to_owned()),
        _ => {}
    }
}

/// Owner references to UIDs that no object of the dump has.
#[must_use]
pub fn dangling(dump: &Dump) -> Vec<String> {
    let uids: BTreeSet<_> =
        dump.values().filter_map(|object| object.pointer("/metadata/uid")?.as_str()).collect();
    let owners = dump.iter().flat_map(|(key, object)| {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        owners.into_iter().flatten().map(move |owner| (key, owner))
    });
    let unknown = owners
        .filter(|(_, owner)| owner.get("uid").and_then(Value::as_str).is_none_or(|uid| !uids.contains(uid)));
    unknown.map(|(key, owner)| format!("{key} -> {owner}")).collect()
}

/// Objects that carry anything of ours: a mark, or a pause to undo.
#[must_use]
pub fn touched(dump: &Dump) -> Vec<String> {
    let ours = dump.iter().filter(|(_, object)| object.to_string().contains("pivot-host.io/"));
    ours.map(|(key, _)| key.to_string()).collect()
}

/// A move's own objects on a server while it is under way: its leases, its records, its probes.
///
/// # Errors
///
/// If a record, an Event or a Pivot has the content of a Secret.
pub async fn belongings(server: &Server) -> Result<Vec<String>> {
    ensure_no_secret_in_records(server).await?;
    let all = ListParams::default();
    let maps = Api::<ConfigMap>::all(server.client()).list(&all).await?;
    let leases = Api::<Lease>::all(server.client()).list(&all).await?;
    let maps = maps
        .iter()
        .filter(|map| !SUMMARIES.iter().any(|label| map.labels().contains_key(*label)))
        .map(|map| format!("ConfigMap {}/{}", map.namespace().unwrap_or_default(), map.name_any()));
    let leases = leases
        .iter()
        .map(|lease| format!("Lease {}/{}", lease.namespace().unwrap_or_default(), lease.name_any()));
    Ok(maps.chain(leases).filter(|name| name.contains("/pivot-host")).collect())
}

/// Fails if a record or a summary of a move, an Event or a Pivot has the content of a Secret. Returns the number of records and
/// summaries.
pub async fn ensure_no_secret_in_records(server: &Server) -> Result<usize> {
    let params = ListParams::default();
    let maps = Api::<ConfigMap>::all(server.client()).list(&params).await?;
    let records: Vec<_> = maps.iter().filter(|map| map.name_any().starts_with("pivot-host")).collect();
    for map in &records {
        ensure_no_secret_in(server, "ConfigMap", *map)?;
    }
    for event in &Api::<Event>::all(server.client()).list(&params).await? {
        ensure_no_secret_in(server, "Event", event)?;
    }
    match Pivots::of(server).in_all_namespaces().list(&params).await {
        Ok(pivots) => pivots.iter().try_for_each(|pivot| ensure_no_secret_in(server, "Pivot", pivot))?,
        // Most servers don't have their definition.
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => return Err(error.into()),
    }
    Ok(records.len())
}

fn ensure_no_secret_in(server: &Server, kind: &str, object: &(impl ResourceExt + Serialize)) -> Result<()> {
    let place = format!("{kind} {} of the {}", object.name_any(), server.name());
    ensure_no_secret(place, &serde_json::to_string(object)?)
}

/// The namespaces that exist, except the record namespace, which the first move creates.
pub async fn namespaces(server: &Server) -> Result<BTreeSet<String>> {
    let list = Api::<Namespace>::all(server.client()).list(&ListParams::default()).await?;
    Ok(list.iter().map(ResourceExt::name_any).filter(|name| name != "pivot-host-records").collect())
}

/// Waits until a namespace that is being deleted is gone.
pub async fn until_gone(server: &Server, namespace: &str) -> Result<()> {
    let start = Instant::now();
    while namespaces(server).await?.contains(namespace) {
        if start.elapsed() > Duration::from_mins(2) {
            bail!("namespace {namespace} is still there");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Writes the status from elsewhere: what controllers and plugins do, and a create does not.
pub async fn restore_status(server: &Server, from: &Dump) -> Result<()> {
    let kinds = server.kinds().await?;
    let kinds: BTreeMap<_, _> = kinds.iter().map(|kind| (kind.name(), kind)).collect();
    for (key, object) in from {
        let (Some(status), Some(kind)) = (object.get("status"), kinds.get(&key.kind)) else { continue };
        let api = kind.api(server.client()).constrain(&key.namespace);
        let patch = Patch::Merge(json!({ "status": status }));
        match api.patch_status(&key.name, &PatchParams::default(), &patch).await {
            // No subresource: a copy has it already.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => drop(other?),
        }
    }
    Ok(())
}
