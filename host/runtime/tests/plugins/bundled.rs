//! The bundled plugins as components: granted exactly what they ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use pivot_core::GroupKind;
use pivot_runtime::{Plugin, Runtime};
use serde_json::Value;
use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The components, by name; built once.
fn components() -> &'static BTreeMap<String, PathBuf> {
    static BUILT: OnceLock<(TempDir, BTreeMap<String, PathBuf>)> = OnceLock::new();
    let (_, built) = BUILT.get_or_init(|| {
        let (root, out) = (repository(), TempDir::new().unwrap());
        let inputs = [root.join("wit"), root.join("sdk")];
        let inputs = inputs.each_ref().map(PathBuf::as_path);
        let files = pivot_guests::build_guests(&root.join("plugins"), &inputs, out.path()).unwrap();
        let name = |file: &PathBuf| file.file_stem().unwrap().to_string_lossy().into_owned();
        let built = files.into_iter().map(|file| (name(&file), file)).collect();
        (out, built)
    });
    built
}

fn operator() -> toml::Table {
    std::fs::read_to_string(repository().join("plugins/plugins.toml")).unwrap().parse().unwrap()
}

async fn plugin(name: &str, operator: &toml::Table) -> Plugin {
    Runtime::new().try_out(&components()[name], Some(&operator.to_string())).await.unwrap()
}

fn set<T: Debug>(items: &[T]) -> BTreeSet<String> {
    items.iter().map(|item| format!("{item:?}")).collect()
}

#[tokio::test]
async fn bundled_grants_equal_the_requests() {
    let operator = operator();
    let sections: Vec<&String> = operator["plugins"].as_table().unwrap().keys().collect();
    assert_eq!(components().keys().collect::<BTreeSet<_>>(), sections.into_iter().collect());
    for name in components().keys() {
        let plugin = plugin(name, &operator).await;
        let (asked, granted) = (plugin.declaration(), plugin.grants());
        assert_eq!(&asked.name, name);
        assert_eq!(set(&plugin.description().hooks), set(&granted.hooks), "{name}");
        assert_eq!(set(&asked.kinds), set(&granted.kinds), "{name}");
        assert_eq!(set(&asked.reach), set(&granted.reach), "{name}");
        assert_eq!(set(&asked.changes), set(&granted.changes), "{name}");
        assert_eq!(set(&asked.reads), set(&granted.reads), "{name}");
        assert_eq!(asked.secret_data, granted.secret_data, "{name}");
        // Its addresses depend on the site; it must have some if it asks for any.
        assert_eq!(asked.probes.is_empty(), granted.probes.is_empty(), "{name}");
    }
}

/// Except for kubeadm's fields: they are no provider's.
#[tokio::test]
async fn each_checked_field_has_a_plugin() {
    let file = repository().join("plugins/references/rows.json");
    let rows: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut seen = Vec::new();
    for name in components().keys().filter(|name| *name != "readiness" && *name != "patches") {
        seen.extend(plugin(name, &operator()).await.declaration().kinds.clone());
    }
    for row in &rows {
        let group = row["group"].as_str().unwrap().trim_start_matches('*');
        for kind in row["kinds"].as_array().unwrap().iter().filter_map(Value::as_str) {
            let has_plugin = seen.iter().any(|seen| seen.covers(&GroupKind::new(group, kind)));
            assert!(has_plugin != kind.starts_with("Kubeadm"), "{kind}");
        }
    }
}
