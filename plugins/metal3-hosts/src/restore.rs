//! The status, carried over.
//!
//! Written to the status itself and not as the provider's annotation: that leaves out the hardware, and is dropped in
//! silence where it can't be read, after which the host is provisioned again. Both ways were measured against the real
//! operator: a host whose status was there before it was released goes straight to its state. What webhooks make of the
//! annotation was read and not measured; the README says what is known from where.
//!
//! Firmware needs it as much as hosts do: the operator compares the wanted updates with those that `status.updates` says
//! it has made. Without them it flashes the firmware again.

use pivot_sdk::prelude::*;
use serde_json::Value;

/// Gives a copy the source's status.
pub(crate) fn restore(source: &Object, created: &Object) -> Patch {
    let Some(status) = source.get("/status") else { return Patch::none() };
    let mut status = status.clone();
    // The copy counts its generations from one. The operator waits for ever for a condition about a generation
    // that the copy does not have.
    let (before, now) = (source.get("/metadata/generation"), created.get("/metadata/generation"));
    if let (Some(before), Some(now)) = (before, now) {
        let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
        for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
            match condition.get("observedGeneration") {
                Some(seen) if seen == before => {
                    drop(condition.insert("observedGeneration".into(), now.clone()))
                }
                // It speaks of a state that was out of date in the source; none of the copy's is that one.
                _ => drop(condition.remove("observedGeneration")),
            }
        }
    }
    created.patch().set("/status", status)
}
