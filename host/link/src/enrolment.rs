//! A controller that is its own authority: who is invited gets a certificate, and whose key is on the list may call.
//!
//! | ALPN | the agent shows | and gets |
//! |---|---|---|
//! | `pivot-enrol/1` | its bare key, then the token of its invitation | a certificate for that key |
//! | `pivot-renew/1` | its certificate | the next one for its key |
//! | `pivot-link/1` | its certificate | a link |

mod authority;
mod bare_keys;
mod key;
mod message;
mod register;
mod roots;
mod secrets;
mod token;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use pivot_places::{Event, Place, PlaceError};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, broadcast};
use tokio::time::sleep;
use tokio_rustls::StartHandshake;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::server::TlsStream;

use self::authority::Authority;
use self::key::AgentKey;
use self::register::{Register, Standing, agent_of_secret};
use crate::clock::{Clock, ForTls};
use crate::name::AgentName;
use crate::rejected_connection::RejectedConnection;
use crate::tls::{self, LINK, Time, TlsParts};

pub use self::authority::AuthorityError;
pub(crate) use self::bare_keys::{ENROL, client_connector as bare_key_connector};
pub(crate) use self::message::{EnrolAnswer, EnrolQuestion, receive, send_message};
pub use self::register::RegisterError;
pub(crate) use self::roots::Granted;
pub(crate) use self::secrets::{Secrets, StoredSecret, encode_entry};
pub use self::token::NoRandomness;
pub(crate) use self::token::{Digest, Token};

/// Name of the protocol on both sides for renewing a certificate.
pub(crate) const RENEW: &[u8] = b"pivot-renew/1";
/// Delay before a refusal is sent. It slows down token guessing, and protects the cluster that is asked about each guess.
const REFUSAL: Duration = Duration::from_secs(1);
/// The pause before the agents are listed and watched anew, or one of them is looked at again.
const AGAIN: Duration = Duration::from_secs(2);
/// Capacity of the channel for changes. A receiver that lags reads the register again.
const CHANGES: usize = 64;

/// The agents of a controller, and its authority over them.
pub struct Enrolment {
    secrets: Secrets,
    authority: Authority,
    register: Register,
    clock: Arc<dyn Clock>,
    /// Agents that may have been changed; without a name, any of them.
    changed: broadcast::Sender<Option<AgentName>>,
    /// One stranger at a time is looked for in the cluster.
    asking: Mutex<()>,
}

/// The secret for an agent's first call. Anyone who has it can become that agent, once.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invitation {
    pub(crate) agent: AgentName,
    pub(crate) token: Token,
    /// The authority of the controller's certificate, as PEM.
    pub(crate) authority: String,
}

/// An agent that may call, and the signals that this may have changed.
pub(crate) struct AdmittedAgent {
    pub(crate) name: AgentName,
    key: AgentKey,
    changes: broadcast::Receiver<Option<AgentName>>,
}

impl Enrolment {
    /// Creates the enrolment of a controller, by its own namespace in its cluster. Agents call it by these host names.
    pub fn new(
        place: Arc<dyn Place>,
        namespace: &str,
        hosts: Vec<String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, PlaceError> {
        if let Some(odd) = hosts.iter().find(|host| ServerName::try_from(host.as_str()).is_err()) {
            return Err(PlaceError::Invalid(format!("{odd:?} is no name of a host")));
        }
        let secrets = Secrets::new(place, namespace)?;
        Ok(Self {
            authority: Authority::new(secrets.clone(), hosts, clock.clone()),
            register: Register::new(secrets.clone(), clock.clone()),
            secrets,
            clock,
            changed: broadcast::Sender::new(CHANGES),
            asking: Mutex::default(),
        })
    }

    /// Invites an agent.
    pub async fn invite(&self, agent: &AgentName) -> Result<Invitation, RegisterError> {
        // Before anything is promised.
        let authority = self.authority.root_bundle().await?;
        let token = self.register.invite(agent).await?;
        Ok(Invitation { agent: agent.clone(), token, authority })
    }

    /// Forgets an agent, and with it the key that may call by its name; whether there was one.
    pub async fn remove(&self, agent: &AgentName) -> Result<bool, RegisterError> {
        self.register.remove(agent).await
    }

    /// Returns why an agent has not called, if the register shows that.
    pub(crate) async fn reason_for_absence(&self, agent: &AgentName) -> Option<String> {
        match self.register.agent_standing(agent).await {
            Ok(Standing::Uninvited) => Some("it was not invited, or was removed".to_owned()),
            Ok(Standing::Invited(until)) if self.clock.now() >= until => {
                Some(format!("its invitation expired at {until}; invite it again"))
            }
            Ok(Standing::Invited(_)) => Some("it was invited and has not called yet".to_owned()),
            Ok(Standing::Enrolled) | Err(_) => None,
        }
    }

    fn tls_time(&self) -> Time {
        Arc::new(ForTls(self.clock.clone()))
    }

    /// Takes a connection. Returns it if it becomes a link; otherwise serves and finishes it.
    pub(crate) async fn take_connection(
        &self,
        hello: StartHandshake<TcpStream>,
    ) -> Result<Option<(TlsStream<TcpStream>, AdmittedAgent)>, RejectedConnection> {
        let (granted, key) = self.authority.controller_certificate().await?;
        let parts = TlsParts::parse(&granted.certificate, &key, &granted.authority).ok_or_else(|| {
            RejectedConnection::Own("a certificate that was just made can't be read".to_owned())
        })?;
        let enrols = hello.client_hello().alpn().into_iter().flatten().any(|protocol| protocol == ENROL);
        let config = if enrols {
            bare_keys::server_config(parts, self.tls_time())
        } else {
            tls::server_config(parts, &[LINK, RENEW], self.tls_time())
        };
        let config = config.map_err(|error| RejectedConnection::Own(error.to_string()))?;
        let mut stream = hello.into_stream(Arc::new(config)).await?;
        let (_, connection) = stream.get_ref();
        let shown = connection.peer_certificates().and_then(<[_]>::first);
        match connection.alpn_protocol() {
            Some(ENROL) => {
                let key =
                    shown.and_then(|info| AgentKey::of_info(info)).ok_or(RejectedConnection::Nameless)?;
                self.enrol_agent(&mut stream, &key).await.map(|()| None)
            }
            Some(protocol @ (LINK | RENEW)) => {
                let links = protocol == LINK;
                let name = shown.and_then(AgentName::from_certificate).ok_or(RejectedConnection::Nameless)?;
                let key = shown.and_then(AgentKey::of_certificate).ok_or(RejectedConnection::Nameless)?;
                // Before it is asked, so that no change is missed.
                let changes = self.changed.subscribe();
                if !self.register.allows_key(&name, &key).await.map_err(RejectedConnection::Register)? {
                    return Err(RejectedConnection::Removed(name));
                }
                if links {
                    return Ok(Some((stream, AdmittedAgent { name, key, changes })));
                }
                let next = self.authority.sign_agent(&name, &key).await?;
                tracing::info!(agent = %name, until = %next.until, "an agent has renewed its certificate");
                send_answer(&mut stream, &EnrolAnswer::Granted(next)).await?;
                Ok(None)
            }
            _ => Err(RejectedConnection::Protocol),
        }
    }

    async fn enrol_agent(
        &self,
        stream: &mut TlsStream<TcpStream>,
        key: &AgentKey,
    ) -> Result<(), RejectedConnection> {
        let EnrolQuestion { agent, token } = receive(stream).await.map_err(RejectedConnection::Question)?;
        let taken = {
            let _one = self.asking.lock().await;
            self.register.accept_token(&agent, &token, key).await.map_err(RejectedConnection::Register)?
        };
        match taken {
            Ok(()) => {
                let granted = self.authority.sign_agent(&agent, key).await?;
                tracing::info!(agent = %agent, key = %key.digest(), "an agent has enrolled");
                Ok(send_answer(stream, &EnrolAnswer::Granted(granted)).await?)
            }
            Err(why) => {
                sleep(REFUSAL).await;
                send_answer(stream, &EnrolAnswer::Refused).await?;
                // What a stranger calls itself may be anything.
                let of = if agent.is_valid() { agent.to_string() } else { "no name of an agent".to_owned() };
                Err(RejectedConnection::Invitation(format!("{of}: {why}")))
            }
        }
    }

    /// Ends when an agent may no longer call.
    pub(crate) async fn wait_for_dismissal(&self, admitted: AdmittedAgent) {
        let AdmittedAgent { name, key, mut changes } = admitted;
        loop {
            if let Ok(Some(changed)) = changes.recv().await
                && changed != name
            {
                continue;
            }
            loop {
                match self.register.allows_key(&name, &key).await {
                    Ok(true) => break,
                    Ok(false) => {
                        tracing::info!(agent = %name, "an agent was removed, or has another key now");
                        return;
                    }
                    Err(error) => {
                        tracing::warn!(%error, agent = %name, "whether an agent may call can't be read");
                        if !error.is_transient() {
                            return;
                        }
                    }
                }
                sleep(AGAIN).await;
            }
        }
    }

    /// Watches who is removed.
    pub(crate) async fn watch_removals(&self) -> Infallible {
        // The same reason again and again is logged once.
        let mut logged = None;
        loop {
            if let Err(error) = self.list_and_watch(&mut logged).await {
                if logged.as_ref() != Some(&error) {
                    tracing::warn!(%error, "the agents that may call can't be watched; each link is looked up instead");
                    logged = Some(error);
                }
                // Nobody may be linked.
                drop(self.changed.send(None));
            }
            sleep(AGAIN).await;
        }
    }

    /// One list and its watch. Once they answer, nothing that was logged counts any more.
    async fn list_and_watch(&self, logged: &mut Option<PlaceError>) -> Result<(), PlaceError> {
        let Secrets { place, kind, namespace } = &self.secrets;
        // Nobody may be linked.
        let listing = place.list_meta(kind, Some(namespace)).await?;
        drop(self.changed.send(None));
        let mut events = place.watch(kind, Some(namespace), &listing.resource_version).await?;
        *logged = None;
        while let Some(event) = events.next().await {
            let (Event::Applied(object) | Event::Deleted(object)) = event?;
            if let Some(name) = agent_of_secret(&object.meta.name) {
                drop(self.changed.send(Some(name)));
            }
        }
        Ok(())
    }
}

async fn send_answer(stream: &mut TlsStream<TcpStream>, answer: &EnrolAnswer) -> std::io::Result<()> {
    send_message(stream, answer).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use pivot_memory::{Fault, MemoryPlace};
    use tokio::time::timeout;
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event as LogLine, Level, Metadata, Subscriber};

    use super::*;
    use crate::clock::WallClock;

    /// Counts warnings.
    struct Warnings(Arc<AtomicUsize>);

    impl Subscriber for Warnings {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            *metadata.level() == Level::WARN
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &LogLine<'_>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// As with manifests that were printed without `--agents-host`.
    #[tokio::test(start_paused = true)]
    async fn missing_permission_to_watch_is_logged_once() {
        let (place, count) = (MemoryPlace::new("home"), Arc::new(AtomicUsize::new(0)));
        place.on_call(|_, _| Some(Fault::Before(PlaceError::Forbidden("list Secrets".into()))));
        let enrolment =
            Enrolment::new(Arc::new(place), "own", vec!["a.example.com".into()], Arc::new(WallClock))
                .unwrap();
        let mut changes = enrolment.changed.subscribe();
        let _logs = tracing::subscriber::set_default(Warnings(count.clone()));
        assert!(timeout(Duration::from_secs(60), enrolment.watch_removals()).await.is_err());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        // Each link is looked up nevertheless.
        let mut looks = 0;
        while changes.try_recv().is_ok() {
            looks += 1;
        }
        assert!(looks > 20, "{looks}");
    }
}
