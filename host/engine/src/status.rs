//! Where moves are, as far as the sides that are given and answer know. Changes nothing.
//!
//! A cluster knows of the moves out of it by the records of its role as a source, and of those into it by those of its role
//! as a target. Given alone it is asked for both.

use pivot_core::Side;
use pivot_places::PlaceError;

use crate::leftover;
use crate::options::Options;
use crate::outcome::failure::Failure;
use crate::outcome::report::{LockStatus, Status};
use crate::outcome::under_way::MoveStatus;
use crate::setup::Setup;
use crate::state::found::{Found, Moves};
use crate::state::open::{Opened, open};

/// The code of a refusal of one cluster given twice.
const SAME_CLUSTER: &str = "same-cluster";

/// Of moves between two sides. Where one doesn't answer, the other is asked; where both are one cluster, that is.
pub(crate) async fn between(setup: &Setup) -> Result<Status, Failure> {
    let (read, silent) = match read(setup).await {
        Err(
            Failure::Place { side, error: PlaceError::Unavailable(why), .. }
            | Failure::Unreachable { side, why, .. },
        ) => (read(&without(setup, side)).await?, Some((side, why))),
        Err(Failure::Refused(refusals)) if refusals.iter().any(|refusal| refusal.code == SAME_CLUSTER) => {
            return of_one(setup, Side::Source).await;
        }
        other => (other?, None),
    };
    let (opened, moves) = read;
    let moves = moves_of(&moves, None);
    let left = if moves.is_empty() && silent.is_none() {
        let left = leftover::look(&opened).await;
        // Where moves stand is worth saying without it.
        left.inspect_err(|failure| tracing::debug!(%failure, "what is left in the source is not known"))
            .unwrap_or_default()
    } else {
        None
    };
    Ok(Status {
        moves,
        locks: locks(&opened).await?,
        silent,
        missing: None,
        finished: opened.finished().await?,
        left,
    })
}

/// Of moves out of and into the one cluster that is given.
pub(crate) async fn of_one(setup: &Setup, given: Side) -> Result<Status, Failure> {
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
    // In the role in which it was given first: what goes wrong is said of that.
    let first = read(&without(&setup, missing)).await?;
    let second = read(&without(&setup, given)).await?;
    let ((opened, out), (_, into)) = if given == Side::Source { (first, second) } else { (second, first) };
    let mut moves = moves_of(&out, Some(Side::Target));
    moves.extend(moves_of(&into, Some(Side::Source)));
    Ok(Status {
        moves,
        locks: locks(&opened).await?,
        silent: None,
        missing: Some(missing),
        finished: opened.finished().await?,
        left: None,
    })
}

async fn read(setup: &Setup) -> Result<(Opened, Moves), Failure> {
    let opened = open(setup).await?;
    let moves = opened.moves().await?;
    Ok((opened, moves))
}

/// The same with one side that is not asked.
fn without(setup: &Setup, side: Side) -> Setup {
    let mut options: Options = setup.options.clone();
    match side {
        Side::Source => options.source_gone = true,
        Side::Target => options.target_gone = true,
    }
    Setup { options, ..setup.clone() }
}

/// What is known of moves; `missing` is the side that was not given.
pub(crate) fn moves_of(moves: &Moves, missing: Option<Side>) -> Vec<MoveStatus> {
    moves.0.iter().filter_map(|found| move_status(found, missing)).collect()
}

fn move_status(found: &Found, missing: Option<Side>) -> Option<MoveStatus> {
    let (decides, record) = found.deciding()?;
    let (elsewhere, orphaned) = (found.elsewhere, found.orphaned);
    Some(MoveStatus { decides, record: record.clone(), elsewhere, orphaned, missing })
}

async fn locks(opened: &Opened) -> Result<Vec<LockStatus>, Failure> {
    let Some(leases) = opened.leases() else { return Ok(Vec::new()) };
    let all = match leases.all().await {
        // Who may not list them still learns of the moves.
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Vec::new(),
        other => other?,
    };
    let all = all.into_iter();
    Ok(all.map(|seen| LockStatus { name: seen.name, holder: seen.holder, move_id: seen.claim }).collect())
}
