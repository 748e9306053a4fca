//! One run per source: a Lease of 15 seconds, renewed while the run lives.
//!
//! Whether another's lease has expired is judged by watching it stand still for its duration on our own clock, never
//! by comparing clocks of two machines. A run that cannot renew in time stops itself: before the lease can be taken
//! over, not one more of its writes may be on the way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use pivot_core::{GroupKind, Key, Kind, Object, Side};
use pivot_places::{Change, Patch, PlaceError, Preconditions, Subresource};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::events::{Event, Watcher};
use crate::outcome::failure::Failure;
use crate::requests::halt::{FENCE, Halt, Halter};
use crate::requests::side::Handle;
use pivot_core::refusal::Refusal;

/// How long a lease is good for without renewal.
const DURATION: Duration = Duration::from_secs(15);
const RENEW: Duration = Duration::from_secs(4);
/// How soon a failed renewal is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// The code of a refusal because of another run.
pub(crate) const RUN_ACTIVE: &str = "run-active";
const NAME: &str = "pivot-host";
const TAKEN: &str = "another run took it over";

/// A lease that is held.
pub(crate) struct Lease {
    handle: Handle,
    kind: Arc<Kind>,
    key: Key,
    holder: String,
    /// As it was last written.
    version: Arc<Mutex<String>>,
    renewal: JoinHandle<()>,
    halter: Halter,
}

/// Who holds the lease, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) holder: String,
    resource_version: String,
}

/// Reads the lease; none where nobody holds it.
pub(crate) async fn held(
    handle: &Handle,
    kind: &Arc<Kind>,
    namespace: &str,
) -> Result<Option<Held>, Failure> {
    let object = handle.get(kind, &key(namespace)).await?;
    Ok(object.and_then(|object| {
        let holder = holder_of(&object).filter(|holder| !holder.is_empty())?;
        Some(Held { holder, resource_version: object.meta.resource_version })
    }))
}

impl Lease {
    /// Takes the lease, waiting for another's to expire.
    pub(crate) async fn take(
        handle: &Handle,
        kind: &Arc<Kind>,
        namespace: &str,
        take_over: bool,
        halter: &Halter,
        watcher: &dyn Watcher,
    ) -> Result<Self, Failure> {
        let holder = format!("pivot-host/{}", uuid::Uuid::new_v4());
        let key = key(namespace);
        let resource_version = match create(handle, kind, &key, &holder).await? {
            Some(resource_version) => resource_version,
            None => wait_for_expiry(handle, kind, &key, &holder, take_over, halter, watcher).await?,
        };
        halter.renewed(Some(now()));
        let version = Arc::new(Mutex::new(resource_version));
        let renewal = tokio::spawn(renew(
            handle.clone(),
            kind.clone(),
            key.clone(),
            holder.clone(),
            version.clone(),
            halter.clone(),
        ));
        let halter = halter.clone();
        Ok(Self { handle: handle.clone(), kind: kind.clone(), key, holder, version, renewal, halter })
    }

    /// Gives the lease back.
    pub(crate) async fn give_back(self) {
        self.renewal.abort();
        self.halter.renewed(None);
        let version = locked(&self.version).clone();
        let preconditions = Preconditions { uid: None, resource_version: Some(version) };
        if self.handle.delete(&self.kind, &self.key, preconditions).await.is_ok() {
            return;
        }
        // Only our own: after a take-over it is another's. A failure here costs the next run a wait of seconds.
        if let Ok(Some(object)) = self.handle.get(&self.kind, &self.key).await
            && holder_of(&object).as_deref() == Some(self.holder.as_str())
        {
            let preconditions = Preconditions {
                uid: Some(object.meta.uid.clone()),
                resource_version: Some(object.meta.resource_version.clone()),
            };
            if self.handle.delete(&self.kind, &self.key, preconditions).await.is_ok() {
                return;
            }
            // Who may not delete it can still say that it is free.
            let free = json!({
                "metadata": {"resourceVersion": object.meta.resource_version}, "spec": {"holderIdentity": ""},
            });
            if let Err(error) = self.handle.patch(&self.kind, &self.key, &free).await {
                tracing::debug!(%error, "the lease is left to expire");
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

fn locked(version: &Mutex<String>) -> MutexGuard<'_, String> {
    version.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This moment, by both clocks.
fn now() -> (std::time::Instant, std::time::SystemTime) {
    (std::time::Instant::now(), std::time::SystemTime::now())
}

fn key(namespace: &str) -> Key {
    Key::new(GroupKind::new("coordination.k8s.io", "Lease"), Some(namespace), NAME)
}

fn spec(holder: &str) -> Value {
    let now = Timestamp::now();
    let text = now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    json!({"holderIdentity": holder, "leaseDurationSeconds": DURATION.as_secs(), "renewTime": text})
}

async fn create(
    handle: &Handle,
    kind: &Arc<Kind>,
    key: &Key,
    holder: &str,
) -> Result<Option<String>, Failure> {
    let body = json!({
        "apiVersion": kind.api_version(), "kind": "Lease",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": spec(holder),
    });
    match handle.create(kind, &body, Change::Real).await {
        Ok(object) => Ok(Some(object.meta.resource_version)),
        Err(PlaceError::AlreadyExists(_)) => Ok(None),
        Err(PlaceError::Forbidden(why)) => Err(not_allowed(handle.side, key, &why)),
        Err(error) => Err(handle.failed("taking the lease", Some(key), error)),
    }
}

/// The refusal for a user who may not write Leases where the records are kept.
pub(crate) fn not_allowed(side: Side, key: &Key, why: &str) -> Failure {
    Failure::refused(Refusal {
        code: "rights-missing",
        side,
        object: Some(key.clone()),
        message: format!("a move keeps a Lease and a record, and the user may not: {why}"),
        remedy:
            "grant it, or name a namespace where the user may, the same in each command: --record-namespace"
                .into(),
    })
}

fn holder_of(object: &Object) -> Option<String> {
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
    object.view::<View>().ok()?.spec.holder_identity
}

async fn wait_for_expiry(
    handle: &Handle,
    kind: &Arc<Kind>,
    key: &Key,
    holder: &str,
    take_over: bool,
    halter: &Halter,
    watcher: &dyn Watcher,
) -> Result<String, Failure> {
    let mut seen: Option<Object> = None;
    let mut still_since = Instant::now();
    loop {
        let Some(object) = handle.get(kind, key).await? else {
            if let Some(resource_version) = create(handle, kind, key, holder).await? {
                return Ok(resource_version);
            }
            continue;
        };
        let other = holder_of(&object).unwrap_or_default();
        // A first attempt whose answer got lost on the way may have taken it.
        if other == holder {
            return Ok(object.meta.resource_version);
        }
        let moved = seen.as_ref().is_some_and(|s| s.meta.resource_version != object.meta.resource_version);
        if moved {
            return Err(Failure::refused(Refusal {
                code: RUN_ACTIVE,
                side: Side::Source,
                object: Some(key.clone()),
                message: format!("another run is at work on this source ({other})"),
                remedy: "wait for it to end; `pivot-host status` shows how far it is".into(),
            }));
        }
        let stood_still = still_since.elapsed();
        if other.is_empty() || take_over || (seen.is_some() && stood_still >= DURATION) {
            let patch =
                json!({"metadata": {"resourceVersion": object.meta.resource_version}, "spec": spec(holder)});
            match handle.patch(kind, key, &patch).await {
                Ok(taken) => return Ok(taken.meta.resource_version),
                Err(PlaceError::Conflict(_) | PlaceError::NotFound(_)) => {
                    still_since = Instant::now();
                    seen = None;
                    continue;
                }
                Err(error) => return Err(handle.failed("taking the lease", Some(key), error)),
            }
        }
        if seen.is_none() {
            // From now: how long the answer took says nothing of how long it stood still.
            still_since = Instant::now();
            seen = Some(object);
        }
        let left = DURATION.saturating_sub(stood_still).as_secs();
        let what =
            [format!("the lease of another run ({other}), which may be dead; --take-over skips this wait")];
        watcher.event(Event::Waiting { what: &what, left });
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
            halt = halter.wait() => return Err(Failure::Halted(halt)),
        }
    }
}

async fn renew(
    handle: Handle,
    kind: Arc<Kind>,
    key: Key,
    holder: String,
    version: Arc<Mutex<String>>,
    halter: Halter,
) {
    let mut renewed = Instant::now();
    let mut pause = RENEW;
    loop {
        tokio::time::sleep(pause).await;
        pause = RENEW;
        let (attempt, at) = (Instant::now(), now());
        let left = FENCE.saturating_sub(renewed.elapsed());
        let resource_version = locked(&version).clone();
        let why =
            match tokio::time::timeout(left, renew_once(&handle, &kind, &key, &holder, &resource_version))
                .await
            {
                Ok(Ok(written)) => {
                    *locked(&version) = written;
                    renewed = attempt;
                    halter.renewed(Some(at));
                    continue;
                }
                Ok(Err(PlaceError::Conflict(_))) => TAKEN.to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "the API server does not answer".to_owned(),
            };
        if renewed.elapsed() >= FENCE || why == TAKEN {
            halter.halt(Halt::LeaseLost(why));
            return;
        }
        pause = RETRY;
    }
}

/// One renewal, past the retries of [`Handle`]: an attempt that hangs must not outlive the lease. A conflict means that
/// someone else has it.
async fn renew_once(
    handle: &Handle,
    kind: &Arc<Kind>,
    key: &Key,
    holder: &str,
    resource_version: &str,
) -> Result<String, PlaceError> {
    let body = json!({"metadata": {"resourceVersion": resource_version}, "spec": spec(holder)});
    let patch = Patch { body: &body, subresource: Subresource::None, change: Change::Real };
    match handle.place.patch(kind, key, patch).await {
        Ok(object) => Ok(object.meta.resource_version),
        Err(PlaceError::Conflict(_) | PlaceError::NotFound(_)) => match handle.place.get(kind, key).await? {
            // An earlier attempt got through without an answer.
            Some(object) if holder_of(&object).as_deref() == Some(holder) => Ok(object.meta.resource_version),
            _ => Err(PlaceError::Conflict(TAKEN.into())),
        },
        Err(error) => Err(error),
    }
}
