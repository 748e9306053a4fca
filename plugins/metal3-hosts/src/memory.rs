//! What is remembered of a host until it is released, on its copy in the target.
//!
//! By then the source's host is gone, and what stands in the status is what the target's operator wrote last. Whether
//! that is what was there before, only a note of before can tell.

use pivot_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Metal3Hosts;
use crate::host::{Host, Pause};

/// The name of the note.
const BEFORE: &str = "before";
/// The state of a host that nobody has written anything to.
const FREE: &str = "available";

/// What a host was. A note that an older version of this plugin wrote lacks what is left out here where there is none.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// Where it stood.
    pub(crate) state: String,
    /// When it was inspected and provisioned. Registering again is harmless, and is what the target does.
    inspected: Value,
    provisioned: Value,
    /// The version of the credentials that were good: the Secret's in the source.
    credentials: Option<String>,
    /// Who used it, and with which image.
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    /// The provider had paused it, because of its Cluster.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) by_provider: bool,
}

impl Memory {
    /// What a host is.
    pub(crate) fn of(host: Host<'_>) -> Self {
        let past = |operation: &str| {
            let time = |end: &str| {
                let pointer = format!("/status/operationHistory/{operation}/{end}");
                host.0.get(&pointer).cloned().unwrap_or_default()
            };
            Value::Array(vec![time("start"), time("end")])
        };
        // Asked again about the copy that has the note, the pause is ours already.
        let noted = || Self::on(host.0).ok().flatten().is_some_and(|memory| memory.by_provider);
        Self {
            state: host.state().to_owned(),
            inspected: past("inspect"),
            provisioned: past("provision"),
            credentials: good_credentials(host.0).map(str::to_owned),
            consumer: host.0.reference_at("/spec/consumerRef").map(|consumer| consumer.to_string()),
            image: host.image(),
            by_provider: host.pause() == Pause::Provider || (host.pause() == Pause::Ours && noted()),
        }
    }

    /// What was noted on a copy; none where it was not copied by this plugin.
    pub(crate) fn on(copy: &Object) -> Result<Option<Self>> {
        let Some(text) = copy.recall::<Metal3Hosts>(BEFORE) else { return Ok(None) };
        let read = serde_json::from_str(text);
        read.map(Some).map_err(|error| Error::invalid(format!("{}: its note of before: {error}", copy.key())))
    }

    /// Notes it.
    pub(crate) fn note(&self, patch: Patch) -> Result<Patch> {
        Ok(patch.remember::<Metal3Hosts>(BEFORE, serde_json::to_string(self)?))
    }

    /// Whether it was inspected or provisioned since, and nobody can have meant it. What was free is provisioned only for
    /// an image that somebody gave it.
    pub(crate) fn touched_since(&self, now: &Self) -> bool {
        let free = self.state == FREE && self.image.is_none();
        self.inspected != now.inspected || (self.provisioned != now.provisioned && !free)
    }

    /// Whether it was free, and the target has put it to use since: a Machine that waited for a host takes one as soon
    /// as it is released. An operator that takes it for a new host registers or inspects it first.
    pub(crate) fn put_to_use(&self, now: &Self) -> bool {
        let given = |before: &Option<String>, now: &Option<String>| now.is_some() && before != now;
        self.state == FREE
            && (given(&self.consumer, &now.consumer) || given(&self.image, &now.image))
            && matches!(now.state.as_str(), "preparing" | "provisioning" | "provisioned" | "deprovisioning")
    }

    /// Whether an operator has found other credentials good since: the Secret's version in the target is another.
    pub(crate) fn taken_over(&self, now: &Self) -> bool {
        now.credentials.is_some() && self.credentials != now.credentials
    }

    /// Whether those credentials are good that have this version.
    pub(crate) fn good(&self, version: &str) -> bool {
        self.credentials.as_deref() == Some(version)
    }
}

fn good_credentials(host: &Object) -> Option<&str> {
    host.text("/status/goodCredentials/credentialsVersion").filter(|version| !version.is_empty())
}
