//! What the engine's tests expect of API servers, on a real one.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams};
use pivot_core::{GroupKind, Key};
use pivot_lab::{Crds, Server};
use pivot_places::{Change, ConnectOptions, KubePlace, Place};
use serde_json::json;

use crate::behaviour::{self, TERMINATING, machine, machines};

/// With fields of any name, and one that has a default.
const MACHINES: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machines.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  scope: Namespaced
  names: {kind: Machine, plural: machines, singular: machine, listKind: MachineList}
  versions:
  - name: v1beta2
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              defaulted: {type: object, properties: {mode: {type: string, default: fast}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

#[tokio::test(flavor = "multi_thread")]
async fn real_server_keeps_the_contract_of_places() {
    let server = Server::start_with("contract", &Crds::parse(&[MACHINES]).unwrap()).await.unwrap();
    let place_of = |namespace: &str, name: &str| {
        let mut object = machine(name);
        object["metadata"]["namespace"] = namespace.into();
        object
    };
    let mut held = place_of(TERMINATING, "held");
    held["metadata"]["finalizers"] = json!(["lab/held"]);
    server.apply_values(vec![held, place_of("a", "first"), place_of("b", "first")]).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(server.client());
    namespaces.delete(TERMINATING, &DeleteParams::default()).await.unwrap();
    let options = ConnectOptions { kubeconfig: Some(server.kubeconfig().to_owned()), ..Default::default() };
    let place: Arc<dyn Place> = Arc::new(KubePlace::connect(options).await.unwrap());
    assert_eq!(
        place.kinds().await.unwrap().iter().find(|kind| kind.group_kind == machines().group_kind),
        Some(&machines())
    );

    // As the server defaults it, although it stores nothing.
    let mut body = machine("defaulted");
    body["spec"] = json!({"defaulted": {}});
    let tried = place.create(&machines(), &body, Change::DryRun).await.unwrap().value().unwrap();
    assert_eq!(tried["spec"], json!({"defaulted": {"mode": "fast"}}));
    let key = Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("a"), "defaulted");
    assert!(place.get(&machines(), &key).await.unwrap().is_none());

    // Before the server began to remember events of machines.
    let served = behaviour::Server { place, expired: "1".to_owned() };
    behaviour::behaviours! { all (&served) }
}
