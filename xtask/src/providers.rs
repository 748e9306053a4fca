//! Files of vSphere and OpenStack, which come from no package registry: whether the tests of providers find them.

use std::path::Path;

use anyhow::Result;

use crate::shell::root;

const VARIABLE: &str = "PIVOT_HOST_PROVIDERS";
/// The folder that is read if the variable isn't set.
const FOLDER: &str = "../shared/providers";
/// Says what the folder must have.
const PAGE: &str = "docs/providers.md";

/// Returns why clusters of these providers don't move here; none if they do. A folder that the variable names is always used, so that
/// a wrong one fails.
pub(crate) fn missing() -> Result<Option<String>> {
    if std::env::var_os(VARIABLE).is_some() {
        return Ok(None);
    }
    Ok(missing_in(&root()?.join(FOLDER)))
}

fn missing_in(folder: &Path) -> Option<String> {
    let absent = ["vsphere", "openstack"].into_iter().find(|provider| !folder.join(provider).is_dir())?;
    Some(format!("no {absent} in {FOLDER}, and {VARIABLE} is not set ({PAGE} describes the folder)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_needs_both_providers() {
        let dir = tempfile::tempdir().unwrap();
        for (provider, missing) in [("vsphere", true), ("openstack", false)] {
            assert!(missing_in(dir.path()).is_some());
            std::fs::create_dir(dir.path().join(provider)).unwrap();
            assert_eq!(missing_in(dir.path()).is_some(), missing, "{provider}");
        }
    }
}
