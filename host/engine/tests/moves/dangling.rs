//! Objects that stay in the source although moved objects need them in the target.

use std::sync::Arc;

use async_trait::async_trait;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names::LABEL_MOVE;
use pivot_core::plugins::hooks::Description;
use pivot_core::{GroupKind, Key, KindLabels, Side};
use pivot_engine::{Exit, Failure, Hooks, Stop};
use pivot_memory::Fault;
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::clusters::Notes;
use crate::run;
use crate::stage::{CLUSTERS, INFRA, Stage, body, key, kind, picture};

const IDENTITY: &str = "VSphereClusterIdentity";

fn identity() -> Key {
    Key::new(GroupKind::new(INFRA, IDENTITY), None, "vcenter")
}

fn credentials() -> Key {
    Key::new(GroupKind::new("", "Secret"), Some("capv-system"), "vcenter")
}

/// A body without a namespace, or with another one.
fn elsewhere(key: &Key, more: (&str, Value)) -> Value {
    let mut body = body(&key.group_kind.group, &key.group_kind.kind, &key.name, None);
    body["metadata"]["namespace"] = json!(key.namespace);
    body[more.0] = more.1;
    body
}

/// A VSphereCluster, whose identity and whose identity's Secret stay.
pub(crate) fn stage() -> Stage {
    let stage = Stage::new();
    let discover = KindLabels { discover: true, ..KindLabels::default() };
    for place in [&stage.source, &stage.target] {
        place.add_kind(kind(INFRA, "VSphereCluster", "vsphereclusters", discover));
        let mut cluster_scoped = kind(INFRA, IDENTITY, "vsphereclusteridentities", discover);
        cluster_scoped.namespaced = false;
        place.add_kind(cluster_scoped);
    }
    stage.source.add_namespace("capv-system");
    let mut cluster = body(INFRA, "VSphereCluster", "c", Some((CLUSTERS, "Cluster", "c")));
    cluster["spec"] = json!({"identityRef": {"kind": IDENTITY, "name": "vcenter"}});
    stage.source.insert(cluster).unwrap();
    stage.source.insert(elsewhere(&identity(), ("spec", json!({"secretName": "vcenter"})))).unwrap();
    stage.source.insert(elsewhere(&credentials(), ("data", json!({"password": "aHVzaA=="})))).unwrap();
    stage
}

fn refused(stop: &Stop) -> Vec<(Key, Vec<Remedy>)> {
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert!(refusals.iter().all(|refusal| refusal.code == "would-dangle"), "{refusals:?}");
    refusals.iter().map(|refusal| (refusal.object.clone().unwrap(), refusal.remedies.clone())).collect()
}

/// Moves, and returns the notes and warnings about references.
async fn notes_of_move(stage: &Stage) -> Vec<String> {
    let notes = Arc::new(Notes::default());
    let mut setup = stage.setup();
    setup.watcher = notes.clone();
    run::start(setup).await.unwrap();
    notes.lines_of("references-")
}

#[tokio::test(start_paused = true)]
async fn remedies_of_dangling_references_are_enough() {
    let mut stage = stage();
    let before = (picture(&stage.source), picture(&stage.target));
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!((picture(&stage.source), picture(&stage.target)), before, "nothing is changed");
    for (object, remedies) in refused(&stop) {
        match &remedies[0] {
            Remedy::AlsoCopy { part } => {
                assert_eq!(object, credentials());
                stage.options.scope.also_copy.insert(part.clone());
            }
            Remedy::Kubectl { command, .. } => {
                assert_eq!(object, identity());
                let label = command.words.last().unwrap().trim_end_matches('=').to_owned();
                stage.source.edit(&object, |body| body["metadata"]["labels"][&label] = json!("")).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    run::start(stage.setup()).await.unwrap();
    for key in [identity(), credentials()] {
        assert!(stage.target.body(&key).is_some() && stage.source.body(&key).is_some(), "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn references_of_late_objects_are_checked() {
    let stage = stage();
    let cluster = key(INFRA, "VSphereCluster", "c");
    let late = stage.source.body(&cluster).unwrap();
    stage.source.remove(&cluster).unwrap();
    let source = stage.source.clone();
    stage.source.on_call(move |verb, key| {
        if verb == "patch" && key.group_kind.kind == "Cluster" && source.body(&cluster).is_none() {
            source.insert(late.clone()).unwrap();
        }
        None
    });
    let found = refused(&run::start(stage.setup()).await.unwrap_err());
    assert_eq!(found.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(), [credentials(), identity()]);
}

#[tokio::test(start_paused = true)]
async fn dangling_references_are_accepted_by_kind() {
    let mut stage = stage();
    let mut accept = |key: Key| stage.options.accept.insert_kind(Risk::Dangling, key.group_kind);
    accept(identity());
    let found = refused(&run::start(stage.setup()).await.unwrap_err());
    assert_eq!(found.iter().map(|(key, _)| key).collect::<Vec<_>>(), [&credentials()]);
    stage.options.accept.insert_kind(Risk::Dangling, credentials().group_kind);
    let notes = Arc::new(Notes::default());
    let mut setup = stage.setup();
    setup.watcher = notes.clone();
    run::start(setup).await.unwrap();
    let notes = notes.lines_of("dangling-accepted");
    assert_eq!(notes.len(), 2, "each object once: {notes:?}");
    assert!(
        notes.iter().all(|note| note.contains(" stays and isn't in the target, but is needed by ")),
        "{notes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn existing_identity_of_the_target_is_enough() {
    for (secret, told) in [("vcenter", 0), ("other", 1)] {
        let stage = stage();
        stage.target.insert(elsewhere(&identity(), ("spec", json!({"secretName": secret})))).unwrap();
        let notes = notes_of_move(&stage).await;
        assert_eq!(notes.len(), told, "{notes:?}");
        let text =
            "references-differ: the target has VSphereClusterIdentity vcenter with other contents, which";
        assert!(notes.iter().all(|note| note.starts_with(text)), "{notes:?}");
    }
}

/// The clusters would use another account there.
#[tokio::test(start_paused = true)]
async fn copied_identity_with_other_contents_is_refused() {
    let mut stage = stage();
    stage.options.accept.insert_kind(Risk::Dangling, credentials().group_kind);
    stage.source.edit(&identity(), |body| body["metadata"]["labels"][LABEL_MOVE] = json!("")).unwrap();
    stage.target.insert(elsewhere(&identity(), ("spec", json!({"secretName": "other"})))).unwrap();
    let stop = run::start(stage.setup()).await.unwrap_err();
    let Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    let [refusal] = refusals.as_slice() else { panic!("{refusals:?}") };
    assert_eq!((refusal.code, refusal.object.as_ref()), ("differs", Some(&identity())));
    assert!(
        refusal.message.ends_with("exists and differs from the source's in spec.secretName"),
        "{refusal:?}"
    );
    stage.options.accept.insert(Risk::ExistingDiffers);
    run::start(stage.setup()).await.unwrap();
    assert_eq!(
        stage.target.body(&identity()).unwrap()["spec"]["secretName"],
        "other",
        "it is not overwritten"
    );
}

/// Anyone who controls the target could otherwise guess the identity's content.
#[tokio::test(start_paused = true)]
async fn confined_moves_compare_no_cluster_scoped_objects() {
    for (confined, told) in [(None, 1), (Some(Side::Source), 0)] {
        let mut stage = stage();
        stage.options.confined = confined;
        stage.target.insert(elsewhere(&identity(), ("spec", json!({"secretName": "other"})))).unwrap();
        assert_eq!(notes_of_move(&stage).await.len(), told, "{confined:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_referents_are_not_guessed() {
    let mut stage = stage();
    stage.options.accept.insert_kind(Risk::Dangling, identity().group_kind);
    stage.source.on_call(|verb, key| {
        let denied = verb == "get" && *key == credentials();
        denied.then(|| Fault::Before(PlaceError::Forbidden("no".into())))
    });
    let notes = notes_of_move(&stage).await;
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(note.starts_with("references-unreadable: pivot-host can't read Secret "), "{note}");
}

/// Takes part, and does nothing.
struct Idle(Description);

#[async_trait]
impl Hooks for Idle {
    fn describe(&self) -> &Description {
        &self.0
    }
}

/// The plugins that are offered, with the directory in which to enable each.
fn offers(stop: &Stop) -> Vec<(Key, String, Option<String>)> {
    let offer = |(key, remedies): (Key, Vec<Remedy>)| {
        remedies.into_iter().find_map(move |remedy| match remedy {
            Remedy::EnablePlugin { plugin, directory } => Some((key.clone(), plugin, directory)),
            _ => None,
        })
    };
    refused(stop).into_iter().filter_map(offer).collect()
}

#[tokio::test(start_paused = true)]
async fn plugin_that_would_bring_objects_is_offered() {
    let mut stage = stage();
    stage.options.plugin_directory = Some("site".into());
    let offered = |key: Key| vec![(key, "vsphere".to_owned(), Some("site".to_owned()))];
    assert_eq!(offers(&run::start(stage.setup()).await.unwrap_err()), offered(credentials()), "once");
    stage.options.accept.insert_kind(Risk::Dangling, credentials().group_kind);
    assert_eq!(offers(&run::start(stage.setup()).await.unwrap_err()), offered(identity()));
    stage.plugins = vec![Arc::new(Idle(Description { name: "vsphere".into(), ..Description::default() }))];
    assert_eq!(offers(&run::start(stage.setup()).await.unwrap_err()), [], "it takes part");
}
