//! The copies of which a sign is awaited before the commit.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::copies::signs;
use pivot_core::messages::risk::Risk;
use pivot_core::plan::Step;
use pivot_core::{GroupKind, Key, Side};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::read::snapshot::Snapshot;

/// Copies by kind: one of each set gives the sign.
pub(crate) type AwaitedSigns = BTreeMap<GroupKind, BTreeSet<BTreeSet<Key>>>;

/// Selects the copies of which a sign is awaited. Objects of the target that are used unchanged give none.
pub(crate) fn select_signs(
    job: &Job,
    snapshot: &Snapshot,
    is_used: impl Fn(&Step) -> bool,
) -> Result<AwaitedSigns, Failure> {
    let deletes = job.route.deletes_from_source() && job.route.target_runs();
    if !deletes || job.options.accept.contains(Risk::TakeoverUnchecked) {
        return Ok(AwaitedSigns::new());
    }
    let steps = snapshot.plan.steps.iter();
    let copied = steps.filter(|step| step.treatment().is_compared() && !is_used(step));
    let sources = copied.map(|step| snapshot.object(step)).collect::<Result<Vec<_>, _>>()?;
    let mut awaited = signs::select_signs(sources).map_err(|error| Failure::Object(Side::Source, error))?;
    job.used_risks.insert_kinds(Risk::Unseen, awaited.keys().cloned());
    let accept = &job.options.accept;
    awaited.retain(|kind, _| {
        !(accept.contains_kind(Risk::Unseen, kind) || accept.contains_kind(Risk::Unverified, kind))
    });
    Ok(awaited)
}
