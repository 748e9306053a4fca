//! API servers that stop answering on an open connection, over which an agent or a controller asks them.

use std::io::Write as _;
use std::sync::Arc;

use pivot_places::{ConnectOptions, KubePlace, Place, PlaceError};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// An empty SETTINGS frame, with which HTTP/2 begins.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Starts a server that speaks TLS, begins HTTP/2, and says nothing more. Returns its address and its certificate.
async fn start_silent_server() -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let (acceptor, listener) =
        (TlsAcceptor::from(Arc::new(config)), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await.unwrap();
                stream.write_all(&SETTINGS).await.unwrap();
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
            });
        }
    });
    (format!("https://127.0.0.1:{port}"), certificate.pem())
}

fn kubeconfig(server: &str, authority: &std::path::Path) -> tempfile::NamedTempFile {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": authority}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(config.to_string().as_bytes()).unwrap();
    file
}

/// Earlier than a run loses its lease.
#[tokio::test(start_paused = true)]
async fn silent_connection_is_closed_after_a_probe() {
    let (server, certificate) = start_silent_server().await;
    let mut authority = tempfile::NamedTempFile::new().unwrap();
    authority.write_all(certificate.as_bytes()).unwrap();
    let file = kubeconfig(&server, authority.path());
    let options = ConnectOptions { kubeconfig: Some(file.path().to_owned()), ..ConnectOptions::default() };
    let place = KubePlace::connect(options).await.unwrap();
    let begun = Instant::now();
    let error = place.identify().await.unwrap_err();
    assert!(matches!(error, PlaceError::Unavailable(_)), "{error}");
    let seconds = begun.elapsed().as_secs();
    assert!((6..8).contains(&seconds), "{seconds} s: {error}");
}
