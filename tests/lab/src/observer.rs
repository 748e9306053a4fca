//! A witness: watches both sides from outside the program under test, and reports which promises were broken.
//!
//! The program's own account of a move is no evidence, and the final state does not show what happened on the way: for a few
//! milliseconds both sides may have been active. So watches that the program doesn't know about record every state that either
//! server shows, and the record is checked afterwards.
//!
//! One limit: two servers have no common clock. Events of different watches are ordered by arrival, so two that are only
//! milliseconds apart may be in the wrong order.

mod book;
mod check;
mod log;
mod rules;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::future::try_join_all;
use tokio::task::JoinSet;

use crate::kinds::Kind;
use crate::{Pair, Server};
use book::Book;
use watch::Watch;

pub use check::{Broken, Violation, check};
pub use log::{Event, Log, Side};
pub use rules::Rules;

/// How long the watches may lag behind the servers at the end.
const CATCH_UP_LIMIT: Duration = Duration::from_mins(3);

/// Running watches on two servers.
pub struct Observer {
    book: Book,
    watches: Vec<Watch>,
    started: usize,
    // Aborted when dropped.
    tasks: JoinSet<Result<()>>,
}

impl Observer {
    /// Watches all kinds that a move can touch (those of CRDs, Secret, ConfigMap) in these namespaces, or in all but the
    /// system's, and cluster-scoped objects. Returns once all existing objects have been seen.
    pub async fn start(source: &Server, target: &Server, namespaces: &[&str]) -> Result<Self> {
        let (of_source, of_target) = tokio::try_join!(source.kinds(), target.kinds())?;
        Self::start_kinds((source, &of_source), (target, &of_target), namespaces).await
    }

    /// Like [`Observer::start`], for a pair.
    pub async fn of(pair: &Pair, namespaces: &[&str]) -> Result<Self> {
        Self::start(&pair.source, &pair.target, namespaces).await
    }

    /// Like [`Observer::start`], with the kinds of each side.
    pub async fn start_kinds(
        source: (&Server, &[Kind]),
        target: (&Server, &[Kind]),
        namespaces: &[&str],
    ) -> Result<Self> {
        let book = Book::default();
        let namespaces: Arc<[String]> = namespaces.iter().map(ToString::to_string).collect();
        let mut watches = Vec::new();
        for (side, (server, kinds)) in [(Side::Source, source), (Side::Target, target)] {
            for kind in kinds {
                let (client, namespaces) = (server.client(), namespaces.clone());
                watches.push(Watch { side, kind: kind.clone(), client, namespaces, book: book.clone() });
            }
        }
        let versions = try_join_all(watches.iter().map(Watch::begin)).await?;
        let started = book.read(|entries| entries.events.len());
        let mut tasks = JoinSet::new();
        for (watch, version) in watches.iter().cloned().zip(versions) {
            tasks.spawn(watch.follow(version));
        }
        Ok(Self { book, watches, started, tasks })
    }

    /// Waits until everything that has happened has been seen, and checks it.
    pub async fn finish(self, rules: &Rules) -> Result<Vec<Violation>> {
        Ok(check(&self.finish_log().await?, rules))
    }

    /// Waits until everything that has happened has been seen, and returns it.
    pub async fn finish_log(mut self) -> Result<Log> {
        let start = Instant::now();
        while let Some(behind) = self.behind().await? {
            // A watch only ends with an error: then its record is incomplete.
            if let Some(ended) = self.tasks.try_join_next() {
                ended??;
            }
            if start.elapsed() > CATCH_UP_LIMIT {
                bail!("the observer's watch has not shown {behind} within {} s", CATCH_UP_LIMIT.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if let Some(ended) = self.tasks.try_join_next() {
            ended??;
        }
        let events = self.book.read(|entries| std::mem::take(&mut entries.events));
        Ok(Log { events, started: self.started })
    }

    /// Something that a server has and a watch has not shown, or the other way round.
    async fn behind(&self) -> Result<Option<String>> {
        let lists = try_join_all(self.watches.iter().map(Watch::now)).await?;
        let real: BTreeMap<_, _> = lists.into_iter().flatten().collect();
        Ok(self.book.read(|entries| {
            let mut places = real.keys().chain(entries.versions.keys());
            let differs = places.find(|place| real.get(place) != entries.versions.get(place));
            differs.map(|(side, key)| format!("the last of {key} in the {side}"))
        }))
    }
}
