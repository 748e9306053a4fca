//! Hosts at rest.
//!
//! An operator and its Ironic work on a machine from their own database and over their own network: another operator can't take
//! such work over half-way. What a steady host would do next, once an operator looks at it again, counts as well: if the wanted
//! image differs from the written one, the disk gets wiped.

use pivot_sdk::prelude::*;

use crate::host::{Host, Pause};
use crate::names::{INSPECT, REBOOT};

/// The rules, each independent: users should see all problems at once.
const RULES: [fn(Host<'_>) -> Option<Finding>; 8] =
    [deleted, state, operational, progressing, image, next, reboot, inspection];

/// Reasons not to move a host.
pub(crate) fn findings(host: Host<'_>) -> impl Iterator<Item = Finding> {
    RULES.into_iter().filter_map(move |rule| rule(host))
}

fn deleted(host: Host<'_>) -> Option<Finding> {
    host.0
        .is_being_deleted()
        .then(|| host.stop("being-deleted", "it is being deleted").remedy("wait until it is gone, then move"))
}

fn state(host: Host<'_>) -> Option<Finding> {
    let worked_on = |what: &str| {
        let remedy = host.kubectl("get", " shows when it is provisioned or available; the move goes on then");
        host.unfinished("being-worked-on", what, &remedy)
    };
    match host.state() {
        "provisioned" | "externally provisioned" | "available" | "unmanaged" => None,
        "" => Some(worked_on("the operator has not looked at it yet")),
        state @ ("registering" | "inspecting" | "preparing" | "match profile" | "provisioning"
        | "deprovisioning") => Some(worked_on(&format!("it is {state}"))),
        state @ ("powering off before delete" | "deleting") => Some(
            host.stop("being-deleted", &format!("its state is {state}"))
                .remedy("wait until it is gone, then move"),
        ),
        state => Some(
            host.stop("unknown-state", &format!("this plugin does not know its state `{state}`"))
                .remedy("use a plugin that knows this version of the baremetal operator"),
        ),
    }
}

fn operational(host: Host<'_>) -> Option<Finding> {
    let fix = || host.kubectl("describe", " says what is wrong; move when its status is OK");
    match (host.operational(), host.error()) {
        ("error", "") => Some(host.stop("host-error", "its operational status is error").remedy(fix())),
        ("OK" | "detached" | "discovered", "") => None,
        (_, error) if !error.is_empty() => {
            Some(host.stop("host-error", &format!("it has a {error}")).remedy(fix()))
        }
        ("" | "delayed" | "servicing", _) => {
            let what = match host.operational() {
                "" => "it has no operational status yet".to_owned(),
                status => format!("its operational status is {status}"),
            };
            Some(host.unfinished("not-settled", &what, &fix()))
        }
        (status, _) => Some(
            host.stop(
                "unknown-status",
                &format!("this plugin does not know its operational status `{status}`"),
            )
            .remedy(fix()),
        ),
    }
}

fn progressing(host: Host<'_>) -> Option<Finding> {
    let steady = matches!(host.state(), "provisioned" | "externally provisioned" | "available" | "unmanaged");
    (steady && host.0.has_condition("Progressing")).then(|| {
        let remedy = host.kubectl("describe", " shows what it is waiting for");
        host.unfinished("progressing", "its condition Progressing is true", &remedy)
    })
}

/// The operator's own rule for deprovisioning a provisioned host.
fn image(host: Host<'_>) -> Option<Finding> {
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
    differs.then(|| match host.pause() {
        // It stays paused in the target, as it is in the source.
        Pause::Somebody => host.warn("image-differs", what).remedy(remedy),
        _ => host.stop("image-differs", what).remedy(remedy),
    })
}

/// Steady now, but with something to do that the operator has not started.
fn next(host: Host<'_>) -> Option<Finding> {
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
    (host.pause() != Pause::Somebody).then(|| {
        host.unfinished("about-to-change", what, "wait until it is done, or take that back in its spec")
    })
}

fn reboot(host: Host<'_>) -> Option<Finding> {
    let asked = host.0.annotations().map(|(name, _)| name).find(|name| {
        name.strip_prefix(REBOOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })?;
    let remedy = match asked {
        REBOOT => "the operator takes the annotation away once the host was rebooted".to_owned(),
        _ => {
            format!("its author must remove it: {}", host.kubectl("annotate", &format!(" {asked}-")))
        }
    };
    Some(host.unfinished("reboot-pending", &format!("a reboot is requested ({asked})"), &remedy))
}

fn inspection(host: Host<'_>) -> Option<Finding> {
    let asked = host.0.annotation(INSPECT).is_some_and(|value| value != "disabled");
    let remedy = format!(
        "wait until it is done, or take it back: {}",
        host.kubectl("annotate", " inspect.metal3.io-")
    );
    asked.then(|| {
        host.unfinished("inspection-pending", "an inspection is requested (inspect.metal3.io)", &remedy)
    })
}
