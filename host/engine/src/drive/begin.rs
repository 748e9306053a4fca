//! Prepares a new or found move to continue, with its surroundings and its records.

use std::sync::Arc;

use pivot_core::copies::mark::CopyMark;
use pivot_core::messages::safe_text;
use pivot_core::records::record::{FinishAlone, Handover, Phase, Pin, Record, move_id_for, record_name};
use pivot_core::records::route::{Ends, OtherTarget, Route};
use pivot_core::{Both, Side};
use tokio::time::Instant;

use crate::base::clock::utc_now;
use crate::base::command::Command;
use crate::base::job::Job;
use crate::base::kinds::Kinds;
use crate::base::options::{DryRun, Options};
use crate::base::outcome::failure::Failure;
use crate::base::outcome::one_sided::OneSidedMove;
use crate::base::plugins::hooks::{Hooks, RunContext, RunKind};
use crate::base::plugins::services::PluginServices;
use crate::base::requests::side::Handle;
use crate::base::setup::Setup;
use crate::base::state::journal::Journal;
use crate::base::state::locks::Locks;
use crate::base::state::moves::FoundMove;
use crate::drive::open::Opened;
use crate::drive::recovery;
use crate::drive::sequence::ActiveMove;

/// Longest name of an author that is printed, in characters.
const AUTHOR: usize = 200;
/// The UUID namespace for ids of moves between places that keep no record.
const IDS: uuid::Uuid = uuid::Uuid::from_u128(0x4c1d_60e7_52b9_4f6e_9a44_0d8b_73c5_e2f1);

/// Number of random digits that follow a UID in an id: an object asks for a few moves at most.
const RANDOM: usize = 12;

/// Returns the id of a new move. A move that isn't recorded anywhere gets the same id each time it is begun. So the same
/// command continues where the last one stopped.
pub(crate) fn new_move_id(setup: &Setup, opened: &Opened) -> String {
    let written_down = opened.records.source.is_some() || opened.records.target.is_some();
    if written_down {
        let random = uuid::Uuid::new_v4();
        return match &setup.options.asked_by {
            Some(asked_by) => move_id_for(asked_by, &random.simple().to_string()[..RANDOM]),
            None => random.to_string(),
        };
    }
    let scope = serde_json::to_string(&setup.options.scope).unwrap_or_default();
    uuid::Uuid::new_v5(&IDS, format!("{} {scope}", opened.anonymous).as_bytes()).to_string()
}

/// Assembles a found move, or a new one.
pub(crate) fn begin_move(
    setup: Setup,
    command: Command,
    plugins: &[Arc<dyn Hooks>],
    opened: Opened,
    found: Option<FoundMove>,
    new_id: String,
    locks: Option<Arc<Locks>>,
) -> Result<ActiveMove, Failure> {
    let Setup { sides: _, mut options, plugins: _, watcher, halter, parking, workload_clusters } = setup;
    let Opened { sides, ends, kinds, records, identities, .. } = opened;
    let keeps_record = records.source.is_some() || records.target.is_some();
    let orphaned = found.as_ref().is_some_and(|found| found.orphaned);
    let other_files = found.as_ref().is_some_and(|found| found.other_files);
    if let Some(FoundMove { at: Both { source: Some(source), .. }, other_author: Some(another), .. }) = &found
    {
        return Err(authors_differ(&source.record, another));
    }
    let at = found.as_ref().map(|found| found.at.clone()).unwrap_or_default();
    let one_sided = found.as_ref().and_then(|found| found.one_sided.clone());
    let recovers = found.as_ref().is_some_and(|found| recovery::should_recover(found, &options, ends));
    let mut record = match found.as_ref().and_then(|found| Some((found, found.record()?))) {
        Some((found, record)) => {
            // The first run's options apply to runs that resume.
            options.scope = record.scope.clone();
            match recovers {
                true => recovery::record_of_next_attempt(record)?,
                false => {
                    check_target(found, record, ends)?;
                    record.clone()
                }
            }
        }
        None => Record {
            format: Default::default(),
            written_by: String::new(),
            started_by: options.operator.clone(),
            move_id: new_id,
            copy_key: keeps_record.then(recovery::new_copy_key),
            earlier_copy_keys: Vec::new(),
            phase: Phase::Checked,
            scope: options.scope.clone(),
            source: identities.source,
            target: identities.target,
            into_directory: ends.target.is_files(),
            started_at: utc_now(),
            created_namespaces: Vec::new(),
            release_digest: None,
            release_uids: None,
            plugins: plugins.iter().map(|plugin| Pin::from(plugin.describe())).collect(),
            kinds: Default::default(),
            copied_namespaces: Default::default(),
            confined: options.confined == Some(Side::Source),
            plan_checksum: options.approved.as_ref().map(|plan| plan.checksum().to_owned()),
            finish_alone: options.finish_alone.then_some(FinishAlone::Requested),
            release_chunks: 0,
            source_went_back: false,
            committed_at: None,
            handover: Route::of_new_move(ends, options.handover).is_handover().then(Handover::default),
        },
    };
    let route = Route::of_record(ends, &record).map_err(|OtherTarget { into_directory }| {
        Failure::OtherEnd { move_id: record.move_id.clone(), into_directory }
    })?;
    env!("CARGO_PKG_VERSION").clone_into(&mut record.written_by);
    let move_id = record.move_id.clone();
    let kinds: Arc<Kinds> = Arc::new(kinds);
    let sides = Both::new(sides.source, sides.target.with_namespace_map(&record.scope.namespace_map));
    let services =
        PluginServices::new(&sides.source, &sides.target, &kinds, &record.scope, options.asked_by.is_some());
    let services = Arc::new(services);
    let run = run_context(&sides, &options, &record, route);
    let plugins =
        plugins.iter().map(|plugin| plugin.for_run(&run).unwrap_or_else(|| plugin.clone())).collect();
    let may_have_guard = options.guard || found.is_some() && options.asked_by.is_none();
    let job = Job {
        source: sides.source,
        target: sides.target,
        kinds,
        services,
        options,
        command,
        plugins,
        halter,
        parking,
        watcher,
        workload_clusters,
        move_id,
        copy_mark: CopyMark::from_record(&record),
        route,
        may_have_guard,
        locks,
        change_counts: Default::default(),
        used_risks: Default::default(),
        reported_owners: Default::default(),
        unchanged_by_plugins: Default::default(),
    };
    let journal = Journal::new(record, records, at);
    let job = Arc::new(job);
    Ok(ActiveMove {
        job,
        journal,
        orphaned,
        one_sided,
        recovers,
        other_files,
        first: None,
        times: Vec::new(),
        began: Instant::now(),
    })
}

/// Returns the facts about the run that plugins may know.
fn run_context(sides: &Both<Handle>, options: &Options, record: &Record, route: Route) -> RunContext {
    let kind = if options.dry_run != DryRun::Off {
        RunKind::Plan
    } else if route.is_handover() {
        RunKind::Handover
    } else if route.pauses_source() && route.target_runs() {
        RunKind::Move
    } else {
        RunKind::Copy
    };
    let flags = |side| sides.get(side).end_kind.is_cluster().then(|| options.kubectl_flags.get(side).clone());
    RunContext {
        kind,
        move_id: record.move_id.clone(),
        namespace_map: record.scope.namespace_map.clone(),
        kubectl: Both::new(flags(Side::Source), flags(Side::Target)),
        ..RunContext::default()
    }
}

/// Checks that the target is the move's, as far as the move still needs one.
fn check_target(found: &FoundMove, record: &Record, ends: Ends) -> Result<(), Failure> {
    let Record { move_id, phase, .. } = record;
    if phase.is_committed() && ends.target.is_absent() {
        return Err(Failure::Declined(format!(
            "move {move_id} is past the point of no return ({phase}), and the target decides from there on; if that is lost \
             for good, what is left of the source is the last copy: keep it, paused as it is"
        )));
    }
    // This comes first: the records of a wrong target show nothing about the move.
    if found.elsewhere {
        let way = match phase.is_committed() {
            true => {
                ". Only that target shows whether it lost the move. If it is lost or replaced, first make sure that no other management cluster, the given one included, runs these Clusters. Only then restore it from a backup of its etcd of after the commit, which keeps that UID. Until \
                 then the source may be the last copy: keep it, paused as it is"
            }
            false => ", or roll it back first",
        };
        let uid = record.target.as_ref().map_or("", |target| &target.0);
        return Err(Failure::Declined(format!(
            "move {move_id} goes to another target than the given one: name the right one (the UID of its namespace kube-system is {uid}){way}"
        )));
    }
    // Clusters of such a source may be paused.
    let went_back = matches!(found.one_sided, Some(OneSidedMove::SourceWentBack { .. }));
    if phase.is_committed() && found.at.target.is_none() && !went_back {
        return Err(target_record_missing(found, record));
    }
    Ok(())
}

/// Returns the failure for two records of different authors. Anyone who may write records can write one with the id of
/// another's move, on either side, so neither record is believed.
fn authors_differ(source: &Record, another: &str) -> Failure {
    let by = |by: &str| safe_text::to_line(by, AUTHOR);
    Failure::Record(format!(
        "there are two records of move {id} by different authors: in the source by {:?}, in the target (ConfigMap {}) by {:?}; one \
         of them isn't a record of this move: find out which, and who wrote it (its managedFields), and remove only that record",
        by(&source.started_by),
        record_name(Side::Target, &source.move_id),
        by(another),
        id = source.move_id,
    ))
}

/// Returns the failure for a committed move of which the target has no record.
fn target_record_missing(found: &FoundMove, record: &Record) -> Failure {
    let move_id = record.move_id.clone();
    match &found.one_sided {
        Some(one_sided) => Failure::OneSidedMove { move_id, one_sided: one_sided.clone() },
        // Users who can't read a target's identity may have named another.
        None => Failure::Record(format!(
            "the source says that move {move_id} is committed, and the target has no record of it: whether it is the move's \
             target can't be told, because its namespace kube-system can't be read"
        )),
    }
}
