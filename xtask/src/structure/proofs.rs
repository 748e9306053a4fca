//! Keeps the tests in the tables of pages in step with what tests say that they prove.
//!
//! A test says it directly above its attribute: `// proves: I7, T23`. The row of that number has a place for its tests, between
//! comments that a reader of the page doesn't see: the number, and the same with a slash before it. `cargo xtask pages` writes what
//! is between them, so that a test can be renamed or moved without a change to any page but this one.
//!
//! | letter | numbers | page |
//! |---|---|---|
//! | I | invariants | `ARCHITECTURE.md` |
//! | T | threats | `docs/threat-model.md` |
//! | W | weaknesses of clusterctl | `docs/differences-from-clusterctl.md` |
//! | D | differences from clusterctl | the same |

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::crates::files;

/// Before the numbers above a test.
const TAG: &str = "// proves: ";
/// In place of tests where there are none.
const NONE: &str = "*not tested*";

/// The tests that prove each number, as pages name them, and the tags that are above no test.
#[derive(Default)]
struct Proofs {
    tests: BTreeMap<String, BTreeSet<String>>,
    misplaced: Vec<String>,
}

/// One line for each tag that is above no test or leads to no row, and for each page whose tests are not those of the tags.
pub(super) fn violations(root: &Path, pages: &[&str]) -> Result<Vec<String>> {
    let proofs = Proofs::read(root)?;
    let mut found = proofs.misplaced.clone();
    let mut numbers = BTreeSet::new();
    for page in pages {
        let text = read(root, page)?;
        let (filled, here) = fill(&text, &proofs.tests);
        if filled != text {
            found.push(format!(
                "{page} names other tests than those that prove its rows; write it with `cargo xtask pages`"
            ));
        }
        for number in here {
            if !numbers.insert(number.clone()) {
                found.push(format!("{page} has a second place for the tests of {number}"));
            }
        }
    }
    let unknown = proofs.tests.iter().filter(|(number, _)| !numbers.contains(*number));
    found.extend(unknown.map(|(number, tests)| {
        let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        format!("no page has a place for the tests of {number}: {}", tests.join(", "))
    }));
    Ok(found)
}

/// Writes the tests into the pages.
pub(super) fn write(root: &Path, pages: &[&str]) -> Result<()> {
    let proofs = Proofs::read(root)?;
    for page in pages {
        let text = read(root, page)?;
        let (filled, _) = fill(&text, &proofs.tests);
        if filled != text {
            fs::write(root.join(page), filled).with_context(|| format!("write {page}"))?;
        }
    }
    Ok(())
}

fn read(root: &Path, page: &str) -> Result<String> {
    fs::read_to_string(root.join(page)).with_context(|| format!("read {page}"))
}

impl Proofs {
    fn read(root: &Path) -> Result<Self> {
        let mut proofs = Self::default();
        for file in files(root)?.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
            let text =
                fs::read_to_string(root.join(file)).with_context(|| format!("read {}", file.display()))?;
            proofs.add(file, &text);
        }
        Ok(proofs)
    }

    fn add(&mut self, file: &Path, text: &str) {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(numbers) = line.strip_prefix(TAG) else { continue };
            let below = lines.get(at + 1..).unwrap_or_default();
            let Some(test) = name_of_test(below) else {
                self.misplaced.push(format!(
                    "{}:{}: `{line}` is not directly above a test",
                    file.display(),
                    at + 1
                ));
                continue;
            };
            let shown = format!("`{}: {test}`", folder(file));
            for number in numbers.split(", ") {
                self.tests.entry(number.to_owned()).or_default().insert(shown.clone());
            }
        }
    }
}

/// The name of the test that begins with the first of these lines.
fn name_of_test<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let attribute = lines.first()?.strip_prefix("#[")?;
    let path = attribute.split(['(', ']']).next()?;
    if path != "test" && !path.ends_with("::test") {
        return None;
    }
    let signature = lines.iter().find(|line| line.starts_with("fn ") || line.starts_with("async fn "))?;
    signature.split_once("fn ")?.1.split(['(', '<']).next()
}

/// The folder by which pages name the tests of a file: that of its crate.
fn folder(file: &Path) -> &str {
    let parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        ["sdk", "bounds", ..] => "bounds",
        ["host" | "plugins" | "tests", name, ..] | [name, ..] => name,
        [] => "",
    }
}

/// A page with these tests in their places, and the numbers of the places.
fn fill(page: &str, tests: &BTreeMap<String, BTreeSet<String>>) -> (String, Vec<String>) {
    let (mut filled, mut numbers, mut rest) = (String::new(), Vec::new(), page);
    while let Some((before, after)) = rest.split_once("<!--") {
        filled.push_str(before);
        filled.push_str("<!--");
        rest = after;
        let Some((number, inner)) = after.split_once("-->").filter(|(number, _)| is_number(number)) else {
            continue;
        };
        let end = format!("<!--/{number}-->");
        let Some((_, below)) = inner.split_once(&end) else { continue };
        let listed =
            tests.get(number).map(|tests| tests.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
        filled.push_str(&format!("{number}-->{}{end}", listed.as_deref().unwrap_or(NONE)));
        numbers.push(number.to_owned());
        rest = below;
    }
    filled.push_str(rest);
    (filled, numbers)
}

/// Returns a page that names no tests in the places for them.
pub(super) fn clear_places(page: &str) -> String {
    fill(page, &BTreeMap::new()).0
}

/// Whether it is a letter and a number.
fn is_number(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|letter| letter.is_ascii_uppercase())
        && !chars.as_str().is_empty()
        && chars.all(|c| c.is_ascii_digit())
}
