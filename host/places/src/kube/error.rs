//! Why a kubeconfig gives no connection.

use jiff::Timestamp;
use tower::BoxError;

/// Why there is no connection to try. Carries no credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The file is not there or can't be read.
    #[error("kubeconfig {file}: {reason}")]
    Kubeconfig {
        /// Which file.
        file: String,
        /// What is wrong with it.
        reason: String,
        /// What said so; none where its words may quote credentials.
        source: Option<BoxError>,
    },
    /// No file was named and none was found.
    #[error("no kubeconfig: {looked} does not exist")]
    Missing {
        /// Where it was looked for.
        looked: String,
    },
    /// No context was named and the file names none.
    #[error("kubeconfig {file} has no current context; there are: {}", listed(.known))]
    NoContext {
        /// Which file.
        file: String,
        /// The contexts there are.
        known: Vec<String>,
    },
    /// The file has no such entry.
    #[error("kubeconfig {file} has no {what} {name:?}; there are: {}", listed(.known))]
    Unknown {
        /// Which file.
        file: String,
        /// `context`, `cluster` or `user`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The context says nothing of who we are, or names a user that isn't there. Going on would be going on as nobody.
    #[error("kubeconfig {file}, context {context:?}: {}; there are: {}", nobody(.user), listed(.known))]
    NoUser {
        /// Which file.
        file: String,
        /// Which context.
        context: String,
        /// The user that it names.
        user: Option<String>,
        /// The users there are.
        known: Vec<String>,
    },
    /// The certificate that says who we are is no longer valid.
    #[error("kubeconfig {file}, context {context:?}: the client certificate expired at {end}")]
    Expired {
        /// Which file.
        file: String,
        /// Which context.
        context: String,
        /// When.
        end: Timestamp,
    },
    /// Something else is wrong with the context.
    #[error("kubeconfig {file}, context {context:?}: {reason}")]
    Context {
        /// Which file.
        file: String,
        /// Which context.
        context: String,
        /// What is wrong with it.
        reason: String,
        /// What said so; none where its words may quote credentials.
        source: Option<BoxError>,
    },
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

fn nobody(user: &Option<String>) -> String {
    user.as_ref()
        .map_or_else(|| "it names no user".to_owned(), |user| format!("its user {user:?} does not exist"))
}
