//! Observations in the target that are required before anything is deleted from the source.
//!
//! Writes by clients other than this program since the commit show that a controller has taken over. Finalizers, labels and specs
//! prove nothing, because they were copied. The source shows which objects to check:
//!
//! - If an object has a `Paused` condition there, its controller reports through it, and must report in the target that the
//!   object is not paused.
//! - Every Cluster is checked, and one object of every other kind with a status: all objects of a kind have the same controller.
//! - Kinds without a status have no controller that writes to them; those of other kinds stand in for them.
//! - Objects that plugins hold are inactive until they are unpaused, and so are objects that only their controller writes to:
//!   kinds of its API group. They are checked while they are unpaused.

use std::collections::{BTreeMap, BTreeSet};

use crate::discovery::implicit_links::is_cluster;
use crate::objects::kind::GroupKind;
use crate::objects::names::{GROUP_CLUSTER, LABEL_CLUSTER};
use crate::objects::object::{Key, Object, ObjectError};
use crate::objects::pause::{is_paused, read_conditions};

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
        let expected = expectation_of(one.object)?;
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
    let speaks_of_pause = all.iter().any(|c| c.kind == "Paused");
    let of_machine = source.kind.group_kind.is(GROUP_CLUSTER, "Machine");
    let set_again = |kind: &str| !(of_machine && kind == OF_HEALTH_CHECKS);
    let lasts = |kind: &str| kind != "Paused" && !GOING_ON.contains(&kind) && set_again(kind);
    let truths = all.into_iter().filter(|c| c.status == "True" && lasts(&c.kind)).map(|c| c.kind).collect();
    let all_reported = speaks_of_pause || is_cluster(&source.kind.group_kind);
    Ok(Expectation { speaks_of_pause, conditions: truths, all_reported })
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
    if open.is_empty() { Ok(None) } else { Ok(Some(format!("conditions not true yet: {}", open.join(", ")))) }
}

#[cfg(test)]
mod tests;
