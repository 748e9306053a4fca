//! Who may pause and delete where: a Lease for each namespace that a run works in, or the one for all.
//!
//! Moves that share nothing run side by side. Leases are taken by trying: whoever finds one held gives back what it has
//! and waits with empty hands, so that no two runs wait for each other. A run renews its leases while it lives, and stops
//! itself when it cannot: before a lease can be taken over, not one more of its writes may be on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use pivot_core::record::Record;
use pivot_core::scope::{Namespaces, Scope};
use pivot_places::PlaceError;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::Instrument;

use crate::events::{LeaseState, Watcher};
use crate::outcome::failure::Failure;
use crate::requests::ROUNDS;
use crate::requests::halt::{FENCE, Halt, Halter};
use crate::state::expiry;
use crate::state::found::Moves;
use crate::state::lease::{Leases, Seen, Taker};
use crate::state::open::Opened;
use crate::state::records::Records;

const RENEW: Duration = Duration::from_secs(4);
/// How soon a failed renewal is tried again.
const RETRY: Duration = Duration::from_millis(500);
const TAKEN: &str = "another run took it over";

/// What is locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    /// Everything.
    All,
    /// The cluster-scoped objects that a run pauses or deletes.
    ClusterScoped,
    /// One namespace.
    Namespace(String),
}

impl Lock {
    fn name(&self) -> String {
        match self {
            Self::All => "pivot-host".to_owned(),
            Self::ClusterScoped => "pivot-host.cluster".to_owned(),
            Self::Namespace(name) => format!("pivot-host.ns.{name}"),
        }
    }

    /// Those of a scope, before anything was read.
    pub(crate) fn of(scope: &Scope) -> BTreeSet<Self> {
        BTreeSet::from([match &scope.namespaces {
            Namespaces::All => Self::All,
            Namespaces::One(name) => Self::Namespace(name.clone()),
        }])
    }
}

/// How locks are asked for.
pub(crate) struct Asking {
    pub(crate) leases: Leases,
    /// Says which claims are good: those of moves that have not ended.
    pub(crate) records: Option<Records>,
    /// A claim of the move that was begun with this scope keeps nobody out who goes on with it.
    pub(crate) scope: Scope,
    pub(crate) move_id: String,
    pub(crate) take_over: bool,
    pub(crate) halter: Halter,
    pub(crate) watcher: Arc<dyn Watcher>,
}

/// What a run leaves of the moves that its locks are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// It did nothing: who claimed a lease before still does.
    AsItWas,
    /// Its move stopped midway, and claims what is locked.
    UnderWay,
    /// Its move has ended, or never began.
    Nothing,
}

/// Which runs count as dead.
#[derive(Default)]
struct Dead {
    /// Leases that stood still for their duration, and the version at which they did.
    stood_still: BTreeMap<String, String>,
    /// Whoever ran this move before.
    runs_of_this_move: bool,
    /// Everybody: somebody said so.
    take_over: bool,
}

/// Why a lease was not had.
enum Blocked {
    /// Somebody holds it.
    Held(Box<Seen>),
    /// A move that has not ended claims it.
    Claimed(Box<Record>),
}

/// Locks that are held, and renewed.
pub(crate) struct Locks {
    shared: Arc<Held>,
    renewal: Renewal,
}

/// What renews locks until it is dropped.
struct Renewal(JoinHandle<()>);

struct Held {
    asking: Asking,
    holder: String,
    claim: Mutex<String>,
    /// The leases, by name.
    each: Mutex<BTreeMap<String, One>>,
    /// Whether a lease was taken from a run that had not stood still for long enough to be dead.
    robbed: AtomicBool,
}

#[derive(Clone)]
struct One {
    /// As it was last written.
    version: String,
    /// Which move claimed it before this run took it.
    before: Option<String>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This moment, by both clocks.
fn now() -> (std::time::Instant, std::time::SystemTime) {
    (std::time::Instant::now(), std::time::SystemTime::now())
}

impl Locks {
    /// Takes all of them, waiting for those of dead runs to expire; none is held meanwhile. Gives the moves under way as the
    /// records tell of them once the locks are held: what another run wrote before counts. What else is to be read then is
    /// read beside them; it is lost where they turn out not to be the last word.
    pub(crate) async fn take<'a, T>(
        asking: Asking,
        wanted: &BTreeSet<Lock>,
        opened: &Opened,
        beside: impl Fn() -> BoxFuture<'a, Option<T>>,
    ) -> Result<(Self, Moves, Option<T>), Failure> {
        let held = Arc::new(Held {
            holder: format!("pivot-host/{}", uuid::Uuid::new_v4()),
            claim: Mutex::new(asking.move_id.clone()),
            each: Mutex::default(),
            robbed: AtomicBool::new(false),
            asking,
        });
        let Asking { leases, halter, watcher, .. } = &held.asking;
        let mut dead = Dead { take_over: held.asking.take_over, ..Dead::default() };
        let (renewal, moves, more) = loop {
            let begun = now();
            let blocked = match held.try_each(wanted, &dead).await.transpose() {
                Some(blocked) => blocked,
                None => {
                    // Reading takes as long as there are objects, and as plugins are compiled.
                    let renewal = Renewal::start(&held, begun);
                    let others =
                        async { held.look_at_other(wanted, &dead).await.transpose().map_or(Ok(()), Err) };
                    let read = async { Ok(tokio::join!(opened.moves(), beside())) };
                    match tokio::try_join!(others, read) {
                        Ok(((), (moves, more))) => break (renewal, moves, more),
                        Err(blocked) => blocked,
                    }
                }
            };
            held.back_off().await;
            let seen = match blocked? {
                Blocked::Held(seen) => seen,
                Blocked::Claimed(record) => return Err(claimed(&record)),
            };
            if let Some(still) = expiry::wait(leases, &seen, halter, &**watcher).await? {
                dead.stood_still.insert(still.name, still.resource_version);
            }
        };
        let locks = Self { shared: held.clone(), renewal };
        let robbed = held.robbed.load(Ordering::Relaxed);
        for name in locked(&held.each).keys() {
            watcher.event(leases.event(name, &held.holder, LeaseState::Taken, None));
        }
        if robbed {
            locks.outlast_the_robbed(halter, &**watcher).await?;
        }
        let (moves, more) = if robbed { (opened.moves().await, None) } else { (moves, more) };
        match moves {
            Ok(moves) => Ok((locks, moves, more)),
            Err(failure) => {
                locks.shared.back_off().await;
                Err(failure)
            }
        }
    }

    /// A run whose lease was taken writes until it notices, or until it has not renewed for so long that it stops by itself.
    /// Until then not even the records can be believed.
    async fn outlast_the_robbed(&self, halter: &Halter, watcher: &dyn Watcher) -> Result<(), Failure> {
        for name in locked(&self.shared.each).keys() {
            let left = Some(FENCE.as_secs());
            watcher.event(self.shared.asking.leases.event(
                name,
                &self.shared.holder,
                LeaseState::TakenOver,
                left,
            ));
        }
        tokio::select! {
            () = tokio::time::sleep(FENCE) => Ok(()),
            halt = halter.wait() => {
                self.give_back(Left::AsItWas).await;
                Err(Failure::Halted(halt))
            }
        }
    }

    /// Takes more. One that a run of the same move held is free: that run held what we hold now, and is dead. Any other that
    /// somebody holds must stand still for its duration, which one of a run that lives does not: what a dead run left would
    /// otherwise keep everybody out for ever. The wait is short and bounded, so that two runs that wait for each other both
    /// give up. Says whether there were any to take.
    pub(crate) async fn also(&self, more: &BTreeSet<Lock>) -> Result<bool, Failure> {
        let held: BTreeSet<String> = locked(&self.shared.each).keys().cloned().collect();
        if held.contains(&Lock::All.name()) {
            return Ok(false);
        }
        let more: BTreeSet<Lock> = more.iter().filter(|lock| !held.contains(&lock.name())).cloned().collect();
        let Asking { leases, halter, watcher, .. } = &self.shared.asking;
        let mut dead = Dead { runs_of_this_move: true, ..Dead::default() };
        loop {
            let seen = match self.shared.try_each(&more, &dead).await? {
                None => return Ok(!more.is_empty()),
                Some(Blocked::Held(seen)) => seen,
                Some(Blocked::Claimed(record)) => return Err(claimed(&record)),
            };
            if let Some(still) = expiry::wait(leases, &seen, halter, &**watcher).await? {
                dead.stood_still.insert(still.name, still.resource_version);
            }
        }
    }

    /// Says for which move they are held, where that was found out only after they were taken.
    pub(crate) async fn claim(&self, move_id: &str) -> Result<(), Failure> {
        move_id.clone_into(&mut locked(&self.shared.claim));
        let mut renewed = self.shared.renew_each().await;
        for _ in 0..ROUNDS {
            match &renewed {
                Err(why) if why != TAKEN => tokio::time::sleep(RETRY).await,
                _ => break,
            }
            renewed = self.shared.renew_each().await;
        }
        renewed.map_err(|why| Failure::Halted(Halt::LeaseLost(why)))
    }

    /// Releases them.
    pub(crate) async fn give_back(&self, left: Left) {
        self.renewal.0.abort();
        self.shared
            .give_back(|one| match left {
                Left::AsItWas => one.before.clone(),
                Left::UnderWay => Some(locked(&self.shared.claim).clone()),
                Left::Nothing => None,
            })
            .await;
        self.shared.asking.halter.renewed(None);
    }
}

impl Renewal {
    /// Of locks that were taken at this moment.
    fn start(held: &Arc<Held>, taken_at: (std::time::Instant, std::time::SystemTime)) -> Self {
        held.asking.halter.renewed(Some(taken_at));
        Self(tokio::spawn(held.clone().renew().in_current_span()))
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Held {
    fn taker(&self) -> Taker {
        Taker { holder: self.holder.clone(), claim: locked(&self.claim).clone() }
    }

    /// Takes each, in order; stops at the first that is not to be had.
    async fn try_each(&self, wanted: &BTreeSet<Lock>, dead: &Dead) -> Result<Option<Blocked>, Failure> {
        for lock in wanted {
            if let Some(blocked) = self.try_one(&lock.name(), dead).await? {
                return Ok(Some(blocked));
            }
        }
        Ok(None)
    }

    async fn try_one(&self, name: &str, dead: &Dead) -> Result<Option<Blocked>, Failure> {
        let mut before = None;
        loop {
            let version = match self.asking.leases.create(name, &self.taker()).await? {
                Some(version) => Some(version),
                None => match self.asking.leases.read(name).await? {
                    None => None,
                    // A first attempt whose answer got lost on the way may have taken it.
                    Some(seen) if seen.holder == self.holder => Some(seen.resource_version),
                    Some(seen) => match self.blocked(seen.clone(), dead).await? {
                        Some(blocked) => return Ok(Some(blocked)),
                        None => {
                            before.clone_from(&seen.claim);
                            self.asking.leases.take(&seen, &self.taker()).await?
                        }
                    },
                },
            };
            if let Some(version) = version {
                locked(&self.each).insert(name.to_owned(), One { version, before });
                return Ok(None);
            }
        }
    }

    /// Whether a lease keeps this run out.
    async fn blocked(&self, seen: Seen, dead: &Dead) -> Result<Option<Blocked>, Failure> {
        if !seen.holder.is_empty() && !self.thought_dead(&seen, dead) {
            return Ok(Some(Blocked::Held(Box::new(seen))));
        }
        let (Some(claim), Some(records)) = (&seen.claim, &self.asking.records) else { return Ok(None) };
        if *claim == *locked(&self.claim) {
            return Ok(None);
        }
        let found = records.of_move(claim).await?;
        // The same scope is this move's only where the cluster has the same part in it.
        let good = found.filter(|(record, same_role)| !same_role || record.scope != self.asking.scope);
        Ok(good.map(|(record, _)| Blocked::Claimed(Box::new(record))))
    }

    /// Whether whoever holds a lease has stood still for long enough, or is known or said to be dead.
    fn thought_dead(&self, seen: &Seen, dead: &Dead) -> bool {
        let ours = dead.runs_of_this_move && seen.claim.as_ref() == Some(&*locked(&self.claim));
        let known = ours || dead.stood_still.get(&seen.name) == Some(&seen.resource_version);
        if dead.take_over && !known && !seen.holder.is_empty() {
            self.robbed.store(true, Ordering::Relaxed);
        }
        known || dead.take_over
    }

    /// A run for all and a run for a namespace take different leases: each looks at the other kind once it has its own, so
    /// that of two that begin at once at least one sees the other.
    async fn look_at_other(&self, wanted: &BTreeSet<Lock>, dead: &Dead) -> Result<Option<Blocked>, Failure> {
        let others = if wanted.contains(&Lock::All) {
            self.asking.leases.all().await?
        } else {
            self.asking.leases.read(&Lock::All.name()).await?.into_iter().collect()
        };
        for seen in others.into_iter().filter(|seen| seen.holder != self.holder) {
            if let Some(blocked) = self.blocked(seen.clone(), dead).await? {
                return Ok(Some(blocked));
            }
            if !seen.holder.is_empty() && !self.asking.leases.set_aside(&seen).await? {
                return Ok(Some(Blocked::Held(Box::new(seen))));
            }
        }
        Ok(None)
    }

    /// Leaves everything as it was before this attempt.
    async fn back_off(&self) {
        self.give_back(|one| one.before.clone()).await;
        self.asking.halter.renewed(None);
    }

    /// Lets go of all, leaving the claim that is given.
    async fn give_back(&self, claim: impl Fn(&One) -> Option<String>) {
        let each = std::mem::take(&mut *locked(&self.each));
        let each =
            each.into_iter().map(|(name, one)| {
                let claim = claim(&one);
                async move {
                    self.asking.leases.give_back(&name, &one.version, &self.holder, claim.as_deref()).await
                }
            });
        join_all(each).await;
    }

    async fn renew(self: Arc<Self>) {
        let mut renewed = Instant::now();
        let mut pause = RENEW;
        loop {
            tokio::time::sleep(pause).await;
            pause = RENEW;
            let (attempt, at) = (Instant::now(), now());
            let left = FENCE.saturating_sub(renewed.elapsed());
            let why = match tokio::time::timeout(left, self.renew_each()).await {
                Ok(Ok(())) => {
                    renewed = attempt;
                    self.asking.halter.renewed(Some(at));
                    continue;
                }
                Ok(Err(why)) => why,
                Err(_) => "the API server does not answer".to_owned(),
            };
            if renewed.elapsed() >= FENCE || why == TAKEN {
                self.asking.halter.halt(Halt::LeaseLost(why));
                return;
            }
            pause = RETRY;
        }
    }

    /// Renews all of them once; all or none count.
    async fn renew_each(&self) -> Result<(), String> {
        let taker = self.taker();
        let held = locked(&self.each).clone();
        let each = held.iter().map(|(name, one)| {
            let taker = &taker;
            async move { (name.clone(), self.asking.leases.renew(name, &one.version, taker).await) }
        });
        let mut why = None;
        for (name, renewed) in join_all(each).await {
            match renewed {
                Ok(version) => {
                    if let Some(one) = locked(&self.each).get_mut(&name) {
                        one.version = version;
                    }
                }
                Err(PlaceError::Conflict(_)) => why = Some(TAKEN.to_owned()),
                Err(error) => drop(why.get_or_insert(error.to_string())),
            }
        }
        why.map_or(Ok(()), Err)
    }
}

/// The refusal because of a move that stopped midway.
fn claimed(record: &Record) -> Failure {
    Failure::Declined(format!(
        "another move ({}, {}) is under way, with another scope: resume it or roll it back first",
        record.move_id, record.phase
    ))
}
