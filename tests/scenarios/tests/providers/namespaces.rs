//! Every field of a definition that names a namespace is in a table: a move that gives namespaces other names knows whether to
//! rename it, and asks nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::discovery::inventory::Inventory;
use pivot_core::planner::make_plan;
use pivot_core::plugins::relations::Relations;
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Kind, KindLabels, Object};
use pivot_lab::{assets, parse, say};
use serde_json::{Value, json};

use super::templates::Providers;

/// The oldest and the newest release that is tested.
const CLUSTER_API: [&str; 2] = ["1.8.4", "1.14.2"];

/// Fields whose names end like this, outside the metadata and the status, which copies start without.
fn names_namespaces(field: &str) -> bool {
    let field = field.to_ascii_lowercase();
    field.ends_with("namespace") || field.ends_with("namespaces")
}

/// The paths of such fields, each with a body that has one there.
fn mentions(schema: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    for (field, below) in schema["properties"].as_object().into_iter().flatten() {
        if path.is_empty() && ["metadata", "status"].contains(&field.as_str()) {
            continue;
        }
        let at = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
        let list = format!("{at}[]");
        let is_text = |schema: &Value| schema["type"] == "string";
        if names_namespaces(field) && is_text(below) {
            found.insert(at.clone(), body(&at));
        } else if names_namespaces(field) && is_text(&below["items"]) {
            found.insert(list.clone(), body(&list));
        }
        mentions(below, &at, found);
        mentions(&below["items"], &list, found);
    }
}

fn body(path: &str) -> Value {
    path.rsplit('.').fold(json!("old"), |value, step| match step.strip_suffix("[]") {
        Some(list) => json!({list: [value]}),
        None => json!({step: value}),
    })
}

/// What a move of one object with this body is refused for.
fn refused(kind: &Arc<Kind>, mut body: Value) -> BTreeSet<&'static str> {
    body["apiVersion"] = json!(format!("{}/{}", kind.group_kind.group, kind.version));
    body["kind"] = json!(kind.group_kind.kind);
    body["metadata"] = json!({"name": "one", "uid": "1"});
    if kind.namespaced {
        body["metadata"]["namespace"] = json!("old");
    }
    let cluster = Kind {
        group_kind: GroupKind::new("cluster.x-k8s.io", "Cluster"),
        plural: "clusters".into(),
        namespaced: true,
        ..Kind::clone(kind)
    };
    let one = json!({"metadata": {"name": "c", "namespace": "old", "uid": "2"}});
    let objects = vec![
        Object::from_value(kind.clone(), &body).unwrap(),
        Object::from_value(Arc::new(cluster), &one).unwrap(),
    ];
    let mut scope = Scope::new(Namespaces::All);
    scope.namespace_map = NamespaceMap::new([("old".to_owned(), "new".to_owned())]).unwrap();
    let plan = make_plan(&Inventory::new(objects), &scope, &Relations::default(), &[]);
    assert_eq!(plan.steps.len(), 2, "{}: {plan:?}", kind.group_kind);
    plan.refusals.iter().map(|refusal| refusal.code).filter(|code| code.starts_with("namespace-")).collect()
}

async fn definitions() -> Vec<Value> {
    let assets = assets().await.unwrap();
    let mut folders = Vec::new();
    match assets.metal3_crds() {
        Ok(crds) => folders.push(crds),
        Err(missing) => say(format_args!("not run: the fields of Metal3's kinds: {missing:#}")),
    }
    for version in CLUSTER_API {
        let crds = assets.crds(version).await.unwrap();
        folders.extend([crds.core, crds.bootstrap, crds.control_plane]);
    }
    let mut all = Providers::find().await.crds();
    for folder in folders {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                all.extend(parse(&std::fs::read_to_string(path).unwrap()).unwrap());
            }
        }
    }
    all
}

#[tokio::test]
async fn every_field_that_names_a_namespace_is_known_to_a_map_of_namespaces() {
    let labels = KindLabels { discover: true, moves: true, ..KindLabels::default() };
    let (mut fields, mut unknown) = (BTreeMap::<String, usize>::new(), BTreeSet::new());
    for crd in definitions().await.iter().filter(|crd| crd["kind"] == "CustomResourceDefinition") {
        let (spec, text) = (&crd["spec"], |value: &Value| value.as_str().unwrap().to_owned());
        for version in spec["versions"].as_array().unwrap() {
            let kind = Arc::new(Kind {
                group_kind: GroupKind::new(text(&spec["group"]), text(&spec["names"]["kind"])),
                version: text(&version["name"]),
                plural: text(&spec["names"]["plural"]),
                namespaced: spec["scope"] == "Namespaced",
                status_subresource: true,
                served: vec![text(&version["name"])],
                labels,
            });
            let mut found = BTreeMap::new();
            mentions(&version["schema"]["openAPIV3Schema"], "", &mut found);
            *fields.entry(kind.group_kind.group.clone()).or_default() += found.len();
            for (path, body) in found {
                if refused(&kind, body).contains("namespace-mentioned") {
                    unknown.insert(format!("{}: {path}", kind.group_kind));
                }
            }
        }
    }
    assert_eq!(unknown, BTreeSet::new());
    for group in ["cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "addons.cluster.x-k8s.io"] {
        assert!(fields[group] > 0, "no field of {group} names a namespace: {fields:?}");
    }
}

/// Else the test above could not fail.
#[test]
fn a_field_that_no_table_has_is_found() {
    let kind = Arc::new(Kind {
        group_kind: GroupKind::new("infrastructure.cluster.x-k8s.io", "Unheard"),
        version: "v1".into(),
        plural: "unheards".into(),
        namespaced: true,
        status_subresource: true,
        served: vec!["v1".into()],
        labels: KindLabels { discover: true, moves: true, ..KindLabels::default() },
    });
    let schema = json!({"properties": {"spec": {"properties": {"refs": {"items": {"properties": {
        "inNamespace": {"type": "string"}, "namespaceSelector": {"type": "object"},
    }}}}}}});
    let mut found = BTreeMap::new();
    mentions(&schema, "", &mut found);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["spec.refs[].inNamespace"]);
    assert_eq!(refused(&kind, found.into_values().next().unwrap()), BTreeSet::from(["namespace-mentioned"]));
}
