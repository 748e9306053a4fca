//! What is tried with the rack, one after the other: starting the operators and provisioning hosts takes longer than most moves.

use pivot_lab::observer::Side;
use pivot_lab::say;
use pivot_scenarios::sampling::is_nightly;
use tempfile::TempDir;

use super::caution::{
    move_that_a_webhook_refuses_changes_nothing, move_to_a_hanging_operator_changes_nothing,
    move_waits_for_an_inspected_host, move_with_pending_firmware_is_refused,
    move_without_working_plugin_is_refused,
};
use super::contrast::clusterctl_succeeds_while_hosts_are_deprovisioned;
use super::guide::guide_to_hosts_works_as_written;
use super::handover::hosts_keep_their_state_at_any_latency;
use super::plugins::Plugins;
use super::recorded::recorded_move_is_replayed_without_servers;
use super::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_hosts_keep_their_state() {
    let started = async {
        let mut world = World::start().await?;
        world.fill().await?;
        Ok::<_, anyhow::Error>(world)
    };
    // Hosts mostly wait while they are inspected and provisioned.
    let (mut world, plugins) = tokio::try_join!(started, Plugins::bundled()).unwrap();

    say("refusals");
    move_without_working_plugin_is_refused(&mut world, &plugins).await;
    move_with_pending_firmware_is_refused(&mut world, &plugins).await;
    move_that_a_webhook_refuses_changes_nothing(&mut world, &plugins).await;
    move_to_a_hanging_operator_changes_nothing(&mut world, &plugins).await;
    say("a busy host");
    move_waits_for_an_inspected_host(&mut world, &plugins).await;
    say("latencies");
    let recordings = TempDir::new().unwrap();
    let recording = recordings.path().join("move.jsonl");
    let side = hosts_keep_their_state_at_any_latency(&mut world, &plugins, Side::Target, &recording).await;
    say("the guide");
    guide_to_hosts_works_as_written(&mut world, &plugins, side).await;
    drop(world);
    say("the recording");
    recorded_move_is_replayed_without_servers(&recording, &plugins).await;
    if is_nightly() {
        say("the peer");
        clusterctl_succeeds_while_hosts_are_deprovisioned().await;
    }
}
