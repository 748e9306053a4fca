//! Pivots in a cluster, as those who write them see them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use pivot_lab::{Crds, Server};
use serde_json::{Value, json};

use crate::host::{Host, Run};

const LIMIT: Duration = Duration::from_mins(4);

/// The Pivots of a cluster: in each namespace one, by the name `pivot`.
pub struct Pivots<'a>(&'a Server);

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("pivot-host.io", "v1alpha1", "Pivot"))
}

impl<'a> Pivots<'a> {
    /// Those of a cluster that has their definition.
    #[must_use]
    pub fn of(server: &'a Server) -> Self {
        Self(server)
    }

    /// Installs everything that a controller needs. No kubelet here would run its Deployment, but the server's validation of it is
    /// part of what is shown.
    pub async fn install(server: &'a Server) -> Result<Self> {
        Self::install_with(server, &[]).await
    }

    /// The same with more flags.
    pub async fn install_with(server: &'a Server, more: &[&str]) -> Result<Self> {
        let (definitions, others) = manifests(more).await?;
        server.install_crds(&definitions).await?;
        server.apply_values(others).await?;
        Ok(Self(server))
    }

    /// The CRDs among it, for a server that is about to start.
    pub async fn definitions(more: &[&str]) -> Result<Crds> {
        Ok(manifests(more).await?.0)
    }

    /// Those of a namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.0.client(), namespace, &resource())
    }

    /// Pivots of all namespaces.
    #[must_use]
    pub fn in_all_namespaces(&self) -> Api<DynamicObject> {
        Api::all_with(self.0.client(), &resource())
    }

    /// Asks for a move.
    pub async fn ask(&self, namespace: &str, spec: Value) -> Result<()> {
        let pivot = json!({
            "apiVersion": "pivot-host.io/v1alpha1", "kind": "Pivot",
            "metadata": {"name": "pivot", "namespace": namespace}, "spec": spec,
        });
        self.0.apply_values(vec![pivot]).await.map(drop)
    }

    /// What it shows.
    pub async fn shown(&self, namespace: &str) -> Result<Option<Value>> {
        let pivot = self.in_namespace(namespace).get_opt("pivot").await?;
        Ok(pivot.map(|pivot| pivot.data.get("status").cloned().unwrap_or_default()))
    }

    /// Waits until a condition has a status, and returns what is shown then.
    pub async fn until(
        &self,
        namespace: &str,
        (of, status): (&str, &str),
        running: &mut Run,
    ) -> Result<Value> {
        let begun = Instant::now();
        loop {
            let shown = self.shown(namespace).await?.unwrap_or_default();
            if condition(&shown, of)
                .is_some_and(|one| one.get("status").and_then(Value::as_str) == Some(status))
            {
                return Ok(shown);
            }
            ensure!(
                running.still_runs()? && begun.elapsed() < LIMIT,
                "{namespace}: {of} isn't {status}: {shown:#}\n{}",
                running.said()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Deletes it.
    pub async fn delete(&self, namespace: &str) -> Result<()> {
        self.in_namespace(namespace).delete("pivot", &Default::default()).await?;
        Ok(())
    }

    /// Waits until a deleted one is gone.
    pub async fn until_gone(&self, namespace: &str, running: &mut Run) -> Result<()> {
        let begun = Instant::now();
        while let Some(shown) = self.shown(namespace).await? {
            ensure!(
                running.still_runs()? && begun.elapsed() < LIMIT,
                "{namespace}: not gone: {shown:#}\n{}",
                running.said()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }
}

/// A condition that a Pivot shows.
#[must_use]
pub fn condition<'a>(shown: &'a Value, of: &str) -> Option<&'a Value> {
    let conditions = shown.get("conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find(|one| one.get("type").and_then(Value::as_str) == Some(of))
}

/// Everything that a controller needs: CRDs, and other objects.
async fn manifests(more: &[&str]) -> Result<(Crds, Vec<Value>)> {
    let words = ["generate", "controller", "--image", "registry.example.com/pivot-host:v1"];
    let list = Host::alone().run(&[&words[..], more].concat()).await?.done()?;
    let items = list.get("items").and_then(Value::as_array).context("a list has no items")?;
    let (definitions, others): (Vec<Value>, Vec<Value>) = items
        .iter()
        .cloned()
        .partition(|object| object.get("kind") == Some(&json!("CustomResourceDefinition")));
    Ok((definitions.into(), others))
}
