//! Checks on the target: is there room for the hosts, and are the copies complete?

use std::collections::BTreeMap;

use pivot_sdk::prelude::*;

use crate::host::{Host, Pause, provisioning_state};
use crate::machine::{Bmc, Machine, Place};
use crate::names::{HARDWARE, HOST};
use crate::side_objects::SideObjects;

/// Reports hosts of the target that are in the way: with the same name, or for the same machine.
pub(crate) fn find_conflicts(hosts: &[&Object], target: &SideObjects) -> Vec<Finding> {
    let known = KnownMachines::from_target(target);
    hosts
        .iter()
        .flat_map(|host| [compare_with_namesake(host, target), known.find_duplicate(host)])
        .flatten()
        .collect()
}

/// Reports a target host of the same name that isn't the same machine.
fn compare_with_namesake(host: &Object, target: &SideObjects) -> Option<Finding> {
    let there = Machine::from_host(target.get(&host.key())?);
    let here = Machine::from_host(host);
    let what = match (here.mac.zip(there.mac), here.bmc.zip(there.bmc)) {
        (Some((here, there)), _) if here == there => return None,
        (Some(_), _) => "the target has a host of this name that boots from another MAC address",
        (None, Some((here, there))) if here.is_same_machine(&there) => return None,
        (None, Some(_)) => "the target has a host of this name with another management controller",
        (None, None) => {
            let what = "the target has a host of this name, and whether it is the same machine can't be told";
            return Some(Host(host).warn("machine-unknown", what).with_remedy(TELL));
        }
    };
    let remedy = "rename one of the two, or exclude it from the move";
    Some(Host(host).stop("other-machine", what).with_remedy(remedy))
}

/// Remedy for two hosts that may be one machine.
const TELL: &str = "look whether it is the same machine; with spec.bootMACAddress on both it shows";

/// The target's machines, indexed by what identifies them: comparing every host with every host takes too long.
#[derive(Default)]
struct KnownMachines<'a> {
    by_mac: BTreeMap<String, Vec<&'a Object>>,
    by_bmc: BTreeMap<Place, Vec<(Bmc, &'a Object)>>,
    /// By whether they have a MAC address, and whether they have a management controller.
    by_what: BTreeMap<(bool, bool), Vec<&'a Object>>,
}

impl<'a> KnownMachines<'a> {
    fn from_target(target: &'a SideObjects) -> Self {
        let mut known = Self::default();
        for host in target.of_kind(&HOST) {
            let Machine { mac, bmc } = Machine::from_host(host);
            known.by_what.entry((mac.is_some(), bmc.is_some())).or_default().push(host);
            if let Some(mac) = mac {
                known.by_mac.entry(mac).or_default().push(host);
            }
            if let Some(bmc) = bmc {
                known.by_bmc.entry(bmc.host.clone()).or_default().push((bmc, host));
            }
        }
        known
    }

    /// Reports a target host of another name that is, or may be, the same machine.
    fn find_duplicate(&self, host: &Object) -> Option<Finding> {
        let machine = Machine::from_host(host);
        let other = |there: &&Object| there.key() != host.key();
        let mut same_mac = machine.mac.iter().filter_map(|mac| self.by_mac.get(mac)).flatten().copied();
        if let Some(there) = same_mac.find(other) {
            return Some(same_machine_finding(host, there, "boots from the same MAC address"));
        }
        let near = machine.bmc.iter().filter_map(|bmc| Some((bmc, self.by_bmc.get(&bmc.host)?)));
        let same_bmc =
            near.flat_map(|(bmc, near)| near.iter().filter(|(there, _)| there.is_same_machine(bmc)));
        if let Some(there) = same_bmc.map(|(_, there)| *there).find(other) {
            return Some(same_machine_finding(host, there, "has the same management controller"));
        }
        let comparable = |mac: bool, bmc: bool| mac && machine.mac.is_some() || bmc && machine.bmc.is_some();
        let unlike = self.by_what.iter().filter(|((mac, bmc), _)| !comparable(*mac, *bmc));
        let there = unlike.flat_map(|(_, hosts)| hosts).copied().find(other)?;
        let what = format!(
            "whether the target knows its machine as {} can't be told: they have neither MAC addresses nor \
             management controllers to compare",
            Host(there).display_name()
        );
        Some(Host(host).warn("machine-unknown", &what).with_remedy(TELL))
    }
}

fn same_machine_finding(host: &Object, there: &Object, why: &str) -> Finding {
    let what = format!("the target knows its machine as {}, which {why}", Host(there).display_name());
    let remedy = "delete the target's host (detach it first), or take this one out of the move";
    Host(host).stop("same-machine", &what).with_remedy(remedy)
}

/// Reports copies that aren't paused, or that lack the source's status, credentials or hardware.
pub(crate) fn check_copies(hosts: &[&Object], source: &SideObjects, target: &SideObjects) -> Vec<Finding> {
    hosts.iter().flat_map(|host| check_copy(Host(host), source, target)).collect()
}

fn check_copy(host: Host<'_>, source: &SideObjects, target: &SideObjects) -> Vec<Finding> {
    let roll_back = "roll back: the source is still as it was (pivot-host rollback)";
    let stop = |code, what: &str| host.stop(code, what).with_remedy(roll_back);
    let Some(there) = target.get(&host.0.key()) else {
        return vec![stop("no-copy", "its copy is not in the target")];
    };
    let mut found = Vec::new();
    if Host(there).pause() == Pause::None {
        found.push(stop("copy-not-paused", "its copy in the target is not paused"));
    }
    if provisioning_state(there) != host.state() {
        let what =
            format!("its copy in the target is `{}` and not `{}`", provisioning_state(there), host.state());
        found.push(stop("copy-without-status", &what));
    }
    let lacks = |key: &Key| source.contains(key) && !target.contains(key);
    if host.credentials_key().is_some_and(|key| lacks(&key)) {
        found.push(stop("copy-lacks-secret", "its credentials are not in the target"));
    }
    let hardware = host.0.namespace().map(|namespace| HARDWARE.key_in(namespace, host.0.name()));
    if hardware.is_some_and(|key| lacks(&key)) {
        found.push(stop("copy-lacks-hardware", "its HardwareData is not in the target"));
    }
    found
}
