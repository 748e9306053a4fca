//! Components of earlier releases: this program loads each, and gets the answers of its time.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bundled;
use crate::host::{err, host};

/// The components below a folder of the museum.
fn find_components(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| if path.is_dir() { find_components(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|end| end == "wasm")).collect()
}

#[test]
fn components_answer_as_when_released() {
    let all = find_components(&bundled::root().join("tests/museum"));
    assert!(all.len() >= 6, "{all:?}");
    for component in all {
        let scene = component.with_extension("json");
        let [component, scene] = [component, scene].map(|path| path.to_str().unwrap().to_owned());
        let output = host(&["plugin", "test", &component, &scene]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{component}: {}", err(&output));
    }
}
