//! Permissions for owner references with `blockOwnerDeletion`.
//!
//! The admission plugin OwnerReferencesPermissionEnforcement accepts such a reference only from users who may update the owner's
//! subresource `finalizers`. No server tells which plugins it runs, so a dry run decides whether a missing permission matters.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use pivot_core::plan::Step;
use pivot_core::{OwnerReference, Side};
use pivot_places::{Access, PlaceError};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side_by_side::{self, DRY_RUNS};
use crate::check::dry_run;
use crate::read::copy_body;
use crate::read::snapshot::Snapshot;

/// Returns the permissions in the target, in the source's names, each with the first step that needs it.
pub(super) fn list_needed<'a>(
    job: &Job,
    snapshot: &'a Snapshot,
) -> Result<BTreeMap<Access, &'a Step>, Failure> {
    let mut needed = BTreeMap::new();
    for step in &snapshot.plan.steps {
        let owners = copy_body::list_owners(job, step, snapshot.object(step)?)?;
        for owner in owners.iter().filter(|owner| owner.block_owner_deletion == Some(true)) {
            let kind = job.kind(Side::Target, &owner.group_kind())?;
            let access = Access {
                verb: "update".into(),
                group: kind.group_kind.group.clone(),
                resource: kind.plural.clone(),
                subresource: "finalizers".into(),
                namespace: step.key.namespace.clone().filter(|_| kind.namespaced),
            };
            needed.entry(access).or_insert(step);
        }
    }
    Ok(needed)
}

/// Returns true if the target's server refuses a copy because of these denied permissions. `missing` are the namespaces that the
/// target lacks.
pub(super) async fn is_enforced(
    job: &Job,
    snapshot: &Snapshot,
    denied: &[Access],
    missing: &BTreeSet<String>,
) -> Result<bool, Failure> {
    let needed = list_needed(job, snapshot)?;
    let probes =
        needed.into_iter().filter(|(access, _)| denied.contains(&job.target.own_access(access.clone())));
    let probes = probes.map(|(_, step)| {
        async move {
            let mut owners = copy_body::list_owners(job, step, snapshot.object(step)?)?;
            if !is_forbidden(job, snapshot, step, &owners, missing).await? {
                return Ok(false);
            }
            // Webhooks deny creates, too, and answers about Secrets don't say why.
            owners.iter_mut().for_each(|owner| owner.block_owner_deletion = None);
            Ok(!is_forbidden(job, snapshot, step, &owners, missing).await?)
        }
        .boxed()
    });
    let enforced = side_by_side::try_all(DRY_RUNS, probes.collect()).await?;
    Ok(enforced.contains(&true))
}

async fn is_forbidden(
    job: &Job,
    snapshot: &Snapshot,
    step: &Step,
    owners: &[OwnerReference],
    missing: &BTreeSet<String>,
) -> Result<bool, Failure> {
    match dry_run::create_without_effect(job, snapshot, step, owners, missing).await?.answer {
        Err(PlaceError::Forbidden(_)) => Ok(true),
        // A server that doesn't answer decides nothing.
        Err(error) if error.is_transient() => {
            Err(job.target.request_failure("asking about", Some(&step.key), error))
        }
        _ => Ok(false),
    }
}
