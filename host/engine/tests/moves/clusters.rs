//! Clusters that move by name, one after another.

use std::sync::{Arc, Mutex};

use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::{MARK, PAUSED, UNDO};
use pivot_core::request::scope::ClusterName;
use pivot_engine::events::{Event, Watcher};
use pivot_engine::{Exit, Failure, Setup, Stop};
use pivot_memory::MemoryPlace;
use pivot_places::DirectoryPlace;
use serde_json::{Value, json};

use crate::run;
use crate::settling::Keeper;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, objects, picture};

/// The stage's Cluster, and a second one that shares its class, a pool and a template with it.
fn two() -> Stage {
    let stage = Stage::new();
    let mut all = objects();
    let mut second = all.swap_remove(2);
    second["metadata"]["name"] = json!("d");
    second["metadata"]["uid"] = json!("Cluster-d");
    let of_second = Some((CLUSTERS, "Cluster", "d"));
    let mut infra = body(INFRA, "InfraCluster", "d", of_second);
    infra["spec"] = json!({"pool": {"kind": "Pool", "name": "p"}});
    let mut machine = body(CLUSTERS, "Machine", "n0", of_second);
    machine["status"] = json!({"nodeRef": {"name": "n0"}});
    let mut shared = body(INFRA, "InfraTemplate", "own", Some((CLUSTERS, "ClusterClass", "class")));
    shared["spec"] = json!({"cpus": 4});
    let more = [second, infra, machine, shared, body("", "Secret", "d-kubeconfig", None)];
    more.into_iter().for_each(|object| drop(stage.source.insert(object).unwrap()));
    let pools = |body: &mut Value| body["spec"] = json!({"pool": {"kind": "Pool", "name": "p"}});
    stage.source.edit(&key(INFRA, "InfraCluster", "c"), pools).unwrap();
    stage
}

fn named(stage: &Stage, names: &[&str]) -> Setup {
    let mut setup = stage.setup();
    setup.options.scope.clusters = names.iter().map(|name| ClusterName::new("ns", *name)).collect();
    setup.options.scope.accept.insert_kind(Risk::Shared, key(INFRA, "Pool", "p").group_kind);
    setup
}

/// The codes and texts of a run's notes and warnings.
#[derive(Default)]
pub(crate) struct Notes(pub(crate) Mutex<Vec<(String, String)>>);

impl Notes {
    /// Returns `code: text` of those whose codes begin like this.
    pub(crate) fn lines_of(&self, prefix: &str) -> Vec<String> {
        let told = self.0.lock().unwrap();
        let of_code = told.iter().filter(|(code, _)| code.starts_with(prefix));
        of_code.map(|(code, text)| format!("{code}: {text}")).collect()
    }
}

impl Watcher for Notes {
    fn event(&self, event: Event) {
        if let Event::Warning { code, text, .. } | Event::Note { code, text, .. } = event {
            self.0.lock().unwrap().push((code, text));
        }
    }
}

fn refusals(stop: &Stop) -> &[Refusal] {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    refusals
}

fn names(place: &MemoryPlace) -> Vec<String> {
    picture(place).into_keys().collect()
}

// proves: D7
#[tokio::test(start_paused = true)]
async fn clusters_one_after_another_are_all_at_once() {
    let at_once = two();
    run::start(named(&at_once, &["c", "d"])).await.unwrap();
    let plain = two();
    run::start(plain.setup()).await.unwrap();
    assert_eq!(picture(&at_once.target), picture(&plain.target));

    let stage = two();
    let before = picture(&stage.source);
    let first = run::start(named(&stage, &["c"])).await.unwrap();
    // The class, its templates and the pool are on both sides; what the second Cluster has is as it was.
    assert_eq!((first.done.moved.values().sum::<usize>(), first.done.kept.values().sum::<usize>()), (9, 4));
    let left = picture(&stage.source);
    assert_eq!(
        left.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "Cluster ns/d",
            "ClusterClass ns/class",
            "InfraCluster ns/d",
            "InfraTemplate ns/own",
            "InfraTemplate ns/t",
            "Machine ns/n0",
            "Pool ns/p",
            "Secret ns/d-kubeconfig",
            "Secret ns/pull",
        ]
    );
    assert!(left.iter().all(|(name, object)| before[name] == *object), "{left:#?}");
    assert!(stage.source.collect_garbage().is_empty() && stage.target.collect_garbage().is_empty());

    run::start(named(&stage, &["d"])).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&at_once.target));
    assert_eq!(picture(&stage.source), picture(&at_once.source));
    assert!(stage.source.collect_garbage().is_empty() && stage.target.collect_garbage().is_empty());
    for place in [&stage.source, &stage.target] {
        for key in place.keys() {
            let body = place.body(&key).unwrap();
            let annotations = &body["metadata"]["annotations"];
            assert_eq!((annotations.get(PAUSED), annotations.get(UNDO)), (None, None), "{key}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_rest_finds_what_a_named_cluster_shared() {
    let stage = two();
    run::start(named(&stage, &["d"])).await.unwrap();
    run::start(stage.setup()).await.unwrap();
    let at_once = two();
    run::start(at_once.setup()).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&at_once.target));
    assert_eq!(names(&stage.source), ["Secret ns/pull"]);
}

// proves: T96
#[tokio::test(start_paused = true)]
async fn what_was_shared_and_changed_since_is_not_taken_for_the_same() {
    let stage = two();
    run::start(named(&stage, &["c"])).await.unwrap();
    stage.target.edit(&key(INFRA, "Pool", "p"), |body| body["spec"] = json!({"from": "10.0.0.9"})).unwrap();
    stage.source.edit(&key(INFRA, "Pool", "p"), |body| body["spec"] = json!({"from": "10.0.0.1"})).unwrap();
    let before = picture(&stage.source);
    let stop = run::start(named(&stage, &["d"])).await.unwrap_err();
    let codes: Vec<_> = refusals(&stop).iter().map(|refusal| refusal.code).collect();
    assert_eq!((stop.exit, codes.as_slice()), (Exit::Refused, &["differs"][..]));
    assert_eq!(picture(&stage.source), before);
    // One that no move made is somebody else's.
    stage
        .target
        .edit(&key(INFRA, "Pool", "p"), |body| {
            body["spec"] = json!({"from": "10.0.0.1"});
            body["metadata"]["annotations"].as_object_mut().unwrap().remove(MARK);
        })
        .unwrap();
    let stop = run::start(named(&stage, &["d"])).await.unwrap_err();
    let codes: Vec<_> = refusals(&stop).iter().map(|refusal| refusal.code).collect();
    assert_eq!((stop.exit, codes.as_slice()), (Exit::Refused, &["exists"][..]));
}

#[tokio::test(start_paused = true)]
async fn a_named_cluster_that_is_not_there_is_nothing_to_move() {
    let stage = two();
    let stop = run::start(named(&stage, &["e"])).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Empty);
    assert_eq!(stop.to_string(), "nothing to move: no Cluster ns/e; there are Clusters ns/c and ns/d");
    let stop = run::start(named(&stage, &["c", "e"])).await.unwrap_err();
    let codes: Vec<_> = refusals(&stop).iter().map(|refusal| refusal.code).collect();
    assert_eq!((stop.exit, codes.as_slice()), (Exit::Refused, &["cluster-missing"][..]));
    assert_eq!(stage.target.keys().iter().filter(|key| key.group_kind.group == CLUSTERS).count(), 0);
}

/// Anybody who may create Machines may name another Cluster's objects as their owners.
#[tokio::test(start_paused = true)]
async fn what_is_another_clusters_is_not_deleted_unnamed() {
    for labelled in [true, false] {
        let stage = two();
        let mut machine = body(CLUSTERS, "Machine", "n1", Some((CLUSTERS, "Machine", "m0")));
        machine["status"] = json!({"nodeRef": {"name": "n1"}});
        if labelled {
            machine["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] = json!("d");
        } else {
            machine["spec"] = json!({"clusterName": "d"});
        }
        stage.source.insert(machine).unwrap();
        let before = picture(&stage.source);
        let stop = run::start(named(&stage, &["c"])).await.unwrap_err();
        let objects: Vec<_> = refusals(&stop).iter().filter_map(|refusal| refusal.object.clone()).collect();
        assert_eq!((stop.exit, objects), (Exit::Refused, vec![key(CLUSTERS, "Machine", "n1")]));
        assert_eq!(picture(&stage.source), before);
        run::start(named(&stage, &["c", "d"])).await.unwrap();
    }
}

/// What is owned from the set and does not move is garbage-collected: that is named, too.
#[tokio::test(start_paused = true)]
async fn what_would_be_lost_of_another_cluster_is_named() {
    let stage = two();
    let mut secret = body("", "Secret", "d-proxy", Some((CLUSTERS, "Machine", "m0")));
    secret["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] = json!("d");
    stage.source.insert(secret).unwrap();
    let stop = run::start(named(&stage, &["c"])).await.unwrap_err();
    let found: Vec<_> =
        refusals(&stop).iter().map(|refusal| (refusal.code, refusal.object.clone())).collect();
    assert_eq!(found, [("collateral", Some(key("", "Secret", "d-proxy")))]);
}

/// Cluster API's controllers write each Cluster that uses a template into its owners.
#[tokio::test(start_paused = true)]
async fn what_two_clusters_own_is_used_by_the_second() {
    let stage = two();
    let mut template = body(INFRA, "InfraTemplate", "both", Some((CLUSTERS, "Cluster", "c")));
    let mut second = template["metadata"]["ownerReferences"][0].clone();
    second["name"] = json!("d");
    second["uid"] = json!("Cluster-d");
    second["controller"] = json!(false);
    template["metadata"]["ownerReferences"].as_array_mut().unwrap().push(second);
    stage.source.insert(template).unwrap();
    run::start(named(&stage, &["c"])).await.unwrap();
    let template = key(INFRA, "InfraTemplate", "both");
    let copy = stage.target.body(&template).unwrap();
    assert_eq!(copy["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    assert!(stage.source.body(&template).is_some() && stage.source.collect_garbage().is_empty());
    let mut setup = named(&stage, &["d"]);
    let notes = Arc::new(Notes::default());
    setup.watcher = notes.clone();
    run::start(setup).await.unwrap();
    let told = notes.0.lock().unwrap().clone();
    let texts: Vec<_> =
        told.iter().filter(|(code, _)| code == "owner-not-added").map(|(_, text)| text).collect();
    assert_eq!(
        texts,
        [
            "InfraTemplate ns/both already exists in the target and is used unchanged; Cluster ns/d is not among its owners there, so it is deleted once its other owners are"
        ]
    );
    assert_eq!(stage.target.body(&template).unwrap(), copy);
    assert_eq!(names(&stage.source), ["Secret ns/pull"]);
}

/// What a plugin holds is released in the target in the end, whatever stays in the source.
#[tokio::test(start_paused = true)]
async fn what_a_plugin_holds_is_not_shared() {
    let hosted = |host: bool| {
        let stage = two();
        if host {
            stage.source.insert(body(INFRA, "Host", "h", None)).unwrap();
        }
        for name in ["c", "d"] {
            let host = |body: &mut Value| body["spec"]["host"] = json!({"kind": "Host", "name": "h"});
            stage.source.edit(&key(INFRA, "InfraCluster", name), host).unwrap();
        }
        stage
    };
    let setup = |stage: &Stage| {
        let mut setup = named(stage, &["c"]);
        setup.options.scope.accept.insert_kind(Risk::Shared, key(INFRA, "Host", "h").group_kind);
        setup
    };
    run::start(setup(&hosted(true))).await.unwrap();
    let mut stage = hosted(true);
    stage.plugins = vec![Arc::new(Keeper::at_once())];
    let before = picture(&stage.source);
    let stop = run::start(setup(&stage)).await.unwrap_err();
    let codes: Vec<_> = refusals(&stop).iter().map(|refusal| refusal.code).collect();
    assert_eq!((stop.exit, codes.as_slice()), (Exit::Refused, &["held-on-both-sides"][..]));
    assert_eq!(picture(&stage.source), before);

    // One that appears while the source is paused is found, too, and the pause is undone.
    let late = hosted(false);
    stage = Stage { plugins: stage.plugins, ..hosted(false) };
    let source = stage.source.clone();
    stage.source.on_call(move |verb, key| {
        if verb == "patch" && key.group_kind.kind == "Cluster" {
            drop(source.insert(body(INFRA, "Host", "h", None)));
        }
        None
    });
    let stop = run::start(setup(&stage)).await.unwrap_err();
    let codes: Vec<_> = refusals(&stop).iter().map(|refusal| refusal.code).collect();
    assert_eq!((stop.exit, codes.as_slice()), (Exit::Refused, &["held-on-both-sides"][..]));
    late.source.insert(body(INFRA, "Host", "h", None)).unwrap();
    assert_eq!(picture(&stage.source), picture(&late.source));
}

/// What an earlier move left in the target is not taken for something shared because a kind was typed that can't be.
#[tokio::test(start_paused = true)]
async fn a_machine_of_an_earlier_move_is_not_used() {
    let stage = two();
    let mut machine = stage.source.body(&key(CLUSTERS, "Machine", "m0")).unwrap();
    machine["metadata"]["annotations"] = json!({MARK: "an-earlier-move"});
    stage.target.insert(machine).unwrap();
    let mut setup = named(&stage, &["c"]);
    setup.options.scope.accept.insert_kind(Risk::Shared, key(CLUSTERS, "Machine", "m0").group_kind);
    let stop = run::start(setup).await.unwrap_err();
    let codes: Vec<_> = refusals(&stop).iter().map(|refusal| refusal.code).collect();
    assert_eq!((stop.exit, codes.as_slice()), (Exit::Refused, &["exists"][..]));
}

/// The same Clusters were imported from a copy: they run in the target, and deleting one there would delete its machines.
#[tokio::test(start_paused = true)]
async fn clusters_that_the_target_runs_are_refused_once_each() {
    let stage = Stage::new();
    let directory = tempfile::tempdir().unwrap();
    let mut export = stage.setup();
    export.sides.target = Arc::new(DirectoryPlace::to_write(directory.path()).unwrap());
    run::start(export).await.unwrap();
    let mut import = stage.setup();
    import.sides.source = Arc::new(DirectoryPlace::to_read(directory.path()).unwrap());
    import.options.scope.accept.insert(Risk::SourceMayRun);
    let id = run::start(import).await.unwrap().move_id;

    let stop = run::start(stage.setup()).await.unwrap_err();
    let of_cluster: Vec<_> =
        refusals(&stop).iter().filter(|refusal| refusal.message.contains("Cluster ns/c")).collect();
    let [twice] = of_cluster.as_slice() else { panic!("{stop}") };
    assert_eq!((twice.code, twice.object.as_ref()), ("exists", Some(&key(CLUSTERS, "Cluster", "c"))));
    assert!(twice.others.contains(&key(CLUSTERS, "Machine", "m1")), "{twice:?}");
    assert!(twice.message.contains("an import of files from") && twice.message.contains(&id), "{twice:?}");
    assert!(twice.message.ends_with("it may be managed twice"), "{twice:?}");
    for refusal in refusals(&stop) {
        let maps = |remedy: &Remedy| matches!(remedy, Remedy::MapNamespace { .. });
        assert!(!refusal.remedies.iter().any(maps), "the target would run it twice: {refusal:?}");
        assert!(!format!("{:?}", refusal.remedies).contains("delete"), "{refusal:?}");
    }
}

/// However it differs, a copy that an earlier move made is not what is left of an object that this one deletes.
#[tokio::test(start_paused = true)]
async fn a_copy_that_differs_is_not_used_for_what_is_deleted() {
    let mut stage = two();
    let mut secret = stage.source.body(&key("", "Secret", "c-kubeconfig")).unwrap();
    secret["metadata"]["annotations"] = json!({MARK: "an-earlier-move"});
    secret["data"] = json!({"value": "b2xk"});
    stage.target.insert(secret).unwrap();
    stage.options.accept.insert(Risk::ExistingDiffers);
    let stop = run::start(stage.setup()).await.unwrap_err();
    let codes: Vec<_> = refusals(&stop).iter().map(|refusal| refusal.code).collect();
    assert_eq!((stop.exit, codes.as_slice()), (Exit::Refused, &["differs"][..]));
    assert!(stage.source.body(&key("", "Secret", "c-kubeconfig")).is_some());
}

/// A copy of a host would be a second one that acts on the same machine.
#[tokio::test(start_paused = true)]
async fn what_is_dangerous_is_not_used_for_an_earlier_move() {
    let mut stage = two();
    run::start(named(&stage, &["c"])).await.unwrap();
    stage.options.scope.accept.insert_kind(Risk::NoPlugin, key(INFRA, "Pool", "p").group_kind);
    let stop = run::start(named(&stage, &["d"])).await.unwrap_err();
    let codes: Vec<_> = refusals(&stop).iter().map(|refusal| refusal.code).collect();
    assert_eq!(codes, ["exists"]);
}

/// A user's pause of another Cluster is none that a rollback forgot.
#[tokio::test(start_paused = true)]
async fn a_rollback_says_nothing_of_clusters_that_were_not_named() {
    for (name, warned) in [("c", 0), ("d", 1)] {
        let stage = two();
        stage
            .source
            .edit(&key(CLUSTERS, "Cluster", "d"), |body| body["spec"]["paused"] = json!(true))
            .unwrap();
        let setup = named(&stage, &[name]);
        stage.target.on_call(|verb, key| {
            let dead = pivot_places::PlaceError::Forbidden("dead".into());
            let last = verb == "create" && key.group_kind.kind == "Machine";
            last.then_some(pivot_memory::Fault::Before(dead))
        });
        if name == "d" {
            let unpaused = |body: &mut Value| body["spec"]["paused"] = json!(false);
            stage.source.edit(&key(CLUSTERS, "Cluster", "d"), unpaused).unwrap();
        }
        run::start(setup.clone()).await.unwrap_err();
        stage.target.on_call(|_, _| None);
        if name == "d" {
            let forget = |body: &mut Value| {
                drop(body["metadata"]["annotations"].as_object_mut().unwrap().remove(UNDO))
            };
            stage.source.edit(&key(CLUSTERS, "Cluster", "d"), forget).unwrap();
        }
        let lost = match run::rollback(setup).await {
            Ok(_) => 0,
            Err(Stop { failure: Failure::UndoLost { clusters }, .. }) => clusters.len(),
            Err(stop) => panic!("{name}: {stop}"),
        };
        assert_eq!(lost, warned, "{name}");
    }
}

/// A run that died is resumed by the same command; one with another Cluster has to wait for its end.
#[tokio::test(start_paused = true)]
async fn a_move_of_named_clusters_is_resumed_and_rolled_back_like_any_other() {
    let stage = two();
    let before = picture(&stage.source);
    let created = Arc::new(Mutex::new(0));
    let count = created.clone();
    stage.target.on_call(move |verb, _| {
        let mut count = count.lock().unwrap();
        *count += usize::from(verb == "create");
        let dead = pivot_places::PlaceError::Forbidden("dead".into());
        (*count > 8).then_some(pivot_memory::Fault::Before(dead))
    });
    run::start(named(&stage, &["c"])).await.unwrap_err();
    stage.target.on_call(|_, _| None);
    let other = run::start(named(&stage, &["d"])).await.unwrap_err();
    assert!(other.to_string().contains("under way"), "{other}");
    run::rollback(stage.setup()).await.unwrap();
    assert_eq!(picture(&stage.source), before);
    assert!(names(&stage.target).is_empty());

    stage.dies(|verb, _| verb == "create", |verb, key| verb == "delete" && key.name == "m0").await;
    let plain = two();
    run::start(plain.setup()).await.unwrap();
    run::resume(stage.setup()).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&plain.target));

    let stage = two();
    let mut dying = Stage { source: stage.source.clone(), target: stage.target.clone(), ..two() };
    dying.options.scope = named(&dying, &["c"]).options.scope;
    dying.dies(|verb, _| verb == "create", |verb, key| verb == "delete" && key.name == "m0").await;
    run::resume(stage.setup()).await.unwrap();
    run::start(named(&stage, &["d"])).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&plain.target));
}
