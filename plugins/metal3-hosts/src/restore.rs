//! Carries the status over.
//!
//! The status is written directly rather than as the provider's annotation: that omits the hardware, and is dropped silently if
//! it can't be parsed, after which the host is provisioned again. Both ways were measured against the real operator: a host that
//! has its status before it is released goes straight to its state. How webhooks handle the annotation was read in their code,
//! not measured; the README lists what is known from where.
//!
//! Firmware needs it as much as hosts do: the operator compares the wanted updates with those that `status.updates` lists as
//! made. Without them it flashes the firmware again.
//!
//! The host copies it, with the copy's generation: the operator waits for ever for a condition about a generation that the copy
//! doesn't have.

use pivot_sdk::prelude::*;

/// Gives a copy the source's status.
pub(crate) fn restore_status() -> Restoration {
    Restoration::copy_field("/status")
}
