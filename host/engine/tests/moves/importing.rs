//! From a directory into a cluster: as safe and as resumable as between clusters, with lock and record in the target.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Severity};
use pivot_core::records::record::Phase;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, KindLabels, Object, Side};
use pivot_engine::hooks::{HookError, Hooks, MoveContext, Services};
use pivot_engine::{Event, Exit, Failure, Next, Setup, Situation, Watcher};
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::{DirectoryPlace, PlaceError};
use pivot_runtime::Query;
use serde_json::{Value, json};

use crate::crash::{at_every_write, die_at, nothing_of_ours, revive};
use crate::run::{self, With};
use crate::seeds::deaths_of;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, kind, picture};

/// What a stage's source holds, in a directory.
pub(crate) async fn exported(stage: &Stage) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut setup = stage.setup();
    setup.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    run::start(setup).await.unwrap();
    dir
}

/// The move of a directory into a stage's target.
pub(crate) fn importing(stage: &Stage, dir: &Path) -> Setup {
    let mut setup = stage.setup();
    setup.sides.source = Arc::new(DirectoryPlace::to_read(dir).unwrap());
    setup.options.scope.accept.insert(Risk::SourceMayRun);
    setup
}

#[tokio::test(start_paused = true)]
async fn a_restore_from_a_directory_ends_in_the_same_state_as_a_move() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    let report = run::start(importing(&stage, dir.path())).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&straight.target));
    assert!(nothing_of_ours(&stage.target));
    assert!(report.done.moved.is_empty(), "nothing was taken from the files");
}

// proves: D34, T80, W16
#[tokio::test(start_paused = true)]
async fn w16_files_of_a_cluster_that_may_still_run_are_refused() {
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    let before = picture(&stage.target);
    let mut setup = importing(&stage, dir.path());
    setup.options.scope.accept.remove(Risk::SourceMayRun);
    let stop = run::start(setup).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!(refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>(), ["source-may-live-on"]);
    assert_eq!((stop.exit, picture(&stage.target)), (Exit::Refused, before));
}

/// A copy that ran before the commit would run beside whatever the files are a copy of.
// proves: T100
#[tokio::test(start_paused = true)]
async fn copies_are_paused_until_all_are_there() {
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    let cluster = key(CLUSTERS, "Cluster", "c");
    let (seen, target) = (cluster.clone(), stage.target.clone());
    stage.target.on_call(move |verb, _| {
        if verb == "create"
            && let Some(cluster) = target.body(&seen)
        {
            assert_eq!(cluster["spec"]["paused"], true);
        }
        None
    });
    run::start(importing(&stage, dir.path())).await.unwrap();
    assert_eq!(stage.target.body(&cluster).unwrap()["spec"]["paused"], false);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_its_user_paused_stays_paused() {
    let mut stage = Stage::new();
    stage.options.scope.accept.insert(Risk::AlreadyPaused);
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), |body| body["spec"]["paused"] = json!(true)).unwrap();
    let dir = exported(&stage).await;
    let mut stage = Stage::empty();
    stage.options.scope.accept.insert(Risk::AlreadyPaused);
    run::start(importing(&stage, dir.path())).await.unwrap();
    assert_eq!(stage.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap()["spec"]["paused"], true);
}

/// Of a run that dies at each write in turn: what becomes of the stage afterwards.
async fn killed_at_each_write(dir: &Path, then: impl AsyncFn(&Stage, &str)) -> usize {
    at_every_write(
        async || (Stage::empty(), ()),
        async |stage, ()| drop(run::start(importing(stage, dir)).await),
        async |stage, (), at| {
            if at.died {
                then(stage, &at.to_string()).await;
            }
        },
    )
    .await
}

// proves: D33
#[tokio::test(start_paused = true)]
async fn a_restore_killed_at_any_write_resumes_to_the_same_end() {
    let dir = exported(&Stage::new()).await;
    let whole = Stage::empty();
    run::start(importing(&whole, dir.path())).await.unwrap();
    let target = picture(&whole.target);
    let deaths = killed_at_each_write(dir.path(), async |stage, at| {
        let over = finished(&stage.target);
        let again = run::start(importing(stage, dir.path())).await;
        assert!(again.is_ok() || over, "{at}: {}", again.unwrap_err());
        assert_eq!(picture(&stage.target), target, "{at}");
        assert!(nothing_of_ours(&stage.target), "{at}");
    })
    .await;
    assert!(deaths > 40, "{deaths}");
}

#[tokio::test(start_paused = true)]
async fn a_restore_killed_before_its_commit_is_rolled_back_to_nothing() {
    let dir = exported(&Stage::new()).await;
    let empty = picture(&Stage::empty().target);
    let taken_back = std::sync::atomic::AtomicUsize::new(0);
    killed_at_each_write(dir.path(), async |stage, at| {
        match run::rollback(importing(stage, dir.path())).await {
            Ok(_) => {
                assert_eq!(picture(&stage.target), empty, "{at}");
                assert!(nothing_of_ours(&stage.target), "{at}");
                taken_back.fetch_add(1, Ordering::SeqCst);
            }
            // Nothing was begun, or there is no way back.
            Err(stop) => assert!(matches!(stop.exit, Exit::Empty | Exit::Refused), "{at}: {stop}"),
        }
    })
    .await;
    assert!(taken_back.load(Ordering::SeqCst) > deaths_of(20), "{taken_back:?}");
}

/// A move that is under way from files is about those files, which may be gone. So no suggested command deletes its copies.
// proves: T81
#[tokio::test(start_paused = true)]
async fn other_files_do_not_continue_a_restore_but_can_roll_it_back() {
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    die_at(&stage, 8, true);
    let stop = run::start(importing(&stage, dir.path())).await.unwrap_err();
    assert_eq!(stop.exit, Exit::PartWay, "{stop}");
    assert!(stop.state.starts_with("the files are as they were"), "{}", stop.state);
    revive(&stage);
    change(dir.path(), |body| body["spec"]["edited"] = json!(true));
    let stop = run::resume(importing(&stage, dir.path())).await.unwrap_err();
    assert!(
        matches!(&stop.failure, Failure::Declined(why) if why.contains("other files") && why.contains("by its id")),
        "{stop}"
    );
    let copies = picture(&stage.target);
    let move_id = stop_id(&stage).await;
    let named = With { move_id, ..importing(&stage, dir.path()).into() };
    for again in [run::start(importing(&stage, dir.path())).await, run::resume(named).await] {
        let stop = again.unwrap_err();
        assert!(
            matches!(&stop.failure, Failure::Declined(why) if why.contains("other files") && why.contains("Keep them")),
            "{stop}"
        );
        assert!(stop.state.ends_with("which may be the last"), "{}", stop.state);
        assert!(stop.next.is_empty(), "{:?}", stop.next);
    }
    assert_eq!(picture(&stage.target), copies);
    let stop = run::rollback(importing(&stage, dir.path())).await.unwrap_err();
    assert!(stop.to_string().contains("name it by its id"), "{stop}");
    let named = With { move_id: stop_id(&stage).await, ..importing(&stage, dir.path()).into() };
    run::rollback(named).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&Stage::empty().target));
    run::start(importing(&stage, dir.path())).await.unwrap();
}

/// The move that is under way into a stage's target.
async fn stop_id(stage: &Stage) -> Option<String> {
    let moves = run::status_of_one(stage.setup(), Side::Target).await.unwrap().moves;
    Some(moves.first()?.record.move_id.clone())
}

/// A restore that stopped once the target had its Cluster.
async fn stop_after_cluster(stage: &Stage, dir: &Path) {
    stage.target.on_call(|verb, key| {
        (verb == "create" && key.name == "m1").then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    let stop = run::start(importing(stage, dir)).await.unwrap_err();
    assert_eq!((stop.exit, stop.phase), (Exit::PartWay, Some(Phase::Copied)), "{stop}");
    assert!(stage.target.body(&key(CLUSTERS, "Cluster", "c")).is_some());
    revive(stage);
}

/// The copies may be the last, so no suggested command deletes them.
#[tokio::test(start_paused = true)]
async fn a_restore_is_rolled_back_without_its_files() {
    let dir = exported(&Stage::new()).await;
    let stage = Stage::empty();
    stop_after_cluster(&stage, dir.path()).await;
    let copies = picture(&stage.target);
    let gone = With::absent(Side::Source, stage.setup());
    let stop = run::resume(gone.clone()).await.unwrap_err();
    assert!(
        matches!(&stop.failure, Failure::Declined(why) if why.contains("may be the last. Keep them")),
        "{stop}"
    );
    assert!(stop.next.is_empty(), "{:?}", stop.next);
    assert!(
        stop.state.contains("the files were not read") && stop.state.ends_with("which may be the last"),
        "{}",
        stop.state
    );
    assert_eq!(picture(&stage.target), copies);
    let status = run::status_of_one(stage.setup(), Side::Target).await.unwrap();
    let mut one = status.moves[0].clone();
    one.missing = None;
    let situation = Situation::from_status(&one, Some(Side::Source), false);
    assert!(situation.next().is_empty(), "{:?}", situation.next());
    assert!(situation.state().contains("the files were not read"), "{}", situation.state());
    // A user who typed the rollback can continue it.
    stage
        .target
        .on_call(|verb, _| (verb == "delete").then(|| Fault::Before(PlaceError::Forbidden("no".into()))));
    let stop = run::rollback(gone.clone()).await.unwrap_err();
    assert_eq!((stop.exit, stop.next.as_slice()), (Exit::PartWay, [Next::Rollback].as_slice()), "{stop}");
    revive(&stage);
    run::rollback(gone).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&Stage::empty().target));
    assert!(nothing_of_ours(&stage.target));
}

/// Such a copy has no annotation that unpauses it, and no source shows that its user had paused the Cluster.
#[tokio::test(start_paused = true)]
async fn rollback_without_files_removes_paused_clusters() {
    let mut stage = Stage::new();
    stage.options.scope.accept.insert(Risk::AlreadyPaused);
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), |body| body["spec"]["paused"] = json!(true)).unwrap();
    let dir = exported(&stage).await;
    let mut stage = Stage::empty();
    stage.options.scope.accept.insert(Risk::AlreadyPaused);
    stop_after_cluster(&stage, dir.path()).await;
    run::rollback(With::absent(Side::Source, stage.setup())).await.unwrap();
    assert_eq!(picture(&stage.target), picture(&Stage::empty().target));
    assert!(nothing_of_ours(&stage.target));
}

/// A move of a cluster that is under way into the same target is none of the files'.
#[tokio::test(start_paused = true)]
async fn a_move_between_clusters_is_not_mistaken_for_one_from_files() {
    let stage = crate::trouble::live().await;
    let before = (picture(&stage.source), picture(&stage.target));
    let dir = exported(&Stage::new()).await;
    for stop in [
        run::resume(importing(&stage, dir.path())).await.unwrap_err(),
        run::rollback(importing(&stage, dir.path())).await.unwrap_err(),
    ] {
        assert!(matches!(stop.failure, Failure::NoMove), "{stop}");
    }
    let stop = run::start(importing(&stage, dir.path())).await.unwrap_err();
    assert!(stop.move_id.is_none() && !stop.to_string().contains("other files"), "{stop}");
    let gone = With::absent(Side::Source, stage.setup());
    let stop = run::rollback(gone).await.unwrap_err();
    assert!(matches!(stop.failure, Failure::Declined(_)), "{stop}");
    assert_eq!((picture(&stage.source), picture(&stage.target)), before);
}

/// What a cluster claims as the source of a move, nobody makes anew in it; and the other way round.
#[tokio::test(start_paused = true)]
async fn a_claimed_cluster_is_neither_source_nor_target_of_another_move() {
    let dir = exported(&Stage::new()).await;
    // Out of the cluster, stopped half-way; then files into it.
    let stage = Stage::new();
    die_at(&stage, 12, true);
    run::start(stage.setup()).await.unwrap_err();
    revive(&stage);
    let mut into = importing(&stage, dir.path());
    into.sides.target = Arc::new(stage.source.clone());
    let stop = run::start(into).await.unwrap_err();
    assert!(stop.to_string().contains("is under way"), "{stop}");
    // Files into the cluster, stopped half-way; then out of it.
    let stage = Stage::empty();
    die_at(&stage, 8, true);
    run::start(importing(&stage, dir.path())).await.unwrap_err();
    revive(&stage);
    let mut out = stage.setup();
    out.sides.source = Arc::new(stage.target.clone());
    out.sides.target = Arc::new(stage.source.clone());
    let stop = run::start(out).await.unwrap_err();
    assert!(stop.to_string().contains("is under way"), "{stop}");
}

/// Whoever hands out a directory may have put anything into it.
// proves: T78
#[tokio::test(start_paused = true)]
async fn records_and_roles_are_not_restored_from_files() {
    let dir = exported(&Stage::new()).await;
    let record = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "pivot-host-target-1", "namespace": "pivot-host-records",
        "labels": {"pivot-host.io/record": "target", "clusterctl.cluster.x-k8s.io/move": ""}}, "data": {"record.json": "x"}});
    std::fs::write(dir.path().join("record.json"), record.to_string()).unwrap();
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {
        "name": "root", "labels": {"clusterctl.cluster.x-k8s.io/move": ""}}});
    std::fs::write(dir.path().join("role.json"), role.to_string()).unwrap();
    let manifest = dir.path().join("manifest.json");
    let mut forged: Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    let labels = json!({"discover": true, "moves": true, "hierarchy": true, "unread": false});
    forged["kinds"].as_array_mut().unwrap().push(json!({"groupKind":
        {"group": "rbac.authorization.k8s.io", "kind": "ClusterRoleBinding"}, "version": "v1", "plural": "clusterrolebindings",
        "namespaced": false, "statusSubresource": false, "served": ["v1"], "labels": labels}));
    forged["handover"] = json!(true);
    std::fs::write(&manifest, forged.to_string()).unwrap();
    let stage = Stage::empty();
    let mut setup = importing(&stage, dir.path());
    setup.options.scope = Scope::new(Namespaces::All);
    let stop = run::start(setup).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    let found: Vec<_> = refusals.iter().map(|refusal| refusal.code).collect();
    assert_eq!(found, ["own-object", "source-may-live-on"], "{stop}");
}

/// Somebody edits a Machine in the directory.
fn change(dir: &Path, how: impl FnOnce(&mut Value)) {
    let path = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let machine = path.into_iter().find(|path| path.to_string_lossy().contains("Machine")).unwrap();
    let mut body: Value = serde_json::from_slice(&std::fs::read(&machine).unwrap()).unwrap();
    how(&mut body);
    std::fs::write(machine, body.to_string()).unwrap();
}

fn finished(place: &MemoryPlace) -> bool {
    let left = |key: &pivot_core::Key| {
        place.body(key).unwrap()["metadata"]["labels"].get("pivot-host.io/finished").is_some()
    };
    place.keys().iter().any(left)
}

/// `clusterctl move --to-directory` pauses each Cluster and class, leaves no note of it, and names its files so.
#[tokio::test(start_paused = true)]
async fn what_clusterctl_paused_is_resumed() {
    let straight = Stage::new();
    run::start(straight.setup()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let source = Stage::new();
    for key in source.source.keys().into_iter().filter(|key| key.name != "pull" && key.namespace.is_some()) {
        let mut body = source.source.body(&key).unwrap();
        match key.group_kind.kind.as_str() {
            "Cluster" => body["spec"]["paused"] = json!(true),
            "ClusterClass" => body["metadata"]["annotations"] = json!({names::PAUSED: "true"}),
            _ => {}
        }
        let name = format!("{}_{}_{}.yaml", key.group_kind.kind, key.namespace.unwrap_or_default(), key.name);
        std::fs::write(dir.path().join(name), format!("{body}\n")).unwrap();
    }
    let stage = Stage::empty();
    run::start(importing(&stage, dir.path())).await.unwrap();
    let (mut there, mut here) = (picture(&straight.target), picture(&stage.target));
    // clusterctl writes it back as it unpauses; absent is not paused.
    for picture in [&mut there, &mut here] {
        let cluster = picture.values_mut().find(|body| body["kind"] == "Cluster").unwrap();
        cluster["spec"].as_object_mut().unwrap().remove("paused");
    }
    assert_eq!(here, there);
}

/// Stops a move in which, after the pause, it sees a host in the source that is not held.
struct Watchful(Description);

#[async_trait]
impl Hooks for Watchful {
    fn describe(&self) -> &Description {
        &self.0
    }

    async fn check(
        &self,
        point: Point,
        _context: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let (kind, namespace) = (GroupKind::new(INFRA, "Host"), Some("ns".to_owned()));
        let query = Query { side: Side::Source, kind, namespace, name: None, confined: true };
        let hosts = services.read("watchful", query).await.unwrap();
        assert_eq!(hosts.len(), 1);
        let awake = point == Point::AfterPause && hosts.iter().any(|host| !host.meta.has_annotation("held"));
        let finding = Finding {
            severity: Severity::Stop,
            code: if awake { "awake" } else { "at-rest" }.into(),
            message: "seen".into(),
            object: None,
            remedy: "none".into(),
        };
        Ok(if awake || (point == Point::AfterPause && self.0.version == "2.0.0") {
            vec![finding]
        } else {
            Vec::new()
        })
    }

    async fn hold(&self, object: &Object) -> Result<Option<Value>, HookError> {
        let held = object.meta.has_annotation("held") || self.0.version == "1.0.0";
        Ok((!held).then(|| json!({"metadata": {"annotations": {"held": ""}}})))
    }
}

/// A host that nobody holds would come to life in the target.
#[tokio::test(start_paused = true)]
async fn plugins_see_objects_from_files_as_paused() {
    let source = Stage::new();
    source.source.insert(body(INFRA, "Host", "h0", None)).unwrap();
    let dir = exported(&source).await;
    // One that holds nothing, and one that holds and stops when it sees that.
    for (version, code) in [("1.0.0", "awake"), ("2.0.0", "at-rest")] {
        let mut stage = Stage::empty();
        stage.plugins = vec![Arc::new(Watchful(Description {
            name: "watchful".into(),
            version: version.into(),
            digest: "d".into(),
            vouched_by: vec![],
            granted: vec![],
            kinds: vec![GroupKind::new(INFRA, "Host")],
            hooks: vec![Hook::Check, Hook::Hold],
            secret_data: false,
            reach: Vec::new(),
        }))];
        let stop = run::start(importing(&stage, dir.path())).await.unwrap_err();
        let Failure::Gate(findings) = &stop.failure else { panic!("{stop}") };
        assert_eq!(findings.iter().map(|found| found.finding.code.as_str()).collect::<Vec<_>>(), [code]);
        assert_eq!(picture(&stage.target), picture(&Stage::empty().target));
    }
}

/// Its provider was not done with it when it was copied, and nobody is there to finish.
// proves: W17
#[tokio::test(start_paused = true)]
async fn w17_what_blocked_a_move_is_not_restored() {
    let dir = exported(&Stage::new()).await;
    change(dir.path(), |body| body["metadata"]["annotations"][names::BLOCK_MOVE] = json!(""));
    let stage = Stage::empty();
    let stop = run::start(importing(&stage, dir.path())).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!(refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>(), ["block-move"]);
    assert_eq!(picture(&stage.target), picture(&Stage::empty().target));
}

/// A server-side applier, such as the topology controller, can't remove fields that somebody else owns.
// proves: W17
#[tokio::test(start_paused = true)]
async fn w17_field_managers_survive_a_directory() {
    let managers = json!([{"manager": "capi-topology", "operation": "Apply", "apiVersion": "cluster.x-k8s.io/v1beta2",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:topology": {}}}}]);
    let cluster = key(CLUSTERS, "Cluster", "c");
    let source = Stage::new();
    source.source.edit(&cluster, |body| body["metadata"]["managedFields"] = managers.clone()).unwrap();
    let dir = exported(&source).await;
    let stage = Stage::empty();
    run::start(importing(&stage, dir.path())).await.unwrap();
    assert_eq!(stage.target.body(&cluster).unwrap()["metadata"]["managedFields"], managers);
}

/// Nothing converts what is in files: each of their versions has to be served.
#[tokio::test(start_paused = true)]
async fn each_version_in_files_has_to_be_served() {
    let dir = exported(&Stage::new()).await;
    change(dir.path(), |body| {
        let group = body["apiVersion"].as_str().unwrap().split('/').next().unwrap().to_owned();
        body["apiVersion"] = json!(format!("{group}/v1alpha4"));
    });
    let stage = Stage::empty();
    let stop = run::start(importing(&stage, dir.path())).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert_eq!(refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>(), ["version-not-served"]);
    assert_eq!(picture(&stage.target), picture(&Stage::empty().target));
}

#[derive(Default)]
struct Warnings(Mutex<Vec<String>>);

impl Watcher for Warnings {
    fn event(&self, event: Event) {
        if let Event::Warning { code, text, .. } = event {
            self.0.lock().unwrap().push(format!("{code}: {text}"));
        }
    }
}

// proves: T78
#[tokio::test(start_paused = true)]
async fn kinds_not_labelled_in_the_target_are_named_and_left_out() {
    let dir = exported(&Stage::new()).await;
    let widget = json!({"apiVersion": "example.org/v1beta2", "kind": "Widget", "metadata": {"name": "w", "namespace": "ns",
        "labels": {"clusterctl.cluster.x-k8s.io/move": ""}}});
    std::fs::write(dir.path().join("widget.json"), widget.to_string()).unwrap();
    let stage = Stage::empty();
    stage.target.add_kind(kind("example.org", "Widget", "widgets", KindLabels::default()));
    let warnings = Arc::new(Warnings::default());
    run::start(Setup { watcher: warnings.clone(), ..importing(&stage, dir.path()) }).await.unwrap();
    let said = warnings.0.lock().unwrap().join("\n");
    assert!(said.contains("left-in-files") && said.contains("1 Widget.example.org"), "{said}");
    assert!(stage.target.keys().iter().all(|key| key.group_kind.kind != "Widget"));
}
