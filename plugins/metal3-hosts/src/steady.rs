//! Hosts at rest.
//!
//! An operator and its Ironic work on a machine from their own database and over their own network: another operator can't take
//! such work over half-way. What a steady host would do next, once an operator looks at it again, counts as well: if the wanted
//! image differs from the written one, the disk gets wiped.

use pivot_sdk::prelude::*;

use crate::host::{Host, Pause};
use crate::names::{INSPECT, REBOOT};

/// The rules, each independent: users should see all problems at once.
const RULES: [fn(Host<'_>) -> Option<Finding>; 9] = [
    check_deletion,
    check_state,
    check_operational_status,
    check_progress,
    check_detachment,
    check_image,
    check_next_change,
    check_reboot,
    check_inspection,
];

/// Returns reasons not to move a host.
pub(crate) fn check_host(host: Host<'_>) -> impl Iterator<Item = Finding> {
    RULES.into_iter().filter_map(move |rule| rule(host))
}

fn check_deletion(host: Host<'_>) -> Option<Finding> {
    host.0.is_being_deleted().then(|| {
        host.stop("being-deleted", "it is being deleted").with_remedy("wait until it is gone, then move")
    })
}

fn check_state(host: Host<'_>) -> Option<Finding> {
    let worked_on = |what: &str| {
        host.wait_or_stop("being-worked-on", what, "the move goes on when it is provisioned or available")
            .with_kubectl(Side::Source, host.kubectl_arguments(Side::Source, "get", None))
    };
    match host.state() {
        "provisioned" | "externally provisioned" | "available" | "unmanaged" => None,
        "" => Some(worked_on("the operator has not looked at it yet")),
        state @ ("registering" | "inspecting" | "preparing" | "match profile" | "provisioning"
        | "deprovisioning") => Some(worked_on(&format!("it is {state}"))),
        state @ ("powering off before delete" | "deleting") => Some(
            host.stop("being-deleted", &format!("its state is {state}"))
                .with_remedy("wait until it is gone, then move"),
        ),
        state => Some(
            host.stop("unknown-state", &format!("this plugin does not know its state `{state}`"))
                .with_remedy("use a plugin that knows this version of the baremetal operator"),
        ),
    }
}

const FIX: &str = "find out what is wrong, and move when its status is OK";

fn check_operational_status(host: Host<'_>) -> Option<Finding> {
    let look = |finding: Finding| {
        finding
            .with_remedy(FIX)
            .with_kubectl(Side::Source, host.kubectl_arguments(Side::Source, "describe", None))
    };
    match (host.operational_status(), host.error_type()) {
        ("error", "") => Some(look(host.stop("host-error", "its operational status is error"))),
        ("OK" | "detached" | "discovered", "") => None,
        (_, error) if !error.is_empty() => Some(look(host.stop("host-error", &format!("it has a {error}")))),
        ("" | "delayed" | "servicing", _) => {
            let what = match host.operational_status() {
                "" => "it has no operational status yet".to_owned(),
                status => format!("its operational status is {status}"),
            };
            Some(
                host.wait_or_stop("not-settled", &what, FIX)
                    .with_kubectl(Side::Source, host.kubectl_arguments(Side::Source, "describe", None)),
            )
        }
        (status, _) => Some(look(host.stop(
            "unknown-status",
            &format!("this plugin does not know its operational status `{status}`"),
        ))),
    }
}

fn check_progress(host: Host<'_>) -> Option<Finding> {
    let steady = matches!(host.state(), "provisioned" | "externally provisioned" | "available" | "unmanaged");
    (steady && host.0.has_condition("Progressing")).then(|| {
        host.wait_or_stop("progressing", "its condition Progressing is true", "see what it is waiting for")
            .with_kubectl(Side::Source, host.kubectl_arguments(Side::Source, "describe", None))
    })
}

/// Reports a host that the operator is about to detach, or to attach again. It does both only in these states, and to no paused
/// host: its copy is paused, too, and the target's operator does it once that is unpaused.
fn check_detachment(host: Host<'_>) -> Option<Finding> {
    if !matches!(host.state(), "provisioned" | "externally provisioned" | "available") {
        return None;
    }
    let what = match (host.is_asked_to_detach(), host.operational_status()) {
        (true, "OK") => "it is about to be detached",
        (false, "detached") => "it is about to be attached again",
        _ => return None,
    };
    (host.pause() == Pause::None).then(|| {
        host.wait_or_stop(
            "about-to-change",
            what,
            "wait until its operational status agrees with the annotation baremetalhost.metal3.io/detached",
        )
    })
}

/// Reports a host that the operator would deprovision, by the operator's own rule.
fn check_image(host: Host<'_>) -> Option<Finding> {
    let text = |pointer: &str| host.0.text(pointer).unwrap_or_default();
    let (wanted, written) = (text("/spec/image/url"), text("/status/provisioning/image/url"));
    let (method, used) =
        (text("/spec/customDeploy/method"), text("/status/provisioning/customDeploy/method"));
    let differs = match (host.state(), method.is_empty()) {
        ("provisioned", false) => {
            (!used.is_empty() && method != used) || (!written.is_empty() && wanted != written)
        }
        ("provisioned", true) => {
            !used.is_empty() || wanted.is_empty() || (!written.is_empty() && wanted != written)
        }
        _ => false,
    };
    let what = "its image in spec is not the one that was written to it: an operator that looks at it wipes the disk";
    let remedy = "make spec.image (or spec.customDeploy) what status.provisioning says, and keep GitOps from changing it";
    differs.then(|| match is_left_alone(host) {
        // The host stays paused or detached in the target, as it is in the source.
        true => host.warn("image-differs", what).with_remedy(remedy),
        false => host.stop("image-differs", what).with_remedy(remedy),
    })
}

/// Reports a steady host with work that the operator has not started.
fn check_next_change(host: Host<'_>) -> Option<Finding> {
    let text = |pointer: &str| host.0.text(pointer).unwrap_or_default();
    let external = host.0.is_true("/spec/externallyProvisioned");
    let written = !text("/status/provisioning/image/url").is_empty()
        || !text("/status/provisioning/customDeploy/method").is_empty();
    let wanted = !text("/spec/image/url").is_empty() || !text("/spec/customDeploy/method").is_empty();
    let what = match host.state() {
        "externally provisioned" if !external => {
            "it is no longer externally provisioned: the operator would manage it like any other host"
        }
        "available" if external => "it is about to be externally provisioned",
        "available" if wanted && !written && host.0.is_true("/spec/online") => {
            "it is about to be provisioned"
        }
        "unmanaged" if !text("/spec/bmc/address").is_empty() => "it is about to be registered",
        _ => return None,
    };
    (!is_left_alone(host)).then(|| {
        host.wait_or_stop("about-to-change", what, "wait until it is done, or take that back in its spec")
    })
}

/// Returns true if a user keeps the operator from the host, and if the copy does the same in the target.
fn is_left_alone(host: Host<'_>) -> bool {
    host.pause() == Pause::Other || host.is_detached()
}

fn check_reboot(host: Host<'_>) -> Option<Finding> {
    let asked = host.0.annotations().map(|(name, _)| name).find(|name| {
        name.strip_prefix(REBOOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })?;
    let what = format!("a reboot is requested ({asked})");
    Some(match asked {
        REBOOT => {
            let remedy = "the operator takes the annotation away once the host was rebooted";
            host.wait_or_stop("reboot-pending", &what, remedy)
        }
        _ => host.wait_or_stop("reboot-pending", &what, "its author must remove it").with_kubectl(
            Side::Source,
            host.kubectl_arguments(Side::Source, "annotate", Some(&format!("{asked}-"))),
        ),
    })
}

fn check_inspection(host: Host<'_>) -> Option<Finding> {
    let asked = host.0.annotation(INSPECT).is_some_and(|value| value != "disabled");
    asked.then(|| {
        let what = "an inspection is requested (inspect.metal3.io)";
        host.wait_or_stop("inspection-pending", what, "wait until it is done, or take it back").with_kubectl(
            Side::Source,
            host.kubectl_arguments(Side::Source, "annotate", Some(&format!("{INSPECT}-"))),
        )
    })
}
