//! The cluster that Pivots live in: reads Pivots, and writes their status.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pivot_core::messages::safe_text::to_line;
use pivot_core::{GroupKind, Key, Kind, KindLabels, Object};
use pivot_places::{Change, Patch, Place, PlaceError, Preconditions, Subresource, builtin_kinds};
use serde_json::{Value, json};

use crate::resource::{self, FINALIZER, Pivot};
use crate::status::{PivotStatus, current_time};

/// Most tries of a request that gets no answer, and the pause between them, unless the server asks for a longer pause.
const MAX_TRIES: usize = 5;
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause that a server can ask for.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// The component that Events name.
const EVENT_SOURCE: &str = "pivot-host";
/// Annotations of the Secrets that the controller keeps for targets: the Pivot, and the Cluster.
const OF_PIVOT: &str = "pivot-host.io/pivot";
const LEADS_TO: &str = "pivot-host.io/leads-to";

/// The cluster that Pivots live in.
pub(crate) struct Home {
    pub(crate) place: Arc<dyn Place>,
    pub(crate) pivots: Arc<Kind>,
    secrets: Arc<Kind>,
    events: Arc<Kind>,
    /// The controller's own namespace.
    namespace: String,
}

/// The kind of Events, which no move deals with.
fn kind_of_events() -> Kind {
    Kind {
        group_kind: GroupKind::new("", "Event"),
        version: "v1".to_owned(),
        plural: "events".to_owned(),
        namespaced: true,
        status_subresource: false,
        served: vec!["v1".to_owned()],
        labels: KindLabels::default(),
    }
}

/// Returns a built-in kind that moves deal with.
pub(crate) fn builtin_kind(group: &str, kind: &str) -> Result<Arc<Kind>, PlaceError> {
    let found = builtin_kinds().into_iter().find(|one| one.group_kind.is(group, kind));
    found.map(Arc::new).ok_or_else(|| PlaceError::NotFound(format!("the kind {kind}")))
}

impl Home {
    pub(crate) fn new(place: Arc<dyn Place>, namespace: &str) -> Result<Self, PlaceError> {
        let (pivots, events) = (resource::pivot_kind(), Arc::new(kind_of_events()));
        let secrets = builtin_kind("", "Secret")?;
        Ok(Self { place, pivots, secrets, events, namespace: namespace.to_owned() })
    }

    /// Returns the Pivot of that name, if there is one.
    pub(crate) async fn find_pivot(
        &self,
        namespace: Option<String>,
        name: String,
    ) -> Result<Option<Pivot>, PlaceError> {
        let key = Key::new(self.pivots.group_kind.clone(), namespace.as_deref(), &name);
        let found = retry_request(|| self.place.get(&self.pivots, &key)).await?;
        Ok(found.as_ref().map(Pivot::from_object))
    }

    /// Reads a Pivot again; `None` if it is gone, or if another one has its name.
    pub(crate) async fn reload_pivot(&self, pivot: &Pivot) -> Result<Option<Pivot>, PlaceError> {
        let now = retry_request(|| self.place.get(&self.pivots, &pivot.key)).await?;
        Ok(now.as_ref().map(Pivot::from_object).filter(|now| now.meta.uid == pivot.meta.uid))
    }

    /// Writes the status of a Pivot. If the Pivot is gone, this does nothing.
    pub(crate) async fn write_status(&self, pivot: &Pivot, status: &PivotStatus) -> Result<(), PlaceError> {
        // A merge patch: what is null is removed.
        let patch = Patch {
            body: json!({"metadata": {"uid": pivot.meta.uid}, "status": status}),
            subresource: Subresource::Status,
            change: Change::Real,
        };
        match retry_request(|| self.place.patch(&self.pivots, &pivot.key, &patch)).await {
            Ok(_) | Err(PlaceError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Adds the finalizer, so that the Pivot stays until its move has ended. Returns false if the Pivot was deleted meanwhile;
    /// then no move may begin for it.
    pub(crate) async fn add_finalizer(&self, pivot: &Pivot) -> Result<bool, PlaceError> {
        self.change_finalizers(pivot, |names| {
            let there = names.iter().any(|name| name == FINALIZER);
            (!there).then(|| names.iter().cloned().chain([FINALIZER.to_owned()]).collect())
        })
        .await?;
        Ok(self.reload_pivot(pivot).await?.is_some_and(|now| now.has_finalizer()))
    }

    /// Removes the finalizer of a deleted Pivot.
    pub(crate) async fn remove_finalizer(&self, pivot: &Pivot) -> Result<(), PlaceError> {
        self.change_finalizers(pivot, |names| {
            let there = names.iter().any(|name| name == FINALIZER);
            there.then(|| names.iter().filter(|name| *name != FINALIZER).cloned().collect())
        })
        .await
    }

    /// Replaces the finalizers with those that `wanted` returns, if any. They are one list, so the write requires the version
    /// that was read. An object that is being deleted accepts no new finalizers.
    async fn change_finalizers(
        &self,
        pivot: &Pivot,
        wanted: impl Fn(&[String]) -> Option<Vec<String>>,
    ) -> Result<(), PlaceError> {
        for _ in 0..MAX_TRIES {
            let Some(now) = retry_request(|| self.place.get(&self.pivots, &pivot.key)).await? else {
                return Ok(());
            };
            let Some(wanted) = wanted(&now.meta.finalizers).filter(|_| now.meta.uid == pivot.meta.uid) else {
                return Ok(());
            };
            let version = &now.meta.resource_version;
            let body = json!({"metadata": {"resourceVersion": version, "finalizers": wanted}});
            let patch = Patch { body, subresource: Subresource::None, change: Change::Real };
            match retry_request(|| self.place.patch(&self.pivots, &pivot.key, &patch)).await {
                Err(PlaceError::Conflict(_)) => {}
                Ok(_) | Err(PlaceError::NotFound(_)) => return Ok(()),
                Err(_)
                    if now.meta.deletion_timestamp.is_some() && wanted.len() > now.meta.finalizers.len() =>
                {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Err(PlaceError::Conflict(format!("{}: others change it all the time", pivot.key)))
    }

    /// Writes an Event about a Pivot, for people. If that fails, the work goes on.
    pub(crate) async fn write_event(&self, pivot: &Pivot, normal: bool, reason: &str, message: &str) {
        let (namespace, name) = (pivot.namespace(), &pivot.key.name);
        let time = current_time();
        // Unique: two of one Pivot in the same microsecond would be one too many anyway.
        let stamp = jiff::Timestamp::now().as_microsecond();
        let body = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": format!("{name}.{stamp:x}"), "namespace": namespace},
            "involvedObject": {
                "apiVersion": self.pivots.api_version(), "kind": "Pivot", "namespace": namespace, "name": name,
                "uid": pivot.meta.uid,
            },
            "type": if normal { "Normal" } else { "Warning" },
            "reason": reason, "message": to_line(message, 1_000),
            "source": {"component": EVENT_SOURCE}, "firstTimestamp": time, "lastTimestamp": time, "count": 1,
        });
        if let Err(error) = self.place.create(&self.events, &body, Change::Real).await {
            tracing::debug!(%error, "the Event was not written");
        }
    }

    /// Returns a Secret of this cluster.
    pub(crate) async fn find_secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, PlaceError> {
        let key = Key::new(self.secrets.group_kind.clone(), Some(namespace), name);
        retry_request(|| self.place.get(&self.secrets, &key)).await
    }

    fn target_secret_key(&self, pivot: &Pivot) -> Key {
        let name = format!("pivot-target-{}", pivot.meta.uid);
        Key::new(self.secrets.group_kind.clone(), Some(&self.namespace), name)
    }

    /// Returns the controller's copy of the Secret of a Pivot's target, if it belongs to this Cluster: the Pivot may have been
    /// changed since.
    pub(crate) async fn find_target_secret(
        &self,
        pivot: &Pivot,
        cluster: &Key,
    ) -> Result<Option<Object>, PlaceError> {
        let key = self.target_secret_key(pivot);
        let kept = retry_request(|| self.place.get(&self.secrets, &key)).await?;
        Ok(kept.filter(|kept| kept.meta.annotations.get(LEADS_TO) == Some(&cluster.to_string())))
    }

    /// Keeps a copy of the target's Secret: the original moves away with its Cluster, and later attempts need it. The copy is in
    /// the controller's own namespace, and never copied from there.
    pub(crate) async fn keep_target_secret(
        &self,
        pivot: &Pivot,
        cluster: &Key,
        data: &Value,
    ) -> Result<(), PlaceError> {
        let key = self.target_secret_key(pivot);
        let annotations = json!({
            OF_PIVOT: format!("{}/{}", pivot.namespace(), pivot.key.name), LEADS_TO: cluster.to_string(),
        });
        let metadata = json!({
            "name": key.name, "namespace": self.namespace, "labels": {OF_PIVOT: pivot.meta.uid},
            "annotations": annotations,
        });
        let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data});
        let patch = Patch {
            body: json!({"metadata": {"annotations": annotations}, "data": data}),
            subresource: Subresource::None,
            change: Change::Real,
        };
        match retry_request(|| self.place.create(&self.secrets, &body, Change::Real)).await {
            Err(PlaceError::AlreadyExists(_)) => {
                retry_request(|| self.place.patch(&self.secrets, &key, &patch)).await.map(drop)
            }
            other => other.map(drop),
        }
    }

    pub(crate) async fn delete_target_secret(&self, pivot: &Pivot) -> Result<(), PlaceError> {
        let (key, any) = (self.target_secret_key(pivot), Preconditions::default());
        match retry_request(|| self.place.delete(&self.secrets, &key, &any)).await {
            Err(PlaceError::NotFound(_)) => Ok(()),
            other => other,
        }
    }
}

/// Repeats a request that got no answer. Only for requests that may be made twice.
pub(crate) async fn retry_request<T, F: Future<Output = Result<T, PlaceError>>>(
    request: impl Fn() -> F,
) -> Result<T, PlaceError> {
    let mut tries = 1;
    loop {
        match request().await {
            Err(error) if error.is_transient() && tries < MAX_TRIES => {
                tracing::debug!(%error, "asked again");
                tokio::time::sleep(pause_after(&error, RETRY_PAUSE)).await;
                tries += 1;
            }
            other => return other,
        }
    }
}

/// Returns the pause after a failed request. The server may ask for a longer one than usual.
pub(crate) fn pause_after(error: &PlaceError, usual: Duration) -> Duration {
    error.retry_after().map_or(usual, |asked| asked.clamp(usual, MAX_PAUSE.max(usual)))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn repetition_waits_as_long_as_the_server_asks() {
        for (asked, expected) in [(None, 1), (Some(0), 1), (Some(20), 20), (Some(86_400), 60)] {
            let (begun, tries) = (Instant::now(), AtomicU32::new(0));
            let answer = retry_request(|| async {
                match tries.fetch_add(1, Ordering::SeqCst) {
                    0 => Err(PlaceError::TooManyRequests { retry_after: asked.map(Duration::from_secs) }),
                    _ => Ok(()),
                }
            });
            answer.await.unwrap();
            assert_eq!(begun.elapsed().as_secs(), expected, "{asked:?}");
        }
    }
}
