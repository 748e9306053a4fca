//! Forwards requests, or doesn't.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use futures::stream;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::Connect;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::faults::{Faults, Line, Partition};
use super::link::Connection;
use super::rule::{Fault, Moment, Seen};

type Body = UnsyncBoxBody<Bytes, Error>;

/// Why a connection ends without an answer.
#[derive(Debug)]
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the connection is broken on purpose")
    }
}

impl std::error::Error for Broken {}

/// The way to the server, and its faults.
pub(super) struct Forwarder<C> {
    pub(super) client: Client<C, Incoming>,
    pub(super) authority: Authority,
    pub(super) faults: Faults,
}

/// Serves one client's connection until either side ends it.
pub(super) async fn serve<C>(connection: Connection, forwarder: Arc<Forwarder<C>>)
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let resetter = connection.resetter();
    let service = service_fn(|request| {
        let (forwarder, resetter) = (forwarder.clone(), resetter.clone());
        // A connection that ends without an answer ends with a reset.
        async move { forwarder.handle(request).await.inspect_err(|_| resetter.arm()) }
    });
    // The client sees how its connection ends; nothing here has to.
    let _ =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
}

impl<C: Connect + Clone + Send + Sync + 'static> Forwarder<C> {
    async fn handle(&self, request: Request<Incoming>) -> Result<Response<Body>> {
        let seen = seen(&request);
        let is_watch = seen.is_watch();
        let fault = self.faults.judge(seen);
        let mut line = self.faults.line();
        let delay = self.faults.half_delay();
        pause(delay).await;
        passable(&mut line).await?;
        match &fault {
            Some(Fault::Answer { status, retry_after }) => {
                // An unread body would break the connection, and clients would notice that instead of the answer.
                request.into_body().collect().await?;
                pause(delay).await;
                return answer(*status, *retry_after);
            }
            Some(Fault::ResetBefore) => return Err(Broken.into()),
            Some(Fault::Hang) => std::future::pending::<()>().await,
            Some(Fault::Run(Moment::Before, action)) => action.clone().run().await,
            Some(Fault::Run(Moment::Instead, action)) => {
                action.clone().run().await;
                return Err(Broken.into());
            }
            _ => {}
        }
        let response = self.client.request(self.redirect(request)?).await?;
        match &fault {
            Some(Fault::ResetAfter) => return Err(Broken.into()),
            Some(Fault::Delay(more)) => sleep(*more).await,
            Some(Fault::Run(Moment::After, action)) => action.clone().run().await,
            _ => {}
        }
        pause(delay).await;
        passable(&mut line).await?;
        let cut = match fault {
            Some(Fault::CutAfter(after)) => Some(after),
            _ => None,
        };
        Ok(response
            .map(|body| if is_watch || cut.is_some() { breakable(body, line, cut) } else { whole(body) }))
    }

    /// The same request, addressed to the server.
    fn redirect(&self, request: Request<Incoming>) -> Result<Request<Incoming>> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        parts.uri = Uri::builder()
            .scheme(Scheme::HTTPS)
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()?;
        // It is about the client's connection, not about the proxy's.
        parts.headers.remove(CONNECTION);
        Ok(Request::from_parts(parts, body))
    }
}

fn seen(request: &Request<Incoming>) -> Seen {
    let user_agent = request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok());
    Seen {
        method: request.method().clone(),
        path: request.uri().path_and_query().map(ToString::to_string).unwrap_or_default(),
        user_agent: user_agent.unwrap_or_default().to_owned(),
    }
}

/// Sleeps, but returns immediately for zero: a timer costs a millisecond.
async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

/// Waits while the network is partitioned; an error if it refuses.
async fn passable(line: &mut watch::Receiver<Line>) -> Result<()> {
    match line.wait_for(|line| line.partition != Partition::Hang).await?.partition {
        Partition::Refuse => Err(Broken.into()),
        Partition::None | Partition::Hang => Ok(()),
    }
}

/// An error as the API server would word it.
fn answer(status: u16, retry_after: Option<u64>) -> Result<Response<Body>> {
    let code = StatusCode::from_u16(status)?;
    let reason = match status {
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    };
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("the lab says {code}"), "reason": reason, "code": status,
        "details": { "retryAfterSeconds": retry_after.unwrap_or(0) },
    });
    let body = Full::new(Bytes::from(body.to_string())).map_err(Error::from).boxed_unsync();
    let mut response = Response::builder().status(code).header(CONTENT_TYPE, "application/json");
    if let Some(seconds) = retry_after {
        response = response.header(RETRY_AFTER, HeaderValue::from(seconds));
    }
    Ok(response.body(body)?)
}

fn whole(body: Incoming) -> Body {
    body.map_err(Error::from).boxed_unsync()
}

/// A body that ends in an error at its time, when watches are cut, and when the network refuses; it waits while the network
/// hangs.
fn breakable(body: Incoming, line: watch::Receiver<Line>, cut: Option<Duration>) -> Body {
    let cuts = line.borrow().cuts;
    let deadline = cut.map(|after| Instant::now() + after);
    let frames = stream::unfold(Some((body, line)), move |state| async move {
        let (mut body, mut line) = state?;
        loop {
            let now = *line.borrow_and_update();
            if now.partition == Partition::Refuse || now.cuts != cuts {
                return Some((Err(Error::from(Broken)), None));
            }
            tokio::select! {
                biased;
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    return Some((Err(Error::from(Broken)), None));
                }
                changed = line.changed() => if changed.is_err() { return None },
                frame = body.frame(), if now.partition == Partition::None => {
                    let frame = frame?.map_err(Error::from);
                    return Some((frame, Some((body, line))));
                }
            }
        }
    });
    StreamBody::new(frames).boxed_unsync()
}
