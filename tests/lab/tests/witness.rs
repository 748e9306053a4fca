//! The observer sees what really happens on two servers, good and bad.

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::{Broken, Side};
use pivot_lab::{Crds, Observer, Pair, Rules, Server};
use serde_json::json;

const OBJECTS: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: shop, annotations: {note: kept}}
spec: {infrastructureRef: {apiGroup: example.com, kind: Thing, name: t}}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: other}
";

async fn api(server: &Server, kind: &str) -> Api<DynamicObject> {
    let kinds = server.kinds().await.unwrap();
    kinds.iter().find(|found| found.name() == kind).unwrap().api(server.client()).constrain("shop")
}

#[tokio::test]
async fn a_careless_move_breaks_promises_and_a_careful_one_none() {
    let pair = Pair::start_with(&Crds::cluster_api(CLUSTER_API).await.unwrap()).await.unwrap();
    pair.source.apply(OBJECTS).await.unwrap();
    pair.target.apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}").await.unwrap();
    let theirs =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: shop}, data: {a: '1'}}";
    pair.target.apply(theirs).await.unwrap();
    let observer = Observer::of(&pair, &["shop"]).await.unwrap();

    // An earlier object of the target: overwritten.
    let over = Patch::Merge(json!({ "data": { "a": "2" } }));
    api(&pair.target, "ConfigMap").await.patch("theirs", &PatchParams::default(), &over).await.unwrap();

    // The Secret: copied, then deleted.
    let (from, to) = (api(&pair.source, "Secret").await, api(&pair.target, "Secret").await);
    let mut secret = from.get("s").await.unwrap();
    secret.metadata.resource_version = None;
    secret.metadata.uid = None;
    to.create(&PostParams::default(), &secret).await.unwrap();
    from.delete("s", &DeleteParams::default()).await.unwrap();

    // The Cluster: copied without a pause, changed afterwards, stripped of its annotations, deleted.
    let cluster = "Cluster.cluster.x-k8s.io";
    let (from, to) = (api(&pair.source, cluster).await, api(&pair.target, cluster).await);
    let mut copy = from.get("c").await.unwrap();
    copy.metadata.resource_version = None;
    copy.metadata.uid = None;
    to.create(&PostParams::default(), &copy).await.unwrap();
    let change = Patch::Merge(json!({
        "metadata": { "annotations": { "note": null, "clusterctl.cluster.x-k8s.io/delete-for-move": "" } },
        "spec": { "paused": true },
    }));
    from.patch("c", &PatchParams::default(), &change).await.unwrap();
    from.delete("c", &DeleteParams::default()).await.unwrap();
    // Outside the watched namespace.
    api(&pair.source, "ConfigMap")
        .await
        .constrain("other")
        .delete("elsewhere", &DeleteParams::default())
        .await
        .unwrap();
    to.delete("c", &DeleteParams::default()).await.unwrap();

    let violations = observer.finish(&Rules::new()).await.unwrap();
    let (theirs, ours): (Vec<_>, Vec<_>) =
        violations.into_iter().partition(|violation| violation.key.name == "theirs");
    let theirs: Vec<_> = theirs.into_iter().map(|violation| violation.what).collect();
    assert_eq!(theirs, [Broken::Overwritten { differs: vec!["/data/a".to_owned()] }]);
    assert!(ours.iter().all(|violation| violation.key.name == "c"), "{ours:?}");
    let broken: Vec<_> = ours.into_iter().map(|violation| violation.what).collect();
    assert_eq!(
        broken,
        [
            Broken::ActiveTwice,
            Broken::AnnotationsLost { lost: vec!["note".to_owned()] },
            Broken::NeverCopied { differs: vec!["/metadata/annotations".to_owned()] },
            Broken::Lost { side: Side::Target },
        ]
    );
}
