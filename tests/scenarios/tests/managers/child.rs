//! The whole life of a cluster that a parent makes: it is handed its own management over an agent's link, lives without its parent,
//! and is taken back to be deleted.

use std::collections::BTreeMap;

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::{Side, check};
use pivot_lab::{Dump, Observer, Rules, say};
use pivot_scenarios::host::Run;
use pivot_scenarios::link::Link;
use pivot_scenarios::pivots::Pivots;
use pivot_scenarios::state::dangling;
use serde_json::{Value, json};

use super::handover::{OBJECTS, truths};
use super::midway::{Change, carried_out};
use super::world::{NAMESPACE, World};

fn patience() -> Value {
    json!({"pauseTimeoutSeconds": 180, "takeoverTimeoutSeconds": 300})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_handed_over_lives_alone_and_is_taken_back_to_be_deleted() {
    let mut world = World::start(CLUSTER_API).await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    let link = Link::new().unwrap();
    Pivots::install(world.server(Side::Source)).await.unwrap();
    let mut controller = link.controller(world.server(Side::Source).kubeconfig()).await.unwrap();
    let agent = link.agent(world.server(Side::Target).kubeconfig()).await.unwrap();
    go(&mut world, Side::Source, json!({"to": {"agent": "edge"}}), &mut controller).await;
    assert_eq!(world.torn_down().unwrap(), Vec::<String>::new());

    // The parent is away: its API server, its managers, its provider, its controller. The agent calls in vain.
    controller.kill().unwrap();
    world.take_source_away().await.unwrap();
    for change in [Change::ScaleUp, Change::ScaleDown, Change::Rollout, Change::Remediation] {
        if change == Change::Remediation {
            world.add_health_check(Side::Target).await.unwrap();
        }
        change.begin(&world, Side::Target).await;
        carried_out(&mut world, Side::Target, change).await;
        say(format_args!("{change:?} without a parent"));
    }
    agent.kill().unwrap();

    world.bring_source_back().await.unwrap();
    let mut controller = link.controller(world.server(Side::Source).kubeconfig()).await.unwrap();
    let home = world.server(Side::Target).kubeconfig();
    let _agent = link.agent_with(home, &["--role", "source"]).await.unwrap();
    let pivots = Pivots::of(world.server(Side::Source));
    pivots.delete(NAMESPACE).await.unwrap();
    pivots.until_gone(NAMESPACE, &mut controller).await.unwrap();
    let torn_down = world.torn_down().unwrap();
    let back = json!({"from": {"agent": "edge", "namespace": NAMESPACE}, "to": {}});
    go(&mut world, Side::Target, back, &mut controller).await;
    assert_eq!(world.torn_down().unwrap(), torn_down);

    for cluster in ["plain", "classy"] {
        world.delete(Side::Source, "Cluster.cluster.x-k8s.io", cluster).await.unwrap();
    }
    world.until_machines(Side::Source, 0).await.unwrap();
    assert_eq!(world.nodes().await.unwrap(), BTreeMap::new());
}

/// Has everything moved to the other side, and checks what was observed meanwhile.
async fn go(world: &mut World, from: Side, mut spec: Value, controller: &mut Run) {
    let before = moved(world.until_quiet(from).await.unwrap());
    let nodes = world.nodes().await.unwrap();
    let observer =
        Observer::start(world.server(from), world.server(from.other()), &[NAMESPACE]).await.unwrap();
    spec["options"] = patience();
    let pivots = Pivots::of(world.server(Side::Source));
    pivots.ask(NAMESPACE, spec).await.unwrap();
    pivots.until(NAMESPACE, ("Succeeded", "True"), controller).await.unwrap();
    // The target's controllers get time for mistakes.
    let (version, wanted) = (world.version(from), truths(&before, world.version(from)));
    let is_back = |dump: &Dump| truths(&moved(dump.clone()), version) == wanted;
    let after = moved(world.until(from.other(), is_back).await.unwrap());
    let log = observer.finish_log().await.unwrap();
    let broken: Vec<_> =
        check(&log, &Rules::new().target_at_work()).iter().map(ToString::to_string).collect();
    assert_eq!(broken, Vec::<String>::new());
    let left = moved(world.server(from).dump(&[NAMESPACE]).await.unwrap());
    assert_eq!(left.keys().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(dangling(&after), Vec::<String>::new());
    assert_eq!(truths(&after, version), wanted);
    assert_eq!(world.nodes().await.unwrap(), nodes);
}

/// What the move is about, and not what asks for it.
fn moved(mut dump: Dump) -> Dump {
    dump.retain(|key, _| key.kind != "Pivot.pivot-host.io");
    dump
}
