//! Components of earlier releases: this program loads each, and gets the answers of its time.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bundled;
use crate::host::{err, host};

/// The folders of languages, below each contract's.
const LANGUAGES: [&str; 3] = ["go", "javascript", "rust"];

/// The entries of a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The folders of releases of the contract.
fn contracts() -> Vec<PathBuf> {
    entries(&bundled::root().join("tests/museum")).into_iter().filter(|path| path.is_dir()).collect()
}

/// Requires the answers of the scene next to each component in a language.
fn replay_components(language: &str) {
    for contract in contracts() {
        let files = entries(&contract.join(language));
        let components = files.iter().filter(|path| path.extension().is_some_and(|end| end == "wasm"));
        let components: Vec<&PathBuf> = components.collect();
        assert!(!components.is_empty(), "{}: no component in {language}", contract.display());
        for component in components {
            let scene = component.with_extension("json");
            let [component, scene] = [component, &scene].map(|path| path.to_str().unwrap());
            let output = host(&["plugin", "test", component, scene]).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{component}: {}", err(&output));
        }
    }
}

#[test]
fn rust_components_answer_as_when_released() {
    replay_components("rust");
}

#[test]
fn go_components_answer_as_when_released() {
    replay_components("go");
}

#[test]
fn javascript_components_answer_as_when_released() {
    replay_components("javascript");
}

#[test]
fn no_language_of_the_museum_is_forgotten() {
    let contracts = contracts();
    assert!(!contracts.is_empty());
    for contract in contracts {
        let folders = entries(&contract);
        let mut names: Vec<_> = folders.iter().map(|path| path.file_name().unwrap()).collect();
        names.sort();
        assert_eq!(names, LANGUAGES, "{}", contract.display());
    }
}
