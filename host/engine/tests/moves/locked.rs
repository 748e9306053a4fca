//! Two real runs take, hold and give back their leases, and write their records, as the model in `tests/model` does, whichever of them
//! dies, waits or breaks a lease: each change of what can be seen of both servers is a step that the model takes next.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::FINISHED;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key};
use pivot_engine::{Options, Setup};
use pivot_memory::{Fault, MemoryPlace};
use pivot_model::pair::OneOfTwo;
use pivot_model::trace::{Picture, Seen};
use pivot_model::{
    Command, Config, Faults, Handover, Holder, Item, Lock, Move, Pair, PerLock, Phase, Rules, Run,
    Scope as Covers, Step,
};
use pivot_places::PlaceError;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::run;
use crate::seeds::{deaths_of, distance_of_deaths};
use crate::simulated::holds::{HELD, Holds};
use crate::simulated::slow;
use crate::stage::{CLUSTERS, INFRA, Stage, body};

/// The namespaces of the two objects that the model knows.
const NAMESPACES: [&str; 2] = ["one", "two"];
/// A run dies, or breaks the lease of another, at most so often in one trace.
const FAULTS: Faults =
    Faults { crashes: 3, answers: 0, edits: 0, source: false, target: false, take_overs: 1 };

/// A Cluster, and a host that a plugin holds, each in a namespace of its own.
fn stage() -> Stage {
    let mut stage = Stage::empty();
    let mut cluster = body(CLUSTERS, "Cluster", "c", None);
    cluster["status"] = json!({"initialization": {"infrastructureProvisioned": true},
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]});
    for (mut object, namespace) in [cluster, body(INFRA, "Host", "h0", None)].into_iter().zip(NAMESPACES) {
        object["metadata"]["namespace"] = json!(namespace);
        stage.source.insert(object).unwrap();
    }
    stage.plugins = vec![Arc::new(Holds::hosts())];
    stage.options.break_lease = false;
    stage
}

fn model(one: Covers, two: Covers) -> Handover {
    // The runs accept that no sign is awaited.
    let rules = Rules { await_signs: false, ..Rules::KEPT };
    Handover::new(Config::new(one, two).with(FAULTS).by(rules))
}

/// The requested part of the stage.
fn scope(covers: Covers) -> Scope {
    Scope::new(match covers.first {
        Pair(true, true) => Namespaces::All,
        Pair(true, false) => Namespaces::One(NAMESPACES[0].into()),
        _ => Namespaces::One(NAMESPACES[1].into()),
    })
}

/// Who is who: runs by the holders of their leases, moves by their ids.
#[derive(Default)]
struct Names {
    /// Whose new names are: the run that began last.
    newest: Option<Run>,
    /// With whether that run is over.
    holders: BTreeMap<String, (Run, bool)>,
    moves: BTreeMap<String, Move>,
}

impl Names {
    fn holder(&mut self, name: &str) -> Holder {
        if name.is_empty() {
            return Holder::Nobody;
        }
        match self.holders.entry(name.to_owned()).or_insert((self.newest.unwrap(), false)) {
            (_, true) => Holder::Dead,
            (run, false) => Holder::Run(*run),
        }
    }

    fn of_move(&mut self, id: &str) -> Move {
        *self.moves.entry(id.to_owned()).or_insert(self.newest.unwrap().own_move())
    }

    /// What the records of one side say, of those under way and of those that ended.
    fn records(&mut self, place: &MemoryPlace) -> Pair<Option<Phase>> {
        let mut phases = Pair(None, None);
        for key in place.keys().into_iter().filter(|key| key.group_kind.is("", "ConfigMap")) {
            let body = place.body(&key).unwrap();
            let parse =
                |entry: &str| -> Option<Value> { serde_json::from_str(body["data"][entry].as_str()?).ok() };
            if let Some(record) = parse("record.json") {
                let phase = match record["phase"].as_str().unwrap() {
                    "Paused" => Phase::Paused,
                    "Copied" => Phase::Copied,
                    "Committed" => Phase::Committed,
                    "Live" => Phase::Live,
                    "Released" => Phase::Released,
                    "Settled" => Phase::Settled,
                    other => panic!("a record says {other}"),
                };
                phases[self.of_move(record["moveId"].as_str().unwrap())] = Some(phase);
            } else if body["metadata"]["labels"].get(FINISHED).is_some() {
                let summary = parse("finished.json").unwrap();
                phases[self.of_move(summary["moveId"].as_str().unwrap())] = Some(Phase::Finished);
            }
        }
        phases
    }

    fn picture(&mut self, source: &MemoryPlace, target: &MemoryPlace) -> Picture {
        let mut picture = Picture::default();
        for lock in Lock::EACH {
            let name = match lock {
                Lock::All => "pivot-host".to_owned(),
                Lock::Namespace(item) => {
                    format!("pivot-host.ns.{}", NAMESPACES[usize::from(item == Item::Host)])
                }
            };
            let lease =
                Key::new(GroupKind::new("coordination.k8s.io", "Lease"), Some("pivot-host-records"), &name);
            let Some(body) = source.body(&lease) else { continue };
            let holder = self.holder(body["spec"]["holderIdentity"].as_str().unwrap_or_default());
            let claim = body["metadata"]["annotations"]["pivot-host.io/claim"].as_str().unwrap();
            picture.leases[lock] = Some((holder, self.of_move(claim)));
        }
        (picture.at_source, picture.at_target) = (self.records(source), self.records(target));
        for item in Item::BOTH {
            let key = match item {
                Item::Cluster => Key::new(GroupKind::new(CLUSTERS, "Cluster"), Some(NAMESPACES[0]), "c"),
                Item::Host => Key::new(GroupKind::new(INFRA, "Host"), Some(NAMESPACES[1]), "h0"),
            };
            let active = |body: &Value| match item {
                Item::Cluster => body["spec"]["paused"] != json!(true),
                Item::Host => body["metadata"]["annotations"].get(HELD).is_none(),
            };
            if let Some(body) = source.body(&key) {
                picture.originals.0 += 1;
                picture.originals.1 += usize::from(!active(&body));
            }
            if let Some(body) = target.body(&key) {
                picture.copies.0 += 1;
                picture.copies.1 += usize::from(active(&body));
            }
        }
        picture
    }
}

/// Everything that was seen of both servers and both runs.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<(Names, Vec<Seen>)>>);

impl Trace {
    fn look(&self, source: &MemoryPlace, target: &MemoryPlace) {
        let (names, seen) = &mut *self.0.lock().unwrap();
        let both = Seen::Both(names.picture(source, target));
        if seen.last() != Some(&both) {
            seen.push(both);
        }
    }

    fn starts(&self, stage: &Stage, run: Run, command: Command) {
        self.0.lock().unwrap().0.newest = Some(run);
        self.look(&stage.source, &stage.target);
        self.0.lock().unwrap().1.push(Seen::Starts(run, command));
    }

    /// A run is over. One that could not give back its lease might as well have died.
    fn over(&self, stage: &Stage, mut event: Seen) {
        self.look(&stage.source, &stage.target);
        if let (Seen::Ends(run), Some(Seen::Both(last))) = (event, self.0.lock().unwrap().1.last())
            && Lock::EACH
                .iter()
                .any(|lock| last.leases[*lock].is_some_and(|(holder, _)| holder == Holder::Run(run)))
        {
            event = Seen::Dies(run);
        }
        let (names, seen) = &mut *self.0.lock().unwrap();
        if let Seen::Dies(run) | Seen::Ends(run) = event {
            names
                .holders
                .values_mut()
                .filter(|(holder, _)| *holder == run)
                .for_each(|(_, over)| *over = true);
        }
        seen.push(event);
    }

    fn steps(&self, model: &Handover, at: &str) -> Vec<(Run, Step)> {
        let seen = self.0.lock().unwrap().1.clone();
        model.explain(&seen).unwrap_or_else(|refused| panic!("{at}: {refused}"))
    }
}

/// Looks at both servers before and after each write; from the n-th on nothing of a run gets through. Says how many there were.
fn watch(
    stage: &Stage,
    trace: &Trace,
    dies_at: Option<usize>,
    reached: Option<(usize, Arc<Notify>)>,
) -> Arc<AtomicUsize> {
    let writes = Arc::new(AtomicUsize::new(0));
    for place in [&stage.source, &stage.target] {
        let (source, target) = (stage.source.clone(), stage.target.clone());
        let (trace, writes, reached) = (trace.clone(), writes.clone(), reached.clone());
        place.on_call(move |verb, _| {
            let dead = || Some(Fault::Before(PlaceError::Forbidden("dead".into())));
            let many = writes.load(Ordering::SeqCst);
            if !["create", "patch", "patch-status", "delete"].contains(&verb) {
                return dies_at.filter(|n| many >= *n).and_then(|_| dead());
            }
            trace.look(&source, &target);
            if let Some((_, notify)) = reached.as_ref().filter(|(n, _)| *n == many + 1) {
                notify.notify_one();
            }
            writes.fetch_add(1, Ordering::SeqCst);
            dies_at.filter(|n| many + 1 > *n).and_then(|_| dead())
        });
    }
    writes
}

fn at_rest(stage: &Stage, trace: &Trace) {
    trace.look(&stage.source, &stage.target);
    for place in [&stage.source, &stage.target] {
        place.on_call(|_, _| None);
    }
}

fn setup(stage: &Stage, covers: Covers) -> Setup {
    Setup {
        options: Options { accept: Risk::TakeoverUnchecked.into(), ..Options::new(scope(covers)) },
        ..stage.setup()
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_takes_its_leases_as_the_model_does() {
    for covers in [Covers::ALL, Covers::CLUSTER, Covers::HOST] {
        let (stage, trace) = (stage(), Trace::default());
        trace.starts(&stage, Run::R1, Command::Move);
        watch(&stage, &trace, None, None);
        run::start(setup(&stage, covers)).await.unwrap();
        at_rest(&stage, &trace);
        trace.over(&stage, Seen::Ends(Run::R1));
        let steps = trace.steps(&model(covers, covers), &format!("{covers:?}"));
        let last = steps.last().unwrap();
        assert!(matches!(last, (Run::R1, Step::DeleteLock(_) | Step::CloseTarget)), "{last:?}");
        assert!(matches!(steps[0], (Run::R1, Step::Take(_))), "{steps:?}");
    }
}

/// Resumes a move that was begun, or begins it unless it has ended; or rolls it back.
async fn again(setup: Setup, back: bool) -> bool {
    let status = run::status(setup.clone()).await.unwrap();
    let begun = !status.moves.is_empty();
    match (back, begun) {
        (false, false) if !status.finished.is_empty() => true,
        (true, _) => run::rollback(setup).await.is_ok(),
        (false, true) => run::resume(setup).await.is_ok(),
        (false, false) => run::start(setup).await.is_ok(),
    }
}

/// A run that dies after its n-th write; `None` if it has no more of them.
async fn dead_after(n: usize, covers: Covers) -> Option<(Stage, Trace)> {
    let (stage, trace) = (stage(), Trace::default());
    trace.starts(&stage, Run::R1, Command::Move);
    let writes = watch(&stage, &trace, Some(n), None);
    let ended = run::start(setup(&stage, covers)).await;
    at_rest(&stage, &trace);
    let more = ended.is_err() || writes.load(Ordering::SeqCst) > n;
    trace.over(&stage, Seen::Dies(Run::R1));
    more.then_some((stage, trace))
}

#[tokio::test(start_paused = true)]
async fn after_any_death_leases_are_taken_as_modelled() {
    let (mut finished, mut back) = (0, 0);
    for (covers, rolls_back) in
        [(Covers::ALL, false), (Covers::ALL, true), (Covers::CLUSTER, false), (Covers::CLUSTER, true)]
    {
        for n in (1..).step_by(distance_of_deaths()) {
            let Some((stage, trace)) = dead_after(n, covers).await else { break };
            let command = if rolls_back { Command::Rollback } else { Command::Move };
            trace.starts(&stage, Run::R2, command);
            watch(&stage, &trace, None, None);
            let done = again(setup(&stage, covers), rolls_back).await;
            at_rest(&stage, &trace);
            trace.over(&stage, Seen::Ends(Run::R2));
            trace.steps(&model(covers, covers), &format!("{covers:?}, write {n}, rolls back {rolls_back}"));
            *(if rolls_back { &mut back } else { &mut finished }) += usize::from(done);
        }
    }
    assert!(finished > deaths_of(30) && back > deaths_of(10), "{finished} finished, {back} rolled back");
}

#[tokio::test(start_paused = true)]
async fn a_claim_keeps_another_move_out_as_modelled() {
    let mut kept_out = 0;
    for n in (1..).step_by(distance_of_deaths()) {
        let Some((stage, trace)) = dead_after(n, Covers::ALL).await else { break };
        trace.starts(&stage, Run::R2, Command::Move);
        watch(&stage, &trace, None, None);
        let ended = run::start(setup(&stage, Covers::CLUSTER)).await;
        at_rest(&stage, &trace);
        trace.over(&stage, Seen::Ends(Run::R2));
        trace.steps(&model(Covers::ALL, Covers::CLUSTER), &format!("write {n}"));
        kept_out += usize::from(ended.is_err());
    }
    assert!(kept_out > deaths_of(10), "{kept_out}");
}

/// How a run ended.
type Ended = Result<(), String>;

/// A run over slow lines; when it has sent its n-th write, another one begins.
async fn meets(n: usize, covers: Pair<Covers>, break_lease: bool) -> (Trace, Ended, Ended) {
    let (stage, trace, reached) = (stage(), Trace::default(), Arc::new(Notify::new()));
    trace.starts(&stage, Run::R1, Command::Move);
    watch(&stage, &trace, None, Some((n, reached.clone())));
    let first = tokio::spawn({
        let setup = Setup { sides: slow(&stage, n as u64), ..setup(&stage, covers.0) };
        let (trace, source, target) = (trace.clone(), stage.source.clone(), stage.target.clone());
        async move {
            let ended = run::start(setup).await.map(drop).map_err(|stop| stop.to_string());
            trace.over(&Stage { source, target, ..Stage::empty() }, Seen::Ends(Run::R1));
            ended
        }
    });
    reached.notified().await;
    trace.starts(&stage, Run::R2, Command::Move);
    let mut second = Setup { sides: slow(&stage, 100 + n as u64), ..setup(&stage, covers.1) };
    second.options.break_lease = break_lease;
    let second = if break_lease { run::resume(second).await } else { run::start(second).await };
    let second = second.map(drop).map_err(|stop| stop.to_string());
    trace.over(&stage, Seen::Ends(Run::R2));
    let first = first.await.unwrap();
    at_rest(&stage, &trace);
    (trace, first, second)
}

#[tokio::test(start_paused = true)]
async fn runs_that_meet_behave_as_modelled() {
    let (mut beside, mut refused, mut broken) = (0, 0, 0);
    for n in 3..=14 {
        let covers = Pair(Covers::CLUSTER, Covers::HOST);
        let (trace, first, second) = meets(n, covers, false).await;
        trace.steps(&model(covers.0, covers.1), &format!("beside, write {n}, {first:?}, {second:?}"));
        beside += usize::from(first.is_ok() && second.is_ok());

        let covers = Pair(Covers::ALL, Covers::CLUSTER);
        let (trace, first, second) = meets(n, covers, false).await;
        trace.steps(&model(covers.0, covers.1), &format!("meets, write {n}, {first:?}, {second:?}"));
        refused += usize::from(first.is_ok() && second.is_err());

        let covers = Pair(Covers::ALL, Covers::ALL);
        let (trace, first, second) = meets(n, covers, true).await;
        trace.steps(&model(covers.0, covers.1), &format!("takes over, write {n}, {first:?}, {second:?}"));
        broken += usize::from(first.is_err() && second.is_ok());
    }
    assert!(beside == 12 && refused > 6 && broken > 6, "{beside} beside, {refused} refused, {broken} broken");
}

/// Where the model stops to follow what was seen.
fn refused(seen: &[Seen]) -> (usize, Vec<Step>) {
    let refused = model(Covers::ALL, Covers::ALL).explain(seen).unwrap_err();
    (refused.after, refused.instead.into_iter().map(|(_, step, _)| step).collect())
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_a_living_run_is_not_taken() {
    let (stage, trace) = dead_after(6, Covers::ALL).await.unwrap();
    trace.starts(&stage, Run::R2, Command::Move);
    watch(&stage, &trace, None, None);
    assert!(again(setup(&stage, Covers::ALL), false).await);
    at_rest(&stage, &trace);
    let mut seen = trace.0.lock().unwrap().1.clone();
    let death = seen.iter().position(|seen| *seen == Seen::Dies(Run::R1)).unwrap();
    seen.remove(death);
    // The picture says that its holder is dead, which nobody has seen.
    assert_eq!(refused(&seen).0, death);
    // A lease that stays with its holder while another run writes.
    let seen = trace.0.lock().unwrap().1.clone();
    let kept: Vec<Seen> = seen
        .iter()
        .enumerate()
        .map(|(at, one)| match (one, &seen[death - 1]) {
            (Seen::Both(picture), Seen::Both(before)) if at > death => Seen::Both(Picture {
                leases: PerLock {
                    all: before.leases.all.map(|(_, claim)| (Holder::Dead, claim)),
                    ..picture.leases
                },
                ..*picture
            }),
            _ => *one,
        })
        .collect();
    assert!(refused(&kept).1.contains(&Step::WriteClaim(Lock::All)), "{:?}", refused(&kept));
}

#[tokio::test(start_paused = true)]
async fn a_write_without_a_lease_is_refused() {
    let (stage, trace) = (stage(), Trace::default());
    trace.starts(&stage, Run::R1, Command::Move);
    watch(&stage, &trace, None, None);
    run::start(setup(&stage, Covers::ALL)).await.unwrap();
    at_rest(&stage, &trace);
    let mut seen = trace.0.lock().unwrap().1.clone();
    for one in &mut seen {
        if let Seen::Both(picture) = one {
            picture.leases.all = None;
        }
    }
    assert_eq!(refused(&seen).1, [Step::Take(Lock::All)]);
}
