//! The objects a host needs: the Secrets it names and the results of its inspection.

use pivot_sdk::prelude::*;

use crate::host::Host;
use crate::names::HARDWARE;
use crate::side_objects::SideObjects;

/// Reports objects that a source host lacks.
pub(crate) fn check_companions(host: Host<'_>, source: &SideObjects) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        host.referenced_secrets().filter_map(|named| check_secret(host, named, source)).collect();
    found.extend(check_hardware(host, source));
    found
}

fn check_secret(
    host: Host<'_>,
    named: crate::host::SecretReference,
    source: &SideObjects,
) -> Option<Finding> {
    let crate::host::SecretReference { field, key } = named;
    let namespace = key.namespace.clone().unwrap_or_default();
    if key.namespace.as_deref() != host.0.namespace() {
        let what =
            format!("{field} names Secret {namespace}/{}, which does not come along with the host", key.name);
        return Some(
            host.warn("secret-elsewhere", &what).with_remedy("make sure that the target has this Secret"),
        );
    }
    if source.contains(&key) {
        return None;
    }
    let what = format!("{field} names Secret {namespace}/{}, which does not exist", key.name);
    // Without credentials the target can't even register the host. The other Secrets were only needed to provision it.
    Some(if Some(&key) == host.credentials_key().as_ref() {
        host.stop("secret-missing", &what).with_remedy("create the Secret, or correct the host's spec")
    } else {
        host.warn("secret-missing", &what)
            .with_remedy("create the Secret, or take the name out of the host's spec")
    })
}

/// The addresses that the provider reports for a machine, and those in its network data, come from the inspection.
fn check_hardware(host: Host<'_>, source: &SideObjects) -> Option<Finding> {
    let lacks = host.consuming_machine().is_some()
        && host.state() == "provisioned"
        && !source.contains(&HARDWARE.key_in(host.0.namespace()?, host.0.name()));
    let kept = host.0.get("/status/hardware").is_some();
    lacks.then(|| {
        let what = if kept {
            "it has no HardwareData; what its inspection found is carried over in its status only"
        } else {
            "neither HardwareData nor its status say what its inspection found: its machine has no addresses in the target"
        };
        host.warn("no-hardware-data", what).with_remedy(
            "is the baremetal operator older than 0.2, or was the HardwareData deleted? inspect the host again when it is free",
        )
    })
}
