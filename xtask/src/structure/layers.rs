//! Layers of a crate: modules at the top of its sources that import from themselves and from lower ones.

use std::collections::BTreeSet;
use std::path::Path;

use super::cycles::top_module;
use super::imports::Imports;

/// Returns one line for each import from a higher layer, and for each module at the top that is no layer. `layers` begins with the
/// lowest.
pub(super) fn violations(imports: &Imports, package: &Path, layers: &[&str]) -> BTreeSet<String> {
    let height = |module: &str| layers.iter().position(|layer| *layer == module);
    let mut violations = BTreeSet::new();
    for ((from, to), names) in imports {
        let (Some(importing), Some(imported)) = (top_module(package, from), top_module(package, to)) else {
            continue;
        };
        let unknown = [importing, imported].into_iter().filter(|module| height(module).is_none());
        violations.extend(unknown.map(|module| format!("{}/src/{module} is no layer", package.display())));
        if height(importing).zip(height(imported)).is_some_and(|(importing, imported)| importing < imported) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (from, to) = (from.display(), to.display());
            violations.insert(format!("import from a higher layer: {from} -> {to}: {}", names.join(", ")));
        }
    }
    violations
}
