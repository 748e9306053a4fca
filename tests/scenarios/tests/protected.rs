//! A cluster that manages itself, with the policy that `generate protection` prints: nobody deletes by mistake what it lives by.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use pivot_lab::{Crds, Kind, Server, kubeconfig, say};
use pivot_scenarios::host::Host;
use pivot_scenarios::{shape, state};
use serde_json::json;

use crate::stage::{Stage, all, same};

/// Administrators: who may do everything also deletes by mistake.
const PEOPLE: [&str; 2] = ["jane", "system:serviceaccount:flux-system:kustomize-controller"];
const CLUSTER_API: &str = "system:serviceaccount:capi-system:capi-manager";
const NAMESPACE_CONTROLLER: &str = "system:serviceaccount:kube-system:namespace-controller";
const GARBAGE_COLLECTOR: &str = "system:serviceaccount:kube-system:generic-garbage-collector";
/// Whom the policy was told to let through.
const INSTALLER: &str = "installer";
/// A mover that it knows nothing about.
const MOVER: &str = "mover";
/// How often a delete is tried until the server has taken notice of a policy.
const TRIES: u32 = 300;

const PROTECTED: [&str; 12] = [
    "AzureManagedControlPlane.infrastructure.cluster.x-k8s.io",
    "Cluster.cluster.x-k8s.io",
    "ClusterClass.cluster.x-k8s.io",
    "KubeadmConfigTemplate.bootstrap.cluster.x-k8s.io",
    "KubeadmControlPlane.controlplane.cluster.x-k8s.io",
    "KubeadmControlPlaneTemplate.controlplane.cluster.x-k8s.io",
    "MachineDeployment.cluster.x-k8s.io",
    "MachinePool.cluster.x-k8s.io",
    "Metal3Cluster.infrastructure.cluster.x-k8s.io",
    "Metal3ClusterTemplate.infrastructure.cluster.x-k8s.io",
    "Metal3DataTemplate.infrastructure.cluster.x-k8s.io",
    "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io",
];

/// What the shape of a cluster lacks.
const SPARE: &str = "
{apiVersion: cluster.x-k8s.io/v1beta2, kind: ClusterClass, metadata: {name: spare, namespace: NAMESPACE}, spec: {controlPlane: {templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: spare}}, infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3ClusterTemplate, name: spare}}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachinePool, metadata: {name: spare, namespace: NAMESPACE}, spec: {}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureManagedControlPlane, metadata: {name: spare, namespace: NAMESPACE}, spec: {}}
---
{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, metadata: {name: spare, namespace: NAMESPACE}, spec: {template: {spec: {}}}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3ClusterTemplate, metadata: {name: spare, namespace: NAMESPACE}, spec: {template: {spec: {}}}}
";

/// Kinds that the example has none of.
const MORE_KINDS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: azuremanagedcontrolplanes.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {kind: AzureManagedControlPlane, plural: azuremanagedcontrolplanes, singular: azuremanagedcontrolplane, listKind: AzureManagedControlPlaneList}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machinepools.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  scope: Namespaced
  names: {kind: MachinePool, plural: machinepools, singular: machinepool, listKind: MachinePoolList}
  versions:
  - name: v1beta2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

async fn client(server: &Server, user: &str) -> Client {
    kubeconfig::client(&server.kubeconfig_as(user, &["system:masters"]).unwrap()).await.unwrap()
}

fn dry() -> DeleteParams {
    DeleteParams { dry_run: true, ..DeleteParams::default() }
}

/// What the policy says to a delete, if it refuses it.
fn refusal<T>(answer: kube::Result<T>) -> Option<String> {
    match answer {
        Ok(_) => None,
        Err(kube::Error::Api(status)) => {
            let message = &status.message;
            assert_eq!(status.code, 403, "{message}");
            let (_, said) = message.split_once("denied request: ").unwrap_or_else(|| panic!("{message}"));
            Some(said.to_owned())
        }
        Err(error) => panic!("{error}"),
    }
}

/// The command at the end of what the policy says.
fn command(said: &str) -> &str {
    said.split_once("; if that is meant: ").unwrap_or_else(|| panic!("{said}")).1
}

/// The objects of a namespace (`KIND NAME`) that a user may not delete. Each refusal names the object and the command that allows it.
async fn refused(kinds: &[Kind], client: &Client, namespace: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for kind in kinds.iter().filter(|kind| kind.namespaced) {
        let resource = &kind.resource;
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, resource);
        for object in api.list(&ListParams::default()).await.unwrap() {
            let name = object.name_any();
            let Some(said) = refusal(api.delete(&name, &dry()).await) else { continue };
            assert!(said.starts_with(&format!("{} {name} belongs to a cluster", resource.kind)), "{said}");
            let (plural, group) = (&resource.plural, &resource.group);
            let allow = format!(
                "kubectl annotate -n {namespace} {plural}.{group} {name} pivot-host.io/allow-delete=true"
            );
            assert_eq!(command(&said), allow);
            all.insert(format!("{} {name}", kind.name()));
        }
    }
    all
}

fn kinds_of(refused: &BTreeSet<String>) -> Vec<&str> {
    let kinds: BTreeSet<&str> = refused.iter().map(|one| one.split_once(' ').unwrap().0).collect();
    kinds.into_iter().collect()
}

/// Installs the policy for a namespace, and waits until it is in effect.
async fn protect(server: &Server, namespace: &str, flags: &[&str]) {
    let words = [&["generate", "protection", "-n", namespace][..], flags].concat();
    let list = Host::alone().run(&words).await.unwrap().done().unwrap();
    server.apply_values(list["items"].as_array().unwrap().clone()).await.unwrap();
    let (namespaces, jane) = (namespaces(), client(server, "jane").await);
    let namespaces: Api<DynamicObject> = Api::all_with(jane, &namespaces);
    for _ in 0..TRIES {
        if refusal(namespaces.delete(namespace, &dry()).await).is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the policy for {namespace} never came into effect");
}

fn namespaces() -> kube::api::ApiResource {
    kube::api::ApiResource::erase::<k8s_openapi::api::core::v1::Namespace>(&())
}

fn definitions() -> kube::api::ApiResource {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    kube::api::ApiResource::erase::<CustomResourceDefinition>(&())
}

fn moving() -> Vec<&'static str> {
    [&["move", "-n", "shop"][..], &shape::WITHOUT_PLUGIN].concat()
}

// proves: T73, T74
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_manages_itself_is_deleted_by_nobody_who_does_not_mean_it() {
    let stage = Stage::start().await;
    let (child, parent) = (&stage.pair.source, &stage.pair.target);
    child.install_crds(&Crds::parse(&[MORE_KINDS]).unwrap()).await.unwrap();
    let before = stage.fill("shop", 1).await;
    stage.fill("other", 1).await;
    for namespace in ["shop", "other"] {
        child.apply(&SPARE.replace("NAMESPACE", namespace)).await.unwrap();
    }
    let kinds = child.kinds().await.unwrap();
    protect(child, "shop", &["--allow-user", INSTALLER]).await;

    // Each kind, and nothing else of the namespace: Machines are replaced by deleting them.
    for user in PEOPLE {
        let (client, none) = (client(child, user).await, Vec::<&str>::new());
        assert_eq!(kinds_of(&refused(&kinds, &client, "shop").await), PROTECTED, "{user}");
        assert_eq!(kinds_of(&refused(&kinds, &client, "other").await), none, "{user}");
    }
    for user in [CLUSTER_API, NAMESPACE_CONTROLLER, INSTALLER] {
        let refused = refused(&kinds, &client(child, user).await, "shop").await;
        assert_eq!(kinds_of(&refused), Vec::<&str>::new(), "{user}");
    }
    // A Cluster is not garbage, whatever has become of its owners.
    let garbage = refused(&kinds, &client(child, GARBAGE_COLLECTOR).await, "shop").await;
    assert_eq!(kinds_of(&garbage), ["Cluster.cluster.x-k8s.io"]);

    // What takes all of it at once.
    let jane = client(child, "jane").await;
    let of = |name: &str| kinds.iter().find(|kind| kind.name() == name).unwrap().resource.clone();
    let all_of = |name: &str| Api::<DynamicObject>::namespaced_with(jane.clone(), "shop", &of(name));
    let templates = all_of("Metal3ClusterTemplate.infrastructure.cluster.x-k8s.io");
    let collection = templates.delete_collection(&DeleteParams::default(), &ListParams::default()).await;
    assert!(refusal(collection).unwrap().starts_with("Metal3ClusterTemplate spare belongs"));
    assert!(refusal(templates.delete("spare", &DeleteParams::default()).await).is_some());
    let namespaces: Api<DynamicObject> = Api::all_with(jane.clone(), &namespaces());
    let said = refusal(namespaces.delete("shop", &DeleteParams::default()).await).unwrap();
    assert_eq!(command(&said), "kubectl annotate namespaces shop pivot-host.io/allow-delete=true");
    say(format_args!("{said}"));
    assert_eq!(refusal(namespaces.delete("other", &dry()).await), None);
    let definitions: Api<DynamicObject> = Api::all_with(jane.clone(), &definitions());
    for (name, is_refused) in [
        ("clusters.cluster.x-k8s.io", true),
        ("machines.cluster.x-k8s.io", true),
        ("metal3machines.infrastructure.cluster.x-k8s.io", true),
        ("baremetalhosts.metal3.io", false),
    ] {
        let said = refusal(definitions.delete(name, &dry()).await);
        assert_eq!(said.is_some(), is_refused, "{name}: {said:?}");
    }

    // Who means it says so on the object.
    let allow = |value: &str| {
        Patch::Merge(json!({"metadata": {"annotations": {"pivot-host.io/allow-delete": value}}}))
    };
    templates.patch("spare", &PatchParams::default(), &allow("false")).await.unwrap();
    assert!(refusal(templates.delete("spare", &DeleteParams::default()).await).is_some());
    templates.patch("spare", &PatchParams::default(), &allow("true")).await.unwrap();
    assert_eq!(refusal(templates.delete("spare", &DeleteParams::default()).await), None);
    assert!(templates.get_opt("spare").await.unwrap().is_none());
    let installer = client(child, INSTALLER).await;
    for kind in [
        "AzureManagedControlPlane.infrastructure.cluster.x-k8s.io",
        "ClusterClass.cluster.x-k8s.io",
        "MachinePool.cluster.x-k8s.io",
        "KubeadmControlPlaneTemplate.controlplane.cluster.x-k8s.io",
    ] {
        let api: Api<DynamicObject> = Api::namespaced_with(installer.clone(), "shop", &of(kind));
        assert_eq!(refusal(api.delete("spare", &DeleteParams::default()).await), None, "{kind}");
    }

    // A mover says so too, whoever it is: the cluster is taken back as if there were no policy.
    let mover = |server: &Server| server.kubeconfig_as(MOVER, &["system:masters"]).unwrap();
    let between = |from: &Path, to: &Path| Host::between(from, to);
    let back = between(&mover(child), &mover(parent));
    assert_eq!(back.run(&moving()).await.unwrap().done().unwrap()["outcome"], "Moved");
    same(before.clone(), all(parent, &["shop"]).await);
    assert!(all(child, &["shop"]).await.is_empty());
    // And it is handed over again.
    state::restore_status(parent, &before).await.unwrap();
    let again = between(&mover(parent), &mover(child));
    assert_eq!(again.run(&moving()).await.unwrap().done().unwrap()["outcome"], "Moved");
    assert!(!refused(&kinds, &jane, "shop").await.is_empty());
    stage.tidy(&["shop"]).await;
}

// proves: T73
#[tokio::test(flavor = "multi_thread")]
async fn clusters_that_a_protected_one_makes_beside_it_come_and_go() {
    let crds = Crds::parse(&shape::crds().unwrap()).unwrap();
    let child = Server::start_with("child", &crds).await.unwrap();
    let mut objects = shape::cluster("shop", 0);
    let template = |name: &str, owners: &[&str]| {
        let owner =
            |name: &&str| json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": name});
        let owners: Vec<_> = owners.iter().map(owner).collect();
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3MachineTemplate",
            "metadata": {"name": name, "namespace": "shop", "ownerReferences": owners},
            "spec": {"template": {"spec": {}}},
        })
    };
    let guest = |kind: &str| {
        let like = objects.iter().find(|object| object["kind"] == kind).unwrap();
        json!({
            "apiVersion": like["apiVersion"], "kind": kind, "spec": like["spec"],
            "metadata": {"name": "guest", "namespace": "shop", "labels": {"cluster.x-k8s.io/cluster-name": "guest"}},
        })
    };
    let guests = [guest("Cluster"), guest("MachineDeployment")];
    objects.extend(guests);
    objects.extend([
        template("of-guest", &["guest"]),
        template("of-both", &["guest", "c"]),
        template("of-nobody", &[]),
    ]);
    child.apply_values(objects).await.unwrap();
    protect(&child, "shop", &["--cluster", "c"]).await;
    let kinds = child.kinds().await.unwrap();
    let refused = refused(&kinds, &client(&child, "jane").await, "shop").await;
    let names: BTreeSet<&str> = refused.iter().map(|one| one.split_once(' ').unwrap().1).collect();
    assert_eq!(
        names,
        BTreeSet::from(["c", "c-controlplane", "c-workers", "of-both", "of-nobody"]),
        "{refused:?}"
    );
}
