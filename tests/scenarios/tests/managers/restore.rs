//! A backup of a running management cluster, which is then lost, is restored into an empty one: its controllers continue with the
//! same machines.

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::Side;
use pivot_scenarios::host::Host;
use pivot_scenarios::state::dangling;
use tempfile::TempDir;

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

/// Starts a world, and backs its source up.
async fn world_with_backup() -> (World, TempDir) {
    let mut world = World::start(CLUSTER_API).await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    world.until_quiet(Side::Source).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let host = Host::out_of(world.server(Side::Source).kubeconfig());
    let path = dir.path().display().to_string();
    host.run(&["backup", &path, "-n", NAMESPACE]).await.unwrap().done().unwrap();
    (world, dir)
}

/// Restores a backup that is older than its machines. Returns the host of further commands, and the error.
async fn stop_restore(world: &World, backup: &TempDir) -> (Host, String) {
    let host = Host::into_server(world.server(Side::Target).kubeconfig())
        .with(&["--from-directory", &backup.path().display().to_string(), "--takeover-timeout", "5m"])
        .with_controllers();
    let restore = ["move", "--accept", "source-may-run"];
    let stop = host.run(&restore).await.unwrap().ends_with(5).unwrap().document().unwrap();
    (host, stop["message"].as_str().unwrap().to_owned())
}

/// The backup is older than a scale-down and a scale-up: a Machine has no node, and two nodes have no Machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stale_backups_create_and_delete_no_machine() {
    let (mut world, backup) = world_with_backup().await;
    for (replicas, machines) in [(1, 4), (3, 6)] {
        world.scale(Side::Source, replicas).await.unwrap();
        world.until_machines(Side::Source, machines).await.unwrap();
    }
    world.until_quiet(Side::Source).await.unwrap();
    let (nodes, torn_down) = (world.nodes().await.unwrap(), world.torn_down().unwrap());
    world.lose_source();

    let (host, error) = stop_restore(&world, &backup).await;
    let expected = [
        "Cluster shop/plain: no node has the provider ID of Machine shop/",
        "nodes of workers without a Machine: ",
    ];
    assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    let restored = world.until_quiet(Side::Target).await.unwrap();
    for object in restored.values().filter(|object| object["kind"] == "Cluster") {
        assert_eq!(object["spec"]["paused"], true, "{object}");
    }
    // A second look finds no other state.
    let again = host.run(&["resume"]).await.unwrap().ends_with(5).unwrap().document().unwrap();
    assert_eq!(again["message"], error);
    world.until_quiet(Side::Target).await.unwrap();
    assert_eq!((world.nodes().await.unwrap(), world.torn_down().unwrap()), (nodes, torn_down));
}

/// The backup is older than a scale-down: the copy of the lost Machine is dropped, and controllers continue with those that live.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_workers_are_dropped_before_controllers_run() {
    let (mut world, backup) = world_with_backup().await;
    world.scale(Side::Source, 1).await.unwrap();
    world.until_machines(Side::Source, 4).await.unwrap();
    world.until_quiet(Side::Source).await.unwrap();
    let (nodes, torn_down) = (world.nodes().await.unwrap(), world.torn_down().unwrap());
    assert_eq!((nodes.len(), torn_down.len()), (4, 1));
    world.lose_source();

    let (host, error) = stop_restore(&world, &backup).await;
    let expected = [
        "Cluster shop/plain: no node has the provider ID of Machine shop/plain-workers-",
        "; can be dropped: Machine shop/plain-workers-",
        ", so that MachineDeployment shop/plain-workers wants 1 replica",
    ];
    assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    host.run(&["resume", "--drop", "shop/plain"]).await.unwrap().done().unwrap();

    world.until_machines(Side::Target, 4).await.unwrap();
    let restored = world.until_quiet(Side::Target).await.unwrap();
    assert_eq!(dangling(&restored), Vec::<String>::new());
    let of_kind = |kind: &'static str| restored.values().filter(move |object| object["kind"] == kind);
    let of_plain = |object: &&serde_json::Value| object["metadata"]["name"] == "plain-workers";
    let deployment = of_kind("MachineDeployment").find(of_plain).unwrap();
    assert_eq!((&deployment["spec"]["replicas"], &deployment["status"]["replicas"]), (&1.into(), &1.into()));
    assert_eq!((of_kind("Machine").count(), of_kind("LabMachine").count()), (4, 4));
    assert!(of_kind("Cluster").all(|cluster| cluster["spec"]["paused"] != true));
    assert_eq!((world.nodes().await.unwrap(), world.torn_down().unwrap()), (nodes, torn_down.clone()));
    // Controllers act on the Cluster.
    world.scale(Side::Target, 2).await.unwrap();
    world.until_machines(Side::Target, 5).await.unwrap();
    assert_eq!(world.torn_down().unwrap(), torn_down);
}
