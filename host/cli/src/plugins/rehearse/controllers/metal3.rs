//! Metal3's controllers: the provider pauses hosts of machines with their Cluster, and the operator registers hosts.

use pivot_core::objects::merge;
use pivot_core::{GroupKind, Key};
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};

/// The annotation that pauses a host.
const PAUSE: &str = "baremetalhost.metal3.io/paused";
/// The provider's value of the annotation, and the only value that the provider removes.
const BY_PROVIDER: &str = "metal3.io/capm3";

/// Pauses, unpauses or registers a host.
pub(super) fn reconcile_host(place: &MemoryPlace, key: &Key, host: &Value, is_cluster_paused: bool) {
    if !key.group_kind.is("metal3.io", "BareMetalHost") {
        return;
    }
    let is_of_machine = host.pointer("/spec/consumerRef/kind").is_some_and(|kind| kind == "Metal3Machine");
    let pause = host.pointer("/metadata/annotations").and_then(|all| all.get(PAUSE)).and_then(Value::as_str);
    let patch = match pause {
        None if is_of_machine && is_cluster_paused => {
            json!({"metadata": {"annotations": {PAUSE: BY_PROVIDER}}})
        }
        Some(BY_PROVIDER) if is_of_machine && !is_cluster_paused => {
            json!({"metadata": {"annotations": {PAUSE: null}}})
        }
        Some(_) => return,
        None => match find_registration(place, key, host) {
            Some(patch) => patch,
            None => return,
        },
    };
    if let Err(error) = place.edit(key, |body| merge::apply_patch(body, &patch)) {
        tracing::debug!(%key, %error, "the simulated controller wrote nothing");
    }
}

/// Returns the patch with which the operator records the version of a host's credentials. A host without a status isn't inspected.
fn find_registration(place: &MemoryPlace, key: &Key, host: &Value) -> Option<Value> {
    let name = host.pointer("/spec/bmc/credentialsName")?.as_str()?;
    let secret = place.body(&Key::new(GroupKind::new("", "Secret"), key.namespace.as_deref(), name))?;
    let version = secret.pointer("/metadata/resourceVersion")?;
    let known = host.pointer("/status/goodCredentials/credentialsVersion")?;
    (known != version).then(|| json!({"status": {"goodCredentials": {"credentialsVersion": version}}}))
}
