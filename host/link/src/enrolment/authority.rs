//! The authority of a controller, in a Secret of its own namespace. Its keys are there and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use pivot_places::PlaceError;
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::key::AgentKey;
use super::roots::{Granted, Roots, Unsigned};
use super::secrets::{Secrets, StoredSecret, encode_entry};
use crate::clock::Clock;
use crate::name::AgentName;

const NAME: &str = "pivot-agents-authority";
const ROOTS: &str = "roots.json";
/// Strangers who call cause no more reads than one in this time.
const FRESH: Duration = Duration::from_secs(60);
/// Most attempts to write after a concurrent change.
const TRIES: usize = 5;

/// Reasons why the authority can't be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The Secret can't be read or written.
    #[error("the agents' authority: {0}")]
    Place(#[from] PlaceError),
    /// The content of the Secret can't sign anything.
    #[error("the agents' authority, Secret {NAME}: {0}")]
    Unsigned(String),
}

impl From<Unsigned> for AuthorityError {
    fn from(error: Unsigned) -> Self {
        Self::Unsigned(error.to_string())
    }
}

pub(crate) struct Authority {
    secrets: Secrets,
    clock: Arc<dyn Clock>,
    /// The names by which agents call.
    hosts: Vec<String>,
    known: Mutex<Option<Known>>,
}

/// The authority as it was read.
#[derive(Clone)]
struct Known {
    read: Instant,
    /// The trust domain, which belongs to this Secret and no other.
    domain: String,
    roots: Roots,
    /// The certificate for agents that call. Each process generates a new key for it.
    shown: Option<(Granted, String)>,
}

impl Authority {
    pub(crate) fn new(secrets: Secrets, hosts: Vec<String>, clock: Arc<dyn Clock>) -> Self {
        Self { secrets, clock, hosts, known: Mutex::default() }
    }

    /// Returns the certificates that agents must trust, as PEM.
    pub(crate) async fn root_bundle(&self) -> Result<String, AuthorityError> {
        let mut known = self.known.lock().await;
        Ok(self.refresh(&mut known).await?.roots.to_bundle())
    }

    /// A certificate for an agent.
    pub(crate) async fn sign_agent(
        &self,
        name: &AgentName,
        key: &AgentKey,
    ) -> Result<Granted, AuthorityError> {
        let mut known = self.known.lock().await;
        let Known { roots, domain, .. } = self.refresh(&mut known).await?;
        Ok(roots.sign_agent(&name.to_uri(domain), key, self.clock.now())?)
    }

    /// The certificate that is shown to agents, and its key.
    pub(crate) async fn controller_certificate(&self) -> Result<(Granted, String), AuthorityError> {
        let mut known = self.known.lock().await;
        let now = self.clock.now();
        let Known { roots, shown, .. } = self.refresh(&mut known).await?;
        let good = shown.take().filter(|(granted, _)| {
            granted.authority == roots.to_bundle() && now >= granted.from && now < granted.renewal_time()
        });
        match good {
            Some(kept) => Ok(shown.insert(kept).clone()),
            None => Ok(shown.insert(roots.sign_controller(&self.hosts, now)?).clone()),
        }
    }

    /// As it is now; made, if there is none, and with its next root, if it is time.
    async fn refresh<'a>(
        &self,
        known: &'a mut MutexGuard<'_, Option<Known>>,
    ) -> Result<&'a mut Known, AuthorityError> {
        let shown = match known.take() {
            Some(kept) if kept.read.elapsed() < FRESH && kept.roots.renewed(self.clock.now())?.is_none() => {
                return Ok(known.insert(kept));
            }
            kept => kept.and_then(|kept| kept.shown),
        };
        let (domain, roots) = self.read_or_create().await?;
        Ok(known.insert(Known { read: Instant::now(), domain, roots, shown }))
    }

    async fn read_or_create(&self) -> Result<(String, Roots), AuthorityError> {
        for _ in 0..TRIES {
            let now = self.clock.now();
            let Some(read) = self.secrets.read(NAME).await? else {
                let roots = Roots::new(now)?;
                let made = self.secrets.create(NAME, &json!({}), (ROOTS, encode_entry(&roots))).await?;
                match made {
                    Some(made) => return Ok((made.uid, roots)),
                    None => continue,
                }
            };
            let roots = Self::parse_roots(&read)?;
            let Some(next) = roots.renewed(now)? else { return Ok((read.uid, roots)) };
            if self.secrets.write(&read, [(ROOTS, encode_entry(&next))]).await?.is_some() {
                tracing::info!("the agents' authority has new roots");
                return Ok((read.uid, next));
            }
        }
        Err(PlaceError::Conflict(format!("Secret {NAME}: others change it all the time")).into())
    }

    fn parse_roots(read: &StoredSecret) -> Result<Roots, AuthorityError> {
        read.parse_entry(ROOTS)?.ok_or_else(|| AuthorityError::Unsigned(format!("it has no {ROOTS}")))
    }
}
