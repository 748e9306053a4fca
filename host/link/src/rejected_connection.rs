//! Reasons to reject a connection.

use std::time::Duration;

use pivot_places::PlaceError;

use crate::enrolment::AuthorityError;
use crate::name::AgentName;
use crate::place::LinkError;
use crate::tls_files::TlsFilesError;

/// For the first message of TLS.
pub(crate) const HELLO: Duration = Duration::from_secs(5);
/// For TLS, and for the first question and its answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub(crate) enum RejectedConnection {
    #[error(transparent)]
    TlsFiles(#[from] TlsFilesError),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error("{0}")]
    Own(String),
    #[error("TLS: {0}")]
    Tls(#[from] std::io::Error),
    #[error("its question: {0}")]
    Question(#[source] std::io::Error),
    #[error("it did not show in time who it is")]
    Silent,
    #[error("too many others have not shown yet who they are")]
    Displaced,
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

impl RejectedConnection {
    /// Returns one word for the reason. Strangers choose the frequency and the text of each error.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::TlsFiles(_) => "papers",
            Self::Authority(_) => "authority",
            Self::Own(_) => "own",
            Self::Tls(_) => "tls",
            Self::Question(_) => "question",
            Self::Silent => "silent",
            Self::Displaced => "displaced",
            Self::Protocol => "protocol",
            Self::Nameless => "nameless",
            Self::Register(_) => "register",
            Self::Removed(_) => "removed",
            Self::Invitation(_) => "invitation",
            Self::Link { .. } => "link",
        }
    }
}
