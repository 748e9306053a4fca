//! Metal3's operators and CRDs: found, never built.
//!
//! Acceptance tests for moving hosts need the real operators. No module proxy serves them, so whoever works on bare metal builds
//! both by hand and puts them where the lab looks: a folder with `baremetal-operator` and `capm3-manager`, and with `crds` and
//! `webhooks` unless `../shared/metal3-data` is next to the work tree. docs/maintainers.md lists the commits.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::beside;

const VARIABLE: &str = "PIVOT_HOST_METAL3";
/// The commits that tests expect, in the name of the cache's folder: builds of other commits are not mistaken for them.
const VERSION: &str = include_str!("metal3-version").trim_ascii();

/// The parts of Metal3.
#[derive(Debug, Clone)]
pub struct Metal3Files {
    /// The baremetal operator.
    pub operator: PathBuf,
    /// The Cluster API provider.
    pub provider: PathBuf,
    /// Directory of both projects' CRDs, without the labels that a move needs.
    pub crds: PathBuf,
    /// Webhook configurations of the baremetal operator.
    pub operator_webhooks: PathBuf,
    /// Webhook configurations of the Metal3 provider.
    pub provider_webhooks: PathBuf,
}

/// The folder that `PIVOT_HOST_METAL3` names, or the one in the lab's cache.
pub(super) fn folder(cache: &Path) -> PathBuf {
    env::var_os(VARIABLE).map_or_else(|| cache.join(format!("metal3-{VERSION}")), PathBuf::from)
}

/// # Errors
///
/// If one of them is missing.
pub(super) fn find_operators(folder: &Path) -> Result<Metal3Files> {
    let find = |name: &str| match folder.join(name) {
        program if program.is_file() => Ok(program),
        program => bail!("Metal3's operators can't run: {} is missing; {REMEDY}", program.display()),
    };
    let (operator, provider) = (find("baremetal-operator")?, find("capm3-manager")?);
    let webhooks = find_data(folder, "webhooks")?;
    Ok(Metal3Files {
        operator,
        provider,
        crds: find_crds(folder)?,
        operator_webhooks: webhooks.join("baremetal-operator.yaml"),
        provider_webhooks: webhooks.join("cluster-api-provider-metal3.yaml"),
    })
}

/// # Errors
///
/// If they are neither in the folder nor next to the work tree.
pub(super) fn find_crds(folder: &Path) -> Result<PathBuf> {
    find_data(folder, "crds")
}

fn find_data(folder: &Path, name: &str) -> Result<PathBuf> {
    let candidates = [folder.join(name), beside::shared("metal3-data").join(name)];
    match candidates.iter().find(|directory| directory.is_dir()) {
        Some(found) => Ok(found.clone()),
        None => {
            let [first, second] = candidates.each_ref().map(|directory| directory.display());
            bail!("Metal3's {name} are neither in {first} nor in {second}; {REMEDY}")
        }
    }
}

const REMEDY: &str =
    "build them as docs/maintainers.md describes, or set PIVOT_HOST_METAL3 to a folder that has them";

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn missing_operator_is_named_with_a_remedy() {
        let dir = tempfile::tempdir().unwrap();
        for data in ["crds", "webhooks"] {
            fs::create_dir(dir.path().join(data)).unwrap();
        }
        fs::write(dir.path().join("baremetal-operator"), "").unwrap();
        let error = find_operators(dir.path()).unwrap_err().to_string();
        assert!(error.contains("capm3-manager is missing") && error.contains(VARIABLE), "{error}");
        fs::write(dir.path().join("capm3-manager"), "").unwrap();
        let found = find_operators(dir.path()).unwrap();
        assert_eq!(found.crds, dir.path().join("crds"));
        assert_eq!(found.operator_webhooks, dir.path().join("webhooks/baremetal-operator.yaml"));
    }

    #[test]
    fn cache_entry_is_named_after_both_commits() {
        let (operator, provider) = VERSION.split_once('-').unwrap();
        let page = include_str!("../../../../docs/maintainers.md");
        for commit in [operator, provider] {
            assert!(page.contains(commit), "docs/maintainers.md does not name {commit}");
        }
        assert!(page.contains(&format!("metal3-{VERSION}")));
    }
}
