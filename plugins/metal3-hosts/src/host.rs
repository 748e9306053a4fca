//! A BareMetalHost, with named accessors for what the rules need.

use pivot_sdk::{Finding, Key, Object, Severity, Side, context};

use crate::names::{CLUSTER, CLUSTER_NAME, DETACHMENT, MACHINE, OURS, PAUSED, PROVIDER, SECRET};

/// A host.
#[derive(Clone, Copy)]
pub(crate) struct Host<'a>(pub(crate) &'a Object);

/// The owner of a host's pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The host isn't paused.
    None,
    /// This plugin.
    Ours,
    /// The Metal3 provider, because the Cluster is paused.
    Provider,
    /// A person, or another program: only they may remove it.
    Other,
}

/// A Secret that a host names.
pub(crate) struct SecretReference {
    /// The field that names it.
    pub(crate) field: &'static str,
    /// The Secret's key.
    pub(crate) key: Key,
}

/// Fields that name a Secret in the host's own namespace.
const BY_NAME: [(&str, &str); 3] = [
    ("spec.bmc.credentialsName", "/spec/bmc/credentialsName"),
    ("spec.preprovisioningNetworkDataName", "/spec/preprovisioningNetworkDataName"),
    ("spec.image.ociAuthSecretName", "/spec/image/ociAuthSecretName"),
];
/// Fields that refer to a Secret, perhaps in another namespace.
const BY_REFERENCE: [(&str, &str); 3] = [
    ("spec.userData", "/spec/userData"),
    ("spec.metaData", "/spec/metaData"),
    ("spec.networkData", "/spec/networkData"),
];

/// Without the pause of a move, the source's operator would work on a host that may have a copy.
const LEAVE_PAUSE: &str = "leave the pause to the move or the Cluster that it belongs to: roll the move back, or wait until \
                           the Cluster runs; let the operator finish, and move again";

impl<'a> Host<'a> {
    /// Returns the provisioning state: `provisioned`, `available`, …; empty if the operator has not reconciled the host yet.
    pub(crate) fn state(self) -> &'a str {
        provisioning_state(self.0)
    }

    /// Returns the operational status: `OK`, `error`, …
    pub(crate) fn operational_status(self) -> &'a str {
        self.0.text("/status/operationalStatus").unwrap_or_default()
    }

    /// Returns the type of the host's error; empty if the host has none.
    pub(crate) fn error_type(self) -> &'a str {
        self.0.text("/status/errorType").unwrap_or_default()
    }

    /// Returns the Metal3Machine that runs on the host. Consumers of other kinds don't belong to the provider.
    pub(crate) fn consuming_machine(self) -> Option<Key> {
        self.0.reference_at("/spec/consumerRef").filter(|key| key.kind == MACHINE)
    }

    /// Returns the wanted content of the disk: an image, a custom deployment, or both.
    pub(crate) fn wanted_image(self) -> Option<String> {
        let wanted = ["/spec/customDeploy/method", "/spec/image/url"].map(|pointer| self.0.text(pointer));
        let wanted: Vec<_> = wanted.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        (!wanted.is_empty()).then(|| wanted.join(" "))
    }

    /// Returns the Cluster that the host's label names.
    pub(crate) fn labelled_cluster(self) -> Option<Key> {
        let name = self.0.label(CLUSTER_NAME).filter(|name| !name.is_empty())?;
        Some(CLUSTER.key_in(self.0.namespace()?, name))
    }

    /// Returns the owner of the host's pause.
    ///
    /// The provider removes its pause only from hosts of its machines; on a free host the same value would stay for ever, so
    /// there it counts as a user's.
    pub(crate) fn pause(self) -> Pause {
        match self.0.annotation(PAUSED) {
            None => Pause::None,
            Some(OURS) => Pause::Ours,
            Some(PROVIDER) if self.consuming_machine().is_some() => Pause::Provider,
            Some(_) => Pause::Other,
        }
    }

    /// Returns true if the host is detached and stays so: an operator does nothing to it, on either side.
    pub(crate) fn is_detached(self) -> bool {
        self.operational_status() == "detached" && self.is_asked_to_detach()
    }

    /// Returns true if a user wants the host detached.
    pub(crate) fn is_asked_to_detach(self) -> bool {
        self.0.annotation(DETACHMENT).is_some()
    }

    /// Returns the driver with which the operator talks to its management controller, derived from the address; none if it has no
    /// address. The operator treats an address without a scheme as IPMI; `+http` and `+https` say how the same driver connects.
    pub(crate) fn driver_name(self) -> Option<String> {
        let address = self.0.text("/spec/bmc/address").filter(|address| !address.is_empty())?;
        let scheme = address.split_once("://").map_or("ipmi", |(scheme, _)| scheme);
        Some(scheme.split('+').next().unwrap_or(scheme).to_ascii_lowercase())
    }

    /// Returns the Secret with the credentials of the management controller.
    pub(crate) fn credentials_key(self) -> Option<Key> {
        self.0.local_reference_at(&SECRET, "/spec/bmc/credentialsName")
    }

    /// Returns all Secrets that the host names.
    pub(crate) fn referenced_secrets(self) -> impl Iterator<Item = SecretReference> {
        let by_name = BY_NAME.into_iter().filter_map(move |(field, pointer)| {
            Some(SecretReference { field, key: self.0.local_reference_at(&SECRET, pointer)? })
        });
        let by_reference = BY_REFERENCE.into_iter().filter_map(move |(field, pointer)| {
            let text = |part: &str| self.0.text(&format!("{pointer}/{part}")).filter(|text| !text.is_empty());
            let namespace = text("namespace").or(self.0.namespace())?;
            Some(SecretReference { field, key: SECRET.key_in(namespace, text("name")?) })
        });
        by_name.chain(by_reference)
    }

    /// Returns a wait for work that ends by itself. If the host is paused or detached, the operator can't end it, so this is a
    /// stop.
    pub(crate) fn wait_or_stop(self, code: &'static str, what: &str, remedy: &str) -> Finding {
        match (self.pause(), self.is_detached()) {
            (Pause::None, false) => self.finding(Severity::Wait, code, what).with_remedy(remedy),
            (Pause::None, true) => self
                .stop(code, &format!("{what}, and the host is detached"))
                .with_remedy("attach it again and let the operator finish, or remove the request"),
            (pause, _) => {
                let remedy = match pause {
                    Pause::Ours | Pause::Provider => LEAVE_PAUSE,
                    _ => "take the pause away, let the operator finish, and move again",
                };
                self.stop(code, &format!("{what}, and the host is paused")).with_remedy(remedy)
            }
        }
    }

    /// Returns a finding about the host.
    pub(crate) fn finding(self, severity: Severity, code: &'static str, what: &str) -> Finding {
        Finding::new(severity, code, format!("{}: {what}", self.display_name())).on_object(self.0)
    }

    /// Returns a finding that stops the move.
    pub(crate) fn stop(self, code: &'static str, what: &str) -> Finding {
        self.finding(Severity::Stop, code, what)
    }

    /// Returns a warning about the host.
    pub(crate) fn warn(self, code: &'static str, what: &str) -> Finding {
        self.finding(Severity::Warn, code, what)
    }

    /// Returns `host metal3/rack1-u01`. Messages are printed without the object that they are about.
    pub(crate) fn display_name(self) -> String {
        format!("host {}/{}", self.0.namespace().unwrap_or_default(), self.0.name())
    }

    /// Returns the arguments of a kubectl command about the host, for a side.
    pub(crate) fn kubectl_arguments(self, side: Side, verb: &str, change: Option<&str>) -> Vec<String> {
        let namespace = context::namespace_on(side, self.0.namespace().unwrap_or_default());
        let words = [verb, "-n", &namespace, "baremetalhost", self.0.name()];
        words.into_iter().chain(change).map(str::to_owned).collect()
    }
}

/// Returns a host's provisioning state. `ready` is the old name of `available`.
pub(crate) fn provisioning_state(host: &Object) -> &str {
    match host.text("/status/provisioning/state").unwrap_or_default() {
        "ready" => "available",
        state => state,
    }
}
