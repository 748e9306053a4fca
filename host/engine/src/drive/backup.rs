//! Backs up a cluster that stays in service: reads it at one version, and copies that into files.
//!
//! After the reading, a backup is a move from files into files: it pauses and holds objects in the reading alone.

use std::sync::Arc;

use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::objects::names;
use pivot_core::records::backup::BackupFacts;
use pivot_core::request::scope::Namespaces;
use pivot_core::{Both, GroupKind, Key, Kind, Side};
use pivot_places::{Place, PlaceError, SnapshotPlace};

use crate::base::clock::utc_now;
use crate::base::events::Event;
use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::stop::Stop;
use crate::base::requests::side::Handle;
use crate::base::setup::Setup;
use crate::check::permissions::Permissions;
use crate::drive::report::Report;
use crate::drive::run;
use crate::drive::stopping::stop_without_move;

/// Attempts at a backup. Servers keep a version for five minutes at least.
const MAX_ATTEMPTS: usize = 3;

/// Code of the refusal of a cluster that can't be read at one version.
const NOT_AT_ONE_VERSION: &str = "not-at-one-version";

/// Copies the source into files, as it was at one version. Nothing in the source is changed.
///
/// # Errors
///
/// Refuses a source that doesn't list all kinds at one version, and a target that is not files.
pub async fn back_up(setup: Setup) -> Result<Report, Stop> {
    if !setup.sides.target.end_kind().is_files() {
        let target = setup.sides.target.label();
        let why = format!("{target} is no directory: a backup is copied into one");
        return Err(stop_without_move(Failure::Declined(why)));
    }
    let mut attempt = 1;
    loop {
        let stop = match take_snapshot(&setup).await {
            Ok(setup) => match run::start(setup).await {
                Ok(report) => return Ok(report),
                Err(stop) => stop,
            },
            Err(failure) => stop_without_move(failure),
        };
        match &stop.failure {
            Failure::Place { side: Side::Source, error: PlaceError::Expired(_), .. }
                if attempt < MAX_ATTEMPTS =>
            {
                let text = "the source no longer has the version that was read: the backup starts over";
                setup.watcher.event(Event::warning("version-expired", text));
            }
            _ => return Err(explain_missing_lists(stop)),
        }
        attempt += 1;
    }
}

/// Returns the permissions that a backup needs in the source.
///
/// # Errors
///
/// Fails where [`back_up`] would fail.
pub async fn backup_permissions(setup: Setup) -> Result<Permissions, Stop> {
    let setup =
        take_snapshot(&setup).await.map_err(|failure| explain_missing_lists(stop_without_move(failure)))?;
    run::permissions(setup, Side::Source).await.map_err(explain_missing_lists)
}

/// Replaces the source by a snapshot of it.
async fn take_snapshot(setup: &Setup) -> Result<Setup, Failure> {
    let place = setup.sides.source.clone();
    let handle = Handle::new(Side::Source, place.clone(), setup.halter.clone(), setup.watcher.clone());
    let fail = |error| handle.request_failure("reading at one version", None, error);
    let kinds = handle.retry(|| place.kinds()).await.map_err(fail)?;
    let find = |group_kind: &GroupKind| kinds.iter().find(|kind| kind.group_kind == *group_kind).cloned();
    let cluster = GroupKind::new(names::GROUP_CLUSTER, "Cluster");
    let Some(cluster) = find(&cluster) else {
        return Err(Failure::Empty("the source does not serve Clusters".to_owned()));
    };
    let compiled_in = ["Secret", "ConfigMap"].map(|kind| GroupKind::new("", kind));
    let mut probed: Vec<Arc<Kind>> = vec![cluster.clone()];
    probed.extend(compiled_in.iter().filter_map(find));
    probed.push(cluster);
    let namespace = match &setup.options.scope.namespaces {
        Namespaces::All => None,
        Namespaces::One(one) => Some(one.as_str()),
    };
    let taken_at = utc_now();
    let snapshot = handle.retry(|| SnapshotPlace::take(place.clone(), &probed, namespace)).await;
    let snapshot = snapshot.map_err(fail)?;
    let resource_version = snapshot.version().to_owned();
    let facts = BackupFacts { taken_at, resource_version, unfinished: Vec::new() };
    let source: Arc<dyn Place> = Arc::new(snapshot);
    Ok(Setup {
        sides: Both::new(source, setup.sides.target.clone()),
        options: Options { backup: Some(facts), ..setup.options.clone() },
        ..setup.clone()
    })
}

/// Says what to do about a source that doesn't list all kinds at one version.
fn explain_missing_lists(stop: Stop) -> Stop {
    let error = match &stop.failure {
        Failure::Place { side: Side::Source, error, .. } if is_missing_list(error) => error,
        _ => return stop,
    };
    let message = format!("a backup reads all kinds at one version, and {error}");
    let refusal = Refusal::source(NOT_AT_ONE_VERSION, None::<Key>, message, Remedy::PauseForCopy);
    Stop { failure: Failure::from_refusal(refusal), ..stop }
}

fn is_missing_list(error: &PlaceError) -> bool {
    matches!(error, PlaceError::Unsupported(..) | PlaceError::Expired(_)) || error.is_version_refusal()
}
