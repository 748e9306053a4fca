//! Resuming the target, and waiting until its controllers show that they have taken over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, TryStreamExt};
use pivot_core::readiness::{self, Expectation};
use pivot_core::record::Phase;
use pivot_core::refusal::Side;
use pivot_core::release::{Entry, Quiet, ReleaseList};
use pivot_core::soft::is_cluster_class;
use pivot_core::{Key, Kind, Object};

use crate::events::Event;
use crate::failure::Failure;
use crate::job::Job;
use crate::quiet;
use crate::wait;

/// Source objects as they were copied, where they are known.
pub(crate) type Known = BTreeMap<Key, Object>;

/// Un-pauses the copies: classes first, a Cluster can't be reconciled without its class.
pub(crate) async fn resume(job: &Job, list: &ReleaseList, known: &Known) -> Result<(), Failure> {
    let paused = || list.entries.iter().filter(|entry| entry.quiet == Quiet::Paused);
    for classes in [true, false] {
        let wave = paused().filter(|entry| is_cluster_class(&entry.key.group_kind) == classes);
        stream::iter(wave.map(Ok))
            .try_for_each_concurrent(32, |entry: &Entry| async move {
                let kind = job.kind(Side::Target, &entry.key.group_kind)?;
                // The copy carries the same undo annotation as the source: no need to read it first.
                let known = known.get(&entry.key);
                if quiet::take_back(&job.target, kind, &entry.key, &job.move_id, known).await? {
                    job.tell(Event::Done(Phase::Live, &entry.key, "resumed", Side::Target));
                }
                Ok::<_, Failure>(())
            })
            .await?;
    }
    Ok(())
}

/// Waits until the target's controllers report what the source's did.
pub(crate) async fn verify(job: &Job, list: &ReleaseList, known: &Known) -> Result<(), Failure> {
    if job.options.no_wait {
        return Ok(());
    }
    let mut expected: BTreeMap<Key, Expectation> = BTreeMap::new();
    let mut wanted: BTreeMap<Arc<Kind>, BTreeSet<Key>> = BTreeMap::new();
    for entry in &list.entries {
        let Some(object) = known.get(&entry.key) else { continue };
        let unreadable = |error| Failure::Object(Side::Source, error);
        if let Some(expectation) = readiness::expectation(object).map_err(unreadable)? {
            expected.insert(entry.key.clone(), expectation);
            wanted
                .entry(job.kind(Side::Target, &entry.key.group_kind)?.clone())
                .or_default()
                .insert(entry.key.clone());
        }
    }
    let lacks = |object: &Object| match expected.get(&object.key()) {
        Some(expectation) => {
            readiness::missing(expectation, object).map_err(|error| Failure::Object(Side::Target, error))
        }
        None => Ok(None),
    };
    wait::until(&job.target, wanted, &lacks, job.options.verify_timeout, &job.halter, &*job.watcher).await
}
