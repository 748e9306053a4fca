//! Manifests as the program prints them.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::shell::said;

/// Returns the manifests that `pivot-host generate` prints.
pub(super) fn print_manifests(program: &Path, words: &[&str]) -> Result<String> {
    said(Command::new(program).arg("generate").args(words))
}

/// Splits a text into its documents. Each begins with the line that separates it from the one before.
pub(super) fn split_documents(text: &str) -> Vec<String> {
    let documents = text.split("---\n").filter(|document| !document.trim().is_empty());
    documents.map(|document| format!("---\n{}\n", document.trim_end())).collect()
}
