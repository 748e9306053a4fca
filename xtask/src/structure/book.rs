//! Checks that the book lists each page of `docs` exactly once, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::crates::files;

/// Folder of the pages.
const DOCS: &str = "docs";
/// Contents of the book, in mdBook's format.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Returns a violation for each page that the book lists not at all or several times, and for each entry without a page.
pub(super) fn violations(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(SUMMARY)).with_context(|| format!("read {SUMMARY}"))?;
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for page in linked_pages(&text) {
        *listed.entry(format!("{DOCS}/{page}")).or_default() += 1;
    }
    let is_page = |name: &String| name.ends_with(".md") && name != SUMMARY;
    let below_docs = files(root)?.into_iter().filter(|file| file.starts_with(DOCS));
    let pages: BTreeSet<String> = below_docs.map(|file| file.display().to_string()).filter(is_page).collect();
    let missing = pages.iter().filter(|page| !listed.contains_key(*page));
    let mut found: Vec<String> = missing.map(|page| format!("{SUMMARY} doesn't list {page}")).collect();
    for (page, count) in &listed {
        if !pages.contains(page) {
            found.push(format!("{SUMMARY} lists {page}, which doesn't exist"));
        } else if *count > 1 {
            found.push(format!("{SUMMARY} lists {page} {count} times"));
        }
    }
    Ok(found)
}

/// Returns the targets of links, `b.md` of `[A](b.md)`.
fn linked_pages(summary: &str) -> impl Iterator<Item = &str> {
    summary.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}
