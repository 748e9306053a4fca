//! The guard of a move: it comes before the pause and the copies, and goes with the move.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::records::guard::{POLICY_GROUP, POLICY_KINDS, move_of_guard, policy_manifest};
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Key, Kind, KindLabels, Side};
use pivot_engine::{Exit, Failure, Options, Setup, Sides, diagnosis};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{Access, PlaceError};
use serde_json::Value;

use crate::clusters::Notes;
use crate::committed::commit;
use crate::crash::{at_every_write, die_at, nothing_of_ours, revive};
use crate::restored;
use crate::run;
use crate::seeds::deaths_of;
use crate::stage::{Stage, is_record, picture, under_way};
use crate::trouble::half_committed;

fn stage() -> Stage {
    add_policies(Stage::new())
}

fn add_policies(stage: Stage) -> Stage {
    for (place, (kind, plural)) in
        [&stage.source, &stage.target].into_iter().flat_map(|place| POLICY_KINDS.map(|kind| (place, kind)))
    {
        place.add_kind(Kind {
            group_kind: GroupKind::new(POLICY_GROUP, kind),
            version: "v1".into(),
            plural: plural.into(),
            namespaced: false,
            status_subresource: true,
            served: vec!["v1".into()],
            labels: KindLabels::default(),
        });
    }
    stage
}

/// A run at a terminal. Over a link no policy can be written.
fn setup(stage: &Stage, guard: bool) -> Setup {
    let sides = Sides { source: Arc::new(stage.source.clone()), target: Arc::new(stage.target.clone()) };
    Setup { sides, options: Options { guard, ..stage.options.clone() }, ..stage.setup() }
}

fn is_guard(key: &Key) -> bool {
    key.group_kind.group == POLICY_GROUP && move_of_guard(&key.name).is_some()
}

fn count_guards(place: &MemoryPlace) -> usize {
    place.keys().iter().filter(|key| is_guard(key)).count()
}

/// The calls of a run that change something, without records and leases.
fn calls(place: &MemoryPlace) -> Vec<(String, Key)> {
    let calls = place
        .journal()
        .into_iter()
        .filter(|call| call.key.namespace.as_deref() != Some("pivot-host-records"));
    calls.filter(|call| !call.verb.starts_with("dry-run")).map(|call| (call.verb, call.key)).collect()
}

#[tokio::test(start_paused = true)]
async fn the_guard_is_first_and_last() {
    let (stage, plain) = (stage(), Stage::new());
    run::start(plain.setup()).await.unwrap();
    run::start(setup(&stage, true)).await.unwrap();
    // The commit extends the policy of the source.
    for (place, unguarded, verbs) in [
        (&stage.source, &plain.source, &["create", "create", "patch", "delete", "delete"][..]),
        (&stage.target, &plain.target, &["create", "create", "delete", "delete"]),
    ] {
        assert_eq!(picture(place), picture(unguarded));
        let calls = calls(place);
        let of_guard = calls.iter().filter(|(_, key)| is_guard(key));
        assert_eq!(of_guard.map(|(verb, _)| verb.as_str()).collect::<Vec<_>>(), verbs);
        let others: Vec<bool> = calls.iter().map(|(_, key)| !is_guard(key)).collect();
        let first = others.iter().position(|other| *other);
        let last = others.iter().rposition(|other| *other);
        assert_eq!((first, last), (Some(2), Some(calls.len() - 3)), "{calls:?}");
    }
}

/// Another machine resumes, where the user doesn't know of the guard.
#[tokio::test(start_paused = true)]
async fn killed_moves_leave_no_guard_once_resumed() {
    let whole = Stage::new();
    run::start(whole.setup()).await.unwrap();
    let (source, target) = (picture(&whole.source), picture(&whole.target));
    let deaths = at_every_write(
        async || (stage(), ()),
        async |stage, ()| drop(run::start(setup(stage, true)).await),
        async |stage, (), at| {
            if let Err(stop) = run::resume(setup(stage, false)).await {
                assert_eq!(stop.exit, Exit::Empty, "{at}: {stop}");
            }
            let now = (picture(&stage.source), picture(&stage.target));
            assert!(now.1.is_empty() || now == (source.clone(), target.clone()), "{at}");
            assert_eq!(count_guards(&stage.source) + count_guards(&stage.target), 0, "{at}");
        },
    )
    .await;
    assert!(deaths > 80, "{deaths}");
}

#[tokio::test(start_paused = true)]
async fn killed_moves_leave_no_guard_once_undone() {
    let mut undone = 0;
    at_every_write(
        async || (stage(), ()),
        async |stage, ()| drop(run::start(setup(stage, true)).await),
        async |stage, (), at| {
            let begun = under_way(setup(stage, false)).await;
            let before_commit = begun.is_some_and(|one| one.record.phase < Phase::Committed);
            if !at.died || !before_commit {
                return;
            }
            run::rollback(setup(stage, false)).await.unwrap();
            undone += 1;
            assert!(nothing_of_ours(&stage.source) && picture(&stage.target).is_empty(), "{at}");
            assert_eq!(count_guards(&stage.source), 0, "{at}");
        },
    )
    .await;
    assert!(undone > deaths_of(20), "{undone}");
}

/// Returns the code and the message of the refusal of a move that changed nothing.
async fn refuse(stage: &Stage) -> (String, String) {
    let untouched = picture(&stage.source);
    let stop = run::start(setup(stage, true)).await.unwrap_err();
    assert_eq!((stop.exit, picture(&stage.source)), (Exit::Refused, untouched), "{stop}");
    assert!(picture(&stage.target).is_empty() && under_way(setup(stage, false)).await.is_none());
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    (refusals[0].code.to_owned(), refusals[0].message.clone())
}

#[tokio::test(start_paused = true)]
async fn impossible_guards_are_refused_before_the_pause() {
    let (code, message) = refuse(&Stage::new()).await;
    assert!(code == "guard-unsupported" && message.contains("1.30"), "{message}");
    let stage = stage();
    let denied = Access {
        verb: "create".into(),
        group: POLICY_GROUP.into(),
        resource: POLICY_KINDS[0].1.into(),
        subresource: "".into(),
        namespace: None,
    };
    stage.target.deny(denied);
    let (code, message) = refuse(&stage).await;
    assert!(code == "rights-missing" && message.contains(POLICY_KINDS[0].1), "{message}");
}

#[tokio::test(start_paused = true)]
async fn guards_without_effect_are_refused_before_the_pause() {
    let stage = stage();
    let target = stage.target.clone();
    // As a server that has not yet read the binding.
    stage.target.on_call(move |verb, key| {
        if verb == "dry-run create" && move_of_guard(&key.name).is_some() {
            let binding = Key::new(GroupKind::new(POLICY_GROUP, POLICY_KINDS[1].0), None, &key.name);
            let _ = target.remove(&binding);
        }
        None
    });
    assert_eq!(refuse(&stage).await.0, "guard-without-effect");
}

/// A quota or a webhook may answer before the server has read the policy.
#[tokio::test(start_paused = true)]
async fn probes_that_others_refuse_are_repeated() {
    for answers in [1, usize::MAX] {
        let (stage, asked) = (stage(), AtomicUsize::new(0));
        stage.target.on_call(move |verb, key| {
            let is_probe = verb == "dry-run create" && move_of_guard(&key.name).is_some();
            let is_refused = is_probe && asked.fetch_add(1, Ordering::Relaxed) < answers;
            is_refused.then(|| Fault::Before(PlaceError::Forbidden("exceeded quota".into())))
        });
        if answers == 1 {
            run::start(setup(&stage, true)).await.unwrap();
        } else {
            let (code, message) = refuse(&stage).await;
            assert!(code == "guard-without-effect" && message.contains("exceeded quota"), "{message}");
        }
    }
}

/// A move whose run died once both guards were up.
async fn dead_with_guards() -> Stage {
    for write in 1.. {
        let stage = stage();
        die_at(&stage, write, false);
        run::start(setup(&stage, true)).await.unwrap_err();
        revive(&stage);
        if [&stage.source, &stage.target].iter().all(|place| count_guards(place) == 2) {
            return stage;
        }
    }
    unreachable!("no run puts up guards")
}

/// Returns the texts of warnings about guards.
async fn warnings(stage: &Stage, read: impl AsyncFnOnce(Setup)) -> Vec<String> {
    let notes = Arc::new(Notes::default());
    read(Setup { watcher: notes.clone(), ..setup(stage, false) }).await;
    assert_eq!(notes.lines_of("moves-unreadable"), Vec::<String>::new());
    notes.lines_of("guard-left")
}

#[tokio::test(start_paused = true)]
async fn guards_without_a_move_are_reported() {
    let stage = dead_with_guards().await;
    let status = async |setup| drop(run::status(setup).await.unwrap());
    let of_source = async |setup| drop(run::status_of_one(setup, Side::Source).await.unwrap());
    let doctor = async |setup| drop(diagnosis::diagnose(setup).await);
    let of_target = async |setup| drop(run::status_of_one(setup, Side::Target).await.unwrap());
    let without_source = async |setup| {
        stage.source.on_call(|_, _| Some(Fault::Before(PlaceError::Unavailable("no route".into()))));
        drop(run::status(setup).await.unwrap());
        stage.source.on_call(|_, _| None);
    };
    assert!(warnings(&stage, status).await.is_empty() && warnings(&stage, doctor).await.is_empty());
    assert!(warnings(&stage, without_source).await.is_empty());
    let record = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
    stage.source.remove(&record).unwrap();
    for (found, sides) in [
        (warnings(&stage, status).await, &["source", "target"][..]),
        (warnings(&stage, of_source).await, &["source"]),
        (warnings(&stage, of_target).await, &["target"]),
        (warnings(&stage, doctor).await, &["source"]),
    ] {
        assert_eq!(found.len(), sides.len(), "{found:?}");
        for (text, side) in found.iter().zip(sides) {
            let command = "remove the guard: kubectl delete --ignore-not-found validatingadmissionpolicybindings,validatingadmissionpolicies pivot-host-guard-";
            assert!(text.contains(&format!("the {side} has a guard")), "{text}");
            // Only the source shows that a move isn't under way.
            assert_eq!(text.contains(command), *side == "source", "{text}");
        }
    }
    let forbidden = |_: &str, key: &Key| {
        let is_unreadable = key.namespace.as_deref() == Some("pivot-host-records");
        is_unreadable.then(|| Fault::Before(PlaceError::Forbidden("records".into())))
    };
    stage.source.on_call(forbidden);
    assert!(warnings(&stage, doctor).await.is_empty());
}

/// The guards of moves from and to a third cluster, whose records this status doesn't read.
#[tokio::test(start_paused = true)]
async fn guards_of_other_roles_have_no_command() {
    let stage = stage();
    for (place, side) in [(&stage.source, Side::Target), (&stage.target, Side::Source)] {
        place.insert(policy_manifest(side, "1-a", &BTreeSet::new(), None)).unwrap();
    }
    assert!(warnings(&stage, async |setup| drop(run::status(setup).await.unwrap())).await.is_empty());
    let of_source = async |setup| drop(run::status_of_one(setup, Side::Source).await.unwrap());
    let found = warnings(&stage, of_source).await;
    assert!(found.len() == 1 && found[0].contains("the status of its source"), "{found:?}");
}

/// A move whose target lost it after the commit, and one that is recovered before. Both sides have its guard.
async fn recoverable() -> [Stage; 2] {
    let committed = commit(add_policies(restored::stage())).await;
    restored::forget(&committed.target);
    let uncommitted = half_committed(add_policies(restored::stage())).await;
    let lose_undo = |body: &mut Value| {
        drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO));
    };
    uncommitted.target.edit(&restored::cluster(), lose_undo).unwrap();
    for stage in [&committed, &uncommitted] {
        let move_id = under_way(setup(stage, false)).await.unwrap().record.move_id;
        for (place, side) in [(&stage.source, Side::Source), (&stage.target, Side::Target)] {
            place.insert(policy_manifest(side, &move_id, &BTreeSet::new(), None)).unwrap();
        }
    }
    [committed, uncommitted]
}

#[tokio::test(start_paused = true)]
async fn recovered_moves_have_no_guard() {
    for stage in recoverable().await {
        let mut recovering = setup(&stage, false);
        recovering.options.accept.insert(Risk::WorldChanged);
        // The user has no permission to remove policies; and then the run dies at the record.
        for (is_denied, left) in [(true, 1), (false, 0)] {
            stage.source.on_call(move |verb, key| {
                let dies = verb == "patch" && is_record(key, "source");
                let is_denied = is_denied && verb == "delete" && is_guard(key);
                (dies || is_denied).then(|| Fault::Before(PlaceError::Forbidden("denied".into())))
            });
            stage.target.on_call(move |verb, key| {
                let is_denied = is_denied && verb == "delete" && is_guard(key);
                is_denied.then(|| Fault::Before(PlaceError::Forbidden("denied".into())))
            });
            let notes = Arc::new(Notes::default());
            run::rollback(Setup { watcher: notes.clone(), ..recovering.clone() }).await.unwrap_err();
            assert_eq!((count_guards(&stage.source), count_guards(&stage.target)), (left, left));
            assert_eq!(notes.lines_of("guard-left").len(), 2 * left);
        }
    }
}
