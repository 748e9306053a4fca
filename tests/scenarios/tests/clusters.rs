//! Clusters of one namespace, moved by name, one after another.

use pivot_lab::Dump;
use pivot_scenarios::secrets::ENCODED;
use pivot_scenarios::shape::{self, WITHOUT_PLUGIN};
use pivot_scenarios::state;
use serde_json::{Value, json};

use crate::stage::{Stage, all, same};

const NAMESPACE: &str = "shop";

/// The shape's cluster under another name: its objects are named after it, and its hosts are its own.
fn renamed(value: &mut Value, name: &str) {
    match value {
        Value::String(text) if text == "c" => *text = name.to_owned(),
        Value::String(text) => {
            for (prefix, with) in [("c-", format!("{name}-")), ("host-", format!("{name}-host-"))] {
                if let Some(rest) = text.strip_prefix(prefix) {
                    *text = format!("{with}{rest}");
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| renamed(value, name)),
        Value::Object(map) => map.values_mut().for_each(|value| renamed(value, name)),
        _ => {}
    }
}

/// What both clusters use: a template and a pool that both own, and a Secret that both name.
fn shared() -> [Value; 3] {
    let owners = ["c", "d"]
        .map(|name| json!({ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": name }));
    let metadata = |name: &str| json!({ "name": name, "namespace": NAMESPACE, "ownerReferences": owners });
    [
        json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3MachineTemplate",
            "metadata": metadata("both"), "spec": { "template": { "spec": { "nodeReuse": false } } } }),
        json!({ "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool",
            "metadata": metadata("both"), "spec": { "clusterName": "c", "namePrefix": "both" } }),
        json!({ "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "registry", "namespace": NAMESPACE,
                "labels": { "clusterctl.cluster.x-k8s.io/move": "" } },
            "data": { "value": ENCODED } }),
    ]
}

/// What is copied before its second owner exists is owned by the first alone, until a controller adds the second; the garbage
/// collector takes an owner that is gone off what others own, too.
fn owned_by(owner: &str, mut dump: Dump) -> Dump {
    for (key, object) in &mut dump {
        if key.name == "both" {
            let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
            owners.unwrap().retain(|one| one["name"] == owner);
        }
    }
    dump
}

fn of(dump: Dump, test: impl Fn(&str) -> bool) -> Dump {
    dump.into_iter().filter(|(key, _)| test(&key.name)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_of_a_namespace_move_by_name_one_after_another() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let first = shape::cluster(NAMESPACE, 2);
    let mut second = first.clone();
    second.iter_mut().for_each(|object| renamed(object, "d"));
    let mut objects: Vec<Value> = first.into_iter().chain(second).chain(shared()).collect();
    let files = json!([{ "path": "/etc/registry", "contentFrom": { "secret": { "name": "registry", "key": "value" } } }]);
    let templates = objects.iter_mut().filter(|object| object["kind"] == "KubeadmConfigTemplate");
    templates.for_each(|template| template["spec"]["template"]["spec"] = json!({ "files": files }));
    source.apply_values(objects).await.unwrap();
    let before = all(source, &[NAMESPACE]).await;
    let shared = |name: &str| name == "both" || name == "registry";
    let of_second = |name: &str| name == "d" || name.starts_with("d-");

    let command = |more: &[&'static str]| [&["move", "-n", NAMESPACE][..], more, &WITHOUT_PLUGIN].concat();
    let refused = stage.host.run(&command(&["--cluster", "c"])).await.unwrap().ends_with(3).unwrap();
    let refused = refused.document().unwrap();
    let refusals = refused["refusals"].as_array().unwrap();
    assert_eq!((refusals.len(), &refusals[0]["code"]), (1, &json!("pool-shared")), "{refusals:?}");
    same(before.clone(), all(source, &[NAMESPACE]).await);
    assert!(all(target, &[NAMESPACE]).await.is_empty());

    let accepted = ["--accept", "shared=IPPool.ipam.metal3.io"];
    let command = |clusters: &[&'static str]| [&command(clusters)[..], &accepted].concat();
    let report = stage.host.run(&command(&["--cluster", "c"])).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "Moved");
    stage.tidy(&[NAMESPACE]).await;
    let stays = of(before.clone(), |name| of_second(name) || shared(name));
    same(owned_by("d", stays), all(source, &[NAMESPACE]).await);
    let copied = owned_by("c", of(before.clone(), |name| !of_second(name)));
    same(copied, all(target, &[NAMESPACE]).await);

    stage.host.run(&command(&["--cluster", "shop/d"])).await.unwrap().done().unwrap();
    stage.tidy(&[NAMESPACE]).await;
    let moved = owned_by("c", before);
    assert!(all(source, &[NAMESPACE]).await.is_empty());
    same(moved.clone(), all(target, &[NAMESPACE]).await);

    // Both at once, back again.
    state::restore_status(target, &moved).await.unwrap();
    stage.back().run(&command(&["--cluster", "c", "--cluster", "d"])).await.unwrap().done().unwrap();
    stage.tidy(&[NAMESPACE]).await;
    assert!(all(target, &[NAMESPACE]).await.is_empty());
    same(moved, all(source, &[NAMESPACE]).await);
}
