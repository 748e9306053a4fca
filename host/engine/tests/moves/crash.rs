//! A run that dies at any request, before or after the server acted, is resumed or rolled back.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::Key;
use pivot_core::records::record::Phase;
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{Place, PlaceError, Preconditions};
use serde_json::json;

use crate::run;
use crate::seeds::{deaths_of, distance_of_deaths};
use crate::stage::{CLUSTERS, Stage, is_summary, key, kinds, picture, under_way};

/// From the n-th writing call on, counted over both servers, nothing gets through any more.
pub(crate) fn die_at(stage: &Stage, n: usize, acted: bool) -> Arc<AtomicUsize> {
    let calls = Arc::new(AtomicUsize::new(0));
    for place in [&stage.source, &stage.target] {
        let calls = calls.clone();
        place.on_call(move |verb, _| {
            let writes = ["create", "patch", "patch-status", "delete"].contains(&verb);
            let dead = || PlaceError::Forbidden("dead".into());
            if !writes {
                return (calls.load(Ordering::SeqCst) >= n).then(|| Fault::Before(dead()));
            }
            let call = calls.fetch_add(1, Ordering::SeqCst) + 1;
            match call.cmp(&n) {
                std::cmp::Ordering::Less => None,
                std::cmp::Ordering::Equal if acted => Some(Fault::After(dead())),
                _ => Some(Fault::Before(dead())),
            }
        });
    }
    calls
}

pub(crate) fn revive(stage: &Stage) {
    for place in [&stage.source, &stage.target] {
        place.on_call(|_, _| None);
    }
}

/// A write at which a run died, or would have, and whether the server acted.
pub(crate) struct At {
    write: usize,
    acted: bool,
    /// Whether the run came that far.
    pub(crate) died: bool,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write {}, acted {}", self.write, self.acted)
    }
}

/// Lets a run die at each of its writes, before and after the server acted, each time on another stage; the last run of both sorts
/// doesn't die any more. Then looks at what it left. Returns how often it died; the deaths that a short run leaves out count.
pub(crate) async fn at_every_write<T>(
    new: impl AsyncFn() -> (Stage, T),
    run: impl AsyncFn(&Stage, &T),
    mut then: impl AsyncFnMut(&Stage, &T, &At),
) -> usize {
    let mut deaths = 0;
    for acted in [false, true] {
        for write in (1..).step_by(distance_of_deaths()) {
            let (stage, more) = new().await;
            let calls = die_at(&stage, write, acted);
            run(&stage, &more).await;
            let died = calls.load(Ordering::SeqCst) >= write;
            revive(&stage);
            then(&stage, &more, &At { write, acted, died }).await;
            if !died {
                break;
            }
            deaths += distance_of_deaths();
        }
    }
    deaths
}

pub(crate) fn nothing_of_ours(place: &MemoryPlace) -> bool {
    place.keys().iter().all(|key| {
        let body = place.body(key).unwrap();
        let ours = key.namespace.as_deref() == Some("pivot-host-records") && !is_summary(&body);
        !body.to_string().contains("pivot-host.io/undo") && !ours
    })
}

// proves: I10, W10
#[tokio::test(start_paused = true)]
async fn w10_a_move_killed_at_any_write_resumes_to_the_same_end() {
    let whole = Stage::new();
    run::start(whole.setup()).await.unwrap();
    let (source, target) = (picture(&whole.source), picture(&whole.target));
    let deaths = at_every_write(
        async || (Stage::new(), ()),
        async |stage, ()| drop(run::start(stage.setup()).await),
        async |stage, (), at| {
            // Running the same command again is always safe: it resumes, or finds that all is done.
            let again = run::start(stage.setup()).await;
            if let Err(stop) = &again {
                assert_eq!(stop.exit, pivot_engine::Exit::Empty, "{at}: {stop}");
            }
            assert_eq!(picture(&stage.target), target, "{at}");
            assert_eq!(picture(&stage.source), source, "{at}");
            assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{at}");
        },
    )
    .await;
    assert!(deaths > 80, "{deaths}");
}

#[tokio::test(start_paused = true)]
async fn a_move_killed_at_any_write_before_the_commit_is_rolled_back_without_a_trace() {
    let untouched = picture(&Stage::new().source);
    let mut taken_back = 0;
    at_every_write(
        async || (Stage::new(), ()),
        async |stage, ()| drop(run::start(stage.setup()).await),
        async |stage, (), at| {
            if !at.died {
                return;
            }
            let committed =
                under_way(stage.setup()).await.is_some_and(|one| one.record.phase >= Phase::Committed);
            let rollback = run::rollback(stage.setup()).await;
            if committed {
                assert!(rollback.unwrap_err().to_string().contains("point of no return"), "{at}");
                return;
            }
            match rollback {
                Ok(_) => {
                    taken_back += 1;
                    assert!(nothing_of_ours(&stage.source), "{at}");
                }
                Err(stop) => {
                    assert_eq!(stop.exit, pivot_engine::Exit::Empty, "{at}: {stop}")
                }
            }
            if picture(&stage.source).len() > 1 {
                assert_eq!(picture(&stage.source), untouched, "{at}");
                assert!(picture(&stage.target).is_empty(), "{at}");
            }
            // Where there is no record yet a lease may be left, which claims nothing and expires.
            stage.source.keys().iter().filter(|key| key.group_kind.kind == "Lease").for_each(|key| {
                stage.source.remove(key).unwrap();
            });
            assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "{at}");
        },
    )
    .await;
    assert!(taken_back > deaths_of(20), "{taken_back}");
}

/// A move whose run died at a write.
async fn dead_at(write: usize) -> Stage {
    let stage = Stage::new();
    die_at(&stage, write, false);
    drop(run::start(stage.setup()).await);
    revive(&stage);
    stage
}

/// The last write at which a run can die before its move is committed.
async fn last_before_commit() -> usize {
    for write in 1.. {
        let status = under_way(dead_at(write).await.setup()).await;
        if status.is_some_and(|one| one.record.phase >= Phase::Committed) {
            return write - 1;
        }
    }
    unreachable!("no move is committed")
}

/// A rollback removes the finalizers of a copy before it deletes the copy.
// proves: I10
#[tokio::test(start_paused = true)]
async fn a_killed_rollback_leaves_a_move_that_continues() {
    let whole = Stage::new();
    run::start(whole.setup()).await.unwrap();
    let last = last_before_commit().await;
    let deaths = at_every_write(
        async || (dead_at(last).await, ()),
        async |stage, ()| drop(run::rollback(stage.setup()).await),
        async |stage, (), at| {
            run::start(stage.setup()).await.unwrap();
            assert_eq!(picture(&stage.target), picture(&whole.target), "{at}");
            assert_eq!(picture(&stage.source), picture(&whole.source), "{at}");
        },
    )
    .await;
    assert!(deaths > 20, "{deaths}");
}

/// The run that rolls back is dead when its delete arrives, and another has continued the move.
// proves: I10
#[tokio::test(start_paused = true)]
async fn a_late_delete_leaves_a_restored_copy() {
    let stage = dead_at(last_before_commit().await).await;
    let (machine, target) = (key(CLUSTERS, "Machine", "m0"), stage.target.clone());
    let restored = format!("{CLUSTERS}/finalizer");
    stage.target.on_call(move |verb, object| {
        (verb == "delete" && *object == machine).then(|| {
            target.edit(object, |body| body["metadata"]["finalizers"] = json!([restored])).unwrap();
            Fault::After(PlaceError::Forbidden("dead".into()))
        })
    });
    run::rollback(stage.setup()).await.unwrap_err();
    let copy = stage.target.body(&key(CLUSTERS, "Machine", "m0")).unwrap();
    assert_eq!(copy["metadata"]["deletionTimestamp"], json!(null));
}

/// Both sides are read at the same time, and another run commits the move in between.
#[tokio::test(start_paused = true)]
async fn a_rollback_that_saw_no_source_record_looks_again() {
    let stage = dead_at(last_before_commit().await + 1).await;
    let is_record = |key: &Key| key.name.starts_with("pivot-host-source-");
    let key = stage.source.keys().into_iter().find(is_record).unwrap();
    let record = stage.source.body(&key).unwrap();
    stage.source.remove(&key).unwrap();
    let (source, readings, copies) = (stage.source.clone(), AtomicUsize::new(0), picture(&stage.target));
    stage.source.on_call(move |verb, key| {
        let reads = verb == "list" && key.group_kind.kind == "ConfigMap";
        if reads && readings.fetch_add(1, Ordering::SeqCst) == 1 {
            source.insert(record.clone()).unwrap();
        }
        None
    });
    let stop = run::rollback(stage.setup()).await.unwrap_err();
    assert!(stop.to_string().contains("past the point of no return"), "{stop}");
    assert_eq!(picture(&stage.target), copies);
}

#[tokio::test(start_paused = true)]
async fn finalizers_of_the_targets_controllers_stay_on_copies() {
    let stage = dead_at(last_before_commit().await).await;
    let machine = key(CLUSTERS, "Machine", "m0");
    stage.target.edit(&machine, |body| body["metadata"]["finalizers"] = json!(["theirs"])).unwrap();
    run::start(stage.setup()).await.unwrap();
    let copy = stage.target.body(&machine).unwrap();
    assert_eq!(copy["metadata"]["finalizers"], json!([format!("{CLUSTERS}/finalizer"), "theirs"]));
}

/// As after a rollback that died when it had deleted a copy to which a controller had added its finalizer again.
#[tokio::test(start_paused = true)]
async fn a_copy_that_is_being_deleted_stops_a_move() {
    let (stage, untouched) = (dead_at(last_before_commit().await).await, picture(&Stage::new().source));
    let machine = key(CLUSTERS, "Machine", "m0");
    stage.target.edit(&machine, |body| body["metadata"]["finalizers"] = json!(["theirs"])).unwrap();
    let kind = kinds().into_iter().find(|kind| kind.group_kind == machine.group_kind).unwrap();
    stage.target.delete(&kind.into(), &machine, &Preconditions::default()).await.unwrap();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(stop.to_string().contains("it is being deleted"), "{stop}");
    run::rollback(stage.setup()).await.unwrap();
    assert_eq!(picture(&stage.source), untouched);
    assert!(picture(&stage.target).is_empty());
}

#[tokio::test(start_paused = true)]
async fn lost_answers_do_not_change_the_outcome() {
    let whole = Stage::new();
    run::start(whole.setup()).await.unwrap();
    for seed in 1..=20 {
        let stage = Stage::new();
        for place in [&stage.source, &stage.target] {
            let dice = AtomicUsize::new(seed);
            place.on_call(move |_, _| {
                // A linear congruential generator: bad luck that comes back the same in each run of the test.
                let next = |n: usize| {
                    n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
                };
                let roll =
                    dice.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| Some(next(n))).unwrap() >> 33;
                let lost = || PlaceError::Unavailable("reset".into());
                match roll % 10 {
                    0 => Some(Fault::After(lost())),
                    1 => Some(Fault::Before(lost())),
                    2 => Some(Fault::Before(PlaceError::TooManyRequests { retry_after: None })),
                    _ => None,
                }
            });
        }
        run::start(stage.setup()).await.unwrap();
        assert_eq!(picture(&stage.target), picture(&whole.target), "seed {seed}");
        assert_eq!(picture(&stage.source), picture(&whole.source), "seed {seed}");
    }
}
