//! Who calls a controller and says what no agent says.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SanType, SignatureAlgorithm};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::AlwaysResolvesClientRawPublicKeys;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::time_provider::TimeProvider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::clock::BEGINNING;

/// Longer than a controller waits for anybody.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
enum Shows {
    Nothing,
    BareKey(&'static SignatureAlgorithm),
    Certificate,
}

#[derive(Clone, Debug)]
pub(crate) struct Stranger {
    address: String,
    authority: String,
    shows: Shows,
    protocols: Vec<Vec<u8>>,
}

/// When the clocks that are set by hand begin.
#[derive(Debug)]
struct Then;

impl TimeProvider for Then {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(BEGINNING)))
    }
}

/// A message with its length before it.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    [&u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

impl Stranger {
    /// One that shows what an agent shows.
    pub(crate) fn new(address: &str, authority: &str) -> Self {
        Self {
            address: address.to_owned(),
            authority: authority.to_owned(),
            shows: Shows::BareKey(&PKCS_ECDSA_P256_SHA256),
            protocols: vec![b"pivot-enrol/1".to_vec()],
        }
    }

    pub(crate) fn odd_ones(&self) -> Vec<Self> {
        let shows = |shows| Self { shows, ..self.clone() };
        let asks_for = |protocols: &[&[u8]]| {
            let protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
            Self { protocols, shows: Shows::Certificate, ..self.clone() }
        };
        vec![
            shows(Shows::Nothing),
            shows(Shows::BareKey(&PKCS_ED25519)),
            shows(Shows::Certificate),
            asks_for(&[]),
            asks_for(&[b"h2"]),
            asks_for(&[b"pivot-link/1"]),
            asks_for(&[b"pivot-renew/1"]),
            asks_for(&[b"pivot-link/1", b"pivot-enrol/1"]),
        ]
    }

    /// Says it; everything that is answered until the connection ends.
    pub(crate) async fn says(&self, message: &[u8]) -> io::Result<Vec<u8>> {
        let stream = TcpStream::connect(self.address.replace("localhost", "127.0.0.1")).await?;
        let answered = async {
            let mut stream = self.tls().connect("localhost".try_into().unwrap(), stream).await?;
            stream.write_all(message).await?;
            stream.shutdown().await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            Ok(answer)
        };
        timeout(PATIENCE, answered).await.expect("the connection doesn't end")
    }

    fn tls(&self) -> TlsConnector {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(self.authority.as_bytes()) {
            roots.add(root.unwrap()).unwrap();
        }
        let config = ClientConfig::builder_with_details(provider.clone(), Arc::new(Then))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let key = |pair: &KeyPair| PrivateKeyDer::from_pem_slice(pair.serialize_pem().as_bytes()).unwrap();
        let mut config = match self.shows {
            Shows::Nothing => config.with_no_client_auth(),
            Shows::BareKey(algorithm) => {
                let pair = KeyPair::generate_for(algorithm).unwrap();
                let key = provider.key_provider.load_private_key(key(&pair)).unwrap();
                let shown = CertificateDer::from(key.public_key().unwrap().to_vec());
                let shown = Arc::new(CertifiedKey::new(vec![shown], key));
                config.with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(shown)))
            }
            Shows::Certificate => {
                let pair = KeyPair::generate().unwrap();
                let mut params = CertificateParams::default();
                let vault = "spiffe://site.example.com/agent/bank/vault";
                params.subject_alt_names = vec![SanType::URI(vault.try_into().unwrap())];
                let certificate = params.self_signed(&pair).unwrap();
                config.with_client_auth_cert(vec![certificate.der().clone()], key(&pair)).unwrap()
            }
        };
        config.alpn_protocols = self.protocols.clone();
        TlsConnector::from(Arc::new(config))
    }
}
