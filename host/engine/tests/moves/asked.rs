//! What is said of moves under way, by one side or by both, and of a namespace in which nothing is to move.

use std::sync::{Arc, Mutex};

use pivot_core::Side;
use pivot_core::records::record::Phase;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_engine::{Event, Exit, MoveStatus, Setup, Watcher};
use pivot_memory::Fault;
use pivot_places::PlaceError;
use serde_json::json;

use crate::run;
use crate::stage::{CLUSTERS, Stage, body, picture};
use crate::trouble::live;

/// A move that has copied a part, and stopped.
async fn copied() -> Stage {
    let stage = Stage::new();
    stage.target.on_call(|verb, key| {
        let machine = verb == "create" && key.group_kind.kind == "InfraMachine";
        machine.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PartWay, Some(Phase::Copied)), "{stop}");
    stage.target.on_call(|_, _| None);
    stage
}

async fn alone(stage: &Stage, given: Side) -> Vec<MoveStatus> {
    let status = run::status_of_one(stage.setup(), given).await.unwrap();
    let missing = if given == Side::Source { Side::Target } else { Side::Source };
    assert_eq!((status.missing, status.silent), (Some(missing), None));
    status.moves
}

#[tokio::test(start_paused = true)]
async fn status_of_one_cluster_shows_the_moves_out_of_it_and_into_it() {
    let stage = live().await;
    for given in [Side::Source, Side::Target] {
        let moves = alone(&stage, given).await;
        let [one] = moves.as_slice() else { panic!("{moves:?}") };
        let missing = if given == Side::Source { Side::Target } else { Side::Source };
        assert_eq!((one.decides, one.missing), (given, Some(missing)));
        assert!(one.record.phase.is_committed() && !one.elsewhere && !one.orphaned, "{one:?}");
    }
    let stage = copied().await;
    let moves = alone(&stage, Side::Source).await;
    assert!(matches!(moves.as_slice(), [one] if one.record.phase == Phase::Copied), "{moves:?}");
    assert!(alone(&stage, Side::Target).await.is_empty(), "up to the commit the source alone knows");
    let waiting = async |given| run::status_of_one(stage.setup(), given).await.unwrap().waiting_copies;
    let copies = waiting(Side::Target).await;
    let [copies] = copies.as_slice() else { panic!("{copies:?}") };
    assert_eq!((&copies.move_id, copies.clusters.len()), (&moves[0].record.move_id, 1));
    assert_eq!(waiting(Side::Source).await, []);
    for error in [PlaceError::Forbidden("not for jane".into()), PlaceError::Unreadable("no list".into())] {
        let failing = error.clone();
        stage.target.on_call(move |verb, key| {
            let lists = verb.starts_with("list") && key.group_kind.kind == "Cluster";
            lists.then(|| Fault::Before(failing.clone()))
        });
        let status = run::status_of_one(stage.setup(), Side::Target).await.unwrap();
        assert_eq!(status.waiting_copies, [], "{error}");
        let unread = status.unread_copies.unwrap_or_default();
        assert!(unread.contains(&error.to_string()), "{unread}");
    }
    stage.target.on_call(|_, _| None);
    run::resume(stage.setup()).await.unwrap();
    assert_eq!(waiting(Side::Target).await, [], "they run");
    assert_eq!(run::status_of_one(stage.setup(), Side::Target).await.unwrap().unread_copies, None);
    let stage = copied().await;
    // One that doesn't answer is called what it was given as.
    stage.target.on_call(|_, _| Some(Fault::Before(PlaceError::Unavailable("no route".into()))));
    let stop = run::status_of_one(stage.setup(), Side::Target).await.unwrap_err();
    assert!(stop.to_string().contains("in the target: no answer"), "{stop}");
    assert_eq!((stop.exit, stop.next), (Exit::Unreachable, Vec::new()));
}

/// As where the default kubeconfig is the target's.
#[tokio::test(start_paused = true)]
async fn status_of_the_same_cluster_twice_is_that_of_one() {
    let stage = live().await;
    let mut setup = stage.setup();
    setup.sides.source = setup.sides.target.clone();
    let status = run::status(setup).await.unwrap();
    assert_eq!(status.missing, Some(Side::Target));
    assert!(matches!(status.moves.as_slice(), [one] if one.missing == Some(Side::Source)), "{status:?}");
}

#[derive(Default)]
pub(crate) struct UnderWay(pub(crate) Mutex<Vec<MoveStatus>>);

impl Watcher for UnderWay {
    fn event(&self, event: Event) {
        if let Event::UnderWay { status } = event {
            self.0.lock().unwrap().push(*status);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_reports_the_moves_under_way() {
    for (stage, phase) in [(copied().await, Phase::Copied), (live().await, Phase::Released)] {
        for scope in [Namespaces::One("ns".into()), Namespaces::All] {
            let before = (picture(&stage.source), picture(&stage.target));
            let told = Arc::new(UnderWay::default());
            let mut setup = Setup { watcher: told.clone(), ..stage.setup() };
            setup.options.scope = Scope::new(scope);
            // What comes of it depends on how much is left in the source.
            let _ = run::plan(setup).await;
            let told = told.0.lock().unwrap();
            assert!(matches!(told.as_slice(), [one] if one.record.phase == phase), "{told:?}");
            assert_eq!((picture(&stage.source), picture(&stage.target)), before);
        }
    }
    let told = Arc::new(UnderWay::default());
    run::plan(Setup { watcher: told.clone(), ..Stage::new().setup() }).await.unwrap();
    assert!(told.0.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_is_reported_along_with_where_clusters_are() {
    let mut stage = Stage::new();
    stage.source.add_namespace("empty");
    let why = async |stage: &Stage, namespace: &str| {
        let setup = || {
            let scope = Scope::new(Namespaces::One(namespace.to_owned()));
            Setup { options: pivot_engine::Options { scope, ..stage.options.clone() }, ..stage.setup() }
        };
        let stops = [run::plan(setup()).await.unwrap_err(), run::start(setup()).await.unwrap_err()];
        assert_eq!(stops.each_ref().map(|stop| stop.exit), [Exit::Empty; 2]);
        assert_eq!(stops[0].to_string(), stops[1].to_string());
        stops[0].to_string()
    };
    assert_eq!(
        why(&stage, "nobody").await,
        "nothing to move: the source has no namespace nobody; there are Clusters in ns"
    );
    assert_eq!(
        why(&stage, "empty").await,
        "nothing to move: no Cluster, and nothing labelled to move, in namespace empty; there are Clusters in ns"
    );
    for namespace in ["a", "b", "c", "d", "e", "f"] {
        stage.source.add_namespace(namespace);
        let mut cluster = body(CLUSTERS, "Cluster", namespace, None);
        cluster["metadata"]["namespace"] = json!(namespace);
        stage.source.insert(cluster).unwrap();
    }
    assert!(why(&stage, "nobody").await.ends_with("there are Clusters in a, b, c, d, e and 2 more"));
    // Who may not look is not told.
    stage.source.on_call(|verb, key| {
        let hidden = verb.starts_with("list") && key.group_kind.kind == "Cluster" && key.namespace.is_none()
            || verb == "get" && key.group_kind.kind == "Namespace";
        hidden.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    assert_eq!(
        why(&stage, "nobody").await,
        "nothing to move: no Cluster, and nothing labelled to move, in namespace nobody"
    );
    stage = Stage::empty();
    assert_eq!(
        why(&stage, "ns").await,
        "nothing to move: no Cluster, and nothing labelled to move, in namespace ns; there are no Clusters in other namespaces either"
    );
}
