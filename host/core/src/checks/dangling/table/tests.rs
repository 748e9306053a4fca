//! The rows as a file, with which the provider plugins compare their tables.

use expect_test::expect_file;
use serde_json::{Value, json};

use super::{ClusterScoped, InNamespace, NamedKind, ROWS, Row, SecretOfProvider, UNPAUSABLE};

fn referent(named: NamedKind) -> Value {
    let (kind, place) = match named {
        InNamespace(kind) if UNPAUSABLE.contains(&kind) => (kind, "stays"),
        InNamespace(kind) => (kind, "own-namespace"),
        ClusterScoped(kind) => (kind, "cluster"),
        SecretOfProvider(_, namespace) => ("Secret", namespace),
    };
    json!({"kind": kind, "place": place})
}

fn line(row: &Row) -> String {
    let Row { group, kinds, parent, name, decides, referents } = row;
    let referents: Value =
        referents.iter().map(|(text, named)| ((*text).to_owned(), referent(*named))).collect();
    json!({
        "group": group, "kinds": kinds, "parent": parent, "name": name, "decides": decides, "referents": referents,
    })
    .to_string()
}

#[test]
fn file_for_plugins_has_all_rows() {
    let lines: Vec<String> = ROWS.iter().map(line).collect();
    let file = expect_file!["../../../../../../plugins/references/rows.json"];
    file.assert_eq(&format!("[\n{}\n]\n", lines.join(",\n")));
}
