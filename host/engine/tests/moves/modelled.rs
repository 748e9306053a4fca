//! What real runs do is a behaviour of the model in `tests/model`, however often they are killed: each change of what can be seen of both
//! servers is a step that the model takes next.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pivot_core::Key;
use pivot_core::objects::names::{FINISHED, ROLLED_BACK};
use pivot_engine::{Exit, Setup, Sides};
use pivot_link::Role;
use pivot_memory::{Fault, MemoryPlace};
use pivot_model::linked::trace::{Picture, Seen};
use pivot_model::linked::{Linked, Step, Way};
use pivot_model::{Item, Pair, Phase};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::linked::link;
use crate::run;
use crate::seeds::{deaths_of, distance_of_deaths};
use crate::simulated::holds::{HELD, Holds};
use crate::stage::{CLUSTERS, INFRA, Stage, body, is_record, key};

/// A Cluster with what belongs to it, and a host that a plugin holds.
fn stage(seals: bool) -> Stage {
    let mut stage = Stage::new();
    stage.options.finish_alone = seals;
    stage.source.insert(body(INFRA, "Host", "h0", None)).unwrap();
    stage.plugins = vec![Arc::new(Holds::hosts())];
    stage
}

/// The two objects that the model knows.
fn object(item: Item) -> Key {
    match item {
        Item::Cluster => key(CLUSTERS, "Cluster", "c"),
        Item::Host => key(INFRA, "Host", "h0"),
    }
}

/// Whether an object, if it is there, is active.
fn active(place: &MemoryPlace, item: Item) -> Option<bool> {
    let body = place.body(&object(item))?;
    Some(match item {
        Item::Cluster => body["spec"]["paused"] != json!(true),
        Item::Host => body["metadata"]["annotations"].get(HELD).is_none(),
    })
}

/// What the record on a side says, if there is one, and whether it is sealed.
pub(crate) fn recorded_phase(place: &MemoryPlace, side: &str) -> Option<(Phase, bool)> {
    let record = place.keys().into_iter().find(|key| is_record(key, side))?;
    let body = place.body(&record)?;
    if body["metadata"]["labels"].get(ROLLED_BACK).is_some() {
        return None;
    }
    if body["metadata"]["labels"].get(FINISHED).is_some() {
        return Some((Phase::Finished, false));
    }
    let text: Value = serde_json::from_str(body["data"]["record.json"].as_str().unwrap()).unwrap();
    let phase = match text["phase"].as_str().unwrap() {
        "Paused" => Phase::Paused,
        "Copied" => Phase::Copied,
        "Committed" => Phase::Committed,
        "Live" => Phase::Live,
        "Released" => Phase::Released,
        "Settled" => Phase::Settled,
        other => panic!("a record says {other}"),
    };
    Some((phase, text["finishAlone"] == "Allowed" || text["finishAlone"] == "Done"))
}

/// Returns the seal in a target's record.
fn seal(target: &MemoryPlace) -> Value {
    let record = target.keys().into_iter().find(|key| is_record(key, "target")).unwrap();
    let record = target.body(&record).unwrap();
    let record: Value = serde_json::from_str(record["data"]["record.json"].as_str().unwrap()).unwrap();
    record["finishAlone"].clone()
}

fn picture(source: &MemoryPlace, target: &MemoryPlace) -> Picture {
    let both = |place| Pair(active(place, Item::Cluster), active(place, Item::Host));
    Picture {
        originals: both(source),
        copies: both(target),
        at_source: recorded_phase(source, "source").map(|(phase, _)| phase),
        at_target: recorded_phase(target, "target"),
    }
}

/// Everything that was seen of one move.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<Seen>>>);

impl Trace {
    fn note(&self, seen: Seen) {
        let mut trace = self.0.lock().unwrap();
        if trace.last() != Some(&seen) {
            trace.push(seen);
        }
    }

    fn seen(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }
}

/// At its `n`-th write a run dies: before the server acted, or after.
#[derive(Clone, Copy)]
struct Death {
    n: usize,
    acted: bool,
}

/// Looks at both servers before each write, and so after the one before; counts them, and lets nothing of a dead run through.
fn watch(stage: &Stage, trace: &Trace, death: Option<Death>) -> Arc<AtomicUsize> {
    let writes = Arc::new(AtomicUsize::new(0));
    for place in [&stage.source, &stage.target] {
        let (source, target) = (stage.source.clone(), stage.target.clone());
        let (trace, writes) = (trace.clone(), writes.clone());
        place.on_call(move |verb, _| {
            let writing = ["create", "patch", "patch-status", "delete"].contains(&verb);
            if writing {
                trace.note(Seen::Both(picture(&source, &target)));
            }
            let Death { n, acted } = death?;
            let dead = || PlaceError::Forbidden("dead".into());
            if !writing {
                return (writes.load(Ordering::SeqCst) >= n).then(|| Fault::Before(dead()));
            }
            match (writes.fetch_add(1, Ordering::SeqCst) + 1).cmp(&n) {
                std::cmp::Ordering::Less => None,
                std::cmp::Ordering::Equal if acted => Some(Fault::After(dead())),
                _ => Some(Fault::Before(dead())),
            }
        });
    }
    writes
}

/// Ends the watch with a last look.
fn unwatch(stage: &Stage, trace: &Trace) {
    trace.note(Seen::Both(picture(&stage.source, &stage.target)));
    for place in [&stage.source, &stage.target] {
        place.on_call(|_, _| None);
    }
}

/// Watches a run that dies then; whether it has so many writes at all.
async fn dies<T>(stage: &Stage, trace: &Trace, death: Death, run: impl Future<Output = T>) -> bool {
    let writes = watch(stage, trace, Some(death));
    drop(run.await);
    unwatch(stage, trace);
    writes.load(Ordering::SeqCst) >= death.n
}

fn explained(trace: &Trace, seals: bool) -> Vec<Step> {
    let model = Linked::new(Way::Into, seals);
    model.explain(&trace.seen()).unwrap_or_else(|refused| panic!("{refused}"))
}

/// A move that nothing disturbs.
async fn undisturbed(seals: bool) -> Trace {
    let (stage, trace) = (stage(seals), Trace::default());
    watch(&stage, &trace, None);
    run::start(stage.setup()).await.unwrap();
    unwatch(&stage, &trace);
    trace
}

#[tokio::test(start_paused = true)]
async fn a_move_takes_the_steps_of_the_model() {
    // What goes to one object each has no order.
    let about = |steps: &[Step]| steps.iter().map(|step| step.about(Item::Cluster)).collect::<Vec<_>>();
    let (cluster, host) = (Item::Cluster, Item::Host);
    let whole = |seal: &[Step]| {
        let before = [
            Step::EnterPaused,
            Step::Pause(cluster),
            Step::Pause(host),
            Step::EnterCopied,
            Step::Create(cluster),
            Step::Create(host),
            Step::CommitTarget,
            Step::CommitSource,
        ];
        let after = [
            Step::Resume(cluster),
            Step::EnterReleased,
            Step::EnterReleasedAtSource,
            Step::Release(cluster),
            Step::Release(host),
            Step::EnterSettled,
            Step::Settle(host),
            Step::CloseSource,
            Step::CloseTarget,
        ];
        [&before, seal, &after].concat()
    };
    for (seals, seal) in [(false, &[][..]), (true, &[Step::Seal])] {
        let steps = explained(&undisturbed(seals).await, seals);
        assert_eq!(about(&steps), about(&whole(seal)));
    }
}

#[tokio::test]
async fn over_a_link_in_either_direction_it_takes_the_steps_of_the_model() {
    for way in [Way::Into, Way::OutOf] {
        let (stage, trace) = (stage(false), Trace::default());
        watch(&stage, &trace, None);
        let mut setup = stage.setup();
        match way {
            Way::Into => setup.sides.target = link(&stage.target, Role::Target).await,
            Way::OutOf => setup.sides.source = link(&stage.source, Role::Source).await,
        }
        run::start(setup).await.unwrap();
        unwatch(&stage, &trace);
        let steps =
            Linked::new(way, false).explain(&trace.seen()).unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(steps.last(), Some(&Step::CloseTarget), "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_write_and_continued_or_rolled_back_it_takes_no_others() {
    let (mut deaths, mut back) = (0, 0);
    for (seals, rollback) in [(false, false), (false, true), (true, false)] {
        for acted in [false, true] {
            for n in (1..).step_by(distance_of_deaths()) {
                let (stage, trace) = (stage(seals), Trace::default());
                if !dies(&stage, &trace, Death { n, acted }, run::start(stage.setup())).await {
                    break;
                }
                deaths += distance_of_deaths();
                trace.note(Seen::Died);
                watch(&stage, &trace, None);
                // After the commit, and where nothing was begun, a rollback is refused.
                let rolled_back = rollback && run::rollback(stage.setup()).await.is_ok();
                back += usize::from(rolled_back) * distance_of_deaths();
                if !rollback {
                    let _ = run::start(stage.setup()).await;
                }
                unwatch(&stage, &trace);
                let steps = explained(&trace, seals);
                let last = steps.last().copied();
                if rolled_back {
                    assert_eq!(last, Some(Step::ForgetSource), "write {n}, acted {acted}");
                } else if !rollback {
                    assert_eq!(last, Some(Step::CloseTarget), "write {n}, acted {acted}");
                }
            }
        }
    }
    assert!(deaths > 220 && back > 20, "{deaths} deaths, {back} rollbacks");
}

/// Whoever is beside the target finishes what it can after any death, dies at any of its own writes, and is followed by another; then
/// the source's run returns.
// proves: T71
#[tokio::test(start_paused = true)]
async fn with_its_source_away_the_target_takes_the_steps_of_the_model_alone() {
    let (mut finished, mut refused, mut died_twice) = (0, 0, 0);
    for (n, acted, second) in (1..)
        .step_by(distance_of_deaths())
        .flat_map(|n| [false, true].map(|acted| (n, acted)))
        .flat_map(|(n, acted)| [None, Some(1), Some(2), Some(3)].map(|second| (n, acted, second)))
    {
        let (stage, trace) = (stage(true), Trace::default());
        if !dies(&stage, &trace, Death { n, acted }, run::start(stage.setup())).await {
            break;
        }
        trace.note(Seen::Away);
        if let Some(second) = second {
            let again = run::finish_alone(without_source(&stage), None);
            died_twice += usize::from(dies(&stage, &trace, Death { n: second, acted }, again).await);
        }
        let before = picture(&stage.source, &stage.target);
        watch(&stage, &trace, None);
        let alone = run::finish_alone(without_source(&stage), None).await;
        unwatch(&stage, &trace);
        let target = picture(&stage.source, &stage.target);
        match &alone {
            Ok(()) => {
                finished += 1;
                // A move that has ended runs, too, and what never began has nothing to run.
                assert_eq!(target.copies, Pair(Some(true), Some(true)), "write {n}, acted {acted}");
                if let Some((Phase::Live | Phase::Released, _)) = target.at_target {
                    assert_eq!(seal(&stage.target), json!("Done"), "write {n}, acted {acted}");
                }
            }
            Err(stop) => {
                refused += 1;
                assert!(stop.exit == Exit::Refused || stop.exit == Exit::Empty, "write {n}: {stop}");
                assert!(target.at_target.is_none_or(|(phase, sealed)| phase == Phase::Finished || !sealed));
                assert_eq!(target, before, "write {n}, acted {acted}: it was refused");
            }
        }
        trace.note(Seen::Back);
        watch(&stage, &trace, None);
        let _ = run::start(stage.setup()).await;
        unwatch(&stage, &trace);
        let steps = explained(&trace, true);
        assert_eq!(steps.last(), Some(&Step::CloseTarget), "write {n}, acted {acted}, {alone:?}");
    }
    let enough = finished > deaths_of(50) && refused > deaths_of(100) && died_twice > deaths_of(20);
    assert!(enough, "{finished} {refused} {died_twice}");
}

/// The target, and a source that is never asked.
fn without_source(stage: &Stage) -> Setup {
    let source = MemoryPlace::new("away");
    source.on_call(|verb, key| panic!("the source that is away was asked to {verb} {key}"));
    Setup { sides: Sides { source: Arc::new(source), ..stage.setup().sides }, ..stage.setup() }
}

/// Where the model stops to follow what was seen.
fn refused(seen: &[Seen]) -> (usize, Vec<Step>) {
    let refused = Linked::new(Way::Into, false).explain(seen).unwrap_err();
    (refused.after, refused.instead.into_iter().map(|(step, _)| step).collect())
}

/// The pictures that were seen, for a change.
fn pictures(trace: &mut [Seen]) -> impl Iterator<Item = &mut Picture> {
    trace.iter_mut().filter_map(|seen| match seen {
        Seen::Both(picture) => Some(picture),
        Seen::Died | Seen::Away | Seen::Back => None,
    })
}

#[tokio::test(start_paused = true)]
async fn a_trace_with_the_order_of_the_commit_exchanged_is_refused() {
    let mut seen = undisturbed(false).await.seen();
    let half = |picture: &&mut Picture| {
        (picture.at_source, picture.at_target) == (Some(Phase::Copied), Some((Phase::Live, false)))
    };
    let picture = pictures(&mut seen).find(half).unwrap();
    (picture.at_source, picture.at_target) = (Some(Phase::Committed), None);
    assert_eq!(refused(&seen).1, [Step::CommitTarget]);
}

#[tokio::test(start_paused = true)]
async fn a_trace_in_which_a_copy_is_resumed_early_is_refused() {
    let mut seen = undisturbed(false).await.seen();
    let uncommitted = pictures(&mut seen).filter(|picture| picture.at_source < Some(Phase::Committed));
    for picture in uncommitted {
        picture.copies[Item::Cluster] = picture.copies[Item::Cluster].map(|_| true);
    }
    let instead = refused(&seen).1;
    assert!(instead.iter().all(|step| matches!(step, Step::Create(_))), "{instead:?}");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_left_out_of_a_trace_is_missed() {
    let whole = undisturbed(false).await.seen();
    for left_out in 1..whole.len() - 1 {
        let mut seen = whole.clone();
        seen.remove(left_out);
        assert_eq!(refused(&seen).0, left_out);
    }
}

/// Somebody who unpauses the copy of a real move before its commit.
#[tokio::test(start_paused = true)]
async fn what_no_run_of_the_engine_did_is_seen() {
    let (stage, trace) = (stage(false), Trace::default());
    watch(&stage, &trace, None);
    let (source, target, seer) = (stage.source.clone(), stage.target.clone(), trace.clone());
    stage.target.on_call(move |verb, key| {
        seer.note(Seen::Both(picture(&source, &target)));
        if verb == "create" && is_record(key, "target") {
            target.edit(&object(Item::Cluster), |body| body["spec"]["paused"] = json!(false)).unwrap();
            seer.note(Seen::Both(picture(&source, &target)));
        }
        None
    });
    let _ = run::start(stage.setup()).await;
    unwatch(&stage, &trace);
    assert_eq!(refused(&trace.seen()).1, [Step::CommitTarget]);
}
