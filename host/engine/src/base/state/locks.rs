//! Locks that decide which run may pause and delete: a Lease for each namespace that a run works in, or one for all.
//!
//! Moves that share nothing run side by side. A run takes leases by trying: if it finds one held, it releases those it has before
//! it waits, so that no two runs wait for each other. A run renews its leases while it lives, and stops if it can't: none of its
//! writes may still be on the way when a lease can be taken over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use pivot_core::Side;
use pivot_core::messages::safe_text;
use pivot_core::objects::names::STATE;
use pivot_core::records::record::Record;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_places::PlaceError;
use tokio::task::JoinHandle;
use tracing::Instrument;

use crate::base::clock::Moment;
use crate::base::events::{LeaseState, Watcher};
use crate::base::outcome::failure::Failure;
use crate::base::requests::MAX_ROUNDS;
use crate::base::requests::halt::{FENCE, Halt, Halter};
use crate::base::requests::parking::Parking;
use crate::base::state::expiry;
use crate::base::state::lease::{Leases, SeenLease, Taker};
use crate::base::state::moves::{Moves, refuse_for_other_move};
use crate::base::state::records::Records;

const RENEW_INTERVAL: Duration = Duration::from_secs(4);
/// Time before a failed renewal is retried.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// The longest name of an operator in a Lease, in bytes.
const MAX_OPERATOR_BYTES: usize = 100;
const LEASE_TAKEN: &str = "another run took it over";

/// A part of a cluster that a run locks.
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
            Self::All => STATE.to_owned(),
            Self::ClusterScoped => format!("{STATE}.cluster"),
            Self::Namespace(name) => format!("{STATE}.ns.{name}"),
        }
    }

    /// The locks of a scope, before anything was read.
    pub(crate) fn for_scope(scope: &Scope) -> BTreeSet<Self> {
        BTreeSet::from([match &scope.namespaces {
            Namespaces::All => Self::All,
            Namespaces::One(name) => Self::Namespace(name.clone()),
        }])
    }
}

/// The terms on which a run takes locks.
pub(crate) struct LockRequest {
    pub(crate) leases: Leases,
    /// Decides which claims are valid: those of moves that have not ended.
    pub(crate) records: Option<Records>,
    /// A claim of the move that was begun with this scope doesn't block a run that continues this move.
    pub(crate) scope: Scope,
    pub(crate) move_id: String,
    /// Names who runs it, for people who find the lease.
    pub(crate) operator: String,
    pub(crate) break_lease: bool,
    pub(crate) halter: Halter,
    pub(crate) parking: Parking,
    pub(crate) watcher: Arc<dyn Watcher>,
}

impl LockRequest {
    /// The lease of a lock. In the target a namespace is locked under its name there: two moves from different files can give one
    /// name to two namespaces.
    fn lease_name(&self, lock: &Lock) -> String {
        match (lock, self.leases.handle.side) {
            (Lock::Namespace(name), Side::Target) => {
                Lock::Namespace(self.scope.namespace_map.in_target(name).to_owned()).name()
            }
            _ => lock.name(),
        }
    }
}

/// The state in which a run leaves its locks' moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveLeft {
    /// The run did nothing: each lease keeps its earlier claim.
    AsItWas,
    /// The run did nothing, but its own move has ended: no lease keeps the claim of this move.
    Ended,
    /// The move stopped partway, and keeps its claim on the locks.
    UnderWay,
    /// The move has ended, or never began.
    Nothing,
}

/// Rules that decide which runs count as dead.
#[derive(Default)]
struct Dead {
    /// Leases that were unchanged for their duration, and the version at which they were.
    unchanged: BTreeMap<String, String>,
    /// All earlier runs of this move.
    runs_of_this_move: bool,
    /// All runs, because the user breaks the lease.
    break_lease: bool,
}

/// Reason that a lease can't be taken.
enum Blocked {
    /// Another run holds it.
    Held(Box<SeenLease>),
    /// A move that has not ended claims it.
    Claimed(Box<Record>),
}

/// Locks that this run holds and renews.
pub(crate) struct Locks {
    shared: Arc<HeldLocks>,
    renewal: Renewal,
}

/// Renews locks until it is dropped.
struct Renewal(JoinHandle<()>);

struct HeldLocks {
    request: LockRequest,
    holder: String,
    claim: Mutex<String>,
    /// The leases, by name.
    each: Mutex<BTreeMap<String, HeldLease>>,
    /// Whether a lease was taken from a run before it had been unchanged for long enough to be dead.
    taken_early: AtomicBool,
}

#[derive(Clone)]
struct HeldLease {
    /// When the request was sent that took it.
    sent: Moment,
    /// The version of the last write.
    version: String,
    /// The move that claimed it before this run took it.
    before: Option<String>,
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names a run in its leases: no two runs have the same name, and people read who runs it.
fn new_holder_name(operator: &str) -> String {
    let who = safe_text::to_line(operator, MAX_OPERATOR_BYTES);
    let run = uuid::Uuid::new_v4();
    if who.is_empty() { format!("pivot-host/{run}") } else { format!("pivot-host/{run} ({who})") }
}

impl Locks {
    /// Takes all the locks. Waits for the leases of dead runs to expire, and holds none meanwhile. Returns the moves under way, from
    /// records read once the locks are held, so that earlier writes of other runs are seen. Anything else that must be read then
    /// is read at the same time, and discarded if the locks turn out not to be final.
    pub(crate) async fn take_all<'a, T>(
        request: LockRequest,
        wanted: &BTreeSet<Lock>,
        read_moves: impl Fn() -> BoxFuture<'a, Result<Moves, Failure>>,
        also_read: impl Fn() -> BoxFuture<'a, Option<T>>,
    ) -> Result<(Self, Moves, Option<T>), Failure> {
        let held = Arc::new(HeldLocks {
            holder: new_holder_name(&request.operator),
            claim: Mutex::new(request.move_id.clone()),
            each: Mutex::default(),
            taken_early: AtomicBool::new(false),
            request,
        });
        let LockRequest { leases, halter, parking, watcher, .. } = &held.request;
        let mut dead = Dead { break_lease: held.request.break_lease, ..Dead::default() };
        let (renewal, moves, more) = loop {
            let blocked = match held.try_each(wanted, &dead).await.transpose() {
                Some(blocked) => blocked,
                None => {
                    // Reading takes time for every object, and for compiling plugins.
                    let renewal = Renewal::start(&held);
                    let others =
                        async { held.check_other_kind(wanted, &dead).await.transpose().map_or(Ok(()), Err) };
                    let read = async { Ok(tokio::join!(read_moves(), also_read())) };
                    match tokio::try_join!(others, read) {
                        Ok(((), (moves, more))) => break (renewal, moves, more),
                        Err(blocked) => blocked,
                    }
                }
            };
            held.back_off().await;
            let seen = match blocked? {
                Blocked::Held(seen) => seen,
                Blocked::Claimed(record) => return Err(refuse_for_other_move(&record, &held.request.scope)),
            };
            let wait = expiry::wait_until_free(leases, &seen, halter, &**watcher);
            if let Some(still) = parking.wait_for_others(halter, wait).await? {
                dead.unchanged.insert(still.name, still.resource_version);
            }
        };
        let locks = Self { shared: held.clone(), renewal };
        let taken_early = held.taken_early.load(Ordering::Relaxed);
        for name in lock_mutex(&held.each).keys() {
            watcher.event(leases.event_of(name, &held.holder, LeaseState::Acquired, None));
        }
        if taken_early {
            locks.wait_for_previous_holder(halter, &**watcher).await?;
        }
        let (moves, more) = if taken_early { (read_moves().await, None) } else { (moves, more) };
        match moves {
            Ok(moves) => Ok((locks, moves, more)),
            Err(failure) => {
                locks.shared.back_off().await;
                Err(failure)
            }
        }
    }

    /// A run whose lease was taken writes until it notices, or stops because it has not renewed for too long. Until then even the
    /// records can't be trusted.
    async fn wait_for_previous_holder(&self, halter: &Halter, watcher: &dyn Watcher) -> Result<(), Failure> {
        for name in lock_mutex(&self.shared.each).keys() {
            let left = Some(FENCE.as_secs());
            watcher.event(self.shared.request.leases.event_of(
                name,
                &self.shared.holder,
                LeaseState::Broken,
                left,
            ));
        }
        tokio::select! {
            () = tokio::time::sleep(FENCE) => Ok(()),
            halt = halter.wait() => {
                self.give_back(MoveLeft::AsItWas).await;
                Err(Failure::Halted(halt))
            }
        }
    }

    /// Takes more locks. A lock held by a run of the same move is free: that run held our present locks, and is dead. Any other held
    /// lock must stay unchanged for its duration, as the lock of a live run doesn't: otherwise a dead run's leases would block
    /// everyone for ever. The wait is short and bounded, so that two runs that wait for each other both give up. Returns whether
    /// there were any to take.
    pub(crate) async fn take_more(&self, more: &BTreeSet<Lock>) -> Result<bool, Failure> {
        let held: BTreeSet<String> = lock_mutex(&self.shared.each).keys().cloned().collect();
        if held.contains(&Lock::All.name()) {
            return Ok(false);
        }
        let more: BTreeSet<Lock> = more
            .iter()
            .filter(|lock| !held.contains(&self.shared.request.lease_name(lock)))
            .cloned()
            .collect();
        let LockRequest { leases, halter, parking, watcher, .. } = &self.shared.request;
        let mut dead = Dead { runs_of_this_move: true, ..Dead::default() };
        loop {
            let seen = match self.shared.try_each(&more, &dead).await? {
                None => return Ok(!more.is_empty()),
                Some(Blocked::Held(seen)) => seen,
                Some(Blocked::Claimed(record)) => {
                    return Err(refuse_for_other_move(&record, &self.shared.request.scope));
                }
            };
            let wait = expiry::wait_until_free(leases, &seen, halter, &**watcher);
            if let Some(still) = parking.wait_for_others(halter, wait).await? {
                dead.unchanged.insert(still.name, still.resource_version);
            }
        }
    }

    /// Claims the locks for a move that became known only after they were taken.
    pub(crate) async fn claim_for(&self, move_id: &str) -> Result<(), Failure> {
        move_id.clone_into(&mut lock_mutex(&self.shared.claim));
        let mut renewed = self.shared.renew_each().await;
        for _ in 0..MAX_ROUNDS {
            match &renewed {
                Err(why) if why != LEASE_TAKEN => tokio::time::sleep(RETRY_INTERVAL).await,
                _ => break,
            }
            renewed = self.shared.renew_each().await;
        }
        renewed.map_err(|why| Failure::Halted(Halt::LeaseLost(why)))
    }

    /// The time by the clock of their server: the time of the last renewal. A server that doesn't say so gives none.
    pub(crate) async fn read_time(&self) -> Result<Option<String>, Failure> {
        let held = lock_mutex(&self.shared.each).keys().next().cloned();
        match held {
            Some(name) => self.shared.request.leases.read_time(&name).await,
            None => Ok(None),
        }
    }

    /// Releases them.
    pub(crate) async fn give_back(&self, left: MoveLeft) {
        self.renewal.0.abort();
        self.shared
            .give_back(|one| match left {
                MoveLeft::AsItWas => one.before.clone(),
                MoveLeft::Ended => {
                    one.before.clone().filter(|claim| *claim != *lock_mutex(&self.shared.claim))
                }
                MoveLeft::UnderWay => Some(lock_mutex(&self.shared.claim).clone()),
                MoveLeft::Nothing => None,
            })
            .await;
        self.shared.request.halter.note_renewed(None);
    }
}

impl Renewal {
    /// Renews locks that were just taken.
    fn start(held: &Arc<HeldLocks>) -> Self {
        let oldest = lock_mutex(&held.each).values().map(|one| one.sent).min_by_key(|sent| sent.steady);
        held.request.halter.note_renewed(oldest);
        Self(tokio::spawn(held.clone().renew().in_current_span()))
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl HeldLocks {
    fn taker(&self) -> Taker {
        Taker { holder: self.holder.clone(), claim: lock_mutex(&self.claim).clone() }
    }

    /// Takes each, in order; stops at the first that it can't take.
    async fn try_each(&self, wanted: &BTreeSet<Lock>, dead: &Dead) -> Result<Option<Blocked>, Failure> {
        for lock in wanted {
            if let Some(blocked) = self.try_one(&self.request.lease_name(lock), dead).await? {
                return Ok(Some(blocked));
            }
        }
        Ok(None)
    }

    async fn try_one(&self, name: &str, dead: &Dead) -> Result<Option<Blocked>, Failure> {
        let mut before = None;
        let mut sent = self.request.halter.read_clock();
        loop {
            let version = match self.request.leases.create(name, &self.taker()).await? {
                Some(version) => Some(version),
                None => match self.request.leases.read(name).await? {
                    None => {
                        sent = self.request.halter.read_clock();
                        None
                    }
                    // A first attempt whose answer got lost may have taken it.
                    Some(seen) if seen.holder == self.holder => Some(seen.resource_version),
                    Some(seen) => match self.find_blocker(seen.clone(), dead).await? {
                        Some(blocked) => return Ok(Some(blocked)),
                        None => {
                            before.clone_from(&seen.claim);
                            sent = self.request.halter.read_clock();
                            self.request.leases.take(&seen, &self.taker()).await?
                        }
                    },
                },
            };
            if let Some(version) = version {
                lock_mutex(&self.each).insert(name.to_owned(), HeldLease { sent, version, before });
                return Ok(None);
            }
        }
    }

    /// Returns the reason that a lease blocks this run, if it does.
    async fn find_blocker(&self, seen: SeenLease, dead: &Dead) -> Result<Option<Blocked>, Failure> {
        if !seen.holder.is_empty() && !self.counts_as_dead(&seen, dead) {
            return Ok(Some(Blocked::Held(Box::new(seen))));
        }
        let (Some(claim), Some(records)) = (&seen.claim, &self.request.records) else { return Ok(None) };
        if *claim == *lock_mutex(&self.claim) {
            return Ok(None);
        }
        let found = records.find_by_move(claim).await?;
        // The same scope means this move only if the cluster has the same role in it.
        let good = found.filter(|(record, same_role)| !same_role || record.scope != self.request.scope);
        Ok(good.map(|(record, _)| Blocked::Claimed(Box::new(record))))
    }

    /// Returns true if a lease was unchanged for long enough, or its holder is known or declared to be dead.
    fn counts_as_dead(&self, seen: &SeenLease, dead: &Dead) -> bool {
        let ours = dead.runs_of_this_move && seen.claim.as_ref() == Some(&*lock_mutex(&self.claim));
        let known = ours || dead.unchanged.get(&seen.name) == Some(&seen.resource_version);
        if dead.break_lease && !known && !seen.holder.is_empty() {
            self.taken_early.store(true, Ordering::Relaxed);
        }
        known || dead.break_lease
    }

    /// A run for all and a run for a namespace take different leases. Each checks the other kind once it has its own, so that if
    /// two begin at once at least one sees the other.
    async fn check_other_kind(
        &self,
        wanted: &BTreeSet<Lock>,
        dead: &Dead,
    ) -> Result<Option<Blocked>, Failure> {
        let others = if wanted.contains(&Lock::All) {
            self.request.leases.list().await?
        } else {
            self.request.leases.read(&Lock::All.name()).await?.into_iter().collect()
        };
        for seen in others.into_iter().filter(|seen| seen.holder != self.holder) {
            if let Some(blocked) = self.find_blocker(seen.clone(), dead).await? {
                return Ok(Some(blocked));
            }
            if !seen.holder.is_empty() && !self.request.leases.take_from_dead_run(&seen).await? {
                return Ok(Some(Blocked::Held(Box::new(seen))));
            }
        }
        Ok(None)
    }

    /// Restores everything to the state before this attempt.
    async fn back_off(&self) {
        self.give_back(|one| one.before.clone()).await;
        self.request.halter.note_renewed(None);
    }

    /// Releases all, leaving the given claim.
    async fn give_back(&self, claim: impl Fn(&HeldLease) -> Option<String>) {
        let each = std::mem::take(&mut *lock_mutex(&self.each));
        let each =
            each.into_iter().map(|(name, one)| {
                let claim = claim(&one);
                async move {
                    self.request.leases.give_back(&name, &one.version, &self.holder, claim.as_deref()).await
                }
            });
        join_all(each).await;
    }

    async fn renew(self: Arc<Self>) {
        let halter = &self.request.halter;
        // Where a server is slow, taking it has used up a part of the time.
        let mut pause = RENEW_INTERVAL.min(halter.time_to_renew().unwrap_or_default() / 2);
        loop {
            tokio::time::sleep(pause).await;
            pause = RENEW_INTERVAL;
            let attempt = halter.read_clock();
            let left = halter.time_to_renew().unwrap_or_default();
            let why = match tokio::time::timeout(left, self.renew_each()).await {
                Ok(Ok(())) => {
                    halter.note_renewed(Some(attempt));
                    continue;
                }
                Ok(Err(why)) => why,
                Err(_) => "the API server does not answer".to_owned(),
            };
            if why == LEASE_TAKEN || halter.time_to_renew().is_none() {
                halter.halt(Halt::LeaseLost(why));
                return;
            }
            pause = RETRY_INTERVAL;
        }
    }

    /// Renews all of them once; the renewal counts only if all succeed.
    async fn renew_each(&self) -> Result<(), String> {
        let taker = self.taker();
        let held = lock_mutex(&self.each).clone();
        let each = held.iter().map(|(name, one)| {
            let taker = &taker;
            async move { (name.clone(), self.request.leases.renew(name, &one.version, taker).await) }
        });
        let mut why = None;
        for (name, renewed) in join_all(each).await {
            match renewed {
                Ok(version) => {
                    if let Some(one) = lock_mutex(&self.each).get_mut(&name) {
                        one.version = version;
                    }
                }
                Err(PlaceError::Conflict(_)) => why = Some(LEASE_TAKEN.to_owned()),
                Err(error) => drop(why.get_or_insert(error.to_string())),
            }
        }
        why.map_or(Ok(()), Err)
    }
}
