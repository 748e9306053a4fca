//! Pending changes to firmware and virtual media.
//!
//! The operator makes them when it next prepares or reboots the host. During a move no operator does that. A pending change is
//! carried over, but may then be made by a target that sees the machine for the first time.

use pivot_sdk::prelude::*;
use serde_json::Value;

use crate::Metal3Hosts;
use crate::host::Host;
use crate::names::{COMPONENTS, DATA_IMAGE, SETTINGS};
use crate::settings::Weight;
use crate::side_objects::SideObjects;

const CARRY_OVER: &str =
    "to carry it over as it is: pending-firmware = \"warn\" in this plugin's configuration";

/// Reports pending changes to a host's firmware and media.
pub(crate) fn check_firmware(config: &Metal3Hosts, host: Host<'_>, source: &SideObjects) -> Vec<Finding> {
    let kinds = [SETTINGS, COMPONENTS];
    let firmware = kinds.iter().filter_map(|kind| source.find_namesake(host.0, kind));
    let mut found: Vec<Finding> = firmware.filter_map(|object| check_pending(config, host, object)).collect();
    found.extend(source.find_namesake(host.0, &DATA_IMAGE).and_then(|image| check_media(host, image)));
    found
}

fn check_pending(config: &Metal3Hosts, host: Host<'_>, firmware: &Object) -> Option<Finding> {
    // The operator skips the firmware of a host without a management controller.
    if host.state() != "unmanaged" && is_unseen(firmware) {
        return Some(report_unseen(config, host, firmware));
    }
    // The operator never makes an invalid change.
    if !firmware.has_condition("ChangeDetected") || !firmware.has_condition("Valid") {
        return None;
    }
    let kind = firmware.kind().kind;
    let what = format!("its {kind} asks for a change that is not made yet");
    if host.state() == "available" {
        return Some(host.wait_or_stop(
            "firmware-pending",
            &what,
            "the operator prepares the host; wait until it is available again",
        ));
    }
    let remedy = format!(
        "have it made (reboot under a HostUpdatePolicy, or provision again), or take it back in the spec of {kind} {}; {CARRY_OVER}",
        firmware.name()
    );
    Some(host.finding(config.pending_firmware.into(), "firmware-pending", &what).with_remedy(remedy))
}

/// Reports a change that the operator has not looked at. While Ironic answers with errors, the operator doesn't write its first
/// comparison, so only the configuration ends that wait.
fn report_unseen(config: &Metal3Hosts, host: Host<'_>, firmware: &Object) -> Finding {
    let code = "firmware-unseen";
    let what = format!("the operator has not looked at the last change of its {}", firmware.kind().kind);
    let remedy = "wait a minute; does the baremetal operator run, and does its Ironic answer without errors?";
    let is_first = firmware.condition("ChangeDetected").is_none();
    if is_first && matches!(config.pending_firmware, Weight::Warn) {
        return host.warn(code, &what).with_remedy(remedy);
    }
    let mut finding = host.wait_or_stop(code, &what, remedy);
    if is_first {
        finding.problem.remedy = format!("{}; {CARRY_OVER}", finding.problem.remedy);
    }
    finding
}

/// Returns true if the operator has not compared what is wanted with the machine since the last change. Before the first
/// comparison, an object that asks for nothing has nothing to compare.
fn is_unseen(firmware: &Object) -> bool {
    let Some(condition) = firmware.condition("ChangeDetected") else { return asks_for_changes(firmware) };
    let generation = firmware.get("/metadata/generation").and_then(Value::as_i64);
    condition.observed_generation().zip(generation).is_some_and(|(seen, now)| seen < now)
}

fn asks_for_changes(firmware: &Object) -> bool {
    let settings = firmware.get("/spec/settings").and_then(Value::as_object);
    settings.is_some_and(|settings| !settings.is_empty()) || firmware.items("/spec/updates").next().is_some()
}

fn check_media(host: Host<'_>, image: &Object) -> Option<Finding> {
    let wanted = image.text("/spec/url").unwrap_or_default();
    let attached = image.text("/status/attachedImage/url").unwrap_or_default();
    if wanted != attached || image.is_being_deleted() {
        let what = "its DataImage is about to be attached or detached";
        return Some(host.wait_or_stop(
            "media-pending",
            what,
            "reboot the host so that it is done, or delete the DataImage",
        ));
    }
    (!attached.is_empty()).then(|| {
        host.warn("media-attached", "its DataImage is attached, which the target's Ironic will not know")
            .with_remedy("delete the DataImage and reboot the host before the move; or expect the target to attach it again at the next reboot")
    })
}
