//! Children that move again and again while their links break at random: each move ends, and no watch is left open. In the nightly run,
//! half an hour of it shows as well that nothing grows that the controller or an agent holds.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use kube::api::{DeleteParams, Patch, PatchParams};
use pivot_lab::proxy::Break;
use pivot_lab::{Relay, Server, say};
use pivot_scenarios::host::Run;
use pivot_scenarios::sampling::{choose_one, is_nightly};
use serde_json::json;
use tokio::time::sleep;

use crate::agents::ended;
use crate::cases::{Case, Cases};
use crate::stage::same;

/// How long one move may take, with all that is done to its link.
const LIMIT: Duration = Duration::from_secs(240);

/// How long a server may take to notice that nobody reads a watch any longer.
const CLOSED: Duration = Duration::from_secs(60);

/// Longer than an idle connection is kept.
const IDLE: Duration = Duration::from_secs(150);

/// What a process holds.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    kilobytes: usize,
    files: usize,
    threads: usize,
}

impl Held {
    fn by(run: &Run) -> Self {
        let process = format!("/proc/{}", run.id());
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let files = fs::read_dir(format!("{process}/fd")).unwrap().count();
        Self { kilobytes: of("VmRSS:"), files, threads: of("Threads:") }
    }

    fn most(all: &[Self]) -> Self {
        let most = |of: fn(&Self) -> usize| all.iter().map(of).max().unwrap_or_default();
        Self {
            kilobytes: most(|one| one.kilobytes),
            files: most(|one| one.files),
            threads: most(|one| one.threads),
        }
    }
}

/// Numbers that look random, and are the same for the same beginning.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The watches that a server has open.
async fn watches(server: &Server) -> u64 {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let text = server.client().request_text(request).await.unwrap();
    let open = text.lines().filter(|line| {
        line.starts_with("apiserver_longrunning_requests{") && line.contains("verb=\"WATCH\"")
    });
    open.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64).sum()
}

/// Waits until parent and children have no more watches open than before.
async fn until_closed(cases: &Cases, before: (u64, u64)) {
    let begun = Instant::now();
    loop {
        let now = (watches(&cases.stage.pair.source).await, watches(&cases.stage.pair.target).await);
        if now.0 <= before.0 + 2 && now.1 <= before.1 + 2 {
            say(format_args!("watches in parent and children: {before:?}, then {now:?}"));
            return;
        }
        assert!(begun.elapsed() < CLOSED, "watches in parent and children: {before:?}, then {now:?}");
        sleep(Duration::from_millis(500)).await;
    }
}

/// Waits until the controller has no more files open than before it was asked for anything: how many connections to its server it has
/// depends on what it does, and those that are idle are kept for a while.
async fn rests(running: &Run, at_rest: usize) {
    let begun = Instant::now();
    while Held::by(running).files > at_rest + 20 {
        let now = Held::by(running).files;
        assert!(begun.elapsed() < IDLE, "files of the controller at rest: {at_rest}, then {now}");
        sleep(Duration::from_secs(1)).await;
    }
    say(format_args!("files of the controller at rest: {at_rest}, then {}", Held::by(running).files));
}

/// Makes a child's namespace empty, as if nothing had ever moved there.
async fn wiped(cases: &Cases, child: &Case) {
    let server = &cases.stage.pair.target;
    let kinds = server.kinds().await.unwrap();
    for key in cases.stage.moved(server, &child.namespace).await.keys() {
        let Some(kind) = kinds.iter().find(|kind| kind.name() == key.kind) else { continue };
        let api = kind.api(server.client()).constrain(&child.namespace);
        let strip = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        // What owned it may have taken it along.
        let _ = api.patch(&key.name, &PatchParams::default(), &strip).await;
        let _ = api.delete(&key.name, &DeleteParams::default()).await;
    }
}

/// Moves a child's objects until it is time to end.
async fn moves(cases: &Cases, child: &Case, over: &AtomicBool, moved: &AtomicUsize) {
    loop {
        let begun = Instant::now();
        cases.ask(child).await;
        while !cases.succeeded(child).await {
            assert!(begun.elapsed() < LIMIT, "{}: {:#?}", child.namespace, cases.shown(child).await);
            sleep(Duration::from_millis(300)).await;
        }
        let (parent, there) = (&cases.stage.pair.source, &cases.stage.pair.target);
        same(child.before.clone(), cases.stage.moved(there, &child.namespace).await);
        assert!(cases.stage.moved(parent, &child.namespace).await.is_empty());
        moved.fetch_add(1, Ordering::SeqCst);
        if over.load(Ordering::SeqCst) {
            return;
        }
        cases.stage.delete(&child.namespace).await;
        while cases.stage.pivots().shown(&child.namespace).await.unwrap().is_some() {
            sleep(Duration::from_millis(100)).await;
        }
        wiped(cases, child).await;
        cases.stage.fill(&child.namespace).await;
    }
}

/// Breaks one wire after the other, each for a while, in each way in turn.
async fn breaks(wires: &[Relay], (whole, broken): (u64, u64), over: &AtomicBool) -> BTreeMap<String, usize> {
    let seed = choose_one("seeds of broken links", 0..1_000_u64).unwrap();
    let (mut dice, mut breaks) = (Dice(seed), BTreeMap::new());
    for how in [Break::Cut, Break::Reset, Break::Silence].into_iter().cycle() {
        if over.load(Ordering::SeqCst) {
            break;
        }
        sleep(Duration::from_millis(200 + dice.below(whole))).await;
        let wire = &wires[usize::try_from(dice.below(wires.len() as u64)).unwrap()];
        wire.sever(how);
        *breaks.entry(format!("{how:?}")).or_default() += 1;
        sleep(Duration::from_millis(dice.below(broken))).await;
        wire.heal();
    }
    breaks
}

/// By how much a figure rises from the first sample to the last, by the straight line that is closest to all of them.
fn rise(figures: &[usize]) -> f64 {
    let count = figures.len() as f64;
    let mean = |sum: f64| sum / count;
    let of = |at: usize| figures[at] as f64;
    let middle = mean((0..figures.len()).map(|at| at as f64).sum());
    let average = mean((0..figures.len()).map(of).sum());
    let deviation = |at: usize| at as f64 - middle;
    let both: f64 = (0..figures.len()).map(|at| deviation(at) * (of(at) - average)).sum();
    let square: f64 = (0..figures.len()).map(|at| deviation(at).powi(2)).sum();
    both / square * (count - 1.0)
}

#[test]
fn rise_is_that_of_the_closest_line() {
    assert_eq!(rise(&[10, 12, 14, 16]), 6.0);
    assert_eq!(rise(&[10, 14, 10, 14, 10, 14, 10, 14, 10]), 0.0);
    assert_eq!(rise(&[9, 6, 3]), -6.0);
}

/// Fails if anything grows that the controller or an agent holds. The first third of the samples doesn't count: caches fill.
fn assert_steady(held: &[(Held, Held)], moved: usize) {
    let held = &held[held.len() / 3..];
    type Of = fn(&(Held, Held)) -> usize;
    let figures: [(&str, Of, f64); 5] = [
        ("kilobytes of the controller", |held| held.0.kilobytes, 12_000.0),
        ("kilobytes of an agent", |held| held.1.kilobytes, 12_000.0),
        ("files of an agent", |held| held.1.files, 15.0),
        ("threads of the controller", |held| held.0.threads, 4.0),
        ("threads of an agent", |held| held.1.threads, 4.0),
    ];
    for (what, of, most) in figures {
        let rise = rise(&held.iter().map(of).collect::<Vec<_>>());
        say(format_args!("{what}: {} at first, and {rise:.0} more after {moved} moves", of(&held[0])));
        assert!(rise <= most, "{what} rise by {rise:.0}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn children_move_again_and_again_while_their_links_break_at_random() {
    let (count, time, between, breaking) = match is_nightly() {
        true => (10, Duration::from_mins(30), Duration::from_secs(30), (3_000, 12_000)),
        false => (3, Duration::from_secs(20), Duration::from_secs(2), (2_000, 3_000)),
    };
    let mut cases = Cases::start().await;
    let children = cases.more(count).await;
    let mut running = cases.controller().await;
    let (mut wires, mut agents) = (Vec::new(), Vec::new());
    for child in &children {
        let wire = Relay::start(cases.address()).await.unwrap();
        agents.push(cases.calling(child, wire.address()).await);
        wires.push(wire);
    }
    for agent in &mut agents {
        agent.until_it_says("linked to ").await.unwrap();
    }
    let at_rest = Held::by(&running).files;
    let before = (watches(&cases.stage.pair.source).await, watches(&cases.stage.pair.target).await);
    let (over, moved) = (AtomicBool::new(false), AtomicUsize::new(0));
    let measure = async {
        let (begun, mut held) = (Instant::now(), Vec::new());
        while begun.elapsed() < time {
            sleep(between).await;
            held.push((Held::by(&running), Held::most(&agents.iter().map(Held::by).collect::<Vec<_>>())));
        }
        over.store(true, Ordering::SeqCst);
        held
    };
    let all = join_all(children.iter().map(|child| moves(&cases, child, &over, &moved)));
    let (held, broken, _) = tokio::join!(measure, breaks(&wires, breaking, &over), all);
    let moved = moved.load(Ordering::SeqCst);
    say(format_args!("{moved} moves, links broken: {broken:?}"));
    assert!(moved >= children.len() && broken.len() == 3, "{moved} moves, links broken: {broken:?}");
    for child in &children {
        cases.stage.delete(&child.namespace).await;
        cases.stage.until_gone(&child.namespace, &mut running).await;
    }
    until_closed(&cases, before).await;
    if is_nightly() {
        assert_steady(&held, moved);
        rests(&running, at_rest).await;
    }
    cases.stage.tidy().await;
    ended(running).await;
    for agent in agents {
        ended(agent).await;
    }
}
