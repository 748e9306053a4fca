//! Objects with a host's name that belong to users: firmware updates, update policies and data images.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use pivot_lab::observer::Side;
use serde_json::{Value, json};

use super::world::{HOST, LIMIT, NAMESPACE, World, objects_of, touch};

const COMPONENTS: &str = "HostFirmwareComponents.metal3.io";
const POLICY: &str = "HostUpdatePolicy.metal3.io";
const IMAGE: &str = "DataImage.metal3.io";
/// The free host whose firmware the operator has updated.
const UPDATED: &str = "u17";
/// The host of a machine with a data image and an update policy.
const EQUIPPED: &str = "u12";

/// Gives hosts of the source a firmware update, which the operator makes, an update policy, and an attached data image.
pub(crate) async fn add_companions(world: &World) -> Result<()> {
    let source = &world.pair.source;
    let policy = companion("HostUpdatePolicy", EQUIPPED, json!({"firmwareUpdates": "onReboot"}));
    let image = companion("DataImage", EQUIPPED, json!({"url": "http://172.22.0.1/images/config.iso"}));
    source.apply_values(vec![policy, image.clone(), wanted_update(UPDATED)]).await?;

    let hosts = objects_of(source, HOST).await?;
    touch(&hosts, EQUIPPED).await?;
    let policies = objects_of(source, POLICY).await?;
    until(&policies, EQUIPPED, "has an owner", |policy| !policy.owner_references().is_empty()).await?;
    let images = objects_of(source, IMAGE).await?;
    until(&images, EQUIPPED, "has a finalizer", |image| !image.finalizers().is_empty()).await?;
    // The simulated machine has no virtual media: the operator attaches it only when the host is switched on.
    let attached = json!({"status": {"attachedImage": image["spec"]}});
    images.patch_status(EQUIPPED, &PatchParams::default(), &Patch::Merge(attached)).await?;

    let components = objects_of(source, COMPONENTS).await?;
    until(&components, UPDATED, "was looked at", |object| change_detected(object) == Some(true)).await?;
    touch(&hosts, UPDATED).await?;
    until(&components, UPDATED, "was updated", |object| object.data["status"]["updates"][0].is_object())
        .await?;
    own(world, Side::Source, true).await?;
    until(&components, UPDATED, "is done", |object| change_detected(object) == Some(false)).await
}

/// Lets the operator of a side compare the updates with those that were made. It looks at them again if their owners change, or
/// after ten minutes. If it finds a difference, it prepares the host.
pub(crate) async fn compare_updates(world: &World, side: Side) -> Result<()> {
    let components = objects_of(world.server(side), COMPONENTS).await?;
    let before = components.get(UPDATED).await?.data["status"]["lastUpdated"].clone();
    // Nothing else shows that the operator has looked: it writes the status only if that differs.
    let spoiled = json!({"status": {"components": [{"component": "bios", "initialVersion": "0"}]}});
    components.patch_status(UPDATED, &PatchParams::default(), &Patch::Merge(spoiled)).await?;
    own(world, side, false).await?;
    until(&components, UPDATED, "was compared", |object| object.data["status"]["lastUpdated"] != before)
        .await?;
    own(world, side, true).await?;
    touch(&objects_of(world.server(side), HOST).await?, UPDATED).await
}

/// Asks for a firmware update of a host in use. Without a policy the operator doesn't make it.
pub(crate) async fn ask_for_update(world: &World, host: &str) -> Result<()> {
    world.pair.source.apply_values(vec![wanted_update(host)]).await?;
    let components = objects_of(&world.pair.source, COMPONENTS).await?;
    until(&components, host, "was looked at", |object| change_detected(object) == Some(true)).await
}

/// Takes that back.
pub(crate) async fn withdraw_update(world: &World, host: &str) -> Result<()> {
    let components = objects_of(&world.pair.source, COMPONENTS).await?;
    components.delete(host, &DeleteParams::default()).await?;
    Ok(())
}

/// Returns the part of the status that a move must keep. The operator recreates the rest.
pub(crate) fn kept_status(kind: &str, status: &Value) -> Option<Value> {
    match kind {
        COMPONENTS => Some(status["updates"].clone()),
        IMAGE => Some(status["attachedImage"].clone()),
        POLICY => Some(Value::Null),
        _ => None,
    }
}

fn wanted_update(host: &str) -> Value {
    let update = json!({"component": "bios", "url": "http://172.22.0.1/images/bios.bin"});
    companion("HostFirmwareComponents", host, json!({"updates": [update]}))
}

fn companion(kind: &str, host: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": kind,
        "metadata": {"name": host, "namespace": NAMESPACE},
        "spec": spec,
    })
}

/// Makes the host the owner of its updates, as the operator does for machines that report versions of their firmware.
async fn own(world: &World, side: Side, blocks: bool) -> Result<()> {
    let server = world.server(side);
    let host = objects_of(server, HOST).await?.get(UPDATED).await?;
    let mut owner = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "name": UPDATED, "uid": host.uid(),
    });
    if !blocks {
        owner["blockOwnerDeletion"] = false.into();
    }
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
    objects_of(server, COMPONENTS).await?.patch(UPDATED, &PatchParams::default(), &patch).await?;
    Ok(())
}

fn change_detected(object: &DynamicObject) -> Option<bool> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == "ChangeDetected")?;
    Some(found["status"] == "True")
}

async fn until(
    objects: &Api<DynamicObject>,
    name: &str,
    what: &str,
    is_so: impl Fn(&DynamicObject) -> bool,
) -> Result<()> {
    let start = Instant::now();
    let selected = ListParams::default().fields(&format!("metadata.name={name}"));
    while !objects.list(&selected).await?.iter().any(&is_so) {
        ensure!(start.elapsed() < LIMIT, "{} {name} never {what}", objects.resource_url());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
