//! The rows as a file, with which the provider plugins compare their tables.

use expect_test::expect_file;
use serde_json::{Value, json};

use super::row::NamedKind::{ClusterScoped, InNamespace, SecretInNamespace, SecretOfProvider};
use super::row::{INFRASTRUCTURE, NamedKind, Row, is_unpausable};
use super::rows::ROWS;
use crate::GroupKind;

fn referent(named: NamedKind) -> Value {
    let (kind, place) = match named {
        InNamespace(kind) if is_unpausable(&GroupKind::new(INFRASTRUCTURE, kind)) => (kind, "stays"),
        InNamespace(kind) => (kind, "own-namespace"),
        ClusterScoped(kind) => (kind, "cluster"),
        SecretInNamespace(namespace) | SecretOfProvider(_, namespace) => ("Secret", namespace),
    };
    json!({"kind": kind, "place": place})
}

fn line(plugin: &str, row: &Row) -> String {
    let Row { group, kinds, parent, name, decides, referents } = row;
    let referents: Value =
        referents.iter().map(|(text, named)| ((*text).to_owned(), referent(*named))).collect();
    json!({
        "plugin": plugin, "group": group, "kinds": kinds, "parent": parent, "name": name, "decides": decides,
        "referents": referents,
    })
    .to_string()
}

#[test]
fn file_for_plugins_has_all_rows() {
    let lines = ROWS.iter().flat_map(|(plugin, rows)| rows.iter().map(|row| line(plugin, row)));
    let lines: Vec<String> = lines.collect();
    let file = expect_file!["../../../../../../plugins/references/rows.json"];
    file.assert_eq(&format!("[\n{}\n]\n", lines.join(",\n")));
}
