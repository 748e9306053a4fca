//! Checks that one page accounts for every numbered weakness of `clusterctl move`.
//!
//! Each has one row, `| W7 | … |`, whose last cell names a test that begins with its number (`engine: w7_…`), or says why there
//! is none (`no test: …`). That the tests exist is checked by `pages`.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context, Result};

/// Their numbers.
pub(super) const NUMBERS: RangeInclusive<usize> = 1..=30;

/// One line for each weakness that the page doesn't account for.
pub(super) fn violations(root: &Path, page: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join(page)).with_context(|| format!("read {page}"))?;
    Ok(NUMBERS.filter_map(|number| Some(format!("{page}: W{number} {}", wrong(&text, number)?))).collect())
}

/// What is wrong with the rows of one weakness, if anything is.
fn wrong(page: &str, number: usize) -> Option<String> {
    let begin = format!("| W{number} |");
    let mut rows = page.lines().filter(|line| line.starts_with(&begin));
    let (Some(row), None) = (rows.next(), rows.next()) else {
        return Some(format!("has {} rows", page.lines().filter(|line| line.starts_with(&begin)).count()));
    };
    let cell = row.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
    if cell.starts_with("no test: ") {
        return None;
    }
    let tests: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if tests.is_empty() {
        return Some("names no test".to_owned());
    }
    let prefix = format!(": w{number}_");
    let other = tests.iter().find(|test| !test.contains(&prefix))?;
    Some(format!("names `{other}`, which doesn't begin with w{number}_"))
}
