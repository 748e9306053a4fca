//! Waits until a move can begin: a bootstrap cluster is asked to move into a cluster that it is still building.
//!
//! Each round is a plan: it reads both clusters and changes neither, and the move checks everything again. Rounds are rare,
//! because building a cluster takes minutes. Watches don't suffice: the missing object may be in either cluster, or the cluster
//! itself may be missing.

use std::sync::Arc;
use std::time::Duration;

use pivot_core::messages::grouping::MAX_LISTED_NAMES;
use pivot_core::messages::refusal::Refusal;
use pivot_engine::{Exit, Failure, NoWatcher, Setup, Stop, run};
use tokio::time::{Instant, sleep};

use super::{Command, MoveOrResume, UNTOUCHED};
use crate::ends::{self, OpenError};
use crate::plugins::Loading;
use crate::workload::WorkloadError;

/// The pause between two looks.
const AGAIN: Duration = Duration::from_secs(10);

impl Command<'_> {
    /// Returns once the move can begin, or can't for a reason that no waiting changes: the move itself says which. If it can't begin in
    /// time, returns the exit code.
    pub(super) async fn until_built(&self, patience: Duration) -> Result<(), u8> {
        let plugins = Loading::begin(&self.choices.with);
        let (begun, mut said) = (Instant::now(), None);
        while let Some(why) = self.unless_halted(async { Ok(self.unbuilt(&plugins).await) }).await? {
            // A look is not cut short, and takes its time where a server doesn't answer.
            let waited = begun.elapsed();
            let left = patience.saturating_sub(waited);
            if left.is_zero() {
                let message = format!("timed out after {} s of waiting to begin: {why}", waited.as_secs());
                return Err(self.report_failure(Exit::Timeout, &message.into(), UNTOUCHED));
            }
            if said.as_ref() != Some(&why) {
                self.output.say(format!("waiting to begin: {why}"));
                said = Some(why);
            }
            let pause = async {
                sleep(AGAIN.min(left)).await;
                Ok(())
            };
            self.unless_halted(pause).await?;
        }
        Ok(())
    }

    /// Returns the reason why the move can't begin, if something is still being built.
    async fn unbuilt(&self, plugins: &Loading) -> Option<String> {
        let opened = match ends::to_read(&self.choices.ends, Some(&self.authors(MoveOrResume::Move))).await {
            Ok(opened) => opened,
            Err(error @ OpenError::Workload(WorkloadError::NoSecret { .. })) => {
                return Some(error.to_string());
            }
            Err(_) => return None,
        };
        let added = ends::read_additions(&self.choices.add).await.ok()?;
        let setup = Setup {
            sides: opened.sides(),
            options: self.choices.options(opened.namespace.as_deref()).with_additions(added),
            plugins: plugins.participating(|_| {}),
            watcher: Arc::new(NoWatcher),
            halter: self.halter.clone(),
            parking: Default::default(),
            workload_clusters: None,
        };
        let stop = run::plan(setup).await.err().filter(Stop::passes)?;
        let Failure::Refused(refusals) = &stop.failure else { return Some(stop.to_string()) };
        let groups = Refusal::group_similar(refusals);
        let lines = groups.iter().map(|group| group.line(&group.first.message, MAX_LISTED_NAMES));
        Some(lines.collect::<Vec<_>>().join("; "))
    }
}
