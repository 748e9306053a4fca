//! Backs up a cluster that stays in service: reads it, and copies that into files.
//!
//! All kinds are read at one version. A server that can't do that is read with plain lists, which are compared with later ones: a
//! Cluster without a change in between is as it was at one time.
//!
//! After the reading, a backup is a move from files into files: it pauses and holds objects in the reading alone.

use std::sync::Arc;

use pivot_core::objects::names;
use pivot_core::records::backup::BackupFacts;
use pivot_core::request::scope::Namespaces;
use pivot_core::{Both, GroupKind, Kind, Side};
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

/// The way in which a backup reads the source.
#[derive(Clone, Copy)]
enum Reading {
    /// At one version.
    OneVersion,
    /// With plain lists, which are compared with later ones. Changes start the backup over, except for the last attempt.
    FirstLists { is_last: bool },
}

/// The attempts of a backup, in this order. Servers keep a version for five minutes at least.
const ATTEMPTS: [Reading; 8] = [
    Reading::OneVersion,
    Reading::OneVersion,
    Reading::OneVersion,
    Reading::FirstLists { is_last: false },
    Reading::FirstLists { is_last: false },
    Reading::FirstLists { is_last: false },
    Reading::FirstLists { is_last: false },
    Reading::FirstLists { is_last: true },
];

/// Copies the source into files. Nothing in the source is changed.
///
/// # Errors
///
/// Refuses a target that is not files.
pub async fn back_up(setup: Setup) -> Result<Report, Stop> {
    if !setup.sides.target.end_kind().is_files() {
        let target = setup.sides.target.label();
        let why = format!("{target} is no directory: a backup is copied into one");
        return Err(stop_without_move(Failure::Declined(why)));
    }
    let mut attempts = ATTEMPTS.into_iter().peekable();
    while let Some(reading) = attempts.next() {
        let stop = match take_snapshot(&setup, reading).await {
            Ok(setup) => match run::start(setup).await {
                Ok(report) => return Ok(report),
                Err(stop) => stop,
            },
            Err(failure) => stop_without_move(failure),
        };
        let Failure::Place { side: Side::Source, error, .. } = &stop.failure else { return Err(stop) };
        let is_expired = matches!(error, PlaceError::Expired(_));
        let event = match (reading, attempts.peek()) {
            (Reading::FirstLists { .. }, _) if is_expired => {
                Event::warning("changed-while-read", format!("{error}: the backup starts over"))
            }
            (Reading::OneVersion, Some(Reading::OneVersion)) if is_expired => {
                let text = "the source no longer has the version that was read: the backup starts over";
                Event::warning("version-expired", text)
            }
            (Reading::OneVersion, _) if is_expired || is_missing_list(error) => {
                while attempts.next_if(|next| matches!(next, Reading::OneVersion)).is_some() {}
                let text = format!("{error}: lists are compared with later ones instead");
                Event::warning("not-at-one-version", text)
            }
            _ => return Err(stop),
        };
        setup.watcher.event(event);
    }
    Err(stop_without_move(Failure::Bug("a backup without a last attempt".to_owned())))
}

/// Returns the permissions that a backup needs in the source.
///
/// # Errors
///
/// Fails where [`back_up`] would fail.
pub async fn backup_permissions(setup: Setup) -> Result<Permissions, Stop> {
    let reading = Reading::FirstLists { is_last: true };
    let setup = take_snapshot(&setup, reading).await.map_err(stop_without_move)?;
    run::permissions(setup, Side::Source).await
}

/// Replaces the source by a snapshot of it.
async fn take_snapshot(setup: &Setup, reading: Reading) -> Result<Setup, Failure> {
    let place = setup.sides.source.clone();
    let taken_at = utc_now();
    let (snapshot, accepts_changes) = match reading {
        Reading::OneVersion => (take_at_one_version(setup, place).await?, false),
        Reading::FirstLists { is_last } => (SnapshotPlace::of_first_lists(place), is_last),
    };
    let resource_version = snapshot.version().map(str::to_owned);
    let facts = BackupFacts { taken_at, resource_version, unfinished: Vec::new() };
    let source: Arc<dyn Place> = Arc::new(snapshot);
    Ok(Setup {
        sides: Both::new(source, setup.sides.target.clone()),
        options: Options {
            backup: Some(facts),
            backup_accepts_changes: accepts_changes,
            ..setup.options.clone()
        },
        ..setup.clone()
    })
}

async fn take_at_one_version(setup: &Setup, place: Arc<dyn Place>) -> Result<SnapshotPlace, Failure> {
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
    handle.retry(|| SnapshotPlace::take(place.clone(), &probed, namespace)).await.map_err(fail)
}

/// Returns true if the server doesn't list all kinds at one version.
fn is_missing_list(error: &PlaceError) -> bool {
    matches!(error, PlaceError::Unsupported(..)) || error.is_version_refusal()
}
