//! One run of `cargo xtask test`: built executables and remembered results, shared by its stages.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::history::{History, Passed};
use super::inputs::Key;
use super::stages::Stage;
use crate::executables::{Executable, build_tested_example, build_tested_pivot_host, build_tests};
use crate::metal3;
use crate::shell::{root, said};

/// Variables that name folders outside of the work tree with inputs of tests, and the folders that are read if one isn't set.
const FOLDERS: [(&str, &str); 2] =
    [("PIVOT_HOST_PROVIDERS", "../shared/providers"), ("PIVOT_HOST_METAL3", "../shared/metal3-data")];

/// The stages of one run share this.
pub(super) struct Session {
    pub(super) history: History,
    /// Names of the tests that the stages of this run need.
    names: Vec<&'static str>,
    /// These tests, once the first of them was asked for.
    built: Vec<Executable>,
    program: Option<PathBuf>,
    /// Whether stages run again whose inputs have not changed since they passed.
    fresh: bool,
}

impl Session {
    pub(super) fn new(stages: &[Stage], fresh: bool) -> Self {
        let names = stages.iter().filter_map(|stage| stage.named_test()).map(|(name, _)| name).collect();
        Self { history: History::read(), names, built: Vec::new(), program: None, fresh }
    }

    /// Builds what a stage runs. The first stage with a named test builds those of all stages.
    pub(super) fn build_for(&mut self, stage: Stage) -> Result<()> {
        if stage.named_test().is_some() && self.built.is_empty() {
            self.built = build_tests(&self.names)?;
        }
        if (stage.named_test().is_some() || stage == Stage::Page) && self.program.is_none() {
            self.program = Some(build_tested_pivot_host()?);
        }
        Ok(())
    }

    /// The program that tests start.
    pub(super) fn program(&self) -> Result<&Path> {
        self.program.as_deref().context("pivot-host was not built for this stage")
    }

    /// A test that was built for a stage.
    pub(super) fn named_test(&self, name: &str) -> Result<&Executable> {
        let index = self.names.iter().position(|known| *known == name);
        index.and_then(|index| self.built.get(index)).with_context(|| format!("{name} was not built"))
    }

    /// Returns the run in which a stage passed with the same inputs, if that counts.
    pub(super) fn passed_earlier(&self, stage: Stage, key: &str) -> Option<Passed> {
        if self.fresh { None } else { self.history.passed_with(&stage.to_string(), key).cloned() }
    }

    /// Returns the key of all that a stage runs and reads, for stages whose result depends on nothing else.
    pub(super) fn key(&self, stage: Stage) -> Result<Option<String>> {
        let mut key = Key::new(&stage.to_string());
        let root = root()?;
        if let Some((name, _)) = stage.named_test() {
            if stage.needs_servers() {
                key.add_file(self.program()?)?;
            }
            key.add_file(&self.named_test(name)?.path)?;
            key.add_sources()?;
            for (variable, folder) in FOLDERS {
                let named = env::var_os(variable).map(PathBuf::from);
                key.add(folder.as_bytes());
                key.add_folder(&named.unwrap_or_else(|| root.join(folder)))?;
            }
            if stage == Stage::Metal3 {
                key.add_folder(&metal3::folder()?)?;
            }
            key.add(env::var_os("KUBEBUILDER_ASSETS").unwrap_or_default().as_encoded_bytes());
            return Ok(Some(key.finish()));
        }
        match stage {
            Stage::Page => {
                key.add_file(self.program()?)?;
                key.add_file(&build_tested_example("directory")?)?;
                key.add_folder(&root.join("host/cli/src/output/page"))?;
            }
            Stage::Deny => {
                for file in ["Cargo.lock", "deny.toml"] {
                    key.add_file(&root.join(file))?;
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(key.finish()))
    }
}

/// Remembers that a stage passed with a key.
pub(super) fn passed_now(key: String, tests: usize) -> Passed {
    Passed::now(key, commit(), tests)
}

/// Returns the commit that is checked out, in short; a question mark outside of a repository.
fn commit() -> String {
    let name = || {
        let mut command = Command::new("git");
        said(command.current_dir(root()?).args(["rev-parse", "--short", "HEAD"]))
    };
    name().map_or_else(|_| "?".to_owned(), |name| name.trim().to_owned())
}
