//! A backup of a running management cluster, which is then lost, is restored into an empty one: its controllers continue with the
//! same machines.

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::Side;
use pivot_scenarios::host::Host;
use pivot_scenarios::state::dangling;

use super::handover::{OBJECTS, truths};
use super::world::{NAMESPACE, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_cluster_is_restored_from_a_directory_and_no_machine_is_replaced() {
    let mut world = World::start(CLUSTER_API).await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    let before = world.until_quiet(Side::Source).await.unwrap();
    let nodes = world.nodes().await.unwrap();

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().display().to_string();
    let host = Host::out_of(world.server(Side::Source).kubeconfig());
    let copy = ["move", "-n", NAMESPACE, "--to-directory", &path, "--pause-timeout", "3m"];
    host.run(&copy).await.unwrap().done().unwrap();
    // The source continues until it is lost: the backup leaves nothing paused.
    let after = world.until_quiet(Side::Source).await.unwrap();
    assert_eq!(truths(&after, CLUSTER_API), truths(&before, CLUSTER_API));
    world.lose_source();

    let host = Host::into_server(world.server(Side::Target).kubeconfig()).with_controllers();
    let restore =
        ["move", "--from-directory", &path, "--accept", "source-may-run", "--takeover-timeout", "5m"];
    host.run(&restore).await.unwrap().done().unwrap();
    let restored = world.until_quiet(Side::Target).await.unwrap();
    assert_eq!(restored.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(dangling(&restored), Vec::<String>::new());
    assert_eq!(truths(&restored, CLUSTER_API), truths(&before, CLUSTER_API));
    assert_eq!(world.nodes().await.unwrap(), nodes);

    world.scale(Side::Target, 3).await.unwrap();
    world.until_machines(Side::Target, 6).await.unwrap();
    assert_eq!(world.torn_down().unwrap(), Vec::<String>::new());
}
