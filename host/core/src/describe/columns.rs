//! Columns of an object's row: counters of machines, and the condition that summarises the object.

use serde::Serialize;

use super::body::Body;
use super::conditions::Condition;
use crate::objects::names::GROUP_CLUSTER;

/// Columns of one row. Values that an object lacks stay empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Columns {
    /// Current and desired machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Replicas>,
    /// Machines that are available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<i64>,
    /// Machines that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// Machines that match their current specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to_date: Option<i64>,
    /// Condition that summarises the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
}

/// Numbers of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replicas {
    /// Current number.
    pub current: i64,
    /// Desired number. None for a Machine, which is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<i64>,
}

/// Conditions that summarise an object with machines. Before v1beta2, only the second exists.
const MACHINE_SUMMARIES: [&str; 2] = ["Available", "Ready"];

impl Columns {
    /// Returns the columns of an object of any kind.
    pub(super) fn from_body(body: &Body<'_>, is_control_plane: bool) -> Self {
        let kind = &body.object.kind.group_kind;
        match kind.kind.as_str() {
            _ if is_control_plane => Self::for_control_plane(body),
            _ if kind.group != GROUP_CLUSTER => Self::with_summary(body, &["Ready"]),
            "Cluster" => Self::for_cluster(body),
            "Machine" => Self::for_machine(body),
            "MachineDeployment" | "MachinePool" => Self::for_machines(body),
            // A MachineSet has no summarising condition.
            "MachineSet" => Self { condition: None, ..Self::for_machines(body) },
            _ => Self::with_summary(body, &["Ready"]),
        }
    }

    /// Returns columns with the first of the conditions that the object has.
    fn with_summary(body: &Body<'_>, kinds: &[&str]) -> Self {
        let condition = kinds.iter().find_map(|kind| body.condition(kind));
        Self { condition: condition.cloned(), ..Self::default() }
    }

    /// Returns the sums of control plane and workers.
    fn for_cluster(body: &Body<'_>) -> Self {
        let (current, desired) = (sum_counters(body, "replicas"), sum_counters(body, "desiredReplicas"));
        let any = current.is_some() || desired.is_some();
        let replicas = Replicas { current: current.unwrap_or(0), desired: Some(desired.unwrap_or(0)) };
        Self {
            replicas: any.then_some(replicas),
            available: sum_counters(body, "availableReplicas"),
            ready: sum_counters(body, "readyReplicas"),
            up_to_date: sum_counters(body, "upToDateReplicas"),
            ..Self::with_summary(body, &MACHINE_SUMMARIES)
        }
    }

    fn for_machines(body: &Body<'_>) -> Self {
        let desired = body.number("/spec/replicas");
        let current = body.number("/status/replicas").unwrap_or(0);
        // API servers before v1beta2 omit a zero.
        let default = body.is_before_v1beta2().then_some(0);
        Self {
            replicas: desired.map(|desired| Replicas { current, desired: Some(desired) }),
            available: read_counter(body, &["availableReplicas"]).or(default),
            ready: read_counter(body, &["readyReplicas"]).or(default),
            up_to_date: read_counter(body, &["upToDateReplicas", "updatedReplicas"]),
            ..Self::with_summary(body, &MACHINE_SUMMARIES)
        }
    }

    fn for_control_plane(body: &Body<'_>) -> Self {
        let replicas = body.number("/status/replicas").zip(body.number("/spec/replicas"));
        Self {
            replicas: replicas.map(|(current, desired)| Replicas { current, desired: Some(desired) }),
            available: read_counter(body, &["availableReplicas"]),
            ready: read_counter(body, &["readyReplicas"]),
            up_to_date: read_counter(body, &["upToDateReplicas", "updatedReplicas"]),
            ..Self::with_summary(body, &MACHINE_SUMMARIES)
        }
    }

    fn for_machine(body: &Body<'_>) -> Self {
        // Before v1beta2, a Machine didn't report whether it is available and up to date. An absent report doesn't mean no.
        let has_counts = !body.is_before_v1beta2();
        Self {
            replicas: Some(Replicas { current: 1, desired: None }),
            available: has_counts.then(|| body.is_true("Available").into()),
            ready: Some(body.is_true("Ready").into()),
            up_to_date: has_counts.then(|| body.is_true("UpToDate").into()),
            ..Self::with_summary(body, &["Ready"])
        }
    }
}

/// Returns the sum of a counter of the control plane and of the workers.
fn sum_counters(body: &Body<'_>, name: &str) -> Option<i64> {
    let parts = ["controlPlane", "workers"].map(|part| read_counter(body, &[&format!("{part}/{name}")]));
    parts.into_iter().flatten().reduce(i64::saturating_add)
}

/// Reads a counter of the status under one of its names. v1beta1 also has the counters of v1beta2, and its own counters differ
/// from them in meaning.
fn read_counter(body: &Body<'_>, names: &[&str]) -> Option<i64> {
    let newer = names.iter().map(|name| format!("/status/v1beta2/{name}"));
    let own = names.iter().map(|name| format!("/status/{name}"));
    newer.chain(own).find_map(|path| body.number(&path))
}
