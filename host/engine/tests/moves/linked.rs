//! Moves to and from a place at the far end of a link, and links that are cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use pivot_core::objects::names::MARK;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key};
use pivot_engine::events::Verb;
use pivot_engine::{Exit, Setup, run};
use pivot_link::{Guard, LinkError, LinkPlace, Role, serve};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{Change, Place, PlaceError, Preconditions};
use pivot_worlds::Dice;
use serde_json::json;
use tokio::io::{DuplexStream, duplex};
use tokio::task::JoinHandle;

use crate::crash::nothing_of_ours;
use crate::seeds::distance_of_deaths;
use crate::simulated::world::Shape;
use crate::stage::{Stage, picture};

/// What a connection holds of what is on its way.
const BUFFER: usize = 64 << 10;

/// The near end of a connection, and the agent that answers at the other.
fn connection(place: &MemoryPlace) -> (DuplexStream, JoinHandle<()>) {
    guarded(place, Role::Target, None)
}

/// The same in a role, where only this namespace may be written.
fn guarded(place: &MemoryPlace, role: Role, namespace: Option<&str>) -> (DuplexStream, JoinHandle<()>) {
    let (near, far) = duplex(BUFFER);
    let place = Arc::new(place.clone());
    let namespaces = namespace.map(|namespace| [namespace.to_owned()].into());
    let guard =
        Guard { namespaces, record_namespace: "pivot-host-records".into(), role, keep_answering: false };
    let agent = tokio::spawn(async move { drop(serve(far, place, guard).await) });
    (near, agent)
}

/// A link that is never cut.
pub(crate) async fn link(place: &MemoryPlace, role: Role) -> Arc<LinkPlace> {
    let (near, _) = guarded(place, role, None);
    let (place, alive) = LinkPlace::connect(near).await.unwrap();
    tokio::spawn(alive);
    place
}

#[tokio::test]
async fn any_shape_ends_the_same_over_a_link() {
    let of_all = |mut setup: Setup| {
        setup.options.scope = Scope::new(Namespaces::All);
        setup
    };
    for shape in (1..=16).step_by(distance_of_deaths()).map(|seed| Shape::of(Dice::new(seed))) {
        let straight = shape.stage();
        run::start(of_all(straight.setup())).await.unwrap();
        for into in [true, false] {
            let stage = shape.stage();
            let mut setup = of_all(stage.setup());
            if into {
                setup.sides.target = link(&stage.target, Role::Target).await;
            } else {
                setup.sides.source = link(&stage.source, Role::Source).await;
            }
            run::start(setup).await.unwrap_or_else(|stop| panic!("{shape:?}, into {into}: {stop}"));
            assert_eq!(picture(&stage.target), picture(&straight.target), "{shape:?}, into {into}");
            assert_eq!(picture(&stage.source), picture(&straight.source), "{shape:?}, into {into}");
        }
    }
}

#[tokio::test]
async fn a_guard_lets_a_move_of_its_namespace_through_and_no_other() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    for (allowed, through) in [("ns", true), ("other", false)] {
        for into in [true, false] {
            let stage = Stage::new();
            let before = (picture(&stage.source), picture(&stage.target));
            let (at, role) = if into { (&stage.target, Role::Target) } else { (&stage.source, Role::Source) };
            let (near, _agent) = guarded(at, role, Some(allowed));
            let (place, alive) = LinkPlace::connect(near).await.unwrap();
            tokio::spawn(alive);
            let mut setup = stage.setup();
            let side = if into { &mut setup.sides.target } else { &mut setup.sides.source };
            *side = place;
            let ended = run::start(setup).await;
            let after = (picture(&stage.source), picture(&stage.target));
            if through {
                ended.unwrap_or_else(|stop| panic!("into {into}: {stop}"));
                assert_eq!(after, (picture(&straight.source), picture(&straight.target)), "into {into}");
            } else {
                let stop = ended.unwrap_err();
                assert!(stop.to_string().contains("--allow-namespace"), "into {into}: {stop}");
                assert_eq!(after, before, "into {into}");
            }
        }
    }
}

// proves: T54
#[tokio::test]
async fn a_move_against_an_agents_role_changes_nothing() {
    for (into, role) in [(true, Role::Source), (false, Role::Target)] {
        let stage = Stage::new();
        let before = (picture(&stage.source), picture(&stage.target));
        let mut setup = stage.setup();
        if into {
            setup.sides.target = link(&stage.target, role).await;
        } else {
            setup.sides.source = link(&stage.source, role).await;
        }
        let stop = run::start(setup).await.unwrap_err();
        assert_eq!(stop.exit, Exit::Refused, "into {into}: {stop}");
        assert!(stop.to_string().contains(&format!("--role is {role}")), "into {into}: {stop}");
        assert_eq!((picture(&stage.source), picture(&stage.target)), before, "into {into}");
    }
}

// proves: T55
#[tokio::test]
async fn after_the_move_its_link_tells_how_it_ended_and_nothing_else() {
    let stage = Stage::new();
    let (near, _agent) = connection(&stage.target);
    let (place, alive) = LinkPlace::connect(near).await.unwrap();
    tokio::spawn(alive);
    let secrets = place.kinds().await.unwrap().into_iter().find(|kind| kind.group_kind.is_secret()).unwrap();
    let now = place.list(&secrets, Some("ns")).await.unwrap().resource_version;
    let mut watched = place.watch(&secrets, Some("ns"), &now).await.unwrap();
    let mut setup = stage.setup();
    setup.sides.target = place.clone();
    run::start(setup.clone()).await.unwrap();
    let after = picture(&stage.target);
    while let Some(event) = watched.next().await {
        event.unwrap();
    }
    let listed = place.list(&secrets, Some("ns")).await.map(drop).unwrap_err();
    let mut again = place.watch(&secrets, Some("ns"), &now).await.unwrap();
    for error in [listed, again.next().await.unwrap().unwrap_err()] {
        assert!(matches!(&error, PlaceError::Forbidden(why) if why.contains("--keep-answering")), "{error}");
    }
    let status = run::status(setup).await.unwrap();
    assert_eq!((status.moves.len(), status.finished.len()), (0, 1));
    // A second move of what is new in the source.
    let again = Stage::new();
    let mut setup = again.setup();
    setup.sides.target = place;
    let stop = run::start(setup).await.unwrap_err();
    assert!(stop.to_string().contains("--keep-answering"), "{stop}");
    assert_eq!(picture(&stage.target), after);
    assert_eq!(picture(&again.source), picture(&Stage::new().source));
}

#[tokio::test]
async fn errors_arrive_as_the_far_end_has_them() {
    let place = MemoryPlace::new("far");
    let link = link(&place, Role::Target).await;
    assert_eq!(link.label(), "far");
    assert_eq!(link.capabilities(), place.capabilities());
    assert_eq!(link.identify().await.unwrap(), place.identify().await.unwrap());
    let kinds = link.kinds().await.unwrap();
    assert_eq!(kinds, place.kinds().await.unwrap());
    let secrets = kinds.iter().find(|kind| kind.group_kind.is_secret()).unwrap().clone();
    let key = Key::new(GroupKind::new("", "Secret"), Some("default"), "s");
    assert!(link.get(&secrets, &key).await.unwrap().is_none());
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default", "annotations": {MARK: "1"}}});
    link.create(&secrets, &body, Change::Real).await.unwrap();
    let twice = link.create(&secrets, &body, Change::Real).await.unwrap_err();
    assert!(matches!(twice, PlaceError::AlreadyExists(_)), "{twice}");
    let other = Preconditions { uid: Some(pivot_core::Uid("other".into())), resource_version: None };
    let conflict = link.delete(&secrets, &key, &other).await.unwrap_err();
    assert!(matches!(conflict, PlaceError::Conflict(_)), "{conflict}");
    let wait = PlaceError::TooManyRequests { retry_after: Some(Duration::from_secs(3)) };
    place.on_call(move |verb, _| (verb == "list").then(|| Fault::Before(wait.clone())));
    let refused = link.list(&secrets, None).await.unwrap_err();
    assert_eq!(refused, PlaceError::TooManyRequests { retry_after: Some(Duration::from_secs(3)) });
    // The answer's head is there before the far end has looked.
    let mut events = link.watch(&secrets, None, "nonsense").await.unwrap();
    let begun = place.watch(&secrets, None, "nonsense").await.map(drop).unwrap_err();
    assert_eq!(events.next().await.unwrap().unwrap_err(), begun);
}

// proves: T72
#[tokio::test]
async fn a_link_that_is_cut_anywhere_and_made_again_ends_the_same() {
    let whole = Stage::new();
    run::start(whole.setup()).await.unwrap();
    let mut cuts = 0;
    for nth in (1..).step_by(distance_of_deaths()) {
        let stage = Stage::new();
        let (near, agent) = connection(&stage.target);
        let (place, alive) = LinkPlace::connect(near).await.unwrap();
        tokio::spawn(alive);
        let agent = Arc::new(std::sync::Mutex::new(agent));
        let asked = Arc::new(AtomicUsize::new(0));
        // At its n-th request the agent's connection is gone; whether it acts is a matter of luck, as it is outside.
        stage.target.on_call({
            let (asked, agent) = (asked.clone(), agent.clone());
            move |_, _| {
                if asked.fetch_add(1, Ordering::SeqCst) + 1 == nth {
                    agent.lock().unwrap().abort();
                }
                None
            }
        });
        let again = tokio::spawn({
            let (place, target) = (place.clone(), stage.target.clone());
            async move {
                loop {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    if !place.is_connected() {
                        let (near, _) = connection(&target);
                        tokio::spawn(place.reconnect(near).await.unwrap());
                    }
                }
            }
        });
        let mut setup = stage.setup();
        setup.sides.target = place.clone();
        run::start(setup).await.unwrap_or_else(|stop| panic!("cut at {nth}: {stop}; {}", stop.state));
        again.abort();
        assert_eq!(picture(&stage.target), picture(&whole.target), "cut at {nth}");
        assert_eq!(picture(&stage.source), picture(&whole.source), "cut at {nth}");
        assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target), "cut at {nth}");
        if asked.load(Ordering::SeqCst) < nth {
            break;
        }
        cuts += distance_of_deaths();
    }
    assert!(cuts > 40, "{cuts}");
}

/// Where answers take time, other pauses are on their way when one fails. They are carried out, whether anybody waits for them or not.
#[tokio::test]
async fn a_pause_that_fails_waits_for_those_on_their_way_before_they_are_undone() {
    let stage = Stage::new();
    let before = picture(&stage.source);
    stage.source.on_call(|verb, key| {
        let refused = verb == "patch" && key.name == "p";
        refused.then(|| Fault::Before(PlaceError::Invalid("no".into())))
    });
    let mut setup = stage.setup();
    setup.sides.source = link(&stage.source, Role::Source).await;
    let stop = run::start(setup).await.unwrap_err();
    let (paused, resumed) = (&stop.done[&Verb::Paused], &stop.done[&Verb::Unpaused]);
    assert_eq!((paused.len(), paused), (2, resumed));
    assert_eq!(picture(&stage.source), before);
}

#[tokio::test]
async fn another_cluster_is_not_the_same_place() {
    let (one, other) = (MemoryPlace::new("one"), MemoryPlace::new("other"));
    let place = link(&one, Role::Target).await;
    let (near, _) = connection(&other);
    assert!(matches!(place.reconnect(near).await.map(drop), Err(LinkError::OtherPlace)));
    assert_eq!(place.identify().await.unwrap(), one.identify().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_says_nothing_is_no_answer_and_nothing_of_it_goes_on() {
    let (near, far) = duplex(BUFFER);
    let silent = tokio::spawn(async move {
        let _held = far;
        std::future::pending::<()>().await;
    });
    let taken = tokio::time::timeout(Duration::from_mins(1), LinkPlace::connect(near)).await;
    assert!(
        matches!(taken, Ok(Err(_))),
        "a connection on which nothing comes is taken, or waited for without end"
    );
    silent.abort();
}
