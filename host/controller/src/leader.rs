//! Elects the controller that works: the one that holds a Lease.
//!
//! The Lease keeps two controllers from showing different things. Safety doesn't depend on it: each move has its own leases and
//! records, which hold against any other run.

use std::sync::Arc;
use std::time::Duration;

use pivot_core::{GroupKind, Key, Kind};
use pivot_places::{Change, Patch, Place, PlaceError, Subresource};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::home::{builtin_kind, pause_after};
use crate::metrics::{LEASE_UNUSABLE, Metrics};

const LEASE_NAME: &str = "pivot-host-controller";
/// Time that a Lease counts without renewal, by the clock of the controller that waits for it.
const LEASE_DURATION: Duration = Duration::from_secs(15);
const RENEW_INTERVAL: Duration = Duration::from_secs(4);
/// A controller that couldn't renew its Lease for this long stops leading, before another begins.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// The Lease of the controllers of one cluster.
pub(crate) struct Leadership {
    place: Arc<dyn Place>,
    kind: Arc<Kind>,
    key: Key,
    identity: String,
}

/// The Lease as it was last seen.
#[derive(Clone, PartialEq, Eq)]
struct ObservedLease {
    version: String,
    holder: String,
}

impl Leadership {
    pub(crate) fn new(place: Arc<dyn Place>, namespace: &str, identity: &str) -> Result<Self, PlaceError> {
        let kind = builtin_kind("coordination.k8s.io", "Lease")?;
        let key = Key::new(GroupKind::new("coordination.k8s.io", "Lease"), Some(namespace), LEASE_NAME);
        Ok(Self { place, kind, key, identity: identity.to_owned() })
    }

    /// Waits until this process leads. Returns the version of the Lease.
    pub(crate) async fn wait_until_leading(&self, metrics: &Metrics) -> String {
        let mut unchanged: Option<(ObservedLease, Instant)> = None;
        let mut stands_by = false;
        // Repetitions of one error are logged once.
        let mut logged = None;
        loop {
            let mut pause = LOOK_INTERVAL;
            match self.try_to_win(&mut unchanged).await {
                Ok(Some(version)) => {
                    metrics.remove_obstacle(LEASE_UNUSABLE);
                    return version;
                }
                Ok(None) => {
                    metrics.remove_obstacle(LEASE_UNUSABLE);
                    logged = None;
                    if !stands_by {
                        tracing::info!(
                            identity = self.identity,
                            "another controller leads, and this one stands by"
                        );
                        stands_by = true;
                    }
                }
                Err(error) => {
                    metrics.add_obstacle(LEASE_UNUSABLE, error.to_string());
                    pause = pause_after(&error, LOOK_INTERVAL);
                    if logged.as_ref() != Some(&error) {
                        tracing::warn!(%error, "{LEASE_UNUSABLE}");
                        logged = Some(error);
                    }
                }
            }
            sleep(pause).await;
        }
    }

    async fn try_to_win(
        &self,
        unchanged: &mut Option<(ObservedLease, Instant)>,
    ) -> Result<Option<String>, PlaceError> {
        let Some(seen) = self.read_lease().await? else {
            let mut body = json!({
                "apiVersion": self.kind.api_version(), "kind": "Lease",
                "metadata": {"name": LEASE_NAME, "namespace": self.key.namespace},
            });
            pivot_core::objects::merge::apply_patch(&mut body, &self.holder_patch());
            return match self.place.create(&self.kind, &body, Change::Real).await {
                Ok(lease) => Ok(Some(lease.meta.resource_version)),
                Err(PlaceError::AlreadyExists(_)) => Ok(None),
                Err(error) => Err(error),
            };
        };
        let since = match unchanged {
            Some((last, since)) if *last == seen => *since,
            _ => unchanged.insert((seen.clone(), Instant::now())).1,
        };
        let free =
            seen.holder.is_empty() || seen.holder == self.identity || since.elapsed() >= LEASE_DURATION;
        if free { self.write_lease(&self.holder_patch(), &seen.version).await } else { Ok(None) }
    }

    /// Renews the Lease until it is lost. Returns the reason.
    pub(crate) async fn renew_until_lost(&self, mut version: String) -> String {
        let mut renewed = Instant::now();
        loop {
            sleep(RENEW_INTERVAL).await;
            let attempt = Instant::now();
            match timeout(RENEW_INTERVAL, self.renew_lease(&version)).await {
                Ok(Ok(Some(new))) => (version, renewed) = (new, attempt),
                Ok(Ok(None)) => return "another controller has the Lease".to_owned(),
                Ok(Err(error)) => tracing::warn!(%error, "the Lease of the controller was not renewed"),
                Err(_) => tracing::warn!("the Lease of the controller was not renewed in time"),
            }
            if renewed.elapsed() >= RENEW_DEADLINE {
                return format!("the Lease was not renewed for {} seconds", RENEW_DEADLINE.as_secs());
            }
        }
    }

    async fn renew_lease(&self, version: &str) -> Result<Option<String>, PlaceError> {
        if let Some(version) = self.write_lease(&self.holder_patch(), version).await? {
            return Ok(Some(version));
        }
        // An earlier attempt may have succeeded without an answer.
        match self.read_lease().await? {
            Some(seen) if seen.holder == self.identity => {
                self.write_lease(&self.holder_patch(), &seen.version).await
            }
            _ => Ok(None),
        }
    }

    /// Lets the next controller begin at once.
    pub(crate) async fn release_lease(&self) {
        let free = json!({"spec": {"holderIdentity": ""}});
        let given = async {
            match self.read_lease().await? {
                Some(seen) if seen.holder == self.identity => {
                    self.write_lease(&free, &seen.version).await.map(drop)
                }
                _ => Ok(()),
            }
        };
        if let Ok(Err(error)) = timeout(RENEW_INTERVAL, given).await {
            tracing::debug!(%error, "the Lease of the controller was not given back");
        }
    }

    fn holder_patch(&self) -> Value {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        json!({"spec": {
            "holderIdentity": self.identity, "leaseDurationSeconds": LEASE_DURATION.as_secs(), "renewTime": now,
        }})
    }

    async fn read_lease(&self) -> Result<Option<ObservedLease>, PlaceError> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct View {
            spec: Spec,
        }
        #[derive(Deserialize, Default)]
        #[serde(default, rename_all = "camelCase")]
        struct Spec {
            holder_identity: Option<String>,
        }
        let lease = self.place.get(&self.kind, &self.key).await?;
        Ok(lease.map(|lease| {
            let View { spec } = lease.view().unwrap_or_default();
            ObservedLease {
                version: lease.meta.resource_version,
                holder: spec.holder_identity.unwrap_or_default(),
            }
        }))
    }

    /// Writes the Lease if it has this version; returns `None` if it has changed since.
    async fn write_lease(&self, patch: &Value, version: &str) -> Result<Option<String>, PlaceError> {
        let mut body = patch.clone();
        pivot_core::objects::merge::apply_patch(
            &mut body,
            &json!({"metadata": {"resourceVersion": version}}),
        );
        let patch = Patch { body, subresource: Subresource::None, change: Change::Real };
        match self.place.patch(&self.kind, &self.key, &patch).await {
            Ok(lease) => Ok(Some(lease.meta.resource_version)),
            Err(PlaceError::Conflict(_) | PlaceError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
