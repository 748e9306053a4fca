//! Controllers that die, and Pivots that are deleted, at each write of a move.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::Key;
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{Place, PlaceError};
use tokio::sync::Notify;

use crate::stage::{Running, Stage};

/// Moves that are tried until one comes to a write. Every second one has the last write.
const TRIES: usize = 30;

/// Writes that are part of a move, in the order in which they come: those about Events and the controllers' own Lease are not.
fn counts(verb: &str, key: &Key) -> bool {
    let writes = ["create", "patch", "patch-status", "delete"].contains(&verb);
    writes && key.group_kind.kind != "Event" && key.name != "pivot-host-controller"
}

/// Whether the write at which a controller dies takes effect.
#[derive(Clone, Copy, Debug)]
enum Dies {
    Before,
    After,
}

/// Tells when the n-th write of a move was made, or is about to be; nothing gets through to either cluster while `dead`.
struct Moment {
    nth: usize,
    writes: AtomicUsize,
    reached: Notify,
    dead: std::sync::atomic::AtomicBool,
    /// Set if the controller that writes at this moment dies there.
    dies: Option<Dies>,
}

impl Moment {
    fn of(stage: &Stage, nth: usize, dies: Option<Dies>) -> Arc<Self> {
        let moment = Arc::new(Self {
            nth,
            writes: AtomicUsize::new(0),
            reached: Notify::new(),
            dead: Default::default(),
            dies,
        });
        for place in [&stage.home, &stage.target] {
            let moment = moment.clone();
            place.on_call(move |verb, key| moment.fault(verb, key));
        }
        moment
    }

    fn fault(&self, verb: &str, key: &Key) -> Option<Fault> {
        let lost = || PlaceError::Unavailable("dead".into());
        if self.dead.load(Ordering::SeqCst) {
            return Some(Fault::Before(lost()));
        }
        if !counts(verb, key) || self.writes.fetch_add(1, Ordering::SeqCst) + 1 != self.nth {
            return None;
        }
        self.reached.notify_one();
        let dies = self.dies?;
        self.dead.store(true, Ordering::SeqCst);
        Some(match dies {
            Dies::Before => Fault::Before(lost()),
            Dies::After => Fault::After(lost()),
        })
    }

    /// Waits for it; false if the move ends before.
    async fn comes(&self, stage: &Stage) -> bool {
        tokio::select! {
            biased;
            () = self.reached.notified() => true,
            () = stage.until("done", |stage| stage.done("a")) => false,
        }
    }

    fn over(stage: &Stage) {
        for place in [&stage.home, &stage.target] {
            place.on_call(|_, _| None);
        }
    }
}

/// The most writes that an undisturbed move makes: the finalizer is written again if the status was written in between.
async fn most_writes() -> usize {
    let mut most = 0;
    for _ in 0..10 {
        let stage = Stage::new(&["a"]);
        let moment = Moment::of(&stage, usize::MAX, None);
        stage.ask("a");
        let running = stage.start();
        stage.until("done", |stage| stage.done("a")).await;
        most = most.max(moment.writes.load(Ordering::SeqCst));
        running.stop().await;
    }
    assert!(most > 30, "{most}");
    most
}

/// A move that has come to its n-th write, and its controller, which is dead from then on, or goes on.
async fn come_to(nth: usize, dies: Option<Dies>) -> (Stage, Running) {
    for _ in 0..TRIES {
        let stage = Stage::new(&["a"]);
        stage.ask("a");
        let moment = Moment::of(&stage, nth, dies);
        let running = stage.start();
        if moment.comes(&stage).await {
            return (stage, running);
        }
        running.stop().await;
    }
    panic!("no move comes to write {nth}");
}

/// Of a move that has ended, or was rolled back, its summary is left.
fn nothing_of_ours(stage: &Stage, place: &MemoryPlace) {
    let ours = place.keys().into_iter().filter(|key| {
        let labels = || place.body(key).unwrap()["metadata"]["labels"].clone();
        let is_left = || {
            ["finished", "rolled-back"].iter().any(|of| !labels()[format!("pivot-host.io/{of}")].is_null())
        };
        key.namespace.as_deref() == Some("pivot-host-records") && !is_left()
    });
    assert_eq!(ours.collect::<Vec<_>>(), [], "in {}", place.label());
    assert_eq!(stage.ways(), []);
}

// proves: T48
#[tokio::test(start_paused = true)]
async fn next_controller_ends_the_move_after_death() {
    for nth in 1..=most_writes().await {
        for dies in [Dies::Before, Dies::After] {
            let (stage, running) = come_to(nth, Some(dies)).await;
            running.kill();
            tokio::task::yield_now().await;
            Moment::over(&stage);
            let next = stage.start();
            stage.until(&format!("done after death {dies:?} write {nth}"), |stage| stage.done("a")).await;
            stage.is_only_in(&stage.target, "a");
            next.stop().await;
            nothing_of_ours(&stage, &stage.home);
            nothing_of_ours(&stage, &stage.target);
        }
    }
}

// proves: T42
#[tokio::test(start_paused = true)]
async fn deleted_pivot_leaves_one_whole_side() {
    let (mut undone, mut moved) = (0, 0);
    for nth in 1..=most_writes().await {
        let (stage, running) = come_to(nth, None).await;
        stage.delete("a").await;
        stage.until(&format!("let go after write {nth}"), |stage| stage.pivot("a").is_none()).await;
        if stage.cluster_in(&stage.target, "a").is_empty() {
            stage.is_only_in(&stage.home, "a");
            undone += 1;
        } else {
            stage.is_only_in(&stage.target, "a");
            moved += 1;
        }
        running.stop().await;
        nothing_of_ours(&stage, &stage.home);
        nothing_of_ours(&stage, &stage.target);
    }
    assert!(undone > 5 && moved > 5, "{undone} undone, {moved} moved");
}

#[tokio::test(start_paused = true)]
async fn stopped_controller_leaves_moves_to_the_next() {
    for nth in 1..=most_writes().await {
        let (stage, running) = come_to(nth, None).await;
        running.stop().await;
        let next = stage.start();
        stage.until(&format!("done after stop {nth}"), |stage| stage.done("a")).await;
        stage.is_only_in(&stage.target, "a");
        next.stop().await;
    }
}
