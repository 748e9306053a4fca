//! Rules: which requests, which occurrences, and what happens to them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Method;

use super::lock::lock;

/// A request as predicates see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its method.
    pub method: Method,
    /// Its path and query.
    pub path: String,
    /// The client's user agent; empty if it has none.
    pub user_agent: String,
}

impl Seen {
    /// It could change something: a dry run does not.
    #[must_use]
    pub fn is_mutating(&self) -> bool {
        [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&self.method)
            && !self.asks("dryRun=")
    }

    /// It is a watch.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.asks("watch=true") || self.asks("watch=1")
    }

    fn asks(&self, prefix: &str) -> bool {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|pair| pair.starts_with(prefix))
    }
}

/// Which of the matching requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// All of them.
    Always,
    /// The first n.
    First(u64),
    /// Every k-th.
    Every(u64),
    /// Only the k-th, counted from 1.
    Nth(u64),
}

impl Times {
    /// Whether it applies to the `count`-th matching request.
    pub(super) fn hits(self, count: u64) -> bool {
        match self {
            Self::Always => true,
            Self::First(n) => count <= n,
            Self::Every(k) => count.checked_rem(k) == Some(0),
            Self::Nth(k) => count == k,
        }
    }
}

/// When an action runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the request is forwarded.
    Before,
    /// Instead of forwarding it: the server never sees it, and the connection is reset.
    Instead,
    /// After the server has answered, before the answer is passed on.
    After,
}

/// What happens to a request.
#[derive(Clone)]
pub enum Fault {
    /// The proxy answers in the server's place, with a Kubernetes Status.
    Answer {
        /// 429, 500, 503, …
        status: u16,
        /// Seconds, for the header of that name.
        retry_after: Option<u64>,
    },
    /// The connection is reset; the server never sees the request.
    ResetBefore,
    /// The connection is reset after the server has acted.
    ResetAfter,
    /// The answer's body breaks off this long after it started: how a watch ends when a load balancer times out.
    CutAfter(Duration),
    /// The answer comes this much later.
    Delay(Duration),
    /// There is never an answer.
    Hang,
    /// An action runs at that moment, once. Created by [`Fault::action`].
    Run(Moment, Action),
}

/// An action that runs once.
#[derive(Clone)]
pub struct Action(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl Action {
    pub(super) async fn run(self) {
        let action = lock(&self.0).take();
        if let Some(action) = action {
            action.await;
        }
    }
}

impl Fault {
    /// Runs `action` at that moment, while the request waits.
    pub fn action(moment: Moment, action: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::Run(moment, Action(Arc::new(Mutex::new(Some(action.boxed())))))
    }

    /// 429 with a Retry-After of that many seconds.
    #[must_use]
    pub fn too_many_requests(retry_after: u64) -> Self {
        Self::Answer { status: 429, retry_after: Some(retry_after) }
    }
}

/// Which requests, which occurrences, and what happens to them.
pub struct Rule {
    pub(super) when: Box<dyn Fn(&Seen) -> bool + Send + Sync>,
    pub(super) times: Times,
    pub(super) fault: Fault,
}

impl Rule {
    /// A rule; see [`Faults::add`](super::Faults::add).
    pub fn new(times: Times, fault: Fault, when: impl Fn(&Seen) -> bool + Send + Sync + 'static) -> Self {
        Self { when: Box::new(when), times, fault }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(method: Method, path: &str) -> Seen {
        Seen { method, path: path.to_owned(), user_agent: String::new() }
    }

    #[test]
    fn dry_runs_change_nothing_and_watches_are_recognised() {
        assert!(seen(Method::PATCH, "/a?fieldManager=x").is_mutating());
        assert!(!seen(Method::PATCH, "/a?fieldManager=x&dryRun=All").is_mutating());
        assert!(!seen(Method::GET, "/a").is_mutating());
        assert!(
            seen(Method::GET, "/a?limit=1&watch=true").is_watch()
                && !seen(Method::GET, "/a/watch=true").is_watch()
        );
    }
}
