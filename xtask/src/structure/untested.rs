//! Checks that every test beside a library's code runs: a library whose manifest says `test = false` has none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::crates::{below, rust_files};
use super::pages::collect_tests;
use super::source::tokens;

/// One line for each library that has tests and never runs them.
pub(super) fn violations(root: &Path, folders: &[&str]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for package in below(root, folders)? {
        let file = package.join("Cargo.toml");
        let read = || anyhow::Ok(fs::read_to_string(root.join(&file))?.parse::<Table>()?);
        let manifest = read().with_context(|| format!("read {}", file.display()))?;
        let is_tested = manifest.get("lib").and_then(|lib| lib.get("test")).and_then(Value::as_bool);
        if is_tested != Some(false) {
            continue;
        }
        let (folder, mut tests) = (root.join(&package), BTreeSet::new());
        for file in rust_files(&folder)?.iter().filter(|file| file.starts_with(folder.join("src"))) {
            collect_tests(tokens(file)?, &mut tests);
        }
        if !tests.is_empty() {
            let tests = tests.into_iter().collect::<Vec<_>>().join(", ");
            found.push(format!("{}: `test = false` keeps these tests from running: {tests}", file.display()));
        }
    }
    Ok(found)
}
