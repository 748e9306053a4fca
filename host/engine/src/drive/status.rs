//! Reads the state of moves, as far as the named sides that answer know. Changes nothing.
//!
//! A cluster knows the moves out of it from the records of its source role, and those into it from the records of its target
//! role. If the user names only one cluster, both are read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::objects::{names, pause};
use pivot_core::records::record::{Record, is_move_id};
use pivot_core::{Key, Side};
use pivot_places::PlaceError;

use crate::base::events::Event;
use crate::base::outcome::failure::Failure;
use crate::base::outcome::under_way::MoveStatus;
use crate::base::requests::listing;
use crate::base::requests::side_by_side::LISTS;
use crate::base::setup::Setup;
use crate::base::state::moves::{FoundMove, Moves};
use crate::drive::left_guards::{SeenGuard, list_guards, report_left_guards};
use crate::drive::leftover;
use crate::drive::open::{Opened, open_sides};
use crate::drive::report::{LeaseStatus, Status, WaitingCopies};

/// Code of the refusal if both sides are the same cluster.
const SAME_CLUSTER: &str = "same-cluster";

/// Reads the moves between two sides. If one side doesn't answer, reads only the other. If both are one cluster, reads that
/// cluster.
pub(crate) async fn read_status(setup: &Setup) -> Result<Status, Failure> {
    let (read, silent) = match read_moves(setup, None).await {
        Err(
            Failure::Place { side, error: PlaceError::Unavailable(why), .. }
            | Failure::Unreachable { side, why, .. },
        ) => (read_moves(setup, Some(side)).await?, Some((side, why))),
        Err(Failure::Refused(refusals)) if refusals.iter().any(|refusal| refusal.code == SAME_CLUSTER) => {
            return read_status_of_one(setup, Side::Source).await;
        }
        other => (other?, None),
    };
    let (opened, moves, mut guards) = read;
    let moves = describe_moves(&moves, None);
    // The side that is silent may have the record, and a guard of another role is of a move to or from a third cluster.
    guards.retain(|guard| silent.is_none() && guard.read_as == guard.put_up_as);
    report_left_guards(setup, &guards, |id| moves.iter().any(|one| one.record.move_id == id));
    let left = if moves.is_empty() && silent.is_none() {
        let left = leftover::find_leftover(&opened).await;
        // The state of moves is worth reporting without it.
        left.inspect_err(|failure| tracing::debug!(%failure, "the objects left in the source are not known"))
            .unwrap_or_default()
    } else {
        None
    };
    Ok(Status {
        moves,
        leases: read_leases(&opened).await?,
        silent,
        missing: None,
        waiting_copies: Vec::new(),
        unread_copies: None,
        finished: opened.read_finished().await?,
        rolled_back: opened.read_rolled_back().await?,
        left,
    })
}

/// Reads the moves out of and into one cluster.
pub(crate) async fn read_status_of_one(setup: &Setup, given: Side) -> Result<Status, Failure> {
    let mut setup = setup.clone();
    let place = match given {
        Side::Source => setup.sides.source.clone(),
        Side::Target => setup.sides.target.clone(),
    };
    setup.sides.source = place.clone();
    setup.sides.target = place;
    let missing = match given {
        Side::Source => Side::Target,
        Side::Target => Side::Source,
    };
    // The first read is in the role in which the user named the cluster, so that errors name that role.
    let (first, moves, guards) = read_moves(&setup, Some(missing)).await?;
    let (second, others, _) = read_moves(&setup, Some(given)).await?;
    let (opened, out, into) =
        if given == Side::Source { (first, moves, others) } else { (second, others, moves) };
    let mut moves = describe_moves(&out, Some(Side::Target));
    moves.extend(describe_moves(&into, Some(Side::Source)));
    let (mut waiting_copies, unread_copies) = find_waiting_copies(&opened).await;
    let is_under_way = |id: &str| moves.iter().any(|one| one.record.move_id == id);
    waiting_copies.retain(|copies| !is_under_way(&copies.move_id));
    let waits = |id: &str| waiting_copies.iter().any(|copies| copies.move_id == id);
    report_left_guards(&setup, &guards, |id| is_under_way(id) || waits(id));
    Ok(Status {
        moves,
        leases: read_leases(&opened).await?,
        silent: None,
        missing: Some(missing),
        waiting_copies,
        unread_copies: unread_copies.map(|failure| failure.to_string()),
        finished: opened.read_finished().await?,
        rolled_back: opened.read_rolled_back().await?,
        left: None,
    })
}

/// Finds Clusters that a move copied into this cluster, and that still have the annotation that undoes its pause. The record of
/// a move that is not committed is only in its source.
///
/// Also returns the failure to list Clusters, if there was one: the state of moves is worth reporting without them.
async fn find_waiting_copies(opened: &Opened) -> (Vec<WaitingCopies>, Option<Failure>) {
    // The one cluster has both roles.
    let handle = &opened.sides.source;
    let kinds = opened.kinds.source.values().filter(|kind| is_cluster(&kind.group_kind));
    let wanted = kinds.map(|kind| (kind.clone(), None)).collect();
    let listed = match listing::list_metas(handle, LISTS, wanted).await {
        Ok(listed) => listed,
        Err(failure) => return (Vec::new(), Some(failure)),
    };
    let mut waiting: BTreeMap<String, Vec<Key>> = BTreeMap::new();
    let mut unread = None;
    for ((kind, _), listed) in listed {
        let there = listed.require().unwrap_or_else(|failure| {
            unread = Some(failure);
            Vec::new()
        });
        for meta in there {
            if let Some(id) =
                meta.annotations.get(names::MARK).filter(|id| is_move_id(id) && pause::is_ours(&meta, id))
            {
                waiting.entry(id.clone()).or_default().push(listing::key_of_meta(&kind, &meta));
            }
        }
    }
    let waiting = waiting.into_iter().map(|(move_id, clusters)| WaitingCopies { move_id, clusters });
    (waiting.collect(), unread)
}

async fn read_moves(setup: &Setup, absent: Option<Side>) -> Result<(Opened, Moves, Vec<SeenGuard>), Failure> {
    let opened = open_sides(setup, absent).await?;
    let guards = list_guards(&opened).await;
    let moves = opened.read_moves().await?;
    Ok((opened, moves, guards))
}

/// Returns the state of moves. `missing` is the side that the user did not name.
fn describe_moves(moves: &Moves, missing: Option<Side>) -> Vec<MoveStatus> {
    moves.0.iter().filter_map(|found| describe_move(found, missing)).collect()
}

/// Reports moves under way as events. `missing` is the side that the user did not name.
pub(crate) fn report_moves(setup: &Setup, moves: &Moves, missing: Option<Side>) {
    for status in describe_moves(moves, missing) {
        setup.watcher.event(Event::UnderWay { status: Box::new(status) });
    }
}

fn describe_move(found: &FoundMove, missing: Option<Side>) -> Option<MoveStatus> {
    let (decides, record) = found.deciding_record()?;
    let (elsewhere, orphaned) = (found.elsewhere, found.orphaned);
    let asked = found.at.source.as_ref().map(|source| source.record.scope.clone());
    let (one_sided, has_ended, recovered) = (found.one_sided.clone(), found.has_ended, record.is_recovered());
    // Documents and events are read by more people than the records are.
    let record = Record { copy_key: None, earlier_copy_keys: Vec::new(), ..record.clone() };
    Some(MoveStatus { decides, record, elsewhere, orphaned, asked, one_sided, has_ended, recovered, missing })
}

async fn read_leases(opened: &Opened) -> Result<Vec<LeaseStatus>, Failure> {
    let Some(leases) = opened.leases() else { return Ok(Vec::new()) };
    let all = match leases.list().await {
        // A user without permission to list them still sees the moves.
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Vec::new(),
        other => other?,
    };
    let now = Timestamp::now();
    let statuses = all.into_iter().map(|seen| {
        // The time that an ended run left shows nothing about a current one.
        let renewed = seen.renewed.filter(|_| !seen.holder.is_empty());
        LeaseStatus {
            renewed_seconds_ago: renewed.map(|at| now.duration_since(at).as_secs().try_into().unwrap_or(0)),
            name: seen.name,
            holder: seen.holder,
            move_id: seen.claim,
        }
    });
    Ok(statuses.collect())
}
