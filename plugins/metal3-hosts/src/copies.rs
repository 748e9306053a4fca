//! Checks on the target: is there room for the hosts, and are the copies complete?

use std::collections::BTreeMap;

use pivot_sdk::prelude::*;

use crate::host::{Host, Pause, state};
use crate::machine::{Bmc, Machine, Place};
use crate::names::{HARDWARE, HOST};
use crate::seen::Seen;

/// Hosts of the target that are in the way: with the same name, or for the same machine.
pub(crate) fn in_the_way(hosts: &[&Object], target: &Seen) -> Vec<Finding> {
    let known = Known::of(target);
    hosts.iter().flat_map(|host| [named(host, target), known.elsewhere(host)]).flatten().collect()
}

/// Problems with the target's host of the same name.
fn named(host: &Object, target: &Seen) -> Option<Finding> {
    let there = Machine::of(target.get(&host.key())?);
    let here = Machine::of(host);
    let what = match (here.mac.zip(there.mac), here.bmc.zip(there.bmc)) {
        (Some((here, there)), _) if here == there => return None,
        (Some(_), _) => "the target has a host of this name that boots from another MAC address",
        (None, Some((here, there))) if here.is(&there) => return None,
        (None, Some(_)) => "the target has a host of this name with another management controller",
        (None, None) => {
            let what = "the target has a host of this name, and whether it is the same machine can't be told";
            return Some(Host(host).warn("machine-unknown", what).with_remedy(TELL));
        }
    };
    let remedy = "rename one of the two, or exclude it from the move";
    Some(Host(host).stop("other-machine", what).with_remedy(remedy))
}

/// How to find out whether two hosts are one machine.
const TELL: &str = "look whether it is the same machine; with spec.bootMACAddress on both it shows";

/// The target's machines, indexed by what identifies them: comparing every host with every host takes too long.
#[derive(Default)]
struct Known<'a> {
    by_mac: BTreeMap<String, Vec<&'a Object>>,
    by_bmc: BTreeMap<Place, Vec<(Bmc, &'a Object)>>,
    /// By whether they have a MAC address, and whether they have a management controller.
    by_what: BTreeMap<(bool, bool), Vec<&'a Object>>,
}

impl<'a> Known<'a> {
    fn of(target: &'a Seen) -> Self {
        let mut known = Self::default();
        for host in target.all(&HOST) {
            let Machine { mac, bmc } = Machine::of(host);
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

    /// Problems with the target's hosts under other names.
    fn elsewhere(&self, host: &Object) -> Option<Finding> {
        let machine = Machine::of(host);
        let other = |there: &&Object| there.key() != host.key();
        let mut same_mac = machine.mac.iter().filter_map(|mac| self.by_mac.get(mac)).flatten().copied();
        if let Some(there) = same_mac.find(other) {
            return Some(same(host, there, "boots from the same MAC address"));
        }
        let near = machine.bmc.iter().filter_map(|bmc| Some((bmc, self.by_bmc.get(&bmc.host)?)));
        let same_bmc = near.flat_map(|(bmc, near)| near.iter().filter(|(there, _)| there.is(bmc)));
        if let Some(there) = same_bmc.map(|(_, there)| *there).find(other) {
            return Some(same(host, there, "has the same management controller"));
        }
        let comparable = |mac: bool, bmc: bool| mac && machine.mac.is_some() || bmc && machine.bmc.is_some();
        let unlike = self.by_what.iter().filter(|((mac, bmc), _)| !comparable(*mac, *bmc));
        let there = unlike.flat_map(|(_, hosts)| hosts).copied().find(other)?;
        let what = format!(
            "whether the target knows its machine as {} can't be told: they have neither MAC addresses nor \
             management controllers to compare",
            Host(there).name()
        );
        Some(Host(host).warn("machine-unknown", &what).with_remedy(TELL))
    }
}

fn same(host: &Object, there: &Object, why: &str) -> Finding {
    let what = format!("the target knows its machine as {}, which {why}", Host(there).name());
    let remedy = "delete the target's host (detach it first), or take this one out of the move";
    Host(host).stop("same-machine", &what).with_remedy(remedy)
}

/// Before the point of no return: every copy must be paused, with the source's status, its credentials and its hardware.
pub(crate) fn whole(hosts: &[&Object], source: &Seen, target: &Seen) -> Vec<Finding> {
    hosts.iter().flat_map(|host| copy(Host(host), source, target)).collect()
}

fn copy(host: Host<'_>, source: &Seen, target: &Seen) -> Vec<Finding> {
    let roll_back = "roll back: the source is still as it was (pivot-host rollback)";
    let stop = |code, what: &str| host.stop(code, what).with_remedy(roll_back);
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
    let hardware = host.0.namespace().map(|namespace| HARDWARE.key_in(namespace, host.0.name()));
    if hardware.is_some_and(|key| lacks(&key)) {
        found.push(stop("copy-lacks-hardware", "its HardwareData is not in the target"));
    }
    found
}
