//! A point of a move: one of its writes to one side, at which something happens to it.

use std::fmt;

use anyhow::{Result, ensure};
use pivot_lab::observer::Side;
use pivot_lab::process;
use pivot_lab::proxy::{Fault, Faults, Moment, Rule, Seen, Times};
use tokio::sync::oneshot;

use crate::host::{AGENT, Host};

/// The n-th write to one side with this method and this text in its path.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// The side that is written to.
    pub side: Side,
    /// The method.
    pub method: &'static str,
    /// A part of the path; a path without a query ends with a question mark, which distinguishes a collection from what is in it.
    pub path: &'static str,
    /// Counted from 1.
    pub nth: u64,
    /// Before the server acts, or after it.
    pub moment: Moment,
}

impl Point {
    /// A write to the source.
    #[must_use]
    pub const fn of_source(method: &'static str, path: &'static str, nth: u64, moment: Moment) -> Self {
        Self { side: Side::Source, method, path, nth, moment }
    }

    /// A write to the target.
    #[must_use]
    pub const fn of_target(method: &'static str, path: &'static str, nth: u64, moment: Moment) -> Self {
        Self { side: Side::Target, method, path, nth, moment }
    }

    /// A rule that runs an action at this point.
    pub fn rule(self, action: impl Future<Output = ()> + Send + 'static) -> Rule {
        Rule::new(Times::Nth(self.nth), Fault::action(self.moment, action), move |seen| self.counts(seen))
    }

    /// Runs a command that dies at this point, and waits until it is dead.
    ///
    /// # Errors
    ///
    /// If it ends in any other way.
    pub async fn kill(self, host: &Host, words: &[&str], faults: &Faults) -> Result<()> {
        let (tell, pid) = oneshot::channel();
        let kill = async move {
            if let Ok(pid) = pid.await {
                // A failure shows in how it ends.
                let _ = process::kill(pid);
            }
        };
        let rule = faults.add(self.rule(kill));
        let run = host.start(words).await?;
        let _ = tell.send(run.id());
        let ended = run.end().await?;
        let died = faults.fired(rule) == 1 && ended.code.is_none();
        faults.remove(rule);
        ensure!(
            died,
            "{self}: `{}` did not die, but ended with {:?}\n{}",
            ended.words,
            ended.code,
            ended.stderr
        );
        Ok(())
    }

    fn counts(self, seen: &Seen) -> bool {
        let path = if seen.path.contains('?') { seen.path.clone() } else { format!("{}?", seen.path) };
        seen.user_agent.starts_with(AGENT)
            && seen.is_mutating()
            && seen.method == self.method
            && path.contains(self.path)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { side, method, path, nth, moment } = self;
        let side = match side {
            Side::Source => "source",
            Side::Target => "target",
        };
        write!(formatter, "{method} {path} number {nth} to the {side}, {moment:?}")
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[test]
    fn only_own_writes_to_the_path_count() {
        let seen = |method: Method, path: &str, agent: &str| Seen {
            method,
            path: path.to_owned(),
            user_agent: agent.to_owned(),
        };
        let point = Point::of_source("POST", "/machines?", 1, Moment::After);
        assert!(point.counts(&seen(Method::POST, "/a/machines", "pivot-host/1")));
        assert!(point.counts(&seen(Method::POST, "/a/machines?fieldManager=x", "pivot-host/1")));
        for (method, path, agent) in [
            (Method::POST, "/a/machines?dryRun=All", "pivot-host/1"),
            (Method::POST, "/a/machines/m", "pivot-host/1"),
            (Method::POST, "/a/machines", "kubectl/1"),
            (Method::PATCH, "/a/machines", "pivot-host/1"),
        ] {
            assert!(!point.counts(&seen(method, path, agent)), "{path}");
        }
        assert_eq!(point.to_string(), "POST /machines? number 1 to the source, After");
    }
}
