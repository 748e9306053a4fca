//! Objects of the target that others annotated as if a move had made them.

use pivot_core::objects::names::{COPY_OF, MARK};
use pivot_core::records::record::Phase;
use pivot_engine::{Exit, OneSidedMove};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::committed;
use crate::restored::one_sided;
use crate::run;
use crate::stage::{CLUSTERS, INFRA, Stage, body, is_record, key, picture, under_way};
use crate::trouble::code;

/// A move that stopped while it copied: the target has everything but the last Machine's infrastructure.
async fn copied() -> Stage {
    let stage = Stage::new();
    stage.target.on_call(|verb, key| {
        let last = verb == "create" && key.group_kind.kind == "InfraMachine" && key.name == "m1";
        last.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PartWay, Some(Phase::Copied)), "{stop}");
    stage.target.on_call(|_, _| None);
    stage
}

/// The annotations that others can forge: the move's id, which each copy has, alone or with what another copy has beside it.
async fn forgeries(stage: &Stage) -> [Value; 3] {
    let id = under_way(stage.setup()).await.unwrap().record.move_id;
    let copy = stage.target.body(&key(CLUSTERS, "Machine", "m0")).unwrap();
    let proof = &copy["metadata"]["annotations"][COPY_OF];
    assert!(proof.as_str().unwrap().starts_with("Machine-m0 "), "{proof}");
    [json!({MARK: id}), json!({MARK: id, COPY_OF: "Machine-m0"}), json!({MARK: id, COPY_OF: proof})]
}

fn insert_theirs(target: &MemoryPlace, kind: (&str, &str), name: &str, annotations: &Value) -> Value {
    let mut theirs = body(kind.0, kind.1, name, None);
    theirs["metadata"]["uid"] = json!("theirs");
    theirs["metadata"]["annotations"] = annotations.clone();
    theirs["spec"] = json!({"theirs": true});
    target.insert(theirs).unwrap();
    target.body(&key(kind.0, kind.1, name)).unwrap()
}

// proves: I7, T135
#[tokio::test(start_paused = true)]
async fn rollback_keeps_objects_with_forged_marks() {
    for number in 0..3 {
        let stage = copied().await;
        let forged = &forgeries(&stage).await[number];
        // It runs, as no copy of this move does.
        let theirs = insert_theirs(&stage.target, (CLUSTERS, "Cluster"), "theirs", forged);
        run::rollback(stage.setup()).await.unwrap();
        let left: Vec<String> = picture(&stage.target).into_keys().collect();
        assert_eq!(left, ["Cluster ns/theirs"], "{forged}");
        assert_eq!(stage.target.body(&key(CLUSTERS, "Cluster", "theirs")).unwrap(), theirs, "{forged}");
        assert!(under_way(stage.setup()).await.is_none());
    }
}

// proves: I7, T135
#[tokio::test(start_paused = true)]
async fn copies_never_overwrite_objects_with_forged_marks() {
    let infra = key(INFRA, "InfraMachine", "m1");
    for (number, late) in (0..3).flat_map(|number| [(number, false), (number, true)]) {
        let stage = copied().await;
        let forged = forgeries(&stage).await[number].clone();
        let at = format!("{forged}, late {late}");
        if late {
            // After the checks have looked, at the last moment.
            let (target, forged) = (stage.target.clone(), forged.clone());
            stage.target.on_call(move |verb, key| {
                if verb == "create" && *key == crate::stage::key(INFRA, "InfraMachine", "m1") {
                    insert_theirs(&target, (INFRA, "InfraMachine"), "m1", &forged);
                }
                None
            });
        } else {
            insert_theirs(&stage.target, (INFRA, "InfraMachine"), "m1", &forged);
        }
        let stop = run::resume(stage.setup()).await.unwrap_err();
        assert_eq!((stop.exit, code(&stop)), (Exit::PartWay, "exists"), "{at}: {stop}");
        assert!(!stop.to_string().contains("earlier move"), "{at}: {stop}");
        let there = stage.target.body(&infra).unwrap();
        assert_eq!((&there["spec"], &there["metadata"]["uid"]), (&json!({"theirs": true}), &json!("theirs")));
        stage.target.on_call(|_, _| None);
        run::rollback(stage.setup()).await.unwrap();
        assert_eq!(picture(&stage.target).len(), 1, "{at}");
    }
}

/// Whoever reads what a move prints must not be able to forge.
#[tokio::test(start_paused = true)]
async fn documents_never_show_the_key_of_copies() {
    let stage = copied().await;
    let status = run::status(stage.setup()).await.unwrap();
    let text = serde_json::to_string(&status.moves).unwrap();
    assert!(text.contains("moveId") && !text.contains("copyKey"), "{text}");
}

/// Anyone with write access to the source could have its record say that nothing is committed.
// proves: I7, T183
#[tokio::test(start_paused = true)]
async fn forged_record_removes_no_running_copies() {
    let stage = committed::commit(Stage::new()).await;
    let cluster = key(CLUSTERS, "Cluster", "c");
    stage.target.edit(&cluster, |body| body["spec"]["paused"] = json!(false)).unwrap();
    let record = stage.source.keys().into_iter().find(|key| is_record(key, "source")).unwrap();
    let forge = |body: &mut Value| {
        let text = body["data"]["record.json"].as_str().unwrap();
        let mut record: Value = serde_json::from_str(text).unwrap();
        record["phase"] = json!("Copied");
        record["target"] = Value::Null;
        record["kinds"].as_array_mut().unwrap().retain(|kind| kind["kind"] != "Cluster");
        body["data"]["record.json"] = json!(record.to_string());
    };
    stage.source.edit(&record, forge).unwrap();
    let copies = picture(&stage.target);
    let stop = run::rollback(stage.setup()).await.unwrap_err();
    assert!(matches!(one_sided(&stop), OneSidedMove::TakenOver(_)), "{stop}");
    assert_eq!(picture(&stage.target), copies);
}
