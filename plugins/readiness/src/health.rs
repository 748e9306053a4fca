//! The conditions of Clusters, control planes and machines.

use pivot_sdk::{Finding, Object, Point};

use crate::groups::CORE;
use crate::report::Report;
use crate::settings::Area;
use crate::status;

/// Conditions of both contracts that are true on healthy objects. A condition that an object does not report is not required.
const CLUSTER: [&str; 8] = [
    "Available",
    "Ready",
    "InfrastructureReady",
    "ControlPlaneAvailable",
    "ControlPlaneReady",
    "WorkersAvailable",
    "RemoteConnectionProbe",
    "TopologyReconciled",
];
const CONTROL_PLANE: [&str; 6] = [
    "Available",
    "Ready",
    "CertificatesAvailable",
    "ControlPlaneComponentsHealthy",
    "EtcdClusterHealthy",
    "MachinesReady",
];
const GROUP_OF_MACHINES: [&str; 6] =
    ["Available", "Ready", "BootstrapReady", "InfrastructureReady", "MachinesReady", "ReplicasReady"];
const MACHINE: [&str; 9] = [
    "Available",
    "Ready",
    "BootstrapConfigReady",
    "BootstrapReady",
    "InfrastructureReady",
    "NodeHealthy",
    "NodeReady",
    "HealthCheckSucceeded",
    "OwnerRemediated",
];
/// JSON pointers at which controllers record that they have given up.
const FAILURES: [&str; 4] = [
    "/status/failureReason",
    "/status/failureMessage",
    "/status/deprecated/v1beta1/failureReason",
    "/status/deprecated/v1beta1/failureMessage",
];

/// Checks a Cluster, a control plane, a machine or a set of machines.
pub(crate) fn check_conditions(object: &Object, point: Point, report: &mut Report<'_>) {
    let kind = object.kind();
    let (area, types, speaks): (Area, &[&str], bool) = match &*kind.kind {
        "Cluster" if kind.group == CORE => (Area::Clusters, &CLUSTER, true),
        _ if status::is_control_plane(&kind) => {
            (Area::Clusters, &CONTROL_PLANE, kind.kind == "KubeadmControlPlane")
        }
        "Machine" if kind.group == CORE => (Area::Machines, &MACHINE, true),
        "MachineDeployment" if kind.group == CORE => (Area::Machines, &GROUP_OF_MACHINES, true),
        "MachineSet" | "MachinePool" if kind.group == CORE => (Area::Machines, &GROUP_OF_MACHINES, false),
        _ => return,
    };
    if let Some(why) = permanent_failure(object) {
        let finding = Finding::stop("failed", format!("its controller has given up: {why}"));
        let finding = finding.on_object(object).with_remedy("fix or replace it");
        report.add_finding(area, status::with_describe_command(finding, report.side, object));
        return;
    }
    // A copy arrives without a status; if it stays without, no controller looks after it.
    if point == Point::AfterResume && speaks && status::is_silent(object) {
        let finding = Finding::wait("no-status", "no controller of the target has written a status yet");
        report.add_finding(
            area,
            finding.on_object(object).with_remedy("see whether its provider's Deployment runs in the target"),
        );
        return;
    }
    let open = status::unmet_conditions(object, types, false);
    if !open.is_empty() {
        let finding = Finding::wait("not-ready", format!("conditions are not true: {}", open.join(", ")));
        report.add_finding(
            area,
            status::with_describe_command(
                finding.on_object(object).with_remedy(status::SEE_CONDITIONS),
                report.side,
                object,
            ),
        );
    }
}

fn permanent_failure(object: &Object) -> Option<&str> {
    let said = FAILURES.iter().find_map(|place| object.text(place)).filter(|why| !why.is_empty());
    said.or_else(|| object.text("/status/phase").filter(|phase| *phase == "Failed"))
}
