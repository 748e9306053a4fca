//! Why a connection is not taken.

use std::time::Duration;

use pivot_places::PlaceError;

use crate::enrolment::AuthorityError;
use crate::name::AgentName;
use crate::papers::PapersError;
use crate::place::LinkError;

/// For TLS, and for the first question and its answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Turned {
    #[error(transparent)]
    Papers(#[from] PapersError),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error("{0}")]
    Own(String),
    #[error("TLS: {0}")]
    Tls(#[from] std::io::Error),
    #[error("its question: {0}")]
    Question(#[source] std::io::Error),
    #[error("nothing was said for {} seconds", PATIENCE.as_secs())]
    Silent,
    #[error("it asks for no protocol of agents")]
    Protocol,
    #[error("its certificate names no agent: one URI spiffe://DOMAIN/agent/NAMESPACE/NAME is needed")]
    Nameless,
    #[error("whether an agent may call can't be read: {0}")]
    Register(#[source] PlaceError),
    #[error("{0}: it was removed, or another key has its name now")]
    Removed(AgentName),
    #[error("an invitation is not taken: {0}")]
    Invitation(String),
    #[error("{name}: {error}")]
    Link { name: AgentName, error: LinkError },
}
