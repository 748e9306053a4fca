//! Namespaces that get other names in the target.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point};
use pivot_core::records::record::Phase;
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::{GroupKind, Key, Side};
use pivot_engine::events::{Event, Watcher};
use pivot_engine::hooks::{HookError, Hooks, MoveContext, Services};
use pivot_engine::{Exit, Failure, Setup, Sides, Stop};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{Access, DirectoryPlace, PlaceError};
use pivot_runtime::Query;
use serde_json::{Value, json};

use crate::committed::{Warnings, commit};
use crate::crash::{die_at, nothing_of_ours, revive};
use crate::run::{self, With};
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, picture, under_way};

pub(crate) fn map(pairs: &[(&str, &str)]) -> NamespaceMap {
    let pairs = pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
    NamespaceMap::new(pairs).unwrap()
}

/// The stage, whose namespace is to become `prod`. The target has a namespace of the old name already, with an object in it that
/// has the name of one that moves.
fn stage() -> Stage {
    let mut stage = Stage::new();
    let refers = |body: &mut Value| {
        body["spec"]["infrastructureRef"] = json!({"kind": "InfraCluster", "name": "c", "namespace": "ns"});
    };
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), refers).unwrap();
    let mut theirs = body(INFRA, "Pool", "p", None);
    theirs["spec"] = json!({"whose": "theirs"});
    stage.target.insert(theirs).unwrap();
    stage.options.scope.namespace_map = map(&[("ns", "prod")]);
    stage
}

/// The same picture in another namespace.
pub(crate) fn renamed(picture: BTreeMap<String, Value>, map: &NamespaceMap) -> BTreeMap<String, Value> {
    fn text(text: &str, map: &NamespaceMap) -> String {
        match text.split_once('/').and_then(|(before, name)| Some((before.rsplit_once(' ')?, name))) {
            Some(((kind, namespace), name)) => format!("{kind} {}/{name}", map.in_target(namespace)),
            None => map.in_target(text).to_owned(),
        }
    }
    fn value(of: Value, map: &NamespaceMap) -> Value {
        match of {
            Value::String(one) => Value::String(text(&one, map)),
            Value::Array(all) => all.into_iter().map(|one| value(one, map)).collect(),
            Value::Object(all) => all.into_iter().map(|(name, one)| (name, value(one, map))).collect(),
            other => other,
        }
    }
    picture.into_iter().map(|(key, body)| (text(&key, map), value(body, map))).collect()
}

/// One object of it.
pub(crate) fn renamed_object(object: &Value, map: &NamespaceMap) -> Value {
    let picture = BTreeMap::from([(String::new(), object.clone())]);
    renamed(picture, map).into_values().next().unwrap()
}

/// What people are told beside warnings.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Watcher for Notes {
    fn event(&self, event: Event) {
        if let Event::Note { text, .. } = event {
            self.0.lock().unwrap().push(text);
        }
    }
}

fn theirs(picture: &mut BTreeMap<String, Value>) -> Option<Value> {
    picture.remove("Pool ns/p")
}

fn refused(stop: &Stop) -> Vec<String> {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    refusals.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn a_namespace_moves_under_another_name_beside_one_of_its_old_name() {
    let (stage, plain) = (stage(), stage());
    let mut without = plain.setup();
    without.options.scope.namespace_map = NamespaceMap::default();
    plain.target.remove(&key(INFRA, "Pool", "p")).unwrap();
    run::start(without).await.unwrap();

    let namespace = Key::new(GroupKind::new("", "Namespace"), None, "ns");
    let settings = json!({"team": "x", "pivot-host.io/move": "an earlier one", "kubectl.kubernetes.io/last-applied-configuration": "{}"});
    let set = |body: &mut Value| {
        body["metadata"]["labels"] =
            json!({"pod-security": "privileged", "kubernetes.io/metadata.name": "ns"});
        body["metadata"]["annotations"] = settings.clone();
    };
    stage.source.edit(&namespace, set).unwrap();
    let done = run::start(stage.setup()).await.unwrap();
    let mut target = picture(&stage.target);
    assert_eq!(theirs(&mut target).unwrap()["spec"], json!({"whose": "theirs"}));
    assert_eq!(target, renamed(picture(&plain.target), &map(&[("ns", "prod")])));
    assert_eq!(picture(&stage.source), picture(&plain.source));
    assert_eq!(target["Cluster prod/c"]["spec"]["infrastructureRef"]["namespace"], "prod");
    let made = stage.target.body(&Key { name: "prod".into(), ..namespace }).unwrap();
    assert_eq!(
        made["metadata"]["labels"],
        json!({"pod-security": "privileged", "kubernetes.io/metadata.name": "prod"})
    );
    assert_eq!(made["metadata"]["annotations"], json!({"team": "x", "pivot-host.io/move": done.move_id}));
}

#[tokio::test(start_paused = true)]
async fn killed_at_any_write_a_mapped_move_is_resumed_from_its_record_to_the_same_end() {
    let whole = stage();
    run::start(whole.setup()).await.unwrap();
    let (source, target) = (picture(&whole.source), picture(&whole.target));
    let mut deaths = 0;
    for acted in [false, true] {
        for n in (1..).step_by(3) {
            let stage = stage();
            let calls = die_at(&stage, n, acted);
            let _ = run::start(stage.setup()).await;
            let died = calls.load(Ordering::SeqCst) >= n;
            revive(&stage);
            // Its record has the names; nobody has to type them again.
            let mut again = stage.setup();
            again.options.scope.namespace_map = NamespaceMap::default();
            match run::resume(again).await {
                Ok(_) => {}
                // It died before there was a record, or at its very end.
                Err(stop) if stop.exit == Exit::Empty => {
                    if picture(&stage.target) != target {
                        run::start(stage.setup()).await.unwrap();
                    }
                }
                Err(stop) => panic!("write {n}, acted {acted}: {stop}"),
            }
            assert_eq!(picture(&stage.target), target, "write {n}, acted {acted}");
            assert_eq!(picture(&stage.source), source, "write {n}, acted {acted}");
            if !died {
                break;
            }
            deaths += 1;
        }
    }
    assert!(deaths > 25, "{deaths}");
}

#[tokio::test(start_paused = true)]
async fn killed_before_the_commit_a_mapped_move_is_rolled_back_without_a_trace() {
    let (untouched, before) = (picture(&stage().source), picture(&stage().target));
    let mut rolled_back = 0;
    for n in (1..).step_by(3) {
        let stage = stage();
        let calls = die_at(&stage, n, true);
        let _ = run::start(stage.setup()).await;
        revive(&stage);
        if calls.load(Ordering::SeqCst) < n
            || under_way(stage.setup()).await.is_some_and(|one| one.record.phase >= Phase::Committed)
        {
            break;
        }
        let mut back = stage.setup();
        back.options.scope.namespace_map = NamespaceMap::default();
        if run::rollback(back).await.is_ok() {
            rolled_back += 1;
        }
        assert_eq!(
            (picture(&stage.source), picture(&stage.target)),
            (untouched.clone(), before.clone()),
            "{n}"
        );
        let made = Key::new(GroupKind::new("", "Namespace"), None, "prod");
        assert!(stage.target.body(&made).is_none() && nothing_of_ours(&stage.target), "{n}");
    }
    assert!(rolled_back > 4, "{rolled_back}");
}

#[tokio::test(start_paused = true)]
async fn files_are_written_and_read_under_other_names() {
    let (stage, dir) = (stage(), tempfile::tempdir().unwrap());
    let before = picture(&stage.source);
    let mut out = stage.setup();
    out.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    run::start(out).await.unwrap();
    assert_eq!(picture(&stage.source), before);
    assert!(dir.path().join("Cluster.cluster.x-k8s.io_prod_c.json").exists());

    let back = Stage::empty();
    let mut into = back.setup();
    into.sides = Sides {
        source: Arc::new(DirectoryPlace::to_read(dir.path()).unwrap()),
        target: Arc::new(back.target.clone()),
    };
    into.options.scope.namespaces = pivot_core::request::scope::Namespaces::All;
    into.options.scope.accept.insert(Risk::SourceMayRun);
    into.options.scope.namespace_map = map(&[("prod", "ns")]);
    run::start(into).await.unwrap();
    let copied: BTreeMap<String, Value> =
        before.into_iter().filter(|(key, _)| *key != "Secret ns/pull").collect();
    assert_eq!(picture(&back.target), copied);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_the_target_has_its_own_names() {
    let stage = stage();
    let mut there = body(CLUSTERS, "Machine", "m0", None);
    there["metadata"]["namespace"] = json!("prod");
    stage.target.insert(there).unwrap();
    stage.target.deny(Access {
        verb: "create".into(),
        group: INFRA.into(),
        resource: "pools".into(),
        subresource: "".into(),
        namespace: Some("prod".into()),
    });
    let told = refused(&run::start(stage.setup()).await.unwrap_err()).join("\n");
    let taken = "objects of Cluster prod/c are in the target already (Machine prod/m0)";
    assert!(told.contains(taken), "{told}");
    assert!(
        told.contains("no permission to create pools.infrastructure.cluster.x-k8s.io in namespace prod"),
        "{told}"
    );
}

/// A command to paste must not unpause another user's Cluster of the old name.
#[tokio::test(start_paused = true)]
async fn a_copy_that_is_still_paused_is_reported_under_its_own_name() {
    let stage = commit(stage()).await;
    let mut copy = key(CLUSTERS, "Cluster", "c");
    copy.namespace = Some("prod".into());
    let forget = |body: &mut Value| {
        body["metadata"]["annotations"].as_object_mut().unwrap().remove(names::UNDO).unwrap();
    };
    stage.target.edit(&copy, forget).unwrap();
    let warnings = Arc::new(Warnings::default());
    run::resume(Setup { watcher: warnings.clone(), ..stage.setup() }).await.unwrap();
    let told = warnings.0.lock().unwrap().join("\n");
    assert!(told.contains("Cluster prod/c in the target is still paused"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_rollback_names_what_it_leaves_in_the_target_as_that_does() {
    let stage = stage();
    let prod = |kind: &str| Key { namespace: Some("prod".into()), ..key(CLUSTERS, kind, "c") };
    stage.target.on_call(|verb, key| {
        let dead = verb == "create" && key.name == "m1";
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::start(stage.setup()).await.unwrap_err();
    revive(&stage);
    let there = stage.target.body(&prod("Cluster")).unwrap();
    // Somebody took it for theirs.
    stage.target.edit(&prod("Cluster"), |body| body["spec"]["paused"] = json!(false)).unwrap();
    let stop = run::rollback(stage.setup()).await.unwrap_err();
    assert!(stop.to_string().contains("Cluster prod/c, a copy of move"), "{stop}");
    stage.target.edit(&prod("Cluster"), |body| *body = Value::clone(&there)).unwrap();
    let mut theirs = body(INFRA, "Pool", "new", None);
    theirs["metadata"]["namespace"] = json!("prod");
    stage.target.insert(theirs).unwrap();
    let notes = Arc::new(Notes::default());
    run::rollback(Setup { watcher: notes.clone(), ..stage.setup() }).await.unwrap();
    let told = notes.0.lock().unwrap().join("\n");
    assert!(told.contains("namespace prod in the target is kept: it contains Pool prod/new"), "{told}");
}

// proves: T97
#[tokio::test(start_paused = true)]
async fn a_copy_that_is_lost_is_named_as_the_target_does() {
    let stage = stage();
    stage.target.on_call({
        let target = stage.target.clone();
        move |verb, key| {
            // The last thing before the commit is to compare.
            let compares = verb == "list-meta" && key.group_kind.kind == "Pool";
            let copy = Key { namespace: Some("prod".into()), ..crate::stage::key(INFRA, "Pool", "p") };
            if compares && target.body(&copy).is_some() {
                target.remove(&copy).unwrap();
            }
            None
        }
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(
        matches!(&stop.failure, Failure::Lost { object, .. } if object.to_string() == "Pool prod/p"),
        "{stop}"
    );
}

// proves: T97
#[tokio::test(start_paused = true)]
async fn a_copy_that_was_replaced_stops_the_commit() {
    let stage = stage();
    let copy = Key { namespace: Some("prod".into()), ..crate::stage::key(INFRA, "Pool", "p") };
    stage.target.on_call({
        let (target, replaced, copy) = (stage.target.clone(), AtomicBool::new(false), copy.clone());
        move |verb, key| {
            let compares = verb == "list-meta" && key.group_kind.kind == "Pool";
            if compares
                && let Some(mut other) = target.body(&copy).filter(|_| !replaced.swap(true, Ordering::SeqCst))
            {
                target.remove(&copy).unwrap();
                other["metadata"].as_object_mut().unwrap().remove("uid");
                target.insert(other).unwrap();
            }
            None
        }
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    let Failure::Lost { object, fields } = &stop.failure else { panic!("{stop}") };
    assert_eq!(
        (object.to_string().as_str(), &fields[..]),
        ("Pool prod/p", &["the whole object: another has its name".to_owned()][..])
    );
    assert!(stage.source.body(&crate::stage::key(INFRA, "Pool", "p")).is_some());
}

/// Where a name is taken, the namespace can have another one: as long as nothing is changed.
#[tokio::test(start_paused = true)]
async fn another_name_is_proposed_until_the_source_is_paused() {
    let mapped = |remedy: &Remedy| matches!(remedy, Remedy::MapNamespace { namespace } if namespace == "ns");
    let offered = |stop: &Stop| {
        let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
        refusals.iter().flat_map(|refusal| &refusal.remedies).filter(|remedy| mapped(remedy)).count()
    };
    let mut there = body(CLUSTERS, "Machine", "m0", None);
    there["metadata"]["namespace"] = json!("prod");
    let before = stage();
    before.target.insert(there.clone()).unwrap();
    assert_eq!(offered(&run::start(before.setup()).await.unwrap_err()), 1);
    let after = stage();
    after.source.on_call({
        let target = after.target.clone();
        move |verb, _| {
            if verb == "patch" && target.keys().iter().all(|key| key.name != "m0") {
                target.add_namespace("prod");
                target.insert(there.clone()).unwrap();
            }
            None
        }
    });
    let stop = run::start(after.setup()).await.unwrap_err();
    assert!(refused(&stop)[0].contains("Machine prod/m0 already exists"), "{stop}");
    assert_eq!(offered(&stop), 0, "{stop}");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_would_merge_with_another_changes_nothing() {
    let mut stage = stage();
    stage.source.add_namespace("prod");
    let mut other = body(CLUSTERS, "Cluster", "c", None);
    other["metadata"]["namespace"] = json!("prod");
    other["metadata"]["uid"] = json!("other");
    stage.source.insert(other).unwrap();
    stage.options.scope.namespaces = pivot_core::request::scope::Namespaces::All;
    let before = picture(&stage.source);
    let told = refused(&run::start(stage.setup()).await.unwrap_err()).join("\n");
    assert!(told.contains("namespace ns is to become prod, and prod is copied too"), "{told}");
    assert_eq!(picture(&stage.source), before);
}

/// Whoever moves files into the namespace `prod` meets a run that moves others into it under the name `ns`.
#[tokio::test(start_paused = true)]
async fn a_run_that_guards_the_target_locks_the_names_that_namespaces_have_there() {
    let (stage, dir) = (Stage::new(), tempfile::tempdir().unwrap());
    let mut out = stage.setup();
    out.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    run::start(out).await.unwrap();
    let mut into = stage.setup();
    into.sides.source = Arc::new(DirectoryPlace::to_read(dir.path()).unwrap());
    into.options.scope.accept.insert(Risk::SourceMayRun);
    into.options.scope.namespace_map = map(&[("ns", "prod")]);
    run::start(into).await.unwrap();
    let leases = stage.target.journal().into_iter().filter(|call| call.key.group_kind.kind == "Lease");
    let names: std::collections::BTreeSet<String> = leases.map(|call| call.key.name).collect();
    assert!(names.contains("pivot-host.ns.prod") && !names.contains("pivot-host.ns.ns"), "{names:?}");
}

/// What a check was told, and what it found under the names it was told.
struct Curious(Description, Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Hooks for Curious {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn check(
        &self,
        point: Point,
        context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let kind = GroupKind::new(CLUSTERS, "Cluster");
        let query = Query { side: Side::Target, kind, namespace: None, name: None, confined: true };
        let seen = services.read("curious", query).await.unwrap();
        let seen: Vec<String> = seen.iter().map(|object| object.key().to_string()).collect();
        self.1.lock().unwrap().push(format!("{}: {:?} {seen:?}", point.as_str(), context.namespaces));
        Ok(Vec::new())
    }
}

#[tokio::test(start_paused = true)]
async fn plugins_are_told_both_names_and_name_objects_of_both_sides_as_the_source_does() {
    let (mut stage, told) = (stage(), Arc::new(Mutex::new(Vec::new())));
    let description = Description {
        name: "curious".into(),
        kinds: vec![GroupKind::new(CLUSTERS, "Cluster")],
        hooks: vec![Hook::Check],
        ..Description::default()
    };
    stage.plugins = vec![Arc::new(Curious(description, told.clone()))];
    run::start(stage.setup()).await.unwrap();
    let told = told.lock().unwrap().join("\n");
    assert!(told.contains(r#"before-pause: [("ns", "prod")] []"#), "{told}");
    assert!(told.contains(r#"before-commit: [("ns", "prod")] ["Cluster ns/c"]"#), "{told}");
}

/// Records are where they are whatever the namespaces are called.
#[tokio::test(start_paused = true)]
async fn a_source_that_is_gone_is_no_obstacle_to_the_end_of_a_mapped_move() {
    let stage = stage();
    let dead = |verb: &str, key: &Key| verb == "delete" && key.name == "m0";
    stage.dies(|_, _| true, dead).await;
    let mut alone = stage.setup();
    alone.sides.source = Arc::new(MemoryPlace::new("gone"));
    alone.options.scope.namespace_map = NamespaceMap::default();
    run::resume(With::absent(Side::Source, alone)).await.unwrap();
    let target = picture(&stage.target);
    assert!(
        target["Cluster prod/c"]["spec"].get("paused").is_none_or(|paused| paused == false),
        "{target:?}"
    );
}
