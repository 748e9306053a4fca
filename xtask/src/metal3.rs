//! Metal3's operators, CRDs and webhooks, which come from no package registry: whether the lab has them.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::shell::{cache, root};

const VARIABLE: &str = "PIVOT_HOST_METAL3";
/// Names the folder in the lab's cache, by the commits of both operators.
const VERSION: &str = include_str!("../../tests/lab/src/assets/metal3-version").trim_ascii();
/// CRDs and webhooks that may be next to the work tree.
const DATA: &str = "../shared/metal3-data";
const PROGRAMS: [&str; 2] = ["baremetal-operator", "capm3-manager"];
/// Says which commits the tests expect, and where the lab looks for them.
const PAGE: &str = "docs/maintainers.md";

/// Returns why tests with Metal3's operators can't run here; none if they can. A folder that a variable names is always used, so
/// that a wrong one fails.
pub(crate) fn missing() -> Option<String> {
    if std::env::var_os(VARIABLE).is_some() {
        return None;
    }
    missing_in(&folder().ok()?).or_else(|| missing_data("webhooks").ok()?)
}

/// Returns why tests do without the CRDs of Metal3 here; none if they have them.
pub(crate) fn missing_crds() -> Result<Option<String>> {
    missing_data("crds")
}

fn missing_data(name: &str) -> Result<Option<String>> {
    let candidates = [folder()?.join(name), root()?.join(DATA).join(name)];
    let [first, _] = &candidates;
    let is_missing = !candidates.iter().any(|folder| folder.is_dir());
    Ok(is_missing
        .then(|| format!("neither {} nor {DATA}/{name} exists ({PAGE} describes them)", first.display())))
}

/// The folder that the variable names, or the one in the lab's cache.
pub(crate) fn folder() -> Result<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(named) => Ok(named.into()),
        None => Ok(cache()?.join("lab").join(format!("metal3-{VERSION}"))),
    }
}

fn missing_in(folder: &Path) -> Option<String> {
    let absent = |program: &&&str| !PathBuf::from(folder).join(program).is_file();
    let program = PROGRAMS.iter().find(absent)?;
    Some(format!("no {program} in {} ({PAGE} says how to get it)", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_needs_both_operators() {
        let dir = tempfile::tempdir().unwrap();
        for (program, missing) in [("baremetal-operator", true), ("capm3-manager", false)] {
            assert!(missing_in(dir.path()).is_some());
            std::fs::write(dir.path().join(program), "").unwrap();
            assert_eq!(missing_in(dir.path()).is_some(), missing, "{program}");
        }
    }
}
