//! The rest of a site, as the guide expects it: Deployments, and an Ironic at one address that both sides share.
//!
//! The lab's operators are processes, and have no Ironic. So nothing runs for these Deployments: their status is written here, as
//! Kubernetes would write it. A stand-in for Ironic answers at the address, whichever side has it.

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use pivot_lab::Server;
use pivot_lab::observer::Side;
use pivot_scenarios::ironic::{Ironic, State};
use serde_json::{Value, json};

use super::world::World;

/// The namespace of the baremetal operator and of Ironic.
const OPERATOR: &str = "baremetal-operator-system";
/// The namespace of the other providers.
const PROVIDERS: &str = "capm3-system";
/// The Deployment of Ironic, and its container.
const IRONIC: &str = "ironic";

/// A Deployment: its namespace, name, provider, container and image. The baremetal operator and Ironic are no providers.
type Part = (&'static str, &'static str, Option<&'static str>, &'static str, &'static str);

const PARTS: [Part; 4] = [
    (OPERATOR, "baremetal-operator-controller-manager", None, "manager", "baremetal-operator"),
    (OPERATOR, IRONIC, None, IRONIC, "ironic"),
    (
        PROVIDERS,
        "capm3-controller-manager",
        Some("infrastructure-metal3"),
        "manager",
        "cluster-api-provider-metal3",
    ),
    (PROVIDERS, "ipam-controller-manager", Some("ipam-metal3"), "manager", "ip-address-manager"),
];

/// Both sides of the site.
pub(crate) struct Site {
    ironic: Ironic,
}

impl Site {
    /// Adds the Deployments, and the configuration of Ironic, to both sides.
    pub(crate) async fn build(world: &World) -> Result<Self> {
        let ironic = Ironic::start(None).await?;
        ironic.is(State::Up);
        let endpoint = format!("http://127.0.0.1:{}/v1/", ironic.port);
        let settings = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "ironic-bmo-configmap", "namespace": OPERATOR},
            "data": {"PROVISIONING_IP": "127.0.0.1", "IRONIC_ENDPOINT": endpoint},
        });
        for side in [Side::Source, Side::Target] {
            let objects = PARTS.map(deployment).into_iter().chain([settings.clone()]).collect();
            world.server(side).apply_values(objects).await?;
        }
        Ok(Self { ironic })
    }

    /// Returns the endpoints that `metal3-endpoints` may probe, as `plugins.toml` lists them.
    pub(crate) fn probes(&self) -> String {
        let [service, port] = [format!("{OPERATOR}/{IRONIC}"), self.ironic.port.to_string()];
        format!(r#"probes = ["127.0.0.1:{port}", "127.0.0.1:6180", "{service}:6385", "{service}:6180"]"#)
    }

    /// Returns a script that edits `plugins.toml` as the page says. The stand-in for Ironic has another port. `readiness` must not wait
    /// for the Cluster, as in all moves of this lab.
    pub(crate) fn editor(&self) -> String {
        let edits = [
            format!(r#"s|"\*:6385"|"127.0.0.1:{}"|"#, self.ironic.port),
            r#"s|"\*:6180"|"127.0.0.1:6180"|"#.to_owned(),
            format!(r#"s|"\*/\*:|"{OPERATOR}/{IRONIC}:|g"#),
            r#"s|^\[plugins\.readiness\]$|&\nconfig = { severity = { clusters = "warn" } }|"#.to_owned(),
        ];
        let edits: Vec<String> = edits.iter().map(|edit| format!("-e '{edit}'")).collect();
        format!("sed -i {} \"$1\"\n", edits.join(" "))
    }
}

/// Returns the names of the Deployments.
pub(crate) fn deployment_names() -> [&'static str; 4] {
    PARTS.map(|(_, name, ..)| name)
}

fn deployment((namespace, name, provider, container, image): Part) -> Value {
    let mut labels = json!({"app": name});
    if let Some(provider) = provider {
        labels["cluster.x-k8s.io/provider"] = provider.into();
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": container, "image": image}]},
            },
        },
        "status": status(1, 1),
    })
}

/// The status of a Deployment all of whose Pods run.
fn status(replicas: i32, generation: i64) -> Value {
    json!({
        "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": replicas, "availableReplicas": replicas,
        "conditions": [{"type": "Available", "status": "True", "reason": "Lab", "message": ""}],
    })
}

/// Switches the Ironic of a side on or off.
pub(crate) async fn scale_ironic(server: &Server, replicas: i32) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    ironics(server).patch(IRONIC, &PatchParams::default(), &patch).await?;
    follow_scale(server).await.map(drop)
}

/// Writes the status that the Deployment of Ironic has once its Pods were started or ended. Returns their number.
pub(crate) async fn follow_scale(server: &Server) -> Result<i32> {
    let ironic = ironics(server).get(IRONIC).await?;
    let replicas = ironic.spec.replicas.context("the Deployment has no scale")?;
    let generation = ironic.metadata.generation.unwrap_or_default();
    let patch = Patch::Merge(json!({"status": status(replicas, generation)}));
    ironics(server).patch_status(IRONIC, &PatchParams::default(), &patch).await?;
    Ok(replicas)
}

fn ironics(server: &Server) -> Api<Deployment> {
    Api::namespaced(server.client(), OPERATOR)
}

/// Removes the labels with which free hosts move. The lab sets them when it starts.
pub(crate) async fn remove_labels_of_hosts(server: &Server) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client());
    let labels =
        json!({"clusterctl.cluster.x-k8s.io": null, "clusterctl.cluster.x-k8s.io/move-hierarchy": null});
    let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
    definitions.patch("baremetalhosts.metal3.io", &PatchParams::default(), &patch).await?;
    Ok(())
}
