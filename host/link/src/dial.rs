//! The agent's end: calls, serves on the connection, and calls again when it has ended.

use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use pivot_core::records::plugin_set::PluginSet;
use pivot_places::Place;
use tokio::io::duplex;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_rustls::client::TlsStream;

use crate::credentials::{Credentials, CredentialsError};
use crate::guard::Guard;
use crate::place::LinkPlace;
use crate::reach::{ReachError, connect_to_controller, parse_host};
use crate::return_offers::{ReturnOffers, ReturnState};
use crate::serve::FarEnd;
use crate::tls_files::{TlsFiles, TlsFilesError};

/// The pause before the next call doubles up to the longest; after a link that lasted it is the first again.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
const LASTED: Duration = Duration::from_secs(60);
/// Links in a row that don't last before the agent reports them.
const SHORT_LINKS: u32 = 3;
/// Pause before an agent tries again to finish a move alone.
const AGAIN: Duration = Duration::from_secs(60);
/// Bytes in flight on a connection of an agent to itself.
const BUFFER: usize = 64 << 10;

/// An agent: calls a controller, and answers requests about a place.
pub struct Agent {
    address: String,
    shows: Shows,
    far: Arc<FarEnd>,
    /// Since when there is no link, if there is none.
    away: watch::Sender<Option<Instant>>,
    alone: Option<Alone>,
    /// Clusters that may move out of the agent's cluster, if its administrator allows that.
    returns: Option<ReturnOffers>,
}

/// Shows whether an agent has a link.
#[derive(Clone, Debug)]
pub struct LinkStatus(watch::Receiver<Option<Instant>>);

impl LinkStatus {
    /// Returns true while the controller asks on a connection of the agent.
    pub fn is_linked(&self) -> bool {
        self.0.borrow().is_none()
    }
}

/// A task that the agent does by itself.
struct Alone {
    /// Once it was without a link for this long.
    after: Duration,
    finish: Finish,
}

/// Finishes moves in the agent's cluster as far as that is possible there, and reports the result itself. Returns true if it
/// must be tried again.
///
/// What is left the other side wrote down, so the agent's guard judges what is done about it as if the other side had asked.
pub type Finish = Box<dyn Fn(Arc<dyn Place>, Returned) -> BoxFuture<'static, bool> + Send + Sync>;

/// Ends when there is a link again. The task should then stop, and leave the rest to the other side.
pub type Returned = BoxFuture<'static, ()>;

/// The identity that the agent shows.
enum Shows {
    TlsFiles(TlsFiles),
    Credentials(Credentials),
}

/// Reasons why there is no link.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The agent can't show who it is.
    #[error(transparent)]
    TlsFiles(#[from] TlsFilesError),
    /// An invited agent has no credentials.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// There is no connection.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// Several links in a row ended soon.
    #[error(
        "{0}: each of the last {SHORT_LINKS} links ended within {seconds} seconds: the network cuts them, or another agent runs with the \
         same credentials, and each ends the link of the other",
        seconds = LASTED.as_secs()
    )]
    Short(String),
    /// There was one, and nothing was asked on it.
    #[error(
        "{address}: the controller rejects this agent{why}: it was removed there, its certificate isn't good, or another agent \
         of its name is linked; the controller's log says which"
    )]
    Rejected {
        /// The address.
        address: String,
        /// The reason, as TLS reports it.
        why: String,
    },
}

impl Agent {
    /// Calls `HOST:PORT` with these papers, if they can be used.
    pub fn new(
        address: String,
        papers: TlsFiles,
        place: Arc<dyn Place>,
        guard: Guard,
    ) -> Result<Self, DialError> {
        papers.connector()?;
        parse_host(&address)?;
        Ok(Self::with_identity(address, Shows::TlsFiles(papers), FarEnd::new(place, guard)))
    }

    /// Creates an agent that calls `HOST:PORT` by an invitation, and then with the certificate that it received.
    pub fn with_invitation(
        address: String,
        credentials: Credentials,
        place: Arc<dyn Place>,
        guard: Guard,
    ) -> Result<Self, DialError> {
        parse_host(&address)?;
        Ok(Self::with_identity(address, Shows::Credentials(credentials), FarEnd::new(place, guard)))
    }

    fn with_identity(address: String, shows: Shows, far: Arc<FarEnd>) -> Self {
        Self {
            address,
            shows,
            far,
            away: watch::Sender::new(Some(Instant::now())),
            alone: None,
            returns: None,
        }
    }

    /// Returns the agent with a task for the time without a link: after that long, it finishes moves with these plugins. Meanwhile, it
    /// refuses every request over a link.
    #[must_use]
    pub fn finishing(self, after: Duration, plugins: PluginSet, finish: Finish) -> Self {
        Self { far: self.far.with_plugins(plugins), alone: Some(Alone { after, finish }), ..self }
    }

    /// Returns the agent with permission to move Clusters out of its cluster that users of the cluster annotate for that.
    #[must_use]
    pub fn allow_return(self) -> Self {
        Self { returns: self.far.return_offers(), ..self }
    }

    /// Returns the status of the link, which follows the agent.
    pub fn link_status(&self) -> LinkStatus {
        LinkStatus(self.away.subscribe())
    }

    /// Keeps a link until it is dropped; `tell` hears of each that begins, and why there is none.
    pub async fn keep(&self, tell: impl Fn(Result<(), &DialError>) + Send + Sync) -> Infallible {
        let renewed = async {
            match &self.shows {
                Shows::TlsFiles(_) => pending().await,
                Shows::Credentials(credentials) => credentials.keep_renewed(&self.address).await,
            }
        };
        let forgotten = async {
            if let (None, Some(offers)) = (&self.returns, self.far.return_offers()) {
                offers.forget_consent().await;
            }
            pending().await
        };
        tokio::select! {
            never = self.keep_linked(tell) => never,
            never = renewed => never,
            never = forgotten => never,
            never = self.finishes() => never,
        }
    }

    /// Finishes alone, once for each time that the link is away for long enough.
    async fn finishes(&self) -> Infallible {
        let Some(Alone { after, finish }) = &self.alone else { return pending().await };
        let mut away = self.away.subscribe();
        // It is never closed.
        let changed = async |away: &mut watch::Receiver<_>| drop(away.changed().await);
        loop {
            let Some(since) = *away.borrow_and_update() else {
                changed(&mut away).await;
                continue;
            };
            let mut next = since + *after;
            loop {
                tokio::select! {
                    () = changed(&mut away) => break,
                    () = sleep_until(next) => {}
                }
                let alone = self.far.wait_for_all().await;
                // The last of what was asked may have been waited for while a new link began.
                if away.has_changed().unwrap_or(true) {
                    break;
                }
                let again = self.run_finish(finish).await;
                drop(alone);
                if !again {
                    changed(&mut away).await;
                    break;
                }
                next = Instant::now() + AGAIN;
            }
        }
    }

    async fn run_finish(&self, finish: &Finish) -> bool {
        let (near, far) = duplex(BUFFER);
        let mut away = self.away.subscribe();
        let returned = async move { drop(away.wait_for(Option::is_none).await) }.boxed();
        let work = async {
            match LinkPlace::connect(near).await {
                Ok((place, alive)) => tokio::select! {
                    again = finish(place, returned) => again,
                    () = alive => true,
                },
                Err(error) => {
                    tracing::warn!(%error, "the rest of a move can't be finished here yet");
                    true
                }
            }
        };
        let itself = self.far.without_turn();
        // It ends with the connection, once each write that was begun has its answer.
        let (again, _) = tokio::join!(work, itself.serve_connection(far, Arc::default(), pending()));
        again
    }

    async fn keep_linked(&self, tell: impl Fn(Result<(), &DialError>) + Send + Sync) -> Infallible {
        let (mut pause, mut short) = (FIRST, 0);
        loop {
            let state = match &self.returns {
                Some(returns) => returns.prepare_link().await,
                None => ReturnState::default(),
            };
            let far = self.far.take_source_role(&state);
            match self.dial().await {
                Ok(connection) => {
                    let (begun, has_changed) = (Instant::now(), AtomicBool::new(false));
                    let changes = async {
                        match &self.returns {
                            Some(returns) => returns.wait_for_change(&state).await,
                            None => pending().await,
                        }
                        has_changed.store(true, Ordering::Relaxed);
                    };
                    let served = self.serve_connection(&far, connection, changes, &tell).await;
                    let lasted = has_changed.load(Ordering::Relaxed) || begun.elapsed() >= LASTED;
                    short = if lasted || served.is_err() { 0 } else { short + 1 };
                    match served {
                        Err(error) => tell(Err(&error)),
                        Ok(()) if short >= SHORT_LINKS => tell(Err(&DialError::Short(self.address.clone()))),
                        Ok(()) => {}
                    }
                    if lasted {
                        pause = FIRST;
                    }
                }
                Err(error) => tell(Err(&error)),
            }
            sleep(randomize_pause(pause)).await;
            pause = (pause * 2).min(LONGEST);
        }
    }

    /// Serves on a connection until it ends. It counts as a link once something is asked on it: TLS ends at the agent before the
    /// controller has looked at its certificate.
    async fn serve_connection(
        &self,
        far: &Arc<FarEnd>,
        connection: TlsStream<TcpStream>,
        ends: impl Future<Output = ()>,
        tell: &(impl Fn(Result<(), &DialError>) + Send + Sync),
    ) -> Result<(), DialError> {
        let (asked, linked) = (Arc::new(Notify::new()), AtomicBool::new(false));
        let greeted = async {
            asked.notified().await;
            linked.store(true, Ordering::Relaxed);
            self.away.send_replace(None);
            tell(Ok(()));
            pending::<Infallible>().await
        };
        let served = tokio::select! {
            served = far.serve_connection(connection, asked.clone(), ends) => served,
            never = greeted => match never {},
        };
        if let Err(error) = &served {
            tracing::debug!(%error, "the link has ended");
        }
        if linked.load(Ordering::Relaxed) {
            self.away.send_replace(Some(Instant::now()));
            return Ok(());
        }
        let why = served.err().map(|error| format!(" ({})", first_cause(&error))).unwrap_or_default();
        Err(DialError::Rejected { address: self.address.clone(), why })
    }

    async fn dial(&self) -> Result<TlsStream<TcpStream>, DialError> {
        let tls = match &self.shows {
            Shows::TlsFiles(papers) => papers.connector()?,
            Shows::Credentials(credentials) => credentials.connector(&self.address).await?,
        };
        Ok(connect_to_controller(&self.address, tls).await?)
    }
}

/// Returns the innermost cause. HTTP/2 wraps the reason that TLS reports.
fn first_cause(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), first_cause)
}

/// Between half of a pause and all of it: a thousand agents whose controller was restarted don't call at once.
fn randomize_pause(pause: Duration) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    pause / 2 + pause.mul_f64(f64::from(now.subsec_nanos()) / 2e9)
}
