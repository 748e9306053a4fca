//! The tool whose format encrypted directories have, as its users run it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use pivot_lab::assets;
use tempfile::TempDir;

/// The tool, and a pair of keys that it made.
#[derive(Debug)]
pub struct Age {
    program: PathBuf,
    keys: TempDir,
}

impl Age {
    /// With new keys.
    pub async fn with_keys() -> Result<Self> {
        let binaries = assets::assets().await?.age().await?;
        let age =
            Self { program: binaries.age, keys: tempfile::Builder::new().prefix("pivot-age-").tempdir()? };
        run(Command::new(&binaries.keygen).arg("-o").arg(age.identity()))?;
        let recipient = run(Command::new(&binaries.keygen).arg("-y").arg(age.identity()))?;
        std::fs::write(age.recipients(), recipient)?;
        Ok(age)
    }

    /// The file of the secret key.
    pub fn identity(&self) -> PathBuf {
        self.keys.path().join("key.txt")
    }

    /// The file of the public key.
    pub fn recipients(&self) -> PathBuf {
        self.keys.path().join("recipients.txt")
    }

    /// Contents of an encrypted file.
    pub fn decrypt(&self, file: &Path) -> Result<Vec<u8>> {
        run(Command::new(&self.program).arg("--decrypt").arg("--identity").arg(self.identity()).arg(file))
    }

    /// Encrypts a file into another.
    pub fn encrypt(&self, from: &Path, to: &Path) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("--encrypt").arg("--recipients-file").arg(self.recipients()).arg("--output").arg(to);
        run(command.arg(from)).map(drop)
    }
}

fn run(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}
