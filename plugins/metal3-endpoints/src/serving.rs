//! Exactly one side serves.
//!
//! The source's Ironic should be gone before hosts are released in the target: it still has their nodes in its database and
//! drives them, whether its operator is paused or not. With a shared address it is worse: the side that holds the address
//! answers, and the target's operator may register its hosts with the source's Ironic.

use pivot_sdk::prelude::*;

use crate::gather::IRONIC;
use crate::setup::{Ironic, Setup};
use crate::state::State;
use crate::{Metal3Endpoints, addresses};

/// Reports a side that serves and shouldn't, and a target that should serve and doesn't.
pub(crate) fn compare_serving(
    config: &Metal3Endpoints,
    point: Point,
    source: &Setup,
    target: &Setup,
) -> Vec<Finding> {
    let mut found: Vec<Finding> = source
        .running_ironic()
        .map(|ironic| report_running_source(ironic, point, source, target))
        .into_iter()
        .collect();
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
        Some(ironic) if target.running_ironic().is_none() => {
            found.push(report_stopped("target-not-up", "Ironic", &ironic.key, ironic.state));
        }
        Some(_) => {}
    }
    found
}

/// Returns true if an answer at the endpoint can come from the target.
pub(crate) fn can_answer(target: &Setup) -> bool {
    target.ironics.is_empty() || target.running_ironic().is_some()
}

fn report_running_source(ironic: &Ironic, point: Point, source: &Setup, target: &Setup) -> Finding {
    let remedy = "take it down once the source is paused";
    let command = scale_arguments(&ironic.key, Side::Source, 0);
    let same = addresses::have_same_addresses(source, target);
    let both = same && target.running_ironic().is_some();
    // Before that, the source may still need it, and nothing has been decided.
    if both && matches!(point, Point::BeforeCommit | Point::AfterResume) {
        let what =
            format!("both sides serve the same address: the source's Ironic ({}) is still up", ironic.key);
        return Finding::wait("both-serve", what)
            .on_object(&ironic.key)
            .with_remedy(remedy)
            .with_kubectl(Side::Source, command);
    }
    let what = if same {
        format!(
            "the source's Ironic ({}) is still up, at the target's address, and may be the one that answers there",
            ironic.key
        )
    } else {
        format!("the source's Ironic ({}) is still up and still drives the hosts", ironic.key)
    };
    Finding::warn("source-still-up", what)
        .on_object(&ironic.key)
        .with_remedy(remedy)
        .with_kubectl(Side::Source, command)
}

/// Reports that a program of the target doesn't run.
pub(crate) fn report_stopped(code: &'static str, program: &str, key: &Key, state: State) -> Finding {
    let (what, remedy, command) = match state {
        State::Off => ("is scaled to nothing", "start it", scale_arguments(key, Side::Target, 1)),
        _ => {
            let pods = ["get", "-n", &namespace_of(key, Side::Target), "pods"].map(str::to_owned).to_vec();
            ("is not available", "see what it is waiting for", pods)
        }
    };
    Finding::wait(code, format!("the target's {program} ({key}) {what}"))
        .on_object(key)
        .with_remedy(remedy)
        .with_kubectl(Side::Target, command)
}

/// Returns the arguments of the kubectl command that scales a program. For an Ironic that an operator manages, the command only
/// shows it.
fn scale_arguments(key: &Key, side: Side, replicas: u8) -> Vec<String> {
    let (namespace, count) = (namespace_of(key, side), format!("--replicas={replicas}"));
    let (namespace, name) = (&*namespace, &*key.name);
    let words = match (key.kind == IRONIC, replicas) {
        (true, 0) => vec!["get", "-n", namespace, "ironics.ironic.metal3.io", name],
        _ => vec!["scale", "-n", namespace, "deployment", name, &count],
    };
    words.into_iter().map(str::to_owned).collect()
}

/// Returns the name on a side of the namespace of an object.
pub(crate) fn namespace_of(key: &Key, side: Side) -> String {
    context::namespace_on(side, key.namespace.as_deref().unwrap_or_default())
}
