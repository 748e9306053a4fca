//! The object by which a run found the target is deleted last: until then, the source alone is enough to find the target again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use pivot_core::plugins::hooks::{Description, Hook, Settlement};
use pivot_core::records::record::Phase;
use pivot_core::{GroupKind, Key, Object};
use pivot_engine::Exit;
use pivot_engine::hooks::{HookError, Hooks, Services};
use serde_json::json;

use crate::crash::{die_at, nothing_of_ours, revive};
use crate::run;
use crate::seeds::{distance_of_deaths, is_brief};
use crate::stage::{CLUSTERS, Stage, is_record, key, picture};

fn kubeconfig() -> Key {
    key("", "Secret", "c-kubeconfig")
}

/// A move whose target was found by a Secret that the Cluster owns, as its controllers make it.
fn stage() -> Stage {
    let mut stage = Stage::new();
    let owner = json!([{"apiVersion": format!("{CLUSTERS}/v1beta2"), "kind": "Cluster", "name": "c", "uid": "Cluster-c"}]);
    stage.source.edit(&kubeconfig(), |body| body["metadata"]["ownerReferences"] = owner).unwrap();
    stage.options.found_by = Some(kubeconfig());
    stage
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_write_a_move_leaves_its_way_to_the_target_until_all_else_is_done() {
    let whole = stage();
    run::start(whole.setup()).await.unwrap();
    let (source, target) = (picture(&whole.source), picture(&whole.target));
    assert!(
        !source.contains_key(&kubeconfig().to_string()) && target.contains_key(&kubeconfig().to_string())
    );
    let (mut deaths, mut without, mut alone) = (0, 0, 0);
    for acted in [false, true] {
        for n in (1..).step_by(distance_of_deaths()) {
            let stage = stage();
            let calls = die_at(&stage, n, acted);
            let _ = run::start(stage.setup()).await;
            let died = calls.load(Ordering::SeqCst) >= n;
            revive(&stage);
            stage.source.collect_garbage();
            let mut left = picture(&stage.source);
            left.retain(|object, _| !object.contains("pivot-host-source"));
            let found = left.remove(&kubeconfig().to_string()).is_some();
            let done = left.keys().eq(source.keys());
            assert!(found || done, "write {n}, acted {acted}: {:?}", left.keys());
            let recorded = stage.source.keys().iter().any(|key| is_record(key, "source"));
            without += usize::from(died && !found && recorded);
            alone += usize::from(found && done);
            // The run that goes on may have found the target in another way.
            let mut other = stage.setup();
            other.options.found_by = None;
            if let Err(stop) = run::start(other).await {
                assert_eq!(stop.exit, Exit::Empty, "write {n}, acted {acted}: {stop}");
            }
            assert_eq!(picture(&stage.source), source, "write {n}, acted {acted}");
            assert_eq!(picture(&stage.target), target, "write {n}, acted {acted}");
            assert!(
                nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target),
                "write {n}, acted {acted}"
            );
            if !died {
                break;
            }
            deaths += distance_of_deaths();
        }
    }
    assert!(deaths > 80 && (alone > 0 || is_brief()), "{deaths}, {alone}");
    // Between its delete, or an answer to that which gets lost, and the end of the source's record.
    assert!(without <= 3, "{without}");
}

/// Doesn't settle anything at first.
struct Fails(Description, Arc<AtomicBool>);

#[async_trait]
impl Hooks for Fails {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn settle(&self, _: &Object, _: bool, _: Arc<dyn Services>) -> Result<Settlement, HookError> {
        if self.1.load(Ordering::SeqCst) {
            return Ok(Settlement::Done);
        }
        Err(HookError { code: "trap".into(), message: "it broke".into() })
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_move_settles_the_source_still_has_the_way_to_the_target() {
    for resumed_by_it in [false, true] {
        let (mut stage, fixed) = (stage(), Arc::new(AtomicBool::new(false)));
        let description = Description {
            name: "fails".into(),
            kinds: vec![GroupKind::new(CLUSTERS, "Machine")],
            hooks: vec![Hook::Settle],
            ..Description::default()
        };
        stage.plugins = vec![Arc::new(Fails(description, fixed.clone()))];
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert_eq!((stop.exit, stop.phase), (Exit::PastCommit, Some(Phase::Settled)), "{stop}");
        assert!(stage.source.collect_garbage().is_empty());
        assert!(stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none());
        let left = stage.source.body(&kubeconfig()).unwrap();
        assert_eq!(left["data"]["value"], "c2VjcmV0");
        fixed.store(true, Ordering::SeqCst);
        if !resumed_by_it {
            stage.options.found_by = None;
        }
        run::resume(stage.setup()).await.unwrap();
        assert!(stage.source.body(&kubeconfig()).is_none() && stage.target.body(&kubeconfig()).is_some());
        assert!(nothing_of_ours(&stage.source));
    }
}

// proves: T88
#[tokio::test(start_paused = true)]
async fn what_is_deleted_last_is_deleted_only_as_it_was_copied() {
    let (mut stage, fixed) = (stage(), Arc::new(AtomicBool::new(true)));
    let description = Description {
        name: "fails".into(),
        kinds: vec![GroupKind::new(CLUSTERS, "Machine")],
        hooks: vec![Hook::Settle],
        ..Description::default()
    };
    stage.plugins = vec![Arc::new(Fails(description, fixed))];
    let source = stage.source.clone();
    stage.source.on_call(move |verb, key| {
        if verb == "delete" && *key == kubeconfig() {
            source.edit(key, |body| body["data"]["value"] = json!("bmV3")).unwrap();
        }
        None
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    assert!(stop.to_string().contains("data.value") && !stop.to_string().contains("bmV3"), "{stop}");
    assert!(stage.source.body(&kubeconfig()).is_some());
}
