//! The controller's cluster is restored from a backup of before or during a move that has ended since.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pivot_memory::MemoryPlace;
use serde_json::Value;

use crate::stage::Stage;

/// Everything that a server holds.
#[derive(Clone)]
struct Backup(Vec<Value>);

impl Backup {
    fn take(place: &MemoryPlace) -> Self {
        Self(place.keys().iter().filter_map(|key| place.body(key)).collect())
    }

    /// As a restored data directory of etcd does: with the UIDs of then.
    fn restore(&self, place: &MemoryPlace) {
        place.keys().iter().for_each(|key| place.remove(key).unwrap());
        self.0.iter().for_each(|body| drop(place.insert(body.clone()).unwrap()));
    }
}

/// Objects of the namespace's Cluster in a cluster, with their content.
fn objects(stage: &Stage, place: &MemoryPlace) -> Vec<(String, Value)> {
    let named = stage.cluster_in(place, "a");
    let keys = place.keys().into_iter().filter(|key| named.contains(&key.to_string()));
    let mut objects: Vec<(String, Value)> =
        keys.map(|key| (key.to_string(), place.body(&key).unwrap())).collect();
    objects.sort_by(|a, b| a.0.cmp(&b.0));
    objects
}

/// A move that has ended, and backups of home from each write to it.
async fn moved() -> (Stage, Vec<Backup>) {
    let stage = Stage::new(&["a"]);
    stage.ask("a");
    let backups = Arc::new(Mutex::new(vec![Backup::take(&stage.home)]));
    let (own, all) = (stage.home.clone(), backups.clone());
    stage.home.on_call(move |verb, _| {
        if ["create", "patch", "delete"].contains(&verb) {
            all.lock().unwrap().push(Backup::take(&own));
        }
        None
    });
    let running = stage.start();
    stage.until("done", |stage| stage.done("a")).await;
    running.stop().await;
    stage.home.on_call(|_, _| None);
    let backups = backups.lock().unwrap().clone();
    (stage, backups)
}

// proves: I14, T166
#[tokio::test(start_paused = true)]
async fn restored_pivots_fail_next_to_their_source() {
    let (stage, backups) = moved().await;
    let (mut without_record, mut with_record, mut over) = (0, 0, 0);
    for (number, backup) in backups.iter().enumerate() {
        backup.restore(&stage.home);
        let before = [&stage.home, &stage.target].map(|place| objects(&stage, place));
        let has_record = stage.home.keys().iter().any(|key| {
            key.group_kind.kind == "ConfigMap"
                && stage.home.body(key).unwrap()["metadata"]["labels"]["pivot-host.io/record"] == "source"
        });
        let running = stage.start();
        stage
            .until(&format!("judged, backup {number}"), |stage| {
                stage.is("a", "Stalled") || stage.is("a", "Succeeded")
            })
            .await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        if before[0].is_empty() {
            over += 1;
            running.stop().await;
            continue;
        }
        assert!(stage.is("a", "Stalled") && !stage.is("a", "Succeeded"), "backup {number}");
        assert_eq!(stage.condition("a", "Ready").unwrap()["status"], "False", "backup {number}");
        let message = stage.condition("a", "Stalled").unwrap()["message"].as_str().unwrap().to_owned();
        if has_record {
            with_record += 1;
        } else {
            without_record += 1;
            assert!(message.contains("Cluster a/c may be managed twice"), "backup {number}: {message}");
        }
        stage.delete("a").await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        running.stop().await;
        let after = [&stage.home, &stage.target].map(|place| objects(&stage, place));
        assert_eq!(after, before, "backup {number}");
    }
    assert!(without_record > 3 && with_record > 10 && over > 0, "{without_record} {with_record} {over}");
}

/// The target lost a move that its source has committed: the source may be the last copy.
// proves: I14, T160
#[tokio::test(start_paused = true)]
async fn pivots_keep_a_source_whose_target_went_back() {
    let empty = Backup::take(&Stage::new(&["a"]).target);
    let (stage, backups) = moved().await;
    let mut committed = 0;
    for (number, backup) in backups.iter().enumerate() {
        backup.restore(&stage.home);
        empty.restore(&stage.target);
        let before = [&stage.home, &stage.target].map(|place| objects(&stage, place));
        let is_committed = stage.home.keys().iter().any(|key| {
            let body = stage.home.body(key).unwrap();
            body["metadata"]["labels"]["pivot-host.io/record"] == "source"
                && body["data"].to_string().contains("Committed")
        });
        if !is_committed {
            continue;
        }
        committed += 1;
        let running = stage.start();
        stage.until(&format!("judged, backup {number}"), |stage| stage.is("a", "Stalled")).await;
        assert!(!stage.is("a", "Succeeded"), "backup {number}");
        stage.delete("a").await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        running.stop().await;
        let after = [&stage.home, &stage.target].map(|place| objects(&stage, place));
        assert_eq!(after, before, "backup {number}");
        assert!(!before[0].is_empty() && before[1].is_empty(), "backup {number}");
    }
    assert!(committed > 3, "{committed}");
}
