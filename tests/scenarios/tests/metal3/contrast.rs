//! The same rack, moved by the peer, with the same observer. It deletes hosts after replacing all of their annotations: the pause
//! is gone, and for some milliseconds the source's operator sees an unpaused host that is being deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use pivot_lab::observer::Side;
use pivot_lab::{Observer, say};
use pivot_scenarios::clusterctl as peer;
use pivot_scenarios::state::difference;

use super::hosts;
use super::world::{HOST, NAMESPACE, World};

/// To the source. How far its operator gets with a host depends on this, and on how busy the machine is; that it starts does not.
const ROUND_TRIP: Duration = Duration::from_millis(20);

pub(crate) async fn clusterctl_succeeds_while_hosts_are_deprovisioned() {
    let mut world = World::start().await.unwrap();
    world.fill().await.unwrap();
    let before = world.until_quiet(Side::Source).await.unwrap();
    let logs = [Side::Source, Side::Target].map(|side| world.log(side).unwrap().len());
    let observer = Observer::of(&world.pair, &[NAMESPACE]).await.unwrap();
    clusterctl(&world).await.unwrap();
    let after = world.until_quiet(Side::Target).await.unwrap();
    let log = observer.finish_log().await.unwrap();

    let journeys = [Side::Source, Side::Target].map(|side| hosts::journeys(&log, side));
    let told = [Side::Source, Side::Target].map(|side| world.log(side).unwrap());
    let told = [hosts::harm(&told[0][logs[0]..]), hosts::harm(&told[1][logs[1]..])];
    for ((side, journeys), told) in ["source", "target"].into_iter().zip(&journeys).zip(&told) {
        say(format_args!(
            "{} hosts by the states they went to in the {side}: {:?}",
            journeys.len(),
            count(journeys)
        ));
        say(format_args!("its provisioner was told {} times to do something to a machine", told.len()));
    }
    let [source, target] = journeys;
    let at_first = |state: &'static str| {
        source.iter().filter(move |(_, journey)| journey[0].starts_with(state)).map(|(name, _)| name.as_str())
    };
    let went = |journey: &[String], state: &str| journey.iter().any(|seen| seen.starts_with(state));

    // The machines of a Cluster: the source's operator starts to deprovision them, which wipes their disks.
    let wiped = at_first("provisioned").filter(|name| went(&source[*name], "deprovisioning")).count();
    assert!(wiped > 0, "the source's operator left all machines alone: {source:?}");
    assert!(!told[0].is_empty(), "it did not come to tell its provisioner anything");

    // Free hosts: the target's operator treats them as new ones.
    let inspected: Vec<_> = at_first("available").filter(|name| went(&target[*name], "inspecting")).collect();
    assert_eq!(inspected, ["u17", "u18"], "{target:?}");
    assert_eq!(target["u19"], [""], "the one that its user had paused has lost its status");
    assert!(!hosts::exposed(&log).is_empty());

    // None of that shows: the program exits 0, and the Cluster's machines look unchanged.
    let machines = |dump| {
        let mut kept = hosts::kept(dump);
        kept.retain(|key, _| key.kind == HOST && at_first("provisioned").any(|name| name == key.name));
        kept
    };
    assert_eq!(difference(&machines(&before), &machines(&after)), "");
}

/// How many hosts were seen in each state other than their first.
fn count(journeys: &BTreeMap<String, Vec<String>>) -> BTreeMap<&str, usize> {
    let mut count = BTreeMap::new();
    for journey in journeys.values() {
        let states: BTreeSet<&str> =
            journey.iter().skip(1).filter_map(|state| state.split(',').next()).collect();
        for state in states {
            *count.entry(state).or_default() += 1;
        }
    }
    count
}

/// Moves the namespace to the target, as its user would; an error unless it exits 0.
async fn clusterctl(world: &World) -> Result<()> {
    let (source, target) = (world.wire(Side::Source, ROUND_TRIP), world.wire(Side::Target, Duration::ZERO));
    let (source, target) = (source.display().to_string(), target.display().to_string());
    peer::clusterctl(&["--namespace", NAMESPACE, "--kubeconfig", &source, "--to-kubeconfig", &target]).await
}
