//! Everything together: the peer's real move, through proxies, counted and observed.
//!
//! The expected violations are known from reading the peer's code: before it deletes an object it replaces all of its
//! annotations. If this test no longer finds that, check the observer first.

use std::process::Command;
use std::time::Duration;

use pivot_lab::assets::CLUSTER_API;
use pivot_lab::observer::Broken;
use pivot_lab::process::Process;
use pivot_lab::{Crds, FaultProxy, ObjectKey, Observer, Pair, Rules, assets};

const OBJECTS: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: shop, uid: u-cluster, annotations: {note: kept}}
spec:
  controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}
  infrastructureRef: {apiGroup: example.com, kind: Thing, name: t}
status:
  initialization: {infrastructureProvisioned: true, controlPlaneInitialized: true}
  conditions:
  - {type: ControlPlaneInitialized, status: 'True', reason: Done, message: '', lastTransitionTime: '2026-01-01T00:00:00Z'}
---
apiVersion: v1
kind: Secret
metadata:
  name: c-kubeconfig
  namespace: shop
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: u-cluster}]
";

// proves: D21
#[tokio::test]
async fn clusterctl_moves_through_proxies_and_the_witness_sees_what_it_wipes() {
    let clusterctl = assets().await.unwrap().clusterctl().await.unwrap();
    let pair = Pair::start_with(&Crds::cluster_api(CLUSTER_API).await.unwrap()).await.unwrap();
    pair.source.apply(OBJECTS).await.unwrap();
    let (source, target) =
        tokio::try_join!(FaultProxy::start(&pair.source), FaultProxy::start(&pair.target)).unwrap();
    let observer = Observer::of(&pair, &["shop"]).await.unwrap();
    let mark = pair.source.audit_mark().await.unwrap();

    let mut command = Command::new(clusterctl);
    command.args(["move", "--namespace", "shop", "-v", "5"]);
    command.arg("--kubeconfig").arg(source.kubeconfig()).arg("--to-kubeconfig").arg(target.kubeconfig());
    let mut process =
        Process::spawn("clusterctl", &command, pair.source.dir().join("clusterctl.log")).await.unwrap();
    let status = tokio::time::timeout(Duration::from_secs(60), process.wait()).await;
    assert!(status.is_ok_and(|status| status.unwrap().success()), "{}", process.tail());

    let moved = pair.target.dump(&["shop"]).await.unwrap();
    assert!(moved.contains_key(&ObjectKey::new("Cluster.cluster.x-k8s.io", "shop", "c")));
    assert_eq!(pair.source.dump(&["shop"]).await.unwrap().len(), 0);
    let tally = pair.source.audit_since(mark).await.unwrap().of("clusterctl").tally();
    pivot_lab::say(format_args!("clusterctl asked the source for {tally:?}"));
    assert!(tally.mutating >= 5, "{tally:?}");
    assert!(source.faults().requests().iter().any(|seen| seen.user_agent.starts_with("clusterctl/v1.13.5")));

    let violations = observer.finish(&Rules::new()).await.unwrap();
    assert!(violations.iter().all(|violation| violation.key.name == "c"), "{violations:?}");
    let wiped: Vec<_> = violations.into_iter().map(|violation| violation.what).collect();
    assert_eq!(
        wiped,
        [
            Broken::AnnotationsLost { lost: vec!["note".to_owned()] },
            // Again: a state without that annotation was deleted, and never copied.
            Broken::NeverCopied { differs: vec!["/metadata/annotations".to_owned()] },
        ]
    );
}
