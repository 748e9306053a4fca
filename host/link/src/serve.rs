//! The far end of a link: answers requests about a place, on a connection that it made.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, Limited, StreamBody, combinators::BoxBody};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pivot_core::Kind;
use pivot_core::records::plugin_set::PluginSet;
use pivot_places::{Event, Listing, MetaListing, Place, PlaceError, Result};
use serde::Serialize;
use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, Semaphore, oneshot};

use crate::connection::{CONNECTION_WINDOW, Connection, GIVE_UP, STREAM_WINDOW, TEST_AFTER};
use crate::frame::{Tag, encode_frame};
use crate::guard::Guard;
use crate::link_request::{Hello, LinkRequest, NEWEST, OLDEST, OfferedCluster};
use crate::post_move_gate::PostMoveGate;
use crate::return_offers::{ReturnOffers, ReturnState};
use crate::role::Role;
use crate::work::RunningTasks;

/// Largest request in bytes: an object and its envelope.
const LARGEST: usize = 4 << 20;
/// The most bytes of a service's answer: the side that asks is no reason to read more.
const PROXY_LIMIT: usize = 256 << 10;
/// More than the other side asks at once.
const STREAMS: u32 = 512;

type Body = BoxBody<Bytes, Infallible>;

/// Answers on a connection until it ends. When this returns, nothing that was asked is still at work, or the server has had a minute for
/// it: a dead run's late create can't follow its successor.
pub async fn serve<C: Connection>(
    connection: C,
    place: Arc<dyn Place>,
    guard: Guard,
) -> Result<(), hyper::Error> {
    FarEnd::new(place, guard).serve_connection(connection, Arc::new(Notify::new()), pending()).await
}

/// The place and its rules, for one connection after the other.
pub(crate) struct FarEnd {
    place: Arc<dyn Place>,
    guard: Guard,
    /// Plugins with which the agent finishes a move alone, if it does.
    finishes_with: Option<PluginSet>,
    /// Clusters that may move out of it.
    offers: BTreeSet<OfferedCluster>,
    /// The gate after the end of a move, in the roles that have one.
    ended: Option<PostMoveGate>,
    /// A write outlives its stream, and so the limit on those.
    writing: Arc<Semaphore>,
    /// Each question that is carried out shares it; who finishes a move alone has it alone.
    turn: Arc<RwLock<()>>,
}

impl FarEnd {
    pub(crate) fn new(place: Arc<dyn Place>, guard: Guard) -> Arc<Self> {
        Self::finishing_with(place, guard, None)
    }

    fn finishing_with(place: Arc<dyn Place>, guard: Guard, finishes_with: Option<PluginSet>) -> Arc<Self> {
        // What left a cluster has no more to do with what once came into it.
        let ended = match (guard.role, guard.keep_answering) {
            (Role::Target, false) => PostMoveGate::new(place.clone(), &guard.record_namespace),
            _ => None,
        };
        Arc::new(Self {
            place,
            guard,
            finishes_with,
            offers: BTreeSet::new(),
            ended,
            writing: Arc::new(Semaphore::new(STREAMS as usize)),
            turn: Arc::default(),
        })
    }

    /// Returns the same place and rules, for requests that don't wait for a turn.
    pub(crate) fn without_turn(&self) -> Arc<Self> {
        Self::new(self.place.clone(), self.guard.clone())
    }

    /// Returns the place and the rules of an agent that finishes moves alone with these plugins.
    pub(crate) fn with_plugins(&self, plugins: PluginSet) -> Arc<Self> {
        Self::finishing_with(self.place.clone(), self.guard.clone(), Some(plugins))
    }

    /// Returns the offers of the place, as far as its rules allow any.
    pub(crate) fn return_offers(&self) -> Option<ReturnOffers> {
        ReturnOffers::new(self.place.clone(), &self.guard)
    }

    /// Returns the same place in the role of a source, for the namespaces of a state that has any. Both ends share limits and turns.
    pub(crate) fn take_source_role(self: &Arc<Self>, state: &ReturnState) -> Arc<Self> {
        if state.namespaces.is_empty() {
            return self.clone();
        }
        let Self { place, guard, finishes_with, writing, turn, .. } = &**self;
        let namespaces = Some(state.namespaces.clone());
        Arc::new(Self {
            place: place.clone(),
            guard: Guard { namespaces, role: Role::Source, ..guard.clone() },
            finishes_with: finishes_with.clone(),
            offers: state.offers.clone(),
            ended: None,
            writing: writing.clone(),
            turn: turn.clone(),
        })
    }

    /// Waits until no request is being carried out. No other request starts until the returned guard is dropped.
    pub(crate) async fn wait_for_all(&self) -> OwnedRwLockWriteGuard<()> {
        self.turn.clone().write_owned().await
    }

    /// See [`serve()`]; `asked` hears that something is. With `ends`, the connection ends.
    pub(crate) async fn serve_connection<C: Connection>(
        self: &Arc<Self>,
        connection: C,
        asked: Arc<Notify>,
        ends: impl Future<Output = ()>,
    ) -> Result<(), hyper::Error> {
        let (work, writes) = (RunningTasks::default(), RunningTasks::default());
        if let Some(ended) = &self.ended {
            ended.invalidate();
            work.execute(ended.clone().follow());
        }
        let (far, of_far) = (self.clone(), writes.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (far, writes) = (far.clone(), of_far.clone());
            asked.notify_one();
            async move { Ok::<_, Infallible>(far.answer_http(request, &writes).await) }
        });
        let mut server = http2::Builder::new(work.clone());
        server
            .timer(TokioTimer::new())
            .keep_alive_interval(TEST_AFTER)
            .keep_alive_timeout(GIVE_UP)
            .max_concurrent_streams(STREAMS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        let served = tokio::select! {
            served = server.serve_connection(TokioIo::new(connection), service) => served,
            () = ends => Ok(()),
        };
        work.abort_all().await;
        writes.wait_for_all().await;
        served
    }

    async fn answer_http(
        self: &Arc<Self>,
        request: Request<Incoming>,
        writes: &RunningTasks,
    ) -> Response<Body> {
        if request.method() != Method::POST || request.uri().path() != crate::PATH {
            return refuse_with_status(StatusCode::NOT_FOUND);
        }
        let Ok(body) = Limited::new(request.into_body(), LARGEST).collect().await else {
            return refuse_with_status(StatusCode::PAYLOAD_TOO_LARGE);
        };
        // Without the text: it may be a Secret's.
        let Ok(ask) = serde_json::from_slice::<LinkRequest>(&body.to_bytes()) else {
            return refuse_with_status(StatusCode::BAD_REQUEST);
        };
        let judged = match self.turn_of(&ask) {
            Ok(turn) => self.check_request(ask).await.map(|ask| (ask, turn)),
            Err(error) => Err(error),
        };
        let parts = match judged {
            Ok((ask, turn)) => self.answer_until_end(ask, turn, writes).await,
            Err(error) => send_error(&error),
        };
        let frames = parts.flat_map(|(tag, content)| stream::iter(encode_frame(tag, content)));
        let body = StreamBody::new(make_sync(frames.boxed()).map(|bytes| Ok(Frame::data(bytes))));
        Response::new(BodyExt::boxed(body))
    }

    /// Returns the turn that a request needs, or an error if an agent is finishing a move alone. The request is retried later.
    fn turn_of(&self, ask: &LinkRequest) -> Result<Turn> {
        if matches!(ask, LinkRequest::Hello { .. } | LinkRequest::Identify | LinkRequest::Kinds) {
            return Ok(None);
        }
        let why = "its agent finishes a move by itself, because it was without a link";
        self.turn.clone().try_read_owned().map(Some).map_err(|_| PlaceError::Unavailable(why.to_owned()))
    }

    /// Returns the request to carry out, or the reason for its refusal.
    async fn check_request(&self, ask: LinkRequest) -> Result<LinkRequest> {
        let refused = match (self.guard.refusal(&ask), &self.ended) {
            (None, Some(ended)) => ended.refusal(&ask).await,
            (refused, _) => refused,
        };
        refused.map_or(Ok(()), Err)?;
        self.guard.bind_to_object(ask, &*self.place).await
    }

    async fn answer_until_end(
        self: &Arc<Self>,
        ask: LinkRequest,
        turn: Turn,
        writes: &RunningTasks,
    ) -> Parts {
        let Some(ended) = &self.ended else { return self.perform(ask, turn, writes).await };
        let (may_end, watches) = (ended.may_end_a_move(&ask), matches!(ask, LinkRequest::Watch { .. }));
        let parts = self.perform(ask, turn, writes).await;
        if may_end {
            ended.read_again().await;
        }
        // What a watch would still see belongs to nobody but the cluster.
        if watches { parts.take_until(ended.clone().wait_for_end()).boxed() } else { parts }
    }

    /// Carries it out. A write that has begun goes on when its link is cut: the server may have it already, and giving it up would only
    /// hide when it acts.
    async fn perform(self: &Arc<Self>, ask: LinkRequest, turn: Turn, writes: &RunningTasks) -> Parts {
        if !matches!(ask, LinkRequest::Create { .. } | LinkRequest::Patch { .. } | LinkRequest::Delete { .. })
        {
            return call_place(ask, self).await;
        }
        // It is never closed; who gives up waiting for it has written nothing.
        let Ok(permit) = self.writing.clone().acquire_owned().await else {
            return send_error(&stopping_error());
        };
        let (far, (tell, told)) = (self.clone(), oneshot::channel());
        writes.execute(async move {
            let _until_then = (permit, turn);
            // Nobody may be waiting for it any more.
            drop(tell.send(call_place(ask, &far).await));
        });
        told.await.unwrap_or_else(|_| send_error(&stopping_error()))
    }
}

/// Streams of places are only `Send`; a mutex makes them `Sync`, too, and is never contended.
fn make_sync(stream: BoxStream<'static, Bytes>) -> impl futures::Stream<Item = Bytes> + Send + Sync {
    let stream = Mutex::new(stream);
    stream::poll_fn(move |context| {
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.poll_next_unpin(context)
    })
}

fn stopping_error() -> PlaceError {
    PlaceError::Unavailable("the agent is stopping".to_owned())
}

fn refuse_with_status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::new()).boxed());
    *response.status_mut() = status;
    response
}

/// Held while a question is carried out.
type Turn = Option<OwnedRwLockReadGuard<()>>;

type Parts = BoxStream<'static, (Tag, Bytes)>;

async fn call_place(ask: LinkRequest, far: &FarEnd) -> Parts {
    let FarEnd { place, guard, .. } = far;
    let shared = |kind: Kind| Arc::new(kind);
    match ask {
        LinkRequest::Hello { oldest, newest } => send_value(answer_hello(oldest, newest, far).await),
        LinkRequest::Identify => send_value(place.identify().await),
        LinkRequest::Kinds => send_value(
            place.kinds().await.map(|kinds| kinds.iter().map(|kind| (**kind).clone()).collect::<Vec<_>>()),
        ),
        LinkRequest::List { kind, namespace } => {
            send_objects(place.list(&shared(kind), namespace.as_deref()).await)
        }
        LinkRequest::ListLabelled { kind, namespace, label } => {
            send_objects(place.list_labelled(&shared(kind), &namespace, &label).await)
        }
        LinkRequest::ListMeta { kind, namespace } => {
            send_metas(place.list_meta(&shared(kind), namespace.as_deref()).await)
        }
        LinkRequest::ListIdentities { kind, namespace } => {
            send_metas(place.list_identities(&shared(kind), namespace.as_deref()).await)
        }
        LinkRequest::Get { kind, key } => match place.get(&shared(kind), &key).await {
            Ok(Some(object)) => send_parts([(Tag::Object, object.raw().clone())]),
            Ok(None) => send_parts([]),
            Err(error) => send_error(&error),
        },
        LinkRequest::Create { kind, body, change } => {
            send_written(place.create(&shared(kind), &body, change).await.map(|object| object.raw().clone()))
        }
        LinkRequest::Patch { kind, key, patch } => {
            send_written(place.patch(&shared(kind), &key, &patch).await.map(|object| object.raw().clone()))
        }
        LinkRequest::Delete { kind, key, preconditions } => {
            send_value(place.delete(&shared(kind), &key, &preconditions).await)
        }
        LinkRequest::Watch { kind, namespace, resource_version } => {
            match place.watch(&shared(kind), namespace.as_deref(), &resource_version).await {
                Ok(events) => events.map(|event| event_part(&event)).boxed(),
                Err(error) => send_error(&error),
            }
        }
        LinkRequest::Learn { kinds } => {
            let kinds: Vec<_> = kinds.into_iter().map(Arc::new).collect();
            send_value(place.learn(&kinds).await)
        }
        LinkRequest::Open { opening } => send_value(place.open(&opening).await),
        LinkRequest::Close { closing } => send_value(place.close(&closing).await),
        LinkRequest::ProxyGet { service, limit } => {
            send_value(place.proxy_get(&service, limit.min(PROXY_LIMIT)).await)
        }
        LinkRequest::Denied { asked } => {
            let (mut denied, rest): (Vec<_>, Vec<_>) =
                asked.into_iter().partition(|access| guard.denies_access(access));
            send_value(place.find_denied(&rest).await.map(|by_place| {
                denied.extend(by_place);
                denied
            }))
        }
    }
}

async fn answer_hello(
    oldest: u32,
    newest: u32,
    FarEnd { place, finishes_with, offers, .. }: &FarEnd,
) -> Result<Hello> {
    let version = newest.min(NEWEST);
    if version < oldest.max(OLDEST) {
        return Err(PlaceError::Invalid(format!(
            "this side speaks versions {OLDEST} to {NEWEST} of the link, the other {oldest} to {newest}"
        )));
    }
    let identity = place.identify().await?;
    let build = env!("CARGO_PKG_VERSION").to_owned();
    let (label, finishes_with) = (place.label().to_owned(), finishes_with.clone());
    Ok(Hello { version, build, label, identity, finishes_with, offers: offers.clone() })
}

fn send_parts<const N: usize>(parts: [(Tag, Bytes); N]) -> Parts {
    stream::iter(parts).boxed()
}

/// One answer, as JSON.
fn send_value<T: Serialize>(answer: Result<T>) -> Parts {
    match answer.map(|answer| serde_json::to_vec(&answer)) {
        Ok(Ok(text)) => send_parts([(Tag::Answer, text.into())]),
        Ok(Err(_)) => send_error(&PlaceError::Unreadable("an answer that can't be sent".to_owned())),
        Err(error) => send_error(&error),
    }
}

fn send_error(error: &PlaceError) -> Parts {
    send_parts([error_part(error)])
}

fn error_part(error: &PlaceError) -> (Tag, Bytes) {
    (Tag::Error, serde_json::to_vec(error).unwrap_or_default().into())
}

fn send_written(body: Result<Bytes>) -> Parts {
    match body {
        Ok(body) => send_parts([(Tag::Object, body)]),
        Err(error) => send_error(&error),
    }
}

fn send_objects(listing: Result<Listing>) -> Parts {
    match listing {
        Ok(Listing { objects, resource_version }) => {
            let version = (Tag::Version, Bytes::from(resource_version));
            let bodies = objects.into_iter().map(|object| (Tag::Object, object.raw().clone()));
            stream::iter(bodies.chain([version])).boxed()
        }
        Err(error) => send_error(&error),
    }
}

fn send_metas(listing: Result<MetaListing>) -> Parts {
    match listing {
        Ok(MetaListing { metas, resource_version }) => {
            let version = (Tag::Version, Bytes::from(resource_version));
            let metas = metas.into_iter().map(|meta| serde_json::to_vec(&meta).unwrap_or_default());
            stream::iter(metas.map(|meta| (Tag::Meta, meta.into())).chain([version])).boxed()
        }
        Err(error) => send_error(&error),
    }
}

fn event_part(event: &Result<Event>) -> (Tag, Bytes) {
    match event {
        Ok(Event::Applied(object)) => (Tag::Applied, object.raw().clone()),
        Ok(Event::Deleted(object)) => (Tag::Deleted, object.raw().clone()),
        Err(error) => error_part(error),
    }
}
