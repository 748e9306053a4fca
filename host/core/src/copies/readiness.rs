//! Observations in the target that are required before anything is deleted from the source.
//!
//! Writes by clients other than this program since the commit show that a controller has taken over. Finalizers, labels and specs
//! prove nothing, because they were copied. The source shows which objects to check:
//!
//! - If an object has a `Paused` condition there, its controller reports through it, and must report in the target that the
//!   object is not paused.
//! - Every Cluster is checked, and one object of every other kind with a status: all objects of a kind have the same controller.
//! - Kinds without a status have no controller that writes to them; those of other kinds stand in for them.
//! - If the target stores a kind in a newer version, its controllers judge by the newer version's conditions. Conditions that the
//!   older release reported may then mean something else, or never become true. So only conditions of the contract that both
//!   releases know are compared, and the fields of the status that say that an object is initialized.
//! - Objects that plugins hold are inactive until they are unpaused, and so are objects that only their controller writes to:
//!   kinds of its API group. They are checked while they are unpaused.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::discovery::implicit_links::is_cluster;
use crate::objects::kind::GroupKind;
use crate::objects::names::{GROUP_CLUSTER, LABEL_CLUSTER};
use crate::objects::object::{Key, Object, ObjectError};
use crate::objects::pause::{Condition, is_paused, read_conditions, read_newer_conditions};

/// Conditions that are true while an operation runs. The operation ends at some point, perhaps just after the move: waiting for
/// such a condition to become true again would be waiting for something that has already ended.
const GOING_ON: [&str; 8] = [
    "Deleting",
    "ExternallyRemediated",
    "OwnerRemediated",
    "Remediating",
    "RollingOut",
    "ScalingDown",
    "ScalingUp",
    "Updating",
];

/// The condition of Machines that the controller of MachineHealthChecks sets. It stays when a Machine's last MachineHealthCheck is
/// deleted, and no controller sets it again then.
const OF_HEALTH_CHECKS: &str = "HealthCheckSucceeded";

/// Fields of the status by which the contracts say that an object is initialized. They never become false again, and conversion
/// keeps them.
const INITIALIZED_FIELDS: [&str; 5] =
    ["bootstrapReady", "controlPlaneReady", "infrastructureReady", "initialized", "ready"];

/// Conditions that an object's copy must report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Whether its controller reports through a `Paused` condition.
    speaks_of_pause: bool,
    /// Conditions that were true in the source.
    conditions: BTreeSet<String>,
    /// Whether each of them must be present. Controllers that report a pause set all their conditions whenever they reconcile an
    /// object, and so do those of Clusters. Older ones set some only at the step that they describe, which is over by now
    /// (`CertificatesAvailable` of a KubeadmConfig whose data exist). For those, only a condition that is present and not true
    /// counts as missing.
    all_reported: bool,
    /// Fields of the status that must be true. Empty if the conditions show enough.
    initialized: BTreeSet<&'static str>,
}

/// The objects that are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Each of these.
    pub each: BTreeMap<Key, Expectation>,
    /// One of each of these kinds.
    pub one_of: BTreeMap<GroupKind, BTreeMap<Key, Expectation>>,
    /// Kinds with nothing to check: nothing in the target could ever show that a controller has taken over.
    pub unverifiable: BTreeMap<GroupKind, BTreeSet<Key>>,
}

/// A moved object, in its source state.
#[derive(Clone, Copy, Debug)]
pub struct Moved<'a> {
    /// Key of the object.
    pub key: &'a Key,
    /// The source object.
    pub object: &'a Object,
    /// Whether a user paused the object, so that its controllers rightly do nothing.
    pub asleep: bool,
    /// Whether a plugin holds the object.
    pub held: bool,
    /// True if the target stores its kind in a newer version.
    pub is_converted: bool,
}

/// Selects the objects to check. `accepted` kinds are not checked.
pub fn select_checks(moved: &[Moved<'_>], accepted: &BTreeSet<GroupKind>) -> Result<Asked, ObjectError> {
    let sleeping = moved.iter().filter(|one| one.asleep && is_cluster(&one.key.group_kind));
    let sleeping: BTreeSet<(Option<&str>, &str)> =
        sleeping.map(|one| (one.key.namespace.as_deref(), one.key.name.as_str())).collect();
    let cluster = |one: &Moved<'_>| one.object.meta.labels.get(LABEL_CLUSTER).cloned().unwrap_or_default();
    let below = |one: &Moved<'_>| sleeping.contains(&(one.key.namespace.as_deref(), cluster(one).as_str()));
    let held: BTreeSet<&str> =
        moved.iter().filter(|one| one.held).map(|one| one.key.group_kind.group.as_str()).collect();
    let accepts = moved.iter().any(|one| accepted.contains(&one.key.group_kind));
    let mut all = Asked::default();
    let mut silent: BTreeMap<GroupKind, BTreeSet<Key>> = BTreeMap::new();
    for one in moved {
        let kind = &one.key.group_kind;
        if accepted.contains(kind) || held.contains(kind.group.as_str()) {
            continue;
        }
        let of_cluster = is_cluster(kind);
        // Kubernetes' own objects have no provider's controller.
        if kind.group.is_empty() {
            continue;
        }
        if !of_cluster && !one.object.has_status()? {
            silent.entry(kind.clone()).or_default().insert(one.key.clone());
            continue;
        }
        if one.asleep || below(one) {
            all.unverifiable.entry(kind.clone()).or_default().insert(one.key.clone());
            continue;
        }
        let expected = if one.is_converted {
            converted_expectation_of(one.object)?
        } else {
            expectation_of(one.object)?
        };
        if of_cluster || expected.speaks_of_pause {
            all.each.insert(one.key.clone(), expected);
        } else {
            all.one_of.entry(kind.clone()).or_default().insert(one.key.clone(), expected);
        }
    }
    // A kind with one verifiable object is covered by it.
    let spoken: BTreeSet<&GroupKind> =
        all.each.keys().map(|key| &key.group_kind).chain(all.one_of.keys()).collect();
    all.unverifiable.retain(|kind, _| !spoken.contains(kind));
    if spoken.is_empty() && held.is_empty() && !accepts {
        all.unverifiable.extend(silent);
    } else {
        // Objects with a `Paused` condition are already checked one by one.
        let each: BTreeSet<&GroupKind> = all.each.keys().map(|key| &key.group_kind).collect();
        all.one_of.retain(|kind, _| !each.contains(kind));
    }
    Ok(all)
}

fn expectation_of(source: &Object) -> Result<Expectation, ObjectError> {
    let all = read_conditions(source)?;
    let speaks_of_pause = speaks_of_pause(&all);
    let conditions = select_lasting(source, all);
    let all_reported = speaks_of_pause || is_cluster(&source.kind.group_kind);
    Ok(Expectation { speaks_of_pause, conditions, all_reported, initialized: BTreeSet::new() })
}

/// Returns the expectation of an object whose copy the target stores in a newer version.
fn converted_expectation_of(source: &Object) -> Result<Expectation, ObjectError> {
    let newer = read_newer_conditions(source)?;
    Ok(Expectation {
        speaks_of_pause: speaks_of_pause(&newer),
        conditions: select_lasting(source, newer),
        all_reported: false,
        initialized: find_initialized(source)?,
    })
}

fn speaks_of_pause(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| condition.kind == "Paused")
}

/// Returns the true conditions that controllers keep true.
fn select_lasting(source: &Object, all: Vec<Condition>) -> BTreeSet<String> {
    let of_machine = source.kind.group_kind.is(GROUP_CLUSTER, "Machine");
    let set_again = |kind: &str| !(of_machine && kind == OF_HEALTH_CHECKS);
    let lasts = |kind: &str| kind != "Paused" && !GOING_ON.contains(&kind) && set_again(kind);
    all.into_iter().filter(|c| c.status == "True" && lasts(&c.kind)).map(|c| c.kind).collect()
}

/// Describes the unmet part of an expectation; none if the target's object meets it. `written` is true if a client other than this
/// program has written to the object since the commit.
pub fn describe_missing(
    expected: &Expectation,
    target: &Object,
    written: bool,
) -> Result<Option<String>, ObjectError> {
    // A Cluster that a user paused stays paused; its controller rightly does nothing.
    if is_paused(target)? {
        return Ok(None);
    }
    let all = read_conditions(target)?;
    let paused = all.iter().find(|c| c.kind == "Paused");
    match paused {
        None if expected.speaks_of_pause || !written => {
            return Ok(Some("its controller has not written to it yet".into()));
        }
        Some(c) if c.status == "True" => return Ok(Some("its controller still treats it as paused".into())),
        Some(c)
            if c.observed_generation.zip(target.meta.generation).is_some_and(|(seen, now)| seen < now) =>
        {
            return Ok(Some("its controller has not seen its last change".into()));
        }
        Some(_) | None => {}
    }
    let truths: BTreeSet<&str> = all.iter().filter(|c| c.status == "True").map(|c| c.kind.as_str()).collect();
    // At least one must be reported: a write by someone else, who may be a person, doesn't prove that a controller with
    // conditions to report is at work.
    let silent = !expected.conditions.iter().any(|kind| all.iter().any(|c| c.kind == *kind));
    let reported = |kind: &str| expected.all_reported || silent || all.iter().any(|c| c.kind == kind);
    let open: Vec<&str> = expected
        .conditions
        .iter()
        .map(String::as_str)
        .filter(|kind| !truths.contains(kind) && reported(kind))
        .collect();
    if !open.is_empty() {
        return Ok(Some(format!("conditions not true yet: {}", open.join(", "))));
    }
    let initialized = find_initialized(target)?;
    let open: Vec<&str> = expected.initialized.difference(&initialized).copied().collect();
    if open.is_empty() { Ok(None) } else { Ok(Some(format!("not initialized yet: {}", open.join(", ")))) }
}

/// Returns the fields of [`INITIALIZED_FIELDS`] that are true.
fn find_initialized(object: &Object) -> Result<BTreeSet<&'static str>, ObjectError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct View {
        status: Option<serde_json::Map<String, Value>>,
    }
    let status = object.view::<View>()?.status.unwrap_or_default();
    // For control planes, `ready` says that a node is ready now.
    let counts = |field: &&str| *field != "ready" || !status.contains_key("initialized");
    let is_true = |field: &&str| status.get(*field) == Some(&Value::Bool(true));
    Ok(INITIALIZED_FIELDS.into_iter().filter(counts).filter(is_true).collect())
}

#[cfg(test)]
mod tests;
