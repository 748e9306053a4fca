//! Creates the namespaces that the target doesn't have.

use futures::FutureExt;
use pivot_core::objects::names;
use pivot_core::records::record::Phase;
use pivot_core::{Key, Side};
use pivot_places::{Change, PlaceError};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side_by_side::{self, NAMESPACES, Work};
use crate::base::state::journal::Journal;
use crate::read::namespaces::{self, MetadataByNamespace, Namespaces};
use crate::read::snapshot::Snapshot;

/// Creates the namespaces that only a later reading of the source needs, once the record names them.
pub(crate) async fn create_late(
    job: &Job,
    journal: &mut Journal,
    snapshot: &Snapshot,
) -> Result<(), Failure> {
    let missing = Namespaces::look_up_planned(job, snapshot).await?.missing();
    if missing.is_empty() {
        return Ok(());
    }
    journal.note_namespaces(&missing);
    journal.enter_phase(Phase::Copied).await?;
    create_namespaces(job, namespaces::read_metadata(job, &missing).await).await
}

/// Creates namespaces concurrently.
pub(crate) async fn create_namespaces(job: &Job, metadata: MetadataByNamespace) -> Result<(), Failure> {
    let work = metadata.into_iter().map(|(name, mut metadata)| -> Work<'_, ()> {
        async move {
            metadata.annotations.insert(names::MARK.to_owned(), job.move_id.clone());
            let kind = job.core_kind(Side::Target, "", "Namespace")?;
            match job.target.create(kind, &metadata.manifest(&name), Change::Real).await {
                Ok(_) | Err(PlaceError::AlreadyExists(_)) => Ok(()),
                Err(error) => {
                    let key = Key::new(kind.group_kind.clone(), None, &name);
                    Err(job.target.request_failure("creating", Some(&key), error))
                }
            }
        }
        .boxed()
    });
    side_by_side::write_all(NAMESPACES, work.collect()).await.map(drop)
}
