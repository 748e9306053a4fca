//! The connections of a run: few, and not missed if they break.

use std::time::{Duration, Instant};

use pivot_lab::proxy::Break;
use pivot_lab::{Observer, Rules, say};
use pivot_scenarios::shape;

use crate::stage::{Stage, all, clean, same};

/// Each has 43 objects.
const NAMESPACES: [&str; 3] = ["shop", "bank", "mail"];

async fn filled() -> Stage {
    let stage = Stage::start().await;
    let objects = NAMESPACES.iter().flat_map(|namespace| shape::cluster(namespace, 3)).collect();
    stage.pair.source.apply_values(objects).await.unwrap();
    stage
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_opens_few_connections() {
    let stage = filled().await;
    for round_trip in [Duration::ZERO, Duration::from_millis(20)] {
        let wires = stage.relayed().await;
        wires.delay(round_trip);
        let begun = Instant::now();
        let words = [&["plan", "-A"][..], &shape::WITHOUT_PLUGIN].concat();
        let plan = wires.host.run(&words).await.unwrap().done().unwrap();
        let (source, target) = (wires.source.connections(), wires.target.connections());
        say(format_args!(
            "{round_trip:?}: {source} connections to the source, {target} to the target, {:.2?}",
            begun.elapsed()
        ));
        assert_eq!(plan["steps"].as_array().map(Vec::len), Some(129), "{plan:#}");
        assert!(source <= 8 && target <= 8, "{source} connections to the source, {target} to the target");
    }
}

/// Everything that is under way on a connection fails with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_outlives_its_connections() {
    let stage = filled().await;
    let before = all(&stage.pair.source, &NAMESPACES).await;
    let wires = stage.relayed().await;
    wires.delay(Duration::from_millis(5));
    let observer = Observer::of(&stage.pair, &NAMESPACES).await.unwrap();
    let mut run = wires.host.start(&[&["move", "-A"][..], &shape::WITHOUT_PLUGIN].concat()).await.unwrap();
    let mut cuts = 0;
    while run.still_runs().unwrap() {
        for (wire, how) in [(&wires.target, Break::Cut), (&wires.source, Break::Reset)] {
            tokio::time::sleep(Duration::from_millis(150)).await;
            wire.sever(how);
            wire.heal();
            cuts += 1;
        }
    }
    run.end().await.unwrap().done().unwrap();
    assert!(cuts > 5, "{cuts} cuts");
    same(before, all(&stage.pair.target, &NAMESPACES).await);
    assert!(all(&stage.pair.source, &NAMESPACES).await.is_empty());
    stage.tidy(&NAMESPACES).await;
    clean(observer, &Rules::new()).await;
}
