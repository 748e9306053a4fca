//! A note of what a host was, kept on its copy in the target until it is released.
//!
//! By then the source's host is gone, and the status is what the target's operator wrote last. Only a note made before can show
//! whether that still matches the source.

use pivot_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Metal3Hosts;
use crate::host::{Host, Pause};

/// The name of the note.
const BEFORE: &str = "before";
/// The state of a host that nothing has been written to.
const FREE: &str = "available";

/// A host as it was. Notes of older versions of this plugin lack the fields that are omitted here when empty.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// Provisioning state of the host.
    pub(crate) state: String,
    /// When it was inspected and provisioned. The target registers hosts again, which is harmless.
    inspected: Value,
    provisioned: Value,
    /// The version of the credentials that worked: that of the source's Secret.
    credentials: Option<String>,
    /// The host's consumer, and the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    /// The provider had paused it, because of its Cluster.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) by_provider: bool,
}

impl Memory {
    /// Describes a host as it is now.
    pub(crate) fn from_host(host: Host<'_>) -> Self {
        let past = |operation: &str| {
            let times = ["start", "end"].map(|end| {
                let pointer = format!("/status/operationHistory/{operation}/{end}");
                host.0.get(&pointer).cloned().unwrap_or_default()
            });
            Value::from(times.to_vec())
        };
        // When the hook is called again for the copy with the note, the pause is already ours.
        let noted = || Self::read_from(host.0).ok().flatten().is_some_and(|memory| memory.by_provider);
        Self {
            state: host.state().to_owned(),
            inspected: past("inspect"),
            provisioned: past("provision"),
            credentials: good_credentials(host.0).map(str::to_owned),
            consumer: host.0.reference_at("/spec/consumerRef").map(|consumer| consumer.to_string()),
            image: host.wanted_image(),
            by_provider: host.pause() == Pause::Provider || (host.pause() == Pause::Ours && noted()),
        }
    }

    /// Reads the note on a copy; none if this plugin didn't copy it.
    pub(crate) fn read_from(copy: &Object) -> Result<Option<Self>> {
        let Some(text) = copy.stored_value::<Metal3Hosts>(BEFORE) else { return Ok(None) };
        let read = serde_json::from_str(text);
        read.map(Some).map_err(|error| Error::invalid(format!("{}: its note of before: {error}", copy.key())))
    }

    /// Adds the note to a patch.
    pub(crate) fn write_to(&self, patch: Patch) -> Result<Patch> {
        Ok(patch.store_value::<Metal3Hosts>(BEFORE, serde_json::to_string(self)?))
    }

    /// Returns true if the host was inspected or provisioned since, and no user intended it. A free host is provisioned only for
    /// an image that a user or controller set.
    pub(crate) fn was_touched_until(&self, now: &Self) -> bool {
        let free = self.state == FREE && self.image.is_none();
        self.inspected != now.inspected || (self.provisioned != now.provisioned && !free)
    }

    /// Returns true if the host was free and the target has put it to use since: a Machine that waited for a host takes one as
    /// soon as it is released. An operator that treats it as a new host registers or inspects it first.
    pub(crate) fn was_put_to_use_until(&self, now: &Self) -> bool {
        let given = |before: &Option<String>, now: &Option<String>| now.is_some() && before != now;
        self.state == FREE
            && (given(&self.consumer, &now.consumer) || given(&self.image, &now.image))
            && matches!(now.state.as_str(), "preparing" | "provisioning" | "provisioned" | "deprovisioning")
    }

    /// Returns true if an operator has since found other credentials to work: the Secret has another version in the target.
    pub(crate) fn has_other_credentials_than(&self, now: &Self) -> bool {
        now.credentials.is_some() && self.credentials != now.credentials
    }

    /// Returns true if the credentials that work have this version.
    pub(crate) fn has_credentials_version(&self, version: &str) -> bool {
        self.credentials.as_deref() == Some(version)
    }
}

fn good_credentials(host: &Object) -> Option<&str> {
    host.text("/status/goodCredentials/credentialsVersion").filter(|version| !version.is_empty())
}
