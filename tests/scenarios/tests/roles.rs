//! The roles that `generate rbac` prints: with them a move does all it does, and without any rule of them it is refused by name.

use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use kube::api::{Api, Patch, PatchParams};
use pivot_core::Side;
use pivot_lab::{Server, say};
use pivot_scenarios::host::Host;
use pivot_scenarios::shape;
use serde_json::{Value, json};

use crate::stage::{Stage, all, same};

const USER: &str = "mover";
/// Admission plugin that asks for permission to update the finalizers of owners.
const ENFORCES_OWNERS: &str = "OwnerReferencesPermissionEnforcement";
/// How often a plan is made until the server has taken notice of a role.
const TRIES: u32 = 100;

fn of_shop(words: &[&'static str]) -> Vec<&'static str> {
    [words, &["-n", "shop"], &shape::WITHOUT_PLUGIN].concat()
}

/// Grants what is printed for one side, and returns the roles without which a move is refused.
async fn grant(stage: &Stage, side: Side, server: &Server) -> Vec<Value> {
    let word = if side == Side::Source { "source" } else { "target" };
    let command = of_shop(&["generate", "rbac", "--bind-to", USER, "--side", word]);
    let list = stage.host.run(&command).await.unwrap().done().unwrap();
    assert_eq!(list["kind"], "List");
    let items = list["items"].as_array().unwrap().clone();
    let of = |kind: &str| items.iter().filter(|item| item["kind"] == kind).count();
    // The record namespace, and the namespace of the copies.
    assert_eq!(of("Namespace"), 1 + usize::from(side == Side::Target), "{items:?}");
    assert_eq!((of("Role"), of("ClusterRole")), (of("RoleBinding"), of("ClusterRoleBinding")));
    server.apply_values(items.clone()).await.unwrap();
    let checks = format!("pivot-host-{word}-checks-");
    let is_check = |item: &Value| item["metadata"]["name"].as_str().unwrap().starts_with(&checks);
    let needed = |item: &Value| item["rules"].is_array() && !is_check(item);
    items.into_iter().filter(needed).collect()
}

async fn set_rules(server: &Server, role: &Value, rules: &[Value]) {
    let (name, patch) = (role["metadata"]["name"].as_str().unwrap(), Patch::Merge(json!({ "rules": rules })));
    let how = PatchParams::default();
    match role["metadata"]["namespace"].as_str() {
        Some(namespace) => {
            drop(Api::<Role>::namespaced(server.client(), namespace).patch(name, &how, &patch).await.unwrap())
        }
        None => drop(Api::<ClusterRole>::all(server.client()).patch(name, &how, &patch).await.unwrap()),
    }
}

/// Plans until the exit code is the expected one: a server learns of changed roles a moment later.
async fn plans(host: &Host, code: i32) -> String {
    let mut said = String::new();
    for _ in 0..TRIES {
        let ended = host.run(&of_shop(&["plan"])).await.unwrap();
        if ended.code == Some(code) {
            return ended.stdout + &ended.stderr;
        }
        said = ended.stderr;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not {code}: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_roles_are_those_that_a_move_needs_rule_by_rule() {
    let mut stage = Stage::start().await;
    stage.pair.target.enable_admission_plugin(ENFORCES_OWNERS).await.unwrap();
    let (source, target) = (&stage.pair.source, &stage.pair.target);
    let before = stage.fill("shop", 1).await;
    let roles = [
        (source, grant(&stage, Side::Source, source).await),
        (target, grant(&stage, Side::Target, target).await),
    ];
    let user = |server: &Server| -> PathBuf { server.kubeconfig_as(USER, &[]).unwrap() };
    let host = Host::between(&user(source), &user(target));
    plans(&host, 0).await;

    let mut removed = 0;
    for (server, roles) in &roles {
        for role in roles {
            let rules = role["rules"].as_array().unwrap();
            for rule in rules {
                let others: Vec<Value> = rules.iter().filter(|other| *other != rule).cloned().collect();
                set_rules(server, role, &others).await;
                let said = plans(&host, 3).await;
                let resources = rule["resources"].as_array().unwrap();
                let mut names =
                    resources.iter().map(|name| name.as_str().unwrap().split('/').next().unwrap());
                assert!(names.any(|name| said.contains(name)), "{rule} is not named:\n{said}");
                assert!(said.contains("state: nothing is changed"), "{said}");
                removed += 1;
            }
            set_rules(server, role, rules).await;
            plans(&host, 0).await;
        }
    }
    say(format_args!("{removed} rules, each needed"));
    assert!(removed > 10, "{removed}");
    same(before.clone(), all(source, &["shop"]).await);

    let report = host.run(&of_shop(&["move"])).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "Moved");
    stage.tidy(&["shop"]).await;
    same(before, all(target, &["shop"]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn finalizer_permissions_count_only_where_enforced() {
    let mut stage = Stage::start().await;
    let before = stage.fill("shop", 1).await;
    grant(&stage, Side::Source, &stage.pair.source).await;
    let roles = grant(&stage, Side::Target, &stage.pair.target).await;
    let of_copies = roles.iter().find(|role| role["metadata"]["namespace"] == "shop").unwrap();
    let rules = of_copies["rules"].as_array().unwrap();
    let about_finalizers = |rule: &&Value| rule["resources"].to_string().contains("/finalizers");
    let (finalizers, others): (Vec<&Value>, Vec<&Value>) = rules.iter().partition(about_finalizers);
    assert!(finalizers.iter().all(|rule| rule["verbs"] == json!(["update"])), "{finalizers:?}");
    let user = |server: &Server| -> PathBuf { server.kubeconfig_as(USER, &[]).unwrap() };
    let host = Host::between(&user(&stage.pair.source), &user(&stage.pair.target));
    plans(&host, 0).await;
    set_rules(&stage.pair.target, of_copies, &others.into_iter().cloned().collect::<Vec<_>>()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    plans(&host, 0).await;

    stage.pair.target.enable_admission_plugin(ENFORCES_OWNERS).await.unwrap();
    let said = plans(&host, 3).await;
    say(format_args!("{}", said.trim_end()));
    for text in [
        "\"code\": \"rights-missing\"",
        "no permission to update ",
        "machines.cluster.x-k8s.io/finalizers",
        "in namespace shop; its server requires that for owner references with blockOwnerDeletion",
        "generate rbac --side target --bind-to",
        "state: nothing is changed",
    ] {
        assert!(said.contains(text), "no {text:?} in\n{said}");
    }
    set_rules(&stage.pair.target, of_copies, rules).await;
    plans(&host, 0).await;
    let report = host.run(&of_shop(&["move"])).await.unwrap().done().unwrap();
    assert_eq!(report["outcome"], "Moved");
    stage.tidy(&["shop"]).await;
    same(before, all(&stage.pair.target, &["shop"]).await);
}
