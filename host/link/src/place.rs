//! The near end: a place whose verbs are asked over a connection that the far end made.
//!
//! A verb that is cut off fails as any request that got no answer does, and the engine asks again: a create meets the mark of the
//! first, a patch the version, a delete the UID. So nothing needs a number of its own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use pivot_core::messages::safe_text;
use pivot_core::records::plugin_set::PluginSet;
use pivot_core::records::route::EndKind;
use pivot_core::request::validate::{find_definition_error, find_id_error, find_name_error};
use pivot_core::{Key, Kind, Meta, Object};
use pivot_places::{
    Access, AgentDescription, Budget, Capabilities, Change, Closing, Event, Identity, Listing, MetaListing,
    Opening, Pace, Patch, Place, PlaceError, Preconditions, Result, ServicePath, Share, Throttled,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::connection::{CONNECTION_WINDOW, Connection, GIVE_UP, STREAM_WINDOW, TEST_AFTER};
use crate::expected_answer::{ExpectedAnswer, unbelievable_error};
use crate::frame::{Frames, MOST, Tag};
use crate::link_request::{Hello, LinkRequest, NEWEST, OLDEST, OfferedCluster};
use crate::return_offers::bound_offers;
use crate::work::RunningTasks;

/// Bytes of an agent's name for its place that are shown and kept.
const LABEL: usize = 200;
/// Largest description of an agent: several times the size for as many plugins as a move can have.
const MOST_HELLO: u64 = 256 << 10;
/// Longest wait for the next part of an answer. A watch may wait for longer.
const DEADLINE: Duration = Duration::from_secs(30);

type Sender = SendRequest<Full<Bytes>>;

/// A place at the far end of a link. The link may be cut and made again; the place is the same.
pub struct LinkPlace {
    /// The connection, while there is one.
    line: watch::Sender<Option<Sender>>,
    hello: Hello,
    /// Plugins with which the agent finishes a move alone, as it said on the last connection.
    finishes_with: Mutex<Option<PluginSet>>,
    /// Clusters that its users want to move back, as the agent said on the last connection.
    offers: Mutex<BTreeSet<OfferedCluster>>,
    throttled: Throttled,
    /// Limit of the memory for the place's answers.
    budget: Option<Budget>,
}

/// Reasons not to use a connection.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// HTTP/2 doesn't begin.
    #[error("the link doesn't begin: {0}")]
    Handshake(#[source] hyper::Error),
    /// The far end says no.
    #[error("the link is refused: {0}")]
    Refused(PlaceError),
    /// The connection leads to another cluster than before.
    #[error("the agent is in another cluster than before")]
    OtherPlace,
}

impl LinkPlace {
    /// Takes a connection that the far end made. The future keeps it alive, and ends with it.
    pub async fn connect<C: Connection>(connection: C) -> Result<(Arc<Self>, Alive), LinkError> {
        greet(connection).await.map(|greeted| Self::from_greeted(greeted, None))
    }

    /// Takes a new connection of the same place. Requests on the old connection fail.
    pub async fn reconnect<C: Connection>(&self, connection: C) -> Result<Alive, LinkError> {
        let greeted = greet(connection).await?;
        if self.is_of(&greeted) { Ok(self.take_connection(greeted)) } else { Err(LinkError::OtherPlace) }
    }

    pub(crate) fn from_greeted(
        Greeted { sender, hello, alive }: Greeted,
        budget: Option<Budget>,
    ) -> (Arc<Self>, Alive) {
        let line = watch::Sender::new(Some(sender));
        let (finishes_with, offers) = (hello.finishes_with.clone(), hello.offers.clone());
        let (finishes_with, offers) = (Mutex::new(finishes_with), Mutex::new(offers));
        (
            Arc::new(Self { line, hello, finishes_with, offers, throttled: Throttled::default(), budget }),
            alive,
        )
    }

    /// Returns true if a connection leads to this place.
    pub(crate) fn is_of(&self, greeted: &Greeted) -> bool {
        greeted.hello.identity == self.hello.identity
    }

    pub(crate) fn take_connection(&self, greeted: Greeted) -> Alive {
        *self.finishes_with.lock().unwrap_or_else(PoisonError::into_inner) = greeted.hello.finishes_with;
        *self.offers.lock().unwrap_or_else(PoisonError::into_inner) = greeted.hello.offers;
        self.line.send_replace(Some(greeted.sender));
        greeted.alive
    }

    /// Returns the Clusters that users of the place want to move back.
    pub(crate) fn offers(&self) -> BTreeSet<OfferedCluster> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns true if there is a connection.
    pub fn is_connected(&self) -> bool {
        self.line.borrow().as_ref().is_some_and(|sender| !sender.is_closed())
    }

    async fn send(&self, ask: LinkRequest) -> Result<Answer> {
        let sender = self.line.borrow().clone();
        let Some(sender) = sender else { return Err(not_connected_error()) };
        let share =
            self.budget.as_ref().filter(|_| !matches!(ask, LinkRequest::Watch { .. })).map(Budget::share);
        Ok(Answer { share, ..send_request(sender, &ask).await? })
    }

    async fn send_for_value<T: DeserializeOwned>(&self, ask: LinkRequest) -> Result<T> {
        self.send(ask).await?.into_value().await
    }

    /// The object that was written.
    async fn send_write(&self, kind: &Arc<Kind>, about: &ExpectedAnswer, ask: LinkRequest) -> Result<Object> {
        let object = self.send(ask).await?.into_object(kind, about).await?;
        object.ok_or_else(|| PlaceError::Unreadable("an answer without an object".to_owned()))
    }

    async fn send_list(&self, kind: &Arc<Kind>, about: &ExpectedAnswer, ask: LinkRequest) -> Result<Listing> {
        let mut answer = self.send(ask).await?;
        let mut objects = Vec::new();
        loop {
            match answer.next_in_time().await? {
                Some((Tag::Object, body)) => {
                    answer.charge_object()?;
                    objects.push(parse_object(kind, about, body)?);
                }
                Some((Tag::Version, version)) => {
                    answer.attach_share(objects.iter_mut().map(|object: &mut Object| &mut object.meta));
                    return Ok(Listing { objects, resource_version: parse_version(&version)? });
                }
                other => return Err(unexpected_part_error(other)),
            }
        }
    }

    async fn send_meta_list(&self, about: &ExpectedAnswer, ask: LinkRequest) -> Result<MetaListing> {
        let mut answer = self.send(ask).await?;
        let mut metas: Vec<Meta> = Vec::new();
        loop {
            match answer.next_in_time().await? {
                Some((Tag::Meta, meta)) => {
                    answer.charge_object()?;
                    let meta = parse_json(&meta)?;
                    about.check(&meta)?;
                    metas.push(meta);
                }
                Some((Tag::Version, version)) => {
                    answer.attach_share(metas.iter_mut());
                    return Ok(MetaListing { metas, resource_version: parse_version(&version)? });
                }
                other => return Err(unexpected_part_error(other)),
            }
        }
    }
}

/// Keeps a connection alive, and ends with it.
pub type Alive = BoxFuture<'static, ()>;

/// A connection whose far end has said who it is.
pub(crate) struct Greeted {
    sender: Sender,
    hello: Hello,
    alive: Alive,
}

/// Begins HTTP/2, as the side that asks although it was called.
pub(crate) async fn greet<C: Connection>(connection: C) -> Result<Greeted, LinkError> {
    // HTTP/2 runs in tasks of its own, which keep a connection for as long as anything is asked on it.
    let work = RunningTasks::default();
    let mut client = http2::Builder::new(work.clone());
    client
        .timer(TokioTimer::new())
        .keep_alive_interval(TEST_AFTER)
        .keep_alive_timeout(GIVE_UP)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    let (sender, connection) =
        client.handshake(TokioIo::new(connection)).await.map_err(LinkError::Handshake)?;
    let mut connection = Box::pin(connection);
    let hello = async {
        let ask = LinkRequest::Hello { oldest: OLDEST, newest: NEWEST };
        let hello = send_request(sender.clone(), &ask).await?.into_value::<Hello>().await?;
        bound_hello(hello)
    };
    // The connection works only while it is polled.
    let hello = tokio::select! {
        hello = hello => hello.map_err(LinkError::Refused)?,
        ended = &mut connection => {
            return Err(match ended {
                Err(error) => LinkError::Handshake(error),
                Ok(()) => LinkError::Refused(not_connected_error()),
            });
        }
    };
    let alive = async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a link has ended");
        }
        work.abort_all().await;
    };
    Ok(Greeted { sender, hello, alive: alive.boxed() })
}

/// Bounds the far end's description of itself, which is kept for the lifetime of its place.
fn bound_hello(hello: Hello) -> Result<Hello> {
    let plugins = hello.finishes_with.map(|plugins| {
        plugins.into_bounded().ok_or_else(|| unbelievable_error("it has more plugins than a move can have"))
    });
    let names = hello.offers.iter().flat_map(|offer| [&offer.namespace, &offer.name]);
    if bound_offers(hello.offers.clone()) != hello.offers
        || names.map(String::as_str).any(|name| find_name_error(name).is_some())
    {
        return Err(unbelievable_error("it offers Clusters without valid names, or too many"));
    }
    Ok(Hello { label: safe_text::to_line(&hello.label, LABEL), finishes_with: plugins.transpose()?, ..hello })
}

fn not_connected_error() -> PlaceError {
    PlaceError::Unavailable("the agent is not connected".to_owned())
}

fn cut_error(error: &hyper::Error) -> PlaceError {
    PlaceError::Unavailable(format!("the link was cut: {error}"))
}

fn late_error() -> PlaceError {
    PlaceError::Unavailable(format!("no answer over the link for {} seconds", DEADLINE.as_secs()))
}

fn unexpected_part_error(part: Option<(Tag, Bytes)>) -> PlaceError {
    let what = match part {
        Some((tag, _)) => format!("{tag:?} in an answer that has none"),
        None => "an answer that ends too soon".to_owned(),
    };
    PlaceError::Unreadable(what)
}

async fn send_request(mut sender: Sender, ask: &LinkRequest) -> Result<Answer> {
    let body =
        serde_json::to_vec(ask).map_err(|_| PlaceError::Invalid("a question that can't be sent".into()))?;
    let request = Request::builder().method(Method::POST).uri(crate::URI).body(Full::new(Bytes::from(body)));
    let request = request.map_err(|_| PlaceError::Invalid("a question that can't be sent".into()))?;
    let response = async {
        sender.ready().await.map_err(|error| cut_error(&error))?;
        sender.send_request(request).await.map_err(|error| cut_error(&error))
    };
    // Whether the first part of a watch ever comes, nobody knows; its head does.
    let response = timeout(DEADLINE, response).await.map_err(|_| late_error())??;
    match response.status() {
        StatusCode::OK => {
            let frames = match ask {
                LinkRequest::Watch { .. } => Frames::without_limit(),
                LinkRequest::Hello { .. } => Frames::with_limit(MOST_HELLO),
                _ => Frames::with_limit(MOST),
            };
            Ok(Answer { body: response.into_body(), frames, share: None, pace: Pace::begin(), bytes: 0 })
        }
        StatusCode::PAYLOAD_TOO_LARGE => Err(PlaceError::Invalid("larger than a link carries".into())),
        StatusCode::BAD_REQUEST => Err(PlaceError::unsupported("the agent", "do that: it may be older")),
        other => Err(PlaceError::Unreadable(format!("the agent answers {other}"))),
    }
}

/// An answer, part by part.
struct Answer {
    body: Incoming,
    frames: Frames,
    /// The answer's share of the budget, if the answer must end.
    share: Option<Share>,
    pace: Pace,
    bytes: u64,
}

/// Name of any answer in errors.
const ABOUT: &str = "an answer over the link";

impl Answer {
    /// The next part, however long that takes.
    async fn next(&mut self) -> Result<Option<(Tag, Bytes)>> {
        loop {
            match self.frames.next() {
                Ok(Some((Tag::Error, error))) => return Err(parse_json::<PlaceError>(&error)?),
                Ok(Some(part)) => return Ok(Some(part)),
                Ok(None) => {}
                Err(error) => return Err(PlaceError::Unreadable(error.to_string())),
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        if let Some(share) = &mut self.share {
                            share.grow(data.len(), ABOUT)?;
                        }
                        self.bytes += u64::try_from(data.len()).unwrap_or(u64::MAX);
                        self.frames.push(data).map_err(|error| PlaceError::Unreadable(error.to_string()))?;
                    }
                }
                Some(Err(error)) => return Err(cut_error(&error)),
                None if self.frames.is_empty() => return Ok(None),
                None => return Err(PlaceError::Unavailable("the link was cut within an answer".to_owned())),
            }
        }
    }

    async fn next_in_time(&mut self) -> Result<Option<(Tag, Bytes)>> {
        let part = timeout(DEADLINE, self.next()).await.map_err(|_| late_error())?;
        self.pace.check(self.bytes, ABOUT)?;
        part
    }

    /// Charges the share for an object's overhead beyond its bytes.
    fn charge_object(&mut self) -> Result<()> {
        self.share.as_mut().map_or(Ok(()), |share| share.grow_by_objects(1, ABOUT))
    }

    /// Has the share held for as long as one of these is.
    fn attach_share<'a>(self, metas: impl Iterator<Item = &'a mut Meta>) {
        let Some(held) = self.share.map(Share::into_held) else { return };
        metas.for_each(|meta| meta.held = held.clone());
    }

    async fn into_value<T: DeserializeOwned>(mut self) -> Result<T> {
        match self.next_in_time().await? {
            Some((Tag::Answer, answer)) => parse_json(&answer),
            other => Err(unexpected_part_error(other)),
        }
    }

    async fn into_object(mut self, kind: &Arc<Kind>, about: &ExpectedAnswer) -> Result<Option<Object>> {
        match self.next_in_time().await? {
            Some((Tag::Object, body)) => {
                let mut object = parse_object(kind, about, body)?;
                self.attach_share(std::iter::once(&mut object.meta));
                Ok(Some(object))
            }
            None => Ok(None),
            other => Err(unexpected_part_error(other)),
        }
    }
}

/// Parses JSON. The error doesn't quote the text, as serde's errors do.
fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|_| PlaceError::Unreadable("an answer over the link".to_owned()))
}

fn parse_version(bytes: &Bytes) -> Result<String> {
    let version = String::from_utf8(bytes.to_vec())
        .map_err(|_| PlaceError::Unreadable("a version over the link".to_owned()))?;
    match find_id_error(&version).filter(|_| !version.is_empty()) {
        Some(odd) => Err(unbelievable_error(&odd)),
        None => Ok(version),
    }
}

fn parse_object(kind: &Arc<Kind>, about: &ExpectedAnswer, body: Bytes) -> Result<Object> {
    let object =
        Object::parse(kind.clone(), body).map_err(|error| PlaceError::Unreadable(error.to_string()))?;
    about.check(&object.meta)?;
    Ok(object)
}

fn to_owned_namespace(namespace: Option<&str>) -> Option<String> {
    namespace.map(str::to_owned)
}

#[async_trait]
impl Place for LinkPlace {
    fn label(&self) -> &str {
        &self.hello.label
    }

    /// Returns a cluster, because every agent stands in front of an API server. The allowed actions on a side, and the place of its
    /// leases, follow from this. So an agent has no influence on them.
    fn end_kind(&self) -> EndKind {
        EndKind::Cluster
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::API_SERVER
    }

    fn throttled_requests(&self) -> Throttled {
        self.throttled.clone()
    }

    async fn identify(&self) -> Result<Identity> {
        match self.send_for_value(LinkRequest::Identify).await? {
            Identity::Directory { .. } => Err(PlaceError::Unreadable("an agent that has files".to_owned())),
            cluster => Ok(cluster),
        }
    }

    fn vouches_for_kinds(&self) -> bool {
        false
    }

    fn agent(&self) -> Option<AgentDescription> {
        let finishes_with = self.finishes_with.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(AgentDescription { finishes_with })
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        let kinds = self.send_for_value::<Vec<Kind>>(LinkRequest::Kinds).await?;
        match kinds.iter().find_map(find_definition_error) {
            Some(odd) => Err(unbelievable_error(&odd)),
            None => Ok(kinds.into_iter().map(Arc::new).collect()),
        }
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        let about = ExpectedAnswer::objects_in(kind, namespace);
        self.send_list(
            kind,
            &about,
            LinkRequest::List { kind: (**kind).clone(), namespace: to_owned_namespace(namespace) },
        )
        .await
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        let about = ExpectedAnswer::objects_in(kind, Some(namespace));
        let (namespace, label) = (namespace.to_owned(), label.to_owned());
        self.send_list(kind, &about, LinkRequest::ListLabelled { kind: (**kind).clone(), namespace, label })
            .await
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let about = ExpectedAnswer::objects_in(kind, namespace);
        self.send_meta_list(
            &about,
            LinkRequest::ListMeta { kind: (**kind).clone(), namespace: to_owned_namespace(namespace) },
        )
        .await
    }

    async fn list_identities(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        let about = ExpectedAnswer::objects_in(kind, namespace);
        self.send_meta_list(
            &about,
            LinkRequest::ListIdentities { kind: (**kind).clone(), namespace: to_owned_namespace(namespace) },
        )
        .await
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        let ask = LinkRequest::Get { kind: (**kind).clone(), key: key.clone() };
        self.send(ask).await?.into_object(kind, &ExpectedAnswer::single_object(kind, key)).await
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        let ask = LinkRequest::Create { kind: (**kind).clone(), body: body.clone(), change };
        self.send_write(kind, &ExpectedAnswer::created_object(kind, body), ask).await
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        let about = ExpectedAnswer::single_object(kind, key);
        let (key, patch) = (key.clone(), patch.clone());
        self.send_write(kind, &about, LinkRequest::Patch { kind: (**kind).clone(), key, patch }).await
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        let (key, preconditions) = (key.clone(), preconditions.clone());
        self.send_for_value(LinkRequest::Delete { kind: (**kind).clone(), key, preconditions }).await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        let ask = LinkRequest::Watch {
            kind: (**kind).clone(),
            namespace: to_owned_namespace(namespace),
            resource_version: resource_version.to_owned(),
        };
        let answer = self.send(ask).await?;
        let about = ExpectedAnswer::objects_in(kind, namespace);
        let events =
            stream::try_unfold((answer, kind.clone(), about), |(mut answer, kind, about)| async move {
                let event = match answer.next().await? {
                    None => return Ok(None),
                    Some((Tag::Applied, body)) => Event::Applied(parse_object(&kind, &about, body)?),
                    Some((Tag::Deleted, body)) => Event::Deleted(parse_object(&kind, &about, body)?),
                    other => return Err(unexpected_part_error(other)),
                };
                Ok(Some((event, (answer, kind, about))))
            });
        Ok(events.boxed())
    }

    async fn learn(&self, kinds: &[Arc<Kind>]) -> Result<()> {
        self.send_for_value(LinkRequest::Learn { kinds: kinds.iter().map(|kind| (**kind).clone()).collect() })
            .await
    }

    async fn open(&self, opening: &Opening) -> Result<()> {
        self.send_for_value(LinkRequest::Open { opening: opening.clone() }).await
    }

    async fn close(&self, closing: &Closing) -> Result<()> {
        self.send_for_value(LinkRequest::Close { closing: closing.clone() }).await
    }

    async fn proxy_get(&self, service: &ServicePath, limit: usize) -> Result<(u16, Vec<u8>)> {
        self.send_for_value(LinkRequest::ProxyGet { service: service.clone(), limit }).await
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        self.send_for_value(LinkRequest::Denied { asked: asked.to_vec() }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A move keeps the version of each list that it watches.
    // proves: T147
    #[test]
    fn list_versions_of_agents_are_short() {
        for version in ["", "17"] {
            assert_eq!(parse_version(&Bytes::from(version)).unwrap(), version);
        }
        assert!(parse_version(&Bytes::from("1".repeat(254))).is_err());
    }
}
