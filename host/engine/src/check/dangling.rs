//! Looks for objects that stay in the source although moved objects need them in the target.
//!
//! One request per object and side, and none for objects that were read anyway. Objects that can't be read are not judged.

use std::collections::BTreeSet;

use futures::FutureExt;
use pivot_core::checks::dangling::{ACCEPTED_DANGLING, Referent, Search};
use pivot_core::checks::providers::Provider;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::{Key, Object, Side};
use pivot_places::PlaceError;

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::side_by_side::{self, OBJECTS, Work};
use crate::check::existing::find_differences;
use crate::read::snapshot::Snapshot;

/// An object as far as it can be looked up.
pub(crate) enum Lookup {
    At(Box<Object>),
    Absent,
    Unreadable,
}

/// A referent on both sides.
enum Comparison {
    OnlyInSource(Box<Object>),
    /// The target has it with another content.
    Differs,
    NothingWrong,
    Unreadable,
}

/// Refuses to leave behind what moved objects need; `target_providers` are none if they are unknown.
pub(crate) async fn refuse_dangling(
    job: &Job,
    snapshot: &Snapshot,
    target_providers: Option<&[Provider]>,
) -> Result<Vec<Refusal>, Failure> {
    if !job.route.target_runs() {
        return Ok(Vec::new());
    }
    let (Snapshot { inventory, plan, providers, .. }, scope) = (snapshot, &job.options.scope);
    let mut search = Search::new(inventory, plan, scope, providers, target_providers);
    let (mut unreadable, mut different) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let unknown = search.take_unknown();
        if unknown.is_empty() {
            break;
        }
        let looks = unknown.into_iter().map(|referent| -> Work<'_, (Referent, Comparison)> {
            async move {
                let found = compare(job, snapshot, &referent).await?;
                Ok((referent, found))
            }
            .boxed()
        });
        let mut found = side_by_side::try_all(OBJECTS, looks.collect()).await?;
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (referent, found) in found {
            match found {
                Comparison::OnlyInSource(object) => search.add_missing(referent, *object),
                Comparison::Differs => different.extend(referent.source.into_iter().next()),
                Comparison::NothingWrong => {}
                Comparison::Unreadable => unreadable.extend(referent.source.into_iter().next()),
            }
        }
    }
    if !unreadable.is_empty() {
        let text = format!(
            "pivot-host can't read {} on both sides, so it doesn't know whether the target has all that moved objects need",
            some_of(&unreadable.iter().collect::<Vec<_>>(), 3)
        );
        job.report(Event::note("references-unreadable", text));
    }
    if !different.is_empty() {
        let text = format!(
            "the target has {} with other contents, which moved objects will use",
            some_of(&different.iter().collect::<Vec<_>>(), 3)
        );
        job.report(Event::warning("references-differ", text));
    }
    let found = search.into_refusals(!job.target.end_kind.is_absent());
    report_accepted(job, &found);
    let mut refusals = remove_accepted(job, Risk::Dangling, found);
    offer_plugins_once(job, &mut refusals);
    Ok(refusals)
}

/// Reports the objects that stay although moved objects need them, and for whose kinds the user accepts that. A later check of
/// the same run doesn't repeat them.
fn report_accepted(job: &Job, found: &[Refusal]) {
    for Refusal { object, message, .. } in found {
        let Some(object) = object else { continue };
        let kind = &object.group_kind;
        if job.options.accept.contains_kind(Risk::Dangling, kind)
            && !job.used_risks.contains_kind(Risk::Dangling, kind)
        {
            let (code, object, text) = (ACCEPTED_DANGLING.into(), Some(object.clone()), message.clone());
            job.report(Event::Note { code, object, text, remedies: Vec::new() });
        }
    }
}

/// Removes the offers of plugins that take part. The offer of another plugin stays in the first refusal that has it.
fn offer_plugins_once(job: &Job, refusals: &mut [Refusal]) {
    let mut known: BTreeSet<String> =
        job.plugins.iter().map(|plugin| plugin.describe().name.clone()).collect();
    for refusal in refusals {
        refusal.remedies.retain_mut(|remedy| {
            let Remedy::EnablePlugin { plugin, directory } = remedy else { return true };
            directory.clone_from(&job.options.plugin_directory);
            known.insert(plugin.clone())
        });
    }
}

/// Returns the refusals of objects for whose kinds this run doesn't accept a risk.
pub(crate) fn remove_accepted(job: &Job, risk: Risk, mut refusals: Vec<Refusal>) -> Vec<Refusal> {
    let kinds = refusals.iter().filter_map(|refusal| Some(refusal.object.as_ref()?.group_kind.clone()));
    job.used_risks.insert_kinds(risk, kinds);
    let accepted = job.options.accept.kinds(risk);
    refusals.retain(|refusal| {
        refusal.object.as_ref().is_none_or(|object| !accepted.contains(&object.group_kind))
    });
    refusals
}

/// Compares a referent on both sides.
async fn compare(job: &Job, snapshot: &Snapshot, referent: &Referent) -> Result<Comparison, Failure> {
    let object = match look_up(job, &snapshot.inventory, Side::Source, &referent.source).await? {
        Lookup::At(object) => object,
        // The reference leads nowhere in the source, either.
        Lookup::Absent => return Ok(Comparison::NothingWrong),
        Lookup::Unreadable => return Ok(Comparison::Unreadable),
    };
    Ok(match look_up(job, &snapshot.inventory, Side::Target, &referent.target).await? {
        // Anyone who controls the target could guess the content of an object that the Pivot's author can't read.
        Lookup::At(_) if job.options.confined == Some(Side::Source) && object.meta.namespace.is_none() => {
            Comparison::NothingWrong
        }
        Lookup::At(there) if find_differences(&object, &there)?.is_empty() => Comparison::NothingWrong,
        Lookup::At(_) => Comparison::Differs,
        Lookup::Absent if !referent.target.is_empty() => Comparison::OnlyInSource(object),
        Lookup::Absent | Lookup::Unreadable => Comparison::Unreadable,
    })
}

/// Looks up the first object that exists.
pub(crate) async fn look_up(
    job: &Job,
    inventory: &Inventory,
    side: Side,
    keys: &[Key],
) -> Result<Lookup, Failure> {
    let mut found = Lookup::Absent;
    for key in keys {
        let Some(kind) = job.kinds.get(side).get(&key.group_kind) else { continue };
        // A confined user must not learn which objects other namespaces have.
        let is_outside = !job.options.scope.includes_namespace(key.namespace.as_deref());
        if is_outside && job.options.confined == Some(side) {
            found = Lookup::Unreadable;
            continue;
        }
        if let Some(object) = inventory.get_by_key(key).filter(|_| side == Side::Source) {
            return Ok(Lookup::At(Box::new(object.clone())));
        }
        match job.handle(side).get(kind, key).await {
            Ok(Some(object)) => return Ok(Lookup::At(Box::new(object))),
            Ok(None) => {}
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => found = Lookup::Unreadable,
            Err(failure) => return Err(failure),
        }
    }
    Ok(found)
}
