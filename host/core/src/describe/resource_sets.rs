//! Whether the resources of a ClusterResourceSet are applied to one Cluster. The set's own conditions are about all Clusters that it
//! selects, the Cluster's binding about this one.

use serde_json::Value;

use super::conditions::Condition;
use crate::refusal::some_of;

/// How many resources a person reads at once.
const MAX_LISTED_RESOURCES: usize = 3;

/// What a binding says of one set, in the form of a condition.
pub(super) fn applied_condition(bound: &Value) -> Option<Condition> {
    let resources = bound.get("resources")?.as_array().filter(|resources| !resources.is_empty())?;
    let text = |resource: &Value, name: &str| {
        resource.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let is_applied = |resource: &&Value| resource.get("applied") == Some(&Value::Bool(true));
    let open: Vec<String> = resources
        .iter()
        .filter(|resource| !is_applied(resource))
        .map(|resource| format!("{} {}", text(resource, "kind"), text(resource, "name")))
        .collect();
    let times = resources.iter().map(|resource| text(resource, "lastAppliedTime"));
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
        last_transition_time: times.max().filter(|time| !time.is_empty()),
    })
}
