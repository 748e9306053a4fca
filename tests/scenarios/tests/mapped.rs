//! A namespace that gets another name in the target.

use pivot_lab::Dump;
use pivot_scenarios::shape::{self, WITHOUT_PLUGIN};
use pivot_scenarios::state;
use serde_json::Value;

use crate::stage::{Stage, all, same};

const OLD: &str = "workshop";
const NEW: &str = "site-7";

/// As it must be under the other name: the shape has the old one nowhere but as a namespace.
fn renamed(dump: Dump, from: &str, to: &str) -> Dump {
    fn value(of: &mut Value, from: &str, to: &str) {
        match of {
            Value::String(text) if text == from => *text = to.to_owned(),
            Value::String(text) => {
                if let Some(name) = text.strip_prefix(from).and_then(|rest| rest.strip_prefix('/')) {
                    *text = format!("{to}/{name}");
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|one| value(one, from, to)),
            Value::Object(map) => map.values_mut().for_each(|one| value(one, from, to)),
            _ => {}
        }
    }
    let rename = |(mut key, mut object): (pivot_lab::ObjectKey, Value)| {
        if key.namespace == from {
            to.clone_into(&mut key.namespace);
        }
        value(&mut object, from, to);
        (key, object)
    };
    dump.into_iter().map(rename).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_moves_under_another_name_and_back() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    source.apply_values(shape::cluster(OLD, 2)).await.unwrap();
    // The target has a cluster of the same names in its own namespace of the old name: nothing of it may be touched.
    target.apply_values(shape::cluster(OLD, 1)).await.unwrap();
    let (before, theirs) = (all(source, &[OLD]).await, all(target, &[OLD]).await);
    let command = |map: &'static str, namespace: &'static str| {
        [&["move", "-n", namespace, "--map-namespace", map][..], &WITHOUT_PLUGIN].concat()
    };
    let report = stage.host.run(&command("workshop=site-7", OLD)).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "Moved");
    stage.tidy(&[OLD]).await;
    let there = renamed(before.clone(), OLD, NEW);
    same(there.clone(), all(target, &[NEW]).await);
    same(theirs.clone(), all(target, &[OLD]).await);
    assert!(all(source, &[OLD]).await.is_empty());

    state::restore_status(target, &there).await.unwrap();
    stage.back().run(&command("site-7=workshop", NEW)).await.unwrap().done().unwrap();
    same(before, all(source, &[OLD]).await);
    same(theirs, all(target, &[OLD]).await);
    assert!(all(target, &[NEW]).await.is_empty());
}
