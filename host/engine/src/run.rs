//! Commands: plan, move, resume, roll back, status. Each opens both sides, finds out where a move stands and goes on
//! from there; each failure becomes a [`Stop`] that says how both sides stand and what to type next.

use std::collections::BTreeSet;

use pivot_core::Side;
use pivot_core::plan::Plan;
use pivot_places::PlaceError;

use crate::checks::before_pause;
use crate::outcome::failure::Failure;
use crate::outcome::report::{Report, Status};
use crate::outcome::stop::Stop;
use crate::outcome::stopping::{stopped, unknown, unread};
use crate::phases::rollback::TakenBack;
use crate::phases::sequence::{Carrier, Done, look};
use crate::setup::Setup;
use crate::state::lease::{self, Lease};
use crate::state::open::{Ground, carrier, open};

/// What would move, and whether anything speaks against it. Changes nothing.
pub async fn plan(setup: Setup) -> Result<Plan, Stop> {
    let result = async {
        let ground = open(&setup).await?.read_what_may_be().await?;
        let record = ground.deciding().map(|(_, stored)| stored.record.clone());
        let carrier = carrier(setup, ground, record)?;
        let (base, providers) = look(&carrier.job).await?;
        before_pause::all(&carrier.job, &base, &providers).await?;
        Ok(base.plan)
    };
    result.await.map_err(unknown)
}

async fn read_records(setup: &Setup) -> Result<Ground, Failure> {
    open(setup).await?.read().await
}

/// Moves. A move that was begun with the same scope between the same clusters is taken up where it stopped.
pub async fn start(setup: Setup) -> Result<Report, Stop> {
    let scope = setup.options.scope.clone();
    with_lease(setup, unknown, async |carrier, begun| {
        if begun && carrier.journal.record.scope != scope {
            return Err(Failure::Declined(format!(
                "another move ({}, {}) is under way, with another scope: resume it or roll it back first",
                carrier.journal.record.move_id, carrier.journal.record.phase
            )));
        }
        if begun {
            taken_up(carrier)?;
        }
        carrier.forward().await
    })
    .await
    .map(|(carrier, done)| report(&carrier, done))
}

/// Takes up a move where it stopped.
pub async fn resume(setup: Setup) -> Result<Report, Stop> {
    with_lease(setup, unread, async |carrier, begun| {
        if !begun {
            return Err(Failure::NoMove);
        }
        taken_up(carrier)?;
        carrier.forward().await
    })
    .await
    .map(|(carrier, done)| report(&carrier, done))
}

/// Takes a move back.
pub async fn rollback(setup: Setup) -> Result<TakenBack, Stop> {
    with_lease(setup, unread, async |carrier, begun| {
        if !begun {
            return Err(Failure::NoMove);
        }
        if carrier.journal.record.phase.committed() && !carrier.orphaned {
            return Err(Failure::Declined(format!(
                "move {} is past the point of no return ({}): it can only be resumed",
                carrier.journal.record.move_id, carrier.journal.record.phase
            )));
        }
        carrier.take_back().await
    })
    .await
    .map(|(_, taken)| taken)
}

/// Says where a move stands, as far as the sides that answer know. Changes nothing.
pub async fn status(setup: Setup) -> Result<Status, Stop> {
    let result = async {
        let (ground, silent) = match read_records(&setup).await {
            Err(Failure::Place { side, error: PlaceError::Unavailable(why), .. }) => {
                let mut options = setup.options.clone();
                match side {
                    Side::Source => options.source_gone = true,
                    Side::Target => options.target_gone = true,
                }
                (read_records(&Setup { options, ..setup.clone() }).await?, Some((side, why)))
            }
            other => (other?, None),
        };
        let namespace = &setup.options.record_namespace;
        let source_answers = !matches!(silent, Some((Side::Source, _)));
        let holder = match ground.lease_kind().filter(|_| source_answers) {
            Some(kind) => lease::held(&ground.source, kind, namespace).await?.map(|held| held.holder),
            None => None,
        };
        let record = ground.deciding().map(|(side, stored)| (side, stored.record.clone()));
        Ok(Status { record, holder, silent, elsewhere: ground.elsewhere(), orphaned: ground.orphaned() })
    };
    // It is the command that others name where they know no more: it can't name itself.
    result.await.map_err(|failure| Stop { next: Vec::new(), ..unknown(failure) })
}

fn report(carrier: &Carrier, done: Done) -> Report {
    Report { move_id: carrier.journal.record.move_id.clone(), done, times: carrier.times.clone() }
}

/// Whether this run may go on with the move that was found.
fn taken_up(carrier: &Carrier) -> Result<(), Failure> {
    if carrier.orphaned {
        return Err(Failure::Orphan(carrier.journal.record.move_id.clone()));
    }
    same_plugins(carrier)
}

/// Who goes on with a move must do so with the plugins it was begun with. A rollback needs none.
fn same_plugins(carrier: &Carrier) -> Result<(), Failure> {
    let (record, options) = (&carrier.journal.record, &carrier.job.options);
    let begun: BTreeSet<(&str, &str)> =
        record.plugins.iter().map(|pin| (pin.name.as_str(), pin.digest.as_str())).collect();
    let now: BTreeSet<(&str, &str)> = carrier
        .job
        .plugins
        .iter()
        .map(|plugin| (plugin.describe().name.as_str(), plugin.describe().digest.as_str()))
        .collect();
    if begun == now || (record.phase.committed() && options.accept_plugin_change) {
        return Ok(());
    }
    let names: Vec<String> =
        record.plugins.iter().map(|pin| format!("{} {}", pin.name, pin.version)).collect();
    let names = if names.is_empty() { "no plugins".to_owned() } else { names.join(", ") };
    let way = if record.phase.committed() {
        "--accept-plugin-change goes on all the same"
    } else {
        "give it the same, or roll it back: that needs no plugin"
    };
    Err(Failure::Plugins(format!(
        "move {} was begun with {names}, and this run has others (or others of the same name); {way}",
        record.move_id
    )))
}

/// Runs a command that writes: under the lease, with the record as it is then. `before` makes a stop of what fails before
/// that is known.
async fn with_lease<T>(
    setup: Setup,
    before: impl Fn(Failure) -> Stop,
    work: impl AsyncFnOnce(&mut Carrier, bool) -> Result<T, Failure>,
) -> Result<(Carrier, T), Stop> {
    let (halter, watcher, options) = (setup.halter.clone(), setup.watcher.clone(), setup.options.clone());
    let ground = open(&setup).await.map_err(&before)?;
    let needs_lease = ground.source.is_live() && !options.source_gone;
    let lease = match ground.lease_kind().filter(|_| needs_lease) {
        None => None,
        Some(kind) => {
            let namespace = &options.record_namespace;
            let taken =
                Lease::take(&ground.source, kind, namespace, options.take_over, &halter, &*watcher).await;
            Some(taken.map_err(&before)?)
        }
    };
    // Only now: what another run wrote while we waited for its lease counts.
    let taken_up = ground.read().await.and_then(|ground| {
        let found = ground.deciding().map(|(_, stored)| stored.record.clone());
        Ok((found.is_some(), carrier(setup, ground, found)?))
    });
    let (begun, mut carrier) = match taken_up {
        Ok(taken_up) => taken_up,
        Err(failure) => {
            if let Some(lease) = lease {
                lease.give_back().await;
            }
            return Err(before(failure));
        }
    };
    let result = match work(&mut carrier, begun).await {
        Ok(value) => Ok(value),
        Err(failure) => Err(stopped(&mut carrier, failure).await),
    };
    if let Some(lease) = lease {
        lease.give_back().await;
    }
    result.map(|value| (carrier, value))
}
