//! Children that move again and again while their links break at random: nothing that the controller or an agent holds grows.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use kube::api::{DeleteParams, Patch, PatchParams};
use pivot_lab::proxy::Break;
use pivot_lab::{Relay, Server, say};
use pivot_scenarios::host::Run;
use serde_json::json;
use tokio::time::sleep;

use crate::agents::ended;
use crate::cases::{Case, Cases};
use crate::stage::same;
use crate::whole;

/// How long one move may take, with all that is done to its link.
const LIMIT: Duration = Duration::from_secs(240);

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

/// Moves a child's objects until it is time to end; how often.
async fn moves(cases: &Cases, child: &Case, over: &AtomicBool) -> usize {
    let mut times = 0;
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
        times += 1;
        if over.load(Ordering::SeqCst) {
            return times;
        }
        cases.stage.delete(&child.namespace).await;
        while cases.stage.pivots().shown(&child.namespace).await.unwrap().is_some() {
            sleep(Duration::from_millis(100)).await;
        }
        wiped(cases, child).await;
        cases.stage.fill(&child.namespace).await;
    }
}

/// Breaks one wire after the other, each for a while.
async fn breaks(wires: &[Relay], over: &AtomicBool) -> BTreeMap<String, usize> {
    let (mut dice, mut breaks) = (Dice(42), BTreeMap::new());
    while !over.load(Ordering::SeqCst) {
        sleep(Duration::from_millis(200 + dice.below(3_000))).await;
        let wire = &wires[usize::try_from(dice.below(wires.len() as u64)).unwrap()];
        let how = [Break::Cut, Break::Reset, Break::Silence][usize::try_from(dice.below(3)).unwrap()];
        wire.sever(how);
        *breaks.entry(format!("{how:?}")).or_default() += 1;
        sleep(Duration::from_millis(dice.below(5_000))).await;
        wire.heal();
    }
    breaks
}

#[tokio::test(flavor = "multi_thread")]
async fn children_whose_links_break_at_random_hold_no_more_in_the_end_than_in_the_beginning() {
    let (count, time, between) = match whole() {
        true => (10, Duration::from_mins(30), Duration::from_secs(30)),
        false => (3, Duration::from_secs(20), Duration::from_secs(2)),
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
            let now = (Held::by(&running), Held::most(&agents.iter().map(Held::by).collect::<Vec<_>>()));
            say(format_args!(
                "{:>5} s: controller {:?}, agents at most {:?}",
                begun.elapsed().as_secs(),
                now.0,
                now.1
            ));
            held.push(now);
        }
        over.store(true, Ordering::SeqCst);
        held
    };
    let all = async {
        let times = join_all(children.iter().map(|child| moves(&cases, child, &over))).await;
        moved.store(times.iter().sum(), Ordering::SeqCst);
    };
    let (held, broken, ()) = tokio::join!(measure, breaks(&wires, &over), all);
    say(format_args!("{} moves, links broken: {broken:?}", moved.load(Ordering::SeqCst)));
    for child in &children {
        cases.stage.delete(&child.namespace).await;
        cases.stage.until_gone(&child.namespace, &mut running).await;
    }
    let third = held.len() / 3;
    let median = |of: &dyn Fn(&(Held, Held)) -> usize, part: &[(Held, Held)]| {
        let mut all: Vec<usize> = part.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    type Of = fn(&(Held, Held)) -> usize;
    let figures: [(&str, Of, usize); 5] = [
        ("kilobytes of the controller", |held| held.0.kilobytes, 12_000),
        ("kilobytes of an agent", |held| held.1.kilobytes, 12_000),
        ("files of an agent", |held| held.1.files, 15),
        ("threads of the controller", |held| held.0.threads, 4),
        ("threads of an agent", |held| held.1.threads, 4),
    ];
    for (what, of, more) in figures {
        let (early, late) = (median(&of, &held[third..2 * third]), median(&of, &held[2 * third..]));
        say(format_args!("{what}: {early}, then {late}"));
        assert!(late <= early + early / 10 + more, "{what}: {early}, then {late}");
    }
    sleep(Duration::from_secs(5)).await;
    let after = (watches(&cases.stage.pair.source).await, watches(&cases.stage.pair.target).await);
    say(format_args!("watches in parent and children: {before:?}, then {after:?}"));
    assert!(after.0 <= before.0 + 2 && after.1 <= before.1 + 2, "{before:?}, then {after:?}");
    if whole() {
        rests(&running, at_rest).await;
    }
    cases.stage.tidy().await;
    ended(running).await;
    for agent in agents {
        ended(agent).await;
    }
}
