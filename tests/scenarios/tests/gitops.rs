//! Objects that a GitOps tool applies to the source.

use kube::api::{Patch, PatchParams};
use pivot_lab::Crds;
use pivot_scenarios::shape::{self, WITHOUT_PLUGIN};
use serde_json::{Value, json};

use crate::stage::{Stage, all, same};

const NAMESPACE: &str = "shop";

const KUSTOMIZATIONS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kustomizations.kustomize.toolkit.fluxcd.io}
spec:
  group: kustomize.toolkit.fluxcd.io
  scope: Namespaced
  names: {kind: Kustomization, plural: kustomizations, singular: kustomization, listKind: KustomizationList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

/// Carries out the patch of a command `kubectl … patch -n NAMESPACE KIND.GROUP NAME … -p 'PATCH'`.
async fn paste(stage: &Stage, remedy: &str) {
    let source = &stage.pair.source;
    let (command, _) = remedy.split_once('`').unwrap().1.split_once('`').unwrap();
    let kubeconfig = source.kubeconfig().display();
    let prefix = format!("kubectl --kubeconfig {kubeconfig} ");
    assert!(command.starts_with(&prefix), "{command}");
    let object = " patch -n flux-system kustomization.kustomize.toolkit.fluxcd.io clusters \
        --field-manager flux-client-side-apply --type merge -p '";
    let (_, patch) = command.split_once(object).unwrap_or_else(|| panic!("{command}"));
    let patch: Value = serde_json::from_str(patch.trim_end_matches('\'')).unwrap();
    let kinds = source.kinds().await.unwrap();
    let kind = kinds.iter().find(|kind| kind.name() == "Kustomization.kustomize.toolkit.fluxcd.io").unwrap();
    let api = kind.api(source.client()).constrain("flux-system");
    api.patch("clusters", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_waits_until_flux_is_suspended() {
    let stage = Stage::start().await;
    stage.pair.install_crds(&Crds::parse(&[KUSTOMIZATIONS]).unwrap()).await.unwrap();
    let source = &stage.pair.source;
    let mut objects = shape::cluster(NAMESPACE, 1);
    for cluster in objects.iter_mut().filter(|object| object["kind"] == "Cluster") {
        cluster["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] = json!("clusters");
        cluster["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/namespace"] = json!("flux-system");
    }
    objects.push(json!({ "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": { "name": "clusters", "namespace": "flux-system" }, "spec": { "path": "./clusters" } }));
    source.apply_values(objects).await.unwrap();
    let before = all(source, &[NAMESPACE]).await;

    let command = [&["move", "-n", NAMESPACE][..], &WITHOUT_PLUGIN].concat();
    let refused = stage.host.run(&command).await.unwrap().ends_with(3).unwrap().document().unwrap();
    let refusals = refused["refusals"].as_array().unwrap();
    assert_eq!((refusals.len(), &refusals[0]["code"]), (1, &json!("gitops-active")), "{refusals:?}");
    same(before.clone(), all(source, &[NAMESPACE]).await);
    assert!(all(&stage.pair.target, &[NAMESPACE]).await.is_empty());

    let waiting = [&command[..], &["--wait-for-provisioning"]].concat();
    let mut run = stage.host.start(&waiting).await.unwrap();
    run.until_it_says("Kustomization flux-system/clusters isn't suspended").await.unwrap();
    paste(&stage, refusals[0]["remedy"].as_str().unwrap()).await;
    run.end().await.unwrap().done().unwrap();
    stage.tidy(&[NAMESPACE]).await;
    same(before, all(&stage.pair.target, &[NAMESPACE]).await);
    assert!(all(source, &[NAMESPACE]).await.is_empty());
}
