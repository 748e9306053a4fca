//! The end that is called: takes the connections of agents, each by the name in its certificate.

use std::collections::{BTreeMap, BTreeSet};
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

use crate::enrolment::{AdmittedAgent, Enrolment};
use crate::link_request::OfferedCluster;
use crate::log_throttle::LogThrottle;
use crate::name::AgentName;
use crate::newcomers::{Newcomer, Newcomers};
use crate::place::{Alive, Greeted, LinkError, LinkPlace, greet};
use crate::rejected_connection::{HELLO, PATIENCE, RejectedConnection};
use crate::tls_files::{TlsFiles, TlsFilesError};

/// Most connections that may be undecided at once: none of them has shown yet who it is.
const STRANGERS: usize = 256;
/// Most announcements of calls that may wait for a receiver.
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

/// The source of knowledge about which agents may call.
enum Known {
    /// Certificates of the site's own authority.
    TlsFiles(TlsFiles),
    /// Certificates of the controller's authority.
    Enrolled(Arc<Enrolment>),
}

/// The outcome of a connection.
enum Taken {
    Link(AgentName, Alive),
    /// The connection was served and is finished.
    Served,
}

/// A connection whose agent is known, and its admission, if the controller gives those.
type Shown = (TlsStream<TcpStream>, AgentName, Option<(Arc<Enrolment>, AdmittedAgent)>);

/// Reads the first message of TLS.
async fn read_client_hello(stream: TcpStream) -> Result<StartHandshake<TcpStream>, RejectedConnection> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream);
    Ok(timeout(HELLO, hello).await.map_err(|_| RejectedConnection::Silent)??)
}

impl Agents {
    /// With these papers, if they can be used.
    pub fn new(papers: TlsFiles) -> Result<Self, TlsFilesError> {
        papers.server_config()?;
        Ok(Self::with_source(Known::TlsFiles(papers)))
    }

    /// Those that this controller invites itself.
    pub fn with_enrolment(enrolment: Arc<Enrolment>) -> Self {
        Self::with_source(Known::Enrolled(enrolment))
    }

    fn with_source(known: Known) -> Self {
        Self { known, links: Mutex::default(), calls: broadcast::Sender::new(WAITING), answers: None }
    }

    /// Bounds the bytes of each agent's answers that are held at once.
    pub fn with_answer_budget(self, answers: usize) -> Self {
        Self { answers: Some(answers), ..self }
    }

    /// Takes connections until it is dropped; with it all of them end.
    pub async fn listen(self: Arc<Self>, listener: TcpListener) -> Infallible {
        let removed = async {
            match &self.known {
                Known::TlsFiles(_) => pending().await,
                Known::Enrolled(enrolment) => enrolment.watch_removals().await,
            }
        };
        tokio::select! {
            never = self.clone().accept_connections(listener) => never,
            never = removed => never,
        }
    }

    async fn accept_connections(self: Arc<Self>, listener: TcpListener) -> Infallible {
        let strangers = Newcomers::new(STRANGERS);
        let quiet = Arc::new(LogThrottle::default());
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok((stream, from)) = listener.accept().await else {
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (agents, quiet, stranger) = (self.clone(), quiet.clone(), strangers.admit(from.ip()));
            connections.spawn(async move {
                match agents.take_connection(stream, stranger).await {
                    Ok(Taken::Link(name, alive)) => {
                        tracing::info!(agent = %name, %from, "an agent is connected");
                        alive.await;
                        tracing::info!(agent = %name, %from, "the link of an agent has ended");
                    }
                    Ok(Taken::Served) => {}
                    Err(error) => match quiet.admit_line(error.reason()) {
                        Some(left_out) => {
                            tracing::warn!(%error, %from, left_out, "a connection was rejected");
                        }
                        None => tracing::debug!(%error, %from, "a connection was rejected"),
                    },
                }
            });
        }
    }

    async fn take_connection(
        &self,
        stream: TcpStream,
        mut stranger: Newcomer,
    ) -> Result<Taken, RejectedConnection> {
        stream.set_nodelay(true)?;
        let shown = tokio::select! {
            shown = timeout(PATIENCE, self.identify_caller(stream)) => shown.map_err(|_| RejectedConnection::Silent)??,
            () = stranger.wait_until_displaced() => return Err(RejectedConnection::Displaced),
        };
        // It has shown who it is.
        drop(stranger);
        let Some((stream, name, admitted)) = shown else { return Ok(Taken::Served) };
        let turned = |error| RejectedConnection::Link { name: name.clone(), error };
        let greeted = timeout(PATIENCE, greet(stream))
            .await
            .map_err(|_| RejectedConnection::Silent)?
            .map_err(turned)?;
        let mut alive = self.open_link(&name, greeted).map_err(turned)?;
        if let Some((enrolment, admitted)) = admitted {
            let dismissed = async move { enrolment.wait_for_dismissal(admitted).await };
            // What is dropped with it is the connection.
            alive = select(alive, dismissed.boxed()).map(drop).boxed();
        }
        // Nobody may be waiting.
        drop(self.calls.send(name.clone()));
        Ok(Taken::Link(name, alive))
    }

    /// Identifies the caller. Returns `None` if the connection was served and is finished.
    async fn identify_caller(&self, stream: TcpStream) -> Result<Option<Shown>, RejectedConnection> {
        Ok(match &self.known {
            Known::TlsFiles(papers) => {
                let hello = read_client_hello(stream).await?;
                let stream = hello.into_stream(papers.server_config()?).await?;
                let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
                let name = certificates
                    .first()
                    .and_then(AgentName::from_certificate)
                    .ok_or(RejectedConnection::Nameless)?;
                Some((stream, name, None))
            }
            Known::Enrolled(enrolment) => {
                let taken = enrolment.take_connection(read_client_hello(stream).await?).await?;
                taken.map(|(stream, admitted)| {
                    let name = admitted.name.clone();
                    (stream, name, Some((enrolment.clone(), admitted)))
                })
            }
        })
    }

    fn open_link(&self, name: &AgentName, greeted: Greeted) -> Result<Alive, LinkError> {
        let mut links = self.links();
        match links.get(name) {
            Some(place) if place.is_of(&greeted) => {
                if place.is_connected() {
                    tracing::warn!(
                        agent = %name,
                        "another connection of this agent takes the place of its link; if that repeats, two agents run with the same \
                         credentials"
                    );
                }
                return Ok(place.take_connection(greeted));
            }
            // A certificate that was copied takes over no link. When the first is away, it may have been made anew.
            Some(place) if place.is_connected() => return Err(LinkError::OtherPlace),
            _ => {}
        }
        let (place, alive) = LinkPlace::from_greeted(greeted, self.answers.map(Budget::new));
        links.insert(name.clone(), place);
        Ok(alive)
    }

    /// The place of an agent, if it is connected, or calls in time.
    pub async fn wait_for_place(&self, name: &AgentName, patience: Duration) -> Option<Arc<LinkPlace>> {
        let wait = async {
            // What calls between a look and the wait counts.
            let mut calls = self.subscribe_to_calls();
            loop {
                let connected = self.links().get(name).filter(|place| place.is_connected()).cloned();
                if let Some(place) = connected {
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
            Known::TlsFiles(_) => None,
            Known::Enrolled(enrolment) => enrolment.reason_for_absence(name).await,
        };
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("agent {name} is not connected{reason}")
    }

    /// The agents that call from now on.
    pub fn subscribe_to_calls(&self) -> broadcast::Receiver<AgentName> {
        self.calls.subscribe()
    }

    /// Returns the Clusters that the users of each connected agent's cluster want to move back.
    pub fn list_offers(&self) -> Vec<(AgentName, BTreeSet<OfferedCluster>)> {
        let links = self.links();
        let connected = links.iter().filter(|(_, place)| place.is_connected());
        connected
            .map(|(name, place)| (name.clone(), place.offers()))
            .filter(|(_, offers)| !offers.is_empty())
            .collect()
    }

    /// Returns the number of connected agents.
    pub fn connected_count(&self) -> usize {
        self.links().values().filter(|place| place.is_connected()).count()
    }

    fn links(&self) -> MutexGuard<'_, BTreeMap<AgentName, Arc<LinkPlace>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
