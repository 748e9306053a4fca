//! Applies the rules of each point.

use pivot_sdk::prelude::*;

use crate::host::Host;
use crate::names::{COMPONENTS, DATA_IMAGE, HARDWARE, HOST, SECRET, SETTINGS};
use crate::side_objects::SideObjects;
use crate::{Metal3Hosts, acknowledged, companions, copies, firmware, steady};

/// More than a person reads; the host rejects only far longer answers.
const MAX_FINDINGS: usize = 200;

pub(crate) fn check_point(config: &Metal3Hosts, point: Point, moving: &Move) -> Result<Vec<Finding>> {
    if moving.of_kind(&HOST).next().is_none() && point != Point::BeforePause {
        return Ok(Vec::new());
    }
    let mut found = match point {
        Point::BeforePause => before_pause(config, moving)?,
        Point::AfterPause => after_pause(config, moving)?,
        Point::BeforeCommit => before_commit(moving)?,
        Point::AfterResume | Point::Other => Vec::new(),
    };
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    if let Some(more) = found.len().checked_sub(MAX_FINDINGS).filter(|more| *more > 0) {
        found.truncate(MAX_FINDINGS);
        found.push(Finding::note("more", format!("{more} findings more about hosts")));
    }
    Ok(found)
}

fn before_pause(config: &Metal3Hosts, moving: &Move) -> Result<Vec<Finding>> {
    let source = SideObjects::read(
        Side::Source,
        &[&HOST, &SETTINGS, &COMPONENTS, &DATA_IMAGE],
        &[&HARDWARE, &SECRET],
    )?;
    let mut found = Vec::new();
    let hosts = find_moving_hosts(moving, &source, &mut found);
    for host in &hosts {
        let host = Host(host);
        found.extend(steady::check_host(host));
        found.extend(firmware::check_firmware(config, host, &source));
        found.extend(companions::check_companions(host, &source));
    }
    found.extend(report_staying_hosts(moving, &source));
    if !hosts.is_empty() {
        found.extend(copies::find_conflicts(&hosts, &SideObjects::read(Side::Target, &[&HOST], &[])?));
    }
    Ok(found)
}

/// Checks again: something may have begun between the first check and the pause.
fn after_pause(config: &Metal3Hosts, moving: &Move) -> Result<Vec<Finding>> {
    let source = SideObjects::read(Side::Source, &[&HOST, &SETTINGS, &COMPONENTS, &DATA_IMAGE], &[])?;
    let mut found = Vec::new();
    for host in find_moving_hosts(moving, &source, &mut found) {
        let host = Host(host);
        found.extend(acknowledged::check_pause(config, host));
        found.extend(steady::check_host(host));
        found.extend(firmware::check_firmware(config, host, &source));
    }
    // Already reported before the pause.
    found.retain(|finding| finding.severity > Severity::Warn);
    Ok(found)
}

fn before_commit(moving: &Move) -> Result<Vec<Finding>> {
    let source = SideObjects::read(Side::Source, &[&HOST], &[&HARDWARE, &SECRET])?;
    let target = SideObjects::read(Side::Target, &[&HOST], &[&HARDWARE, &SECRET])?;
    let mut found = Vec::new();
    let hosts = find_moving_hosts(moving, &source, &mut found);
    found.extend(copies::check_copies(&hosts, &source, &target));
    Ok(found)
}

/// Returns the hosts that move. A host that can't be found is reported.
fn find_moving_hosts<'a>(
    moving: &Move,
    source: &'a SideObjects,
    found: &mut Vec<Finding>,
) -> Vec<&'a Object> {
    let mut hosts = Vec::new();
    for key in moving.of_kind(&HOST) {
        match source.get(key) {
            Some(host) => hosts.push(host),
            None => found.push(
                Finding::wait("host-gone", format!("{key} was to move and is not there any more"))
                    .on_object(key)
                    .with_remedy("if it was deleted on purpose, start the move again"),
            ),
        }
    }
    hosts
}

/// Reports hosts that stay in the namespaces that move: mostly free ones, if the definition is not labelled.
fn report_staying_hosts(moving: &Move, source: &SideObjects) -> Option<Finding> {
    let names: Vec<String> = source
        .of_kind(&HOST)
        .filter(|host| !moving.contains_object(&host.key()))
        .map(|host| Host(host).display_name())
        .collect();
    let (first, more) =
        (names.iter().take(5).cloned().collect::<Vec<_>>().join(", "), names.len().saturating_sub(5));
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| {
        Finding::note("hosts-stay", format!("not part of this move: {first}{rest}")).with_remedy(
            "free hosts move with their namespace where the definition is labelled: kubectl label crd \
             baremetalhosts.metal3.io clusterctl.cluster.x-k8s.io= clusterctl.cluster.x-k8s.io/move-hierarchy=",
        )
    })
}
