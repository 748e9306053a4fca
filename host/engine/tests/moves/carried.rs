//! What no rule selects, and the user carries along: a policy, an installer's ConfigMap, credentials of another namespace.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::BLOCK_MOVE;
use pivot_core::objects::selector::Part;
use pivot_core::plugins::hooks::{Description, Hook};
use pivot_core::records::record::Phase;
use pivot_core::request::selector_syntax;
use pivot_core::{GroupKind, Key, KindLabels, Object, Side};
use pivot_engine::hooks::{HookError, Hooks};
use pivot_engine::{Exit, Failure, Stop};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::crash::{at_every_write, die_at, nothing_of_ours, revive};
use crate::run;
use crate::seeds::deaths_of;
use crate::settling::Keeper;
use crate::stage::{CLUSTERS, INFRA, Stage, body, is_record, key, kind, picture, under_way};

const POLICIES: &str = "policies.example.org";

fn credentials() -> Key {
    Key::new(GroupKind::new("", "Secret"), Some("elsewhere"), "credentials")
}

fn bom() -> Key {
    key("", "ConfigMap", "bom")
}

fn policy(name: &str) -> Key {
    key(POLICIES, "Policy", name)
}

/// The stage with what only a user knows about. A controller works on policies, and would never acknowledge a pause.
pub(crate) fn stage() -> Stage {
    let mut stage = Stage::new();
    for place in [&stage.source, &stage.target] {
        place.add_kind(kind(POLICIES, "Policy", "policies", KindLabels::default()));
    }
    stage.source.add_namespace("elsewhere");
    let mut strict = body(POLICIES, "Policy", "strict", None);
    strict["metadata"]["annotations"] = json!({BLOCK_MOVE: "", "mine": "1"});
    strict["spec"] = json!({"allow": []});
    strict["status"] = json!({"conditions": [{"type": "Paused", "status": "False"}]});
    let below = body(POLICIES, "Policy", "below", Some((POLICIES, "Policy", "strict")));
    let mut secret = body("", "Secret", "credentials", None);
    secret["metadata"]["namespace"] = json!("elsewhere");
    secret["data"] = json!({"password": "aHVzaA=="});
    let mut configuration = body("", "ConfigMap", "bom", None);
    configuration["data"] = json!({"images": "all"});
    let mut root = body("", "ConfigMap", "kube-root-ca.crt", None);
    root["data"] = json!({"ca.crt": "of the source"});
    for object in [strict, below, secret, configuration, root] {
        stage.source.insert(object).unwrap();
    }
    let parts = [
        Part::of_object(&policy("strict")),
        Part::of_object(&credentials()),
        Part::of_kind(bom().group_kind),
    ];
    stage.options.scope.also_copy = parts.into();
    stage
}

/// The carried objects, byte for byte: even a version would show that somebody wrote to them.
fn carried(place: &MemoryPlace) -> Vec<Option<Value>> {
    [credentials(), bom(), policy("strict")].iter().map(|key| place.body(key)).collect()
}

fn refused(stop: &Stop) -> Vec<&'static str> {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    refusals.iter().map(|refusal| refusal.code).collect()
}

fn names(place: &MemoryPlace) -> Vec<String> {
    picture(place).into_keys().collect()
}

const LEFT: [&str; 6] = [
    "ConfigMap ns/bom",
    "ConfigMap ns/kube-root-ca.crt",
    "Policy ns/below",
    "Policy ns/strict",
    "Secret elsewhere/credentials",
    "Secret ns/pull",
];

#[tokio::test(start_paused = true)]
async fn what_is_carried_along_is_in_both_by_whichever_run_the_move_ends() {
    let plain = Stage::new();
    run::start(plain.setup()).await.unwrap();
    let whole = stage();
    let before = picture(&whole.source);
    run::start(whole.setup()).await.unwrap();
    let target = picture(&whole.target);
    let mut expected = picture(&plain.target);
    let copied = ["ConfigMap ns/bom", "Policy ns/strict", "Secret elsewhere/credentials"];
    expected.extend(copied.map(|name| (name.to_owned(), before[name].clone())));
    assert_eq!(target, expected);
    let deaths = at_every_write(
        async || {
            let stage = stage();
            let untouched = carried(&stage.source);
            (stage, untouched)
        },
        async |stage, _| drop(run::start(stage.setup()).await),
        async |stage, untouched, at| {
            // The record says what is carried.
            let mut plain = stage.setup();
            if under_way(stage.setup()).await.is_some() {
                plain.options.scope.also_copy.clear();
                run::resume(plain).await.unwrap();
            } else if let Err(stop) = run::start(plain).await {
                assert_eq!(stop.exit, Exit::Empty, "{at}: {stop}");
            }
            assert_eq!(picture(&stage.target), target, "{at}");
            assert_eq!(names(&stage.source), LEFT, "{at}");
            assert_eq!(carried(&stage.source), *untouched, "{at}");
            assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target));
        },
    )
    .await;
    assert!(deaths > 80, "{deaths}");
}

#[tokio::test(start_paused = true)]
async fn what_is_carried_along_is_rolled_back_with_the_rest() {
    let mut rolled_back = 0;
    at_every_write(
        async || {
            let stage = stage();
            let before = (picture(&stage.source), carried(&stage.source));
            (stage, before)
        },
        async |stage, _| drop(run::start(stage.setup()).await),
        async |stage, (untouched, versions), at| {
            if !at.died {
                return;
            }
            let Some(one) = under_way(stage.setup()).await else { return };
            if one.record.phase >= Phase::Committed {
                return;
            }
            run::rollback(stage.setup()).await.unwrap();
            rolled_back += 1;
            assert_eq!(picture(&stage.source), *untouched, "{at}");
            assert_eq!(carried(&stage.source), *versions, "{at}");
            assert!(picture(&stage.target).is_empty(), "{at}");
            let namespaces = stage.target.keys().into_iter().filter(|key| key.group_kind.kind == "Namespace");
            assert!(namespaces.into_iter().all(|key| !["ns", "elsewhere"].contains(&key.name.as_str())));
        },
    )
    .await;
    assert!(rolled_back > deaths_of(20), "{rolled_back}");
}

/// As with everything that is kept.
#[tokio::test(start_paused = true)]
async fn what_is_there_already_is_used_if_it_is_the_same() {
    let there = |stage: &Stage, images: &str| {
        stage.target.add_namespace("ns");
        let mut bom = body("", "ConfigMap", "bom", None);
        bom["data"] = json!({"images": images});
        stage.target.insert(bom).unwrap();
        stage.target.body(&self::bom()).unwrap()
    };
    let same = stage();
    let before = there(&same, "all");
    run::start(same.setup()).await.unwrap();
    assert_eq!(same.target.body(&bom()).unwrap(), before);

    let mut other = stage();
    let before = there(&other, "none");
    let stop = run::start(other.setup()).await.unwrap_err();
    assert_eq!((stop.exit, refused(&stop)), (Exit::Refused, vec!["differs"]));
    assert_eq!(other.target.keys().iter().filter(|key| key.group_kind.group == CLUSTERS).count(), 0);
    other.options.accept.insert(Risk::ExistingDiffers);
    run::start(other.setup()).await.unwrap();
    assert_eq!(other.target.body(&bom()).unwrap(), before);
}

/// Of the policies only one was read.
#[tokio::test(start_paused = true)]
async fn what_appears_or_changes_during_the_move_is_copied_if_it_is_carried() {
    let stage = stage();
    let source = stage.source.clone();
    let once = AtomicUsize::new(0);
    stage.target.on_call(move |verb, key| {
        if verb == "create" && key.group_kind.kind == "Policy" && once.fetch_add(1, Ordering::SeqCst) == 0 {
            source.insert(body(POLICIES, "Policy", "late", None)).unwrap();
            source.insert(body("", "ConfigMap", "late", None)).unwrap();
            source.edit(&bom(), |body| body["data"] = json!({"images": "more"})).unwrap();
        }
        None
    });
    run::start(stage.setup()).await.unwrap();
    assert_eq!(stage.target.body(&bom()).unwrap()["data"], json!({"images": "more"}));
    assert!(stage.target.body(&key("", "ConfigMap", "late")).is_some());
    assert!(stage.source.body(&key("", "ConfigMap", "late")).is_some());
    assert!(stage.target.body(&policy("late")).is_none() && stage.source.body(&policy("late")).is_some());
}

/// A rollback must find it.
#[tokio::test(start_paused = true)]
async fn a_carried_namespace_that_appears_before_the_commit_is_rolled_back_with_the_rest() {
    let mut stage = stage();
    let namespaces = GroupKind::new("", "Namespace");
    let late = Key::new(namespaces.clone(), None, "late");
    stage.options.scope.also_copy.insert(Part::of_kind(namespaces));
    let source = stage.source.clone();
    stage.target.on_call(move |verb, key| {
        if verb == "create" && key.group_kind.kind == "Policy" {
            source.add_namespace("late");
        }
        // The last comparison has found it.
        let dead = verb == "create" && key.group_kind.kind == "ConfigMap" && is_record(key, "target");
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(stage.target.body(&late).is_some(), "{stop}");
    stage.target.on_call(|_, _| None);
    run::rollback(stage.setup()).await.unwrap();
    assert!(stage.target.body(&late).is_none());
}

/// Counts what it is asked about.
struct Adapts(Description, AtomicUsize);

#[async_trait]
impl Hooks for Adapts {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn adapt(&self, object: &Object) -> Result<Option<Value>, HookError> {
        if object.key() == credentials() {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
        Ok(None)
    }
}

#[tokio::test(start_paused = true)]
async fn plugins_neither_see_nor_hold_what_is_carried_along() {
    let description = Description {
        name: "adapts".into(),
        kinds: vec![credentials().group_kind],
        hooks: vec![Hook::Adapt],
        ..Description::default()
    };
    let adapts = Arc::new(Adapts(description, AtomicUsize::new(0)));
    let mut all = stage();
    all.plugins = vec![adapts.clone()];
    run::start(all.setup()).await.unwrap();
    assert_eq!(adapts.1.load(Ordering::SeqCst), 0);

    let mut held = stage();
    held.plugins = vec![Arc::new(Keeper::at_once())];
    let mut host = body(INFRA, "Host", "h", None);
    host["metadata"]["namespace"] = json!("elsewhere");
    held.source.insert(host).unwrap();
    let host = Key::new(GroupKind::new(INFRA, "Host"), Some("elsewhere"), "h");
    held.options.scope.also_copy.insert(Part::of_object(&host));
    held.options.scope.accept.insert_kind(Risk::Shared, host.group_kind.clone());
    let before = picture(&held.source);
    let stop = run::start(held.setup()).await.unwrap_err();
    assert_eq!((stop.exit, refused(&stop)), (Exit::Refused, vec!["held-on-both-sides"]));
    assert_eq!(picture(&held.source), before);
}

#[tokio::test(start_paused = true)]
async fn where_there_is_nothing_but_what_is_carried_there_is_nothing_to_move() {
    let mut stage = stage();
    stage.source.add_namespace("empty");
    let scope = &mut stage.options.scope;
    scope.namespaces = pivot_core::request::scope::Namespaces::One("empty".into());
    scope.also_copy = [Part::of_object(&credentials())].into();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Empty);
}

/// A namespace is more than the object that was copied: others may have put something into it since.
#[tokio::test(start_paused = true)]
async fn a_rollback_leaves_a_carried_namespace_that_others_use() {
    let mut stage = stage();
    let namespace = Key::new(GroupKind::new("", "Namespace"), None, "elsewhere");
    stage.options.scope.also_copy = [Part::of_object(&namespace)].into();
    let theirs = Key::new(GroupKind::new("", "ConfigMap"), Some("elsewhere"), "theirs");
    let (target, created) = (stage.target.clone(), theirs.clone());
    stage.target.on_call(move |verb, key| {
        let dead = verb == "create" && key.group_kind.kind == "InfraMachine";
        if dead && target.body(&created).is_none() {
            let mut object = body("", "ConfigMap", "theirs", None);
            object["metadata"]["namespace"] = json!("elsewhere");
            target.insert(object).unwrap();
        }
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::start(stage.setup()).await.unwrap_err();
    revive(&stage);
    run::rollback(stage.setup()).await.unwrap();
    assert!(stage.target.body(&namespace).is_some() && stage.target.body(&theirs).is_some());
    stage.target.remove(&theirs).unwrap();

    run::start(stage.setup()).await.unwrap();
    assert!(stage.target.body(&namespace).is_some());
}

/// Those of one namespace are read, and of these only what has the label is anybody's business.
#[tokio::test(start_paused = true)]
async fn what_has_a_label_is_carried_from_another_namespace_and_found_again() {
    let mut stage = stage();
    let secret = |name: &str, label: &str| {
        let mut secret = body("", "Secret", name, None);
        secret["metadata"]["namespace"] = json!("elsewhere");
        secret["metadata"]["labels"] = json!({"example.com/hand-on": label});
        secret
    };
    for (name, label) in [("aws", "yes"), ("root", "no")] {
        stage.source.insert(secret(name, label)).unwrap();
    }
    stage.options.scope.also_copy =
        [selector_syntax::parse_part("Secret/elsewhere/*:example.com/hand-on=yes").unwrap()].into();
    let plan = run::plan(stage.setup()).await.unwrap();
    let elsewhere = |key: &&Key| key.namespace.as_deref() == Some("elsewhere");
    let keys = plan.steps.iter().map(|step| &step.key).chain(plan.stays.iter().map(|stay| &stay.key));
    assert_eq!(keys.filter(elsewhere).map(|key| key.name.as_str()).collect::<Vec<_>>(), ["aws"]);
    // Whoever goes on after a death knows the label by the record.
    let calls = die_at(&stage, 14, true);
    run::start(stage.setup()).await.unwrap_err();
    assert!(calls.load(Ordering::SeqCst) >= 14);
    revive(&stage);
    assert_eq!(under_way(stage.setup()).await.unwrap().record.phase, Phase::Copied);
    let mut setup = stage.setup();
    setup.options.scope.also_copy.clear();
    run::resume(setup).await.unwrap();
    let there = |place: &MemoryPlace| {
        let mut names: Vec<String> =
            place.keys().into_iter().filter(|key| elsewhere(&key)).map(|key| key.name).collect();
        names.sort();
        names
    };
    assert_eq!(there(&stage.source), ["aws", "credentials", "root"]);
    assert_eq!(there(&stage.target), ["aws"]);
}

/// The last comparison before the commit finds it, of a kind of which others are carried, and that is read for nothing else.
#[tokio::test(start_paused = true)]
async fn what_appears_late_with_the_label_is_carried_along() {
    let mut stage = stage();
    let part = format!("Policy.{POLICIES}:example.com/hand-on");
    stage.options.scope.also_copy = [selector_syntax::parse_part(&part).unwrap()].into();
    let label = |body: &mut Value| body["metadata"]["labels"] = json!({"example.com/hand-on": ""});
    stage.source.edit(&policy("strict"), label).unwrap();
    let source = stage.source.clone();
    stage.target.on_call(move |verb, key| {
        if verb == "create" && key.group_kind.kind == "InfraMachine" && source.body(&policy("late")).is_none()
        {
            let mut late = body(POLICIES, "Policy", "late", None);
            label(&mut late);
            source.insert(late).unwrap();
            source.insert(body(POLICIES, "Policy", "unlabelled", None)).unwrap();
        }
        None
    });
    run::start(stage.setup()).await.unwrap();
    let there =
        |name| (stage.target.body(&policy(name)).is_some(), stage.source.body(&policy(name)).is_some());
    assert_eq!(
        [there("strict"), there("late"), there("unlabelled")],
        [(true, true), (true, true), (false, true)]
    );
}

// proves: T44
#[tokio::test(start_paused = true)]
async fn a_confined_move_creates_nothing_outside_of_its_namespace() {
    let mut stage = stage();
    stage.options.confined = Some(Side::Target);
    let before = picture(&stage.source);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, refused(&stop)), (Exit::Refused, vec!["outside"]));
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!(refusals[0].object, Some(credentials()));
    assert_eq!(picture(&stage.source), before);
    // Nor is it said how a Secret that is there compares with theirs.
    stage.target.add_namespace("elsewhere");
    stage.target.insert(stage.source.body(&credentials()).unwrap()).unwrap();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(refused(&stop), ["outside"]);
    // What is in no namespace is used, if it is there.
    let namespace = Key::new(GroupKind::new("", "Namespace"), None, "more");
    stage.source.add_namespace("more");
    stage.options.scope.also_copy = [Part::of_object(&namespace)].into();
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(refused(&stop), ["outside"]);
    stage.target.add_namespace("more");
    stage.target.add_namespace("ns");
    run::start(stage.setup()).await.unwrap();
}
