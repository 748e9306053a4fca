//! An endpoint on this machine that answers like Ironic once a test tells it to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::Result;
use pivot_lab::pki::Identity;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// State of the stand-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Closes every connection.
    Down,
    /// The API answers, and no conductor runs.
    Starting,
    /// The API answers, and a conductor runs.
    Up,
}

/// A server that ends with the test.
pub struct Ironic {
    /// Port on the loopback interface.
    pub port: u16,
    state: Arc<AtomicU8>,
}

impl Ironic {
    /// Listens; with a certificate it uses TLS.
    pub async fn start(identity: Option<&Identity>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(AtomicU8::default());
        let (tls, now) = (identity.map(acceptor).transpose()?, state.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, state) = (tls.clone(), now.load(Ordering::Relaxed));
                tokio::spawn(async move {
                    match tls {
                        // A client that doesn't trust the certificate disconnects.
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => answer(stream, state).await,
                            Err(_) => Ok(()),
                        },
                        None => answer(stream, state).await,
                    }
                });
            }
        });
        Ok(Self { port, state })
    }

    /// Puts it into a state.
    pub fn is(&self, state: State) {
        self.state.store(state as u8, Ordering::Relaxed);
    }
}

fn acceptor(identity: &Identity) -> Result<TlsAcceptor> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: u8) -> std::io::Result<()> {
    let mut request = vec![0; 4096];
    let length = stream.read(&mut request).await?;
    if state == State::Down as u8 {
        return Ok(());
    }
    let drivers = request.get(..length).unwrap_or_default().starts_with(b"GET /v1/drivers ");
    let body = match drivers {
        false => r#"{"version":{"id":"v1","min_version":"1.1","version":"1.95"}}"#,
        true if state == State::Up as u8 => r#"{"drivers":[{"name":"redfish","hosts":["ironic"]}]}"#,
        true => r#"{"drivers":[]}"#,
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    stream.shutdown().await
}
