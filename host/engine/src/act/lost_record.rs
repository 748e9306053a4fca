//! Handles a committed move of which the source has no record any more.
//!
//! The source's record is removed only when nothing is left to delete or unpause. Without it, the target's record decides
//! nothing in the source: its author may have no permissions there.

use std::collections::BTreeMap;

use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::objects::pause;
use pivot_core::records::release::{Entry, Pausing, ReleaseFate, ReleaseList};
use pivot_core::{Key, Side, Uid};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::listing;
use crate::base::requests::side_by_side::LISTS;

/// Finds the objects that the source still has to delete, and the kept objects that are still paused.
pub(crate) async fn find_left_entries<'a>(
    job: &Job,
    list: &'a ReleaseList,
) -> Result<Vec<&'a Entry>, Failure> {
    let mut wanted = BTreeMap::new();
    let mut worked_on: BTreeMap<&Uid, &'a Entry> = BTreeMap::new();
    for entry in
        list.entries.iter().filter(|e| e.fate == ReleaseFate::Delete || e.pausing != Pausing::Untouched)
    {
        worked_on.insert(&entry.uid, entry);
        // A kind that is not served has no objects either.
        if let Some(kind) = job.kinds.source.get(&entry.key.group_kind) {
            wanted.insert((&entry.key.group_kind, &entry.key.namespace), kind.clone());
        }
    }
    let wanted = wanted.into_iter().map(|((_, namespace), kind)| (kind, namespace.clone())).collect();
    let mut left: Vec<&'a Entry> = Vec::new();
    for (_, listed) in listing::list_metas(&job.source, LISTS, wanted).await? {
        for meta in listed.require()?.iter().filter(|meta| !meta.is_being_deleted()) {
            let Some(entry) = worked_on.get(&meta.uid) else { continue };
            if entry.fate == ReleaseFate::Delete || pause::is_ours(meta, &job.move_id) {
                left.push(*entry);
            }
        }
    }
    left.sort_unstable_by_key(|entry| &entry.key);
    Ok(left)
}

/// Refuses if the source still has objects to delete or unpause.
pub(crate) async fn refuse_left_entries(job: &Job, list: &ReleaseList) -> Result<(), Failure> {
    let left: Vec<&Key> = find_left_entries(job, list).await?.into_iter().map(|entry| &entry.key).collect();
    let Some(first) = left.first() else { return Ok(()) };
    Err(Failure::from_refusal(Refusal {
        code: "record-removed",
        side: Side::Source,
        object: Some((*first).clone()),
        others: left.iter().skip(1).copied().cloned().collect(),
        message: format!(
            "the source has no record of move {}, which is removed last of all, but still has {}: nothing is deleted nor unpaused \
             there on the word of the target alone",
            job.move_id,
            some_of(&left, 5)
        ),
        remedies: vec![
            "find out who removed that record, or wrote the target's, and whether the source was restored from a backup; until \
             then keep what it has, paused"
                .into(),
            Remedy::ResumeWithoutSource,
        ],
    }))
}
