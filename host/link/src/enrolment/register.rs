//! The register of agents: one Secret for each agent in the controller's namespace, with the key that may call by its name.
//!
//! It is a Secret although nothing in it is secret: who may write it decides who is an agent, and that are to be those who may read
//! the authority's key anyway.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use pivot_places::PlaceError;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::authority::AuthorityError;
use super::key::AgentKey;
use super::secrets::{Secrets, StoredSecret, encode_entry};
use super::token::{Digest, NoRandomness, Token};
use crate::clock::{Clock, add_saturating};
use crate::name::AgentName;

/// The name of each begins so; the parts of an agent's name follow, neither of which has a dot.
const PREFIX: &str = "pivot-agent.";
const LABEL: &str = "pivot-host.io/agent";
const AGENT: &str = "agent.json";
/// Validity of an invitation.
const INVITED: SignedDuration = SignedDuration::from_hours(24);
const TRIES: usize = 5;

/// The register's entry for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Digest of the token of the latest invitation.
    token: Digest,
    until: Timestamp,
    /// True if a key has used the invitation. That key is the allowed one.
    taken: bool,
    /// The one key that may call.
    key: Option<Digest>,
}

/// Reasons why an agent can't be invited or removed.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The names of objects would not say which agent it is.
    #[error("{0:?} isn't a name for an agent: use lower-case letters, digits and hyphens")]
    Name(String),
    /// The cluster says no.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A token can't be made.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// The authority can't be read or made.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

impl RegisterError {
    /// Returns true if the cluster didn't answer.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Place(error) | Self::Authority(AuthorityError::Place(error)) => error.is_transient(),
            Self::Name(_) | Self::Random(_) | Self::Authority(AuthorityError::Unsigned(_)) => false,
        }
    }
}

/// Reasons to refuse an invitation, for the controller's log. The agent is told only that it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Unknown,
    OtherToken,
    Late(Timestamp),
    OtherKey,
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("there is no such agent"),
            Self::OtherToken => f.write_str("it is not the one that this agent has"),
            Self::Late(until) => write!(f, "it expired at {until}"),
            Self::OtherKey => f.write_str("an agent with another key has used it"),
        }
    }
}

/// An agent's progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Uninvited,
    /// Invited until then, and no key has ever come.
    Invited(Timestamp),
    Enrolled,
}

/// The agents of a controller.
pub(crate) struct Register {
    secrets: Secrets,
    clock: Arc<dyn Clock>,
}

impl Register {
    pub(crate) fn new(secrets: Secrets, clock: Arc<dyn Clock>) -> Self {
        Self { secrets, clock }
    }

    /// Returns a token with which one agent can enrol, once. Earlier invitations of the agent become invalid. The allowed key
    /// stays allowed until another key comes.
    pub(crate) async fn invite(&self, name: &AgentName) -> Result<Token, RegisterError> {
        let token = Token::new()?;
        let object = secret_name(name)?;
        for _ in 0..TRIES {
            let read = self.secrets.read(&object).await?;
            let key = read.as_ref().and_then(|read| parse_entry(read).ok()).and_then(|entry| entry.key);
            let until = add_saturating(self.clock.now(), INVITED);
            let entry = encode_entry(&Entry { token: token.digest(), until, taken: false, key });
            let written = match read {
                Some(read) => self.secrets.write(&read, [(AGENT, entry)]).await?,
                None => self.secrets.create(&object, &json!({ LABEL: "" }), (AGENT, entry)).await?,
            };
            if written.is_some() {
                return Ok(token);
            }
        }
        Err(too_many_changes_error(&object).into())
    }

    /// Lets the agent with this key call, if the token is its own. The same key may ask again: the answer may have been lost.
    pub(crate) async fn accept_token(
        &self,
        name: &AgentName,
        token: &Token,
        key: &AgentKey,
    ) -> Result<Result<(), NotTaken>, PlaceError> {
        let Ok(object) = secret_name(name) else { return Ok(Err(NotTaken::Unknown)) };
        for _ in 0..TRIES {
            let Some(read) = self.secrets.read(&object).await? else { return Ok(Err(NotTaken::Unknown)) };
            let entry = parse_entry(&read)?;
            if entry.token != token.digest() {
                return Ok(Err(NotTaken::OtherToken));
            }
            if self.clock.now() >= entry.until {
                return Ok(Err(NotTaken::Late(entry.until)));
            }
            let key = key.digest();
            if entry.taken {
                let same = entry.key == Some(key);
                return Ok(if same { Ok(()) } else { Err(NotTaken::OtherKey) });
            }
            let entry = encode_entry(&Entry { taken: true, key: Some(key), ..entry });
            if self.secrets.write(&read, [(AGENT, entry)]).await?.is_some() {
                return Ok(Ok(()));
            }
        }
        Err(too_many_changes_error(&object))
    }

    /// Returns true if the key may currently call by this name.
    pub(crate) async fn allows_key(&self, name: &AgentName, key: &AgentKey) -> Result<bool, PlaceError> {
        let Ok(object) = secret_name(name) else { return Ok(false) };
        let Some(read) = self.secrets.read(&object).await? else { return Ok(false) };
        Ok(parse_entry(&read)?.key == Some(key.digest()))
    }

    /// Returns an agent's progress, as of now.
    pub(crate) async fn agent_standing(&self, name: &AgentName) -> Result<Standing, PlaceError> {
        let Ok(object) = secret_name(name) else { return Ok(Standing::Uninvited) };
        let Some(read) = self.secrets.read(&object).await? else { return Ok(Standing::Uninvited) };
        let Entry { key, until, .. } = parse_entry(&read)?;
        Ok(if key.is_some() { Standing::Enrolled } else { Standing::Invited(until) })
    }

    /// Forgets an agent; whether there was one.
    pub(crate) async fn remove(&self, name: &AgentName) -> Result<bool, RegisterError> {
        Ok(self.secrets.delete(&secret_name(name)?).await?)
    }
}

fn parse_entry(read: &StoredSecret) -> Result<Entry, PlaceError> {
    read.parse_entry(AGENT)?
        .ok_or_else(|| PlaceError::Unreadable(format!("a Secret of an agent without {AGENT}")))
}

/// The name of the Secret of an agent.
fn secret_name(name: &AgentName) -> Result<String, RegisterError> {
    if name.is_valid() {
        Ok(format!("{PREFIX}{}.{}", name.namespace, name.name))
    } else {
        Err(RegisterError::Name(name.to_string()))
    }
}

/// The agent whose Secret has this name.
pub(crate) fn agent_of_secret(secret: &str) -> Option<AgentName> {
    let (namespace, name) = secret.strip_prefix(PREFIX)?.split_once('.')?;
    let name = AgentName { namespace: namespace.to_owned(), name: name.to_owned() };
    name.is_valid().then_some(name)
}

fn too_many_changes_error(object: &str) -> PlaceError {
    PlaceError::Conflict(format!("Secret {object}: others change it all the time"))
}
