//! A connection to the controller, with TLS.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::tunnel::{choose_proxy, connect_through};

/// For a connection and its TLS.
const PATIENCE: Duration = Duration::from_secs(15);

/// Reasons why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    /// The text is not an address.
    #[error("{0:?} is not HOST:PORT")]
    Address(String),
    /// The environment's proxy can't be used.
    #[error("HTTPS_PROXY: {0}")]
    Proxy(&'static str),
    /// The address can't be reached.
    #[error("{address}: {error}")]
    Connect {
        /// The address.
        address: String,
        /// The reason.
        error: std::io::Error,
    },
    /// The address gave no answer in time.
    #[error("{0}: no answer for {seconds} seconds", seconds = PATIENCE.as_secs())]
    Late(String),
}

/// Calls `HOST:PORT`, through the proxy that the environment names for it, if it names one.
pub(crate) async fn connect_to_controller(
    address: &str,
    tls: TlsConnector,
) -> Result<TlsStream<TcpStream>, ReachError> {
    let host = parse_host(address)?;
    let server = format!("https://{address}").parse();
    let server = server.map_err(|_| ReachError::Address(address.to_owned()))?;
    let proxy = choose_proxy(&server, |name| std::env::var(name).ok()).map_err(ReachError::Proxy)?;
    let dialled = async {
        let stream = match &proxy {
            Some(proxy) => connect_through(proxy, address).await?,
            None => TcpStream::connect(address).await?,
        };
        stream.set_nodelay(true)?;
        tls.connect(host, stream).await
    };
    let dialled = timeout(PATIENCE, dialled).await.map_err(|_| ReachError::Late(address.to_owned()))?;
    dialled.map_err(|error| ReachError::Connect { address: address.to_owned(), error })
}

/// Checks that an agent could call at this address.
pub fn check_address(address: &str) -> Result<(), ReachError> {
    parse_host(address).map(drop)
}

/// The host of an address, which has to be in the certificate there.
pub(crate) fn parse_host(address: &str) -> Result<ServerName<'static>, ReachError> {
    let host = address.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let host = host.and_then(|(host, _)| ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).ok());
    host.ok_or_else(|| ReachError::Address(address.to_owned()))
}
