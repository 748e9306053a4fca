//! One Lease: its holder, and the move it is for.
//!
//! A Lease outlives its run. A run that stops partway leaves its claim, the move's id, so that no other move pauses what it
//! paused; a run that dies leaves its name, too.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::objects::names::LOCK as LABEL;
use pivot_core::{GroupKind, Key, Kind, Object, Side};
use pivot_places::{Change, Patch, PlaceError, Preconditions, Subresource};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::base::events::{Event, LeaseState};
use crate::base::outcome::failure::Failure;
use crate::base::requests::side::Handle;
use crate::base::state::cluster_copies::KindsOfSide;
use crate::base::state::record_namespace::RecordNamespace;

/// Time for which a lease is valid without renewal.
pub(crate) const DURATION: Duration = Duration::from_secs(15);
const CLAIM: &str = "pivot-host.io/claim";
const GROUP: &str = "coordination.k8s.io";

/// A Lease as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenLease {
    pub(crate) name: String,
    /// Empty if no run holds the lease.
    pub(crate) holder: String,
    /// The move that it was taken for.
    pub(crate) claim: Option<String>,
    /// When it was renewed last, by its holder's clock.
    pub(crate) renewed: Option<Timestamp>,
    pub(crate) resource_version: String,
}

/// The run that takes a Lease, and the move it is for.
#[derive(Clone, Debug)]
pub(crate) struct Taker {
    pub(crate) holder: String,
    pub(crate) claim: String,
}

/// The Leases of a side.
#[derive(Clone)]
pub(crate) struct Leases {
    pub(crate) handle: Handle,
    kind: Arc<Kind>,
    namespace: RecordNamespace,
}

impl Leases {
    /// The Leases in that namespace; `None` if the side serves none.
    pub(crate) fn new(handle: &Handle, kinds: &KindsOfSide, namespace: &str) -> Option<Self> {
        let kind = kinds.get(&GroupKind::new(GROUP, "Lease"))?.clone();
        let namespace = RecordNamespace::new(handle, kinds, namespace);
        Some(Self { handle: handle.clone(), kind, namespace })
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        Key::new(GroupKind::new(GROUP, "Lease"), Some(self.namespace.name()), name)
    }

    /// The event about a Lease.
    pub(crate) fn event_of(
        &self,
        name: &str,
        holder: &str,
        state: LeaseState,
        seconds_left: Option<u64>,
    ) -> Event {
        let (side, object) = (self.handle.side, self.key(name));
        Event::Lease { side, object, holder: holder.to_owned(), state, seconds_left, renewed: None }
    }

    /// The event about a Lease that another run holds, and that this run watches for so long.
    pub(crate) fn waiting_event(&self, seen: &SeenLease, seconds_left: u64) -> Event {
        Event::Lease {
            side: self.handle.side,
            object: self.key(&seen.name),
            holder: seen.holder.clone(),
            state: LeaseState::Waiting,
            seconds_left: Some(seconds_left),
            renewed: seen.renewed.map(|renewed| renewed.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        }
    }

    pub(crate) async fn read(&self, name: &str) -> Result<Option<SeenLease>, Failure> {
        Ok(self.handle.get(&self.kind, &self.key(name)).await?.as_ref().map(parse_lease))
    }

    /// When this program wrote a Lease last, by the server's clock. A server that doesn't say so gives none.
    pub(crate) async fn read_time(&self, name: &str) -> Result<Option<String>, Failure> {
        let lease = self.handle.get(&self.kind, &self.key(name)).await?;
        Ok(lease.and_then(|lease| lease.meta.last_own_write().map(str::to_owned)))
    }

    /// Returns all existing Leases of moves.
    pub(crate) async fn list(&self) -> Result<Vec<SeenLease>, Failure> {
        let listing = self.handle.list_labelled(&self.kind, self.namespace.name(), LABEL).await?;
        Ok(listing.objects.iter().map(parse_lease).collect())
    }

    /// Creates the Lease; `None` if it already exists.
    pub(crate) async fn create(&self, name: &str, taker: &Taker) -> Result<Option<String>, Failure> {
        let mut body = json!({
            "apiVersion": self.kind.api_version(), "kind": "Lease",
            "metadata": {"name": name, "namespace": self.namespace.name()},
        });
        pivot_core::objects::merge::apply_patch(&mut body, &taken_by(taker));
        match self.namespace.create_in(&self.kind, &body).await? {
            Ok(object) => Ok(Some(object.meta.resource_version)),
            Err(PlaceError::AlreadyExists(_)) => Ok(None),
            Err(PlaceError::Forbidden(why)) => Err(not_allowed(self.handle.side, &self.key(name), &why)),
            Err(error) => Err(self.handle.request_failure("taking the lease", Some(&self.key(name)), error)),
        }
    }

    /// Takes an existing Lease in the state that was seen; `None` if it has changed since.
    pub(crate) async fn take(&self, seen: &SeenLease, taker: &Taker) -> Result<Option<String>, Failure> {
        let patch = at_version(taken_by(taker), &seen.resource_version);
        match self.handle.patch(&self.kind, &self.key(&seen.name), &patch).await {
            Ok(taken) => Ok(Some(taken.meta.resource_version)),
            Err(PlaceError::Conflict(_) | PlaceError::NotFound(_)) => Ok(None),
            Err(error) => {
                Err(self.handle.request_failure("taking the lease", Some(&self.key(&seen.name)), error))
            }
        }
    }

    /// One renewal, without the retries of [`Handle`]: an attempt that hangs must not outlive the lease. A conflict means that
    /// another run has it.
    pub(crate) async fn renew(&self, name: &str, version: &str, taker: &Taker) -> Result<String, PlaceError> {
        let key = self.key(name);
        let mut version = version.to_owned();
        loop {
            // A run that was suspended for too long doesn't ask whether another one took the lease meanwhile.
            self.handle.fence(Change::Real)?;
            let body = at_version(taken_by(taker), &version);
            let patch = Patch { body, subresource: Subresource::None, change: Change::Real };
            match self.handle.place.patch(&self.kind, &key, &patch).await {
                Ok(object) => return Ok(object.meta.resource_version),
                Err(error @ (PlaceError::Conflict(_) | PlaceError::NotFound(_))) => {
                    // An earlier attempt may have succeeded without an answer; it may be too long ago to count as a renewal.
                    let now = self.handle.place.get(&self.kind, &key).await?.as_ref().map(parse_lease);
                    match now.filter(|now| now.holder == taker.holder && now.resource_version != version) {
                        Some(now) => version = now.resource_version,
                        None => return Err(PlaceError::Conflict(error.to_string())),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Releases a Lease that this run holds: keeps it if a move claims it, removes it otherwise. Only our own: after its
    /// lease is broken, it belongs to another run. A failure here costs the next run a wait of seconds.
    pub(crate) async fn give_back(&self, name: &str, version: &str, holder: &str, claim: Option<&str>) {
        let mut version = version.to_owned();
        for _ in 0..2 {
            let result = match claim {
                Some(_) => self.clear_holder(name, &version, claim).await,
                None => match self.remove(name, &version).await {
                    // Users without permission to delete it can still mark it as free.
                    Err(PlaceError::Forbidden(_)) => self.clear_holder(name, &version, None).await,
                    other => other,
                },
            };
            match result {
                Ok(()) | Err(PlaceError::NotFound(_)) => return,
                Err(error) => tracing::debug!(%error, name, "the lease was not released"),
            }
            match self.read(name).await {
                Ok(Some(now)) if now.holder == holder => version = now.resource_version,
                _ => return,
            }
        }
    }

    /// Takes the Lease from a run that counts as dead. If that run wakes up, it must notice. Returns false if the lease has changed
    /// since it was seen.
    pub(crate) async fn take_from_dead_run(&self, seen: &SeenLease) -> Result<bool, Failure> {
        match self.clear_holder(&seen.name, &seen.resource_version, seen.claim.as_deref()).await {
            Ok(()) => Ok(true),
            Err(PlaceError::Conflict(_) | PlaceError::NotFound(_)) => Ok(false),
            Err(error) => {
                Err(self.handle.request_failure("taking the lease", Some(&self.key(&seen.name)), error))
            }
        }
    }

    async fn remove(&self, name: &str, version: &str) -> Result<(), PlaceError> {
        let must = Preconditions { uid: None, resource_version: Some(version.to_owned()) };
        self.handle.delete(&self.kind, &self.key(name), must).await
    }

    async fn clear_holder(&self, name: &str, version: &str, claim: Option<&str>) -> Result<(), PlaceError> {
        let free = json!({"metadata": {"annotations": {CLAIM: claim}}, "spec": {"holderIdentity": ""}});
        let free = at_version(free, version);
        self.handle.patch(&self.kind, &self.key(name), &free).await.map(drop)
    }
}

fn taken_by(taker: &Taker) -> Value {
    let text = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    json!({
        "metadata": {"labels": {LABEL: ""}, "annotations": {CLAIM: taker.claim}},
        "spec": {
            "holderIdentity": taker.holder, "leaseDurationSeconds": DURATION.as_secs(), "renewTime": text,
        },
    })
}

/// A patch that applies only to the version that was seen. Not made by applying one patch to another: that would drop nulls.
fn at_version(mut patch: Value, version: &str) -> Value {
    if let Some(metadata) = patch.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), version.into());
    }
    patch
}

fn parse_lease(object: &Object) -> SeenLease {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct View {
        spec: Spec,
    }
    #[derive(Deserialize, Default)]
    #[serde(default, rename_all = "camelCase")]
    struct Spec {
        holder_identity: Option<String>,
        renew_time: Option<String>,
    }
    let view: View = object.view().unwrap_or_default();
    SeenLease {
        name: object.meta.name.clone(),
        holder: view.spec.holder_identity.unwrap_or_default(),
        renewed: view.spec.renew_time.and_then(|time| time.parse().ok()),
        claim: object.meta.annotations.get(CLAIM).cloned(),
        resource_version: object.meta.resource_version.clone(),
    }
}

/// The refusal for a user without permission to write Leases in the record namespace.
pub(crate) fn not_allowed(side: Side, key: &Key, why: &str) -> Failure {
    Failure::from_refusal(Refusal {
        code: "rights-missing",
        side,
        object: Some(key.clone()),
        others: Vec::new(),
        message: format!(
            "a move keeps its Lease and its record in namespace {}, and the user has no permission to write them: {why}",
            key.namespace.as_deref().unwrap_or_default()
        ),
        remedies: vec![
            Remedy::GrantRights { side },
            Remedy::NameRecordNamespace,
            Remedy::NameOtherUser { side },
        ],
    })
}
