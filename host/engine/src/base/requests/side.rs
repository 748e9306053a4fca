//! The two sides of a move: places with a name for errors, retries, and a fence against writing without the lease.
//!
//! Only this file retries requests. A request that can't succeed later is not retried: a refusal by schema or permissions is
//! returned at once, instead of after minutes of back-off.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pivot_core::records::route::EndKind;
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::{Both, Key, Kind, Meta, Object, Side};
use pivot_places::{
    Access, Begun, Capabilities, Change, Closing, Identity, Listing, MappedPlace, Opening, Patch, Place,
    PlaceError, Preconditions, Subresource, Throttled,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::base::events::{Event, Watcher};
use crate::base::outcome::failure::Failure;
use crate::base::requests::halt::Halter;

/// Time for which a request is retried before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// Patience until a place has answered for the first time: nothing is under way yet, and the address may be wrong. A request that is
/// still in flight then is given up, too.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);
/// Patience of a dry run with a webhook that the server can't call: its controller is mostly stopped.
const WEBHOOK_PATIENCE: Duration = Duration::from_secs(10);
/// When the first event says that a side has not answered yet, and how often it is repeated.
const SILENCE_REPORTED_AFTER: Duration = Duration::from_secs(1);
const SILENCE_REPORTED_EVERY: Duration = Duration::from_secs(3);
/// Patience once a stop was requested: undoing is still worth a few tries.
const HALTED_PATIENCE: Duration = Duration::from_secs(15);
/// Time after which retries are reported.
const RETRIES_REPORTED_AFTER: Duration = Duration::from_secs(3);
/// Time between two reports that a side asks for fewer requests.
const THROTTLING_REPORTED_EVERY: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The two places of a move.
pub type Sides = Both<Arc<dyn Place>>;

/// One side.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) side: Side,
    pub(crate) place: Arc<dyn Place>,
    /// Kind of the side, as the user named it.
    pub(crate) end_kind: EndKind,
    /// The place's own: all runs that share the place slow down together.
    pub(crate) throttled: Throttled,
    /// The place's own names of namespaces, where they differ from the source's.
    map: Arc<NamespaceMap>,
    /// Whether the side ever answered, even with an error.
    answered: Arc<AtomicBool>,
    /// When an event last said that it is being asked.
    silence_reported: Arc<Mutex<Option<Instant>>>,
    /// Whether retries were reported; many requests wait at once.
    reported: Arc<AtomicBool>,
    turned_away: Arc<Mutex<TurnedAway>>,
    halter: Halter,
    watcher: Arc<dyn Watcher>,
}

/// Requests of this run that the side rejected to slow it down.
#[derive(Default)]
struct TurnedAway {
    requests: u64,
    /// When that was last reported.
    reported: Option<Instant>,
}

impl Handle {
    pub(crate) fn new(side: Side, place: Arc<dyn Place>, halter: Halter, watcher: Arc<dyn Watcher>) -> Self {
        Self {
            side,
            throttled: place.throttled_requests(),
            end_kind: place.end_kind(),
            place,
            map: Arc::default(),
            answered: Arc::default(),
            silence_reported: Arc::default(),
            reported: Arc::default(),
            turned_away: Arc::default(),
            halter,
            watcher,
        }
    }

    /// Marks the side as absent if the run goes without it.
    pub(crate) fn absent_if(self, is_absent: bool) -> Self {
        let end_kind = if is_absent { EndKind::Absent } else { self.end_kind };
        Self { end_kind, ..self }
    }

    /// Returns the side with other names of namespaces than the source's.
    pub(crate) fn with_namespace_map(self, map: &NamespaceMap) -> Self {
        Self { place: MappedPlace::wrap(self.place, map), map: Arc::new(map.clone()), ..self }
    }

    /// Returns the key of an object on this side.
    pub(crate) fn own_name(&self, key: &Key) -> Key {
        self.map.into_target().rename_key(key)
    }

    /// Returns the name of a namespace on this side.
    pub(crate) fn own_namespace<'a>(&'a self, name: &'a str) -> &'a str {
        self.map.in_target(name)
    }

    /// A permission, with the namespace's name on this side.
    pub(crate) fn own_access(&self, access: Access) -> Access {
        let namespace = access.namespace.map(|name| self.own_namespace(&name).to_owned());
        Access { namespace, ..access }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        self.place.capabilities()
    }

    /// Announces that a move is about to write.
    pub(crate) async fn open(&self, move_id: &str, begun: Begun) -> Result<(), Failure> {
        let opening = Opening { move_id: move_id.to_owned(), begun };
        let opened = match self.fence(Change::Real) {
            Ok(()) => self.retry(|| self.place.open(&opening)).await,
            Err(lost) => Err(lost),
        };
        opened.map_err(|error| self.request_failure("opening for this move", None, error))
    }

    pub(crate) async fn identify(&self) -> Result<Identity, Failure> {
        let identity = self.retry(|| self.place.identify()).await;
        identity.map_err(|error| self.request_failure("identifying the cluster", None, error))
    }

    /// Announces that a move is done with this side.
    pub(crate) async fn close(&self, closing: Closing) -> Result<(), Failure> {
        let closed = match self.fence(Change::Real) {
            Ok(()) => self.retry(|| self.place.close(&closing)).await,
            Err(lost) => Err(lost),
        };
        closed.map_err(|error| self.request_failure("closing", None, error))
    }

    pub(crate) async fn list_labelled(
        &self,
        kind: &Arc<Kind>,
        namespace: &str,
        label: &str,
    ) -> Result<Listing, Failure> {
        self.retry(|| self.place.list_labelled(kind, namespace, label))
            .await
            .map_err(|error| self.request_failure(format!("listing {}", kind.plural), None, error))
    }

    pub(crate) async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing, Failure> {
        self.retry(|| self.place.list(kind, namespace))
            .await
            .map_err(|error| self.request_failure(format!("listing {}", kind.plural), None, error))
    }

    pub(crate) async fn list_meta(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
    ) -> Result<Vec<Meta>, Failure> {
        self.retry(|| self.place.list_meta(kind, namespace))
            .await
            .map(|listing| listing.metas)
            .map_err(|error| self.request_failure(format!("listing {}", kind.plural), None, error))
    }

    pub(crate) async fn list_identities(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
    ) -> Result<Vec<Meta>, Failure> {
        self.retry(|| self.place.list_identities(kind, namespace))
            .await
            .map(|listing| listing.metas)
            .map_err(|error| self.request_failure(format!("listing {}", kind.plural), None, error))
    }

    pub(crate) async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>, Failure> {
        self.retry(|| self.place.get(kind, key))
            .await
            .map_err(|error| self.request_failure("reading", Some(key), error))
    }

    /// The raw answer: callers must distinguish "already exists" and "conflict" from errors.
    pub(crate) async fn create(
        &self,
        kind: &Arc<Kind>,
        body: &Value,
        change: Change,
    ) -> Result<Object, PlaceError> {
        self.fence(change)?;
        self.retry_change(change, || self.place.create(kind, body, change)).await
    }

    /// See [`Handle::create`].
    pub(crate) async fn patch(
        &self,
        kind: &Arc<Kind>,
        key: &Key,
        body: &Value,
    ) -> Result<Object, PlaceError> {
        self.patch_part(kind, key, body, Subresource::None).await
    }

    /// See [`Handle::create`].
    pub(crate) async fn patch_part(
        &self,
        kind: &Arc<Kind>,
        key: &Key,
        body: &Value,
        subresource: Subresource,
    ) -> Result<Object, PlaceError> {
        self.fence(Change::Real)?;
        let patch = Patch { body: body.clone(), subresource, change: Change::Real };
        self.retry(|| self.place.patch(kind, key, &patch)).await
    }

    /// See [`Handle::create`].
    pub(crate) async fn delete(
        &self,
        kind: &Arc<Kind>,
        key: &Key,
        preconditions: Preconditions,
    ) -> Result<(), PlaceError> {
        self.fence(Change::Real)?;
        self.retry(|| self.place.delete(kind, key, &preconditions)).await
    }

    pub(crate) async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>, Failure> {
        self.retry(|| self.place.find_denied(asked))
            .await
            .map_err(|error| self.request_failure("asking for rights", None, error))
    }

    pub(crate) fn request_failure(
        &self,
        doing: impl Into<String>,
        object: Option<&Key>,
        error: PlaceError,
    ) -> Failure {
        if let Some(why) = self.halter.lease_loss() {
            return Failure::Halted(crate::base::requests::halt::Halt::LeaseLost(why));
        }
        let error = match error {
            PlaceError::Unavailable(why) if !self.answered.load(Ordering::Relaxed) => {
                return Failure::Unreachable {
                    side: self.side,
                    place: self.place.label().to_owned(),
                    named_in: self.place.kubeconfig_and_context().map(str::to_owned),
                    why,
                };
            }
            // A side that does not answer is known only by its address.
            PlaceError::Unavailable(text) => {
                PlaceError::Unavailable(format!("{text}; asked was {}", self.place.label()))
            }
            other => other,
        };
        Failure::Place {
            side: self.side,
            doing: doing.into(),
            object: object.map(|key| Box::new(self.own_name(key))),
            error,
        }
    }

    /// Refuses a change once the lease is lost.
    pub(crate) fn fence(&self, change: Change) -> Result<(), PlaceError> {
        match self.halter.lease_loss() {
            Some(why) if change == Change::Real => {
                Err(PlaceError::Forbidden(format!("the lease is lost: {why}")))
            }
            _ => Ok(()),
        }
    }

    pub(crate) async fn retry<T, F, Fut>(&self, request: F) -> Result<T, PlaceError>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, PlaceError>>,
    {
        self.retry_change(Change::Real, request).await
    }

    async fn retry_change<T, F, Fut>(&self, change: Change, mut request: F) -> Result<T, PlaceError>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, PlaceError>>,
    {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let patience = match (self.halter.halt_reason(), self.answered.load(Ordering::Relaxed)) {
                (None, true) => PATIENCE,
                // Someone is waiting for this run to stop.
                (Some(_), _) => HALTED_PATIENCE,
                (None, false) => FIRST_PATIENCE,
            };
            let answer = self.first_answer(request(), begun).await;
            if !matches!(answer, Err(PlaceError::Unavailable(_))) {
                self.answered.store(true, Ordering::Relaxed);
            }
            let patience = match &answer {
                Err(error) if change == Change::DryRun && error.is_webhook_outage() => {
                    patience.min(WEBHOOK_PATIENCE)
                }
                _ => patience,
            };
            let error = match answer {
                Err(error) if error.is_transient() && begun.elapsed() < patience => error,
                other => {
                    if other.is_ok() {
                        self.reported.store(false, Ordering::Relaxed);
                    }
                    return other;
                }
            };
            let wait = match error {
                PlaceError::TooManyRequests { retry_after } => {
                    self.throttled.fetch_add(1, Ordering::Relaxed);
                    let wait = retry_after.unwrap_or(pause).min(PATIENCE);
                    self.report_throttling(wait);
                    wait
                }
                _ => {
                    if begun.elapsed() >= RETRIES_REPORTED_AFTER
                        && !self.reported.swap(true, Ordering::Relaxed)
                    {
                        let error = error.to_string();
                        self.watcher.event(Event::Retrying { side: self.side, attempt, error });
                    }
                    if self.answered.load(Ordering::Relaxed) {
                        pause
                    } else {
                        self.report_silence(begun);
                        pause.min(patience.saturating_sub(begun.elapsed()))
                    }
                }
            };
            tracing::debug!(side = %self.side, %error, ?wait, "trying again");
            tokio::time::sleep(wait).await;
            // The last error is more useful than the fact that one more try was given up.
            if !self.answered.load(Ordering::Relaxed) && begun.elapsed() >= patience {
                return Err(error);
            }
            if let Some(why) = self.halter.lease_loss() {
                return Err(PlaceError::Forbidden(format!("the lease is lost: {why}")));
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The answer to a request. Waiting for a place that never answered is reported, and short.
    async fn first_answer<T>(
        &self,
        request: impl Future<Output = Result<T, PlaceError>>,
        begun: Instant,
    ) -> Result<T, PlaceError> {
        let mut request = pin!(request);
        while !self.answered.load(Ordering::Relaxed) {
            let left = FIRST_PATIENCE.saturating_sub(begun.elapsed());
            if left.is_zero() {
                let seconds = FIRST_PATIENCE.as_secs();
                return Err(PlaceError::Unavailable(format!("nothing came back for {seconds} seconds")));
            }
            tokio::select! {
                answer = &mut request => return answer,
                () = tokio::time::sleep(SILENCE_REPORTED_AFTER.min(left)) => self.report_silence(begun),
            }
        }
        request.await
    }

    /// Many requests wait for the first answer at once: one event covers them all.
    fn report_silence(&self, begun: Instant) {
        let waited = begun.elapsed();
        let mut reported = self.silence_reported.lock().unwrap_or_else(PoisonError::into_inner);
        if waited < SILENCE_REPORTED_AFTER || reported.is_some_and(|at| at.elapsed() < SILENCE_REPORTED_EVERY)
        {
            return;
        }
        *reported = Some(Instant::now());
        let (side, place) = (self.side, self.place.label().to_owned());
        self.watcher.event(Event::Asking { side, place, seconds: waited.as_secs() });
    }

    /// Many requests are turned away at once: one event a second covers them all.
    fn report_throttling(&self, wait: Duration) {
        let mut turned_away = self.turned_away.lock().unwrap_or_else(PoisonError::into_inner);
        turned_away.requests += 1;
        if turned_away.reported.is_some_and(|at| at.elapsed() < THROTTLING_REPORTED_EVERY) {
            return;
        }
        turned_away.reported = Some(Instant::now());
        let requests = turned_away.requests;
        let after_milliseconds = wait.as_millis().try_into().unwrap_or(u64::MAX);
        self.watcher.event(Event::Throttled { side: self.side, requests, after_milliseconds });
    }
}

#[cfg(test)]
mod tests {
    use pivot_memory::MemoryPlace;

    use super::*;
    use crate::base::events::NoWatcher;
    use crate::base::requests::limiter::Limiter;

    async fn patience(handle: &Handle) -> u64 {
        let begun = Instant::now();
        let request = || async { Err::<(), _>(PlaceError::Unavailable("refused".into())) };
        handle.retry(request).await.unwrap_err();
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn place_without_first_answer_fails_sooner() {
        let place = Arc::new(MemoryPlace::new("over there"));
        let handle = Handle::new(Side::Target, place, Halter::default(), Arc::new(NoWatcher));
        assert!((8..15).contains(&patience(&handle).await));
        handle.clone().retry(|| async { Ok(()) }).await.unwrap();
        assert!((60..70).contains(&patience(&handle).await));
    }

    /// In whichever roles the two runs use it.
    #[tokio::test(start_paused = true)]
    async fn runs_of_one_place_slow_down_together() {
        let place = MemoryPlace::new("shared");
        let run = |side, place: &MemoryPlace| {
            Handle::new(side, Arc::new(place.clone()), Halter::default(), Arc::new(NoWatcher))
        };
        let (one, other) = (run(Side::Source, &place), run(Side::Target, &place));
        let elsewhere = run(Side::Target, &MemoryPlace::new("elsewhere"));
        let limiters = || [&one, &other, &elsewhere].map(|handle| Limiter::new(handle.throttled.clone()));
        let room = |mut limiter: Limiter| {
            limiter.record_answer(Duration::from_millis(20));
            limiter.has_room(40)
        };
        assert_eq!(limiters().map(room), [true, true, true]);
        let under_way = limiters();
        let turned_away = AtomicBool::new(false);
        one.retry(|| async {
            match turned_away.swap(true, Ordering::Relaxed) {
                false => Err(PlaceError::TooManyRequests { retry_after: None }),
                true => Ok(()),
            }
        })
        .await
        .unwrap();
        assert_eq!(under_way.map(room), [false, false, true]);
    }

    #[derive(Default)]
    struct Recorder(Mutex<Vec<Event>>);

    impl Watcher for Recorder {
        fn event(&self, event: Event) {
            self.0.lock().unwrap().push(event);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_place_is_reported_before_it_fails() {
        let (place, reported) = (Arc::new(MemoryPlace::new("over there")), Arc::new(Recorder::default()));
        let handle = Handle::new(Side::Target, place, Halter::default(), reported.clone());
        let begun = Instant::now();
        let never = || handle.retry(std::future::pending::<Result<(), PlaceError>>);
        let (one, other) = tokio::join!(never(), never());
        assert!(matches!((one, other), (Err(PlaceError::Unavailable(_)), Err(PlaceError::Unavailable(_)))));
        assert!((10..12).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        let asking = |seconds| Event::Asking { side: Side::Target, place: "over there".into(), seconds };
        assert_eq!(*reported.0.lock().unwrap(), [1, 4, 7, 10].map(asking), "once for both");
    }

    #[tokio::test(start_paused = true)]
    async fn first_answer_extends_patience() {
        let place = Arc::new(MemoryPlace::new("over there"));
        let handle = Handle::new(Side::Target, place, Halter::default(), Arc::new(NoWatcher));
        let after = |seconds, answer: Result<(), PlaceError>| {
            let handle = handle.clone();
            async move {
                handle
                    .retry(|| async {
                        tokio::time::sleep(Duration::from_secs(seconds)).await;
                        answer.clone()
                    })
                    .await
            }
        };
        let (short, long) =
            tokio::join!(after(2, Err(PlaceError::Forbidden("no".into()))), after(25, Ok(())));
        assert!(short.is_err() && long == Ok(()), "{short:?} {long:?}");
    }

    #[test]
    fn error_names_silent_place() {
        let place = Arc::new(MemoryPlace::new("over there"));
        let handle = Handle::new(Side::Target, place, Halter::default(), Arc::new(NoWatcher));
        let failed = || {
            handle
                .request_failure("listing secrets", None, PlaceError::Unavailable("refused".into()))
                .to_string()
        };
        assert_eq!(failed(), "no answer from the target, over there: refused");
        handle.answered.store(true, Ordering::Relaxed);
        assert_eq!(failed(), "listing secrets in the target: no answer: refused; asked was over there");
    }
}
