//! The guard of a move (`move --guard`): until the move ends, no other client unpauses its objects.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use pivot_lab::proxy::Moment;
use pivot_lab::{Kind, Server, kubeconfig};
use pivot_scenarios::point::Point;
use pivot_scenarios::shape;
use serde_json::{Value, json};

use crate::stage::{Stage, all, same};

const CLUSTER: &str = "Cluster.cluster.x-k8s.io";
const DEPLOYMENT: &str = "MachineDeployment.cluster.x-k8s.io";
const FLUX: &str = "system:serviceaccount:flux-system:kustomize-controller";
/// The number of times that a request is repeated until the server has taken notice of a changed policy.
const TRIES: u32 = 100;

/// A user, and the field manager of their program.
#[derive(Clone, Copy)]
struct By(&'static str, &'static str);

const JANE: By = By("jane", "kubectl-patch");

/// Objects of one kind in one namespace of a server.
struct Objects<'a>(&'a Server, &'a [Kind], &'static str, &'static str);

impl Objects<'_> {
    async fn api(&self, user: &str) -> Api<DynamicObject> {
        let Self(server, kinds, kind, namespace) = self;
        let groups =
            ["system:masters", if user.starts_with("system:") { "system:serviceaccounts" } else { "people" }];
        let client = kubeconfig::client(&server.kubeconfig_as(user, &groups).unwrap()).await.unwrap();
        let resource = &kinds.iter().find(|one| one.name() == *kind).unwrap().resource;
        Api::namespaced_with(client, namespace, resource)
    }

    async fn first(&self) -> String {
        let found = self.api("jane").await.list(&ListParams::default()).await.unwrap();
        found.items.into_iter().next().unwrap().metadata.name.unwrap()
    }

    /// Tries a patch, without effect. Returns what the guard says if it refuses it.
    async fn refusal(&self, By(user, manager): By, patch: &Value) -> Option<String> {
        let (api, name) = (self.api(user).await, self.first().await);
        let how =
            PatchParams { dry_run: true, field_manager: Some(manager.into()), ..PatchParams::default() };
        let patch = Patch::Merge(patch);
        // Only replicas belong to the scale of an object.
        let answer = match self.2 {
            DEPLOYMENT => api.patch_subresource("scale", &name, &how, &patch).await,
            _ => api.patch(&name, &how, &patch).await,
        };
        match answer {
            Ok(_) => None,
            Err(kube::Error::Api(status)) => {
                assert!(
                    status.message.contains("ValidatingAdmissionPolicy 'pivot-host-guard-"),
                    "{status:?}"
                );
                Some(status.message.clone())
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn unpause() -> Value {
    json!({"spec": {"paused": false}})
}

fn forget() -> Value {
    json!({"metadata": {"annotations": {"pivot-host.io/undo": null}}})
}

fn change() -> Value {
    json!({"spec": {"controlPlaneEndpoint": {"host": "other.example.com"}}})
}

fn scale() -> Value {
    json!({"spec": {"replicas": 7}})
}

fn annotate() -> Value {
    json!({"metadata": {"annotations": {"mine": "1"}, "finalizers": ["example.com/mine"]}})
}

/// Number of policies and bindings on both sides.
async fn guards(stage: &Stage) -> usize {
    let mut count = 0;
    for server in [&stage.pair.source, &stage.pair.target] {
        let all = ListParams::default();
        count += Api::<ValidatingAdmissionPolicy>::all(server.client()).list(&all).await.unwrap().items.len();
        count += Api::<ValidatingAdmissionPolicyBinding>::all(server.client())
            .list(&all)
            .await
            .unwrap()
            .items
            .len();
    }
    count
}

/// Runs a guarded move that dies at a point.
async fn die(stage: &Stage, namespace: &str, point: Point) {
    let wired = stage.wired().await;
    let faults = match point.side {
        pivot_lab::observer::Side::Source => wired.source.faults(),
        pivot_lab::observer::Side::Target => wired.target.faults(),
    };
    let moving = [&["move", "--guard", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat();
    point.kill(&wired.host, &moving, faults).await.unwrap();
    assert_eq!(guards(stage).await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn guarded_objects_stay_paused_until_the_move_ends() {
    let stage = Stage::start().await;
    let before = stage.fill("shop", 1).await;
    let kinds = stage.pair.source.kinds().await.unwrap();
    let on = |kind, namespace| {
        [&stage.pair.source, &stage.pair.target].map(|server| Objects(server, &kinds, kind, namespace))
    };
    let ([source, target], [workers, _]) = (on(CLUSTER, "shop"), on(DEPLOYMENT, "shop"));

    // The copies are there, and the move is not committed.
    die(&stage, "shop", Point::of_target("POST", "/configmaps?", 1, Moment::After)).await;
    for (side, cluster) in [("source", &source), ("target", &target)] {
        for patch in [unpause(), forget()] {
            for by in [JANE, By(FLUX, "kustomize-controller")] {
                let said =
                    cluster.refusal(by, &patch).await.unwrap_or_else(|| panic!("{side} {} {patch}", by.0));
                assert!(said.contains("pivot-host resume") && said.contains("kubectl delete"), "{said}");
            }
            assert_eq!(cluster.refusal(By("jane", "pivot-host"), &patch).await, None, "{side} {patch}");
        }
        for patch in [annotate(), change()] {
            assert_eq!(cluster.refusal(JANE, &patch).await, None, "{side} {patch}");
        }
    }
    assert_eq!(workers.refusal(JANE, &scale()).await, None);
    stage.host.run(&["rollback", "--break-lease"]).await.unwrap().done().unwrap();
    assert_eq!(guards(&stage).await, 0);
    same(before, all(&stage.pair.source, &["shop"]).await);

    // The move is committed, and the target's Cluster still paused.
    let before = stage.fill("live", 1).await;
    let ([source, target], [workers, _]) = (on(CLUSTER, "live"), on(DEPLOYMENT, "live"));
    die(&stage, "live", Point::of_target("PATCH", "/clusters/c", 1, Moment::Instead)).await;
    let mut tries = 0..TRIES;
    while source.refusal(JANE, &change()).await.is_none() {
        tries.next().expect("changes of committed content are never refused");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for (objects, patch) in [(&source, change()), (&workers, scale())] {
        let said = objects.refusal(JANE, &patch).await.unwrap_or_else(|| panic!("{patch}"));
        assert!(said.contains("--field-manager pivot-host"), "{said}");
        // The lab lists no providers, so that each service account may be a provider's.
        let provider = By("system:serviceaccount:capi-system:capi-manager", "manager");
        assert_eq!(objects.refusal(provider, &patch).await, None, "{patch}");
    }
    assert!(
        source.refusal(JANE, &unpause()).await.is_some() && target.refusal(JANE, &unpause()).await.is_some()
    );
    // An object that isn't paused any more can be paused by hand, and an object that changed can be restored.
    let (api, name) = (source.api("jane").await, source.first().await);
    for (manager, paused) in [("pivot-host", false), (JANE.1, true)] {
        let how = PatchParams { field_manager: Some(manager.into()), ..PatchParams::default() };
        api.patch(&name, &how, &Patch::Merge(json!({"spec": {"paused": paused}}))).await.unwrap();
    }
    assert_eq!(source.refusal(By("jane", "pivot-host"), &change()).await, None);
    assert_eq!(source.refusal(JANE, &annotate()).await, None);
    assert_eq!(target.refusal(JANE, &change()).await, None);
    let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
    source.api("jane").await.delete(&source.first().await, &dry).await.unwrap();
    stage.host.run(&["resume", "--break-lease"]).await.unwrap().done().unwrap();
    assert_eq!(guards(&stage).await, 0);
    same(before, all(&stage.pair.target, &["live"]).await);
    assert!(all(&stage.pair.source, &["live"]).await.is_empty());
    assert_eq!(target.refusal(JANE, &json!({"spec": {"paused": true}})).await, None);
    stage.tidy(&["shop", "live"]).await;
}
