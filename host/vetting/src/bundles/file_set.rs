//! Checks of a set of files by their names and sizes.

use std::collections::BTreeMap;

use crate::bundles::error::BundleError;
use crate::bundles::kind::{FILES, FileError, Kind, TOTAL, component_of};

/// Checks everything that names and sizes say about a set of files. The caller sees to it that no name is there twice.
pub(crate) fn check_files(files: &BTreeMap<&str, u64>) -> Result<(), BundleError> {
    if files.len() > FILES {
        return Err(BundleError::Files(files.len()));
    }
    let mut total = 0_u64;
    let mut components = 0;
    let mut folded = BTreeMap::new();
    for (name, size) in files {
        let kind = Kind::from_name(name).map_err(|why| why.in_file(name))?;
        if *size > kind.max_size() {
            return Err(FileError::Size { size: *size, limit: kind.max_size() }.in_file(name));
        }
        if let Some(other) = folded.insert(name.to_ascii_lowercase(), *name) {
            return Err(FileError::Alike(other.to_owned()).in_file(name));
        }
        if let Some(component) = component_of(name).filter(|component| !files.contains_key(component)) {
            return Err(FileError::Orphan(component.to_owned()).in_file(name));
        }
        components += usize::from(kind == Kind::Component);
        total = total.saturating_add(*size);
    }
    match (components, total) {
        (0, _) => Err(BundleError::NoComponent),
        (_, TOTAL..) if total > TOTAL => Err(BundleError::Total),
        _ => Ok(()),
    }
}
