//! Checks that the lines which `cargo xtask mutate` changes are still there, each once in its file.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::mutate::{Mutation, change, read};

/// One line for each mutation that can't be made any more, or that changes nothing.
pub(super) fn violations(root: &Path) -> Result<Vec<String>> {
    let wrong = |mutation: Mutation| {
        let Mutation { file, line, with, .. } = &mutation;
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        match change(&text, line, with) {
            Some(changed) if changed != text => None,
            Some(_) => Some(format!("{file}: a mutation leaves `{line}` as it is")),
            None => Some(format!("{file} doesn't have the line of a mutation exactly once: `{line}`")),
        }
    };
    Ok(read(root)?.into_iter().filter_map(wrong).collect())
}
