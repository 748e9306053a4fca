//! The target: is there room for the hosts, and are the copies whole?

use std::collections::BTreeMap;

use pivot_sdk::prelude::*;

use crate::host::{Host, Pause, state};
use crate::names::{HARDWARE, HOST};
use crate::seen::Seen;

/// Hosts of the target that are in the way: of the same name, or of the same machine.
pub(crate) fn in_the_way(hosts: &[&Object], target: &Seen) -> Vec<Finding> {
    let mac = |host: &Object| {
        let mac = host.text("/spec/bootMACAddress").map(str::to_ascii_lowercase);
        mac.filter(|mac| !mac.is_empty())
    };
    let there = target.all(&HOST);
    let by_mac: BTreeMap<String, &Object> = there.filter_map(|there| Some((mac(there)?, there))).collect();
    let mut found = Vec::new();
    for host in hosts {
        if let Some(there) = target.get(&host.key())
            && mac(there) != mac(host)
        {
            found.push(
                Host(host)
                    .stop(
                        "other-machine",
                        "the target has a host of this name that boots from another MAC address",
                    )
                    .remedy("one of the two has to be renamed, or taken out of the move"),
            );
        }
        if let Some(there) = mac(host).and_then(|mac| by_mac.get(&mac))
            && there.key() != host.key()
        {
            let what = format!("the target knows its machine as {}", Host(there).name());
            found.push(
                Host(host)
                    .stop("same-machine", &what)
                    .remedy("delete the target's host (detach it first), or take this one out of the move"),
            );
        }
    }
    found
}

/// Before the point of no return: every copy paused, with the source's status, its credentials and its hardware.
pub(crate) fn whole(hosts: &[&Object], source: &Seen, target: &Seen) -> Vec<Finding> {
    hosts.iter().flat_map(|host| copy(Host(host), source, target)).collect()
}

fn copy(host: Host<'_>, source: &Seen, target: &Seen) -> Vec<Finding> {
    let roll_back = "roll back: the source is still as it was (pivot-host rollback)";
    let stop = |code, what: &str| host.stop(code, what).remedy(roll_back);
    let Some(there) = target.get(&host.0.key()) else {
        return vec![stop("no-copy", "its copy is not in the target")];
    };
    let mut found = Vec::new();
    if Host(there).pause() == Pause::None {
        found.push(stop("copy-not-paused", "its copy in the target is not paused"));
    }
    if state(there) != host.state() {
        let what = format!("its copy in the target is `{}` and not `{}`", state(there), host.state());
        found.push(stop("copy-without-status", &what));
    }
    let lacks = |key: &Key| source.has(key) && !target.has(key);
    if host.credentials().is_some_and(|key| lacks(&key)) {
        found.push(stop("copy-lacks-secret", "its credentials are not in the target"));
    }
    let hardware = host.0.namespace().map(|namespace| HARDWARE.named(namespace, host.0.name()));
    if hardware.is_some_and(|key| lacks(&key)) {
        found.push(stop("copy-lacks-hardware", "its HardwareData is not in the target"));
    }
    found
}
