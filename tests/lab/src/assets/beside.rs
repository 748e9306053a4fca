//! The folder `../shared` next to the work tree: data that tests need and no module proxy serves.

use std::path::{Path, PathBuf};

/// The path of an entry, whether or not it exists.
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
    fn shared_is_next_to_the_work_tree() {
        let work_tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        assert_eq!(shared("providers"), work_tree.parent().unwrap().join("shared/providers"));
    }
}
