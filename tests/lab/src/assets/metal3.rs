//! Metal3's operators and CRDs: found, never built.
//!
//! Acceptance tests for moving hosts need the real operators. No module proxy serves them, so whoever works on bare metal builds
//! both by hand and puts them where the lab looks: a folder with `baremetal-operator` and `capm3-manager`, and with `crds` unless
//! `../shared/metal3-data/crds` is next to the work tree. docs/maintainers.md lists the commits.

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
    Ok(Metal3Files {
        operator: find("baremetal-operator")?,
        provider: find("capm3-manager")?,
        crds: find_crds(folder)?,
    })
}

/// # Errors
///
/// If they are neither in the folder nor next to the work tree.
pub(super) fn find_crds(folder: &Path) -> Result<PathBuf> {
    let candidates = [folder.join("crds"), beside::shared("metal3-data").join("crds")];
    match candidates.iter().find(|directory| directory.is_dir()) {
        Some(found) => Ok(found.clone()),
        None => {
            let [first, second] = candidates.each_ref().map(|directory| directory.display());
            bail!("Metal3's CRDs are neither in {first} nor in {second}; {REMEDY}")
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
        fs::create_dir(dir.path().join("crds")).unwrap();
        fs::write(dir.path().join("baremetal-operator"), "").unwrap();
        let error = find_operators(dir.path()).unwrap_err().to_string();
        assert!(error.contains("capm3-manager is missing") && error.contains(VARIABLE), "{error}");
        fs::write(dir.path().join("capm3-manager"), "").unwrap();
        assert_eq!(find_operators(dir.path()).unwrap().crds, dir.path().join("crds"));
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
