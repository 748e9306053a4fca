//! Users with limited permissions: refused with what they lack, shown a plan anyway, or moving what is theirs.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, PostParams};
use pivot_lab::{Server, say};
use pivot_scenarios::host::Host;
use pivot_scenarios::{shape, state};
use serde_json::{Value, json};

use crate::stage::{Stage, all, same};

const READ: [&str; 3] = ["get", "list", "watch"];

/// A user with these permissions for everything, everywhere.
async fn everywhere(server: &Server, user: &str, verbs: &[&str]) -> PathBuf {
    let rules = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": verbs }]);
    let role: ClusterRole = of(json!({ "metadata": { "name": user }, "rules": rules }));
    let binding: ClusterRoleBinding = of(binding(user, "ClusterRole"));
    Api::all(server.client()).create(&PostParams::default(), &role).await.unwrap();
    Api::all(server.client()).create(&PostParams::default(), &binding).await.unwrap();
    server.kubeconfig_as(user, &[]).unwrap()
}

/// A user with all permissions in one namespace, which is created, and none elsewhere.
async fn at_home(server: &Server, user: &str, namespace: &str) -> PathBuf {
    let make: Namespace = of(json!({ "metadata": { "name": namespace } }));
    // It may exist already.
    let _ = Api::all(server.client()).create(&PostParams::default(), &make).await;
    let rules = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    let role: Role = of(json!({ "metadata": { "name": user }, "rules": rules }));
    let binding: RoleBinding = of(binding(user, "Role"));
    Api::namespaced(server.client(), namespace).create(&PostParams::default(), &role).await.unwrap();
    Api::namespaced(server.client(), namespace).create(&PostParams::default(), &binding).await.unwrap();
    server.kubeconfig_as(user, &[]).unwrap()
}

fn of<T: k8s_openapi::serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn binding(user: &str, role: &str) -> Value {
    json!({
        "metadata": { "name": user },
        "subjects": [{ "kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io" }],
        "roleRef": { "kind": role, "name": user, "apiGroup": "rbac.authorization.k8s.io" },
    })
}

fn moving(namespace: &str) -> Vec<&str> {
    [&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat()
}

// proves: T95
#[tokio::test(flavor = "multi_thread")]
async fn users_with_limited_permissions() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let before = stage.fill("shop", 1).await;
    let (from, to) = (source.kubeconfig(), target.kubeconfig());

    let reader = everywhere(target, "reader", &READ).await;
    let keeper = everywhere(source, "keeper", &["get", "list", "watch", "create", "patch", "update"]).await;
    let nobody = source.kubeconfig_as("nobody", &[]).unwrap();
    let cases: [(Host, &[&str]); 3] = [
        (
            Host::between(from, &reader),
            &["target: no permission to create", "generate rbac --side target --bind-to USER"],
        ),
        (Host::between(&keeper, to), &["source: no permission to delete"]),
        (Host::between(&nobody, to), &["source: no permission to", "generate rbac --side source"]),
    ];
    for (host, says) in cases {
        let ended = host.run(&moving("shop")).await.unwrap().ends_with(3).unwrap();
        say(format_args!("{}", ended.stderr.trim_end()));
        for text in says {
            assert!(ended.stderr.contains(text), "no {text:?} in\n{}", ended.stderr);
        }
        assert!(ended.stderr.contains("state: nothing is changed"), "{}", ended.stderr);
    }
    // Users with only read permissions see the plan, and what a move would lack on either side; the exit code is that of the
    // move.
    let planner = everywhere(source, "planner", &READ).await;
    let plan = [&["plan", "-n", "shop"][..], &shape::WITHOUT_PLUGIN].concat();
    let planned = Host::between(&planner, &reader).run(&plan).await.unwrap().ends_with(3).unwrap();
    for says in ["refused, for 2 reasons", "state: nothing is changed on either side"] {
        assert!(planned.stderr.contains(says), "{}", planned.stderr);
    }
    let plan = planned.document().unwrap();
    assert_eq!(plan["kind"], "Plan");
    assert_eq!(plan["summary"]["moved"], before.len());
    assert_eq!(plan["steps"].as_array().unwrap().len(), before.len());
    let refusals = plan["refusals"].as_array().unwrap();
    let missing = |side: &str, says: &str| {
        let of_side = |refusal: &&Value| refusal["side"] == side && refusal["code"] == "rights-missing";
        let refusal = refusals.iter().find(of_side).unwrap_or_else(|| panic!("{side}: {refusals:?}"));
        assert!(refusal["message"].as_str().unwrap().contains(says), "{refusal}");
        assert!(
            refusal["remedy"].as_str().unwrap().contains(&format!("generate rbac --side {side} --bind-to")),
            "{refusal}"
        );
    };
    missing(
        "source",
        "create, delete and patch configmaps and leases.coordination.k8s.io in namespace pivot-host-records",
    );
    missing("target", "create, delete and patch configmaps in namespace pivot-host-records");
    assert_eq!(refusals.len(), 2, "{refusals:?}");

    assert_eq!(before, all(source, &["shop"]).await);
    assert!(all(target, &["shop"]).await.is_empty());
    assert_eq!(state::belongings(target).await.unwrap(), Vec::<String>::new());
    // A user without permission to delete has to leave the lease behind, but released.
    assert_eq!(state::belongings(source).await.unwrap(), ["Lease pivot-host-records/pivot-host.ns.shop"]);
    let status = stage.host.run(&["status"]).await.unwrap().done().unwrap();
    assert_eq!(status["leases"], json!([{ "name": "pivot-host.ns.shop", "holder": "" }]), "{status}");
}

/// Everything in one go, for both sides, before anyone has granted anything.
// proves: T95
#[tokio::test(flavor = "multi_thread")]
async fn missing_permissions_are_named_at_once() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    stage.fill("shop", 1).await;
    let [from, to] = [source, target].map(|server| server.kubeconfig_as("nobody", &[]).unwrap());
    let host = Host::between(&from, &to);
    let plan = [&["plan", "-n", "shop"][..], &shape::WITHOUT_PLUGIN].concat();
    for words in [moving("shop"), plan] {
        let ended = host.run(&words).await.unwrap().ends_with(3).unwrap();
        say(format_args!("{}", ended.stderr.trim_end()));
        let records = "create, delete, get, list and patch configmaps";
        for says in [
            "for 2 reasons",
            &format!(
                "source: no permission to list customresourcedefinitions.apiextensions.k8s.io in the whole cluster; {records} and leases.coordination.k8s.io in namespace pivot-host-records; "
            ),
            &format!("target: no permission to {records} in namespace pivot-host-records; create, "),
            "secrets",
            "clusters.cluster.x-k8s.io",
            "generate rbac --side source --bind-to",
            "generate rbac --side target --bind-to",
            "--record-namespace",
        ] {
            assert!(ended.stderr.contains(says), "no {says:?} in\n{}", ended.stderr);
        }
    }
}

// proves: T95, W26
#[tokio::test(flavor = "multi_thread")]
async fn w26_a_namespaces_admin_moves_the_namespace() {
    let stage = Stage::start().await;
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let before = stage.fill("shop", 1).await;
    let from = at_home(source, "tenant", "shop").await;
    let to = at_home(target, "tenant", "shop").await;
    let host = Host::between(&from, &to);

    // Not everyone can write a record and a lease in pivot-host-records; the definitions' labels say which kinds move.
    let ended = host.run(&moving("shop")).await.unwrap().ends_with(3).unwrap();
    assert!(ended.stderr.contains("--record-namespace"), "{}", ended.stderr);
    let host = host.with(&["--record-namespace", "shop"]);
    let ended = host.run(&moving("shop")).await.unwrap().ends_with(3).unwrap();
    // One reason, not one for each kind.
    let list = "no permission to list customresourcedefinitions.apiextensions.k8s.io in the whole cluster";
    for says in ["for 1 reason", list, "generate rbac --side source"] {
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
    }
    same(before.clone(), all(source, &["shop"]).await);

    let rules = json!([{
        "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["list"],
    }]);
    for server in [source, target] {
        let role: ClusterRole = of(json!({ "metadata": { "name": "tenant" }, "rules": rules }));
        let binding: ClusterRoleBinding = of(binding("tenant", "ClusterRole"));
        Api::all(server.client()).create(&PostParams::default(), &role).await.unwrap();
        Api::all(server.client()).create(&PostParams::default(), &binding).await.unwrap();
    }
    let ended = host.run(&moving("shop")).await.unwrap();
    say(format_args!("{}", ended.stderr));
    ended.done().unwrap();
    same(before, all(target, &["shop"]).await);
    stage.tidy(&["shop"]).await;
}
