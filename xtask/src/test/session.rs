//! One run of `cargo xtask test`: built executables and remembered results, shared by its stages.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::history::{History, Passed};
use super::inputs::Key;
use super::stages::Stage;
use crate::executables::{Executable, build_tested_example, build_tested_pivot_host, build_tests};
use crate::shell::{root, said};

pub(super) struct Session {
    pub(super) history: History,
    /// Names of the tests that the stages of this run need.
    names: Vec<&'static str>,
    /// These tests, once the first of them was asked for.
    built: Vec<Executable>,
    program: Option<PathBuf>,
}

impl Session {
    pub(super) fn new(stages: &[Stage]) -> Self {
        let names = stages.iter().filter_map(|stage| stage.named_test()).map(|(name, _)| name).collect();
        Self { history: History::read(), names, built: Vec::new(), program: None }
    }

    /// The program that tests start.
    pub(super) fn program(&mut self) -> Result<PathBuf> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => Ok(self.program.insert(build_tested_pivot_host()?).clone()),
        }
    }

    /// One of these tests. The first call builds all that this run needs.
    pub(super) fn named_test(&mut self, name: &str) -> Result<Executable> {
        if self.built.is_empty() {
            self.built = build_tests(&self.names)?;
        }
        let index = self.names.iter().position(|known| *known == name);
        index.and_then(|index| self.built.get(index)).cloned().with_context(|| format!("no test {name}"))
    }

    /// Returns the key of all that a stage runs and reads, for stages whose result depends on nothing else.
    pub(super) fn key(&mut self, stage: Stage) -> Result<Option<String>> {
        let mut key = Key::new(&stage.to_string());
        let root = root()?;
        if let Some((name, _)) = stage.named_test() {
            if stage.needs_servers() {
                key.add_file(&self.program()?)?;
            }
            key.add_file(&self.named_test(name)?.path)?;
            key.add_sources()?;
            key.add_folder(&root.join("../shared/metal3-data"))?;
            key.add_folder(&root.join("../shared/providers"))?;
            for variable in ["PIVOT_HOST_PROVIDERS", "PIVOT_HOST_METAL3", "KUBEBUILDER_ASSETS"] {
                let value = env::var_os(variable).unwrap_or_default();
                key.add(value.as_encoded_bytes());
                if !value.is_empty() {
                    key.add_folder(value.as_ref())?;
                }
            }
            return Ok(Some(key.finish()));
        }
        match stage {
            Stage::Page => {
                key.add_file(&self.program()?)?;
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
