//! Reads a status, whichever contract it was written for.
//!
//! The newest contract decides as a whole: if an object reports v1beta2, the fields that it repeats for old clients are ignored.

use pivot_sdk::{Finding, Kind, Object, Side, context};
use serde_json::Value;

/// JSON pointers of conditions, the newest contract first.
const PLACES: [&str; 3] =
    ["/status/v1beta2/conditions", "/status/conditions", "/status/deprecated/v1beta1/conditions"];

/// Returns the conditions of the newest contract.
fn newest_conditions(object: &Object) -> impl Iterator<Item = &Value> {
    let place = PLACES.into_iter().find(|place| object.items(place).next().is_some());
    place.into_iter().flat_map(|place| object.items(place))
}

fn text_field<'a>(condition: &'a Value, field: &str) -> &'a str {
    condition.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns true if no controller has written any conditions.
pub(crate) fn is_silent(object: &Object) -> bool {
    newest_conditions(object).next().is_none()
}

/// Returns a condition's status; empty if the condition is missing.
pub(crate) fn condition_status<'a>(object: &'a Object, kind: &str) -> &'a str {
    newest_conditions(object)
        .find(|condition| text_field(condition, "type") == kind)
        .map_or("", |c| text_field(c, "status"))
}

/// Returns a condition's reason; empty if the condition is missing.
pub(crate) fn condition_reason<'a>(object: &'a Object, kind: &str) -> &'a str {
    newest_conditions(object)
        .find(|condition| text_field(condition, "type") == kind)
        .map_or("", |c| text_field(c, "reason"))
}

/// Returns the conditions of these types that are present but not true, with their reasons; if `must_be_there`, also the missing
/// ones.
pub(crate) fn unmet_conditions(object: &Object, types: &[&str], must_be_there: bool) -> Vec<String> {
    let words = types.iter().filter_map(|kind| {
        let Some(condition) =
            newest_conditions(object).find(|condition| text_field(condition, "type") == *kind)
        else {
            return must_be_there.then(|| format!("{kind} (not reported)"));
        };
        if text_field(condition, "status") == "True" {
            return None;
        }
        let parts = [text_field(condition, "reason"), text_field(condition, "message").trim()];
        let why: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Some(if why.is_empty() { (*kind).to_owned() } else { format!("{kind} ({})", why.join(": ")) })
    });
    words.collect()
}

/// Returns the number at the first pointer that has one.
pub(crate) fn number_at(object: &Object, pointers: &[&str]) -> Option<i64> {
    pointers.iter().find_map(|pointer| object.get(pointer)?.as_i64())
}

/// Returns true if the object's controller hasn't observed the last change.
pub(crate) fn is_unobserved(object: &Object) -> bool {
    let seen = number_at(object, &["/status/observedGeneration"]);
    seen.zip(number_at(object, &["/metadata/generation"])).is_some_and(|(seen, now)| seen < now)
}

/// Returns true for a control plane: `KubeadmControlPlane`, `RKE2ControlPlane`, …, and not a template for one.
pub(crate) fn is_control_plane(kind: &Kind) -> bool {
    kind.group == "controlplane.cluster.x-k8s.io" && kind.kind.ends_with("ControlPlane")
}

/// The remedy if there is nothing better to say.
pub(crate) const SEE_CONDITIONS: &str = "see its conditions and events";

/// Adds the command that shows the user more.
pub(crate) fn with_describe_command(finding: Finding, side: Side, object: &Object) -> Finding {
    let namespace = object.namespace().map(|name| ["-n".to_owned(), context::namespace_on(side, name)]);
    let words = ["describe".to_owned()].into_iter().chain(namespace.into_iter().flatten());
    finding.with_kubectl(side, words.chain([object.kind().to_string(), object.name().to_owned()]))
}
