//! Whether both sides have the same address, claimed by routers that know each other.

use pivot_sdk::prelude::*;

use crate::Metal3Endpoints;
use crate::setup::{Address, Setup};

/// Reports problems with the two sides' addresses.
pub(crate) fn compare_addresses(config: &Metal3Endpoints, source: &Setup, target: &Setup) -> Vec<Finding> {
    let mut found: Vec<Finding> = [(Side::Source, source), (Side::Target, target)]
        .into_iter()
        .flat_map(|(side, setup)| check_settings(side, setup))
        .collect();
    let (Ok(there), Ok(here)) = (source.parse_addresses(), target.parse_addresses()) else { return found };
    if there.is_empty() || here.is_empty() {
        return found;
    }
    let same = ip_set(&there) == ip_set(&here);
    if config.same_address && !same {
        found.push(
            Finding::stop("address-differs", format!("the source serves Ironic at {}, the target at {}", join_addresses(&there), join_addresses(&here)))
                .with_remedy("give the target the source's PROVISIONING_IP (or KEEPALIVED_VIRTUAL_IPS): machines use that address; if it must change: same-address = false"),
        );
    }
    let interfaces =
        |addresses: &[Address]| addresses.iter().map(|a| a.interface.clone()).collect::<Vec<_>>();
    if same && interfaces(&there) != interfaces(&here) {
        let what = format!(
            "the address goes to another interface: {} in the source, {} in the target",
            interfaces(&there).join(", "),
            interfaces(&here).join(", ")
        );
        found.push(Finding::note("interface-differs", what));
    }
    found.extend(compare_routers(config, same, source, target));
    found
}

/// Reports invalid or contradictory settings of one side.
fn check_settings(side: Side, setup: &Setup) -> Vec<Finding> {
    let side = side.as_str();
    let malformed = [setup.parse_addresses().err(), setup.router_id().err()].into_iter().flatten();
    let mut found: Vec<Finding> = malformed
        .map(|why| {
            Finding::stop("not-understood", format!("{side}: {why}"))
                .with_remedy("correct it in the ConfigMap that has it")
        })
        .collect();
    found.extend(setup.conflicts.iter().map(|(key, one, other)| {
        Finding::warn(
            "conflict",
            format!("{side}: {one} and {other} disagree about {key}; the first counts here"),
        )
        .on_object(other)
        .with_remedy("make them say the same, or name the right ones: config-maps = [\"…\"]")
    }));
    found
}

fn compare_routers(config: &Metal3Endpoints, same: bool, source: &Setup, target: &Setup) -> Option<Finding> {
    let (Ok(Some(there)), Ok(Some(here))) = (source.router_id(), target.router_id()) else {
        let one = source.keepalived != target.keepalived;
        return (one && same).then(|| {
            Finding::warn("keepalived-on-one-side", "keepalived holds Ironic's address on one side only")
                .with_remedy("make sure that the address is free before the other side takes it: the two sides don't negotiate")
        });
    };
    match (same, there == here) {
        (true, false) => Some(
            Finding::stop(
                "router-differs",
                format!("keepalived's router id is {there} in the source and {here} in the target"),
            )
            .with_remedy(
                "give both the same KEEPALIVED_VRID: routers of different ids both take the address",
            ),
        ),
        // If the addresses are meant to be the same, a difference is the only finding needed.
        (false, true) if !config.same_address => Some(
            Finding::warn(
                "router-shared",
                format!("both sides' keepalived has router id {there}, for different addresses"),
            )
            .with_remedy("where they share a network, give the target another KEEPALIVED_VRID"),
        ),
        _ => None,
    }
}

/// Returns true if both sides claim the same addresses.
pub(crate) fn have_same_addresses(source: &Setup, target: &Setup) -> bool {
    match (source.parse_addresses(), target.parse_addresses()) {
        (Ok(there), Ok(here)) => !there.is_empty() && ip_set(&there) == ip_set(&here),
        _ => false,
    }
}

fn ip_set(addresses: &[Address]) -> std::collections::BTreeSet<std::net::IpAddr> {
    addresses.iter().map(|address| address.ip).collect()
}

fn join_addresses(addresses: &[Address]) -> String {
    addresses.iter().map(|address| address.ip.to_string()).collect::<Vec<_>>().join(", ")
}
