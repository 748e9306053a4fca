//! Plugins that are still being compiled when a command begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pivot_core::GroupKind;
use pivot_engine::hooks::ServedKinds;
use pivot_engine::{Exit, Failure, Halt, Plugins, Setup, Sides, diagnosis, run};
use pivot_memory::Fault;
use pivot_places::{DirectoryPlace, Place, PlaceError};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::stage::{CLUSTERS, Stage, halter, picture};

/// A stage, and what is told when its source's Machines are listed.
fn listed() -> (Stage, Arc<Notify>) {
    let (stage, listed) = (Stage::new(), Arc::new(Notify::new()));
    let told = listed.clone();
    stage.source.on_call(move |verb, key| {
        if verb == "list" && key.group_kind.is(CLUSTERS, "Machine") {
            told.notify_one();
        }
        None
    });
    (stage, listed)
}

/// They would wait for each other for ever otherwise.
#[tokio::test(start_paused = true)]
async fn the_source_is_read_while_plugins_are_compiled() {
    for plan in [true, false] {
        let (stage, listed) = listed();
        let plugins = Plugins::from_future(async move {
            listed.notified().await;
            Some(Vec::new())
        });
        let setup = Setup { plugins, ..stage.setup() };
        let done = async {
            match plan {
                true => run::plan(setup).await.map(drop),
                false => run::start(setup).await.map(drop),
            }
        };
        tokio::time::timeout(Duration::from_secs(60), done).await.expect("one waits for the other").unwrap();
    }
}

/// Loads no plugin, and checks the kinds that the sides serve.
fn asking(expected: bool) -> Plugins {
    let served = ServedKinds::default();
    let asked = served.clone();
    let load = async move {
        assert!(asked.may_include(&[GroupKind::new(CLUSTERS, "*")]).await);
        assert_eq!(asked.may_include(&[GroupKind::new("absent.io", "Kind")]).await, expected);
        Some(Vec::new())
    };
    Plugins::from_future(load).with_served_kinds(served)
}

#[tokio::test(start_paused = true)]
async fn plugins_learn_served_kinds() {
    let stage = Stage::new();
    let done = run::plan(Setup { plugins: asking(false), ..stage.setup() });
    tokio::time::timeout(Duration::from_secs(60), done).await.expect("plugins wait for ever").unwrap();
}

#[tokio::test(start_paused = true)]
async fn kinds_of_an_absent_side_are_unknown() {
    let (stage, files) = (Stage::new(), tempfile::tempdir().unwrap());
    let target: Arc<dyn Place> = Arc::new(DirectoryPlace::to_write(files.path()).unwrap());
    let sides = Sides { target, ..stage.setup().sides };
    let done = diagnosis::diagnose(Setup { plugins: asking(true), sides, ..stage.setup() });
    tokio::time::timeout(Duration::from_secs(60), done).await.expect("plugins wait for ever").unwrap();
}

// proves: T14
#[tokio::test(start_paused = true)]
async fn a_move_whose_plugins_are_refused_leaves_no_trace() {
    let (stage, listed) = listed();
    let before = (picture(&stage.source), picture(&stage.target));
    let plugins = Plugins::from_future(async move {
        listed.notified().await;
        None
    });
    let stop = run::start(Setup { plugins, ..stage.setup() }).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::PluginsRefused), "{stop}");
    assert_eq!((stop.exit, stop.phase), (Exit::Plugin, None));
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    assert!(stage.source.keys().iter().all(|key| key.group_kind.kind != "Lease"));
}

/// A server that doesn't answer is given up after a while; what is wrong with a plugin is known before.
#[tokio::test(start_paused = true)]
async fn refused_plugins_are_reported_rather_than_a_server_that_does_not_answer() {
    let stage = Stage::new();
    stage.target.on_call(|_, _| Some(Fault::Before(PlaceError::Unavailable("no route".into()))));
    let plugins = Plugins::from_future(async { None });
    let stop = run::plan(Setup { plugins, ..stage.setup() }).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Plugin, "{stop}");
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_renewed_while_plugins_are_compiled() {
    let (stage, _) = listed();
    let renewals = Arc::new(AtomicUsize::new(0));
    let counted = renewals.clone();
    stage.source.on_call(move |verb, key| {
        if verb == "patch" && key.group_kind.kind == "Lease" {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        None
    });
    let renewed = renewals.clone();
    let plugins = Plugins::from_future(async move {
        sleep(Duration::from_secs(60)).await;
        assert!(renewed.load(Ordering::SeqCst) >= 10, "{renewed:?}");
        Some(Vec::new())
    });
    run::start(Setup { plugins, ..stage.setup() }).await.unwrap();
    assert!(renewals.load(Ordering::SeqCst) >= 10);
}

#[tokio::test(start_paused = true)]
async fn a_signal_ends_the_wait_for_plugins() {
    let (stage, listed) = listed();
    let halter = halter();
    let (halts, setup) = (
        halter.clone(),
        Setup { plugins: Plugins::from_future(std::future::pending()), halter, ..stage.setup() },
    );
    tokio::spawn(async move {
        listed.notified().await;
        halts.halt(Halt::Signal(15));
    });
    let stop = run::start(setup).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::Terminated, None), "{stop}");
    assert!(stage.source.keys().iter().all(|key| key.group_kind.kind != "Lease"));
}
