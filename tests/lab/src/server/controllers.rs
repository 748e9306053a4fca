//! The controllers that delete: if a move leaves an object without its owner, tests must see it collected.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use super::{Server, commands};
use crate::process::Process;

const START_LIMIT: Duration = Duration::from_mins(5);

/// A ConfigMap whose owner does not exist: it disappears as soon as the garbage collector works.
const PROBE: &str = "lab-garbage-collector-probe";

impl Server {
    /// Starts the garbage collector and the namespace controller, restarting them if they run, and waits until garbage is
    /// collected.
    ///
    /// The garbage collector looks for new kinds only every 30 s; a restarted one sees the kinds of new CRDs at once.
    pub async fn start_controllers(&self) -> Result<()> {
        self.start_controllers_in(&mut *self.controllers.lock().await).await
    }

    /// Stops the garbage collector and the namespace controller.
    pub async fn stop_controllers(&self) {
        *self.controllers.lock().await = None;
    }

    /// Returns true if the garbage collector and the namespace controller run.
    pub(super) async fn has_controllers(&self) -> bool {
        self.controllers.lock().await.is_some()
    }

    /// Makes running controllers see new kinds; stopped ones stay stopped.
    pub(super) async fn refresh_controllers(&self) -> Result<()> {
        let mut running = self.controllers.lock().await;
        if running.is_some() { self.start_controllers_in(&mut running).await } else { Ok(()) }
    }

    async fn start_controllers_in(&self, running: &mut Option<Process>) -> Result<()> {
        *running = None;
        let log = self.dir.path().join("kube-controller-manager.log");
        let command = commands::controllers(&self.binaries, &self.kubeconfig);
        let mut process = Process::spawn("kube-controller-manager", &command, log).await?;

        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), "kube-system");
        let probe = serde_json::from_value(json!({
            "metadata": { "name": PROBE, "ownerReferences": [
                { "apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": "00000000-0000-4000-8000-000000000000" }
            ]}
        }))?;
        maps.create(&PostParams::default(), &probe)
            .await
            .context("ask the garbage collector for a sign of life")?;
        process
            .until("collecting garbage", START_LIMIT, async || matches!(maps.get_opt(PROBE).await, Ok(None)))
            .await?;
        *running = Some(process);
        Ok(())
    }
}
