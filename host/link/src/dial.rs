//! The agent's end: calls, serves on the connection, and calls again when it has ended.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use pivot_places::Place;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::guard::Guard;
use crate::papers::{Papers, PapersError};
use crate::serve::Far;

/// For a connection and its TLS.
const PATIENCE: Duration = Duration::from_secs(15);
/// The pause before the next call doubles up to the longest; after a link that lasted it is the first again.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
const LASTED: Duration = Duration::from_secs(60);

/// What calls, and answers about a place.
pub struct Agent {
    address: String,
    papers: Papers,
    far: Arc<Far>,
}

/// Why there is no link.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The agent can't show who it is.
    #[error(transparent)]
    Papers(#[from] PapersError),
    /// What is to be called is no address.
    #[error("{0:?} is not HOST:PORT")]
    Address(String),
    /// Nobody answers there.
    #[error("{address}: {error}")]
    Connect {
        /// Where.
        address: String,
        /// Why.
        error: std::io::Error,
    },
    /// Nobody answers in time.
    #[error("{0}: no answer for {seconds} seconds", seconds = PATIENCE.as_secs())]
    Late(String),
}

impl Agent {
    /// Calls `HOST:PORT` with these papers, if they can be used.
    pub fn new(
        address: String,
        papers: Papers,
        place: Arc<dyn Place>,
        guard: Guard,
    ) -> Result<Self, DialError> {
        papers.connector()?;
        host(&address)?;
        Ok(Self { address, papers, far: Far::new(place, guard) })
    }

    /// Keeps a link until it is dropped; `tell` hears of each that begins, and why there is none.
    pub async fn keep(&self, tell: impl Fn(Result<(), &DialError>) + Send + Sync) -> Infallible {
        let mut pause = FIRST;
        loop {
            match self.dial().await {
                Ok(connection) => {
                    tell(Ok(()));
                    let begun = Instant::now();
                    if let Err(error) = self.far.serve(connection).await {
                        tracing::debug!(%error, "the link has ended");
                    }
                    if begun.elapsed() >= LASTED {
                        pause = FIRST;
                    }
                }
                Err(error) => tell(Err(&error)),
            }
            sleep(spread(pause)).await;
            pause = (pause * 2).min(LONGEST);
        }
    }

    async fn dial(&self) -> Result<TlsStream<TcpStream>, DialError> {
        let tls = self.papers.connector()?;
        let address = &self.address;
        let host = host(address)?;
        let dialled = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            tls.connect(host, stream).await
        };
        let dialled = timeout(PATIENCE, dialled).await.map_err(|_| DialError::Late(address.clone()))?;
        dialled.map_err(|error| DialError::Connect { address: address.clone(), error })
    }
}

/// The host of an address, which has to be in the certificate there.
fn host(address: &str) -> Result<ServerName<'static>, DialError> {
    let host = address.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let host = host.and_then(|(host, _)| ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).ok());
    host.ok_or_else(|| DialError::Address(address.to_owned()))
}

/// Between half of a pause and all of it: a thousand agents whose controller was restarted don't call at once.
fn spread(pause: Duration) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    pause / 2 + pause.mul_f64(f64::from(now.subsec_nanos()) / 2e9)
}
