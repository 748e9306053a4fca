//! Each tool, and what must not be refused.

use serde_json::json;

use super::*;
use crate::Kind;
use crate::testing;

const TRACKED: &str = "shop:cluster.x-k8s.io/Cluster:ns/c";

fn cluster(metadata: &Value) -> Object {
    let mut body = json!({"metadata": {"name": "c", "namespace": "ns"}});
    body["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    Object::from_value(testing::kind("Cluster"), &body).unwrap()
}

fn find(metadata: &Value) -> Option<String> {
    find_owner(&cluster(metadata)).map(|owner| format!("{owner} ({})", owner.group_kind.group))
}

#[test]
fn owners_are_read_from_metadata() {
    let rows = [
        (
            json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux"}}),
            "Kustomization flux/apps (kustomize.toolkit.fluxcd.io)",
        ),
        (
            json!({"labels": {"helm.toolkit.fluxcd.io/name": "apps", "helm.toolkit.fluxcd.io/namespace": "flux"}}),
            "HelmRelease flux/apps (helm.toolkit.fluxcd.io)",
        ),
        (
            json!({"annotations": {"argocd.argoproj.io/tracking-id": TRACKED}}),
            "Application argocd/shop (argoproj.io)",
        ),
        (
            json!({"annotations": {"argocd.argoproj.io/tracking-id": format!("team_{TRACKED}")}}),
            "Application team/shop (argoproj.io)",
        ),
        (
            json!({"annotations": {"projectsveltos.io/owner-kind": "ClusterProfile", "projectsveltos.io/owner-name": "apps"}}),
            "ClusterProfile apps (config.projectsveltos.io)",
        ),
        (
            json!({"annotations": {"projectsveltos.io/owner-kind": "Profile", "projectsveltos.io/owner-name": "apps"}}),
            "Profile ns/apps (config.projectsveltos.io)",
        ),
    ];
    for (mut metadata, expected) in rows {
        assert_eq!(find(&metadata).as_deref(), Some(expected), "{metadata}");
        metadata["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}]);
        assert_eq!(find(&metadata).as_deref(), Some(expected), "an owner that is no controller");
        metadata["ownerReferences"][0]["controller"] = json!(true);
        assert_eq!(find(&metadata), None, "a controller copied it: {metadata}");
        metadata["ownerReferences"] = json!([]);
        metadata["labels"]["topology.cluster.x-k8s.io/owned"] = json!("");
        assert_eq!(find(&metadata), None, "copied from the class: {metadata}");
    }
}

#[test]
fn other_metadata_names_no_owner() {
    let flux = |name: &str, namespace: &str| json!({"labels": {"kustomize.toolkit.fluxcd.io/name": name, "kustomize.toolkit.fluxcd.io/namespace": namespace}});
    let argo = |id: &str| json!({"annotations": {"argocd.argoproj.io/tracking-id": id}});
    let sveltos = |kind: &str| json!({"annotations": {"projectsveltos.io/owner-kind": kind, "projectsveltos.io/owner-name": "a"}});
    let none = [
        json!({}),
        json!({"labels": {"app.kubernetes.io/instance": "shop", "app.kubernetes.io/managed-by": "Helm"}}),
        json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}}),
        flux("", ""),
        flux("../secrets", "flux"),
        argo("shop"),
        argo("shop:cluster.x-k8s.io/Cluster:ns/other"),
        argo("shop:cluster.x-k8s.io/Cluster:other/c"),
        argo(":cluster.x-k8s.io/Cluster:ns/c"),
        sveltos("ConfigMap"),
    ];
    none.iter().for_each(|metadata| assert_eq!(find(metadata), None, "{metadata}"));
}

fn owner(tool: &Tool, kind: &str, body: &Value) -> Object {
    let kind = Kind {
        group_kind: GroupKind::new(tool.group, kind),
        namespaced: kind != "ClusterProfile",
        ..Kind::clone(&testing::kind("Cluster"))
    };
    let mut body = body.clone();
    body["metadata"]["name"] = json!("apps");
    body["metadata"]["namespace"] = json!("flux");
    Object::from_value(kind.into(), &body).unwrap()
}

fn refuse(tool: &Tool, kind: &str, body: &Value) -> Option<Refusal> {
    let owned = OwnedObjects { marked: vec![cluster(&json!({})).key()], ..OwnedObjects::default() };
    refuse_active_owner(&owner(tool, kind, body), &owned).unwrap()
}

#[test]
fn only_active_owners_are_refused() {
    let [kustomize, helm, argo, sveltos] = &TOOLS;
    let automated = |policy: Value| json!({"spec": {"syncPolicy": {"automated": policy}}});
    let skipping = |skip: &str| {
        let mut body = automated(json!({}));
        body["metadata"]["annotations"] = json!({"argocd.argoproj.io/skip-reconcile": skip});
        body
    };
    let mode = |mode: &str| json!({"spec": {"syncMode": mode}});
    let rows = [
        (kustomize, "Kustomization", json!({"spec": {}}), true),
        (kustomize, "Kustomization", json!({"spec": {"suspend": false}}), true),
        (helm, "HelmRelease", json!({"spec": {"suspend": false}}), true),
        (argo, "Application", json!({"spec": {}}), false),
        (argo, "Application", automated(Value::Null), false),
        (argo, "Application", automated(json!({})), true),
        (argo, "Application", automated(json!({"selfHeal": true, "enabled": true})), true),
        (argo, "Application", automated(json!({"enabled": false})), false),
        (argo, "Application", skipping("T"), false),
        (argo, "Application", skipping("false"), true),
        (sveltos, "ClusterProfile", json!({"spec": {}}), true),
        (sveltos, "ClusterProfile", mode("ContinuousWithDriftDetection"), true),
        (sveltos, "Profile", mode("OneTime"), true),
    ];
    for (tool, kind, mut body, is_active) in rows {
        let refusal = refuse(tool, kind, &body);
        assert_eq!(refusal.is_some(), is_active, "{kind} {body}");
        crate::objects::merge::apply_patch(&mut body, &serde_json::from_str(tool.suspend).unwrap());
        assert_eq!(refuse(tool, kind, &body), None, "suspended: {kind} {body}");
    }
}

#[test]
fn refusal_names_owner_objects_and_command() {
    let [kustomize, _, argo, _] = &TOOLS;
    let objects =
        ["a", "b", "c", "d", "e"].map(|name| Key { name: name.into(), ..cluster(&json!({})).key() });
    let owned = OwnedObjects { marked: objects.into(), ..OwnedObjects::default() };
    let refusal =
        refuse_active_owner(&owner(kustomize, "Kustomization", &json!({})), &owned).unwrap().unwrap();
    let words = "source: Kustomization flux/apps isn't suspended, and applies, as their labels or annotations say, Cluster ns/a, Cluster ns/b, Cluster ns/c and 2 more, \
        which move: it would create them again in the source; suspend it: `kubectl patch -n flux \
        kustomization.kustomize.toolkit.fluxcd.io apps --field-manager flux-client-side-apply --type merge -p '{\"spec\":{\"suspend\":true}}'`, \
        and unsuspend Kustomization flux/apps only after its Git repository no longer has these objects";
    assert_eq!(refusal.to_string(), words);
    let set =
        json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "s", "uid": "u"}]);
    let body = json!({"metadata": {"ownerReferences": set}, "spec": {"syncPolicy": {"automated": {}}}});
    let refusal = refuse(argo, "Application", &body).unwrap().to_string();
    assert!(refusal.ends_with("spec.preservedFields.annotations has the annotation"), "{refusal}");
}

#[test]
fn owners_of_earlier_clusters_are_not_refused() {
    let [kustomize, _, argo, _] = &TOOLS;
    let flux = |id: &str| json!({"status": {"inventory": {"entries": [{"id": "a_b__Secret", "v": "v1"}, {"id": id}]}}});
    let argo_body = |name: &str| {
        let resource =
            json!({"group": "cluster.x-k8s.io", "kind": "Cluster", "namespace": "ns", "name": name});
        json!({"spec": {"syncPolicy": {"automated": {}}}, "status": {"resources": [{"kind": "Secret"}, resource]}})
    };
    assert!(refuse(kustomize, "Kustomization", &flux("ns_c_cluster.x-k8s.io_Cluster")).is_some());
    assert!(refuse(kustomize, "Kustomization", &flux("ns_d_cluster.x-k8s.io_Cluster")).is_none());
    assert!(refuse(argo, "Application", &argo_body("c")).is_some());
    assert!(refuse(argo, "Application", &argo_body("d")).is_none());
}

/// Helm charts set the label, too.
#[test]
fn labels_of_argo_need_its_list() {
    let labels = |name: &str, more: &str| json!({"labels": {"app.kubernetes.io/instance": name, more: ""}});
    for (metadata, expected) in [
        (labels("shop", "a"), Some("Application argocd/shop")),
        (labels("team_shop", "a"), Some("Application team/shop")),
        (labels("shop", "topology.cluster.x-k8s.io/owned"), None),
    ] {
        let found = find_labelled_owner(&cluster(&metadata)).map(|owner| owner.to_string());
        assert_eq!(found.as_deref(), expected, "{metadata}");
    }
    let [_, _, argo, _] = &TOOLS;
    let resource = |name: &str| json!({"resources": [{"group": "cluster.x-k8s.io", "kind": "Cluster", "namespace": "ns", "name": name}]});
    let here = json!({"server": "https://kubernetes.default.svc"});
    for (destination, resources, is_refused) in [
        (here.clone(), resource("c"), true),
        (json!({"name": "in-cluster"}), resource("c"), true),
        (here.clone(), resource("d"), false),
        (here, json!({}), false),
        (json!({"server": "https://elsewhere"}), resource("c"), false),
    ] {
        let spec = json!({"destination": destination, "syncPolicy": {"automated": {}}});
        let body = json!({"spec": spec, "status": resources});
        let owned = OwnedObjects { labelled: vec![cluster(&json!({})).key()], ..OwnedObjects::default() };
        let refusal = refuse_active_owner(&owner(argo, "Application", &body), &owned).unwrap();
        assert_eq!(refusal.is_some(), is_refused, "{body}");
    }
}
