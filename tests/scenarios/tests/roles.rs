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
    let stage = Stage::start().await;
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
