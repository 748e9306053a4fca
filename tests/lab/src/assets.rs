//! The binaries of the lab: built from Go modules once, then cached by version.
//!
//! Why not download releases: Go modules come with checksums that the Go tool verifies, from whatever module proxy the machine is
//! configured for, and they work on every platform Go supports. The price is a few minutes, once.
//!
//! The cache is outside the work tree, so that `cargo clean` and a second checkout cost nothing: `$PIVOT_HOST_CACHE`, else
//! `$XDG_CACHE_HOME/pivot-host`, else `~/.cache/pivot-host`. Groups are built on demand: a test that needs two API servers does
//! not wait for Cluster API's managers.

mod beside;
mod cache;
mod metal3;
mod provider_module;
mod providers;
mod recipes;

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use cache::Cache;
use recipes::Recipe;

pub use metal3::Metal3Files;
pub use providers::ProviderFiles;
pub use recipes::{CLUSTER_API, CLUSTER_API_NEWEST, CLUSTER_API_OLDER, CLUSTER_API_SILENT, ETCD, KUBERNETES};

/// Where the binaries are, or will be once they are requested.
#[derive(Debug, Clone)]
pub struct Assets {
    cache: Cache,
}

/// The binaries of a [`Server`](crate::Server).
#[derive(Debug, Clone)]
pub struct ServerBinaries {
    /// etcd.
    pub etcd: PathBuf,
    /// kube-apiserver.
    pub apiserver: PathBuf,
    /// kube-controller-manager, of which the lab runs the garbage collector and the namespace controller.
    pub controller_manager: PathBuf,
}

/// Cluster API's own managers.
#[derive(Debug, Clone)]
pub struct ManagerBinaries {
    /// The core manager.
    pub core: PathBuf,
    /// The kubeadm bootstrap manager.
    pub bootstrap: PathBuf,
    /// The kubeadm control-plane manager.
    pub control_plane: PathBuf,
}

/// Webhook configurations of Cluster API's own managers, as files.
#[derive(Debug, Clone)]
pub struct WebhookManifests {
    /// Configurations of the core manager.
    pub core: PathBuf,
    /// Configurations of the kubeadm bootstrap manager.
    pub bootstrap: PathBuf,
    /// Configurations of the kubeadm control-plane manager.
    pub control_plane: PathBuf,
}

/// The tool that encrypts files, and the one that makes its keys.
#[derive(Debug, Clone)]
pub struct AgeBinaries {
    /// age.
    pub age: PathBuf,
    /// age-keygen.
    pub keygen: PathBuf,
}

/// Directories of CRDs from the Cluster API repository: without the labels that `clusterctl init` adds.
#[derive(Debug, Clone)]
pub struct CrdDirs {
    /// Cluster, Machine, ClusterClass, ClusterResourceSet, IPAM, …
    pub core: PathBuf,
    /// KubeadmConfig and its template.
    pub bootstrap: PathBuf,
    /// KubeadmControlPlane and its template.
    pub control_plane: PathBuf,
    /// clusterctl's inventory: Provider.
    pub inventory: PathBuf,
}

/// Finds the cache; builds nothing yet.
pub async fn assets() -> Result<Assets> {
    let dir = lab_dir()?;
    tokio::fs::create_dir_all(&dir)
        .await
        .with_context(|| format!("create the lab's cache {}", dir.display()))?;
    Ok(Assets { cache: Cache::new(dir) })
}

impl Assets {
    /// etcd, and kube-apiserver and kube-controller-manager of one Kubernetes release.
    ///
    /// If `KUBEBUILDER_ASSETS` is set, the binaries there are used instead of building those of the default release.
    pub async fn servers(&self, version: &str) -> Result<ServerBinaries> {
        let kubernetes = async |name| match recipes::kubernetes(name, version) {
            recipe if version == KUBERNETES => self.ready_made_or(name, recipe).await,
            recipe => self.cache.get(recipe).await,
        };
        Ok(ServerBinaries {
            etcd: self.ready_made_or("etcd", recipes::etcd()).await?,
            apiserver: kubernetes("kube-apiserver").await?,
            controller_manager: kubernetes("kube-controller-manager").await?,
        })
    }

    /// The peer that moves are compared with.
    pub async fn clusterctl(&self) -> Result<PathBuf> {
        self.clusterctl_of(CLUSTER_API).await
    }

    /// The same of another release.
    pub async fn clusterctl_of(&self, version: &str) -> Result<PathBuf> {
        self.cache.get(recipes::cluster_api("clusterctl", version, "./cmd/clusterctl")).await
    }

    /// The client of API servers, of the lab's default release.
    pub async fn kubectl(&self) -> Result<PathBuf> {
        self.cache.get(recipes::kubectl()).await
    }

    /// The tool whose format encrypted directories have.
    pub async fn age(&self) -> Result<AgeBinaries> {
        Ok(AgeBinaries {
            age: self.cache.get(recipes::age("age", "./cmd/age")).await?,
            keygen: self.cache.get(recipes::age("age-keygen", "./cmd/age-keygen")).await?,
        })
    }

    /// An OCI registry.
    pub async fn registry(&self) -> Result<PathBuf> {
        self.cache.get(recipes::registry()).await
    }

    /// Another client of registries.
    pub async fn regctl(&self) -> Result<PathBuf> {
        self.cache.get(recipes::regctl()).await
    }

    /// One that makes a directory of what it pulls.
    pub async fn oras(&self) -> Result<PathBuf> {
        self.cache.get(recipes::oras()).await
    }

    /// One that knows components. It takes some minutes to build.
    pub async fn wkg(&self) -> Result<PathBuf> {
        self.cache.get(recipes::wkg()).await
    }

    /// The tool that signs what others verify. It takes some minutes to build.
    pub async fn cosign(&self) -> Result<PathBuf> {
        self.cache.get(recipes::cosign()).await
    }

    /// The tool that renders charts.
    pub async fn helm(&self) -> Result<PathBuf> {
        self.cache.get(recipes::helm()).await
    }

    /// The tool that installs plugins of kubectl.
    pub async fn krew(&self) -> Result<PathBuf> {
        self.cache.get(recipes::krew()).await
    }

    /// The tool that patches manifests.
    pub async fn kustomize(&self) -> Result<PathBuf> {
        self.cache.get(recipes::kustomize()).await
    }

    /// Cluster API's core, bootstrap and control-plane managers, of one release.
    pub async fn managers(&self, version: &str) -> Result<ManagerBinaries> {
        let kubeadm = |name, package| recipes::cluster_api(name, version, package);
        Ok(ManagerBinaries {
            core: self.cache.get(recipes::cluster_api_core(version)).await?,
            bootstrap: self.cache.get(kubeadm("capi-bootstrap", "./bootstrap/kubeadm")).await?,
            control_plane: self.cache.get(kubeadm("capi-control-plane", "./controlplane/kubeadm")).await?,
        })
    }

    /// Cluster API's CRDs, of one release.
    pub async fn crds(&self, version: &str) -> Result<CrdDirs> {
        let root = self.cache.get(recipes::cluster_api_crds(version)).await?;
        Ok(CrdDirs {
            core: root.join("core"),
            bootstrap: root.join("bootstrap"),
            control_plane: root.join("control-plane"),
            inventory: root.join("inventory"),
        })
    }

    /// Webhook configurations of Cluster API's managers, of one release.
    pub async fn webhooks(&self, version: &str) -> Result<WebhookManifests> {
        let root = self.cache.get(recipes::cluster_api_webhooks(version)).await?;
        let find = |manager: &str| root.join(manager).join("manifests.yaml");
        Ok(WebhookManifests {
            core: find("core"),
            bootstrap: find("bootstrap"),
            control_plane: find("control-plane"),
        })
    }

    /// Metal3's operators and CRDs.
    ///
    /// # Errors
    ///
    /// If they are neither in the cache nor in the folder that `PIVOT_HOST_METAL3` names.
    pub fn metal3(&self) -> Result<Metal3Files> {
        metal3::find_operators(&metal3::folder(self.cache.dir()))
    }

    /// The directory of Metal3's CRDs, for tests that need no operator.
    ///
    /// # Errors
    ///
    /// If they are neither with the operators nor in `../shared/metal3-data`.
    pub fn metal3_crds(&self) -> Result<PathBuf> {
        metal3::find_crds(&metal3::folder(self.cache.dir()))
    }

    /// CRDs and cluster templates of a provider such as `aws`. None if it is in no Go module, and neither in the folder that
    /// `PIVOT_HOST_PROVIDERS` names nor in `../shared/providers`.
    ///
    /// # Errors
    ///
    /// If the variable is set and the folder lacks the provider.
    pub async fn provider(&self, name: &str) -> Result<Option<ProviderFiles>> {
        providers::find(&self.cache, name).await
    }

    async fn ready_made_or(&self, name: &str, recipe: Recipe) -> Result<PathBuf> {
        match ready_made(env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from).as_deref(), name) {
            Some(path) => Ok(path),
            None => self.cache.get(recipe).await,
        }
    }
}

fn ready_made(dir: Option<&Path>, name: &str) -> Option<PathBuf> {
    dir.map(|dir| dir.join(name)).filter(|path| path.is_file())
}

/// The part of the cache that is the lab's.
pub(crate) fn lab_dir() -> Result<PathBuf> {
    Ok(cache_dir()?.join("lab"))
}

fn cache_dir() -> Result<PathBuf> {
    if let Some(dir) = env::var_os("PIVOT_HOST_CACHE") {
        return Ok(dir.into());
    }
    let base = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cache")));
    Ok(base
        .context("no place for the lab's cache: set PIVOT_HOST_CACHE, XDG_CACHE_HOME or HOME")?
        .join("pivot-host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_ready_is_used_only_if_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("etcd"), "").unwrap();
        assert_eq!(ready_made(Some(dir.path()), "etcd"), Some(dir.path().join("etcd")));
        assert_eq!(ready_made(Some(dir.path()), "kube-controller-manager"), None);
        assert_eq!(ready_made(None, "etcd"), None);
    }
}
