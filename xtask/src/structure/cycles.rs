//! Import cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use super::imports::Imports;

/// Files that all reach each other, with the imports among them.
pub(super) struct Cycle<'a> {
    files: BTreeSet<&'a Path>,
    imports: &'a Imports,
}

/// Returns all cycles; those with a common file are merged.
pub(super) fn find(imports: &Imports) -> Vec<Cycle<'_>> {
    let mut direct: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
    for (from, to) in imports.keys() {
        direct.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        direct.keys().map(|file| (*file, reach(&direct, file))).collect();
    let reaches = |from: &Path, to: &Path| reached.get(from).is_some_and(|files| files.contains(to));
    let mut cycles: Vec<Cycle<'_>> = Vec::new();
    for (file, onward) in &reached {
        if cycles.iter().any(|cycle| cycle.files.contains(file)) {
            continue;
        }
        let files: BTreeSet<&Path> = onward.iter().copied().filter(|other| reaches(other, file)).collect();
        if !files.is_empty() {
            cycles.push(Cycle { files, imports });
        }
    }
    cycles
}

/// Returns the imports among the modules at the top of a library: each file counts as the top module that contains it.
pub(super) fn between_top_modules(imports: &Imports, package: &Path) -> Imports {
    let src = package.join("src");
    let top = |file: &Path| top_module(package, file).map(|name| src.join(name));
    let mut between = Imports::new();
    for ((from, to), names) in imports {
        if let (Some(from), Some(to)) = (top(from), top(to))
            && from != to
        {
            between.entry((from, to)).or_default().extend(names.iter().cloned());
        }
    }
    between
}

/// Returns the module at the top of a package's sources that contains a file; none for the root itself and for files elsewhere.
pub(super) fn top_module<'a>(package: &Path, file: &'a Path) -> Option<&'a str> {
    let first = file.strip_prefix(package.join("src")).ok()?.iter().next()?;
    let name = Path::new(first).file_stem()?.to_str()?;
    (!["lib", "main"].contains(&name)).then_some(name)
}

/// Returns the files that a file imports from, those that these import from, and so on: itself only if it is in a cycle.
fn reach<'a>(direct: &BTreeMap<&Path, Vec<&'a Path>>, start: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        for to in direct.get(file).into_iter().flatten() {
            if reached.insert(*to) {
                open.push(to);
            }
        }
    }
    reached
}

/// One line per import: from which file, to which, and what.
impl fmt::Display for Cycle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let among = |file: &Path| self.files.contains(file);
        let mut lines = Vec::new();
        for ((from, to), names) in self.imports {
            if among(from) && among(to) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                lines.push(format!("  {} -> {}: {}", from.display(), to.display(), names.join(", ")));
            }
        }
        write!(f, "{}", lines.join("\n"))
    }
}
