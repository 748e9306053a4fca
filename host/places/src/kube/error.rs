//! Errors of kubeconfigs that yield no connection.

use jiff::Timestamp;
use pivot_core::messages::safe_text;
use tower::BoxError;

/// The error of a kubeconfig that yields no connection. Contains no credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The file doesn't exist or can't be read.
    #[error("kubeconfig {file}: {reason}")]
    Kubeconfig {
        /// The file.
        file: String,
        /// Reason of the error.
        reason: String,
        /// The cause; none if its text may quote credentials.
        source: Option<BoxError>,
    },
    /// No file was given and none was found.
    #[error("no kubeconfig: {looked} does not exist")]
    Missing {
        /// Files that pivot-host looked for.
        looked: String,
    },
    /// No context was given and the file sets none.
    #[error("kubeconfig {file} has no current context; there are: {}", list_names(.known))]
    NoContext {
        /// The file.
        file: String,
        /// The contexts in it.
        known: Vec<String>,
    },
    /// The file has no such entry.
    #[error("kubeconfig {file} has no {what} {name:?}{}; there are: {}", suggest_name(.name, .known), list_names(.known))]
    Unknown {
        /// The file.
        file: String,
        /// `context`, `cluster` or `user`.
        what: &'static str,
        /// The requested name.
        name: String,
        /// The names in the file.
        known: Vec<String>,
    },
    /// The context names no user, or one that doesn't exist. Continuing would mean continuing as anonymous.
    #[error("kubeconfig {file}, context {context:?}: {}; there are: {}", describe_missing_user(.user), list_names(.known))]
    NoUser {
        /// The file.
        file: String,
        /// The context.
        context: String,
        /// The user that it names.
        user: Option<String>,
        /// The users in the file.
        known: Vec<String>,
    },
    /// The client certificate has expired.
    #[error("kubeconfig {file}, context {context:?}: the client certificate expired at {end}")]
    Expired {
        /// The file.
        file: String,
        /// The context.
        context: String,
        /// Time of the expiry.
        end: Timestamp,
    },
    /// Something else is wrong with the context.
    #[error("kubeconfig {file}, context {context:?}: {reason}")]
    Context {
        /// The file.
        file: String,
        /// The context.
        context: String,
        /// Reason of the error.
        reason: String,
        /// The cause; none if its text may quote credentials.
        source: Option<BoxError>,
    },
}

fn list_names(known: &[String]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

fn suggest_name(name: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    safe_text::did_you_mean(name, &known)
}

fn describe_missing_user(user: &Option<String>) -> String {
    user.as_ref()
        .map_or_else(|| "it names no user".to_owned(), |user| format!("its user {user:?} does not exist"))
}
