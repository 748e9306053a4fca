//! The bytes of its own cluster's answers that a move holds.

use pivot_places::MemoryPlace;
use serde_json::json;

use crate::stage::{Stage, object};

const MACHINES: usize = 300;
/// Bytes that an object counts for beside its text.
const EACH: usize = 512;

fn add_machines(place: &MemoryPlace, namespace: &str) {
    for index in 0..MACHINES {
        let mut machine = object(namespace, "Machine", &format!("more-{index}"), Some("Cluster"));
        machine["status"] = json!({"nodeRef": {"name": format!("more-{index}")}});
        machine["spec"] = json!({"text": "x".repeat(2_000)});
        place.insert(machine).unwrap();
    }
}

/// Returns true if a move of these machines is done with a budget of so many bytes.
async fn moves(budget: usize) -> bool {
    let mut stage = Stage::new(&["a"]);
    stage.budget = Some(budget);
    add_machines(&stage.home, "a");
    stage.ask("a");
    let running = stage.start();
    let held = |stage: &Stage| {
        stage.pivot("a").unwrap()["status"]["message"].to_string().contains("would be held at once")
    };
    stage.until("ended", |stage| stage.is("a", "Succeeded") || held(stage)).await;
    running.kill();
    stage.is("a", "Succeeded")
}

/// docs/controller.md says by this how many objects a budget has room for.
#[tokio::test(start_paused = true)]
async fn moves_hold_a_third_more_than_their_objects() {
    let stage = Stage::new(&["a"]);
    add_machines(&stage.home, "a");
    let of_a = stage.home.keys().into_iter().filter(|key| key.namespace.as_deref() == Some("a"));
    let all: usize = of_a.map(|key| stage.home.body(&key).unwrap().to_string().len() + EACH).sum();
    assert!(moves(all * 4 / 3).await);
    assert!(!moves(all * 9 / 10).await, "the budget counts nothing");
}
