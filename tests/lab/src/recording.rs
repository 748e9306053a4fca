//! Answers of other programs, kept in the lab's cache by what they depend on.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::assets;

/// A place in the cache for one answer.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
}

impl Recording {
    /// The place of an answer that depends on `key`: versions of programs, and all of their input.
    pub fn find(name: &str, key: &impl Serialize) -> Result<Self> {
        Self::find_in(&assets::lab_dir()?.join("recordings"), name, key)
    }

    /// The same in another directory.
    pub fn find_in(dir: &Path, name: &str, key: &impl Serialize) -> Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
        let digest = Sha256::digest(serde_json::to_vec(key)?);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { path: dir.join(format!("{name}-{digest}.json")) })
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the answer, if it was recorded.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        if !self.path.exists() {
            return Ok(None);
        }
        let content = fs::read(&self.path).with_context(|| format!("read {}", self.path.display()))?;
        serde_json::from_slice(&content).with_context(|| format!("parse {}", self.path.display())).map(Some)
    }

    /// Records an answer. Readers never see a part of it.
    pub fn write<T: Serialize>(&self, answer: &T) -> Result<()> {
        let dir = self.path.parent().context("a recording outside of directories")?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&serde_json::to_vec(answer)?)?;
        file.persist(&self.path).with_context(|| format!("write {}", self.path.display()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_keys_find_an_answer() {
        let dir = tempfile::tempdir().unwrap();
        let read = |key: &[&str]| -> Option<Vec<u8>> {
            Recording::find_in(dir.path(), "peer", &key).unwrap().read().unwrap()
        };
        assert_eq!(read(&["v1", "shapes"]), None);
        Recording::find_in(dir.path(), "peer", &["v1", "shapes"]).unwrap().write(&vec![7_u8]).unwrap();
        assert_eq!(read(&["v1", "shapes"]), Some(vec![7]));
        assert_eq!(read(&["v2", "shapes"]), None);
    }
}
