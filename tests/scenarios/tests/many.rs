//! Eight concurrent moves between one pair of servers, each of which dies once and is resumed by another process.
//!
//! Where each dies is chosen pseudo-randomly, the same in each run: some before their copies are created, the others after. In
//! between all of them pause at the first copy, so that the state can be inspected.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::future::join_all;
use pivot_lab::proxy::{Fault, Faults, Moment, Rule, Seen, Times};
use pivot_lab::{Observer, Rules, process, say};
use pivot_scenarios::host::{AGENT, Host, Run};
use pivot_scenarios::shape;
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use crate::stage::{Stage, Wired, all, clean, same};

const SEED: u64 = 9;
/// How long a test waits until all moves are at their first copy, including the leases of dead runs.
const GATHERED: Duration = Duration::from_mins(3);

/// Pseudo-random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Where one of them dies, and how it is resumed.
struct Lot {
    namespace: String,
    /// Before its copies are created, while it pauses.
    early: bool,
    in_source: bool,
    nth: u64,
    moment: Moment,
    /// By its id, rather than by the command that started it.
    by_id: bool,
}

impl Lot {
    fn draw(index: u64, dice: &mut Dice) -> Self {
        let early = index.is_multiple_of(4);
        let moments = [Moment::Before, Moment::Instead, Moment::After];
        let [nth, moment] = [if early { 3 } else { 15 }, 3].map(|end| dice.below(end));
        Self {
            namespace: format!("ns-{index}"),
            early,
            in_source: early || dice.below(2) == 0,
            nth: nth + 1,
            moment: moments[usize::try_from(moment).unwrap()],
            by_id: index.is_multiple_of(3),
        }
    }

    fn says(&self) -> String {
        let Self { namespace, early, in_source, nth, moment, .. } = self;
        let when = if *early { "while it pauses" } else { "after the first copy" };
        let side = if *in_source { "source" } else { "target" };
        format!("{namespace} dies {when}: write {nth} to the {side}, {moment:?}")
    }

    fn faults<'a>(&self, wired: &'a Wired) -> &'a Faults {
        if self.in_source { wired.source.faults() } else { wired.target.faults() }
    }

    /// Kills a process at its write to an object of the namespace; its pid is given later.
    fn kill_there(&self, wired: &Wired, pid: oneshot::Receiver<u32>) {
        let kill = async move { process::kill(pid.await.unwrap()).unwrap() };
        let part = format!("/namespaces/{}/", self.namespace);
        let hits = move |seen: &Seen| is_write(seen) && seen.path.contains(&part);
        self.faults(wired).add(Rule::new(Times::Nth(self.nth), Fault::action(self.moment, kill), hits));
    }

    async fn begin(&self, host: &Host) -> Run {
        host.start(&moving(&["move", "-n", &self.namespace])).await.unwrap()
    }

    /// Another process continues.
    async fn go_on(&self, host: &Host) {
        let moves = moves(&status(host).await);
        let (id, _) = moves.iter().find(|(_, namespace)| *namespace == self.namespace).unwrap();
        let report = match self.by_id {
            true => host.run(&["resume", id]).await,
            false => host.run(&moving(&["move", "-n", &self.namespace])).await,
        };
        let report = report.unwrap().done().unwrap();
        assert_eq!((&report["outcome"], &report["moveId"]), (&"Moved".into(), &(&**id).into()));
    }
}

fn is_write(seen: &Seen) -> bool {
    seen.user_agent.starts_with(AGENT) && seen.is_mutating()
}

fn moving<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [words, &shape::WITHOUT_PLUGIN].concat()
}

async fn status(host: &Host) -> Value {
    host.run(&["status"]).await.unwrap().done().unwrap()
}

/// The moves under way: id and namespace.
fn moves(status: &Value) -> BTreeSet<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |one: &Value| {
        let record = &one["record"];
        (text(&record["moveId"]), text(&record["scope"]["namespaces"]["one"]))
    };
    status["moves"].as_array().unwrap().iter().map(of).collect()
}

/// Where the moves stop, each at its first copy, until all may continue.
struct Gate {
    waiting: watch::Sender<BTreeSet<String>>,
    open: watch::Sender<bool>,
}

impl Gate {
    fn before_the_copies(wired: &Wired, lots: &[Lot]) -> Self {
        let gate = Self { waiting: watch::Sender::default(), open: watch::Sender::default() };
        // A request that waits too long is sent again, and waits again.
        for (lot, nth) in lots.iter().flat_map(|lot| [1, 2, 3].map(|nth| (lot, nth))) {
            let (waiting, mut open) = (gate.waiting.clone(), gate.open.subscribe());
            let (namespace, part) =
                (lot.namespace.clone(), format!("/namespaces/{}/clusters?", lot.namespace));
            let wait = async move {
                waiting.send_if_modified(|waiting| waiting.insert(namespace));
                open.wait_for(|open| *open).await.unwrap();
            };
            let first = move |seen: &Seen| is_write(seen) && seen.path.contains(&part);
            let rule = Rule::new(Times::Nth(nth), Fault::action(Moment::Before, wait), first);
            wired.target.faults().add(rule);
        }
        gate
    }

    async fn gathered(&self, number: usize) {
        let mut waiting = self.waiting.subscribe();
        let gathered =
            tokio::time::timeout(GATHERED, waiting.wait_for(|waiting| waiting.len() == number)).await;
        assert!(gathered.is_ok(), "only {:?} came to their first copy", self.waiting.borrow());
    }
}

/// A run for everything is locked out, and the message names who holds the lock.
async fn looked_at(host: &Host, namespaces: &[&str]) {
    let refused = host.run(&moving(&["move", "-A"])).await.unwrap().ends_with(3).unwrap();
    say(format_args!("{}", refused.stderr.trim_end()));
    for says in ["another run is working", "Lease pivot-host-records/pivot-host.ns.ns-", "pivot-host status"]
    {
        assert!(refused.stderr.contains(says), "no {says:?} in\n{}", refused.stderr);
    }
    assert!(refused.stderr.contains("state: nothing is changed"), "{}", refused.stderr);

    let status = status(host).await;
    let moves = moves(&status);
    let moving: Vec<&str> =
        moves.iter().map(|(_, namespace)| &**namespace).collect::<BTreeSet<_>>().into_iter().collect();
    assert_eq!((moves.len(), moving), (8, namespaces.to_vec()));
    let locks = status["leases"].as_array().unwrap();
    let held = locks.iter().filter(|lock| !lock["holder"].as_str().unwrap().is_empty());
    let held: BTreeSet<(String, String)> = held
        .map(|lock| {
            let name = lock["name"].as_str().unwrap().trim_start_matches("pivot-host.ns.");
            (lock["moveId"].as_str().unwrap().to_owned(), name.to_owned())
        })
        .collect();
    assert_eq!(held, moves);
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_moves_at_once_each_killed_once_and_resumed() {
    let stage = Stage::start().await;
    let wired = stage.wired().await;
    let mut dice = Dice(SEED);
    let lots: Vec<Lot> = (0..8).map(|index| Lot::draw(index, &mut dice)).collect();
    let namespaces: Vec<&str> = lots.iter().map(|lot| &*lot.namespace).collect();
    let objects = namespaces.iter().flat_map(|namespace| shape::cluster(namespace, 1)).collect();
    stage.pair.source.apply_values(objects).await.unwrap();
    let before = all(&stage.pair.source, &namespaces).await;
    let observer = Observer::of(&stage.pair, &namespaces).await.unwrap();
    let start = Instant::now();

    let gate = Gate::before_the_copies(&wired, &lots);
    let (mut runs, mut later) = (Vec::new(), Vec::new());
    for lot in &lots {
        say(format_args!("{}", lot.says()));
        let (tell, pid) = oneshot::channel();
        runs.push((lot, tell));
        if lot.early {
            lot.kill_there(&wired, pid);
        } else {
            later.push((lot, pid));
        }
    }
    let one = async |(lot, tell): (&Lot, oneshot::Sender<u32>)| {
        let run = lot.begin(&wired.host).await;
        tell.send(run.id()).unwrap();
        let ended = run.end().await.unwrap();
        assert_eq!(ended.code, None, "{}, and did not\n{}", lot.says(), ended.stderr);
        lot.go_on(&wired.host).await;
    };
    let meanwhile = async {
        gate.gathered(lots.len()).await;
        say(format_args!("all stand at their first copy after {:.1} s", start.elapsed().as_secs_f64()));
        looked_at(&wired.host, &namespaces).await;
        later.into_iter().for_each(|(lot, pid)| lot.kill_there(&wired, pid));
        gate.open.send_replace(true);
    };
    tokio::join!(join_all(runs.into_iter().map(one)), meanwhile);
    say(format_args!("all have moved after {:.1} s", start.elapsed().as_secs_f64()));

    same(before, all(&stage.pair.target, &namespaces).await);
    assert!(all(&stage.pair.source, &namespaces).await.is_empty());
    let status = status(&wired.host).await;
    assert_eq!((moves(&status).len(), status["leases"].as_array().unwrap().len()), (0, 0), "{status}");
    assert_eq!(status["finished"].as_array().unwrap().len(), lots.len(), "{status}");
    stage.tidy(&namespaces).await;
    clean(observer, &Rules::new()).await;
}
