//! Releases a host in the target, and watches its operator take it over.
//!
//! Before the release, its status, its credentials and its hardware must be there; an operator that finds them missing registers
//! or inspects the host. After it, the host must return to its previous state, with no inspection and no provisioning in between.
//! A problem then shows on one host and not on all of them. A free host that the target puts to use meanwhile belongs to the
//! target: pausing it would only leave its Machine without a disk.

use pivot_sdk::objects::{self, Query};
use pivot_sdk::prelude::*;

use crate::host::{Host, Pause};
use crate::memory::Memory;
use crate::names::{CLUSTER_PAUSED, HARDWARE, HOST, PAUSED, PROVIDER, STATUS};

pub(crate) fn settle_host(object: &Object) -> Result<Settlement> {
    let host = Host(object);
    // A host without a note is not a copy made by this move.
    let (true, Some(before)) = (object.kind() == HOST, Memory::read_from(object)?) else {
        return Ok(Settlement::Done);
    };
    // A host that this plugin still holds can't have been put to use.
    if host.pause() != Pause::Ours && before.was_put_to_use_until(&Memory::from_host(host)) {
        return Ok(Settlement::Done);
    }
    if let Some(changed) = find_forbidden_change(host, &before) {
        return Ok(Settlement::stop(changed));
    }
    match host.pause() {
        Pause::Other => Ok(Settlement::Done),
        Pause::Ours => release_host(host, &before),
        Pause::Provider if cluster_is_paused(host)? => Ok(Settlement::Done),
        Pause::Provider => {
            let what = "the Metal3 provider has not taken its pause away";
            Ok(wait_settlement(
                host,
                "provider-pause",
                what,
                "does capm3-controller-manager run in the target, and is the Cluster's InfrastructureReady true?",
            ))
        }
        Pause::None => Ok(find_missing_takeover(host, &before)?.map_or(Settlement::Done, Settlement::wait)),
    }
}

fn release_host(host: Host<'_>, before: &Memory) -> Result<Settlement> {
    let missing = find_missing(host)?;
    if !missing.is_empty() {
        let what = format!("the target lacks {}", missing.join(" and "));
        return Ok(wait_settlement(
            host,
            "not-complete",
            &what,
            "create it from a backup of the source; the host stays paused until then",
        ));
    }
    // A Cluster that its user had paused stays paused, and so do its hosts: the provider holds them, and unpauses them with it.
    if before.by_provider && cluster_is_paused(host)? {
        return Ok(host.0.patch().set_annotation(PAUSED, PROVIDER).into());
    }
    Ok(host.0.patch().remove_annotation(PAUSED).into())
}

/// Returns objects that an operator needs and that the target lacks.
fn find_missing(host: Host<'_>) -> Result<Vec<String>> {
    let hardware = host.0.namespace().map(|namespace| HARDWARE.key_in(namespace, host.0.name()));
    let keys: Vec<Key> = host.credentials_key().into_iter().collect();
    let there = objects::get_all(Side::Target, &keys)?;
    let absent = keys.iter().zip(there).filter(|(_, object)| object.is_none());
    let mut missing: Vec<String> = absent.map(|(key, _)| key.to_string()).collect();
    // The inspection results may also be in the status, which the operator accepts as well.
    if let Some(key) =
        hardware.filter(|_| host.consuming_machine().is_some() && host.0.get("/status/hardware").is_none())
        && objects::get(Side::Target, &key)?.is_none()
        && host.state() == "provisioned"
    {
        missing.push(key.to_string());
    }
    Ok(missing)
}

fn cluster_is_paused(host: Host<'_>) -> Result<bool> {
    let Some(key) = host.labelled_cluster() else { return Ok(false) };
    let cluster = objects::get(Side::Target, &key)?;
    Ok(cluster.is_some_and(|cluster| {
        cluster.is_true("/spec/paused") || cluster.annotation(CLUSTER_PAUSED).is_some()
    }))
}

/// Returns a finding for a change that must not happen: the host is about to lose its disk, or already has.
fn find_forbidden_change(host: Host<'_>, before: &Memory) -> Option<Finding> {
    let now = Memory::from_host(host);
    let pause = format!("{PAUSED}=stop");
    let stop = |code, what: &str| {
        host.stop(code, what)
            .with_remedy("pause it at once, and find out what the target's operator took it for")
            .with_kubectl(Side::Target, host.kubectl_arguments(Side::Target, "annotate", Some(&pause)))
    };
    if now.state != before.state {
        let what = format!(
            "it was {} in the source and is {} in the target",
            state_text(&before.state),
            state_text(&now.state)
        );
        return Some(stop("state-changed", &what));
    }
    let touched = before.was_touched_until(&now);
    touched.then(|| stop("touched-again", "it was inspected or provisioned again in the target"))
}

fn state_text(state: &str) -> &str {
    if state.is_empty() { "without a status" } else { state }
}

/// Returns a finding for the missing evidence that an operator has taken over the host; none if there is no gap.
fn find_missing_takeover(host: Host<'_>, before: &Memory) -> Result<Option<Finding>> {
    let wait = |code, what: &str| {
        let look = host.kubectl_arguments(Side::Target, "describe", None);
        Some(
            wait_finding(host, code, what, "see what the target's operator says")
                .with_kubectl(Side::Target, look),
        )
    };
    if !host.error_type().is_empty() {
        return Ok(wait("host-error", &format!("it has a {}", host.error_type())));
    }
    if !matches!(host.operational_status(), "OK" | "detached" | "discovered") {
        return Ok(wait("not-ok", &format!("its operational status is `{}`", host.operational_status())));
    }
    if host.0.annotation(STATUS).is_some() {
        return Ok(wait("not-reconciled", "the target's operator has not taken its status annotation away"));
    }
    // Without an operator everything looks as it was restored. A running operator registers the host with the target's Secret and
    // records that; it leaves alone hosts that it does not manage, or that are detached.
    let registered = host.operational_status() == "OK" && host.credentials_key().is_some();
    if registered
        && !before.has_other_credentials_than(&Memory::from_host(host))
        && !has_same_secret_version(host, before)?
    {
        let what = "the target's operator has not registered it";
        return Ok(wait("not-registered", what));
    }
    Ok(None)
}

/// Returns true if the Secret happens to have the same version on both sides. Then the operator records nothing new.
fn has_same_secret_version(host: Host<'_>, before: &Memory) -> Result<bool> {
    let Some(key) = host.credentials_key() else { return Ok(false) };
    let answers = objects::read_all(&[Query::for_object(Side::Target, &key)]);
    let secret = answers.into_iter().next().transpose()?.and_then(|found| found.into_iter().next());
    Ok(secret
        .and_then(|secret| {
            secret.text("/metadata/resourceVersion").map(|v| before.has_credentials_version(v))
        })
        .unwrap_or_default())
}

fn wait_settlement(host: Host<'_>, code: &'static str, what: &str, remedy: &str) -> Settlement {
    Settlement::wait(wait_finding(host, code, what, remedy))
}

fn wait_finding(host: Host<'_>, code: &'static str, what: &str, remedy: &str) -> Finding {
    host.finding(Severity::Wait, code, what).with_remedy(remedy)
}
