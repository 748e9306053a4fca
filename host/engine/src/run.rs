//! Commands: plan, move, resume, roll back, status. Each opens both sides, finds out where a move stands and goes on
//! from there; each failure becomes a [`Stop`] that says how both sides stand and what to type next.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pivot_core::plan::Plan;
use pivot_core::record::{Phase, Pin, Record};
use pivot_core::refusal::Side;
use pivot_core::{GroupKind, Uid};
use pivot_places::{Identity, PlaceError};

use crate::carry::{Carrier, Done, Journal, look};
use crate::checks;
use crate::discover::Kinds;
use crate::events::Watcher;
use crate::failure::{Exit, Failure, Stop};
use crate::halt::{Halt, Halter};
use crate::hooks::Hooks;
use crate::job::Job;
use crate::lease::{self, Lease};
use crate::options::Options;
use crate::records::{Records, Stored};
use crate::rollback::TakenBack;
use crate::sides::{Handle, Sides};

/// What a command works with.
pub struct Setup {
    /// The two places.
    pub sides: Sides,
    /// What the user decides.
    pub options: Options,
    /// The plugins, in their order.
    pub plugins: Vec<Arc<dyn Hooks>>,
    /// Who is told.
    pub watcher: Arc<dyn Watcher>,
    /// Who may ask for a stop.
    pub halter: Halter,
}

/// A move that came to its end.
#[derive(Clone, Debug)]
pub struct Report {
    /// The move's id.
    pub move_id: String,
    /// What was done.
    pub done: Done,
    /// How long each phase took.
    pub times: Vec<(Phase, Duration)>,
}

/// Where a move stands.
#[derive(Clone, Debug)]
pub struct Status {
    /// The record that decides, and whose it is; none where no move is under way.
    pub record: Option<(Side, Record)>,
    /// Who holds the lease.
    pub holder: Option<String>,
}

/// Both sides, opened.
struct Ground {
    source: Handle,
    target: Handle,
    kinds: Kinds,
    journal: Journal,
    at_source: Option<Stored>,
    at_target: Option<Stored>,
    identities: (Option<Uid>, Option<Uid>),
}

/// What would move, and whether anything speaks against it. Changes nothing.
pub async fn plan(setup: Setup) -> Result<Plan, Stop> {
    let result = async {
        let ground = open(&setup).await?;
        let record = ground.deciding().map(|(_, stored)| stored.record.clone());
        let carrier = carrier(setup, ground, record)?;
        let (base, providers) = look(&carrier.job).await?;
        checks::all(&carrier.job, &base, &providers).await?;
        Ok(base.plan)
    };
    result.await.map_err(untouched)
}

/// Moves. A move that was begun with the same scope between the same clusters is taken up where it stopped.
pub async fn start(setup: Setup) -> Result<Report, Stop> {
    let scope = setup.options.scope.clone();
    with_lease(setup, async |carrier, begun| {
        if begun && carrier.record.scope != scope {
            return Err(Failure::Declined(format!(
                "another move ({}, {}) is under way, with another scope: resume it or roll it back first",
                carrier.record.move_id, carrier.record.phase
            )));
        }
        if begun {
            same_plugins(carrier)?;
        }
        carrier.forward().await
    })
    .await
    .map(|(carrier, done)| report(&carrier, done))
}

/// Takes up a move where it stopped.
pub async fn resume(setup: Setup) -> Result<Report, Stop> {
    with_lease(setup, async |carrier, begun| {
        if !begun {
            return Err(Failure::NoMove);
        }
        same_plugins(carrier)?;
        carrier.forward().await
    })
    .await
    .map(|(carrier, done)| report(&carrier, done))
}

/// Takes a move back.
pub async fn rollback(setup: Setup) -> Result<TakenBack, Stop> {
    with_lease(setup, async |carrier, begun| {
        if !begun {
            return Err(Failure::NoMove);
        }
        if carrier.record.phase.committed() {
            return Err(Failure::Declined(format!(
                "move {} is past the point of no return ({}): it can only be resumed",
                carrier.record.move_id, carrier.record.phase
            )));
        }
        carrier.take_back().await
    })
    .await
    .map(|(_, taken)| taken)
}

/// Says where a move stands. Changes nothing.
pub async fn status(setup: Setup) -> Result<Status, Stop> {
    let result = async {
        let ground = open(&setup).await?;
        let namespace = &setup.options.record_namespace;
        let holder = match ground.lease_kind() {
            Some(kind) => lease::held(&ground.source, kind, namespace).await?.map(|held| held.holder),
            None => None,
        };
        let record = ground.deciding().map(|(side, stored)| (side, stored.record.clone()));
        Ok(Status { record, holder })
    };
    result.await.map_err(untouched)
}

fn report(carrier: &Carrier, done: Done) -> Report {
    Report { move_id: carrier.record.move_id.clone(), done, times: carrier.times.clone() }
}

impl Ground {
    /// The record that decides: the source's until it says Committed, then the target's. A record in the target that
    /// belongs to another source decides nothing here.
    fn deciding(&self) -> Option<(Side, &Stored)> {
        let target = self.at_target.as_ref().filter(|stored| {
            self.at_source.as_ref().is_some_and(|source| source.record.move_id == stored.record.move_id)
                || (self.at_source.is_none()
                    && (self.identities.0.is_none() || stored.record.source == self.identities.0))
        });
        match (&self.at_source, target) {
            (Some(source), Some(target)) if source.record.phase.committed() => Some((Side::Target, target)),
            (Some(source), _) => Some((Side::Source, source)),
            (None, Some(target)) => Some((Side::Target, target)),
            (None, None) => None,
        }
    }

    fn lease_kind(&self) -> Option<&Arc<pivot_core::Kind>> {
        self.kinds.source.get(&GroupKind::new("coordination.k8s.io", "Lease"))
    }
}

/// Opens both sides: which kinds they serve, that they are two, and what their records say.
async fn open(setup: &Setup) -> Result<Ground, Failure> {
    let halter = &setup.halter;
    let source = Handle::new(Side::Source, setup.sides.source.clone(), halter.clone());
    let target = Handle::new(Side::Target, setup.sides.target.clone(), halter.clone());
    let gone = setup.options.source_gone;
    let kinds = if gone { Kinds::ask_target(&target).await? } else { Kinds::ask(&source, &target).await? };
    let records = |handle: &Handle, side: Side| {
        let config_map = kinds.of(side).get(&GroupKind::new("", "ConfigMap"));
        config_map
            .filter(|_| handle.is_live())
            .map(|kind| Records::new(handle, kind, &setup.options.record_namespace))
    };
    // Where the source is only read there is nothing to keep a record of.
    let journal = Journal {
        source: records(&source, Side::Source),
        target: records(&target, Side::Target).filter(|_| source.is_live()),
    };
    let read = async |records: &Option<Records>| match records {
        Some(records) => match records.read().await {
            // Who may not read records may still plan; a move needs the right and is told so by its checks.
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Ok(None),
            other => other,
        },
        None => Ok(None),
    };
    let identify = async |handle: &Handle, ask: bool| {
        if !ask {
            return Ok(Identity::Unknown);
        }
        let identity = handle.retry(|| handle.place.identify()).await;
        identity.map_err(|error| handle.failed("identifying the cluster", None, error))
    };
    let (at_source, at_target, there, here) = tokio::try_join!(
        read(&journal.source),
        read(&journal.target),
        identify(&source, !gone),
        identify(&target, true)
    )?;
    checks::two_places(&source, &target, &kinds, &setup.options, &there, &here).await?;
    let uid = |identity| match identity {
        Identity::Cluster(uid) => Some(uid),
        Identity::Unknown | Identity::Directory(_) => None,
    };
    Ok(Ground { source, target, kinds, journal, at_source, at_target, identities: (uid(there), uid(here)) })
}

/// Puts a move together from what was found, or a new one.
fn carrier(setup: Setup, ground: Ground, found: Option<Record>) -> Result<Carrier, Failure> {
    let Setup { sides: _, mut options, plugins, watcher, halter } = setup;
    let Ground { source, target, kinds, journal, at_source, at_target, identities } = ground;
    let pins: Vec<Pin> = plugins.iter().map(|plugin| Pin::from(plugin.describe())).collect();
    let record = match found {
        Some(record) => {
            if identities.1.is_some() && record.target.is_some() && record.target != identities.1 {
                return Err(Failure::Declined(format!(
                    "move {} goes to another target than the one given: name that one, or roll it back first",
                    record.move_id
                )));
            }
            // What the first run was told counts for those that take it up.
            options.scope = record.scope.clone();
            record
        }
        None => Record {
            move_id: options.move_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
            phase: Phase::Checked,
            scope: options.scope.clone(),
            source: identities.0,
            target: identities.1,
            started: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            namespaces: Vec::new(),
            plugins: pins,
            kinds: Default::default(),
            touched: Default::default(),
            release_chunks: 0,
        },
    };
    let ours = |stored: Option<Stored>| stored.filter(|stored| stored.record.move_id == record.move_id);
    let move_id = record.move_id.clone();
    let (at_source, at_target) = (ours(at_source), ours(at_target));
    let job = Arc::new(Job { source, target, kinds, options, plugins, halter, watcher, move_id });
    Ok(Carrier { job, journal, record, at_source, at_target, times: Vec::new(), began: Instant::now() })
}

/// Who goes on with a move must do so with the plugins it was begun with. A rollback needs none.
fn same_plugins(carrier: &Carrier) -> Result<(), Failure> {
    let (record, options) = (&carrier.record, &carrier.job.options);
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

/// Runs a command that writes: under the lease, with the record as it is then.
async fn with_lease<T>(
    setup: Setup,
    work: impl AsyncFnOnce(&mut Carrier, bool) -> Result<T, Failure>,
) -> Result<(Carrier, T), Stop> {
    let (halter, watcher, options) = (setup.halter.clone(), setup.watcher.clone(), setup.options.clone());
    let ground = open(&setup).await.map_err(untouched)?;
    let needs_lease = ground.source.is_live() && !options.source_gone;
    let (lease, ground) = match ground.lease_kind().cloned().filter(|_| needs_lease) {
        None => (None, ground),
        Some(kind) => {
            let namespace = &options.record_namespace;
            let taken =
                Lease::take(&ground.source, &kind, namespace, options.take_over, &halter, &*watcher).await;
            let lease = taken.map_err(untouched)?;
            // What another run wrote while we waited for it counts.
            match ground.read_again().await {
                Ok(ground) => (Some(lease), ground),
                Err(failure) => {
                    lease.give_back().await;
                    return Err(untouched(failure));
                }
            }
        }
    };
    let found = ground.deciding().map(|(_, stored)| stored.record.clone());
    let begun = found.is_some();
    let mut carrier = match carrier(setup, ground, found) {
        Ok(carrier) => carrier,
        Err(failure) => {
            if let Some(lease) = lease {
                lease.give_back().await;
            }
            return Err(untouched(failure));
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

impl Ground {
    async fn read_again(self) -> Result<Self, Failure> {
        let read = async |records: &Option<Records>| match records {
            Some(records) => records.read().await,
            None => Ok(None),
        };
        let (at_source, at_target) =
            tokio::try_join!(read(&self.journal.source), read(&self.journal.target))?;
        Ok(Self { at_source, at_target, ..self })
    }
}

/// A failure before anything was written.
fn untouched(failure: Failure) -> Stop {
    let exit = exit_untouched(&failure);
    let next = match failure {
        Failure::Declined(_) | Failure::Record(_) => vec!["status", "resume", "rollback"],
        _ => Vec::new(),
    };
    let standing = "nothing is changed on either side".to_owned();
    Stop { failure, phase: None, exit, standing, next }
}

fn exit_untouched(failure: &Failure) -> Exit {
    match failure {
        Failure::Empty(_) | Failure::NoMove => Exit::Empty,
        Failure::Plugins(_) => Exit::Plugin,
        Failure::TimedOut(_) => Exit::Timeout,
        Failure::Halted(Halt::Signal(15)) => Exit::Terminated,
        Failure::Halted(Halt::Signal(_)) => Exit::Interrupted,
        Failure::Bug(_) => Exit::Unexpected,
        Failure::Place { error: PlaceError::Unavailable(_) | PlaceError::Unreadable(_), .. } => {
            Exit::Unexpected
        }
        _ => Exit::Refused,
    }
}

/// A failure on the way: puts back what can be put back, and says how things stand.
async fn stopped(carrier: &mut Carrier, failure: Failure) -> Stop {
    let lease_lost = matches!(failure, Failure::Halted(Halt::LeaseLost(_)));
    let signal = match &failure {
        Failure::Halted(Halt::Signal(15)) => Some(Exit::Terminated),
        Failure::Halted(Halt::Signal(_)) => Some(Exit::Interrupted),
        _ => None,
    };
    // Refusing to do something to a move is not a stop of that move.
    let about_the_move = !matches!(failure, Failure::Declined(_) | Failure::Plugins(_) | Failure::NoMove);
    let Some(phase) = carrier.phase().filter(|_| about_the_move) else { return untouched(failure) };
    if phase.committed() {
        let standing = match phase {
            Phase::Committed | Phase::Live => {
                "the target has everything and takes over; the source still stands, paused"
            }
            Phase::Released => "the target runs; part of the source is deleted, the rest of it still paused",
            _ => "the target runs and the source is released; some objects of the target are still held",
        };
        return stop_with(
            failure,
            phase,
            signal.unwrap_or(Exit::PastCommit),
            standing.into(),
            vec!["resume"],
        );
    }
    if phase >= Phase::Copied {
        let standing =
            "the source is the truth: complete, paused; the target has a part of it, paused".into();
        return stop_with(
            failure,
            phase,
            signal.unwrap_or(Exit::PartWay),
            standing,
            vec!["resume", "rollback"],
        );
    }
    if lease_lost {
        let standing = "the source is complete and may be paused; nothing is in the target".into();
        return stop_with(failure, phase, Exit::PartWay, standing, vec!["status", "resume", "rollback"]);
    }
    match carrier.take_back().await {
        Ok(_) => {
            let timed_out = matches!(failure, Failure::TimedOut(_));
            let exit = signal.unwrap_or(if timed_out { Exit::Timeout } else { Exit::Refused });
            let standing = "the source was paused and is un-paused again; nothing is in the target".into();
            stop_with(failure, phase, exit, standing, Vec::new())
        }
        Err(trouble) => {
            let standing = format!(
                "the source is complete, and part of it is still paused: un-pausing it failed too ({trouble}); nothing is in the target"
            );
            stop_with(failure, phase, Exit::PartWay, standing, vec!["rollback", "resume"])
        }
    }
}

fn stop_with(failure: Failure, phase: Phase, exit: Exit, standing: String, next: Vec<&'static str>) -> Stop {
    Stop { failure, phase: Some(phase), exit, standing, next }
}
