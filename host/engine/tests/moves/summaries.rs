//! Summaries that ended moves leave: how many are kept, and of whom.

use pivot_core::Key;
use pivot_core::objects::names::{self, FINISHED, ROLLED_BACK};
use pivot_core::request::mapping::NamespaceMap;
use pivot_memory::MemoryPlace;
use serde_json::{Value, json};

use crate::run;
use crate::stage::Stage;
use crate::trouble::half_committed;

/// The summaries under a label, with the namespace that each is about.
fn summaries(place: &MemoryPlace, label: &str) -> Vec<(Key, Value, String)> {
    let summary = |key: Key| {
        let body = place.body(&key)?;
        body["metadata"]["labels"].get(label)?;
        let data = body["data"].as_object()?;
        let text: Value = serde_json::from_str(data.values().next()?.as_str()?).ok()?;
        let of = text["scope"]["namespaces"]["one"].as_str()?.to_owned();
        Some((key, body, of))
    };
    place.keys().into_iter().filter_map(summary).collect()
}

/// Inserts older summaries like the one that is there, of moves of a namespace.
fn add_older(place: &MemoryPlace, label: &str, of: &str, how_many: usize) {
    let (_, like, _) = summaries(place, label).remove(0);
    for n in 0..how_many {
        let mut body = like.clone();
        let id = format!("{of}-{n}");
        body["metadata"]["name"] = json!(format!("{}-old-{id}", names::STATE));
        body["metadata"]["uid"] = json!(id);
        for text in body["data"].as_object_mut().unwrap().values_mut() {
            let mut summary: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
            summary["moveId"] = json!(id);
            summary["ended"] = json!("2026-01-01T00:00:00Z");
            summary["scope"]["namespaces"] = json!({"one": of});
            *text = json!(summary.to_string());
        }
        place.insert(body).unwrap();
    }
}

// proves: T153
#[tokio::test(start_paused = true)]
async fn moves_remove_no_summaries_of_other_namespaces() {
    for (label, rolls_back) in [(FINISHED, false), (ROLLED_BACK, true)] {
        let run_once = async |stage: Stage| {
            if rolls_back {
                let stage = half_committed(stage).await;
                run::rollback(stage.setup()).await.unwrap();
            } else {
                run::start(stage.setup()).await.unwrap();
            }
        };
        let keeps = |stage: &Stage| if rolls_back { stage.source.clone() } else { stage.target.clone() };
        let first = Stage::new();
        let left = keeps(&first);
        run_once(first).await;
        let (_, like, _) = summaries(&left, label).remove(0);
        let stage = Stage::new();
        let place = keeps(&stage);
        place.insert(like).unwrap();
        add_older(&place, label, "ns", 20);
        add_older(&place, label, "bank", 12);
        run_once(stage).await;
        let of =
            |namespace: &str| summaries(&place, label).iter().filter(|(_, _, of)| of == namespace).count();
        assert_eq!((of("ns"), of("bank")), (10, 12), "{label}");
    }
}

/// Sources of two tenants can have a namespace of the same name.
// proves: T153
#[tokio::test(start_paused = true)]
async fn summaries_count_by_namespace_in_target() {
    let mapped = || {
        let mut stage = Stage::new();
        let pairs = [("ns".to_owned(), "shop".to_owned())];
        stage.options.scope.namespace_map = NamespaceMap::new(pairs).unwrap();
        stage
    };
    let first = mapped();
    run::start(first.setup()).await.unwrap();
    let (_, like, _) = summaries(&first.target, FINISHED).remove(0);
    let stage = mapped();
    let target = &stage.target;
    target.insert(like).unwrap();
    add_older(target, FINISHED, "ns", 30);
    // By the source's names, they are of the same namespace.
    for (key, _, _) in summaries(target, FINISHED).into_iter().take(12) {
        let unmap = |body: &mut Value| {
            for text in body["data"].as_object_mut().unwrap().values_mut() {
                let mut summary: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
                summary["scope"].as_object_mut().unwrap().remove("namespaceMap").unwrap();
                *text = json!(summary.to_string());
            }
        };
        target.edit(&key, unmap).unwrap();
    }
    run::start(stage.setup()).await.unwrap();
    let is_mapped = |body: &Value| body["data"].to_string().contains("namespaceMap");
    let of_shop = summaries(target, FINISHED).iter().filter(|(_, body, _)| is_mapped(body)).count();
    assert_eq!((of_shop, summaries(target, FINISHED).len() - of_shop), (10, 12));
}
