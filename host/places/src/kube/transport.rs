//! One request, one answer: raw bytes in and out, every failure mapped to a [`PlaceError`].
//!
//! `kube::Client` is used only for connections and credentials. Its typed calls parse bodies into trees, and log the whole body
//! if that fails; objects here stay bytes and are never logged.

use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::kube::client::{AuthError, Body};
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WARNING};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use pivot_core::Object;
use pivot_core::messages::safe_text::to_line;

use super::access;
use super::status::{self, KubeStatus, Quote};
use crate::budget::{Budget, Share};
use crate::pace::Pace;
use crate::place::{Access, PlaceError, Result};

/// Longest silence of a server: before it answers, and between two pieces of an answer. A large list as a whole may take longer.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer that is read by default: an object has 1.5 MiB at most, and ten thousand kinds fit in.
const ANSWER_LIMIT: usize = 32 << 20;
/// Bytes of an answer that need no budget while it is read, unless it is a list: more than an object has. So the answer to a write is
/// read even if the budget is used up.
const FREE_BYTES: usize = 2 << 20;
/// Most bytes of an error answer that are read.
const REFUSAL_LIMIT: usize = 1 << 20;
/// At most this part of a kept answer's memory is unused.
const MAX_UNUSED_PART: usize = 16;
/// After this many different warnings no more are passed on.
const WARNINGS_LIMIT: usize = 100;
/// Most bytes of a credential plugin's message to people that are passed on.
const STDERR_LIMIT: usize = 500;

/// Message about a foreign server without a connection, whatever the reason.
const NO_CONNECTION: &str = "no connection to its server; the log of pivot-host says why";
/// Messages about a foreign server that speaks TLS, if one side doesn't trust the other.
const DISTRUSTED_SERVER: &str = "invalid peer certificate";
const DISTRUSTED_CLIENT: &str = "the server doesn't accept the client's certificate";

pub(super) const JSON: &str = "application/json";
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";
/// Metadata only, or whole objects if the server doesn't support that.
pub(super) const METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// A request before it is sent.
#[derive(Debug)]
pub(super) struct KubeRequest<'a> {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) accept: &'a str,
    pub(super) content_type: &'a str,
    pub(super) body: Bytes,
    /// The parts of the object that an error may quote.
    pub(super) quote: Quote,
    /// The largest answer that is read, in bytes.
    pub(super) limit: usize,
    /// Description of the request for people, without content: `create Secret`.
    pub(super) about: String,
}

impl<'a> KubeRequest<'a> {
    /// Creates a GET request.
    pub(super) fn get(path: String, about: String) -> Self {
        Self {
            method: Method::GET,
            path,
            accept: JSON,
            content_type: "",
            body: Bytes::new(),
            quote: Quote::Message,
            limit: ANSWER_LIMIT,
            about,
        }
    }

    /// Sets the format of the answer.
    pub(super) fn with_accept(self, accept: &'a str) -> Self {
        Self { accept, ..self }
    }

    /// Sets the largest answer that is read.
    pub(super) fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Sets the method and body.
    pub(super) fn with_body(self, method: Method, content_type: &'a str, body: impl Into<Bytes>) -> Self {
        Self { method, content_type, body: body.into(), ..self }
    }

    /// Sets how much of the object an error may quote.
    pub(super) fn with_quote(self, quote: Quote) -> Self {
        Self { quote, ..self }
    }
}

/// An error answer, and whether the API server itself sent it.
#[derive(Debug)]
pub(super) struct ErrorAnswer {
    pub(super) error: PlaceError,
    /// The answer was a `Status`: not a proxy's page, not the mux's "404 page not found".
    pub(super) authentic: bool,
    /// The answer didn't fit into what may be held.
    pub(super) exceeds_budget: bool,
}

impl From<ErrorAnswer> for PlaceError {
    fn from(refusal: ErrorAnswer) -> Self {
        refusal.error
    }
}

impl From<PlaceError> for ErrorAnswer {
    fn from(error: PlaceError) -> Self {
        Self { error, authentic: false, exceeds_budget: false }
    }
}

/// The origin of the server and the user, for errors; empty for a client created elsewhere.
#[derive(Clone, Default)]
pub(super) struct ServerDescription {
    /// Added to the error if the server doesn't know the user, such as when the client certificate expires.
    pub(super) credentials: String,
    /// Added to the error if the server's certificate is not trusted.
    pub(super) server: String,
    /// Whether the author of the kubeconfig must not learn which addresses can be reached from here.
    pub(super) is_foreign: bool,
}

/// Connections to one API server.
#[derive(Clone)]
pub(super) struct Transport {
    client: ::kube::Client,
    described: ServerDescription,
    /// The server's warnings so far.
    warnings: Arc<Mutex<BTreeSet<String>>>,
    /// Permissions that requests so far needed.
    used: Arc<Mutex<BTreeSet<Access>>>,
    /// Bounds what is held of the server's answers.
    budget: Option<Budget>,
}

impl ServerDescription {
    /// Returns the error for a failure below HTTP. For a foreign server, it only tells whether a server there speaks TLS.
    pub(super) fn connection_error(&self, error: &::kube::Error, about: &str) -> PlaceError {
        let error = connection_error(error, about);
        if !self.is_foreign {
            return self.add_to(error);
        }
        tracing::warn!(%error, server = self.server, "there is no connection");
        match error {
            PlaceError::Untrusted(_) => {
                self.add_to(PlaceError::Untrusted(format!("{about}: {DISTRUSTED_SERVER}")))
            }
            PlaceError::Unauthorized(_) => {
                self.add_to(PlaceError::Unauthorized(format!("{about}: {DISTRUSTED_CLIENT}")))
            }
            _ => PlaceError::Unavailable(format!("{about}: {NO_CONNECTION}")),
        }
    }

    fn silence_error(&self, about: &str) -> PlaceError {
        match self.is_foreign {
            true => PlaceError::Unavailable(format!("{about}: {NO_CONNECTION}")),
            false => silence_error(about),
        }
    }

    /// Adds to an error the thing that a user must look at.
    pub(super) fn add_to(&self, mut error: PlaceError) -> PlaceError {
        let (text, what) = match &mut error {
            PlaceError::Unauthorized(text) => (text, &self.credentials),
            PlaceError::Untrusted(text) => (text, &self.server),
            _ => return error,
        };
        if !what.is_empty() {
            text.push_str("; ");
            text.push_str(what);
        }
        error
    }
}

impl Transport {
    pub(super) fn new(client: ::kube::Client, described: ServerDescription, budget: Option<Budget>) -> Self {
        Self { client, described, warnings: Arc::default(), used: Arc::default(), budget }
    }

    /// Returns these connections with so many bytes of the budget.
    pub(super) fn limit_answers(&self, bytes: usize) -> Self {
        let budget = self.budget.as_ref().map_or_else(|| Budget::new(bytes), |whole| whole.allot(bytes));
        Self { budget: Some(budget), ..self.clone() }
    }

    /// Permissions that requests so far needed.
    pub(super) fn used_access(&self) -> BTreeSet<Access> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn record_access(&self, method: &Method, path: &str) {
        if let Some(access) = access::needed_access(method, path) {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(access);
        }
    }

    /// Creates an empty share of the budget, if there is one.
    pub(super) fn share(&self) -> Option<Share> {
        self.budget.as_ref().map(Budget::share)
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn call(&self, ask: KubeRequest<'_>) -> Result<Bytes, ErrorAnswer> {
        Ok(self.call_within(ask, FREE_BYTES).await?.0)
    }

    /// Sends a request and reads the whole answer, and returns the share of the budget that it takes.
    pub(super) async fn call_held(
        &self,
        ask: KubeRequest<'_>,
    ) -> Result<(Bytes, Option<Share>), ErrorAnswer> {
        self.call_within(ask, 0).await
    }

    /// Has an object that was read on its own hold its part of the budget, for as long as it is kept.
    pub(super) fn hold_object(&self, object: &mut Object, about: &str) -> Result<()> {
        if let Some(budget) = &self.budget {
            object.meta.held = budget.share_of_object(object.raw().len(), about)?.into_held();
        }
        Ok(())
    }

    /// Sends a request and reads the whole answer, of which this many bytes are free.
    async fn call_within(
        &self,
        ask: KubeRequest<'_>,
        free: usize,
    ) -> Result<(Bytes, Option<Share>), ErrorAnswer> {
        let (about, limit) = (ask.about.clone(), ask.limit);
        let response = self.open_response(ask).await?;
        let mut share = self.share();
        let answer =
            read_body(response.into_body(), limit, &about, share.as_mut().map(|share| (share, free))).await?;
        Ok((answer, share))
    }

    /// Sends a request and leaves the answer's body to be read.
    pub(super) async fn open_response(&self, ask: KubeRequest<'_>) -> Result<Response<Body>, ErrorAnswer> {
        let KubeRequest { method, path, accept, content_type, body, quote, limit: _, about } = ask;
        self.record_access(&method, &path);
        let mut builder = Request::builder().method(method).uri(path).header(ACCEPT, accept);
        if !content_type.is_empty() {
            builder = builder.header(CONTENT_TYPE, content_type);
        }
        let request = builder
            .body(Body::from(body))
            .map_err(|error| PlaceError::Invalid(format!("{about}: not a request: {error}")))?;
        let response = match tokio::time::timeout(SILENCE_TIMEOUT, self.client.send(request)).await {
            Err(_) => return Err(self.described.silence_error(&about).into()),
            Ok(Err(error)) => return Err(self.described.connection_error(&error, &about).into()),
            Ok(Ok(response)) => response,
        };
        // Metadata lists cover every kind, including deprecated ones, which no user chose.
        if accept != METADATA {
            self.pass_on_warnings(response.headers(), quote, &about);
        }
        let code = response.status();
        if code.is_success() {
            return Ok(response);
        }
        let retry_after = parse_retry_after(response.headers());
        let body = match read_body(response.into_body(), REFUSAL_LIMIT, &about, None).await {
            // The connection broke: a part of an answer is no answer of the server.
            Err(refusal @ ErrorAnswer { error: PlaceError::Unavailable(_), .. }) => return Err(refusal),
            // If the body is too long, there is still the status code.
            body => body.unwrap_or_default(),
        };
        let status = KubeStatus::parse(&body);
        let error = status::to_place_error(code, retry_after, status.as_ref(), quote, &about);
        Err(ErrorAnswer {
            error: self.described.add_to(error),
            authentic: status.is_some(),
            exceeds_budget: false,
        })
    }

    /// Sends a GET that another program answers. Returns its code and body unchanged, up to a limit.
    pub(super) async fn pass_through(&self, path: String, limit: usize, about: &str) -> Result<(u16, Bytes)> {
        self.record_access(&Method::GET, &path);
        let request = Request::get(path)
            .body(Body::empty())
            .map_err(|error| PlaceError::Invalid(format!("{about}: not a request: {error}")))?;
        let response = match tokio::time::timeout(SILENCE_TIMEOUT, self.client.send(request)).await {
            Err(_) => return Err(self.described.silence_error(about)),
            Ok(Err(error)) => return Err(self.described.connection_error(&error, about)),
            Ok(Ok(response)) => response,
        };
        let code = response.status().as_u16();
        Ok((code, read_body(response.into_body(), limit, about, None).await?))
    }

    /// Logs deprecations and the like, each once. They may quote the object, so a Secret's are not passed on. Warnings about the
    /// form of finalizer names apply to every Cluster API object.
    fn pass_on_warnings(&self, headers: &HeaderMap, quote: Quote, about: &str) {
        if quote == Quote::Names {
            return;
        }
        for warning in headers.get_all(WARNING).iter().filter_map(|value| value.to_str().ok()) {
            let mut known = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
            let new = known.len() < WARNINGS_LIMIT && !known.contains(warning);
            if new {
                known.insert(warning.to_owned());
                // Filters of log lines tell them apart by their target.
                match warning.contains("prefer a domain-qualified finalizer name") {
                    true => {
                        tracing::warn!(target: "pivot_places::kube::transport::finalizers", about, warning, "the API server warns");
                    }
                    false => tracing::warn!(about, warning, "the API server warns"),
                }
            }
        }
    }
}

/// Reads a body into one buffer, within a budget if there is one, except for the bytes that are free.
async fn read_body<B>(
    mut body: B,
    limit: usize,
    about: &str,
    mut share: Option<(&mut Share, usize)>,
) -> Result<Bytes, ErrorAnswer>
where
    B: http_body::Body<Data = Bytes, Error = ::kube::Error> + Unpin,
{
    let pace = Pace::begin();
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    // For a server that announces a lot, the buffer grows only as data arrives.
    let most = if share.is_some() { 1 << 20 } else { 64 << 20 };
    let mut buffer = BytesMut::with_capacity(expected.min(most).min(limit));
    loop {
        let frame = match tokio::time::timeout(SILENCE_TIMEOUT, body.frame()).await {
            Err(_) => return Err(silence_error(about).into()),
            Ok(None) => return Ok(into_exact(buffer)),
            Ok(Some(Err(error))) => return Err(connection_error(&error, about).into()),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        if buffer.len() + data.len() > limit {
            let text = format!("{about}: the answer is larger than {limit} bytes");
            return Err(PlaceError::Unreadable(text).into());
        }
        if let Some((share, free)) = &mut share {
            let counted = |bytes: usize| bytes.saturating_sub(*free);
            let more = counted(buffer.len() + data.len()) - counted(buffer.len());
            share.grow(more, about).map_err(|error| ErrorAnswer { exceeds_budget: true, ..error.into() })?;
        }
        buffer.extend_from_slice(&data);
        pace.check(buffer.len().try_into().unwrap_or(u64::MAX), about)?;
    }
}

/// Returns an answer in memory of about its own size. A buffer that grows by doubling may be half empty, and each object of a list
/// keeps its whole page.
fn into_exact(buffer: BytesMut) -> Bytes {
    let unused = buffer.capacity() - buffer.len();
    if unused > buffer.len() / MAX_UNUSED_PART { Bytes::copy_from_slice(&buffer) } else { buffer.freeze() }
}

fn silence_error(about: &str) -> PlaceError {
    PlaceError::Unavailable(format!("{about}: nothing for {} seconds", SILENCE_TIMEOUT.as_secs()))
}

/// Returns the error for a failure below HTTP. Retrying doesn't fix a failure of trust.
pub(super) fn connection_error(error: &::kube::Error, about: &str) -> PlaceError {
    let cause: &(dyn StdError + 'static) = match error {
        // Has no text itself.
        ::kube::Error::Service(cause) => cause.as_ref(),
        other => other,
    };
    let text = format!("{about}: {}", error_chain(cause));
    // The server's own verdict about the client's certificate is an alert.
    match error {
        ::kube::Error::Auth(_) => PlaceError::Unauthorized(text),
        _ if text.contains("fatal alert") => PlaceError::Unauthorized(text),
        _ if text.contains("peer certificate") => PlaceError::Untrusted(text),
        _ => PlaceError::Unavailable(text),
    }
}

/// Returns an error's text with its causes, without repetition.
pub(super) fn error_chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = String::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let unquoted = credential_plugin_error_text(error);
        cause = if unquoted.is_some() { None } else { error.source() };
        let next = unquoted.unwrap_or_else(|| error.to_string());
        if text.is_empty() {
            text = next;
        } else if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
    }
    text
}

/// Returns the text for a credential plugin's failure. kube's own text quotes its environment, its arguments and its output,
/// which may contain tokens; only what the plugin wrote to stderr for people is passed on.
fn credential_plugin_error_text(error: &(dyn StdError + 'static)) -> Option<String> {
    let auth = match error.downcast_ref() {
        Some(::kube::Error::Auth(auth)) => auth,
        _ => error.downcast_ref::<AuthError>()?,
    };
    match auth {
        AuthError::AuthExecRun { cmd: _, out } => {
            let said = to_line(&String::from_utf8_lossy(&out.stderr), STDERR_LIMIT);
            let said = if said.is_empty() { said } else { format!(": {said}") };
            Some(format!("the credential plugin of the kubeconfig failed ({}){said}", out.status))
        }
        AuthError::AuthExecParse(_) | AuthError::ParseTokenKey(_) => {
            Some("the output of the kubeconfig's credential plugin is not readable".to_owned())
        }
        _ => None,
    }
}

fn parse_retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Returns true if the answer means that the object doesn't exist.
pub(super) fn is_absent(refusal: &ErrorAnswer) -> bool {
    refusal.authentic && matches!(refusal.error, PlaceError::NotFound(_))
}

/// Treats a watch's error event like an HTTP answer with its code.
pub(super) fn event_error(status: &KubeStatus, about: &str) -> PlaceError {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    status::to_place_error(code, None, Some(status), Quote::Message, about)
}

#[cfg(test)]
mod tests {
    use futures::stream::{self, StreamExt};
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    // proves: T151
    #[test]
    fn lost_connections_of_foreign_servers_read_alike() {
        let told = |cause: &str| {
            let described = ServerDescription { is_foreign: true, ..ServerDescription::default() };
            described.connection_error(&::kube::Error::Service(cause.into()), "list").to_string()
        };
        let refused = told("tcp connect error: Connection refused (os error 111)");
        for other in ["tcp connect error: deadline has elapsed", "dns error", "received corrupt message"] {
            assert_eq!(told(other), refused);
        }
        assert!(refused.contains("no connection") && !refused.contains("refused"), "{refused}");
        assert_eq!(
            told("invalid peer certificate: UnknownIssuer"),
            told("invalid peer certificate: Expired")
        );
    }

    #[test]
    fn failure_of_trust_names_the_untrusted_side() {
        let error = |cause: &str| connection_error(&::kube::Error::Service(cause.into()), "read Namespace a");
        let server = error("invalid peer certificate: UnknownIssuer");
        assert!(matches!(server, PlaceError::Untrusted(_)), "{server}");
        let client = error("received fatal alert: CertificateUnknown");
        assert!(matches!(client, PlaceError::Unauthorized(_)), "{client}");
    }

    /// An answer in pieces of these sizes, with so much time before each.
    fn body(
        pieces: impl Iterator<Item = usize> + Send + 'static,
        every: Duration,
    ) -> impl http_body::Body<Data = Bytes, Error = ::kube::Error> + Unpin {
        let frames = stream::iter(pieces).then(move |size| async move {
            tokio::time::sleep(every).await;
            Ok(Frame::data(Bytes::from(vec![b' '; size])))
        });
        StreamBody::new(frames.boxed())
    }

    /// A byte before anybody calls it silent, for ever.
    // proves: T146
    #[tokio::test(start_paused = true)]
    async fn trickling_answers_are_given_up() {
        let every = SILENCE_TIMEOUT - Duration::from_secs(1);
        let begun = tokio::time::Instant::now();
        let ErrorAnswer { error, .. } =
            read_body(body(std::iter::repeat(1), every), 1 << 20, "list", None).await.unwrap_err();
        assert!(matches!(error, PlaceError::Unavailable(_)), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(180), "{:?}", begun.elapsed());
        // A slow line that brings something is waited for.
        let slow = body(std::iter::repeat_n(500 << 10, 60), Duration::from_secs(20));
        assert_eq!(read_body(slow, 1 << 30, "list", None).await.unwrap().len(), 60 * (500 << 10));
    }

    /// A server that announces no length, as API servers do for lists.
    #[tokio::test(start_paused = true)]
    async fn answers_hold_little_unused_memory() {
        for pieces in [1, 33, 65, 100, 127] {
            let body = body(std::iter::repeat_n(16 << 10, pieces), Duration::ZERO);
            let answer = read_body(body, 1 << 30, "list", None).await.unwrap();
            let length = answer.len();
            assert_eq!(length, pieces * (16 << 10));
            let held = answer.try_into_mut().unwrap().capacity();
            assert!(held <= length + length / MAX_UNUSED_PART, "{held} bytes hold {length}");
        }
    }

    // proves: T147
    #[tokio::test(start_paused = true)]
    async fn answers_count_against_a_budget() {
        let budget = Budget::new(10 << 20);
        let mut share = budget.share();
        let large = || body(std::iter::repeat_n(1 << 20, 8), Duration::ZERO);
        read_body(large(), 1 << 30, "list", Some((&mut share, 0))).await.unwrap();
        let mut more = budget.share();
        let refused = read_body(large(), 1 << 30, "list", Some((&mut more, 0))).await.unwrap_err();
        assert!(
            refused.exceeds_budget && refused.error.to_string().contains("more than 10 MiB"),
            "{refused:?}"
        );
        // Nothing is left of it, and an object is read nevertheless.
        let object = || body(std::iter::repeat_n(1 << 19, 3), Duration::ZERO);
        let mut none = budget.share();
        read_body(object(), 1 << 30, "object", Some((&mut none, FREE_BYTES))).await.unwrap();
        assert!(read_body(object(), 1 << 30, "list", Some((&mut none, 0))).await.is_err());
        drop((share, more, none));
        read_body(large(), 1 << 30, "list", Some((&mut budget.share(), 0))).await.unwrap();
    }
}
