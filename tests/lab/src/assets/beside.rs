//! Folders beside the work tree: what some acceptance tests need and no module proxy serves.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const PROVIDERS: &str = "PIVOT_HOST_PROVIDERS";

/// The CRDs and cluster templates of real providers: `$PIVOT_HOST_PROVIDERS`, else `../shared/providers` beside the work tree.
pub fn providers() -> Result<PathBuf> {
    folder(env::var_os(PROVIDERS))?.with_context(|| {
        format!(
            "the providers' CRDs and templates are not in {} ({PROVIDERS} names another folder); \
             `cargo xtask test --without-providers` leaves this stage out",
            shared("providers").display()
        )
    })
}

/// The folder that the variable names, else the one beside the work tree; none if the variable isn't set and there is none.
fn folder(named: Option<OsString>) -> Result<Option<PathBuf>> {
    let Some(named) = named else {
        return Ok(Some(shared("providers")).filter(|folder| folder.is_dir()));
    };
    let folder = PathBuf::from(named);
    if !folder.is_dir() {
        bail!("{PROVIDERS} names {}, which is no folder", folder.display());
    }
    Ok(Some(folder))
}

/// The path of an entry of `../shared`, whether or not it exists.
pub(super) fn shared(name: &str) -> PathBuf {
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
        assert_eq!(folder(Some(dir.path().into())).unwrap().as_deref(), Some(dir.path()));
        let error = folder(Some(dir.path().join("none").into())).unwrap_err().to_string();
        assert!(error.contains(PROVIDERS) && error.contains("no folder"), "{error}");
        assert!(shared("providers").ends_with("shared/providers"));
    }
}
