//! Moves that are refused: nothing is changed, or everything is undone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::request::scope::{Namespaces, Scope};
use pivot_core::{GroupKind, Key, KindLabels, Side};
use pivot_engine::{Exit, Failure, Setup, Sides};
use pivot_memory::{Fault, MemoryPlace, Schema};
use pivot_places::{Access, DirectoryPlace, Place, PlaceError};
use serde_json::{Value, json};

use crate::stage::{CLUSTERS, INFRA, Stage, body, key, kind, picture};
use crate::{dangling, run, signs};

async fn refused(stage: &Stage, exit: Exit, code: &str) {
    let (source, target) = (picture(&stage.source), picture(&stage.target));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, exit, "{stop}");
    if let Failure::Refused(refusals) = &stop.failure {
        assert!(refusals.iter().any(|refusal| refusal.code == code), "{refusals:?}");
        assert!(refusals.iter().all(|refusal| !refusal.remedies.is_empty()), "{refusals:?}");
    } else {
        assert!(format!("{:?}", stop.failure).contains(code), "{stop:?}");
    }
    assert!(!stop.state.is_empty());
    assert_eq!(picture(&stage.source), source, "the source is as before");
    assert_eq!(picture(&stage.target), target, "the target is as before");
}

// proves: D1, I9, T111, W1
#[tokio::test(start_paused = true)]
async fn w1_the_same_cluster_twice() {
    let stage = Stage::new();
    let stage = Stage { target: stage.source.clone(), ..stage };
    refused(&stage, Exit::Refused, "same-cluster").await;
}

// proves: D13, I7, T96, W6
#[tokio::test(start_paused = true)]
async fn w6_a_foreign_object_of_the_same_name() {
    let stage = Stage::new();
    stage.target.add_namespace("ns").insert(body(CLUSTERS, "Machine", "m1", None)).unwrap();
    refused(&stage, Exit::Refused, "exists").await;
}

// proves: W27
#[tokio::test(start_paused = true)]
async fn w27_a_cluster_paused_by_a_user_unless_accepted() {
    let mut stage = Stage::new();
    stage.source.edit(&key(CLUSTERS, "Cluster", "c"), |body| body["spec"]["paused"] = json!(true)).unwrap();
    refused(&stage, Exit::Refused, "already-paused").await;
    stage.options.scope.accept.insert(Risk::AlreadyPaused);
    run::start(stage.setup()).await.unwrap();
    assert_eq!(stage.target.body(&key(CLUSTERS, "Cluster", "c")).unwrap()["spec"]["paused"], true);
}

#[tokio::test(start_paused = true)]
async fn externally_managed_objects_need_consent() {
    let mut stage = Stage::new();
    let infra = key(INFRA, "InfraCluster", "c");
    let manage = |b: &mut Value| {
        b["metadata"]["annotations"] = json!({"cluster.x-k8s.io/managed-by": "terraform"});
        b["status"] = json!({"ready": true});
    };
    stage.source.edit(&infra, manage).unwrap();
    refused(&stage, Exit::Refused, "externally-managed").await;
    // A copy in a directory keeps its status.
    let directory = tempfile::tempdir().unwrap();
    let mut copy = stage.setup();
    copy.sides.target = Arc::new(DirectoryPlace::to_write(directory.path()).unwrap());
    run::start(copy).await.unwrap();
    stage.options.scope.accept.insert_kind(Risk::NoPlugin, infra.group_kind);
    run::start(stage.setup()).await.unwrap();
}

/// Nothing can be created in it, whatever the object is: one cause is one reason.
#[tokio::test(start_paused = true)]
async fn namespace_being_deleted_is_one_reason() {
    let stage = Stage::new();
    stage.target.add_namespace("ns");
    stage
        .target
        .edit(&Key::new(GroupKind::new("", "Namespace"), None, "ns"), |b| {
            b["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")
        })
        .unwrap();
    let stop = run::start(stage.setup()).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    let codes: Vec<_> = refusals.iter().map(|refusal| refusal.code).collect();
    assert_eq!(codes, ["namespace-deleting"], "{refusals:#?}");
    assert!(refusals[0].message.starts_with("namespace ns is being deleted"), "{refusals:?}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_being_deleted() {
    let stage = Stage::new();
    let machine = key(CLUSTERS, "Machine", "m0");
    stage
        .source
        .edit(&machine, |b| b["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"))
        .unwrap();
    refused(&stage, Exit::Refused, "being-deleted").await;
}

/// Any tenant can write that.
#[tokio::test(start_paused = true)]
async fn an_owner_that_is_named_as_something_else() {
    for (field, value) in
        [("kind", "Nonsense"), ("kind", "Pool"), ("apiVersion", "gone.io/v1"), ("name", "d")]
    {
        let stage = Stage::new();
        let secret = key("", "Secret", "m0-bootstrap");
        stage.source.edit(&secret, |b| b["metadata"]["ownerReferences"][0][field] = json!(value)).unwrap();
        refused(&stage, Exit::Refused, "owner-misnamed").await;
    }
}

/// A server keeps ten thousand levels, and any tenant can write them where a CRD keeps unknown fields.
// proves: T93
#[tokio::test(start_paused = true)]
async fn a_body_that_is_nested_too_deeply() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |below, _| json!({"a": [below]}));
    for (kind, name) in [(INFRA, "InfraMachine"), (CLUSTERS, "Machine"), (CLUSTERS, "Cluster")] {
        let stage = Stage::new();
        let name = key(kind, name, if name == "Cluster" { "c" } else { "m1" });
        stage.source.edit(&name, |b| b["spec"]["deep"] = nested(70)).unwrap();
        refused(&stage, Exit::Refused, "unreadable").await;
        stage.source.edit(&name, |b| b["spec"]["deep"] = nested(50)).unwrap();
        run::start(stage.setup()).await.unwrap();
    }
}

/// Who may write the status may write this, where a CRD does not say what conditions are.
// proves: T93
#[tokio::test(start_paused = true)]
async fn malformed_conditions() {
    for conditions in [json!("x"), json!([1]), json!([{"type": 1}]), json!([{"observedGeneration": 1e300}])] {
        let stage = Stage::new();
        let machine = key(INFRA, "InfraMachine", "m0");
        stage.source.edit(&machine, |b| b["status"] = json!({"conditions": conditions})).unwrap();
        refused(&stage, Exit::Refused, "unreadable").await;
        let named = run::plan(stage.setup()).await.unwrap_err().to_string();
        assert!(named.contains("InfraMachine ns/m0 can't be read"), "{named}");
    }
}

/// From a server that is aggregated into the source: its names would lead to other files and write lines of the release list.
// proves: T93
#[tokio::test(start_paused = true)]
async fn invalid_names() {
    let labels = KindLabels { discover: true, moves: true, ..KindLabels::default() };
    for kind_name in ["../x", "a/b", "a\0b"] {
        let stage = Stage::new();
        for place in [&stage.source, &stage.target] {
            place.add_kind(kind(INFRA, kind_name, "odds", labels));
        }
        stage.source.insert(body(INFRA, kind_name, "o", None)).unwrap();
        refused(&stage, Exit::Refused, "unusable-name").await;
        refused_by_a_directory(&stage, "unusable-name").await;
    }
    for (field, value) in [("name", "p x"), ("uid", "u 1 d - - -\no 0 ns m1 Machine-m1 1 d - - -")] {
        let stage = Stage::new();
        let mut odd = body(INFRA, "Pool", "odd", None);
        odd["metadata"][field] = json!(value);
        stage.source.insert(odd).unwrap();
        refused(&stage, Exit::Refused, "unusable-name").await;
    }
}

#[tokio::test(start_paused = true)]
async fn kinds_that_would_have_the_same_file() {
    let labels = KindLabels { discover: true, moves: true, ..KindLabels::default() };
    let stage = Stage::new();
    stage.source.add_kind(kind(INFRA, "pool", "lowerpools", labels));
    stage.source.insert(body(INFRA, "pool", "p", None)).unwrap();
    refused_by_a_directory(&stage, "kinds-differ-in-case").await;
    stage.target.add_kind(kind(INFRA, "pool", "lowerpools", labels));
    run::start(stage.setup()).await.unwrap();
}

/// The same, where the target is an empty directory.
async fn refused_by_a_directory(stage: &Stage, code: &str) {
    let (dir, before) = (tempfile::tempdir().unwrap(), picture(&stage.source));
    let mut setup = stage.setup();
    setup.sides.target = Arc::new(DirectoryPlace::to_write(dir.path()).unwrap());
    let stop = run::start(setup).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    assert!(format!("{:?}", stop.failure).contains(code), "{stop:?}");
    assert_eq!(picture(&stage.source), before);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn rights_that_are_missing() {
    let stage = Stage::new();
    stage.source.deny(pivot_places::Access {
        verb: "delete".into(),
        group: CLUSTERS.into(),
        resource: "machines".into(),
        subresource: "".into(),
        namespace: Some("ns".into()),
    });
    refused(&stage, Exit::Refused, "rights-missing").await;
}

fn deny() -> PlaceError {
    PlaceError::Forbidden("no".into())
}

#[tokio::test(start_paused = true)]
async fn finalizer_permissions_count_only_where_enforced() {
    let finalizers = pivot_places::Access {
        verb: "update".into(),
        group: CLUSTERS.into(),
        resource: "machines".into(),
        subresource: "finalizers".into(),
        namespace: Some("ns".into()),
    };
    for object in [key(INFRA, "InfraMachine", "m1"), key("", "Secret", "m1-bootstrap")] {
        let stage = Stage::new();
        let blocking =
            |body: &mut Value| body["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(true);
        stage.source.edit(&object, blocking).unwrap();
        stage.target.add_namespace("ns").deny(finalizers.clone());
        let fail = |find_error: fn(usize) -> Option<PlaceError>| {
            let (object, asked) = (object.clone(), AtomicUsize::new(0));
            stage.target.on_call(move |verb, key| {
                let is_asked = verb == "dry-run create" && *key == object;
                let error = is_asked.then(|| asked.fetch_add(1, Ordering::SeqCst)).and_then(find_error);
                error.map(Fault::Before)
            });
        };
        // The server accepts a reference that doesn't block.
        fail(|asked| (asked == 0).then(deny));
        let stop = run::start(stage.setup()).await.unwrap_err();
        let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
        assert_eq!(refusals.iter().map(|refusal| refusal.code).collect::<Vec<_>>(), ["rights-missing"]);
        let message = "no permission to update machines.cluster.x-k8s.io/finalizers in namespace ns";
        assert!(refusals[0].message.starts_with(message), "{refusals:?}");

        fail(|asked| Some(if asked == 0 { deny() } else { PlaceError::Unavailable("down".into()) }));
        assert_eq!(run::plan(stage.setup()).await.unwrap_err().exit, Exit::Unreachable);

        // A webhook denies the object whatever its references are.
        fail(|_| Some(deny()));
        let printed = pivot_engine::run::permissions(stage.setup(), Side::Target).await.unwrap();
        assert!(printed.needed.contains(&finalizers), "{:?}", printed.needed);
        run::start(stage.setup()).await.unwrap();
    }
}

/// Returns the permissions that a move of the whole stage needs on a side, and the permissions of its checks.
async fn print_permissions(stage: &Stage, side: Side) -> [BTreeSet<Access>; 2] {
    // A link knows no permissions.
    let sides = Sides { source: Arc::new(stage.source.clone()), target: Arc::new(stage.target.clone()) };
    let printed = pivot_engine::run::permissions(Setup { sides, ..stage.setup() }, side).await.unwrap();
    [printed.needed, printed.checks]
}

async fn deny_reads(place: &MemoryPlace, is_denied: impl Fn(&Access) -> bool + Send + Sync + 'static) {
    let kinds = place.kinds().await.unwrap();
    place.on_call(move |verb, key| {
        let verb = verb.trim_end_matches("-meta").to_owned();
        let is_read = ["get", "list", "watch"].contains(&&*verb);
        let kind = kinds.iter().find(|kind| kind.group_kind == key.group_kind).filter(|_| is_read)?;
        let access = Access {
            verb: verb.into(),
            group: kind.group_kind.group.clone(),
            resource: kind.plural.clone(),
            subresource: "".into(),
            namespace: key.namespace.clone(),
        };
        is_denied(&access).then(|| Fault::Before(PlaceError::Forbidden(access.to_string())))
    });
}

/// A kind of more than eight namespaces is listed and watched in the whole cluster.
#[tokio::test(start_paused = true)]
async fn no_run_needs_permissions_of_checks() {
    for namespaces in [2, 9] {
        let stage = signs::stage_in_namespaces(namespaces);
        let [from, _] = print_permissions(&stage, Side::Source).await;
        let [to, _] = print_permissions(&stage, Side::Target).await;
        deny_reads(&stage.source, move |access| !from.contains(access)).await;
        deny_reads(&stage.target, move |access| !to.contains(access)).await;
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert!(matches!(stop.failure, Failure::NotSeen(_)), "{namespaces}: {stop}");
        let controllers = signs::controllers(&stage.target, &signs::NAMESPACES);
        run::resume(stage.setup()).await.unwrap_or_else(|stop| panic!("{namespaces}: {stop}"));
        controllers.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn plans_need_no_permission_of_a_check() {
    let mut stage = dangling::stage();
    stage.options.scope = Scope::new(Namespaces::All);
    let kinds = ["VSphereClusterIdentity.infrastructure.cluster.x-k8s.io", "Secret"];
    stage.options.accept.insert_kinds(Risk::Dangling, kinds.map(|kind| kind.parse().unwrap()));
    // The source's Secrets are all listed.
    let looked_up = Access {
        verb: "get".into(),
        group: String::new(),
        resource: "secrets".into(),
        subresource: "".into(),
        namespace: Some("capv-system".into()),
    };
    for (side, place) in [(Side::Source, &stage.source), (Side::Target, &stage.target)] {
        let [needed, checks] = print_permissions(&stage, side).await;
        assert_eq!(checks.contains(&looked_up), side == Side::Target, "{checks:?}");
        assert!(needed.is_disjoint(&checks), "{side}: {needed:?}");
        for access in checks {
            let denied = access.clone();
            deny_reads(place, move |access| *access == denied).await;
            run::plan(stage.setup()).await.unwrap_or_else(|stop| panic!("{side}: {access}: {stop}"));
            place.on_call(|_, _| None);
        }
    }
}

// proves: T109
#[tokio::test(start_paused = true)]
async fn a_target_that_would_drop_a_field() {
    let stage = Stage::new();
    let infra = key(INFRA, "InfraMachine", "m0").group_kind;
    stage.target.set_schema(&infra, Schema::lossy(json!({"spec": {"other": 1}})));
    refused(&stage, Exit::Refused, "fields-lost").await;
    stage.target.set_schema(&infra, Schema::strict(json!({"spec": {"other": 1}})));
    refused(&stage, Exit::Refused, "create-refused").await;
}

// proves: I6, T87
#[tokio::test(start_paused = true)]
async fn a_bystander_that_would_be_garbage_collected() {
    let mut stage = Stage::new();
    let mut role = body("rbac.authorization.k8s.io", "Role", "r", Some((CLUSTERS, "Machine", "m0")));
    role["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
    stage.source.insert(role).unwrap();
    refused(&stage, Exit::Refused, "collateral").await;
    stage
        .options
        .scope
        .accept
        .insert_kind(Risk::DependentsLost, "Role.rbac.authorization.k8s.io".parse().unwrap());
    run::start(stage.setup()).await.unwrap();
}

/// Only Kubernetes' own Events come and go by themselves.
#[tokio::test(start_paused = true)]
async fn a_bystander_of_a_kind_that_is_merely_called_event() {
    const CALENDARS: &str = "calendars.example.org";
    let stage = Stage::new();
    stage.source.add_kind(kind(CALENDARS, "Event", "events", KindLabels::default()));
    stage.source.insert(body(CALENDARS, "Event", "e", Some((CLUSTERS, "Machine", "m0")))).unwrap();
    refused(&stage, Exit::Refused, "collateral").await;
}

// proves: D18
#[tokio::test(start_paused = true)]
async fn a_missing_class_is_reported_with_all_other_problems() {
    let stage = Stage::new();
    let cluster = key(CLUSTERS, "Cluster", "c");
    stage.source.edit(&cluster, |b| b["spec"]["topology"]["classRef"] = json!({"name": "gone"})).unwrap();
    let deleting = |b: &mut Value| b["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    stage.source.edit(&key(CLUSTERS, "Machine", "m0"), deleting).unwrap();
    let stop = run::plan(stage.setup()).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    let codes: Vec<&str> = refusals.iter().map(|refusal| refusal.code).collect();
    assert_eq!(codes, ["being-deleted", "class-missing"], "{stop}");
}

#[tokio::test(start_paused = true)]
async fn a_block_that_is_not_lifted_in_time() {
    let mut stage = Stage::new();
    let machine = key(INFRA, "InfraMachine", "m0");
    stage.source.edit(&machine, |b| b["metadata"]["annotations"] = json!({names::BLOCK_MOVE: ""})).unwrap();
    stage.options.pause_timeout = Duration::from_secs(3);
    refused(&stage, Exit::Timeout, "block-move").await;
}

#[tokio::test(start_paused = true)]
async fn a_block_that_is_lifted_while_the_move_waits() {
    let stage = Stage::new();
    let machine = key(INFRA, "InfraMachine", "m0");
    stage.source.edit(&machine, |b| b["metadata"]["annotations"] = json!({names::BLOCK_MOVE: ""})).unwrap();
    let (source, lifted) = (stage.source.clone(), machine.clone());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(30)).await;
        source.edit(&lifted, |b| b["metadata"]["annotations"] = json!({"status-saved": "yes"})).unwrap();
    });
    run::start(stage.setup()).await.unwrap();
    // The state after the block was lifted is what is copied.
    assert_eq!(stage.target.body(&machine).unwrap()["metadata"]["annotations"]["status-saved"], "yes");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_refuses_the_pause_is_restored() {
    let stage = Stage::new();
    let before = picture(&stage.source);
    stage.source.on_call(|verb, key| {
        (verb == "patch" && key.group_kind.kind == "Pool")
            .then(|| Fault::Before(PlaceError::Invalid("no".into())))
    });
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    assert!(stop.state.contains("unpaused again"), "{}", stop.state);
    assert_eq!(picture(&stage.source), before);
}

#[tokio::test(start_paused = true)]
async fn a_stop_asked_for_while_waiting_restores_everything() {
    let stage = Stage::new();
    let machine = key(INFRA, "InfraMachine", "m0");
    stage.source.edit(&machine, |b| b["metadata"]["annotations"] = json!({names::BLOCK_MOVE: ""})).unwrap();
    let before = picture(&stage.source);
    let setup = stage.setup();
    let halter = setup.halter.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        halter.halt(pivot_engine::Halt::Signal(15));
    });
    assert_eq!(run::start(setup).await.unwrap_err().exit, Exit::Terminated);
    assert_eq!(picture(&stage.source), before);
}

// proves: D25, T123
#[tokio::test(start_paused = true)]
async fn a_live_run_keeps_a_second_one_out() {
    let mut stage = Stage::new();
    stage.options.break_lease = false;
    let machine = key(INFRA, "InfraMachine", "m0");
    stage.source.edit(&machine, |b| b["metadata"]["annotations"] = json!({names::BLOCK_MOVE: ""})).unwrap();
    let first = run::start(stage.setup());
    let second = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let second = run::start(stage.setup()).await.unwrap_err();
        assert_eq!(second.exit, Exit::Refused);
        assert!(second.to_string().contains("another run"), "{second}");
        stage
            .source
            .edit(&machine, |b| drop(b["metadata"].as_object_mut().unwrap().remove("annotations")))
            .unwrap();
    };
    tokio::join!(first, second).0.unwrap();
    let lease = |place: &MemoryPlace| place.keys().iter().any(|key| key.group_kind.kind == "Lease");
    assert!(!lease(&stage.source));
}

#[tokio::test(start_paused = true)]
async fn resume_and_rollback_report_that_there_is_no_move() {
    let stage = Stage::new();
    assert_eq!(run::resume(stage.setup()).await.unwrap_err().exit, Exit::Empty);
    assert_eq!(run::rollback(stage.setup()).await.unwrap_err().exit, Exit::Empty);
    assert!(run::status(stage.setup()).await.unwrap().moves.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_goes_away_while_clusters_are_built_passes_and_nothing_else_does() {
    let passes = async |stage: &Stage| run::plan(stage.setup()).await.unwrap_err().passes();
    let unbuilt = || {
        let stage = Stage::new();
        stage.source.edit(&key(CLUSTERS, "Machine", "m0"), |body| body["status"] = json!({})).unwrap();
        stage
    };
    assert!(passes(&unbuilt()).await);
    let without_kinds = Stage { target: MemoryPlace::new("new"), ..Stage::new() };
    assert!(passes(&without_kinds).await);
    let silent = Stage::new();
    silent.target.on_call(|_, _| Some(Fault::Before(PlaceError::Unavailable("not yet".into()))));
    assert!(passes(&silent).await);
    // With a reason that somebody has to change, the others don't help.
    let paused = unbuilt();
    paused.source.edit(&key(CLUSTERS, "Cluster", "c"), |body| body["spec"]["paused"] = json!(true)).unwrap();
    assert!(!passes(&paused).await);
    // What has begun is not waited for.
    let begun = Stage::new();
    begun.target.on_call(|verb, key| {
        let silent = verb == "create" && key.group_kind.kind == "Machine";
        silent.then(|| Fault::Before(PlaceError::Unavailable("away".into())))
    });
    let stop = run::start(begun.setup()).await.unwrap_err();
    assert_eq!((stop.exit, stop.passes()), (Exit::PartWay, false), "{stop}");
}
