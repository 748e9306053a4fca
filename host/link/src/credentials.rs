//! The credentials of an invited agent, in a Secret of its own cluster: its invitation until it is used, and then its key and
//! its certificate.
//!
//! In a Secret, because a pod has no other memory, and because what was printed for the agent is applied there: so a new invitation
//! reaches an agent that runs. It writes entries of its own and never those that are applied, so applying the same again harms
//! nothing.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pivot_places::{Place, PlaceError};
use rcgen::KeyPair;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::clock::{Clock, ForTls, add_saturating};
use crate::enrolment::{
    Digest, ENROL, EnrolAnswer, EnrolQuestion, Granted, Invitation, RENEW, Secrets, StoredSecret,
    bare_key_connector, encode_entry, receive, send_message,
};
use crate::pem::{parse_key, parse_roots};
use crate::reach::{ReachError, connect_to_controller};
use crate::tls::{self, LINK, TlsParts};

/// The entries of the Secret: the applied invitation, the key that was generated for it, and the certificate.
const INVITATION: &str = "invitation";
const ASKING: &str = "asking";
const HELD: &str = "held";
/// For an answer: the controller asks its cluster first.
const PATIENCE: Duration = Duration::from_secs(15);
/// The shortest time between two renewals, and between two reads of a Secret in which there is nothing to renew.
const AGAIN: SignedDuration = SignedDuration::from_hours(1);

/// A key, and the certificate for it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Held {
    key: String,
    granted: Granted,
}

/// A key for which a certificate is asked, by the token of which invitation.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asking {
    invitation: Digest,
    key: String,
}

/// The credentials of an invited agent.
pub struct Credentials {
    secrets: Secrets,
    name: String,
    clock: Arc<dyn Clock>,
}

/// Reasons why an agent has no credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The agent's Secret can't be read or written.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// There is none.
    #[error("there is no Secret {0}: invite this agent, and apply here what that prints")]
    NoSecret(String),
    /// The agent was never invited.
    #[error(
        "Secret {0} has no invitation and no certificate: invite this agent, and apply here what that prints"
    )]
    Uninvited(String),
    /// The certificate expired while the agent was away.
    #[error(
        "the certificate of this agent was good until {0}, and can't be renewed any more: invite it again, and apply the printed manifests here"
    )]
    Ended(Timestamp),
    /// The invitation is worth nothing.
    #[error(
        "the controller doesn't take this agent's invitation: it is valid for 24 hours, and for the first agent that uses it; invite it again, and apply the printed manifests here"
    )]
    Refused,
    /// The controller isn't reached.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The controller ended the connection, or said something else.
    #[error("the controller gives no certificate: {0}")]
    Answer(String),
    /// The content of the Secret can't be used.
    #[error("Secret {0}: {1}")]
    Unusable(String, String),
}

/// The data of the Secret that an invited agent begins with.
pub fn invitation_data(invitation: &Invitation) -> Value {
    json!({ INVITATION: encode_entry(invitation) })
}

impl Credentials {
    /// Those in a Secret of the agent's own cluster.
    pub fn new(
        place: Arc<dyn Place>,
        namespace: &str,
        name: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, PlaceError> {
        Ok(Self { secrets: Secrets::new(place, namespace)?, name: name.to_owned(), clock })
    }

    /// Returns the TLS configuration with which the agent links. An invitation in the Secret is used first, because a user
    /// applied it for this purpose.
    pub(crate) async fn connector(&self, address: &str) -> Result<TlsConnector, CredentialsError> {
        let read = self.read().await?;
        let held: Option<Held> = read.parse_entry(HELD)?;
        let in_date = |held: &Held| self.clock.now() < held.granted.until;
        let held = match (read.parse_entry::<Invitation>(INVITATION)?, held) {
            (Some(invitation), held) => match self.enrol(address, read, &invitation).await {
                Ok(held) => held,
                Err(error) => match held.filter(in_date) {
                    Some(held) => {
                        tracing::warn!(%error, "the invitation was not used; the certificate is still good");
                        held
                    }
                    None => return Err(error),
                },
            },
            (None, Some(held)) => held,
            (None, None) => return Err(CredentialsError::Uninvited(self.label())),
        };
        if !in_date(&held) {
            return Err(CredentialsError::Ended(held.granted.until));
        }
        self.connector_showing(&held, LINK)
    }

    /// Renews the certificate whenever that is due, and at most once an hour: to an agent whose clock is weeks ahead of the
    /// controller's, each new certificate is due at once.
    pub(crate) async fn keep_renewed(&self, address: &str) -> Infallible {
        loop {
            if let Some(due) = self.renewal_time().await {
                self.clock.until(due).await;
                if let Err(error) = self.renew_if_due(address).await {
                    tracing::warn!(%error, "the certificate was not renewed; it is tried again in an hour");
                }
            }
            self.clock.until(add_saturating(self.clock.now(), AGAIN)).await;
        }
    }

    /// When the next certificate is due; one that has ended can't be renewed.
    async fn renewal_time(&self) -> Option<Timestamp> {
        let held: Held = self.read().await.ok()?.parse_entry(HELD).ok()??;
        (self.clock.now() < held.granted.until).then(|| held.granted.renewal_time())
    }

    async fn renew_if_due(&self, address: &str) -> Result<(), CredentialsError> {
        let read = self.read().await?;
        let Some(held) = read.parse_entry::<Held>(HELD)? else { return Ok(()) };
        let now = self.clock.now();
        if now < held.granted.renewal_time() || now >= held.granted.until {
            return Ok(());
        }
        let mut stream = connect_to_controller(address, self.connector_showing(&held, RENEW)?).await?;
        let granted = self.receive_granted(&mut stream).await?;
        tracing::info!(until = %granted.until, "the certificate is renewed");
        if granted.renewal_time() <= now {
            tracing::warn!(from = %granted.from, %now, "the clock of this machine is weeks ahead of the controller's: set it");
        }
        self.write(&read, [(HELD, encode_entry(&Held { key: held.key, granted }))]).await.map(drop)
    }

    /// Gets a certificate for a key that is kept before anybody is asked: the answer may be lost, and only the same key may ask again.
    async fn enrol(
        &self,
        address: &str,
        read: StoredSecret,
        invitation: &Invitation,
    ) -> Result<Held, CredentialsError> {
        let of = invitation.token.digest();
        let (asking, read) = match read.parse_entry::<Asking>(ASKING)? {
            Some(asking) if asking.invitation == of => (asking, read),
            _ => {
                let key = KeyPair::generate().map_err(|error| self.unusable_error(error))?.serialize_pem();
                let asking = Asking { invitation: of, key };
                let read = self.write(&read, [(ASKING, encode_entry(&asking))]).await?;
                (asking, read)
            }
        };
        let tls = parse_key(&asking.key)
            .zip(parse_roots(&invitation.authority))
            .ok_or("its invitation can't be read");
        let (key, roots) = tls.map_err(|why| self.unusable_error(why))?;
        let tls =
            bare_key_connector(key, roots, self.tls_time()).map_err(|error| self.unusable_error(error))?;
        let mut stream = connect_to_controller(address, tls).await?;
        if stream.get_ref().1.alpn_protocol() != Some(ENROL) {
            return Err(CredentialsError::Answer("it doesn't enrol agents".to_owned()));
        }
        let question = EnrolQuestion { agent: invitation.agent.clone(), token: invitation.token.clone() };
        send_message(&mut stream, &question)
            .await
            .map_err(|error| CredentialsError::Answer(error.to_string()))?;
        let granted = self.receive_granted(&mut stream).await?;
        tracing::info!(agent = %invitation.agent, until = %granted.until, "enrolled");
        let held = Held { key: asking.key, granted };
        self.write(&read, [(HELD, encode_entry(&held)), (ASKING, Value::Null), (INVITATION, Value::Null)])
            .await?;
        Ok(held)
    }

    async fn receive_granted(&self, stream: &mut TlsStream<TcpStream>) -> Result<Granted, CredentialsError> {
        let answer = timeout(PATIENCE, receive(stream)).await;
        let answer = answer.map_err(|_| CredentialsError::Answer("it doesn't answer".to_owned()))?;
        match answer.map_err(|error| CredentialsError::Answer(error.to_string()))? {
            EnrolAnswer::Granted(granted) => Ok(granted),
            EnrolAnswer::Refused => Err(CredentialsError::Refused),
        }
    }

    fn connector_showing(&self, held: &Held, protocol: &[u8]) -> Result<TlsConnector, CredentialsError> {
        let Held { key: own, granted: Granted { certificate, authority, .. } } = held;
        let parts = TlsParts::parse(certificate, own, authority)
            .ok_or_else(|| self.unusable_error("its certificate can't be read"))?;
        tls::client_connector(parts, protocol, self.tls_time()).map_err(|error| self.unusable_error(error))
    }

    fn tls_time(&self) -> tls::Time {
        Arc::new(ForTls(self.clock.clone()))
    }

    async fn read(&self) -> Result<StoredSecret, CredentialsError> {
        self.secrets.read(&self.name).await?.ok_or_else(|| CredentialsError::NoSecret(self.label()))
    }

    async fn write<const N: usize>(
        &self,
        read: &StoredSecret,
        entries: [(&str, Value); N],
    ) -> Result<StoredSecret, CredentialsError> {
        let written = self.secrets.write(read, entries).await?;
        written.ok_or_else(|| {
            PlaceError::Conflict(format!("Secret {} was changed meanwhile", self.label())).into()
        })
    }

    fn label(&self) -> String {
        format!("{}/{}", self.secrets.namespace, self.name)
    }

    fn unusable_error(&self, why: impl ToString) -> CredentialsError {
        CredentialsError::Unusable(self.label(), why.to_string())
    }
}
