//! Whether machines are being replaced or scaled.
//!
//! If its owner moves while a machine is half created, the other side creates it once more, or both do. After the resume it is
//! the other way round: a rollout that begins there was caused by the move, and is reported, but not waited for, since it takes
//! hours on bare metal.

use pivot_sdk::{Finding, Kind, Object, Point};

use crate::groups::CORE;
use crate::report::Report;
use crate::settings::Area;
use crate::status;

/// True during an operation (v1beta2).
const GOING_ON: [&str; 5] = ["RollingOut", "ScalingUp", "ScalingDown", "Remediating", "Updating"];
/// Not true during an operation (v1beta1).
const AT_REST: [&str; 2] = ["MachinesSpecUpToDate", "Resized"];

/// Checks an object that has machines, or is one.
pub(crate) fn check_rollout(object: &Object, point: Point, report: &mut Report<'_>) {
    let kind = object.kind();
    let has_replicas = has_replicas(&kind);
    if !has_replicas && kind != Kind::new(CORE, "Machine") {
        return;
    }
    if status::is_unobserved(object) {
        let finding = Finding::wait("not-observed", "its controller has not seen its last change");
        report.add_finding(
            Area::Rollouts,
            finding.on_object(object).with_remedy("see whether its provider's Deployment runs"),
        );
    }
    let by_hand = is_replaced_by_hand(object);
    let mut signs: Vec<String> = GOING_ON
        .into_iter()
        .filter(|kind| {
            status::condition_status(object, kind) == "True" && !(by_hand && *kind == "RollingOut")
        })
        .map(str::to_owned)
        .collect();
    signs.extend(status::unmet_conditions(object, &AT_REST, false));
    let (numbers, outdated) = if has_replicas { compare_counts(object, &kind) } else { (Vec::new(), None) };
    if !numbers.is_empty() {
        let finding = Finding::wait("machines-missing", numbers.join(", "));
        let finding = status::with_describe_command(
            finding.on_object(object).with_remedy(status::SEE_CONDITIONS),
            report.side,
            object,
        );
        report.add_finding(Area::Rollouts, finding);
    }
    match outdated {
        Some(outdated) if by_hand => {
            let message = format!("{outdated}; they are replaced only when a user deletes them");
            let remedy = "none is needed: it is the same in the target";
            report.add_finding(
                Area::Rollouts,
                Finding::note("replaced-on-delete", message).on_object(object).with_remedy(remedy),
            );
        }
        outdated => signs.extend(outdated),
    }
    if signs.is_empty() {
        return;
    }
    let what = signs.join(", ");
    let finding = if point == Point::AfterResume {
        Finding::warn("rollout-in-target", format!("the target changes its machines: {what}"))
            .with_remedy("see what differs between the sides before the source is gone")
    } else {
        Finding::wait("rolling-out", format!("its machines are being changed: {what}"))
            .with_remedy("wait until it is through")
    };
    report.add_finding(
        Area::Rollouts,
        status::with_describe_command(finding.on_object(object), report.side, object),
    );
}

fn has_replicas(kind: &Kind) -> bool {
    status::is_control_plane(kind)
        || (kind.group == CORE && matches!(&*kind.kind, "MachineDeployment" | "MachinePool" | "MachineSet"))
}

/// Compares replica counts. Returns the differences, and the number of outdated replicas as text.
fn compare_counts(object: &Object, kind: &Kind) -> (Vec<String>, Option<String>) {
    let Some(wanted) = status::number_at(object, &["/spec/replicas"]) else { return (Vec::new(), None) };
    let there = status::number_at(object, &["/status/replicas"]);
    let current = [
        "/status/upToDateReplicas",
        "/status/v1beta2/upToDateReplicas",
        "/status/updatedReplicas",
        "/status/deprecated/v1beta1/updatedReplicas",
    ];
    let few = |number: Option<i64>| number.filter(|number| *number < wanted);
    let mut signs: Vec<String> = there
        .filter(|there| *there != wanted)
        .map(|there| format!("{there} of {wanted} machines are there"))
        .into_iter()
        .collect();
    let ready = few(status::number_at(object, &["/status/readyReplicas"]));
    signs.extend(ready.map(|ready| format!("{ready} of {wanted} machines are ready")));
    // The sets of a deployment are its revisions: an old one is never up to date.
    let judged = kind.kind != "MachineSet";
    let outdated = few(status::number_at(object, &current)).filter(|_| judged);
    (signs, outdated.map(|current| format!("{current} of {wanted} machines are up to date")))
}

/// Returns true if machines are replaced only when a user deletes them. Outdated machines are then no rollout.
fn is_replaced_by_hand(object: &Object) -> bool {
    ["/spec/rollout/strategy/type", "/spec/strategy/type"]
        .iter()
        .any(|place| object.text(place) == Some("OnDelete"))
}
