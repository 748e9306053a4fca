//! What the user adds from files: an installer's ConfigMap, an object of a kind that only the target has, credentials in a
//! namespace that is added with them.

use std::sync::Arc;

use pivot_core::messages::risk::Risk;
use pivot_core::objects::selector::Part;
use pivot_core::plugins::hooks::{Description, Hook};
use pivot_core::records::record::Phase;
use pivot_core::request::manifest_object::Addition;
use pivot_core::{GroupKind, Key, Kind, KindLabels};
use pivot_engine::hooks::Hooks;
use pivot_engine::{Exit, Failure, Next, Setup, Sides, Stop};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{DirectoryPlace, Place, PlaceError};
use serde_json::{Value, json};

use crate::carried;
use crate::crash::{at_every_write, nothing_of_ours, revive};
use crate::directories::{Life, Mortal};
use crate::handover::{handing_over, imported, importing};
use crate::mapped::map;
use crate::run;
use crate::seeds::deaths_of;
use crate::stage::{CLUSTERS, Stage, body, key, kind, picture, under_way};

const BOOTSTRAPS: &str = "run.example.org";

pub(crate) fn bom() -> Key {
    key("", "ConfigMap", "bom")
}

fn bootstrap() -> Key {
    key(BOOTSTRAPS, "Bootstrap", "c")
}

pub(crate) fn pull() -> Key {
    Key::new(GroupKind::new("", "Secret"), Some("extra"), "pull")
}

/// As the reader of files would make it.
pub(crate) fn addition(document: usize, body: Value) -> Addition {
    let api_version = body["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = GroupKind::new(group, body["kind"].as_str().unwrap());
    Addition::new(("f.yaml", document), kind, version.to_owned(), body).unwrap()
}

pub(crate) fn configuration(images: &str) -> Value {
    let mut bom = body("", "ConfigMap", "bom", None);
    bom["data"] = json!({"images": images});
    bom
}

fn files(images: &str) -> Vec<Addition> {
    let mut bootstrap = body(BOOTSTRAPS, "Bootstrap", "c", None);
    bootstrap["spec"] = json!({"packages": ["cni"]});
    bootstrap["status"] = json!({"ready": true});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "extra", "labels": {"whose": "the file's"}}});
    let mut pull = body("", "Secret", "pull", None);
    pull["metadata"]["namespace"] = json!("extra");
    pull["data"] = json!({"password": "aHVzaA=="});
    let all = [configuration(images), bootstrap, namespace, pull];
    all.into_iter().enumerate().map(|(at, body)| addition(at + 1, body)).collect()
}

pub(crate) fn stage() -> Stage {
    let mut stage = Stage::new();
    stage.target.add_kind(kind(BOOTSTRAPS, "Bootstrap", "bootstraps", KindLabels::default()));
    // Of the same name as one that is added, and another object.
    stage.source.insert(configuration("of the source")).unwrap();
    stage.options = stage.options.with_additions(files("all"));
    stage
}

pub(crate) fn without_files(stage: &Stage) -> Setup {
    let mut setup = stage.setup();
    setup.options.added = Arc::default();
    setup
}

fn with_files(stage: &Stage, images: &str) -> Setup {
    let mut setup = stage.setup();
    setup.options.added = files(images).into();
    setup
}

fn refused(stop: &Stop) -> Vec<&'static str> {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    refusals.iter().map(|refusal| refusal.code).collect()
}

fn has_namespace(place: &MemoryPlace, name: &str) -> bool {
    place.keys().iter().any(|key| key.group_kind.kind == "Namespace" && key.name == name)
}

/// What a finished move leaves: that of a move without additions, and what is in the files.
async fn expected() -> (std::collections::BTreeMap<String, Value>, std::collections::BTreeMap<String, Value>)
{
    let plain = Stage::new();
    plain.source.insert(configuration("of the source")).unwrap();
    run::start(plain.setup()).await.unwrap();
    let written = MemoryPlace::new("what is in the files");
    written.add_kind(kind(BOOTSTRAPS, "Bootstrap", "bootstraps", KindLabels::default()));
    let mut pull = body("", "Secret", "pull", None);
    pull["metadata"]["namespace"] = json!("extra");
    pull["data"] = json!({"password": "aHVzaA=="});
    let mut bootstrap = body(BOOTSTRAPS, "Bootstrap", "c", None);
    bootstrap["spec"] = json!({"packages": ["cni"]});
    written.add_namespace("ns").add_namespace("extra");
    for mut object in [configuration("all"), bootstrap, pull] {
        // Controllers of the target add those.
        object["metadata"].as_object_mut().unwrap().remove("finalizers");
        written.insert(object).unwrap();
    }
    let mut target = picture(&plain.target);
    target.extend(picture(&written));
    (picture(&plain.source), target)
}

#[tokio::test(start_paused = true)]
async fn what_is_added_is_in_the_target_by_whichever_run_the_move_ends() {
    let (source, target) = expected().await;
    let deaths = at_every_write(
        async || {
            let stage = stage();
            let untouched = stage.source.body(&bom());
            (stage, untouched)
        },
        async |stage, _| drop(run::start(stage.setup()).await),
        async |stage, untouched, at| {
            match under_way(stage.setup()).await {
                // From the commit on nobody needs the files.
                Some(one) if one.record.phase.is_committed() => {
                    drop(run::resume(without_files(stage)).await.unwrap())
                }
                Some(_) => drop(run::resume(with_files(stage, "all")).await.unwrap()),
                None => {
                    if let Err(stop) = run::start(stage.setup()).await {
                        assert_eq!(stop.exit, Exit::Empty, "{at}: {stop}");
                    }
                }
            }
            assert_eq!(picture(&stage.target), target, "{at}");
            assert_eq!(picture(&stage.source), source, "{at}");
            assert_eq!(stage.source.body(&bom()), *untouched, "{at}");
            assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target));
            for added in
                [bom(), bootstrap(), pull(), Key::new(GroupKind::new("", "Namespace"), None, "extra")]
            {
                let metadata = &stage.target.body(&added).unwrap()["metadata"];
                assert!(metadata["annotations"]["pivot-host.io/move"].is_string(), "{added}: {metadata}");
            }
        },
    )
    .await;
    assert!(deaths > 80, "{deaths}");
}

#[tokio::test(start_paused = true)]
async fn what_is_added_is_rolled_back_with_the_rest() {
    let mut rolled_back = 0;
    at_every_write(
        async || {
            let stage = stage();
            let untouched = picture(&stage.source);
            (stage, untouched)
        },
        async |stage, _| drop(run::start(stage.setup()).await),
        async |stage, untouched, at| {
            if !at.died {
                return;
            }
            let Some(one) = under_way(stage.setup()).await else { return };
            if one.record.phase >= Phase::Committed {
                return;
            }
            run::rollback(without_files(stage)).await.unwrap();
            rolled_back += 1;
            assert_eq!(picture(&stage.source), *untouched, "{at}");
            assert!(picture(&stage.target).is_empty(), "{at}");
            assert!(!has_namespace(&stage.target, "extra"), "{at}");
        },
    )
    .await;
    assert!(rolled_back > deaths_of(20), "{rolled_back}");
}

/// It was never paused: cloud resources may stand behind it.
#[tokio::test(start_paused = true)]
async fn a_rollback_leaves_finalizers_on_what_was_added_to_their_controllers() {
    let stage = stage();
    stage.target.on_call(|verb, key| {
        let dead = verb == "create" && key.group_kind.kind == "Secret" && key.name == "pull";
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::start(stage.setup()).await.unwrap_err();
    revive(&stage);
    let finalizers = json!(["run.example.org/resources"]);
    stage.target.edit(&bootstrap(), |body| body["metadata"]["finalizers"] = finalizers.clone()).unwrap();
    run::rollback(without_files(&stage)).await.unwrap();
    let left = stage.target.body(&bootstrap()).unwrap();
    assert_eq!(left["metadata"]["finalizers"], finalizers);
    assert!(left["metadata"]["deletionTimestamp"].is_string() && stage.target.body(&bom()).is_none());
}

/// Controllers that are resumed find what they are told to work with.
#[tokio::test(start_paused = true)]
async fn what_is_added_is_there_before_anything_runs() {
    let stage = stage();
    run::start(stage.setup()).await.unwrap();
    let calls = stage.target.journal();
    let at = |verb: &str, key: &Key| {
        calls
            .iter()
            .position(|call| call.verb == verb && call.key == *key)
            .unwrap_or_else(|| panic!("{verb} {key}"))
    };
    let resumed = at("patch", &key(CLUSTERS, "Cluster", "c"));
    for added in [bom(), bootstrap(), pull()] {
        assert!(at("create", &added) < resumed, "{added}");
    }
    // All of them, also where one of their kind that moves was asked about.
    let asked = calls.iter().filter(|call| call.verb == "dry-run create").map(|call| call.key.name.as_str());
    let asked: Vec<&str> = asked.filter(|name| ["bom", "extra", "pull"].contains(name)).collect();
    assert_eq!(asked, ["bom", "extra", "pull"]);
}

/// Nobody pauses it.
#[tokio::test(start_paused = true)]
async fn what_the_targets_controllers_make_of_what_is_added_stays() {
    let stage = stage();
    let target = stage.target.clone();
    let owners =
        || json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "manager", "uid": "theirs"}]);
    stage.target.on_call(move |verb, key| {
        let dead = verb == "create" && key.group_kind.kind == "InfraMachine";
        if dead {
            let theirs = |body: &mut Value| {
                body["metadata"]["ownerReferences"] = owners();
                body["spec"]["chosen"] = json!("by them");
            };
            target.edit(&bootstrap(), theirs).unwrap();
            target.edit(&pull(), |body| body["data"]["password"] = json!("")).unwrap();
        }
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::start(stage.setup()).await.unwrap_err();
    revive(&stage);
    run::resume(stage.setup()).await.unwrap();
    let there = stage.target.body(&bootstrap()).unwrap();
    assert_eq!(there["metadata"]["ownerReferences"], owners());
    assert_eq!(there["spec"], json!({"packages": ["cni"], "chosen": "by them"}));
    // But what the file has is there.
    assert_eq!(stage.target.body(&pull()).unwrap()["data"], json!({"password": "aHVzaA=="}));
}

fn insert_into_target(stage: &Stage, images: &str) -> Value {
    stage.target.add_namespace("ns");
    stage.target.insert(configuration(images)).unwrap();
    stage.target.body(&bom()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_is_there_already_is_used_if_it_is_the_same_and_stays() {
    let same = stage();
    let before = insert_into_target(&same, "all");
    run::start(same.setup()).await.unwrap();
    assert_eq!(same.target.body(&bom()).unwrap(), before);

    let stopped = stage();
    let before = insert_into_target(&stopped, "all");
    stopped.target.on_call(|verb, key| {
        let dead = verb == "create" && key.group_kind.kind == "Machine";
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::start(stopped.setup()).await.unwrap_err();
    revive(&stopped);
    run::rollback(without_files(&stopped)).await.unwrap();
    assert_eq!(stopped.target.body(&bom()).unwrap(), before);
    assert!(stopped.target.body(&bootstrap()).is_none());

    let mut other = stage();
    let before = insert_into_target(&other, "none");
    let untouched = picture(&other.source);
    let stop = run::start(other.setup()).await.unwrap_err();
    assert_eq!((stop.exit, refused(&stop)), (Exit::Refused, vec!["differs"]));
    assert!(stop.to_string().contains("differs from what f.yaml has in data.images"), "{stop}");
    assert_eq!((picture(&other.source), other.target.body(&bom()).unwrap()), (untouched, before.clone()));
    other.options.accept.insert(Risk::ExistingDiffers);
    run::start(other.setup()).await.unwrap();
    assert_eq!(other.target.body(&bom()).unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn what_the_target_would_refuse_is_refused_before_the_pause() {
    let stage = stage();
    let before = (picture(&stage.source), picture(&stage.target));
    stage.target.on_call(|verb, key| {
        let refused = verb == "dry-run create" && key.group_kind == bootstrap().group_kind;
        refused.then(|| Fault::Before(PlaceError::Invalid("a webhook says no".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, refused(&stop)), (Exit::Refused, vec!["create-refused"]));
    assert!(stop.to_string().contains("write it in f.yaml as the target stores it"), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    assert!(!has_namespace(&stage.target, "extra"));
}

/// Its name may be mistyped.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_neither_side_has_is_refused() {
    let mut stage = stage();
    let mut bom = configuration("all");
    bom["metadata"]["namespace"] = json!("exrta");
    stage.options = stage.options.with_additions(vec![addition(1, bom.clone())]);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(refused(&stop), ["manifest-namespace"]);
    assert!(stop.to_string().contains("namespace exrta: neither side has that namespace"), "{stop}");
    stage.source.add_namespace("exrta");
    run::start(stage.setup()).await.unwrap();
    assert!(has_namespace(&stage.target, "exrta"));
}

fn theirs() -> Key {
    Key::new(GroupKind::new("", "ConfigMap"), Some("extra"), "theirs")
}

/// What others put into a namespace since is not ours to delete.
#[tokio::test(start_paused = true)]
async fn a_rollback_leaves_an_added_namespace_that_others_use() {
    let stage = stage();
    let target = stage.target.clone();
    stage.target.on_call(move |verb, key| {
        let dead = verb == "create" && key.group_kind.kind == "Machine";
        if dead && target.body(&theirs()).is_none() {
            let mut object = body("", "ConfigMap", "theirs", None);
            object["metadata"]["namespace"] = json!("extra");
            target.insert(object).unwrap();
        }
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::start(stage.setup()).await.unwrap_err();
    revive(&stage);
    run::rollback(without_files(&stage)).await.unwrap();
    assert!(has_namespace(&stage.target, "extra"));
    assert_eq!(picture(&stage.target).into_keys().collect::<Vec<_>>(), ["ConfigMap extra/theirs"]);
}

#[tokio::test(start_paused = true)]
async fn a_move_that_is_not_committed_needs_the_files_that_it_began_with() {
    let stage = stage();
    stage.target.on_call(|verb, key| {
        let dead = verb == "create" && key.group_kind.kind == "Machine";
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    run::start(stage.setup()).await.unwrap_err();
    revive(&stage);
    let before = (picture(&stage.source), picture(&stage.target));
    let mut fewer = with_files(&stage, "all");
    fewer.options.added = files("all").into_iter().skip(1).collect();
    let mut more = with_files(&stage, "all");
    let extra = addition(1, body("", "ConfigMap", "more", None));
    more.options.added = files("all").into_iter().chain([extra]).collect();
    // Repeated with another file, it is told what differs.
    let mut repeated = stage.setup();
    repeated.options = repeated.options.with_additions(files("other"));
    let stop = run::start(repeated).await.unwrap_err();
    assert!(stop.to_string().contains("which differs in the objects that it adds: resume it"), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    for (setup, says, next) in [
        (without_files(&stage), "from files, and needs them until it is committed", &[Next::Rollback][..]),
        (
            with_files(&stage, "other"),
            "ConfigMap ns/bom in the files changed since",
            &[Next::Resume, Next::Rollback],
        ),
        (fewer, "ConfigMap ns/bom, which the files don't have", &[Next::Resume, Next::Rollback]),
        (more, "was begun without ConfigMap ns/more to add", &[Next::Resume, Next::Rollback]),
    ] {
        let stop = run::resume(setup).await.unwrap_err();
        assert!(matches!(stop.failure, Failure::Inputs(_)) && stop.to_string().contains(says), "{stop}");
        assert_eq!((stop.exit, stop.next.as_slice()), (Exit::Refused, next), "{stop}");
        assert_eq!((picture(&stage.source), picture(&stage.target)), before);
    }
    // The record has no content, of Secrets least of all.
    let record = under_way(stage.setup()).await.unwrap().record;
    let text = serde_json::to_string(&record).unwrap();
    assert!(text.contains("added-") && !text.contains("aHVzaA==") && !text.contains("packages"), "{text}");
    run::resume(with_files(&stage, "all")).await.unwrap();
    assert_eq!(picture(&stage.target), expected().await.1);
}

#[tokio::test(start_paused = true)]
async fn files_name_the_targets_namespaces_where_those_have_other_names() {
    let mut stage = stage();
    stage.options.scope.namespace_map = map(&[("ns", "prod")]);
    let mut refers = body(BOOTSTRAPS, "Bootstrap", "c", None);
    refers["metadata"]["namespace"] = json!("prod");
    refers["spec"] =
        json!({"namespace": "ns", "infrastructureRef": {"kind": "K", "name": "k", "namespace": "prod"}});
    let mut bom = configuration("all");
    bom["metadata"]["namespace"] = json!("prod");
    stage.options = stage.options.with_additions(vec![addition(1, bom.clone()), addition(2, refers.clone())]);
    run::start(stage.setup()).await.unwrap();
    let here = |key: Key| stage.target.body(&Key { namespace: Some("prod".into()), ..key }).unwrap();
    assert_eq!(here(self::bom())["data"], bom["data"]);
    assert_eq!(here(bootstrap())["spec"], refers["spec"]);
    assert!(stage.target.body(&self::bom()).is_none() && !has_namespace(&stage.target, "ns"));
}

#[tokio::test(start_paused = true)]
async fn what_is_added_is_in_a_directory_too() {
    let mut stage = stage();
    // A directory knows the source's kinds only.
    let known: Vec<Addition> =
        files("all").into_iter().filter(|one| one.record_entry().object != bootstrap()).collect();
    let dir = tempfile::tempdir().unwrap();
    let into = |setup: Setup| {
        let target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
        Setup { sides: Sides { target, ..setup.sides.clone() }, ..setup }
    };
    let stop = run::start(into(stage.setup())).await.unwrap_err();
    assert_eq!(refused(&stop), ["manifest-kind-missing"]);
    stage.options = stage.options.with_additions(known);
    let before = picture(&stage.source);
    let report = run::start(into(stage.setup())).await.unwrap();
    assert_eq!(report.done.added.values().sum::<usize>(), 3);
    assert_eq!(picture(&stage.source), before);
    let read = DirectoryPlace::to_read(dir.path()).unwrap();
    let kinds = read.kinds().await.unwrap();
    for added in [bom(), pull()] {
        let kind = kinds.iter().find(|kind| kind.group_kind == added.group_kind).unwrap();
        let there = read.get(kind, &added).await.unwrap().unwrap();
        assert!(!there.meta.uid.0.starts_with("added-") && there.meta.name == added.name);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_added_to_a_directory_is_rolled_back_with_the_rest() {
    let (mut rolled_back, mut removed) = (0, 0);
    for n in 1.. {
        let mut stage = stage();
        let known = files("all").into_iter().filter(|one| one.record_entry().object != bootstrap());
        stage.options = stage.options.with_additions(known.collect());
        let untouched = picture(&stage.source);
        let (dir, life) = (tempfile::tempdir().unwrap(), Life::of(n, true));
        life.ends(&stage.source);
        let into = |target: Arc<dyn Place>| {
            let setup = stage.setup();
            Setup { sides: Sides { target, ..setup.sides.clone() }, ..setup }
        };
        let directory = || DirectoryPlace::to_write(dir.path()).unwrap();
        let _ = run::start(into(Arc::new(Mortal { directory: directory(), life: life.clone() }))).await;
        revive(&stage);
        if !life.died() {
            break;
        }
        let Some(one) = under_way(into(Arc::new(directory()))).await else { continue };
        if one.record.phase < Phase::Copied {
            continue;
        }
        removed = removed.max(run::rollback(into(Arc::new(directory()))).await.unwrap().removed);
        rolled_back += 1;
        assert_eq!(picture(&stage.source), untouched, "write {n}");
        let left = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().ends_with(".json")).collect();
        assert!(left.is_empty(), "write {n}: {left:?}");
    }
    // All that moves, and three objects from files.
    assert!(rolled_back > 10 && removed == 15, "{rolled_back}, {removed}");
}

/// The files have what is added; the cluster that imported them is not asked for it.
#[tokio::test(start_paused = true)]
async fn a_handover_with_additions_ends_without_their_files() {
    let mut stage = stage();
    stage.options = stage.options.with_additions(vec![addition(1, configuration("all"))]);
    let dir = tempfile::tempdir().unwrap();
    let report = run::start(handing_over(&stage, dir.path())).await.unwrap();
    assert!(report.done.handed_over);
    let mut plain = importing(&stage, dir.path());
    plain.options = plain.options.with_additions(Vec::new());
    run::start(plain).await.unwrap();
    let mut last = imported(&stage);
    last.setup.options.added = Arc::default();
    run::resume(last).await.unwrap();
    assert!(stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none());
    assert_eq!(stage.source.body(&bom()).unwrap()["data"], json!({"images": "of the source"}));
}

/// Holds what the target bootstraps from.
struct Holds(Description);

impl Hooks for Holds {
    fn describe(&self) -> &Description {
        &self.0
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_plugin_holds_is_not_added() {
    let mut stage = stage();
    let kinds = vec![bootstrap().group_kind];
    let holds =
        Description { name: "holds".into(), kinds, hooks: vec![Hook::Hold], ..Description::default() };
    stage.plugins = vec![Arc::new(Holds(holds))];
    let before = picture(&stage.source);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, refused(&stop)), (Exit::Refused, vec!["held-on-both-sides"]));
    assert!(stop.to_string().contains("remove it from f.yaml"), "{stop}");
    assert_eq!(picture(&stage.source), before);
}

/// Beside what is carried along; and the plan counts them apart.
#[tokio::test(start_paused = true)]
async fn what_is_added_and_what_is_carried_go_together() {
    let mut stage = carried::stage();
    stage.options = stage.options.with_additions(vec![addition(1, body("", "ConfigMap", "more", None))]);
    let plan = run::plan(stage.setup()).await.unwrap();
    assert_eq!(
        plan.added_steps().map(|step| step.key.to_string()).collect::<Vec<_>>(),
        ["ConfigMap ns/more"]
    );
    let report = run::start(stage.setup()).await.unwrap();
    assert_eq!(report.done.added.into_iter().collect::<Vec<_>>(), [(GroupKind::new("", "ConfigMap"), 1)]);
    assert!(stage.target.body(&key("", "ConfigMap", "more")).is_some());
    assert!(stage.source.body(&key("", "ConfigMap", "more")).is_none());
}

/// The garbage collector would take it with its owner.
#[tokio::test(start_paused = true)]
async fn an_object_of_the_source_that_would_be_lost_is_named_although_another_is_added_under_its_name() {
    let mut stage = stage();
    let owned = body("", "ConfigMap", "bom", Some((CLUSTERS, "Machine", "m0")));
    stage.source.remove(&bom()).unwrap();
    stage.source.insert(owned).unwrap();
    stage.options.scope.exclude.insert(Part::of_object(&bom()));
    let before = picture(&stage.source);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(refused(&stop), ["collateral"], "{stop}");
    assert_eq!(picture(&stage.source), before);
}

/// As long as nothing is committed, it is refused like one that was there from the beginning.
#[tokio::test(start_paused = true)]
async fn an_object_of_an_added_name_that_appears_in_the_source_is_seen_before_the_commit() {
    let mut stage = Stage::new();
    let secret = |owner| {
        let mut secret = body("", "Secret", "late", owner);
        secret["data"] = json!({"a": "eA=="});
        secret
    };
    stage.options = stage.options.with_additions(vec![addition(1, secret(None))]);
    stage.target.on_call({
        let source = stage.source.clone();
        move |verb, key| {
            if verb == "create" && key.name == "late" && source.body(key).is_none() {
                source.insert(secret(Some((CLUSTERS, "Machine", "m0")))).unwrap();
            }
            None
        }
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(refused(&stop), ["manifest-moves"], "{stop}");
    assert!(under_way(stage.setup()).await.is_none_or(|one| !one.record.phase.is_committed()));
}

#[tokio::test(start_paused = true)]
async fn a_definition_of_a_kind_is_not_added() {
    const DEFINITIONS: &str = "apiextensions.k8s.io";
    let definitions =
        kind(DEFINITIONS, "CustomResourceDefinition", "customresourcedefinitions", KindLabels::default());
    let mut stage = Stage::new();
    stage.target.add_kind(Kind { namespaced: false, ..definitions });
    let definition = json!({"apiVersion": format!("{DEFINITIONS}/v1beta2"), "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.g.io"}});
    stage.options = stage.options.with_additions(vec![addition(1, definition)]);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((stop.exit, refused(&stop)), (Exit::Refused, vec!["manifest-definition"]));
}
