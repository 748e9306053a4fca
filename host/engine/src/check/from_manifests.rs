//! Checks objects from manifests: the files are those that the move began with, and each namespace exists.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::plan::Step;
use pivot_core::records::record::Record;
use pivot_core::request::manifest_object::{Added, Addition};
use pivot_core::{GroupKind, Key, Side};
use pivot_places::PlaceError;

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::read::snapshot::Snapshot;

/// Largest number of objects that a message names.
const MAX_NAMED: usize = 3;

/// Checks that the files are those that the move began with. The record has no copy of their content.
pub(crate) fn check_same_manifests(record: &Record, given: &[Addition]) -> Result<(), Failure> {
    let begun = &record.scope.from_manifests;
    let given: BTreeSet<Added> = given.iter().map(|addition| addition.record_entry().clone()).collect();
    if given == *begun {
        return Ok(());
    }
    let names = |of: &BTreeSet<Added>| of.iter().map(|added| added.object.clone()).collect::<Vec<Key>>();
    let only = |these: &BTreeSet<Added>, those: &BTreeSet<Added>| {
        let those: BTreeSet<Key> = names(those).into_iter().collect();
        names(these).into_iter().filter(|key| !those.contains(key)).collect::<Vec<Key>>()
    };
    let (missing, new) = (only(begun, &given), only(&given, begun));
    let move_id = &record.move_id;
    let why = match () {
        () if given.is_empty() => format!(
            "move {move_id} adds {} from files, and needs them until it is committed",
            some_of(&missing, MAX_NAMED)
        ),
        () if !missing.is_empty() => {
            format!("move {move_id} adds {}, which the files don't have", some_of(&missing, MAX_NAMED))
        }
        () if !new.is_empty() => {
            format!("move {move_id} was begun without {} to add", some_of(&new, MAX_NAMED))
        }
        () => {
            let other = given.difference(begun).map(|added| added.object.clone()).collect::<Vec<Key>>();
            format!("{} in the files changed since move {move_id} was begun", some_of(&other, MAX_NAMED))
        }
    };
    Err(Failure::Inputs(why))
}

/// Refuses objects that are added to a namespace that neither side has, and that is not added itself: its name may be mistyped.
/// `missing` are the namespaces that the target lacks.
pub(crate) async fn refuse_without_namespace(
    job: &Job,
    snapshot: &Snapshot,
    missing: &BTreeSet<String>,
) -> Result<Vec<Refusal>, Failure> {
    let mut only_added: BTreeMap<&String, Vec<&Step>> = BTreeMap::new();
    for step in snapshot.plan.added_steps() {
        if let Some(namespace) = step.key.namespace.as_ref().filter(|name| missing.contains(*name)) {
            only_added.entry(namespace).or_default().push(step);
        }
    }
    let steps = snapshot.plan.steps.iter();
    let others = steps.filter(|step| step.key.namespace.is_none() || step.treatment().is_in_source());
    for namespace in others.filter_map(Snapshot::namespace_of_step) {
        only_added.remove(namespace);
    }
    let mut refusals = Vec::new();
    for (namespace, steps) in only_added {
        if is_in_source(job, namespace).await? {
            continue;
        }
        let namespace = job.options.scope.namespace_map.in_target(namespace);
        let mut keys = steps.iter().map(|step| job.target.own_name(&step.key));
        let Some(first) = keys.next() else { continue };
        let file = steps.first().and_then(|step| step.added_from()).unwrap_or_default();
        refusals.push(Refusal {
            code: "manifest-namespace",
            side: Side::Target,
            message: format!(
                "{first} can't be added to namespace {namespace}: neither side has that namespace"
            ),
            object: Some(first),
            others: keys.collect(),
            remedies: vec![
                "create it in the target".into(),
                format!("add it too, as a document of {file}").into(),
            ],
        });
    }
    Ok(refusals)
}

/// Returns true if the source has the namespace. Without permission to read it, it counts as existing: then the move creates
/// it.
async fn is_in_source(job: &Job, namespace: &str) -> Result<bool, Failure> {
    let name = GroupKind::new("", "Namespace");
    let Some(kind) = job.kinds.source.get(&name) else { return Ok(false) };
    match job.source.get(kind, &Key::new(name, None, namespace)).await {
        Ok(there) => Ok(there.is_some()),
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(true),
        Err(failure) => Err(failure),
    }
}
