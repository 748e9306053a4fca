//! Compares a plugin's relations with the fields in which pivot-host expects references. Part of each provider plugin's tests.
//!
//! A test of host/core writes references/rows.json from its table.

use std::collections::BTreeSet;

use pivot_sdk::test::Harness;
use pivot_sdk::{Exported, Kind, Relation};
use serde_json::{Value, json};

/// Asks for the relations of an object with each field of the plugin's kinds. `left_out` has the referents without a relation.
///
/// pivot-host offers the plugin where a row has its name: these must be the rows of its kinds.
pub(crate) fn assert_rows_related<P: Exported>(left_out: &[&str]) {
    let rows: Vec<Value> = serde_json::from_str(include_str!("references/rows.json")).unwrap();
    let about = P::about();
    let mut unused: BTreeSet<&Kind> = about.kinds.iter().collect();
    for row in &rows {
        let text = |field: &str| row[field].as_str().unwrap();
        let of_row: Vec<&Kind> = about.kinds.iter().filter(|kind| has_row(kind, row)).collect();
        let offered = row["kinds"].as_array().unwrap().len();
        let is_of_plugin = text("plugin") == about.name;
        assert_eq!(is_of_plugin, !of_row.is_empty(), "{row}");
        assert!(!is_of_plugin || offered <= of_row.len(), "the plugin sees only {of_row:?} of {row}");
        for kind in of_row {
            unused.remove(kind);
            for (decided, referent) in row["referents"].as_object().unwrap() {
                let is_cluster_scoped = about.reach.iter().any(|reach| reach.kind == *kind);
                let place = referent["place"].as_str().unwrap();
                let mut field = json!({text("name"): "x"});
                if !["own-namespace", "cluster", "stays"].contains(&place) {
                    field["namespace"] = json!(place);
                }
                let field = nest(text("parent"), field);
                let decided = Some(decided).filter(|decided| !decided.is_empty());
                let decided = decided.map(|decided| nest(text("decides"), json!(decided)));
                let name = if kind.kind == "*" { "Some" } else { &kind.kind };
                let mut object = json!({
                    "apiVersion": format!("{}/v1", kind.group), "kind": name, "metadata": {"name": "o"},
                });
                if !is_cluster_scoped {
                    object["metadata"]["namespace"] = json!("n");
                }
                for part in [field].into_iter().chain(decided) {
                    merge(&mut object, part);
                }
                let relations = Harness::<P>::new().relate(&object).unwrap();
                let keys = relations.iter().map(|relation| match relation {
                    Relation::Need(key) | Relation::Share(key) => key.to_string(),
                    other => panic!("{other:?}"),
                });
                let kind = referent["kind"].as_str().unwrap();
                let group = if kind == "Secret" { "" } else { ".infrastructure.cluster.x-k8s.io" };
                let expected = match place {
                    "cluster" => format!("{kind}{group} x"),
                    "own-namespace" => format!("{kind}{group} n/x"),
                    namespace => format!("{kind}{group} {namespace}/x"),
                };
                let is_related = place != "stays" && !left_out.contains(&kind);
                let expected = Some(expected).filter(|_| is_related);
                assert_eq!(keys.collect::<Vec<_>>(), Vec::from_iter(expected), "{object}");
            }
        }
    }
    assert_eq!(unused, BTreeSet::new(), "no row has these kinds");
}

fn has_row(kind: &Kind, row: &Value) -> bool {
    let group = row["group"].as_str().unwrap();
    let kinds = row["kinds"].as_array().unwrap();
    let is_of_group = match group.strip_prefix('*') {
        Some(suffix) => kind.group.ends_with(suffix),
        None => kind.group == group,
    };
    is_of_group && (kinds.is_empty() || kinds.iter().any(|one| *one == *kind.kind))
}

/// Returns a body with a value at a path.
fn nest(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |value, step| match step.strip_suffix("[]") {
        Some(list) => json!({list: [value]}),
        None => json!({step: value}),
    })
}

fn merge(to: &mut Value, from: Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (key, value) in from {
                merge(to.entry(key).or_insert(Value::Null), value);
            }
        }
        (to, from) => *to = from,
    }
}
