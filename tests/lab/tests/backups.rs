//! A server that is restored from a backup has forgotten what happened since, and works.

use std::time::Instant;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use pivot_lab::assets::CLUSTER_API;
use pivot_lab::managers::kubeconfig_secret;
use pivot_lab::{Crds, Manager, ManagerOptions, Managers, ObjectKey, Revision, Server, say};
use serde_json::json;

use crate::controllers::{CLUSTER, paused, until};

fn map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let owner = owner.map(|owner| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid })
    });
    let owners: Vec<_> = owner.into_iter().collect();
    serde_json::from_value(json!({ "metadata": { "name": name, "ownerReferences": owners } })).unwrap()
}

/// The version of a list: the server's revision.
async fn read_revision(maps: &Api<ConfigMap>) -> u64 {
    let listed = maps.list_metadata(&ListParams::default()).await.unwrap();
    listed.metadata.resource_version.unwrap().parse().unwrap()
}

/// Creates an object, and waits until a watch from the present state shows it.
async fn ensure_watches_work(maps: &Api<ConfigMap>) {
    let version = read_revision(maps).await.to_string();
    let mut events = maps.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    let created = maps.create(&PostParams::default(), &map("seen", None)).await.unwrap();
    match events.next().await.unwrap().unwrap() {
        WatchEvent::Added(seen) => assert_eq!(seen.metadata.uid, created.metadata.uid),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn restored_server_has_only_what_was_backed_up() {
    let mut server = Server::start("restored").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(server.client(), "default");
    let create = async |map: ConfigMap| maps.create(&PostParams::default(), &map).await.unwrap();
    let owner = create(map("owner", None)).await;
    let owned = create(map("owned", Some(&owner))).await;
    let start = Instant::now();
    let backup = server.back_up().await.unwrap();
    say(format_args!("a backup took {:.2} s", start.elapsed().as_secs_f64()));
    let backed_up = read_revision(&maps).await;

    for revision in [Revision::Behind, Revision::Ahead] {
        // More writes than a server makes when it starts.
        for number in 0..100 {
            create(map(&format!("later-{number}"), None)).await;
        }
        // The garbage collector remembers that this owner is gone.
        maps.delete("owner", &DeleteParams::default()).await.unwrap();
        server.collect_garbage(&server.dump(&["default"]).await.unwrap()).await.unwrap();
        assert!(maps.get_opt("owned").await.unwrap().is_none());
        let lost = read_revision(&maps).await;

        let start = Instant::now();
        server.restore(&backup, revision).await.unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let restored = read_revision(&maps).await;
        say(format_args!("restored in {seconds:.1} s: revision {lost}, then {restored} ({revision:?})"));
        // The probe of the garbage collector is of after the restore.
        let expected = match revision {
            Revision::Behind => backed_up..lost,
            Revision::Ahead => lost + 1..u64::MAX,
        };
        assert!(expected.contains(&restored), "{restored} is not in {expected:?}");
        assert!(maps.get_opt("later-0").await.unwrap().is_none());
        let key = ObjectKey::new("ConfigMap", "default", "owned");
        let dump = server.dump(&["default"]).await.unwrap();
        assert_eq!(dump[&key]["metadata"]["uid"], json!(owned.metadata.uid));

        server.collect_garbage(&dump).await.unwrap();
        assert_eq!(server.dump(&["default"]).await.unwrap(), dump, "what has an owner is no garbage");
        ensure_watches_work(&maps).await;
    }
}

#[tokio::test]
async fn managers_started_after_a_restore_work() {
    let crds = Crds::cluster_api(CLUSTER_API).await.unwrap();
    let mut server = Server::start_with("reverted", &crds).await.unwrap();
    let options = ManagerOptions::of(&[Manager::Core]);
    let mut managers = Managers::start(&server, &options).await.unwrap();
    server.apply(CLUSTER).await.unwrap();
    server.apply_values(vec![kubeconfig_secret(&server, "shop", "c").unwrap()]).await.unwrap();
    let kinds = server.kinds().await.unwrap();
    let kind = kinds.iter().find(|kind| kind.name() == "Cluster.cluster.x-k8s.io").unwrap();
    let clusters: Api<DynamicObject> = kind.api(server.client()).constrain("shop");
    until(&mut managers, &clusters, "Paused=False", |cluster| paused(cluster) == Some("False")).await;
    let backup = server.back_up().await.unwrap();

    let pause = Patch::Merge(json!({ "spec": { "paused": true } }));
    for restored in [false, true] {
        if restored {
            drop(managers);
            server.restore(&backup, Revision::Behind).await.unwrap();
            assert_eq!(paused(&clusters.get("c").await.unwrap()), Some("False"));
            managers = Managers::start(&server, &options).await.unwrap();
        }
        clusters.patch("c", &PatchParams::default(), &pause).await.unwrap();
        until(&mut managers, &clusters, "Paused=True", |cluster| paused(cluster) == Some("True")).await;
    }
}
