//! Checks the structure of the code, in tracked files only:
//!
//! - no import cycles between files, nor between the top modules of some crates, and no module in a `mod.rs`;
//! - no imports from a higher layer of core or the engine;
//! - no more lines than before that decide again what the route of a move has decided;
//! - no unused public items in pivot-core, no flags in texts of core, engine and places;
//! - no names on the pages about the code that don't exist, no test that a page names by hand, no table of tests that is not what the
//!   tests say of themselves;
//! - no weakness of clusterctl without a test, no mutation of a line that is gone, no test that `test = false` hides;
//! - no page that the book doesn't list once;
//! - no README that is too long, and no more findings of a rule of language than are accepted.
//!
//! It reads the sources as tokens and resolves names as far as the text alone allows; nothing is compiled, so this stage takes
//! about a second. `imports` and `public` document what they can't see.

mod book;
mod crates;
mod cycles;
mod flags;
mod imports;
mod language;
mod layers;
#[cfg(test)]
mod message_pages;
mod mutations;
mod old_questions;
mod pages;
mod proofs;
mod public;
mod readme;
mod source;
#[cfg(test)]
mod statements;
mod untested;
mod weaknesses;

use std::path::Path;

use anyhow::{Result, bail};

/// The folders that hold Rust code.
const FOLDERS: [&str; 5] = ["host", "sdk", "plugins", "tests", "xtask"];
/// The crate whose public items must all be used by other crates.
const CORE: &str = "host/core";
/// The crates whose top modules are layers: no module at the top imports, even through others, from one that imports from it.
const LAYERED_CRATES: [&str; 3] = ["host/places", "host/controller", "host/vetting"];
/// The crate that carries out plans.
const ENGINE: &str = "host/engine";
/// The crates whose top modules are layers of one order, lowest first.
const ORDERED_CRATES: [(&str, &[&str]); 2] = [
    (
        CORE,
        &[
            "objects",
            "messages",
            "request",
            "plan",
            "plugins",
            "discovery",
            "selection",
            "planner",
            "records",
            "copies",
            "checks",
            "describe",
        ],
    ),
    (ENGINE, &["base", "read", "check", "act", "drive"]),
];
/// The crates whose texts name no flag: only the command line knows what can be typed.
const FLAGLESS: [&str; 3] = [CORE, ENGINE, "host/places"];
/// The pages on which every name of a file, function or test must exist.
const PAGES: [&str; 9] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    WEAKNESSES,
    "docs/benchmarks-plugins.md",
    "docs/describe.md",
    "docs/distributed.md",
    "docs/maintainers.md",
    "docs/round-trips.md",
    "docs/threat-model.md",
];
/// The page that accounts for every weakness of clusterctl.
const WEAKNESSES: &str = "docs/differences-from-clusterctl.md";

/// Writes into the tables of pages which tests prove what.
pub(crate) fn write_pages(root: &Path) -> Result<()> {
    proofs::write(root, &PAGES)
}

/// Lowers the numbers of findings of the rules of language that are accepted.
pub(crate) fn lower_accepted_language(root: &Path) -> Result<()> {
    language::lower(root, &FOLDERS)
}

/// Checks the work tree at `root`; prints every violation before it fails.
pub(crate) fn run(root: &Path, out: &mut dyn FnMut(&str)) -> Result<()> {
    let mut violations = Vec::new();
    let (mut cycles, mut upward) = (0, 0);
    for package in crates::below(root, &FOLDERS)? {
        let imports = imports::of(root, &package)?;
        for cycle in cycles::find(&imports) {
            cycles += 1;
            violations.push(format!("import cycle in {}:\n{cycle}", package.display()));
        }
        for (_, layers) in ORDERED_CRATES.iter().filter(|(ordered, _)| package == Path::new(ordered)) {
            let found = layers::violations(&imports, &package, layers);
            upward += found.len();
            violations.extend(found);
        }
        if LAYERED_CRATES.iter().any(|layered| package == Path::new(layered)) {
            for cycle in cycles::find(&cycles::between_top_modules(&imports, &package)) {
                cycles += 1;
                violations.push(format!("import cycle of modules in {}:\n{cycle}", package.display()));
            }
        }
    }
    let misplaced = crates::misplaced_modules(root, &FOLDERS)?;
    violations.extend(misplaced.iter().map(|file| format!("{}: name it after its folder", file.display())));
    let asked = old_questions::violations(root)?;
    violations.extend(asked.iter().cloned());
    let unused = public::unused(root, CORE, &FOLDERS)?;
    violations.extend(unused.iter().map(|item| format!("no other crate uses {item}")));
    let mut named = Vec::new();
    for package in FLAGLESS {
        named.extend(flags::named(root, package)?);
    }
    violations.extend(named.iter().cloned());
    let stale = pages::violations(root, &PAGES)?;
    violations.extend(stale.iter().cloned());
    let open = weaknesses::violations(root, WEAKNESSES)?;
    violations.extend(open.iter().cloned());
    let lost = mutations::violations(root)?;
    violations.extend(lost.iter().cloned());
    let unproven = proofs::violations(root, &PAGES)?;
    violations.extend(unproven.iter().cloned());
    let hidden = untested::violations(root, &FOLDERS)?;
    violations.extend(hidden.iter().cloned());
    let long = readme::violations(root)?;
    violations.extend(long.iter().cloned());
    let unlisted = book::violations(root)?;
    violations.extend(unlisted.iter().cloned());
    let unclear = language::violations(root, &FOLDERS)?;
    violations.extend(unclear.iter().cloned());
    if violations.is_empty() {
        return Ok(());
    }
    violations.iter().for_each(|violation| out(violation));
    let (unused, named, stale, open) = (unused.len(), named.len(), stale.len(), open.len());
    let (lost, unproven, hidden) = (lost.len(), unproven.len(), hidden.len());
    let (long, unclear, misplaced, asked) = (long.len(), unclear.len(), misplaced.len(), asked.len());
    let unlisted = unlisted.len();
    bail!(
        "{cycles} import cycles, {upward} imports or modules against the layers of core and the engine, {misplaced} modules in a mod.rs, {asked} wrong numbers of old questions, {unused} unused public items in {CORE}, {named} texts that name a flag, \
         {stale} names on pages that lead nowhere or to a test, {open} weaknesses without a row and a test, \
         {lost} mutations of lines that are gone, {unproven} pages or tags that don't say what tests prove, \
         {hidden} libraries with tests that never run, {long} limits that the README exceeds, {unlisted} wrong entries of the book, \
         {unclear} crates or pages with other findings of a rule of language than are accepted"
    )
}

#[cfg(test)]
mod tests;
