//! The readings of the source: the first one, one after the pause, and one when a committed move continues.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

use pivot_core::discovery::inventory::Inventory;
use pivot_core::plan::{Plan, StayReason};
use pivot_core::planner::add_to_plan::add_to_plan;
use pivot_core::plugins::reach::{Reach, Wishes};
use pivot_core::records::release::ReleaseList;
use pivot_core::records::saved_plan::content_of;
use pivot_core::request::scope::Namespaces;
use pivot_core::{Both, Side};

use crate::base::events::{Event, Summary};
use crate::base::job::Job;
use crate::base::options::DryRun;
use crate::base::outcome::failure::Failure;
use crate::base::state::journal::Journal;
use crate::read::first_reading::{FirstReading, FirstReads};
use crate::read::objects::discover_objects;
use crate::read::snapshot::Snapshot;
use crate::read::{explain_empty, planning};

/// Reads the source unless `first` is a reading with the same scope. Reports the plan.
pub(crate) async fn read_first(
    job: &Job,
    first: Option<FirstReading>,
) -> Result<(Snapshot, FirstReads), Failure> {
    let FirstReading { source_objects, namespaces, .. } =
        match first.filter(|look| look.has_scope_of(&job.options)) {
            Some(look) => look,
            None => {
                job.report(Event::Reading { side: Side::Source });
                let wishes = planning::collect_wishes(&job.plugins);
                let sides = Both::new(&job.source, &job.target);
                let scope = (&job.options.scope, job.options.confined);
                FirstReading::read_sides(sides, &job.kinds, scope, ready(Ok(wishes))).await?
            }
        };
    for (code, caution) in &source_objects.cautions {
        job.report(Event::warning(code, caution.as_str()));
    }
    let (mut plan, relations) =
        planning::plan_with_plugins(&source_objects, &job.options.scope, &job.plugins).await?;
    let needed = planning::find_needed_risks(&source_objects, &job.options.scope, &relations);
    let inventory = add_from_manifests(job, &mut plan, source_objects.inventory);
    if job.options.dry_run != DryRun::Off {
        add_content_digests(job, &mut plan, &inventory)?;
    }
    let plan = Arc::new(plan);
    job.report(Event::Planned { summary: Summary::from(&*plan), plan: plan.clone() });
    plan.notes.iter().for_each(|note| job.report(note.clone().into()));
    // Cluster-scoped objects are in the plan of every namespace, even a mistyped one.
    let mut requested = plan.steps.iter().filter(|step| match &job.options.scope.namespaces {
        Namespaces::All => !step.is_chosen_by_user(),
        Namespaces::One(one) => step.key.namespace.as_ref() == Some(one) && !step.is_chosen_by_user(),
    });
    if requested.next().is_none() && plan.refusals.is_empty() {
        let why = explain_empty::explain_unlabelled(&job.kinds).unwrap_or_else(|| {
            match (job.options.scope.describe_clusters(), &job.options.scope.namespaces) {
                (Some(named), _) => format!("no {named}"),
                (None, Namespaces::All) => "no Cluster in any namespace".into(),
                (None, Namespaces::One(one)) => {
                    format!("no Cluster, and nothing labelled to move, in namespace {one}")
                }
            }
        });
        let excluded = plan.stays.iter().any(|stay| stay.reason == StayReason::Excluded);
        let why = if excluded { format!("{why}, apart from what is excluded") } else { why };
        return Err(Failure::Empty(why));
    }
    let snapshot = Snapshot { inventory, plan, relations, providers: source_objects.providers };
    Ok((snapshot, FirstReads { namespaces, needed }))
}

/// Adds the content digest of its object to each step.
fn add_content_digests(job: &Job, plan: &mut Plan, inventory: &Inventory) -> Result<(), Failure> {
    for step in &mut plan.steps {
        if let Some(object) = inventory.get(step.object) {
            let content =
                content_of(object, &job.move_id).map_err(|error| Failure::Object(Side::Source, error))?;
            step.content = Some(content);
        }
    }
    Ok(())
}

/// Reads the source again, and makes a new plan.
pub(crate) async fn read_again(job: &Job) -> Result<Snapshot, Failure> {
    let wishes = planning::collect_wishes(&job.plugins);
    let scope = (&job.options.scope, job.options.confined);
    let source_objects = discover_objects(&job.source, &job.kinds.source, scope, ready(Ok(wishes))).await?;
    let (mut plan, relations) =
        planning::plan_with_plugins(&source_objects, &job.options.scope, &job.plugins).await?;
    let inventory = add_from_manifests(job, &mut plan, source_objects.inventory);
    Ok(Snapshot { inventory, plan: Arc::new(plan), relations, providers: source_objects.providers })
}

/// Adds the objects from manifests to a plan and its inventory.
fn add_from_manifests(job: &Job, plan: &mut Plan, inventory: Inventory) -> Inventory {
    add_to_plan(plan, inventory, &job.options.added, &job.options.scope, &job.kinds.target)
}

/// Reads the current state of the objects of a release list, for a run that resumes a committed move.
pub(crate) async fn read_moved_objects(
    job: &Job,
    journal: &Journal,
    list: &ReleaseList,
) -> Result<Inventory, Failure> {
    if job.source.end_kind.is_absent() || journal.has_begun_to_delete() {
        return Ok(Inventory::default());
    }
    let record = &journal.record;
    let uids: BTreeSet<_> = list.entries.iter().map(|entry| &entry.uid).collect();
    let brought = list.entries.iter().filter(|entry| entry.brought).map(|entry| Reach::for_key(&entry.key));
    let wishes = Wishes { kinds: record.kinds.clone(), reaches: brought.collect() };
    let scope = (&record.scope, job.options.confined);
    let source_objects = discover_objects(&job.source, &job.kinds.source, scope, ready(Ok(wishes))).await?;
    let objects = source_objects.inventory.objects().iter().filter(|object| uids.contains(&object.meta.uid));
    Ok(Inventory::new(objects.cloned().collect()))
}
