//! Import cycles.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use super::imports::Imports;

/// Files that all reach each other, with the imports among them.
pub(super) struct Cycle<'a> {
    files: BTreeSet<&'a Path>,
    imports: &'a Imports,
}

/// All cycles; those with a common file are merged.
pub(super) fn find(imports: &Imports) -> Vec<Cycle<'_>> {
    let mut cycles: Vec<Cycle<'_>> = Vec::new();
    for file in imports.keys().map(|(from, _)| from.as_path()) {
        if cycles.iter().any(|cycle| cycle.files.contains(file)) {
            continue;
        }
        let onward = reached(imports, file);
        let files: BTreeSet<&Path> =
            onward.into_iter().filter(|other| reached(imports, other).contains(file)).collect();
        if !files.is_empty() {
            cycles.push(Cycle { files, imports });
        }
    }
    cycles
}

/// The files that a file imports from, those that these import from, and so on: itself only if it is in a cycle.
fn reached<'a>(imports: &'a Imports, start: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        for (_, to) in imports.keys().filter(|(from, _)| from == file) {
            if reached.insert(to.as_path()) {
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
