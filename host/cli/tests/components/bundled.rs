//! The bundled plugins as components, built once.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

/// Root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The components.
pub(crate) fn components() -> &'static [PathBuf] {
    static BUILT: OnceLock<(TempDir, Vec<PathBuf>)> = OnceLock::new();
    let (_, built) = BUILT.get_or_init(|| {
        let (inputs, out) = ([root().join("wit"), root().join("sdk")], TempDir::new().unwrap());
        let inputs = inputs.each_ref().map(|path| &**path);
        let built = pivot_guests::build_guests(&root().join("plugins"), &inputs, out.path()).unwrap();
        assert_eq!(built.len(), 12);
        (out, built)
    });
    built
}
