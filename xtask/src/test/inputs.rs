//! Keys of stages: equal keys mean that a stage would run the same bytes on the same bytes.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::shell::{root, said};

/// Files that tests read or build while they run; the rest of the tree is in their executables.
const READ_BY_TESTS: [&str; 12] = [
    "examples",
    "plugins",
    "sdk",
    "tests/guests",
    "tests/scenarios/tests/restored",
    "wit",
    "docs/describe.md",
    "docs/differences-from-clusterctl.md",
    "docs/first-hour.md",
    "docs/guides",
    "docs/install.md",
    "docs/providers.md",
];

/// Digest over files, in the order in which they are added.
pub(super) struct Key(Sha256);

impl Key {
    pub(super) fn new(stage: &str) -> Self {
        let mut key = Self(Sha256::new());
        key.add(stage.as_bytes());
        key
    }

    /// Adds bytes with their length, so that no two sequences give the same digest.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(super) fn add_file(&mut self, path: &Path) -> Result<()> {
        let open = || fs::File::open(path).with_context(|| format!("read {}", path.display()));
        let (mut file, mut own, mut buffer) = (open()?, Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                count => own.update(buffer.get(..count).unwrap_or_default()),
            }
        }
        self.add(&own.finalize());
        Ok(())
    }

    /// Adds all files below a folder by content and by path from there: the folder itself may lie elsewhere next time. A missing
    /// folder adds nothing.
    pub(super) fn add_folder(&mut self, folder: &Path) -> Result<()> {
        self.add_below(folder, folder)
    }

    fn add_below(&mut self, root: &Path, folder: &Path) -> Result<()> {
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.sort();
        for path in paths {
            self.add(path.strip_prefix(root).unwrap_or(&path).as_os_str().as_encoded_bytes());
            if path.is_dir() {
                self.add_below(root, &path)?;
            } else {
                self.add_file(&path)?;
            }
        }
        Ok(())
    }

    /// Adds the tracked files that tests read while they run.
    pub(super) fn add_sources(&mut self) -> Result<()> {
        let root = root()?;
        let mut list = Command::new("git");
        list.current_dir(&root).args(["ls-files", "-z", "--"]).args(READ_BY_TESTS);
        for name in said(&mut list)?.split('\0').filter(|name| !name.is_empty()) {
            let path: PathBuf = root.join(name);
            // A deleted file is still tracked.
            if path.is_file() {
                self.add(name.as_bytes());
                self.add_file(&path)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(folder: &Path) -> String {
        let mut key = Key::new("lab");
        key.add_folder(folder).unwrap();
        key.finish()
    }

    #[test]
    fn keys_do_not_depend_on_where_a_folder_is() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["one", "other"] {
            fs::create_dir_all(dir.path().join(name).join("below")).unwrap();
            fs::write(dir.path().join(name).join("below/file"), "text").unwrap();
        }
        assert_eq!(key_of(&dir.path().join("one")), key_of(&dir.path().join("other")));
    }

    #[test]
    fn keys_change_with_names_and_contents() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        fs::write(&file, "1").unwrap();
        let first = key_of(dir.path());
        assert_eq!(first, key_of(dir.path()));
        fs::write(&file, "2").unwrap();
        let second = key_of(dir.path());
        fs::rename(&file, dir.path().join("b")).unwrap();
        let third = key_of(dir.path());
        assert!(first != second && second != third && first != third);
        assert_ne!(Key::new("lab").finish(), Key::new("unit").finish());
    }
}
