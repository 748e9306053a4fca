//! Conditions of objects of all API versions, and their meaning.

use serde::Serialize;
use serde_json::Value;

/// Replacement for an absent reason. Conditions before v1beta2 need no reason while all is well.
const NO_REASON: &str = "NoReasonReported";

/// Paths of conditions, the best first. v1beta1 also has the conditions of v1beta2, and v1beta2 those of v1beta1.
const CONDITION_PATHS: [&str; 3] =
    ["/status/v1beta2/conditions", "/status/conditions", "/status/deprecated/v1beta1/conditions"];

/// Conditions that are good when they are not true.
const NEGATIVE_CONDITIONS: [&str; 7] =
    ["Paused", "Deleting", "RollingOut", "ScalingUp", "ScalingDown", "Updating", "Remediating"];

/// A condition of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Reason in one word.
    pub reason: String,
    /// Reason in a sentence. May have several lines.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Time of the last change of the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
}

/// Judgement of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// The state is as it should be.
    Good,
    /// The state is not as it should be.
    Bad,
    /// The state is unknown.
    Unsure,
}

impl Condition {
    /// Returns the judgement of this condition.
    pub fn tone(&self) -> Tone {
        let negative = NEGATIVE_CONDITIONS.contains(&self.kind.as_str());
        match self.status.as_str() {
            "Unknown" => Tone::Unsure,
            status if (status == "True") != negative => Tone::Good,
            _ => Tone::Bad,
        }
    }

    pub(super) fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// Returns true if the condition is worth a look. Conditions that summarise the object always are.
    pub(super) fn is_notable(&self) -> bool {
        let sums_up = self.kind == "Available" || self.kind == "Ready";
        sums_up || self.tone() != Tone::Good || !self.message.is_empty()
    }
}

/// Returns all conditions, in the object's order.
pub(super) fn parse_conditions(body: &Value) -> Vec<Condition> {
    let lists = CONDITION_PATHS.iter().filter_map(|path| body.pointer(path)?.as_array());
    lists
        .map(|list| list.iter().filter_map(parse_condition).collect::<Vec<_>>())
        .find(|list| !list.is_empty())
        .unwrap_or_default()
}

/// Returns a condition. None if it lacks a type or has an unknown status.
fn parse_condition(value: &Value) -> Option<Condition> {
    let status =
        text_field(value, "status").filter(|status| ["True", "False", "Unknown"].contains(status))?;
    Some(Condition {
        kind: text_field(value, "type")?.to_owned(),
        status: status.to_owned(),
        reason: text_field(value, "reason").unwrap_or(NO_REASON).to_owned(),
        message: text_field(value, "message").unwrap_or_default().to_owned(),
        last_transition_time: text_field(value, "lastTransitionTime").map(str::to_owned),
    })
}

/// Returns a field's text, if it is not empty.
pub(super) fn text_field<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds(status: &Value) -> Vec<String> {
        parse_conditions(&json!({"status": status})).into_iter().map(|condition| condition.kind).collect()
    }

    #[test]
    fn conditions_of_all_versions_are_found() {
        let one = |kind: &str| json!([{"type": kind, "status": "True"}]);
        assert_eq!(kinds(&json!({"conditions": one("New")})), ["New"]);
        assert_eq!(kinds(&json!({"conditions": one("Old"), "v1beta2": {"conditions": one("New")}})), ["New"]);
        let deprecated = json!({"v1beta1": {"conditions": one("Old")}});
        assert_eq!(kinds(&json!({"conditions": one("New"), "deprecated": deprecated})), ["New"]);
        assert_eq!(kinds(&json!({"conditions": [], "deprecated": deprecated})), ["Old"]);
        assert_eq!(kinds(&json!({"conditions": one("Old"), "v1beta2": {}})), ["Old"]);
        assert_eq!(kinds(&json!({"conditions": "none"})), [""; 0]);
    }

    #[test]
    fn odd_condition_does_not_hide_others() {
        let list = json!([{"type": "A"}, 7, {"status": "True"}, {"type": "B", "status": "Maybe"},
            {"type": "C", "status": "False", "reason": null, "message": "m", "lastTransitionTime": ""}]);
        let expected = Condition {
            kind: "C".into(),
            status: "False".into(),
            reason: NO_REASON.into(),
            message: "m".into(),
            last_transition_time: None,
        };
        assert_eq!(parse_conditions(&json!({"status": {"conditions": list}})), [expected]);
    }

    #[test]
    fn tone_depends_on_the_condition_type() {
        let of = |kind: &str, status: &str, message: &str| {
            let list = json!([{"type": kind, "status": status, "message": message}]);
            let all = parse_conditions(&json!({"status": {"conditions": list}}));
            (all[0].tone(), all[0].is_notable())
        };
        assert_eq!(of("InfrastructureReady", "True", ""), (Tone::Good, false));
        assert_eq!(of("InfrastructureReady", "False", ""), (Tone::Bad, true));
        assert_eq!(of("InfrastructureReady", "Unknown", ""), (Tone::Unsure, true));
        assert_eq!(of("InfrastructureReady", "True", "but"), (Tone::Good, true));
        assert_eq!(of("ScalingUp", "False", ""), (Tone::Good, false));
        assert_eq!(of("ScalingUp", "True", ""), (Tone::Bad, true));
        assert_eq!(of("Paused", "Unknown", ""), (Tone::Unsure, true));
        assert_eq!(of("Ready", "True", ""), (Tone::Good, true));
        assert_eq!(of("Available", "True", ""), (Tone::Good, true));
    }
}
