//! The namespace of leases and records: created by the first write that needs it, and by nothing else.

use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_core::request::scope::Namespaces;
use pivot_core::{GroupKind, Key, Side};
use pivot_engine::{Exit, Failure, Stop};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{Access, PlaceError};
use serde_json::{Value, json};

use crate::run;
use crate::stage::{CLUSTERS, Stage, body, picture};
use crate::trouble::half_committed;

fn namespace() -> Key {
    Key::new(GroupKind::new("", "Namespace"), None, RECORD_NAMESPACE)
}

fn without_namespace() -> Stage {
    let stage = Stage::new();
    for place in [&stage.source, &stage.target] {
        place.remove(&namespace()).unwrap();
    }
    stage
}

/// The writes that created the namespace.
fn creations(place: &MemoryPlace) -> usize {
    let is_creation = |call: &pivot_memory::Call| call.verb == "create" && call.key == namespace();
    place.journal().iter().filter(|call| is_creation(call)).count()
}

fn refused(stop: &Stop) -> (Side, Vec<String>) {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    let [refusal] = refusals.as_slice() else { panic!("{stop}") };
    assert_eq!((refusal.code, stop.exit), ("record-namespace-missing", Exit::Refused), "{stop}");
    assert!(refusal.remedies.contains(&Remedy::NameRecordNamespace), "{stop}");
    (refusal.side, refusal.remedies.iter().filter_map(Remedy::by_hand).collect())
}

// proves: T149
#[tokio::test(start_paused = true)]
async fn first_write_creates_missing_record_namespace() {
    let whole = Stage::new();
    run::start(whole.setup()).await.unwrap();
    for place in [&whole.source, &whole.target] {
        assert_eq!(creations(place), 0);
    }
    let stage = without_namespace();
    run::start(stage.setup()).await.unwrap();
    for (place, same) in [(&stage.source, &whole.source), (&stage.target, &whole.target)] {
        assert_eq!(picture(place), picture(same));
        assert_eq!(creations(place), 1);
        let there = place.body(&namespace()).unwrap();
        assert!(there["metadata"].get("annotations").is_none(), "{there}");
    }
}

#[tokio::test(start_paused = true)]
async fn plans_and_status_create_no_record_namespace() {
    let stage = without_namespace();
    for known in [true, false] {
        if !known {
            // A run that writes tells the two sides apart by a temporary Lease.
            let system = Key::new(GroupKind::new("", "Namespace"), None, "kube-system");
            stage.source.remove(&system).unwrap();
        }
        run::plan(stage.setup()).await.unwrap();
        assert!(run::status(stage.setup()).await.unwrap().moves.is_empty());
        for place in [&stage.source, &stage.target] {
            let written: Vec<_> = place.journal().into_iter().filter(|call| call.done).collect();
            assert!(written.iter().all(|call| call.verb.starts_with("dry-run")), "{written:?}");
        }
    }
    run::start(stage.setup()).await.unwrap();
    assert_eq!(creations(&stage.source), 1);
}

#[tokio::test(start_paused = true)]
async fn namespace_that_cannot_be_created_refuses_first() {
    let create = Access {
        verb: "create".into(),
        group: String::new(),
        resource: "namespaces".into(),
        subresource: "".into(),
        namespace: None,
    };
    let may_not_create = |place: &MemoryPlace| {
        place.deny(create.clone());
        place.on_call(|verb, key| {
            (verb == "create" && *key == namespace())
                .then(|| Fault::Before(PlaceError::Forbidden("no".into())))
        });
    };
    for side in [Side::Source, Side::Target] {
        let stage = without_namespace();
        let place = if side == Side::Source { &stage.source } else { &stage.target };
        // A namespace that moves is there.
        stage.target.add_namespace("ns");
        may_not_create(place);
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in
            [run::plan(stage.setup()).await.unwrap_err(), run::start(stage.setup()).await.unwrap_err()]
        {
            let (refusing, by_hand) = refused(&stop);
            assert_eq!(refusing, side);
            assert!(by_hand[0].contains("kubectl create namespace pivot-host-records"), "{by_hand:?}");
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
        assert!(stage.target.journal().iter().all(|call| !call.done || call.verb.starts_with("dry-run")));
        // Who may not create it needs nothing but that it is there.
        place.add_namespace(RECORD_NAMESPACE);
        run::start(stage.setup()).await.unwrap();
    }
}

/// The first write into the target's is the commit's.
#[tokio::test(start_paused = true)]
async fn record_namespace_being_deleted_refuses_first() {
    for side in [Side::Source, Side::Target] {
        let stage = Stage::new();
        let place = if side == Side::Source { &stage.source } else { &stage.target };
        let dying = |body: &mut Value| body["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        place.edit(&namespace(), dying).unwrap();
        let before = (picture(&stage.source), picture(&stage.target));
        for stop in
            [run::plan(stage.setup()).await.unwrap_err(), run::start(stage.setup()).await.unwrap_err()]
        {
            let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
            let codes: Vec<_> = refusals.iter().map(|refusal| (refusal.code, refusal.side)).collect();
            assert_eq!(codes, [("record-namespace-deleting", side)], "{stop}");
            assert_eq!(stop.exit, Exit::Refused, "{stop}");
        }
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
        for place in [&stage.source, &stage.target] {
            let mut writes = place.journal().into_iter().filter(|call| call.verb == "patch" && call.done);
            let paused = writes.find(|call| call.key.group_kind.kind != "Lease");
            assert!(paused.is_none(), "{paused:?}");
        }
    }
}

// proves: T149
#[tokio::test(start_paused = true)]
async fn record_namespace_stays_when_its_clusters_move() {
    for rolls_back in [false, true] {
        let mut stage = without_namespace();
        stage.options.scope.namespaces = Namespaces::All;
        stage.options.scope.accept.insert(Risk::Unprovisioned);
        let mut cluster = body(CLUSTERS, "Cluster", "misplaced", None);
        cluster["metadata"]["namespace"] = json!(RECORD_NAMESPACE);
        stage.source.insert(cluster).unwrap();
        let moved = Key::new(GroupKind::new(CLUSTERS, "Cluster"), Some(RECORD_NAMESPACE), "misplaced");
        if rolls_back {
            stage = half_committed(stage).await;
            run::rollback(stage.setup()).await.unwrap();
        } else {
            run::start(stage.setup()).await.unwrap();
        }
        assert_eq!(stage.source.body(&moved).is_some(), rolls_back);
        assert_eq!(stage.target.body(&moved).is_none(), rolls_back);
        for place in [&stage.source, &stage.target] {
            assert!(
                place
                    .body(&namespace())
                    .is_some_and(|body| body["metadata"].get("deletionTimestamp").is_none())
            );
        }
    }
}
