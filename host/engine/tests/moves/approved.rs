//! Moves that carry out a plan that was saved: they do what it says, or are undone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use pivot_core::messages::risk::Risk;
use pivot_core::plan::{ChangingHook, InTarget};
use pivot_core::plugins::hooks::{Description, Hook};
use pivot_core::records::record::{Phase, Pin};
use pivot_core::records::saved_plan::{Made, SavedFate, SavedPlan};
use pivot_core::{GroupKind, Key, Object, Uid};
use pivot_engine::hooks::{HookError, Hooks};
use pivot_engine::{DryRun, Exit, Failure, Next, Setup, Stop, read_end};
use pivot_memory::Fault;
use pivot_places::{DirectoryPlace, PlaceError};
use serde_json::{Value, json};

use crate::added::{addition, configuration};
use crate::crash::{at_every_write, die_at, nothing_of_ours, revive};
use crate::directories::keys;
use crate::run;
use crate::seeds::deaths_of;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, picture, under_way};

/// The plan as the program would save it.
pub(crate) async fn saved(stage: &Stage) -> SavedPlan {
    saved_of(stage, stage.setup()).await
}

async fn saved_of(stage: &Stage, mut setup: Setup) -> SavedPlan {
    setup.options.dry_run = DryRun::Plan;
    let decisions = setup.options.decisions();
    let sides = setup.sides.clone();
    let plan = run::plan(setup).await.unwrap();
    let made = Made {
        by: "jane".into(),
        at: "2026-11-21T22:00:00Z".into(),
        source: read_end(&*sides.source).await.unwrap(),
        target: Some(read_end(&*sides.target).await.unwrap()),
        plugins: stage.plugins.iter().map(|plugin| Pin::from(plugin.describe())).collect(),
    };
    let saved = SavedPlan::new(&plan, made, decisions, Vec::new());
    SavedPlan::parse(&saved.text()).unwrap()
}

fn approved(stage: &Stage, plan: &SavedPlan) -> Setup {
    let mut setup = stage.setup();
    setup.options = setup.options.with_approved_plan(plan.clone());
    setup
}

fn messages(stop: &Stop) -> Vec<String> {
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert!(refusals.iter().all(|refusal| refusal.code == "plan-differs"), "{stop}");
    refusals.iter().map(|refusal| refusal.message.clone()).collect()
}

fn machine() -> Key {
    key(CLUSTERS, "Machine", "m0")
}

fn bootstrap_data() -> Key {
    key("", "Secret", "m0-bootstrap")
}

fn label(body: &mut Value) {
    body["metadata"]["labels"]["changed"] = json!("yes");
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_plan_is_carried_out_and_the_report_is_what_it_says() {
    let stage = Stage::new();
    let plan = saved(&stage).await;
    let report = run::start(approved(&stage, &plan)).await.unwrap();
    let of = |fate| {
        let mut kinds = std::collections::BTreeMap::<GroupKind, usize>::new();
        for step in plan.steps.iter().filter(|step| step.fate == fate) {
            *kinds.entry(step.object.group_kind.clone()).or_default() += 1;
        }
        kinds
    };
    assert_eq!((report.done.moved, report.done.kept), (of(SavedFate::Move), of(SavedFate::Keep)));
    assert!(nothing_of_ours(&stage.source) && nothing_of_ours(&stage.target));
}

/// A change to the source, and what the refusal says of it; nothing, if the move is to be carried out.
type Change = (&'static str, fn(&Stage), Option<&'static str>);

const CHANGES: [Change; 7] = [
    (
        "a label",
        |stage| drop(stage.source.edit(&machine(), label).unwrap()),
        Some("Machine ns/m0 has changed since the plan was made"),
    ),
    (
        "an object that is added",
        |stage| {
            let owner = Some((CLUSTERS, "Machine", "m0"));
            drop(stage.source.insert(body(INFRA, "InfraMachine", "late", owner)).unwrap());
        },
        Some("InfraMachine ns/late is not in the plan, and would be moved now"),
    ),
    (
        "an object that is removed",
        |stage| {
            stage
                .source
                .edit(&key(INFRA, "InfraMachine", "m1"), |body| {
                    drop(body["metadata"].as_object_mut().unwrap().remove("finalizers"))
                })
                .unwrap();
            stage.source.remove(&key(INFRA, "InfraMachine", "m1")).unwrap();
        },
        Some("InfraMachine ns/m1 is in the plan, and would not be moved any more"),
    ),
    (
        "a status",
        |stage| drop(stage.source.edit(&machine(), |body| body["status"]["seen"] = json!(true)).unwrap()),
        None,
    ),
    (
        "a Secret",
        |stage| {
            drop(stage.source.edit(&bootstrap_data(), |body| body["data"]["value"] = json!("bmV3")).unwrap())
        },
        Some("Secret ns/m0-bootstrap has changed since the plan was made"),
    ),
    ("nothing", |_| {}, None),
    (
        "a note of a provider",
        |stage| {
            let note = |body: &mut Value| body["metadata"]["annotations"]["infra.x-k8s.io/seen"] = json!("1");
            stage.source.edit(&key(INFRA, "InfraMachine", "m0"), note).unwrap();
        },
        None,
    ),
];

#[tokio::test(start_paused = true)]
async fn what_changes_between_plan_and_move_is_refused_or_carried_out_as_it_is_now() {
    for (what, change, refusal) in CHANGES {
        let stage = Stage::new();
        let plan = saved(&stage).await;
        change(&stage);
        let before = (picture(&stage.source), picture(&stage.target));
        let result = run::start(approved(&stage, &plan)).await;
        match (result, refusal) {
            (Ok(_), None) => assert!(nothing_of_ours(&stage.source), "{what}"),
            (Err(stop), Some(refusal)) => {
                assert_eq!((stop.exit, messages(&stop)), (Exit::Refused, vec![refusal.to_owned()]), "{what}");
                assert_eq!((picture(&stage.source), picture(&stage.target)), before, "{what}");
                // Nothing was paused for it.
                assert!(under_way(stage.setup()).await.is_none(), "{what}");
            }
            (result, _) => panic!("{what}: {result:?}"),
        }
    }
}

/// Makes a change when the source is paused.
fn once_paused(stage: &Stage, change: fn(&Stage)) {
    let (copy, done) = (Stage { source: stage.source.clone(), ..Stage::empty() }, AtomicBool::new(false));
    stage.source.on_call(move |verb, key| {
        if verb == "patch" && key.group_kind.kind == "Cluster" && !done.swap(true, Ordering::SeqCst) {
            change(&copy);
        }
        None
    });
}

// proves: T120
#[tokio::test(start_paused = true)]
async fn what_differs_when_the_source_is_paused_is_undone_before_anything_is_copied() {
    for (what, change, refusal) in CHANGES {
        let stage = Stage::new();
        let plan = saved(&stage).await;
        once_paused(&stage, change);
        let result = run::start(approved(&stage, &plan)).await;
        match (result, refusal) {
            (Ok(_), None) => assert!(nothing_of_ours(&stage.source), "{what}"),
            (Err(stop), Some(refusal)) => {
                assert_eq!((stop.exit, messages(&stop)), (Exit::Refused, vec![refusal.to_owned()]), "{what}");
                assert!(picture(&stage.target).is_empty() && nothing_of_ours(&stage.source), "{what}");
                let expected = Stage::new();
                change(&expected);
                assert_eq!(picture(&stage.source), picture(&expected.source), "{what}");
                assert!(under_way(stage.setup()).await.is_none(), "{what}");
            }
            (result, _) => panic!("{what}: {result:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn content_that_changes_after_the_copy_stops_the_move_before_the_commit() {
    for (what, change, refusal) in CHANGES {
        let stage = Stage::new();
        let plan = saved(&stage).await;
        let (copy, done) = (Stage { source: stage.source.clone(), ..Stage::empty() }, AtomicBool::new(false));
        stage.target.on_call(move |verb, key| {
            if verb == "create" && key.group_kind.kind == "InfraMachine" && !done.swap(true, Ordering::SeqCst)
            {
                change(&copy);
            }
            None
        });
        let result = run::start(approved(&stage, &plan)).await;
        match (result, refusal) {
            (Ok(_), None) => assert!(nothing_of_ours(&stage.source), "{what}"),
            (Err(stop), Some(refusal)) => {
                assert_eq!((stop.exit, messages(&stop)), (Exit::PartWay, vec![refusal.to_owned()]), "{what}");
                assert_eq!(
                    (stop.phase, &stop.next[..]),
                    (Some(Phase::Copied), &[Next::Resume, Next::Rollback][..])
                );
                run::rollback(stage.setup()).await.unwrap();
                assert!(picture(&stage.target).is_empty() && nothing_of_ours(&stage.source), "{what}");
            }
            (result, _) => panic!("{what}: {result:?}"),
        }
    }
}

/// Whoever resumes it holds to it, too.
#[tokio::test(start_paused = true)]
async fn a_move_killed_at_any_write_is_resumed_with_its_plan_alone() {
    let expected = Stage::new();
    run::start(expected.setup()).await.unwrap();
    let mut asked = 0;
    let deaths = at_every_write(
        async || {
            let stage = Stage::new();
            let plan = saved(&stage).await;
            (stage, plan)
        },
        async |stage, plan| drop(run::start(approved(stage, plan)).await),
        async |stage, plan, at| {
            match under_way(stage.setup()).await {
                Some(one) if one.record.phase.is_committed() => {
                    drop(run::resume(stage.setup()).await.unwrap())
                }
                Some(one) => {
                    assert_eq!(one.record.plan_checksum.as_deref(), Some(plan.checksum()));
                    let stop = run::resume(stage.setup()).await.unwrap_err();
                    assert!(
                        matches!(&stop.failure, Failure::Inputs(why) if why.contains("needs its file")),
                        "{stop}"
                    );
                    assert_eq!((stop.exit, &stop.next[..]), (Exit::Refused, &[Next::Rollback][..]));
                    asked += 1;
                    drop(run::resume(approved(stage, plan)).await.unwrap());
                }
                None => {
                    if let Err(stop) = run::start(approved(stage, plan)).await {
                        assert_eq!(stop.exit, Exit::Empty, "{at}: {stop}");
                    }
                }
            }
            assert_eq!(picture(&stage.target), picture(&expected.target), "{at}");
            assert_eq!(picture(&stage.source), picture(&expected.source), "{at}");
        },
    )
    .await;
    assert!(deaths > 60 && asked > deaths_of(20), "{deaths}, {asked}");
}

// proves: T121
#[tokio::test(start_paused = true)]
async fn another_plan_does_not_continue_a_move() {
    let stage = Stage::new();
    let plan = saved(&stage).await;
    die_at(&stage, 9, true);
    run::start(approved(&stage, &plan)).await.unwrap_err();
    revive(&stage);
    assert!(under_way(stage.setup()).await.is_some());
    let other = Stage::new();
    let of_other = saved(&other).await;
    assert_ne!(of_other.checksum(), plan.checksum());
    let stop = run::resume(approved(&stage, &of_other)).await.unwrap_err();
    assert!(stop.to_string().contains("was begun to carry out another plan"), "{stop}");
    // What this run was given would be refused once more.
    assert_eq!((stop.exit, &stop.next[..]), (Exit::Refused, &[Next::Rollback][..]));
    // Nor does one that was begun without take a plan.
    let plain = Stage::new();
    let late = saved(&plain).await;
    die_at(&plain, 9, true);
    run::start(plain.setup()).await.unwrap_err();
    revive(&plain);
    let stop = run::start(approved(&plain, &late)).await.unwrap_err();
    assert!(stop.to_string().contains("was begun without a saved plan, and continues without"), "{stop}");
    assert_eq!((stop.exit, &stop.next[..]), (Exit::Refused, &[Next::Rollback][..]));
}

/// Its decisions would be taken over: not to wait for the target, for one.
// proves: T121
#[tokio::test(start_paused = true)]
async fn another_plan_is_not_taken_after_the_commit_either() {
    let mut stage = Stage::new();
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    let plan = saved(&stage).await;
    let other = {
        let mut setup = stage.setup();
        setup.options.accept.insert(Risk::TakeoverUnchecked);
        saved_of(&stage, setup).await
    };
    for n in 1.. {
        stage = Stage::new();
        die_at(&stage, n, true);
        let _ = run::start(approved(&stage, &saved(&stage).await)).await;
        revive(&stage);
        match under_way(stage.setup()).await {
            Some(one) if one.record.phase == Phase::Live => break,
            _ => assert!(n < 100, "no death in Live"),
        }
    }
    for plan in [&plan, &other] {
        let stop = run::resume(approved(&stage, plan)).await.unwrap_err();
        assert!(stop.to_string().contains("was begun to carry out another plan"), "{stop}");
    }
    run::resume(stage.setup()).await.unwrap();
    assert!(nothing_of_ours(&stage.source));
}

/// A record that can't be read again would leave a source paused that nobody resumes.
#[tokio::test(start_paused = true)]
async fn a_plan_with_more_than_a_record_may_have_is_refused_before_anything_is_written() {
    let mut stage = Stage::new();
    let kinds = (0..20_000).map(|n| GroupKind::new("example.org", format!("K{n}")));
    stage.options.scope.accept.insert_kinds(Risk::Shared, kinds);
    let before = picture(&stage.source);
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert!(stop.to_string().contains("the number of kinds of this move can't be right"), "{stop}");
    assert_eq!(picture(&stage.source), before);
    assert!(under_way(stage.setup()).await.is_none());
}

// proves: T119
#[tokio::test(start_paused = true)]
async fn a_plan_is_for_its_two_sides_its_plugins_and_its_files() {
    let stage = Stage::new();
    let plan = saved(&stage).await;
    let refused = async |setup: Setup, what: &str| {
        let stop = run::start(setup).await.unwrap_err();
        assert_eq!(stop.exit, Exit::Refused);
        let all = messages(&stop);
        assert!(all.iter().any(|message| message.contains(what)), "{all:?}");
    };
    let mut elsewhere = approved(&stage, &plan);
    elsewhere.sides.target = Arc::new(Stage::empty().target);
    refused(elsewhere, "made for another target").await;
    let mut of_other = approved(&Stage::new(), &plan);
    of_other.sides.target = Arc::new(stage.target.clone());
    refused(of_other, "made for another source").await;
    // A cluster that has nothing to move is another one all the same.
    let mut empty = approved(&stage, &plan);
    empty.sides.source = Arc::new(Stage::empty().source);
    refused(empty, "made for another source").await;
    let mut of_any = plan.clone();
    of_any.target.as_mut().unwrap().identity = None;
    refused(approved(&stage, &of_any), "made for another target").await;
    let mut without_target = plan.clone();
    without_target.target = None;
    refused(approved(&stage, &without_target), "made without a target").await;
    let mut more = approved(&stage, &plan);
    more.options = more.options.with_additions(vec![addition(1, configuration("all"))]);
    refused(more, "the files of what is added have other objects").await;
    let mut with_plugin = approved(&stage, &plan);
    with_plugin.plugins = vec![adapter("a")].into();
    refused(with_plugin, "the plugins or their configuration differ from the plan: adapter  is additional")
        .await;
}

/// A plan for files is no plan for a cluster, which would delete the source; nor for files that others can read.
// proves: T119
#[tokio::test(start_paused = true)]
async fn a_plan_for_a_directory_is_carried_out_into_that_directory_in_that_form() {
    let stage = Stage::new();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let into = |setup: Setup, directory: DirectoryPlace| {
        let mut setup = setup;
        setup.sides.target = Arc::new(directory);
        setup
    };
    let plain = |dir: &tempfile::TempDir| DirectoryPlace::to_write(dir.path()).unwrap();
    let closed = |dir: &tempfile::TempDir| DirectoryPlace::to_encrypt(dir.path(), keys().1).unwrap();
    let of_cluster = saved(&stage).await;
    let of_files = saved_of(&stage, into(stage.setup(), plain(&first))).await;
    let of_closed = saved_of(&stage, into(stage.setup(), closed(&first))).await;
    let before = picture(&stage.source);
    for (setup, is) in [
        (approved(&stage, &of_files), "target"),
        (into(approved(&stage, &of_cluster), plain(&first)), "not encrypted"),
        (into(approved(&stage, &of_files), plain(&second)), "not encrypted"),
        (into(approved(&stage, &of_files), closed(&first)), "encrypted"),
        (into(approved(&stage, &of_closed), plain(&first)), "not encrypted"),
    ] {
        let stop = run::start(setup).await.unwrap_err();
        let [message] = &messages(&stop)[..] else { panic!("{stop}") };
        assert!(
            message.starts_with("the plan was made for another target, ") && message.ends_with(is),
            "{message}"
        );
        assert_eq!(picture(&stage.source), before);
        assert!(picture(&stage.target).is_empty());
    }
    run::start(into(approved(&stage, &of_files), plain(&first))).await.unwrap();
    assert!(DirectoryPlace::to_read(first.path()).is_ok());
}

/// Files whose contents changed are not another source: what changed in them is named.
#[tokio::test(start_paused = true)]
async fn an_object_that_changed_in_the_files_of_a_source_is_named() {
    let stage = Stage::new();
    let dir = tempfile::tempdir().unwrap();
    let mut out = stage.setup();
    out.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    run::start(out).await.unwrap();
    let from_files = || {
        let mut setup = stage.setup();
        setup.sides.source = Arc::new(DirectoryPlace::to_read(dir.path()).unwrap());
        setup.options.scope.accept.insert(Risk::SourceMayRun);
        setup
    };
    let plan = saved_of(&stage, from_files()).await;
    let mut edited = 0;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let mut object: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        if object["kind"] == "Machine" && object["metadata"]["name"] == "m0" {
            label(&mut object);
            std::fs::write(&path, object.to_string()).unwrap();
            edited += 1;
        }
    }
    assert_eq!(edited, 1);
    let mut setup = from_files();
    setup.options = setup.options.with_approved_plan(plan);
    let stop = run::start(setup).await.unwrap_err();
    assert_eq!(messages(&stop), ["Machine ns/m0 has changed since the plan was made"]);
}

/// Marks what it holds: Secrets among it, whose versions change with that.
struct Holder(Description);

#[async_trait]
impl Hooks for Holder {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn hold(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"metadata": {"annotations": {"holder.example.org/held": "yes"}}})))
    }
}

#[tokio::test(start_paused = true)]
async fn what_plugins_hold_is_not_changed_by_others() {
    let mut stage = Stage::new();
    let description = Description {
        name: "holder".into(),
        kinds: vec![key(INFRA, "InfraMachine", "m0").group_kind, bootstrap_data().group_kind],
        hooks: vec![Hook::Hold],
        ..Description::default()
    };
    stage.plugins = vec![Arc::new(Holder(description))];
    let plan = saved(&stage).await;
    let held = |kind: &str| {
        let steps = plan.steps.iter().filter(|step| step.object.group_kind.kind == kind);
        steps.filter(|step| step.changes.iter().any(|change| change.hook == ChangingHook::Hold)).count()
    };
    assert!(held("InfraMachine") > 0 && held("Secret") > 0, "{plan:?}");
    run::start(approved(&stage, &plan)).await.unwrap();
    assert!(nothing_of_ours(&stage.source));
}

/// Changes one field of each InfraMachine.
struct Adapter(Description, &'static str);

fn adapter(value: &'static str) -> Arc<dyn Hooks> {
    let description = Description {
        name: "adapter".into(),
        digest: format!("digest {value}"),
        kinds: vec![key(INFRA, "InfraMachine", "m0").group_kind],
        hooks: vec![Hook::Adapt],
        ..Description::default()
    };
    Arc::new(Adapter(description, value))
}

#[async_trait]
impl Hooks for Adapter {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn adapt(&self, _object: &Object) -> Result<Option<Value>, HookError> {
        Ok(Some(json!({"spec": {"adapted": self.1}})))
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_says_what_plugins_change_and_what_the_target_has() {
    let mut stage = Stage::new();
    stage.plugins = vec![adapter("one")];
    // A class is shared: the target has the same, and then another.
    let class = stage.source.keys().into_iter().find(|key| key.group_kind.kind == "ClusterClass").unwrap();
    let mut there = stage.source.body(&class).unwrap();
    there["metadata"] = json!({"name": class.name, "namespace": "ns"});
    stage.target.add_namespace("ns");
    stage.target.insert(there).unwrap();
    let plan = saved(&stage).await;
    let of =
        |plan: &SavedPlan, key: &Key| plan.steps.iter().find(|step| step.object == *key).unwrap().clone();
    assert_eq!(of(&plan, &class).in_target, Some(InTarget::Same));
    let change = &of(&plan, &key(INFRA, "InfraMachine", "m0")).changes;
    let told: Vec<_> = change.iter().map(|one| (one.hook, one.by.as_str(), one.fields.clone())).collect();
    assert_eq!(told, [(ChangingHook::Adapt, "plugin adapter", vec!["/spec/adapted".to_owned()])]);
    assert!(of(&plan, &machine()).changes.is_empty() && of(&plan, &machine()).in_target.is_none());

    stage.target.edit(&class, |body| body["spec"]["extra"] = json!({"a": 1})).unwrap();
    stage.source.edit(&class, |body| body["spec"]["extra"] = json!({"a": 2})).unwrap();
    stage.options.accept.insert(Risk::ExistingDiffers);
    let differs = saved(&stage).await;
    let fields = vec!["spec.extra.a".to_owned()];
    assert_eq!(of(&differs, &class).in_target, Some(InTarget::Differs { fields }));
    // Somebody makes them equal, or removes it: the plan says something else.
    stage.target.edit(&class, |body| body["spec"]["extra"] = json!({"a": 2})).unwrap();
    let stop = run::start(approved(&stage, &differs)).await.unwrap_err();
    let name = format!("{class} of the target is not what the plan says");
    assert_eq!(messages(&stop), [name]);
    stage.target.edit(&class, |body| body["spec"]["extra"] = json!({"a": 1})).unwrap();
    run::start(approved(&stage, &differs)).await.unwrap();
}

/// What is in a Secret, neither its values nor their names, is in no plan.
// proves: T122
#[tokio::test(start_paused = true)]
async fn no_secret_data_is_in_a_saved_plan() {
    let stage = Stage::new();
    stage.source.edit(&bootstrap_data(), |body| body["data"] = json!({"hunter2": "aHVudGVyMw=="})).unwrap();
    let text = saved(&stage).await.text();
    assert!(
        text.contains("m0-bootstrap") && !text.contains("hunter2") && !text.contains("aHVudGVyMw"),
        "{text}"
    );
    let secret = saved(&stage).await.steps.into_iter().find(|step| step.object == bootstrap_data()).unwrap();
    let version = stage.source.body(&bootstrap_data()).unwrap()["metadata"]["resourceVersion"].clone();
    assert_eq!(serde_json::to_value(secret.content).unwrap(), json!({"version": version}));
    assert_eq!(
        secret.uid,
        Uid(stage.source.body(&bootstrap_data()).unwrap()["metadata"]["uid"].as_str().unwrap().into())
    );
}

/// A write that is turned away is tried again by the next run, with the plan.
#[tokio::test(start_paused = true)]
async fn an_approved_move_that_stops_part_way_is_told_how_to_go_on() {
    let stage = Stage::new();
    let plan = saved(&stage).await;
    stage.target.on_call(|verb, key| {
        let dead = verb == "create" && key.group_kind.kind == "InfraMachine";
        dead.then(|| Fault::Before(PlaceError::Forbidden("dead".into())))
    });
    let stop = run::start(approved(&stage, &plan)).await.unwrap_err();
    assert_eq!((stop.exit, &stop.next[..]), (Exit::PartWay, &[Next::Resume, Next::Rollback][..]));
    revive(&stage);
    stage.source.edit(&machine(), label).unwrap();
    let stop = run::resume(approved(&stage, &plan)).await.unwrap_err();
    assert_eq!(messages(&stop), ["Machine ns/m0 has changed since the plan was made"]);
    assert_eq!(stop.exit, Exit::PartWay);
    run::rollback(stage.setup()).await.unwrap();
    assert!(picture(&stage.target).is_empty());
}
