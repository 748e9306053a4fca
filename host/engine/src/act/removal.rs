//! Removes objects that the move created in the target, dependents first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::records::record::{Phase, Record};
use pivot_core::{Key, Meta, Side, Uid};

use crate::act::commit;
use crate::base::events::Verb;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::dataflow;

/// Removes copies that carry the move's mark, dependents first. Each delete names the UID that was read.
pub(crate) async fn remove_copies(
    job: &Arc<Job>,
    record: &Record,
    phase: Phase,
    copies: Vec<(Key, Meta)>,
) -> Result<(), Failure> {
    let copies = Arc::new(copies);
    let added: Arc<BTreeSet<Key>> =
        Arc::new(record.scope.from_manifests.iter().map(|added| added.object.clone()).collect());
    let place: BTreeMap<&Uid, usize> =
        copies.iter().enumerate().map(|(i, (_, meta))| (&meta.uid, i)).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); copies.len()];
    for (index, (_, meta)) in copies.iter().enumerate() {
        for owner in &meta.owner_references {
            if let Some(list) = place.get(&owner.uid).and_then(|&owner| after.get_mut(owner)) {
                list.push(index);
            }
        }
    }
    dataflow::run(&after, job.limiter(Side::Target), &job.halter, |index| {
        let (job, copies, added) = (job.clone(), copies.clone(), added.clone());
        async move {
            let Some((key, meta)) = copies.get(index) else {
                return Err(Failure::Bug(format!("no object {index}")));
            };
            match added.contains(&job.target.own_name(key)) {
                true => commit::remove_added(&job, key, &meta.uid).await?,
                false => commit::remove_copy(&job, key, &meta.uid).await?,
            }
            job.report_object(phase, Verb::Removed, key, Side::Target);
            Ok(())
        }
    })
    .await
}
