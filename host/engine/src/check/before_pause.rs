//! Every check that can refuse the move before anything is touched.
//!
//! The checks run side by side and all refusals are reported together, so that a user fixes everything in one go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::checks::collateral::{Bystander, find_lost_dependents};
use pivot_core::checks::nodes::can_run_controllers;
use pivot_core::checks::preflight::{SafeKinds, check_moved_objects};
use pivot_core::checks::served_versions::check_served_versions;
use pivot_core::checks::unusable_objects::{refuse_same_file, refuse_unusable};
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::messages::refusal::{Refusal, risks_to_accept, some_of};
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::{AcceptedRisks, Risk};
use pivot_core::objects::{names, pause};
use pivot_core::plan::{Fate, InTarget, KeepReason};
use pivot_core::plugins::hooks::{Hook, Point};
use pivot_core::plugins::reach::is_read;
use pivot_core::records::backup::UnfinishedWork;
use pivot_core::request::scope::Scope;
use pivot_core::{GroupKind, Key, Kind, Meta, Side};
use pivot_places::PlaceError;

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::used_risks::warn_of_unneeded;
use crate::base::plugins::calls;
use crate::base::requests::listing::{self, Listed};
use crate::base::requests::side_by_side::EMPTY_LISTS;
use crate::check::agent::refuse_unable_agent;
use crate::check::converted_kinds;
use crate::check::dangling::refuse_dangling;
use crate::check::drain_rules::warn_of_staying_rules;
use crate::check::dry_run::{self, Changes};
use crate::check::evidence;
use crate::check::existing::{self, Existing, UsedObjects};
use crate::check::extensions::refuse_missing_extensions;
use crate::check::from_manifests;
use crate::check::gitops::refuse_active_owners;
use crate::check::guard::refuse_without_policies;
use crate::check::permissions;
use crate::check::restored_clusters::warn_of_differing;
use crate::check::target_providers::{check_target_providers, read_inventory};
use crate::check::unfinished_work;
use crate::read::first_reading::FirstReads;
use crate::read::namespaces::{self, MetadataByNamespace, Namespaces};
use crate::read::planning;
use crate::read::snapshot::Snapshot;

/// State of the target that the checks found.
pub(crate) struct TargetState {
    /// Objects that exist in the target and are used unchanged.
    pub(crate) used: UsedObjects,
    /// The used objects, by how they compare with the source's.
    pub(crate) in_target: BTreeMap<Key, InTarget>,
    /// Changes that plugins make, by object.
    pub(crate) changes: Changes,
    pub(crate) namespaces: Namespaces,
    /// Labels and annotations of the namespaces to create.
    pub(crate) new_namespaces: MetadataByNamespace,
    /// Of a backup: work that is under way in the source.
    pub(crate) unfinished: Vec<UnfinishedWork>,
}

/// Runs all checks.
pub(crate) async fn check_all(
    job: &Job,
    snapshot: &Snapshot,
    first_reads: &FirstReads,
) -> Result<TargetState, Failure> {
    let (mut refusals, mut unfinished) = (check_source_objects(job, snapshot)?, Vec::new());
    if job.route.is_backup() {
        (unfinished, refusals) = unfinished_work::split_refusals(snapshot, refusals);
    }
    if job.target.capabilities().judges {
        let target_kinds: Vec<_> = job.kinds.target.values().cloned().collect();
        refusals.extend(check_served_versions(
            &snapshot.plan,
            &snapshot.inventory,
            &target_kinds,
            !job.source.capabilities().judges,
        ));
    } else {
        refusals.extend(refuse_same_file(&snapshot.plan));
    }
    refusals.extend(refuse_without_policies(job));
    refusals.extend(refuse_running_source(job));
    refusals.extend(refuse_mapped_handover(job));
    refusals.extend(refuse_blocked_files(job, snapshot)?);
    // If objects can't be created at all, the other checks are meaningless.
    if !refusals.is_empty() {
        return Err(Failure::Refused(refusals));
    }
    let nothing_known = BTreeSet::new();
    let target = async {
        let mut namespaces = first_reads.namespaces.clone();
        namespaces.look_up(job, snapshot).await?;
        let missing = namespaces.missing();
        let (rights, unfit, homeless, new_namespaces) = tokio::try_join!(
            permissions::find_missing(job, snapshot, &missing),
            dry_run::ask_target(job, snapshot, &nothing_known, &missing),
            from_manifests::refuse_without_namespace(job, snapshot, &missing),
            async { Ok(namespaces::read_metadata(job, &missing).await) }
        )?;
        let deleting = namespaces.refuse_deleting(job, snapshot);
        Ok((namespaces, new_namespaces, [deleting, rights, homeless].concat(), unfit))
    };
    let of_providers = async {
        let target = read_inventory(job).await?;
        tokio::try_join!(
            check_target_providers(job, snapshot, target.as_deref()),
            refuse_dangling(job, snapshot, target.as_deref()),
            refuse_missing_extensions(job, snapshot)
        )
    };
    let (
        (providers, dangling, extensions),
        bystanders,
        active,
        (namespaces, new_namespaces, refused, (unfit, changes)),
        existing,
        node,
        rules,
        differing,
    ) = tokio::try_join!(
        of_providers,
        refuse_dependents_lost(job, snapshot),
        refuse_active_owners(job, &snapshot.inventory, snapshot.moved_objects()),
        target,
        existing::find_existing(job, snapshot),
        warn_without_schedulable_node(job),
        warn_of_staying_rules(job, snapshot),
        Box::pin(warn_of_differing(job, snapshot)),
    )?;
    refusals.extend(providers.into_iter().chain(active));
    let (lost, lost_if_strict) = bystanders;
    refusals.extend(lost);
    refusals.extend(dangling.into_iter().chain(extensions).chain(refused));
    let Existing { used, in_target, refusals: foreign, copies } = existing;
    refusals.extend(foreign.into_iter().map(|refusal| offer_namespace_map(job, &copies, refusal)));
    refusals.extend(if job.options.finish_alone { refuse_unable_agent(job) } else { None });
    node.into_iter().chain(rules).chain(differing).for_each(|event| job.report(event));
    converted_kinds::report_removed_fields(job, snapshot)?;
    // A refusal by the target's server mostly follows from the others: an older provider, a missing permission.
    if refusals.is_empty() && used.is_empty() {
        refusals.extend(unfit);
    } else if refusals.is_empty() {
        // Objects used unchanged are not created: the dry run asks about others of their kind.
        let known = used.keys().cloned().collect();
        refusals.extend(dry_run::ask_target(job, snapshot, &known, &namespaces.missing()).await?.0);
    }
    if !refusals.is_empty() {
        return Err(Failure::Refused(refusals));
    }
    let mut needed = first_reads.needed.clone();
    needed.extend(risks_to_accept(&lost_if_strict));
    report_unneeded_risks(job, snapshot, needed);
    if job.route.is_backup() {
        unfinished.extend(unfinished_work::ask_plugins(job, snapshot).await?);
        unfinished.extend(unfinished_work::find_changed(job, snapshot).await?);
        unfinished_work::report(job, &mut unfinished);
    } else {
        unfinished_work::report_listed(job, snapshot);
        calls::wait_for_checks(job, &snapshot.plugin_view(), Point::BeforePause).await?;
    }
    Ok(TargetState { used, in_target, changes, namespaces, new_namespaces, unfinished })
}

/// Reports accepted risks of the scope that this move doesn't have. `needed` are the plan's.
fn report_unneeded_risks(job: &Job, snapshot: &Snapshot, mut needed: AcceptedRisks) {
    let scope = &job.options.scope;
    if scope.accept.is_empty() {
        return;
    }
    let strict = Scope { accept: AcceptedRisks::default(), ..scope.clone() };
    let handled = find_safe_kinds(job, snapshot);
    let id = Some(job.move_id.as_str());
    needed.extend(risks_to_accept(&check_moved_objects(
        &snapshot.inventory,
        &snapshot.plan,
        &strict,
        id,
        &handled,
    )));
    if job.route.source_may_run() {
        needed.insert(Risk::SourceMayRun);
    }
    if let Some(warning) = warn_of_unneeded(&scope.accept.difference(&needed)) {
        job.report(warning);
    }
}

/// Refuses held objects that would be active on both sides. The target unpauses a held object at the end. So no Cluster that
/// stays may use it, and only the plugin itself may have it kept.
fn refuse_held_on_both_sides(job: &Job, snapshot: &Snapshot) -> Vec<Refusal> {
    let held = snapshot.plan.steps.iter().filter(|step| job.is_held_kind(&step.key.group_kind));
    let refused = held.filter_map(|step| {
        let refusal = |why, remedy| {
            let message = format!("would be active on both sides: {why}");
            Refusal::source("held-on-both-sides", step.key.clone(), message, remedy)
        };
        match &step.fate {
            Fate::Keep(KeepReason::Shared { by }) => {
                let why = format!("{by} stays and may use it too");
                let mut refusal = refusal(why, Remedy::from("let only one of them use it"));
                if is_cluster(&by.group_kind) {
                    refusal.remedies.insert(0, Remedy::NameCluster { cluster: by.clone() });
                }
                Some(refusal)
            }
            Fate::FromManifest => {
                let file = step.added_from().unwrap_or_default();
                let why = "it would be added, and a plugin holds its kind".to_owned();
                Some(refusal(why, Remedy::from(format!("remove it from {file}"))))
            }
            _ if step.is_chosen_by_user() => {
                let parts = snapshot.inventory.parts_covering(&job.options.scope.also_copy, [&step.key]);
                let leave_out = Remedy::LeaveOutCarry { parts };
                Some(refusal("it would also be copied, and a plugin holds its kind".to_owned(), leave_out))
            }
            _ => None,
        }
    });
    refused.collect()
}

/// Checks everything that the objects of the source show, whatever the target is.
pub(crate) fn check_source_objects(job: &Job, snapshot: &Snapshot) -> Result<Vec<Refusal>, Failure> {
    let mut refusals = check_objects(job, snapshot);
    // No controller writes to a paused object, so a takeover can't be verified either.
    let paused =
        refusals.iter().any(|refusal| matches!(refusal.code, "already-paused" | "paused-by-other-move"));
    if !paused {
        refusals.extend(evidence::refuse_unverifiable(job, snapshot)?);
    }
    Ok(refusals)
}

/// Checks the plan and its objects alone. Runs again after the pause, for new objects.
fn check_objects(job: &Job, snapshot: &Snapshot) -> Vec<Refusal> {
    let Snapshot { inventory, plan, .. } = snapshot;
    let handled = find_safe_kinds(job, snapshot);
    let mut refusals = plan.refusals.clone();
    refusals.extend(check_moved_objects(inventory, plan, &job.options.scope, Some(&job.move_id), &handled));
    refusals.extend(refuse_unusable(inventory, plan));
    refusals.extend(refuse_held_on_both_sides(job, snapshot));
    unfinished_work::leave_out_listed(job, refusals)
}

/// Refuses to run clusters that may still be running elsewhere.
fn refuse_running_source(job: &Job) -> Option<Refusal> {
    (job.route.source_may_run() && !job.options.scope.accept.contains(Risk::SourceMayRun)).then(|| Refusal {
        code: "source-may-live-on",
        side: Side::Source,
        object: None,
        others: Vec::new(),
        message: format!(
            "nothing in {} says that the management cluster it was copied from is off: two of them would act on the same machines",
            job.source.place.label()
        ),
        remedies: vec![Remedy::SourceIsOff],
    })
}

/// Refuses objects whose provider was still working on them when the files were copied: no controller can finish that work.
fn refuse_blocked_files(job: &Job, snapshot: &Snapshot) -> Result<Option<Refusal>, Failure> {
    if !job.route.loads_files() {
        return Ok(None);
    }
    let mut blocked = Vec::new();
    for step in snapshot.plan.steps.iter().filter(|step| step.treatment().can_be_paused()) {
        let pending = pause::find_pending(snapshot.object(step)?, true)
            .map_err(|error| Failure::Object(Side::Source, error))?;
        if pending.is_some() {
            blocked.push(step.key.clone());
        }
    }
    let Some(first) = blocked.first() else { return Ok(None) };
    let message = format!(
        "{} were copied while their providers blocked a move ({})",
        some_of(&blocked.iter().collect::<Vec<_>>(), 3),
        names::BLOCK_MOVE
    );
    let way = "copy them again once the providers are done; if the cluster is lost and they were, remove the annotation from the files";
    let others = blocked.iter().skip(1).cloned().collect();
    Ok(Some(Refusal { others, ..Refusal::source("block-move", first.clone(), message, way) }))
}

/// Refuses other namespace names for a handover: the source is deleted from only when the target has copies with the names in
/// its list.
fn refuse_mapped_handover(job: &Job) -> Option<Refusal> {
    let map = &job.options.scope.namespace_map;
    (job.route.reads_handover_files() && !map.is_empty()).then(|| Refusal {
        code: "handover-mapped",
        side: Side::Source,
        object: None,
        others: Vec::new(),
        message: format!(
            "{} is a handover: its source expects copies under the namespaces' names in it, and {map} changes them",
            job.source.place.label()
        ),
        remedies: vec!["keep the names, or choose others when the handover is started".into()],
    })
}

/// Adds the remedy to give the namespace of a taken name another name. Leaves it out where a move copied the existing objects:
/// under another name, the target could run a Cluster twice.
fn offer_namespace_map(job: &Job, copies: &BTreeSet<Key>, refusal: Refusal) -> Refusal {
    let namespace = refusal.object.as_ref().and_then(|there| there.namespace.as_deref());
    let is_copied = copies.iter().any(|copy| copy.namespace.as_deref() == namespace);
    match namespace {
        // Another name would let both sides run the same Cluster.
        _ if refusal.remedies.iter().any(|remedy| matches!(remedy, Remedy::NameClusterToPause { .. })) => {
            refusal
        }
        Some(namespace)
            if refusal.code == existing::EXISTS && !job.route.reads_handover_files() && !is_copied =>
        {
            let namespace = job.options.scope.namespace_map.in_source(namespace).to_owned();
            refusal.with_remedy(Remedy::MapNamespace { namespace })
        }
        _ => refusal,
    }
}

/// Returns the kinds that can move safely.
///
/// In a directory no controller acts on a copy, which keeps its status, and the source stays in service. So all kinds are safe
/// there, unless the source is handed over.
fn find_safe_kinds(job: &Job, snapshot: &Snapshot) -> SafeKinds {
    let kinds: BTreeSet<GroupKind> =
        snapshot.plan.steps.iter().map(|step| step.key.group_kind.clone()).collect();
    if !job.route.has_takeover() {
        return SafeKinds { handled: kinds.clone(), restored: kinds };
    }
    let is_restored =
        |kind: &&GroupKind| job.plugins.iter().any(|plugin| plugin.changes(Hook::Restore, kind));
    let restored = kinds.iter().filter(is_restored).cloned().collect();
    SafeKinds { handled: planning::find_handled_kinds(&job.plugins, kinds), restored }
}

/// Checks objects that appeared between the first list and the one after the pause.
pub(crate) async fn check_new_objects(
    job: &Job,
    snapshot: &Snapshot,
    known: &BTreeSet<Key>,
) -> Result<(), Failure> {
    let mut refusals = check_objects(job, snapshot);
    if refusals.is_empty() && snapshot.plan.steps.iter().any(|step| !known.contains(&step.key)) {
        let unfit = async {
            let missing = Namespaces::look_up_planned(job, snapshot).await?.missing();
            dry_run::ask_target(job, snapshot, known, &missing).await
        };
        let dangling = async { refuse_dangling(job, snapshot, read_inventory(job).await?.as_deref()).await };
        let (existing, (unfit, _), dangling) =
            tokio::try_join!(existing::find_existing(job, snapshot), unfit, dangling)?;
        refusals.extend(dangling);
        refusals.extend(existing.refusals);
        refusals.extend(unfit);
    }
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

/// Checks once more, right before the point of no return, whether anything would be garbage-collected.
pub(crate) async fn check_no_dependents_lost(job: &Job, snapshot: &Snapshot) -> Result<(), Failure> {
    let (refusals, _) = refuse_dependents_lost(job, snapshot).await?;
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

/// Refuses other objects of the source that the garbage collector would delete with the deleted ones. The second list has the
/// refusals if no risk were accepted.
pub(crate) async fn refuse_dependents_lost(
    job: &Job,
    snapshot: &Snapshot,
) -> Result<(Vec<Refusal>, Vec<Refusal>), Failure> {
    if !job.route.deletes_from_source() {
        return Ok((Vec::new(), Vec::new()));
    }
    let steps = snapshot.plan.steps.iter();
    let deleted = steps.filter(|step| step.treatment().is_deleted_from_source(job.route));
    let namespaces: BTreeSet<String> = deleted.filter_map(|step| step.key.namespace.clone()).collect();
    // Other namespaces, from which plugins may have added objects, were not read completely.
    let (inside, outside): (BTreeSet<String>, BTreeSet<String>) =
        namespaces.into_iter().partition(|namespace| job.options.scope.includes_namespace(Some(namespace)));
    let wishes = planning::collect_wishes(&job.plugins);
    let there: BTreeSet<&GroupKind> = snapshot.inventory.keys().iter().map(|key| &key.group_kind).collect();
    let known = |kind: &Kind| there.contains(&kind.group_kind) && is_read(kind, &wishes);
    let kinds = || job.kinds.source.values().filter(|kind| kind.namespaced && !kind.group_kind.is_event());
    let mut wanted = listing::collections_in(kinds().filter(|kind| !known(kind)), &inside);
    wanted.extend(listing::collections_in(kinds(), &outside));
    let mut found: Vec<(Arc<Kind>, Meta)> = Vec::new();
    for ((kind, namespace), listed) in listing::list_identities(&job.source, EMPTY_LISTS, wanted).await? {
        if matches!(listed, Listed::Forbidden(_)) {
            let (gk, namespace) = (&kind.group_kind, namespace.unwrap_or_default());
            let text = format!(
                "{gk} can't be listed in namespace {namespace} of the source, so it is not known whether any depend on what is deleted"
            );
            job.report(Event::warning("dependents-unreadable", text));
        }
        found.extend(listed.into_known().into_iter().map(|meta| (kind.clone(), meta)));
    }
    let found = found.iter().map(|(kind, meta)| Bystander { kind, meta });
    let all: Vec<Bystander<'_>> = snapshot
        .inventory
        .objects()
        .iter()
        .chain(snapshot.inventory.replaced_objects())
        .map(Bystander::from)
        .chain(found)
        .collect();
    let scope = &job.options.scope;
    let strict = Scope { accept: AcceptedRisks::default(), ..scope.clone() };
    let refused = |scope: &Scope| find_lost_dependents(&snapshot.plan, scope, &snapshot.relations, &all);
    Ok((refused(scope), refused(&strict)))
}

/// Warns of a cluster without a node that accepts Pods: it can't run the controllers that the moved objects need.
async fn warn_without_schedulable_node(job: &Job) -> Result<Option<Event>, Failure> {
    if !job.route.target_runs() {
        return Ok(None);
    }
    let Ok(kind) = job.core_kind(Side::Target, "", "Node") else { return Ok(None) };
    let listing = match job.target.list(kind, None).await {
        Ok(listing) => listing,
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let good = listing.objects.iter().any(can_run_controllers);
    Ok((!good).then(|| {
        let text = "the target has no ready and schedulable node: its controllers may be unable to run";
        Event::warning("no-ready-node", text)
    }))
}
