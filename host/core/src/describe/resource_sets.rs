//! The state of a ClusterResourceSet for one Cluster. The set's own conditions cover all Clusters that it selects, and the
//! binding covers only this one.

use serde_json::Value;

use super::conditions::Condition;
use super::conditions::text_field;
use crate::messages::refusal::some_of;

/// Maximum number of resources that a message names.
const MAX_LISTED_RESOURCES: usize = 3;

/// Returns the state of one set in a binding, in the form of a condition.
pub(super) fn applied_condition(bound: &Value) -> Option<Condition> {
    let resources = bound.get("resources")?.as_array().filter(|resources| !resources.is_empty())?;
    let mut open = Vec::new();
    for resource in resources.iter().filter(|resource| resource.get("applied") != Some(&Value::Bool(true))) {
        let [kind, name] = ["kind", "name"].map(|field| text_field(resource, field).unwrap_or_default());
        open.push(format!("{kind} {name}"));
    }
    let last = resources.iter().filter_map(|resource| text_field(resource, "lastAppliedTime")).max();
    let (status, reason) = if open.is_empty() { ("True", "Applied") } else { ("False", "NotApplied") };
    let message = match open.as_slice() {
        [] => String::new(),
        open => format!(
            "{} of {} not applied: {}",
            open.len(),
            resources.len(),
            some_of(open, MAX_LISTED_RESOURCES)
        ),
    };
    Some(Condition {
        kind: "ResourcesApplied".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: last.map(str::to_owned),
    })
}
