//! Folders beside the work tree: what some acceptance tests need and no module proxy serves.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const PROVIDERS: &str = "PIVOT_HOST_PROVIDERS";

/// The CRDs and cluster templates of real providers: `$PIVOT_HOST_PROVIDERS`, else `../shared/providers` beside the work tree.
pub fn providers() -> Result<PathBuf> {
    folder(PROVIDERS, "providers", env::var_os(PROVIDERS))?.with_context(|| {
        format!(
            "the providers' CRDs and templates are not in {} ({PROVIDERS} names another folder); \
             `cargo xtask test --without-providers` leaves this stage out",
            the_work_tree("providers").display()
        )
    })
}

/// The folder that a variable names, else the one beside the work tree; none if the variable isn't set and there is none.
pub(super) fn folder(variable: &str, name: &str, said: Option<OsString>) -> Result<Option<PathBuf>> {
    let Some(said) = said else {
        return Ok(Some(the_work_tree(name)).filter(|folder| folder.is_dir()));
    };
    let folder = PathBuf::from(said);
    if !folder.is_dir() {
        bail!("{variable} says {}, which is no folder", folder.display());
    }
    Ok(Some(folder))
}

pub(super) fn the_work_tree(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // tests/lab of the work tree.
    let beside = here.ancestors().nth(3).unwrap_or(here);
    beside.join("shared").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_named_has_to_be_there() {
        let dir = tempfile::tempdir().unwrap();
        let named = |path: PathBuf| folder("PIVOT_HOST_METAL3", "metal3", Some(path.into()));
        assert_eq!(named(dir.path().into()).unwrap().as_deref(), Some(dir.path()));
        let error = named(dir.path().join("none")).unwrap_err().to_string();
        assert!(error.contains("PIVOT_HOST_METAL3") && error.contains("no folder"), "{error}");
        assert!(the_work_tree("metal3").ends_with("shared/metal3"));
    }
}
