//! The end that is called: takes the connections of agents, each by the name in its certificate.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{pending, select};
use pivot_places::Budget;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::server::Acceptor;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use crate::enrolment::{Admitted, Enrolment};
use crate::name::AgentName;
use crate::newcomers::{Newcomer, Newcomers};
use crate::papers::{Papers, PapersError};
use crate::place::{Alive, Greeted, LinkError, LinkPlace, greeted};
use crate::quiet::Quiet;
use crate::turned::{HELLO, PATIENCE, Turned};

/// Most connections that may be undecided at once: none of them has shown yet who it is.
const STRANGERS: usize = 256;
/// How many calls may wait to be heard of.
const WAITING: usize = 256;

/// The agents that have called.
pub struct Agents {
    known: Known,
    links: Mutex<BTreeMap<AgentName, Arc<LinkPlace>>>,
    calls: broadcast::Sender<AgentName>,
    /// Bytes of each agent's answers that may be held at once.
    answers: Option<usize>,
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents").field("links", &self.links().keys()).finish_non_exhaustive()
    }
}

/// How it is known who may call.
enum Known {
    /// By certificates of an authority of the site's.
    Papers(Papers),
    /// By those of the controller's own.
    Enrolled(Arc<Enrolment>),
}

/// What became of a connection.
enum Taken {
    Link(AgentName, Alive),
    /// It got what it came for.
    Served,
}

/// A connection whose agent is known, and its admission, if the controller gives those.
type Shown = (TlsStream<TcpStream>, AgentName, Option<(Arc<Enrolment>, Admitted)>);

/// Reads the first message of TLS.
async fn said_hello(stream: TcpStream) -> Result<StartHandshake<TcpStream>, Turned> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream);
    Ok(timeout(HELLO, hello).await.map_err(|_| Turned::Silent)??)
}

impl Agents {
    /// With these papers, if they can be used.
    pub fn new(papers: Papers) -> Result<Self, PapersError> {
        papers.called()?;
        Ok(Self::known(Known::Papers(papers)))
    }

    /// Those that this controller invites itself.
    pub fn enrolled(enrolment: Arc<Enrolment>) -> Self {
        Self::known(Known::Enrolled(enrolment))
    }

    fn known(known: Known) -> Self {
        Self { known, links: Mutex::default(), calls: broadcast::Sender::new(WAITING), answers: None }
    }

    /// Bounds the bytes of each agent's answers that are held at once.
    pub fn holding(self, answers: usize) -> Self {
        Self { answers: Some(answers), ..self }
    }

    /// Takes connections until it is dropped; with it all of them end.
    pub async fn listen(self: Arc<Self>, listener: TcpListener) -> Infallible {
        let removed = async {
            match &self.known {
                Known::Papers(_) => pending().await,
                Known::Enrolled(enrolment) => enrolment.follow().await,
            }
        };
        tokio::select! {
            never = self.clone().accept(listener) => never,
            never = removed => never,
        }
    }

    async fn accept(self: Arc<Self>, listener: TcpListener) -> Infallible {
        let strangers = Newcomers::new(STRANGERS);
        let quiet = Arc::new(Quiet::default());
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok((stream, from)) = listener.accept().await else {
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (agents, quiet, stranger) = (self.clone(), quiet.clone(), strangers.admit(from.ip()));
            connections.spawn(async move {
                match agents.take(stream, stranger).await {
                    Ok(Taken::Link(name, alive)) => {
                        tracing::info!(agent = %name, %from, "an agent is connected");
                        alive.await;
                        tracing::info!(agent = %name, %from, "the link of an agent has ended");
                    }
                    Ok(Taken::Served) => {}
                    Err(error) => match quiet.may_log(error.reason()) {
                        Some(left_out) => {
                            tracing::warn!(%error, %from, left_out, "a connection was rejected");
                        }
                        None => tracing::debug!(%error, %from, "a connection was rejected"),
                    },
                }
            });
        }
    }

    async fn take(&self, stream: TcpStream, mut stranger: Newcomer) -> Result<Taken, Turned> {
        stream.set_nodelay(true)?;
        let shown = tokio::select! {
            shown = timeout(PATIENCE, self.shown(stream)) => shown.map_err(|_| Turned::Silent)??,
            () = stranger.displaced() => return Err(Turned::Displaced),
        };
        // It has shown who it is.
        drop(stranger);
        let Some((stream, name, admitted)) = shown else { return Ok(Taken::Served) };
        let turned = |error| Turned::Link { name: name.clone(), error };
        let greeted =
            timeout(PATIENCE, greeted(stream)).await.map_err(|_| Turned::Silent)?.map_err(turned)?;
        let mut alive = self.linked(&name, greeted).map_err(turned)?;
        if let Some((enrolment, admitted)) = admitted {
            let dismissed = async move { enrolment.dismissed(admitted).await };
            // What is dropped with it is the connection.
            alive = select(alive, dismissed.boxed()).map(drop).boxed();
        }
        // Nobody may be waiting.
        drop(self.calls.send(name.clone()));
        Ok(Taken::Link(name, alive))
    }

    /// Reads who calls; `None` if it got what it came for.
    async fn shown(&self, stream: TcpStream) -> Result<Option<Shown>, Turned> {
        Ok(match &self.known {
            Known::Papers(papers) => {
                let hello = said_hello(stream).await?;
                let stream = hello.into_stream(papers.called()?).await?;
                let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
                let name = certificates.first().and_then(AgentName::of).ok_or(Turned::Nameless)?;
                Some((stream, name, None))
            }
            Known::Enrolled(enrolment) => {
                let taken = enrolment.take(said_hello(stream).await?).await?;
                taken.map(|(stream, admitted)| {
                    let name = admitted.name.clone();
                    (stream, name, Some((enrolment.clone(), admitted)))
                })
            }
        })
    }

    fn linked(&self, name: &AgentName, greeted: Greeted) -> Result<Alive, LinkError> {
        let mut links = self.links();
        match links.get(name) {
            Some(place) if place.is_of(&greeted) => {
                if place.connected() {
                    tracing::warn!(
                        agent = %name,
                        "another connection of this agent takes the place of its link; if that repeats, two agents run with the same \
                         credentials"
                    );
                }
                return Ok(place.resumed(greeted));
            }
            // A certificate that was copied takes over no link. When the first is away, it may have been made anew.
            Some(place) if place.connected() => return Err(LinkError::OtherPlace),
            _ => {}
        }
        let (place, alive) = LinkPlace::begun(greeted, self.answers.map(Budget::new));
        links.insert(name.clone(), place);
        Ok(alive)
    }

    /// The place of an agent, if it is connected, or calls in time.
    pub async fn place(&self, name: &AgentName, patience: Duration) -> Option<Arc<LinkPlace>> {
        let connected = || self.links().get(name).filter(|place| place.connected()).cloned();
        let wait = async {
            // What calls between a look and the wait counts.
            let mut calls = self.calls();
            loop {
                if let Some(place) = connected() {
                    return place;
                }
                drop(calls.recv().await);
            }
        };
        timeout(patience, wait).await.ok()
    }

    /// Says that an agent is not connected, and why, as far as that is known: its name may be mistyped.
    pub async fn describe_absence(&self, name: &AgentName) -> String {
        let reason = match &self.known {
            Known::Papers(_) => None,
            Known::Enrolled(enrolment) => enrolment.reason_for_absence(name).await,
        };
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("agent {name} is not connected{reason}")
    }

    /// The agents that call from now on.
    pub fn calls(&self) -> broadcast::Receiver<AgentName> {
        self.calls.subscribe()
    }

    /// How many are connected.
    pub fn connected(&self) -> usize {
        self.links().values().filter(|place| place.connected()).count()
    }

    fn links(&self) -> MutexGuard<'_, BTreeMap<AgentName, Arc<LinkPlace>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
