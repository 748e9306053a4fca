//! What must be seen in the target before anything is deleted in the source.
//!
//! Whether a controller runs for an object is known from the source: one that acknowledged the pause there is one that
//! speaks through conditions, so its peer in the target must speak too. Objects whose source never reported a `Paused`
//! condition have no such controller, and nothing is expected of them.

use std::collections::BTreeSet;

use crate::object::{Object, ObjectError};
use crate::pause::{conditions, is_paused};

/// Conditions that are true while something goes on. Whatever it was ends at some time, perhaps just after the move: to wait
/// until it is true again would be to wait for an end that has come.
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

/// What an object's copy must come to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Conditions that were true in the source.
    pub conditions: BTreeSet<String>,
}

/// What to expect of an object's copy; nothing where no controller speaks for it.
pub fn expectation(source: &Object) -> Result<Option<Expectation>, ObjectError> {
    let all = conditions(source)?;
    if !all.iter().any(|c| c.kind == "Paused" && c.status == "True") {
        return Ok(None);
    }
    let lasts = |kind: &str| kind != "Paused" && !GOING_ON.contains(&kind);
    let truths = all.into_iter().filter(|c| c.status == "True" && lasts(&c.kind)).map(|c| c.kind).collect();
    Ok(Some(Expectation { conditions: truths }))
}

/// What is still missing in the target, in words; nothing where the expectation is met.
pub fn missing(expected: &Expectation, target: &Object) -> Result<Option<String>, ObjectError> {
    // What a user paused stays paused; its controller rightly does nothing.
    if is_paused(target)? {
        return Ok(None);
    }
    let all = conditions(target)?;
    let paused = all.iter().find(|c| c.kind == "Paused");
    match paused {
        None => return Ok(Some("its controller has not touched it yet".into())),
        Some(c) if c.status == "True" => return Ok(Some("its controller still takes it for paused".into())),
        Some(c)
            if c.observed_generation.zip(target.meta.generation).is_some_and(|(seen, now)| seen < now) =>
        {
            return Ok(Some("its controller has not seen its last change".into()));
        }
        Some(_) => {}
    }
    let truths: BTreeSet<&str> = all.iter().filter(|c| c.status == "True").map(|c| c.kind.as_str()).collect();
    let open: Vec<&str> =
        expected.conditions.iter().map(String::as_str).filter(|kind| !truths.contains(kind)).collect();
    if open.is_empty() {
        Ok(None)
    } else {
        Ok(Some(format!("conditions are not true again: {}", open.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::kind::{GroupKind, Kind, KindLabels};

    fn machine(generation: i64, conditions: Value) -> Object {
        let kind = Kind {
            group_kind: GroupKind::new("cluster.x-k8s.io", "Machine"),
            version: "v1beta2".into(),
            plural: "machines".into(),
            namespaced: true,
            status_subresource: true,
            served: vec![],
            labels: KindLabels::default(),
        };
        let body = json!({"metadata": {"name": "m", "generation": generation}, "status": {"conditions": conditions}});
        Object::from_value(Arc::new(kind), &body).unwrap()
    }

    #[test]
    fn nothing_is_expected_where_no_controller_spoke() {
        let silent = machine(1, json!([{"type": "Ready", "status": "True"}]));
        assert_eq!(expectation(&silent).unwrap(), None);
    }

    #[test]
    fn what_was_going_on_in_the_source_need_not_go_on_in_the_target() {
        let source = machine(
            1,
            json!([{"type": "Paused", "status": "True"}, {"type": "Available", "status": "True"},
            {"type": "RollingOut", "status": "True"}, {"type": "ScalingUp", "status": "True"}]),
        );
        let expected = expectation(&source).unwrap().unwrap();
        let rolled = json!([{"type": "Paused", "status": "False"}, {"type": "Available", "status": "True"},
            {"type": "RollingOut", "status": "False"}, {"type": "ScalingUp", "status": "False"}]);
        assert_eq!(missing(&expected, &machine(1, rolled)).unwrap(), None);
    }

    #[test]
    fn the_copy_must_be_seen_unpaused_up_to_date_and_true_again() {
        let source = machine(
            1,
            json!([{"type": "Paused", "status": "True"}, {"type": "Ready", "status": "True"},
            {"type": "Deleting", "status": "False"}]),
        );
        let expected = expectation(&source).unwrap().unwrap();
        let lacks = |conditions| missing(&expected, &machine(3, conditions)).unwrap();
        assert!(lacks(json!([])).unwrap().contains("not touched"));
        assert!(lacks(json!([{"type": "Paused", "status": "True"}])).unwrap().contains("paused"));
        let stale = json!([{"type": "Paused", "status": "False", "observedGeneration": 2}]);
        assert!(lacks(stale).unwrap().contains("last change"));
        let unready = json!([{"type": "Paused", "status": "False", "observedGeneration": 3}]);
        assert!(lacks(unready).unwrap().contains("Ready"));
        let good = json!([{"type": "Paused", "status": "False"}, {"type": "Ready", "status": "True"}]);
        assert_eq!(lacks(good), None);
    }
}
