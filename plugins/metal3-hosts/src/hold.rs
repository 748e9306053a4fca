//! Keeps operators away: the source's from the host, the target's from its copy.
//!
//! The provider pauses the hosts of its machines itself once their Cluster is paused; these pauses are the only sign that it has
//! noticed. Free hosts are paused by no controller, and the source's operator would power them off when they are deleted. A host
//! that a user paused stays as it is: their pause keeps the operator away just as well, and is copied with the host.

use pivot_sdk::prelude::*;

use crate::Metal3Hosts;
use crate::host::{Host, Pause};
use crate::memory::Memory;
use crate::names::{HOST, OURS, PAUSED, STATUS};

/// Pauses a source host that no one else pauses.
pub(crate) fn hold_host(config: &Metal3Hosts, object: &Object) -> Patch {
    let host = Host(object);
    let providers = host.consuming_machine().is_some() && !config.hold_consumed;
    if object.kind() != HOST || host.pause() != Pause::None || providers {
        return Patch::empty();
    }
    object.patch().set_annotation(PAUSED, OURS)
}

/// Makes the copy wait for this plugin.
///
/// - The provider's pause becomes ours. Otherwise the target's provider would release all hosts at once as soon as their
///   Clusters run, before anything was released in the source.
/// - The status annotation is dropped. The status itself is restored (see [`crate::restore`]); the annotation would only
///   give a webhook of the target a reason to reject the copy.
/// - Hosts are settled in groups by driver, so that a driver that doesn't work in the target shows on a single host.
pub(crate) fn adapt_copy(object: &Object) -> Result<Patch> {
    let host = Host(object);
    if object.kind() != HOST {
        return Ok(Patch::empty());
    }
    let patch = Memory::from_host(host).write_to(object.patch().remove_annotation(STATUS))?;
    let patch = match host.driver_name() {
        Some(driver) => patch.settle_group::<Metal3Hosts>(driver),
        None => patch,
    };
    Ok(if host.pause() == Pause::Provider { patch.set_annotation(PAUSED, OURS) } else { patch })
}
