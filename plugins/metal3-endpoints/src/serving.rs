//! Exactly one side serves.
//!
//! The source's Ironic should be gone before hosts are released in the target: it still has their nodes in its database and
//! drives them, whether its operator is paused or not. With a shared address it is worse: the side that holds the address
//! answers, and the target's operator may register its hosts with the source's Ironic.

use pivot_sdk::prelude::*;

use crate::gather::IRONIC;
use crate::setup::{Ironic, Setup, State};
use crate::{Metal3Endpoints, addresses};

/// Which side serves, and which should.
pub(crate) fn findings(
    config: &Metal3Endpoints,
    point: Point,
    source: &Setup,
    target: &Setup,
) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        source.up().map(|ironic| still_up(ironic, point, source, target)).into_iter().collect();
    if !config.must_be_up(point) {
        return found;
    }
    match target.ironics.first() {
        None => found.push(Finding::note(
            "ironic-not-seen",
            format!(
                "no Deployment and no Ironic object of the target in {}: only its endpoint can be asked",
                config.namespaces.join(", ")
            ),
        )),
        Some(ironic) if target.up().is_none() => found.push(not_up(ironic)),
        Some(_) => {}
    }
    found
}

/// Whether an answer at the endpoint can come from the target.
pub(crate) fn may_answer(target: &Setup) -> bool {
    target.ironics.is_empty() || target.up().is_some()
}

fn still_up(ironic: &Ironic, point: Point, source: &Setup, target: &Setup) -> Finding {
    let remedy = format!("take it down once the source is paused: {}", command(ironic, 0));
    let same = addresses::same(source, target);
    let both = same && target.up().is_some();
    // Before that, the source may still need it, and nothing has been decided.
    if both && matches!(point, Point::BeforeCommit | Point::AfterResume) {
        let what =
            format!("both sides serve the same address: the source's Ironic ({}) is still up", ironic.key);
        return Finding::wait("both-serve", what).on(&ironic.key).remedy(remedy);
    }
    let what = if same {
        format!(
            "the source's Ironic ({}) is still up, at the target's address, and may be the one that answers there",
            ironic.key
        )
    } else {
        format!("the source's Ironic ({}) is still up and still drives the hosts", ironic.key)
    };
    Finding::warn("source-still-up", what).on(&ironic.key).remedy(remedy)
}

fn not_up(ironic: &Ironic) -> Finding {
    let (what, remedy) = match ironic.state {
        State::Off => ("is scaled to nothing", format!("start it: {}", command(ironic, 1))),
        _ => (
            "is not available",
            format!("kubectl -n {} get pods shows what it is waiting for", namespace(ironic)),
        ),
    };
    Finding::wait("target-not-up", format!("the target's Ironic ({}) {what}", ironic.key))
        .on(&ironic.key)
        .remedy(remedy)
}

fn command(ironic: &Ironic, replicas: u8) -> String {
    let (namespace, name) = (namespace(ironic), &ironic.key.name);
    match (ironic.key.kind == IRONIC, replicas) {
        (true, 0) => format!("kubectl -n {namespace} delete ironics.ironic.metal3.io {name}"),
        _ => format!("kubectl -n {namespace} scale deployment {name} --replicas={replicas}"),
    }
}

fn namespace(ironic: &Ironic) -> &str {
    ironic.key.namespace.as_deref().unwrap_or_default()
}
