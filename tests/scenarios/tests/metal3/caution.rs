//! Obstacles to moving hosts are found before anything is paused: no plugin that knows them, or a host that is being worked on.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use pivot_lab::observer::{Log, Side};
use pivot_lab::proxy::{Fault, Moment, Rule, Times};
use pivot_lab::{Dump, Observer, Server, say};
use pivot_scenarios::state::{belongings, difference, touched};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::companions::{ask_for_update, withdraw_update};
use super::hosts;
use super::plugins::Plugins;
use super::world::{HOST, LIMIT, NAMESPACE, PAUSED, World, host, objects_of};

const HOSTS: &str = "metal3-hosts";
const MOVE: [&str; 5] = ["move", "-n", NAMESPACE, "--check-timeout", "5m"];

/// From the source, which stays as it is.
pub(crate) async fn move_without_working_plugin_is_refused(world: &mut World, bundled: &Plugins) {
    let unchanged = world.until_quiet(Side::Source).await.unwrap();
    refused(world, &unchanged, None, 3, "--accept no-plugin=BareMetalHost.metal3.io").await;
    let without = bundled.copy().unwrap();
    without.rewrite(HOSTS, "enabled = false").unwrap();
    refused(world, &unchanged, Some(&without), 3, "--accept no-plugin=BareMetalHost.metal3.io").await;
    let failing = bundled.copy().unwrap();
    failing.rewrite(HOSTS, "config = { hold-consumd = true }").unwrap();
    refused(world, &unchanged, Some(&failing), 6, "hold-consumd").await;
    let trapping = bundled.copy().unwrap();
    trapping.replace(r#"memory = "512MiB""#, r#"memory = "64KiB""#).unwrap();
    refused(world, &unchanged, Some(&trapping), 6, HOSTS).await;
}

/// A move with these plugins is refused with this code and for this reason, with the source unchanged at every moment.
async fn refused(world: &mut World, unchanged: &Dump, plugins: Option<&Plugins>, code: i32, reason: &str) {
    let observer = Observer::of(&world.pair, &[NAMESPACE]).await.unwrap();
    let directory = plugins.map(Plugins::path);
    let flags = directory.iter().flat_map(|path| ["--plugins", path]);
    let flags: Vec<&str> = MOVE.into_iter().chain(flags).collect();
    let ended = world.host(Side::Source, Duration::ZERO).run(&flags).await.unwrap().ends_with(code).unwrap();
    assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing is changed on either side"), "{}", ended.stderr);

    let log = observer.finish_log().await.unwrap();
    assert_eq!(paused(&log), Vec::<String>::new());
    assert_eq!(difference(unchanged, &world.until_quiet(Side::Source).await.unwrap()), "");
    assert_eq!(world.pair.target.dump(&[NAMESPACE]).await.unwrap().len(), 0);
    for server in [&world.pair.source, &world.pair.target] {
        assert_eq!(belongings(server).await.unwrap(), Vec::<String>::new());
    }
}

/// A firmware update that its operator has not made stops the move before anything is paused.
pub(crate) async fn move_with_pending_firmware_is_refused(world: &mut World, plugins: &Plugins) {
    ask_for_update(world, "u11").await.unwrap();
    let unchanged = world.until_quiet(Side::Source).await.unwrap();
    let reason = "host metal3/u11: its HostFirmwareComponents asks for a change that is not made yet";
    refused(world, &unchanged, Some(plugins), 3, reason).await;
    withdraw_update(world, "u11").await.unwrap();
}

/// A host from before its operator had this rule: the source stores it, and the target's webhook refuses its copy.
pub(crate) async fn move_that_a_webhook_refuses_changes_nothing(world: &mut World, plugins: &Plugins) {
    let spec = json!({"online": false, "disablePowerOff": true});
    add_host_past_webhooks(&world.pair.source, "u22", spec).await.unwrap();
    let unchanged = world.until_quiet(Side::Source).await.unwrap();
    let reason = "node can't simultaneously have online set to false and have power off disabled";
    refused(world, &unchanged, Some(plugins), 3, reason).await;
    for (kind, name) in [(HOST, "u22"), ("Secret", "u22-bmc")] {
        let objects = objects_of(&world.pair.source, kind).await.unwrap();
        objects.delete(name, &DeleteParams::default()).await.unwrap();
    }
}

/// The target's operator hangs: its server can't call the webhooks of hosts.
pub(crate) async fn move_to_a_hanging_operator_changes_nothing(world: &mut World, plugins: &Plugins) {
    let unchanged = world.until_quiet(Side::Source).await.unwrap();
    world.freeze_hosts_operator(Side::Target).unwrap();
    // The first answer may be about any kind of the operator.
    let reason = ".metal3.io\": failed to call webhook: ";
    refused(world, &unchanged, Some(plugins), 9, reason).await;
    world.thaw_hosts_operator(Side::Target).unwrap();
}

/// Adds a paused host to the rack, while the server doesn't ask the webhooks of its operator.
async fn add_host_past_webhooks(server: &Server, name: &str, spec: Value) -> Result<()> {
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(server.client());
    let is_operators = |one: &&ValidatingWebhookConfiguration| {
        one.webhooks.iter().flatten().any(|webhook| webhook.name == "baremetalhost.metal3.io")
    };
    let registered = configurations.list(&ListParams::default()).await?;
    let found = registered.iter().find(is_operators).context("the operator's webhooks aren't registered")?;
    configurations.delete(&found.name_any(), &DeleteParams::default()).await?;
    let [mut host, secret] = host(name, json!({"rack": "two"}), spec);
    host["metadata"]["annotations"] = json!({PAUSED: "for ever"});
    // The server notices a moment later that the configuration is gone.
    let start = Instant::now();
    while let Err(refused) = server.apply_values(vec![host.clone()]).await {
        ensure!(start.elapsed() < LIMIT, "{name} is always refused: {refused:#}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    server.apply_values(vec![secret]).await?;
    let metadata = ObjectMeta { name: found.metadata.name.clone(), ..ObjectMeta::default() };
    configurations
        .create(&PostParams::default(), &ValidatingWebhookConfiguration { metadata, ..found.clone() })
        .await?;
    Ok(())
}

/// Moves to the target, with one more host.
pub(crate) async fn move_waits_for_an_inspected_host(world: &mut World, plugins: &Plugins) {
    // The inspection's results, the last step before the operator considers it done, are answered once the move was seen to
    // wait: a busy machine may need longer until then than any delay.
    let (waits, waited) = oneshot::channel::<()>();
    let held = Fault::action(Moment::After, async move {
        let _ = waited.await;
    });
    world.line.faults().add(Rule::new(Times::Nth(1), held, |seen| {
        seen.is_mutating() && seen.path.contains("/hardwaredata")
    }));
    world.add_host("u21").await.unwrap();
    world.until_state("u21", "inspecting").await.unwrap();
    let observer = Observer::of(&world.pair, &[NAMESPACE]).await.unwrap();
    let directory = plugins.path();
    let flags: Vec<&str> = MOVE.into_iter().chain(["--plugins", &directory]).collect();
    let mut run = world.host(Side::Source, Duration::ZERO).start(&flags).await.unwrap();
    run.until_it_says("host metal3/u21: it is inspecting").await.unwrap();
    let dump = world.pair.source.dump(&[NAMESPACE]).await.unwrap();
    assert_eq!(touched(&dump), Vec::<String>::new(), "it waits before it pauses");
    waits.send(()).unwrap();
    world.until_moved(Side::Target, run.end()).await.unwrap().done().unwrap();

    let after = world.until_quiet(Side::Target).await.unwrap();
    let log = observer.finish_log().await.unwrap();
    let journey = |side| hosts::journeys(&log, side).remove("u21").unwrap_or_default();
    let (source, target) = (journey(Side::Source), journey(Side::Target));
    say(format_args!("the host at work was {source:?} in the source, then {target:?} in the target"));
    assert_eq!(source.first().map(String::as_str), Some("inspecting, OK"));
    assert_eq!(source.last().map(String::as_str), Some("available, OK"));
    assert_eq!(target, ["", "available, OK"]);
    assert!(after.contains_key(&pivot_lab::ObjectKey::new("HardwareData.metal3.io", NAMESPACE, "u21")));
}

/// Source objects that were seen paused or marked as part of a move.
fn paused(log: &Log) -> Vec<String> {
    let events = log.events.iter().skip(log.started).filter(|event| event.side == Side::Source);
    let paused = events.filter(|event| {
        event.object.pointer("/spec/paused") == Some(&true.into())
            || event.object.to_string().contains("pivot-host.io/")
            || (event.key.kind == HOST && event.object.pointer("/metadata/deletionTimestamp").is_some())
    });
    paused.map(|event| event.key.to_string()).collect()
}
