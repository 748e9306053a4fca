//! Pivots over the link of an agent: the controller has no way to the target, and no kubeconfig of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pivot_lab::{Observer, Rules, Server};
use pivot_scenarios::host::{Host, Run};
use pivot_scenarios::link::Link;
use pivot_scenarios::shape;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::moves::page;
use crate::stage::{ACCOUNT, Stage, same};

pub(crate) const AGENT_ACCOUNT: &str = "system:serviceaccount:pivot-host-system:pivot-host-agent";

/// What a Pivot of this test asks for. No controllers run, so nothing reports what a moved object's status would.
pub(crate) fn options() -> Value {
    json!({"accept": [{"code": "takeover-unchecked"}, {"code": "unprovisioned"}, {"code": "no-plugin", "kinds": ["BareMetalHost.metal3.io"]}]})
}

/// Installs an agent in a cluster but for its Deployment's pods; its account's kubeconfig.
pub(crate) async fn installed(server: &Server) -> PathBuf {
    installed_with(server, &[]).await
}

/// Installs an agent with more flags.
pub(crate) async fn installed_with(server: &Server, more: &[&str]) -> PathBuf {
    let words = [
        "generate",
        "agent",
        "--image",
        "registry.example.com/pivot-host:v1",
        "--call",
        "pivot.example.com:8443",
        "--allow-namespace",
        "shop",
    ];
    let list = Host::alone().run(&[&words[..], more].concat()).await.unwrap().done().unwrap();
    server.apply_values(list["items"].as_array().unwrap().clone()).await.unwrap();
    server.kubeconfig_as(AGENT_ACCOUNT, &["system:serviceaccounts"]).unwrap()
}

/// Grants each side's account what a move of the namespace needs there.
pub(crate) async fn grant(source: (&Server, &str), target: (&Server, &str)) {
    grant_with(source, target, &[]).await;
}

/// The same for a move with more flags.
async fn grant_with(source: (&Server, &str), target: (&Server, &str), more: &[&str]) {
    for (side, (server, account)) in [("source", source), ("target", target)] {
        let words = [&["--side", side, "--bind-to", account], more].concat();
        server.apply_values(roles((source.0, target.0), &words).await).await.unwrap();
    }
}

/// What is printed for it.
pub(crate) async fn roles((source, target): (&Server, &Server), words: &[&str]) -> Vec<Value> {
    let host = Host::between(source.kubeconfig(), target.kubeconfig());
    let host = host.without_controllers();
    let words =
        [&["generate", "rbac", "-n", "shop", "--accept", "unprovisioned"], words, &shape::WITHOUT_PLUGIN]
            .concat();
    host.run(&words).await.unwrap().done().unwrap()["items"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn over_an_agents_link_objects_move_into_a_cluster_and_back() {
    let stage = Stage::start(&["shop"]).await;
    let (home, child) = (&stage.pair.source, &stage.pair.target);
    let edge = installed(child).await;
    grant((home, ACCOUNT), (child, AGENT_ACCOUNT)).await;
    let before = stage.moved(home, "shop").await;
    let observer = Observer::of(&stage.pair, &["shop"]).await.unwrap();
    let link = Link::new().unwrap();
    let mut running = link.controller(&stage.account()).await.unwrap();
    stage.ask_for("shop", json!({"to": {"agent": "edge"}, "options": options()})).await;
    let shown = stage.until_false("shop", "Connected", &mut running).await;
    assert!(shown["message"].as_str().unwrap().contains("agent shop/edge is not connected"), "{shown:#}");
    same(before.clone(), stage.moved(home, "shop").await);
    let agent = link.agent(&edge).await.unwrap();
    stage.until("shop", "Succeeded", &mut running).await;
    same(before.clone(), stage.moved(child, "shop").await);
    assert!(stage.moved(home, "shop").await.is_empty());
    stage.tidy().await;
    assert_eq!(observer.finish(&Rules::new()).await.unwrap(), [], "invariants");

    // And back: the cell takes its child's objects again.
    stage.delete("shop").await;
    stage.until_gone("shop", &mut running).await;
    grant((child, AGENT_ACCOUNT), (home, ACCOUNT)).await;
    stage
        .ask_for(
            "shop",
            json!({"from": {"agent": "edge", "namespace": "shop"}, "to": {}, "options": options()}),
        )
        .await;
    // Not without the child's leave: it manages itself.
    let shown = stage.until_false("shop", "Succeeded", &mut running).await;
    assert!(shown["message"].as_str().unwrap().contains("--role source"), "{shown:#}");
    same(before.clone(), stage.moved(child, "shop").await);
    ended(agent).await;
    // That an agent calls is enough of a change.
    let agent = link.agent_with(&edge, &["--role", "source"]).await.unwrap();
    stage.until("shop", "Succeeded", &mut running).await;
    same(before, stage.moved(home, "shop").await);
    assert!(stage.moved(child, "shop").await.is_empty());
    stage.tidy().await;
    ended(agent).await;
    agent_is_ready_while_linked(&link, &edge, running).await;
}

/// An agent is ready while it is linked. Without the link it is alive and not ready.
async fn agent_is_ready_while_linked(link: &Link, kubeconfig: &Path, controller: Run) {
    let mut agent = link.agent_with(kubeconfig, &["--health", "127.0.0.1:0"]).await.unwrap();
    agent.until_it_says("health: ").await.unwrap();
    assert!(page(&agent, "/readyz").await.starts_with("HTTP/1.1 200"));
    ended(controller).await;
    let away = timeout(Duration::from_mins(1), async {
        loop {
            let answer = page(&agent, "/readyz").await;
            if !answer.starts_with("HTTP/1.1 200") {
                return answer;
            }
            sleep(Duration::from_millis(100)).await;
        }
    });
    let answer = away.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("no link to localhost:"), "{answer}");
    assert!(page(&agent, "/healthz").await.starts_with("HTTP/1.1 200"));
    ended(agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_an_agents_link_what_has_a_label_is_handed_on_where_the_agent_may_write() {
    const CARRY: [&str; 2] = ["--also-copy", "Secret/keys/*:example.com/hand-on=yes"];
    let stage = Stage::start(&["shop"]).await;
    let (home, child) = (&stage.pair.source, &stage.pair.target);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"key": "aHVzaA=="},
        "metadata": {"namespace": "keys", "name": "aws", "labels": {"example.com/hand-on": "yes"}}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "keys"}});
    home.apply_values(vec![namespace, secret]).await.unwrap();
    let edge = installed(child).await;
    grant_with((home, ACCOUNT), (child, AGENT_ACCOUNT), &CARRY).await;
    let link = Link::new().unwrap();
    let mut running = link.controller_with(&stage.account(), &CARRY).await.unwrap();
    // Its permissions would let it write there; its own guard doesn't.
    let agent = link.agent(&edge).await.unwrap();
    stage.ask_for("shop", json!({"to": {"agent": "edge"}, "options": options()})).await;
    let shown = stage.until_false("shop", "Succeeded", &mut running).await;
    let message = shown["message"].as_str().unwrap();
    assert!(message.contains("keys") && message.contains("--allow-namespace"), "{message}");
    assert!(stage.moved(child, "keys").await.is_empty());
    ended(agent).await;
    let agent = link.agent_with(&edge, &["--allow-namespace", "keys"]).await.unwrap();
    stage.until("shop", "Succeeded", &mut running).await;
    let there =
        async |server| stage.moved(server, "keys").await.into_keys().map(|key| key.name).collect::<Vec<_>>();
    assert_eq!(there(child).await, ["aws"]);
    assert_eq!(there(home).await, ["aws"]);
    stage.tidy().await;
    ended(running).await;
    ended(agent).await;
}

/// Asks it to stop.
pub(crate) async fn ended(mut one: Run) {
    assert!(one.still_runs().unwrap());
    one.signal("TERM").unwrap();
    let ended = one.end().await.unwrap().ends_with(0).unwrap();
    assert!(!ended.stderr.contains("PRIVATE KEY"), "{}", ended.stderr);
}
