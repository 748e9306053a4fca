//! A run that could not renew its lease for ten seconds writes nothing more, whatever happened to its process or to the clocks; and a
//! run that takes a lease from another one waits for that long.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};
use pivot_core::messages::risk::Risk;
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Key};
use pivot_engine::{
    Clock, Event, Exit, Failure, Halt, Halter, LeaseState, Moment, Next, Setup, Stop, Watcher, run,
};
use pivot_memory::MemoryPlace;
use pivot_places::DirectoryPlace;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::seeds::{deaths_of, distance_of_deaths};
use crate::simulated::slow;
use crate::stage::{CLUSTERS, Stage, key, picture, under_way};

const WRITES: [&str; 4] = ["create", "patch", "patch-status", "delete"];

/// What happens to a process, or to its clocks, from one moment to the next: no task of it gets to run meanwhile.
#[derive(Clone, Copy, Debug)]
enum Jump {
    /// It is stopped, or gets no processor.
    Frozen(u64),
    /// Its machine sleeps, or somebody sets the wall clock.
    WallOnly(u64),
    /// Somebody sets the wall clock back.
    WallBack(u64),
}

/// The clocks of a process: how far they are from tokio's.
#[derive(Clone)]
struct Clocks(Arc<Mutex<(Duration, Duration)>>);

impl Clocks {
    fn new() -> Self {
        Self(Arc::new(Mutex::new((Duration::ZERO, Duration::from_secs(1_800_000_000)))))
    }

    fn halter(&self) -> Halter {
        let (began, clocks) = (Instant::now(), self.clone());
        Halter::with_clock(Clock::new(move || {
            let (steady, wall) = *clocks.0.lock().unwrap();
            let wall = SystemTime::UNIX_EPOCH + wall + began.elapsed();
            Moment { steady: Instant::now() + steady, wall }
        }))
    }

    fn jump(&self, jump: Jump) {
        let (steady, wall) = &mut *self.0.lock().unwrap();
        match jump {
            Jump::Frozen(seconds) => {
                *steady += Duration::from_secs(seconds);
                *wall += Duration::from_secs(seconds);
            }
            Jump::WallOnly(seconds) => *wall += Duration::from_secs(seconds),
            Jump::WallBack(seconds) => *wall -= Duration::from_secs(seconds),
        }
    }
}

/// Calls this at the n-th write, which was sent before and takes effect; counts the writes.
fn at_write(stage: &Stage, n: usize, act: impl Fn() + Send + Sync + 'static) -> Arc<AtomicUsize> {
    let (count, act) = (Arc::new(AtomicUsize::new(0)), Arc::new(act));
    for place in [&stage.source, &stage.target] {
        let (count, act) = (count.clone(), act.clone());
        place.on_call(move |verb, _| {
            if WRITES.contains(&verb) && count.fetch_add(1, Ordering::SeqCst) + 1 == n {
                act();
            }
            None
        });
    }
    count
}

/// No longer calls anything.
fn at_rest(stage: &Stage) {
    for place in [&stage.source, &stage.target] {
        place.on_call(|_, _| None);
    }
}

fn is_lost(stop: &Stop) -> bool {
    match &stop.failure {
        Failure::Halted(halt) => matches!(halt, Halt::LeaseLost(_)),
        // The commit may have reached the server.
        _ => stop.to_string().contains("the lease is lost"),
    }
}

/// Plays a move whose process suffers a jump at its n-th write; how many writes there were, and how it ended.
async fn jumps(stage: &Stage, n: usize, jump: Jump) -> (usize, Result<(), Stop>) {
    let clocks = Clocks::new();
    let halter = clocks.halter();
    let writes = at_write(stage, n, move || clocks.jump(jump));
    let ended = run::start(Setup { halter, ..stage.setup() }).await;
    at_rest(stage);
    (writes.load(Ordering::SeqCst), ended.map(drop))
}

// proves: T115
#[tokio::test(start_paused = true)]
async fn a_frozen_or_suspended_run_writes_nothing_more() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    let mut lost = 0;
    for jump in [Jump::Frozen(11), Jump::WallOnly(3600)] {
        for n in (1..).step_by(distance_of_deaths()) {
            let stage = Stage::new();
            let (writes, ended) = jumps(&stage, n, jump).await;
            if writes < n {
                ended.unwrap();
                break;
            }
            assert_eq!(writes, n, "{jump:?} at write {n}: it wrote after that");
            if let Err(stop) = ended {
                assert!(is_lost(&stop), "{jump:?} at write {n}: {stop}");
                lost += 1;
            }
            // Whoever comes next finds a move that can be finished.
            if let Err(stop) = run::start(stage.setup()).await {
                assert_eq!(stop.exit, Exit::Empty, "{jump:?} at write {n}: {stop}");
            }
            assert_eq!(picture(&stage.source), picture(&straight.source), "{jump:?} at write {n}");
            assert_eq!(picture(&stage.target), picture(&straight.target), "{jump:?} at write {n}");
        }
    }
    assert!(lost > deaths_of(80), "{lost}");
}

#[tokio::test(start_paused = true)]
async fn a_run_fenced_before_the_commit_says_so() {
    let mut not_sent = 0;
    for n in (1..).step_by(distance_of_deaths()) {
        let stage = Stage::new();
        let (_, ended) = jumps(&stage, n, Jump::Frozen(11)).await;
        let phase = under_way(stage.setup()).await.map(|one| one.record.phase);
        if phase >= Some(Phase::Committed) {
            break;
        }
        let Err(stop) = ended else { continue };
        assert!(matches!(stop.failure, Failure::Halted(Halt::LeaseLost(_))), "write {n}: {stop}");
        if phase == Some(Phase::Copied) {
            assert!(
                stop.state.starts_with("the commit was not sent; unless another run "),
                "write {n}: {}",
                stop.state
            );
            let next = vec![Next::Status, Next::Resume, Next::Rollback];
            assert_eq!((stop.exit, stop.next), (Exit::PartWay, next), "write {n}");
            not_sent += 1;
        }
    }
    assert!(not_sent > deaths_of(10), "{not_sent}");
}

#[tokio::test(start_paused = true)]
async fn short_stops_and_clocks_set_back_are_harmless() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    for jump in [Jump::Frozen(9), Jump::WallOnly(9), Jump::WallBack(3600)] {
        for n in (1..).step_by(distance_of_deaths()) {
            let stage = Stage::new();
            let (writes, ended) = jumps(&stage, n, jump).await;
            ended.unwrap_or_else(|stop| panic!("{jump:?} at write {n}: {stop}"));
            assert_eq!(picture(&stage.source), picture(&straight.source), "{jump:?} at write {n}");
            assert_eq!(picture(&stage.target), picture(&straight.target), "{jump:?} at write {n}");
            if writes < n {
                break;
            }
        }
    }
}

/// The content of each file in a directory.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => drop(files.insert(name.into_string().unwrap(), std::fs::read(path).unwrap())),
        }
    }
    files
}

#[tokio::test(start_paused = true)]
async fn a_frozen_run_doesnt_complete_its_files() {
    let (mut lost, mut whole) = (0, 0);
    for n in 1.. {
        let (stage, dir, clocks) = (Stage::new(), tempfile::tempdir().unwrap(), Clocks::new());
        let mut setup = Setup { halter: clocks.halter(), ..stage.setup() };
        setup.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
        let then = Arc::new(Mutex::new(BTreeMap::new()));
        let (written, path) = (then.clone(), dir.path().to_owned());
        let writes = at_write(&stage, n, move || {
            clocks.jump(Jump::Frozen(11));
            *written.lock().unwrap() = files(&path);
        });
        let ended = run::start(setup).await;
        if writes.load(Ordering::SeqCst) < n {
            ended.unwrap();
            break;
        }
        assert_eq!(files(dir.path()), *then.lock().unwrap(), "write {n}: it wrote after that");
        match ended {
            Ok(_) => whole += 1,
            Err(stop) => {
                assert!(is_lost(&stop), "write {n}: {stop}");
                lost += 1;
            }
        }
    }
    // The last of all is to release the Lease.
    assert!(lost > 8 && whole < 3, "{lost} lost, {whole} whole");
}

fn lease() -> Key {
    Key::new(GroupKind::new("coordination.k8s.io", "Lease"), Some("pivot-host-records"), "pivot-host.ns.ns")
}

/// Another run takes the lease.
fn rob(place: &MemoryPlace) {
    place.edit(&lease(), |body| body["spec"]["holderIdentity"] = json!("pivot-host/another")).unwrap();
}

/// What was changed on a server since it was last asked, apart from leases.
fn changed(stage: &Stage) -> Vec<String> {
    let calls = stage.source.journal().into_iter().chain(stage.target.journal());
    let calls = calls.filter(|call| call.done && call.key.group_kind.kind != "Lease");
    calls.map(|call| format!("{} {}", call.verb, call.key)).collect()
}

// proves: T115
#[tokio::test(start_paused = true)]
async fn a_run_whose_lease_was_taken_deletes_nothing() {
    let mut stage = Stage::new();
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    stage.options.takeover_timeout = Duration::from_secs(600);
    let move_ = tokio::spawn(run::start(stage.setup()));
    sleep(Duration::from_secs(30)).await;
    let one = under_way(stage.setup()).await.unwrap();
    assert_eq!(one.record.phase, Phase::Live, "it waits for controllers");
    rob(&stage.source);
    drop(changed(&stage));
    let robbed = Instant::now();
    sleep(Duration::from_secs(5)).await;
    // Evidence that comes now is not for this run.
    for (kind, name) in [("Cluster", "c"), ("Machine", "m0"), ("Machine", "m1")] {
        let copy = key(CLUSTERS, kind, name);
        let status = stage.source.body(&copy).unwrap()["status"].clone();
        let write = |body: &mut Value| {
            body["status"] = status.clone();
            body["metadata"]["managedFields"] = json!([{"manager": "manager", "operation": "Update",
                "subresource": "status", "time": body["metadata"]["creationTimestamp"]}]);
        };
        stage.target.edit(&copy, write).unwrap();
    }
    let stop = move_.await.unwrap().unwrap_err();
    assert!(is_lost(&stop), "{stop}");
    assert!(robbed.elapsed() <= Duration::from_secs(5), "{:?}", robbed.elapsed());
    assert_eq!(changed(&stage), Vec::<String>::new());
    let holder = stage.source.body(&lease()).unwrap()["spec"]["holderIdentity"].clone();
    assert_eq!(holder, "pivot-host/another", "it isn't this run's to give back");
}

#[derive(Default)]
struct Leases(Mutex<Vec<(LeaseState, Option<u64>)>>);

impl Watcher for Leases {
    fn event(&self, event: Event) {
        if let Event::Lease { state, seconds_left, .. } = event {
            self.0.lock().unwrap().push((state, seconds_left));
        }
    }
}

/// When the lease that a run waits for was renewed last.
#[derive(Default)]
struct LastRenewal(Mutex<Option<String>>);

impl Watcher for LastRenewal {
    fn event(&self, event: Event) {
        if let Event::Lease { state: LeaseState::Waiting, renewed, .. } = event {
            *self.0.lock().unwrap() = renewed;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_names_the_last_renewal() {
    for (written, told) in [
        (json!("2026-11-21T21:59:57.123456Z"), Some("2026-11-21T21:59:57Z")),
        (json!("soon"), None),
        (json!(null), None),
    ] {
        let mut stage = Stage::new();
        stage.options.break_lease = false;
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": lease().name, "namespace": "pivot-host-records", "uid": "lease"},
            "spec": {"holderIdentity": "pivot-host/another", "renewTime": written}});
        stage.source.insert(lease).unwrap();
        let renewal = Arc::new(LastRenewal::default());
        run::start(Setup { watcher: renewal.clone(), ..stage.setup() }).await.unwrap();
        assert_eq!(renewal.0.lock().unwrap().as_deref(), told);
    }
}

/// Holders of the lease that a run takes.
#[derive(Default)]
struct Taken(Mutex<Vec<String>>);

impl Watcher for Taken {
    fn event(&self, event: Event) {
        if let Event::Lease { state: LeaseState::Acquired, holder, .. } = event {
            self.0.lock().unwrap().push(holder);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_names_who_runs_it() {
    for (operator, end) in [("jane@laptop", " (jane@laptop)"), ("a\n\u{202e}b", " (a  b)"), ("", "")] {
        let mut stage = Stage::new();
        stage.options.operator = operator.into();
        let taken = Arc::new(Taken::default());
        run::start(Setup { watcher: taken.clone(), ..stage.setup() }).await.unwrap();
        let holder = taken.0.lock().unwrap()[0].clone();
        let run = holder.strip_prefix("pivot-host/").unwrap().strip_suffix(end).unwrap();
        assert_eq!(run.len(), 36, "{holder}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_knows_that_a_run_is_at_work() {
    let stage = Stage::new();
    stage.dies(|_, key| key.name == "m1", |verb, _| verb == "patch").await;
    let id = under_way(stage.setup()).await.unwrap().record.move_id;
    for (ago, is_at_work) in [(3, true), (60, false)] {
        let renewed = Timestamp::now() - SignedDuration::from_secs(ago);
        let edit = |body: &mut Value| {
            body["spec"]["holderIdentity"] = json!("pivot-host/another");
            body["spec"]["renewTime"] = json!(renewed.to_string());
        };
        stage.source.edit(&lease(), edit).unwrap();
        let status = run::status(stage.setup()).await.unwrap();
        assert_eq!(status.is_at_work(&id), is_at_work, "renewed {ago} s ago");
        assert!(!status.is_at_work("another"));
    }
}

/// The times of writes to a server, with whether they are to leases.
type Times = Arc<Mutex<Vec<(Instant, bool)>>>;

fn note_times(stage: &Stage) -> Times {
    let times = Times::default();
    for place in [&stage.source, &stage.target] {
        let times = times.clone();
        place.on_call(move |verb, key| {
            let lease = key.group_kind.kind == "Lease";
            // A Lease that exists isn't created: it is taken.
            if WRITES.contains(&verb) && !(lease && verb == "create") {
                times.lock().unwrap().push((Instant::now(), lease));
            }
            None
        });
    }
    times
}

// proves: T115, T125
#[tokio::test(start_paused = true)]
async fn breaking_a_lease_waits_ten_seconds() {
    let held = || {
        let stage = Stage::new();
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": lease().name, "namespace": "pivot-host-records", "uid": "lease"},
            "spec": {"holderIdentity": "pivot-host/another", "leaseDurationSeconds": 15}});
        stage.source.insert(lease).unwrap();
        stage
    };
    for (break_lease, seconds) in [(true, 10), (false, 15)] {
        let mut stage = held();
        stage.options.break_lease = break_lease;
        let (times, leases, began) = (note_times(&stage), Arc::new(Leases::default()), Instant::now());
        run::start(Setup { watcher: leases.clone(), ..stage.setup() }).await.unwrap();
        let times = times.lock().unwrap();
        let after = |wanted: bool| {
            let first = times.iter().find(|(_, lease)| *lease == wanted).unwrap().0;
            first.duration_since(began).as_secs()
        };
        // Without a word by its user, it takes the lease only once that has not changed for its duration.
        assert_eq!((after(true), after(false)), (if break_lease { 0 } else { seconds }, seconds));
        let told = leases.0.lock().unwrap().clone();
        let expected = match break_lease {
            true => vec![(LeaseState::Acquired, None), (LeaseState::Broken, Some(10))],
            false => vec![(LeaseState::Waiting, Some(15)), (LeaseState::Acquired, None)],
        };
        assert_eq!(told, expected);
    }
    // A lease that nobody holds is not broken.
    let stage = Stage::new();
    let (times, began) = (note_times(&stage), Instant::now());
    run::start(stage.setup()).await.unwrap();
    assert!(times.lock().unwrap().iter().all(|(time, _)| *time == began));
}

/// Until it notices, the earlier run writes, records among other things.
#[tokio::test(start_paused = true)]
async fn last_writes_beside_a_broken_lease_count() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    let mut noticed = 0;
    for n in 1..=24 {
        let stage = Stage::new();
        let reached = Arc::new(Notify::new());
        let at = reached.clone();
        at_write(&stage, n, move || at.notify_one());
        let first = tokio::spawn(run::start(Setup { sides: slow(&stage, n as u64), ..stage.setup() }));
        reached.notified().await;
        at_rest(&stage);
        let second = run::start(stage.setup()).await.unwrap_or_else(|stop| panic!("write {n}: {stop}"));
        let stop = first.await.unwrap().unwrap_err();
        assert!(is_lost(&stop), "write {n}: {stop}");
        let begun = stop.move_id.as_ref().is_some_and(|id| *id == second.move_id);
        noticed += usize::from(begun);
        assert_eq!(picture(&stage.source), picture(&straight.source), "write {n}");
        assert_eq!(picture(&stage.target), picture(&straight.target), "write {n}");
    }
    assert!(noticed > 20, "{noticed}");
}
