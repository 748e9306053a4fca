//! Checks that the book lists each page of `docs` exactly once, and no page that doesn't exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::crates::files;
use crate::book::contents::{SUMMARY, list_pages};

/// Folder of the pages.
const DOCS: &str = "docs/";

/// Returns a violation for each page that the book lists not at all or several times, and for each entry without a page.
pub(super) fn violations(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(SUMMARY)).with_context(|| format!("read {SUMMARY}"))?;
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for page in list_pages(&text) {
        *listed.entry(page).or_default() += 1;
    }
    let is_page = |name: &String| name.ends_with(".md") && name != SUMMARY;
    let names = files(root)?.into_iter().map(|file| file.display().to_string());
    let pages: BTreeSet<String> = names.filter(is_page).collect();
    let must_be_listed = |page: &&String| page.starts_with(DOCS) && !listed.contains_key(*page);
    let missing = pages.iter().filter(must_be_listed);
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
