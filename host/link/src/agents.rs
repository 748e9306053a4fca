//! The end that is called: takes the connections of agents, each by the name in its certificate.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{pending, select};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, broadcast};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::enrolment::Enrolment;
use crate::name::AgentName;
use crate::papers::{Papers, PapersError};
use crate::place::{Alive, Greeted, LinkError, LinkPlace, greeted};
use crate::turned::{PATIENCE, Turned};

/// How many may be at that at once: none of them has said yet who it is.
const STRANGERS: usize = 64;
/// How many calls may wait to be heard of.
const WAITING: usize = 256;

/// The agents that have called.
pub struct Agents {
    known: Known,
    links: Mutex<BTreeMap<AgentName, Arc<LinkPlace>>>,
    calls: broadcast::Sender<AgentName>,
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

impl Agents {
    /// With these papers, if they can be used.
    pub fn new(papers: Papers) -> Result<Self, PapersError> {
        papers.acceptor()?;
        Ok(Self::known(Known::Papers(papers)))
    }

    /// Those that this controller invites itself.
    pub fn enrolled(enrolment: Arc<Enrolment>) -> Self {
        Self::known(Known::Enrolled(enrolment))
    }

    fn known(known: Known) -> Self {
        Self { known, links: Mutex::default(), calls: broadcast::Sender::new(WAITING) }
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
        let strangers = Arc::new(Semaphore::new(STRANGERS));
        let mut connections = JoinSet::new();
        loop {
            // It is never closed.
            let Ok(stranger) = strangers.clone().acquire_owned().await else { continue };
            while connections.try_join_next().is_some() {}
            let Ok((stream, from)) = listener.accept().await else {
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let agents = self.clone();
            connections.spawn(async move {
                match agents.take(stream).await {
                    Ok(Taken::Link(name, alive)) => {
                        drop(stranger);
                        tracing::info!(agent = %name, %from, "an agent is connected");
                        alive.await;
                        tracing::info!(agent = %name, %from, "the link of an agent has ended");
                    }
                    Ok(Taken::Served) => {}
                    Err(error) => tracing::warn!(%error, %from, "a connection is not taken"),
                }
            });
        }
    }

    async fn take(&self, stream: TcpStream) -> Result<Taken, Turned> {
        stream.set_nodelay(true)?;
        let (stream, name, admitted) = match &self.known {
            Known::Papers(papers) => {
                let tls = papers.acceptor()?;
                let stream = timeout(PATIENCE, tls.accept(stream)).await.map_err(|_| Turned::Silent)??;
                let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
                let name = certificates.first().and_then(AgentName::of).ok_or(Turned::Nameless)?;
                (stream, name, None)
            }
            Known::Enrolled(enrolment) => {
                let taken = timeout(PATIENCE, enrolment.take(stream)).await.map_err(|_| Turned::Silent)??;
                let Some((stream, admitted)) = taken else { return Ok(Taken::Served) };
                (stream, admitted.name.clone(), Some((enrolment.clone(), admitted)))
            }
        };
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
        let (place, alive) = LinkPlace::begun(greeted);
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
