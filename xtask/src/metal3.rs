//! Metal3's operators, which come from no package registry: whether the lab has them.

use std::path::{Path, PathBuf};

use crate::shell::cache;

const VARIABLE: &str = "PIVOT_HOST_METAL3";
/// Names the folder in the lab's cache, by the commits of both operators.
const VERSION: &str = include_str!("../../tests/lab/src/assets/metal3-version").trim_ascii();
const PROGRAMS: [&str; 2] = ["baremetal-operator", "capm3-manager"];
/// Says which commits the tests expect, and where the lab looks for them.
const PAGE: &str = "docs/maintainers.md";

/// Returns why tests with Metal3's operators can't run here; none if they can. A folder that a variable names is always used, so
/// that a wrong one fails.
pub(crate) fn missing() -> Option<String> {
    if std::env::var_os(VARIABLE).is_some() {
        return None;
    }
    let folder = cache().ok()?.join("lab").join(format!("metal3-{VERSION}"));
    missing_in(&folder)
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
