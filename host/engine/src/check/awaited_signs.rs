//! The copies of which a sign is awaited before the commit, and the moved kinds without one.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::copies::signs;
use pivot_core::copies::signs::kinds_without_sign::KindsWithoutSign;
use pivot_core::messages::risk::Risk;
use pivot_core::plan::Step;
use pivot_core::{GroupKind, Key, Side};

use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::read::snapshot::Snapshot;

/// Evidence that is awaited before the commit: the target's controllers run.
#[derive(Default)]
pub(crate) struct AwaitedSigns {
    /// Copies by kind: one of each set gives the sign.
    pub(crate) copies: BTreeMap<GroupKind, BTreeSet<BTreeSet<Key>>>,
    /// Other kinds, whose providers' Deployments are checked.
    pub(crate) without_sign: KindsWithoutSign,
}

/// Selects the copies of which a sign is awaited. Objects of the target that are used unchanged give none.
pub(crate) fn select_signs(
    job: &Job,
    snapshot: &Snapshot,
    is_used: impl Fn(&Step) -> bool,
) -> Result<AwaitedSigns, Failure> {
    let deletes = job.route.deletes_from_source() && job.route.target_runs();
    if !deletes || job.options.accept.contains(Risk::TakeoverUnchecked) {
        return Ok(AwaitedSigns::default());
    }
    let steps = snapshot.plan.steps.iter();
    let copied = steps.filter(|step| step.treatment().is_compared() && !is_used(step));
    let sources = copied.map(|step| snapshot.object(step)).collect::<Result<Vec<_>, _>>()?;
    let to_failure = |error| Failure::Object(Side::Source, error);
    let mut without_sign = KindsWithoutSign::select(sources.iter().copied()).map_err(to_failure)?;
    let mut copies = signs::select_signs(sources).map_err(to_failure)?;
    job.used_risks.insert_kinds(Risk::Unseen, copies.keys().chain(without_sign.objects.keys()).cloned());
    let accept = &job.options.accept;
    let is_awaited = |kind: &GroupKind| {
        !(accept.contains_kind(Risk::Unseen, kind) || accept.contains_kind(Risk::Unverified, kind))
    };
    copies.retain(|kind, _| is_awaited(kind));
    without_sign.objects.retain(|kind, _| is_awaited(kind));
    Ok(AwaitedSigns { copies, without_sign })
}
