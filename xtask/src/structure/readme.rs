//! Checks that the README stays short enough to be read. Longer texts belong on pages under `docs/`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const README: &str = "README.md";
const MAX_LINES: usize = 80;
const MAX_WORDS: usize = 600;

/// Returns a violation for each limit that the README exceeds.
pub(super) fn violations(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(README)).with_context(|| format!("read {README}"))?;
    let (lines, words) = (text.lines().count(), text.split_whitespace().count());
    let limits = [("lines", lines, MAX_LINES), ("words", words, MAX_WORDS)];
    let exceeded = limits.into_iter().filter(|(_, count, most)| count > most);
    Ok(exceeded
        .map(|(unit, count, most)| {
            format!("{README} has {count} {unit}, and may have {most}: move some to a page under docs/")
        })
        .collect())
}
