//! Whole moves with bad luck chosen by a seed: requests and answers that get lost, servers that throttle, answer late or
//! not at all, runs that die, runs beside one another, controllers and users who go on working.
//!
//! The invariants of ARCHITECTURE.md are checked after each write. A seed that fails is printed with what happened; it is
//! played again alone with `PIVOT_HOST_SEED=<seed> cargo test -p pivot-engine --test moves simulated`.

pub(crate) mod holds;
mod ids;
mod network;
mod runs;
mod sabotage;
mod witness;
pub(crate) mod world;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pivot_core::names::MARK;
use pivot_core::scope::{Namespaces, Scope};
use pivot_core::{Key, Side};
use pivot_engine::{Setup, Sides, run};
use pivot_link::{Guard, LinkPlace, Role, serve};
use pivot_places::memory::Fault;
use pivot_places::{Change, DirectoryPlace, Place, PlaceError, builtin_kinds};
use pivot_worlds::Dice;
use serde_json::json;
use tokio::io::{copy_bidirectional, duplex};

use crate::stage::{Stage, picture};
use network::{Line, Luck};
use runs::{Game, Played};
use sabotage::Sabotage;
use world::{Bustle, Shape, World};

const SEEDS: u64 = 1_000;
/// Plays one seed instead of all, and prints what happened.
const ONE: &str = "PIVOT_HOST_SEED";

/// Plays a seed with a clock that stands still but for what is waited for.
fn play(seed: u64, sabotage: Option<Sabotage>) -> Result<Played, String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let game = Game::new(seed, sabotage);
        game.play().await.map_err(|broken| {
            format!("seed {seed}: {broken}\n{}\n(replay it with {ONE}={seed})", game.last_lines())
        })
    })
}

#[test]
fn the_invariants_hold_whatever_happens_and_running_again_finishes() {
    if let Ok(seed) = std::env::var(ONE) {
        let played = play(seed.parse().unwrap(), None).unwrap_or_else(|broken| panic!("{broken}"));
        println!("{}", played.trace.join("\n"));
        return;
    }
    let (next, deaths, rolled_back) = (AtomicU64::new(1), AtomicUsize::new(0), AtomicUsize::new(0));
    let broken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > SEEDS {
                        return;
                    }
                    match play(seed, None) {
                        Ok(played) => {
                            deaths.fetch_add(played.deaths, Ordering::Relaxed);
                            rolled_back.fetch_add(usize::from(played.rolled_back), Ordering::Relaxed);
                        }
                        Err(why) => broken.lock().unwrap().push(why),
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap();
    assert!(broken.is_empty(), "{} of {SEEDS} seeds; the first:\n{}", broken.len(), broken[0]);
    let (deaths, rolled_back) = (deaths.into_inner(), rolled_back.into_inner());
    assert!(deaths > 500 && rolled_back > 50, "too much luck: {deaths} deaths, {rolled_back} rolled back");
}

/// Cluster to directory to cluster is cluster to cluster, with plugins' holds too.
#[tokio::test(start_paused = true)]
async fn every_shape_ends_the_same_through_a_directory() {
    let of_all = |mut setup: Setup| {
        setup.options.scope = Scope::new(Namespaces::All);
        setup
    };
    for shape in Shape::all() {
        let (straight, stage) = (shape.stage(), shape.stage());
        run::start(of_all(straight.setup())).await.unwrap();

        let dir = tempfile::tempdir().unwrap();
        let before = picture(&stage.source);
        let mut out = of_all(stage.setup());
        out.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
        run::start(out).await.unwrap();
        assert_eq!(picture(&stage.source), before, "{shape:?}");

        let mut back = of_all(stage.setup());
        back.sides.source = Arc::new(DirectoryPlace::to_read(dir.path()).unwrap());
        back.options.scope.source_is_off = true;
        run::start(back).await.unwrap_or_else(|stop| panic!("{shape:?}: {stop}"));
        assert_eq!(picture(&stage.target), picture(&straight.target), "{shape:?}");
    }
}

/// Both sides, where every request is slow, and some much more than others.
pub(crate) fn slow(stage: &Stage, seed: u64) -> Sides {
    let world = Arc::new(World::new(stage, Dice::new(seed), Bustle::default(), None));
    let mut luck = Luck::new("the run".into(), Dice::new(seed));
    luck.slow = 100;
    let luck = Arc::new(luck);
    let line = |side| {
        let (place, luck, world) = (world.place(side).clone(), luck.clone(), world.clone());
        Arc::new(Line { side, place, luck, world })
    };
    Sides { source: line(Side::Source), target: line(Side::Target) }
}

/// Otherwise a create of a run that died could act after its successor has looked.
#[tokio::test(start_paused = true)]
async fn what_was_written_over_a_link_that_is_cut_has_acted_before_the_next_one_begins() {
    let kind =
        Arc::new(builtin_kinds().into_iter().find(|kind| kind.group_kind.kind == "ConfigMap").unwrap());
    let metadata = json!({"name": "late", "namespace": "default", "annotations": {MARK: "move-1"}});
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let late = Key::new(kind.group_kind.clone(), Some("default"), "late");
    let mut unheard = 0;
    for seed in 1..=50 {
        let stage = Shape::all().last().unwrap().stage();
        let server = slow(&stage, seed).target;
        let ((near, mut one), (mut other, far)) = (duplex(1 << 20), duplex(1 << 20));
        let wire = tokio::spawn(async move { copy_bidirectional(&mut one, &mut other).await });
        let (record_namespace, role) = ("kube-system".into(), Role::Target);
        let guard = Guard { namespaces: None, record_namespace, role, keep_answering: true };
        let agent = tokio::spawn(async move { drop(serve(far, server, guard).await) });
        let (place, alive) = LinkPlace::over(near).await.unwrap();
        tokio::spawn(alive);
        let (kind, body) = (kind.clone(), body.clone());
        let create = tokio::spawn(async move { place.create(&kind, &body, Change::Real).await });
        tokio::time::sleep(Duration::from_millis(200)).await;
        wire.abort();
        let heard = create.await.unwrap().is_ok();
        agent.await.unwrap();
        let at_its_end = stage.target.body(&late);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(stage.target.body(&late), at_its_end, "seed {seed}");
        unheard += usize::from(!heard && at_its_end.is_some());
    }
    assert!(unheard > 20, "{unheard}");
}

/// A pause of which nobody heard any more would stay for ever.
#[tokio::test(start_paused = true)]
async fn what_was_under_way_when_a_pause_failed_is_undone_too() {
    for seed in 1..=50 {
        let stage = Shape::all().last().unwrap().stage();
        let before = picture(&stage.source);
        stage.source.on_call(|verb, key| {
            let refused = verb == "patch" && key.group_kind.kind == "Pool";
            refused.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
        });
        let mut setup = Setup { sides: slow(&stage, seed), ..stage.setup() };
        setup.options.scope = Scope::new(Namespaces::All);
        let stop = run::start(setup).await.unwrap_err();
        assert!(stop.to_string().contains("pausing"), "seed {seed}: {stop}");
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(picture(&stage.source), before, "seed {seed}");
    }
}

#[test]
fn a_seed_replays_identically() {
    for seed in [3, 14, 159] {
        assert_eq!(play(seed, None).unwrap(), play(seed, None).unwrap(), "seed {seed}");
    }
}

#[test]
fn a_server_that_breaks_a_rule_is_detected() {
    for (sabotage, invariant) in [
        (Sabotage::Copies, "invariant 1:"),
        (Sabotage::Pauses, "invariant 2:"),
        (Sabotage::Preconditions, "invariant 3:"),
        (Sabotage::Names, "invariant 7:"),
    ] {
        // The verdict alone: the trace below it may speak of anything.
        let verdict = |broken: String| broken.lines().next().is_some_and(|line| line.contains(invariant));
        let found = |seed| play(seed, Some(sabotage)).is_err_and(verdict);
        assert!((1..=100).any(found), "nobody noticed {sabotage:?}");
    }
}
