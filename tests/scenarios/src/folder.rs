//! A folder in which programs are run, with nothing of the machine's own configuration.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::host::binary;

/// The folder, which is everybody's home.
#[derive(Debug)]
pub struct Folder {
    dir: TempDir,
    /// What each program finds in its environment, besides `HOME` and `PATH`.
    environment: Vec<(String, String)>,
    network: bool,
}

impl Folder {
    /// An empty one.
    pub fn new() -> Result<Self> {
        Ok(Self { dir: tempfile::tempdir()?, environment: Vec::new(), network: true })
    }

    /// With a variable in the environment.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.environment.retain(|(there, _)| there != name);
        self.environment.push((name.to_owned(), value.as_ref().display().to_string()));
        self
    }

    /// Without any network, not even a loopback.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { network: false, ..self }
    }

    /// A path in it.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// Runs pivot-host, which has to end with this code; returns what it wrote to stdout and stderr.
    pub fn host(&self, code: i32, words: &[&str]) -> Result<(String, String)> {
        self.run(&binary()?, code, words)
    }

    /// Runs another program.
    pub fn run(&self, program: &Path, code: i32, words: &[&str]) -> Result<(String, String)> {
        let mut command = match self.network {
            true => Command::new(program),
            false => {
                let mut alone = Command::new("unshare");
                alone.args(["--map-root-user", "--net"]).arg(program);
                alone
            }
        };
        command.args(words).current_dir(self.dir.path()).env_clear();
        command.env("HOME", self.dir.path()).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let Output { status, stdout, stderr } =
            command.output().with_context(|| format!("start {}", program.display()))?;
        let (stdout, stderr) = (String::from_utf8(stdout)?, String::from_utf8(stderr)?);
        if status.code() != Some(code) {
            bail!("{} {}: {status}, not {code}\n{stdout}{stderr}", program.display(), words.join(" "));
        }
        Ok((stdout, stderr))
    }
}
