//! Hands a source over in files, and finishes or cancels that later.
//!
//! The source stays paused, and its record has the list of the copied objects, with the state of each. The record can't show
//! where the files are imported, or how often.
//!
//! So the user names the cluster that imported them. That cluster must have:
//!
//! - an import of exactly these files, which verified its copies against them,
//! - the copies with the mark of that import, and
//! - controllers that have taken over.
//!
//! Objects that changed in the source after they were copied are not deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt;
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::risk::Risk;
use pivot_core::messages::safe_text;
use pivot_core::plugins::hooks::Point;
use pivot_core::records::record::{Handover, Record};
use pivot_core::records::release::{ReleaseFate, ReleaseList};
use pivot_core::{Key, Side, Uid};
use pivot_places::{Begun, Closing, Identity};

use crate::act::{imported, pausing, release};
use crate::base::clock::utc_now;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::calls;
use crate::base::plugins::view::PluginView;
use crate::base::requests::side_by_side::{self, OBJECTS};
use crate::base::state::journal::{Imports, Journal};
use crate::check::{evidence, gitops, new_dependents};

/// Longest text from a record that is printed, in characters.
const MAX_PRINTED_CHARS: usize = 200;
/// The code of the refusal if the target has no import of the files.
pub(crate) const IMPORT_NOT_FOUND: &str = "import-not-found";

/// Ends the copy once all files are written. From then on, the source waits for their import. The record is written first:
/// complete files must not exist without a record in the source.
pub(crate) async fn end_copy(job: &Job, journal: &mut Journal, list: &ReleaseList) -> Result<(), Failure> {
    let Identity::Directory { contents: Some(contents), .. } = job.target.identify().await? else {
        return Err(Failure::Bug("files that were written can't be identified".into()));
    };
    let to = job.target.place.label().to_owned();
    let handover =
        Handover { files: Some(contents), directory: to, written_at: utc_now(), ..Handover::default() };
    journal.hand_over(list, handover).await?;
    job.target.close(Closing::Complete { handover: true, backup: None }).await
}

/// Opens files that a run wrote and did not close, to write them again. Closed files may already be in another place.
pub(crate) async fn reopen_files(job: &Job, journal: &mut Journal) -> Result<(), Failure> {
    if let Err(failure) = job.target.open(&job.move_id, Begun::Written).await {
        let handed_over = describe_handed_over(&journal.record);
        return Err(Failure::Declined(format!("{handed_over} ({failure})")));
    }
    journal.restart_handover().await
}

/// Describes a handed over source, for which only an import or a rollback can follow.
pub(crate) fn describe_handed_over(record: &Record) -> String {
    let Record { move_id, handover, .. } = record;
    let (to, at) = handover.as_ref().map_or(("", ""), |handover| (&handover.directory, &handover.written_at));
    let (to, at) = (safe_text::to_line(to, MAX_PRINTED_CHARS), safe_text::to_line(at, MAX_PRINTED_CHARS));
    format!(
        "move {move_id} handed this source over in {to} ({at}): once a cluster has imported the files, finish the handover with that \
         cluster as its target; cancel the handover only if no cluster has imported them"
    )
}

/// Commits a move whose files the target imported, once that is verified and controllers there have taken over. Changes nothing
/// before.
pub(crate) async fn commit_import(
    job: &Arc<Job>,
    journal: &mut Journal,
    contents: &Uid,
    list: &ReleaseList,
    known: &Inventory,
) -> Result<(), Failure> {
    let imports = find_imports(job, journal, contents).await?;
    let accepted = job.options.accept.kinds(Risk::CopyChanged).clone();
    let unlisted = evidence::get_unlisted(job, list, known).await?;
    let deleted = list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete);
    let deleted: Vec<_> =
        deleted.filter_map(|entry| known.get_by_key(&entry.key)).chain(unlisted.objects()).collect();
    let check_source = || async {
        tokio::try_join!(
            pausing::check_still_paused(job, list),
            new_dependents::refuse_new_dependents(job, list, journal.created_at()),
            gitops::check_no_active_owners(job, known, deleted.iter().copied()),
        )
    };
    tokio::try_join!(check_source(), check_as_copied(job, list, Some(known)))?;
    imported::check_copies(job, list, known, &imports, &accepted).await?;
    calls::wait_for_checks(job, &PluginView::from_list(list), Point::AfterResume).await?;
    evidence::wait_for_takeover(job, list, known, &BTreeSet::new(), None).await?;
    // The waits took time, and a change that the deletes find has no way back.
    check_as_copied(job, list, None).await?;
    check_source().await?;
    job.safe_point()?;
    let target = match job.target.identify().await? {
        Identity::Cluster(uid) => Some(uid),
        Identity::Directory { .. } | Identity::Unknown => None,
    };
    journal.commit_import(list, target, imports, accepted).await
}

/// Reads the list of the handed over objects. If this run found the target by one of these objects, that object is deleted
/// last.
pub(crate) async fn read_list(job: &Job, journal: &Journal) -> Result<ReleaseList, Failure> {
    let mut list = journal.read_handover_list().await?;
    for entry in &mut list.entries {
        entry.last = entry.fate == ReleaseFate::Delete && job.options.found_by.as_ref() == Some(&entry.key);
    }
    Ok(list)
}

/// Finds the marks of the moves that imported the files into the target. Refuses if there are none, or one has not ended.
async fn find_imports(job: &Job, journal: &Journal, contents: &Uid) -> Result<BTreeSet<String>, Failure> {
    let Imports { under_way, ended } = journal.find_imports(contents).await?;
    let refused = |code, message, way: &str| {
        let remedies = vec![way.into()];
        let (side, object, others) = (Side::Target, None, Vec::new());
        Err(Failure::from_refusal(Refusal { code, side, object, others, message, remedies }))
    };
    if let Some(record) = under_way.first() {
        let message = format!(
            "the import of the files, move {}, is still under way ({})",
            record.move_id, record.phase
        );
        return refused("import-under-way", message, "end that move first, where the files are");
    }
    if ended.is_empty() {
        let message = format!(
            "the target, {}, knows of no import of the files in which move {} handed this source over",
            job.target.place.label(),
            job.move_id
        );
        let way =
            "name the cluster that imported them, unchanged, and the namespace in which it keeps its records";
        return refused(IMPORT_NOT_FOUND, message, way);
    }
    Ok(ended)
}

/// Refuses if the target imported the files, or has a Cluster of them: both sides would run.
pub(crate) async fn refuse_imported(job: &Job, journal: &Journal, contents: &Uid) -> Result<(), Failure> {
    let Imports { under_way, ended } = journal.find_imports(contents).await?;
    let imports = under_way.into_iter().map(|record| record.move_id).chain(ended);
    let imports: Vec<String> = imports.collect();
    if !imports.is_empty() {
        return Err(Failure::Imported(format!(
            "the target, {}, imported the files in which this source was handed over (move {}): with the source resumed, both would \
             act on the same machines",
            job.target.place.label(),
            some_of(&imports, 3)
        )));
    }
    // The target forgets old moves, and other tools import files, too.
    let list = journal.read_handover_list().await?;
    let clusters = list.entries.iter().filter(|entry| is_cluster(&entry.key.group_kind));
    let looks = clusters.map(|entry| {
        async move {
            let Some(kind) = job.kinds.target.get(&entry.key.group_kind) else { return Ok(None) };
            Ok(job.target.get(kind, &entry.key).await?.map(|there| job.target.own_name(&there.key())))
        }
        .boxed()
    });
    let there: Vec<Key> =
        side_by_side::try_all(OBJECTS, looks.collect()).await?.into_iter().flatten().collect();
    if there.is_empty() {
        return Ok(());
    }
    Err(Failure::Imported(format!(
        "the target, {}, has {}, as the source does: with the source resumed, both would act on the same machines",
        job.target.place.label(),
        some_of(&there, 3)
    )))
}

/// Refuses if an object that would be deleted is no longer in the state that was copied into the files. Takes the objects' versions
/// from `known`; without it, from the source.
async fn check_as_copied(job: &Job, list: &ReleaseList, known: Option<&Inventory>) -> Result<(), Failure> {
    let deleted = list.entries.iter().filter(|entry| entry.fate == ReleaseFate::Delete);
    let looks = deleted.map(|entry| {
        async move {
            let kind = job.kind_of_entry(entry);
            let read;
            let now = match known {
                Some(known) => known.get_by_key(&entry.key),
                None => {
                    read = job.source.get(&kind, &entry.key).await?;
                    read.as_ref()
                }
            };
            let now = now.filter(|now| now.meta.uid == entry.uid);
            // The deletes are bound to the version in the list.
            if now.is_some_and(|now| now.meta.resource_version != entry.resource_version) {
                release::get_if_unchanged(job, &kind, entry, None).await?;
            }
            Ok(())
        }
        .boxed()
    });
    side_by_side::try_all(OBJECTS, looks.collect()).await.map(drop)
}
