//! Metal3's operators: prebuilt, or built.
//!
//! Acceptance tests for moving hosts need them, but they are not available everywhere: their Go modules are in subdirectories of
//! repositories that no module proxy serves whole. So the lab first looks for a folder (`$PIVOT_HOST_METAL3`, else
//! `../shared/metal3` beside the work tree) with `bin/baremetal-operator.xz`, `bin/capm3-manager.xz`, and `crds/`. Without one it
//! builds them from a checkout of the same commits.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::beside;
use super::cache::Cache;
use super::recipes::{self, Repository};

const VARIABLE: &str = "PIVOT_HOST_METAL3";
const OPERATOR: &str = "baremetal-operator";
const PROVIDER: &str = "capm3-manager";

const OPERATOR_REPOSITORY: Repository = Repository {
    url: "https://github.com/metal3-io/baremetal-operator",
    commit: "02aa5059e3482f9dc3b5115c3a45cec4b000ae16",
    crds: "config/base/crds/bases",
};
const PROVIDER_REPOSITORY: Repository = Repository {
    url: "https://github.com/metal3-io/cluster-api-provider-metal3",
    commit: "2f6d76b88b8a20f3030e8c6e00f4c441bb46825b",
    crds: "config/crd/bases",
};

/// The parts of Metal3.
#[derive(Debug, Clone)]
pub struct Metal3Files {
    /// The baremetal operator.
    pub operator: PathBuf,
    /// The Cluster API provider.
    pub provider: PathBuf,
    /// Directories of both projects' CRDs, without the labels that a move needs.
    pub crds: Vec<PathBuf>,
}

pub(super) async fn find(cache: &Cache) -> Result<Metal3Files> {
    match beside::folder(VARIABLE, "metal3", env::var_os(VARIABLE))? {
        Some(folder) => {
            let operator = unpacked(cache, &folder, OPERATOR).await?;
            let provider = unpacked(cache, &folder, PROVIDER).await?;
            Ok(Metal3Files { operator, provider, crds: vec![folder.join("crds")] })
        }
        None => built(cache).await.with_context(|| {
            format!(
                "Metal3's operators are not in {} (PIVOT_HOST_METAL3 names another folder) and can't be built here; \
                 `cargo xtask test --without-metal3` leaves this stage out",
                beside::the_work_tree("metal3").display()
            )
        }),
    }
}

async fn unpacked(cache: &Cache, folder: &Path, name: &'static str) -> Result<PathBuf> {
    let archive = folder.join("bin").join(format!("{name}.xz"));
    let packed = tokio::fs::read(&archive).await.with_context(|| format!("read {}", archive.display()))?;
    let digest: String = Sha256::digest(packed).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    cache.get(recipes::unpacked(name, archive, &digest)).await
}

async fn built(cache: &Cache) -> Result<Metal3Files> {
    let operator = cache.get(recipes::checkout(OPERATOR, OPERATOR_REPOSITORY)).await?;
    let provider = cache.get(recipes::checkout(PROVIDER, PROVIDER_REPOSITORY)).await?;
    Ok(Metal3Files {
        crds: vec![operator.join("crds"), provider.join("crds")],
        operator: operator.join("manager"),
        provider: provider.join("manager"),
    })
}
