//! Looks for GitOps tools that would create moved objects again in the source.
//!
//! One request per owner that labels or annotations name, and none if they name no owner.

use std::sync::PoisonError;

use futures::FutureExt;
use pivot_core::checks::gitops::{find_owners, refuse_active_owner};
use pivot_core::discovery::inventory::Inventory;
use pivot_core::messages::grouping::MAX_LISTED_NAMES;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::risk::Risk;
use pivot_core::{Key, Object, Side};
use pivot_places::PlaceError;

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side_by_side::{self, OBJECTS, Work};
use crate::check::dangling::{Lookup, look_up, remove_accepted};

/// Checks once more, right before the point of no return, whether an owner is active: a user may have unsuspended it.
pub(crate) async fn check_no_active_owners(
    job: &Job,
    inventory: &Inventory,
    moved: impl Iterator<Item = &Object>,
) -> Result<(), Failure> {
    let refusals = refuse_active_owners(job, inventory, moved).await?;
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

/// Refuses to delete what an owner would create again. Warns once of each owner that can't be judged.
pub(crate) async fn refuse_active_owners(
    job: &Job,
    inventory: &Inventory,
    moved: impl Iterator<Item = &Object>,
) -> Result<Vec<Refusal>, Failure> {
    if !job.route.deletes_from_source() {
        return Ok(Vec::new());
    }
    let owners = find_owners(moved);
    let accepted = job.options.accept.kinds(Risk::Gitops);
    let looks = owners.keys().map(|owner| -> Work<'_, (&Key, Lookup)> {
        async move {
            match look_up(job, inventory, Side::Source, std::slice::from_ref(owner)).await {
                // A tool that was removed may have left a definition whose objects no webhook converts any more. A server that
                // asks for fewer requests would answer later.
                Err(Failure::Place { error: PlaceError::Unavailable(_), .. })
                    if accepted.contains(&owner.group_kind) =>
                {
                    job.used_risks.insert_kinds(Risk::Gitops, [owner.group_kind.clone()]);
                    Ok((owner, Lookup::Unreadable))
                }
                lookup => Ok((owner, lookup?)),
            }
        }
        .boxed()
    });
    let mut found = side_by_side::try_all(OBJECTS, looks.collect()).await?;
    found.sort_by_key(|(owner, _)| *owner);
    let (mut all, mut unreadable, mut applied) = (Vec::new(), Vec::new(), 0);
    let mut reported = job.reported_owners.lock().unwrap_or_else(PoisonError::into_inner);
    for (owner, lookup) in found {
        let Some(owned) = owners.get(owner) else { continue };
        match lookup {
            Lookup::At(body) => {
                let refusal = refuse_active_owner(&body, owned);
                all.extend(refusal.map_err(|error| Failure::Object(Side::Source, error))?);
            }
            Lookup::Absent | Lookup::Unreadable => {
                if !owned.marked.is_empty() && reported.insert(owner.clone()) {
                    unreadable.push(owner);
                    applied += owned.marked.len();
                }
            }
        }
    }
    if !unreadable.is_empty() {
        let text = format!(
            "pivot-host doesn't find {} in the source, or can't read them: if they apply objects that move ({applied}) from another \
             cluster, suspend them there",
            some_of(&unreadable, MAX_LISTED_NAMES)
        );
        job.report(Event::warning("owners-unreadable", text));
    }
    Ok(remove_accepted(job, Risk::Gitops, all))
}
