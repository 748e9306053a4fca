//! Carries the status over.
//!
//! The status is written directly rather than as the provider's annotation: that omits the hardware, and is dropped silently if
//! it can't be parsed, after which the host is provisioned again. Both ways were measured against the real operator: a host that
//! has its status before it is released goes straight to its state. How webhooks handle the annotation was read in their code,
//! not measured; the README lists what is known from where.
//!
//! Firmware needs it as much as hosts do: the operator compares the wanted updates with those that `status.updates` lists as
//! made. Without them it flashes the firmware again.

use pivot_sdk::prelude::*;
use serde_json::Value;

/// Gives a copy the source's status.
pub(crate) fn restore(source: &Object, created: &Object) -> Patch {
    let Some(status) = source.get("/status") else { return Patch::none() };
    let mut status = status.clone();
    // The copy counts its generations from one. The operator waits for ever for a condition about a generation that the copy
    // doesn't have.
    let (before, now) = (source.get("/metadata/generation"), created.get("/metadata/generation"));
    if let (Some(before), Some(now)) = (before, now) {
        let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
            match condition.get("observedGeneration") {
                Some(seen) if seen == before => {
                    drop(condition.insert("observedGeneration".into(), now.clone()))
                }
                // It is about a generation that was outdated in the source; no generation of the copy matches it.
                _ => drop(condition.remove("observedGeneration")),
            }
        }
    }
    created.patch().set("/status", status)
}
