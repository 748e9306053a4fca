//! What real runs do is a behaviour of the model in `tests/model`, however often they are killed: each change of what can be seen of both
//! servers is a step that the model takes next.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pivot_core::Key;
use pivot_core::names::FINISHED;
use pivot_engine::run;
use pivot_link::Role;
use pivot_model::linked::trace::{Picture, Seen};
use pivot_model::linked::{Linked, Step, Way};
use pivot_model::{Item, Pair, Phase};
use pivot_places::memory::Fault;
use pivot_places::{MemoryPlace, PlaceError};
use serde_json::{Value, json};

use crate::linked::link;
use crate::simulated::holds::{HELD, Holds};
use crate::stage::{CLUSTERS, INFRA, Stage, body, is_record, key};

/// A Cluster with what belongs to it, and a host that a plugin holds.
fn stage() -> Stage {
    let mut stage = Stage::new();
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

/// What the record on a side says, if there is one.
fn phase(place: &MemoryPlace, side: &str) -> Option<Phase> {
    let record = place.keys().into_iter().find(|key| is_record(key, side))?;
    let body = place.body(&record)?;
    if body["metadata"]["labels"].get(FINISHED).is_some() {
        return Some(Phase::Finished);
    }
    let text: Value = serde_json::from_str(body["data"]["record.json"].as_str().unwrap()).unwrap();
    Some(match text["phase"].as_str().unwrap() {
        "Paused" => Phase::Paused,
        "Copied" => Phase::Copied,
        "Committed" => Phase::Committed,
        "Live" => Phase::Live,
        "Released" => Phase::Released,
        "Settled" => Phase::Settled,
        other => panic!("a record says {other}"),
    })
}

fn picture(source: &MemoryPlace, target: &MemoryPlace) -> Picture {
    let both = |place| Pair(active(place, Item::Cluster), active(place, Item::Host));
    Picture {
        originals: both(source),
        copies: both(target),
        at_source: phase(source, "source"),
        at_target: phase(target, "target").map(|phase| (phase, false)),
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

fn explained(trace: &Trace) -> Vec<Step> {
    let model = Linked::new(Way::Into, false);
    model.explain(&trace.seen()).unwrap_or_else(|refused| panic!("{refused}"))
}

/// A move that nothing disturbs.
async fn undisturbed() -> Trace {
    let (stage, trace) = (stage(), Trace::default());
    watch(&stage, &trace, None);
    run::start(stage.setup()).await.unwrap();
    unwatch(&stage, &trace);
    trace
}

#[tokio::test(start_paused = true)]
async fn a_move_takes_the_steps_of_the_model() {
    let steps = explained(&undisturbed().await);
    // What goes to one object each has no order.
    let about = |steps: &[Step]| steps.iter().map(|step| step.about(Item::Cluster)).collect::<Vec<_>>();
    let (cluster, host) = (Item::Cluster, Item::Host);
    let whole = [
        Step::EnterPaused,
        Step::Pause(cluster),
        Step::Pause(host),
        Step::EnterCopied,
        Step::Create(cluster),
        Step::Create(host),
        Step::CommitTarget,
        Step::CommitSource,
        Step::Resume(cluster),
        Step::EnterReleased,
        Step::Release(cluster),
        Step::Release(host),
        Step::EnterSettled,
        Step::Settle(host),
        Step::CloseSource,
        Step::CloseTarget,
    ];
    assert_eq!(about(&steps), about(&whole));
}

#[tokio::test]
async fn over_a_link_in_either_direction_it_takes_the_steps_of_the_model() {
    for way in [Way::Into, Way::OutOf] {
        let (stage, trace) = (stage(), Trace::default());
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
    for rollback in [false, true] {
        for acted in [false, true] {
            for n in 1.. {
                let (stage, trace) = (stage(), Trace::default());
                let writes = watch(&stage, &trace, Some(Death { n, acted }));
                let _ = run::start(stage.setup()).await;
                let died = writes.load(Ordering::SeqCst) >= n;
                unwatch(&stage, &trace);
                if !died {
                    break;
                }
                deaths += 1;
                trace.note(Seen::Died);
                watch(&stage, &trace, None);
                // After the commit, and where nothing was begun, a rollback is refused.
                let rolled_back = rollback && run::rollback(stage.setup()).await.is_ok();
                back += usize::from(rolled_back);
                if !rollback {
                    let _ = run::start(stage.setup()).await;
                }
                unwatch(&stage, &trace);
                let steps = explained(&trace);
                let last = steps.last().copied();
                if rolled_back {
                    assert_eq!(last, Some(Step::ForgetSource), "write {n}, acted {acted}");
                } else if !rollback {
                    assert_eq!(last, Some(Step::CloseTarget), "write {n}, acted {acted}");
                }
            }
        }
    }
    assert!(deaths > 150 && back > 20, "{deaths} deaths, {back} rollbacks");
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
        Seen::Died => None,
    })
}

#[tokio::test(start_paused = true)]
async fn a_trace_with_the_order_of_the_commit_exchanged_is_refused() {
    let mut seen = undisturbed().await.seen();
    let half = |picture: &&mut Picture| {
        (picture.at_source, picture.at_target) == (Some(Phase::Copied), Some((Phase::Live, false)))
    };
    let picture = pictures(&mut seen).find(half).unwrap();
    (picture.at_source, picture.at_target) = (Some(Phase::Committed), None);
    assert_eq!(refused(&seen).1, [Step::CommitTarget]);
}

#[tokio::test(start_paused = true)]
async fn a_trace_in_which_a_copy_is_resumed_early_is_refused() {
    let mut seen = undisturbed().await.seen();
    let uncommitted = pictures(&mut seen).filter(|picture| picture.at_source < Some(Phase::Committed));
    for picture in uncommitted {
        picture.copies[Item::Cluster] = picture.copies[Item::Cluster].map(|_| true);
    }
    let instead = refused(&seen).1;
    assert!(instead.iter().all(|step| matches!(step, Step::Create(_))), "{instead:?}");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_left_out_of_a_trace_is_missed() {
    let whole = undisturbed().await.seen();
    for left_out in 1..whole.len() - 1 {
        let mut seen = whole.clone();
        seen.remove(left_out);
        assert_eq!(refused(&seen).0, left_out);
    }
}

/// Somebody who unpauses the copy of a real move before its commit.
#[tokio::test(start_paused = true)]
async fn what_no_run_of_the_engine_did_is_seen() {
    let (stage, trace) = (stage(), Trace::default());
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
