//! Makes a server serve CRDs.
//!
//! An Established CRD is not necessarily served yet, and the garbage collector does not know its kind for up to half a minute.
//! Tests that start too early fail one time in ten; so this waits for both.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::{Crds, Pair, Server};

const CRD_LIMIT: Duration = Duration::from_mins(3);

impl Pair {
    /// [`Server::install_crds`] on both sides.
    pub async fn install_crds(&self, crds: &Crds) -> Result<()> {
        tokio::try_join!(self.source.install_crds(crds), self.target.install_crds(crds)).map(drop)
    }
}

impl Server {
    /// Creates CRDs on a running server, waits until they are served, and lets the garbage collector see them.
    pub async fn install_crds(&self, crds: &Crds) -> Result<()> {
        if self.create_crds(crds).await? { self.refresh_controllers().await } else { Ok(()) }
    }

    /// Creates CRDs that are not there yet, and waits until all are served. Returns true if any was created.
    pub(super) async fn create_crds(&self, crds: &Crds) -> Result<bool> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let crds = read(crds)?;
        let create =
            async |crd: &CustomResourceDefinition| match api.create(&PostParams::default(), crd).await {
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
                other => other.map(|_| true).with_context(|| format!("create CRD {}", crd.name_any())),
            };
        let created = futures::future::try_join_all(crds.iter().map(create)).await?;
        self.wait_for_kinds(&crds).await?;
        Ok(created.contains(&true))
    }

    /// Waits until CRDs that the server has from its start are served.
    pub(super) async fn wait_for_crds(&self, crds: &Crds) -> Result<()> {
        self.wait_for_kinds(&read(crds)?).await
    }

    pub(super) async fn wait_for_kinds(&self, crds: &[CustomResourceDefinition]) -> Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let start = Instant::now();
        for crd in crds {
            while !is_served(&self.client, crd).await {
                if start.elapsed() > CRD_LIMIT {
                    let status = api.get(&crd.name_any()).await?.status;
                    bail!("CRD {} is not served: {status:?}", crd.name_any());
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }
}

fn read(crds: &Crds) -> Result<Vec<CustomResourceDefinition>> {
    let read = |crd: &Value| serde_json::from_value(crd.clone()).context("read a CRD");
    crds.objects().iter().map(read).collect()
}

/// Established is what the CRD reports; clients need its path to answer.
async fn is_served(client: &Client, crd: &CustomResourceDefinition) -> bool {
    let mut served = crd.spec.versions.iter().filter(|version| version.served);
    let answers = async |version: &str| {
        let resources = client.list_api_group_resources(&format!("{}/{version}", crd.spec.group)).await;
        resources
            .is_ok_and(|list| list.resources.iter().any(|resource| resource.name == crd.spec.names.plural))
    };
    match served.next() {
        Some(version) => answers(&version.name).await,
        None => true,
    }
}
