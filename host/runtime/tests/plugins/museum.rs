//! Components of earlier releases: this host loads each, and gets the answers of its time.

use std::fs;
use std::path::{Path, PathBuf};

use pivot_runtime::Runtime;
use serde_json::Value;

use crate::bundled::{replay_scene, repository};

/// The files of a kind below a folder of the museum.
fn components(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| match path.is_dir() {
        true => components(&path),
        false => vec![path],
    });
    let mut found: Vec<_> = found.filter(|path| path.extension().is_some_and(|end| end == "wasm")).collect();
    found.sort();
    found
}

#[tokio::test]
async fn components_answer_as_when_released() {
    let all = components(&repository().join("tests/museum"));
    assert!(all.len() >= 6, "{all:?}");
    for component in all {
        let scene: Value =
            serde_json::from_slice(&fs::read(component.with_extension("json")).unwrap()).unwrap();
        let inspected = Runtime::new().inspect(&component).await.unwrap();
        let name = inspected.declaration.name;
        replay_scene(&component, &name, inspected.section.parse().unwrap(), &scene).await;
    }
}
