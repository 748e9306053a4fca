//! An agent that is invited, from what is printed for it to the end of its link.

use std::net::TcpListener;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use pivot_scenarios::host::Host;
use serde_json::{Value, json};

use crate::agents::{AGENT_ACCOUNT, ended, grant, options};
use crate::stage::{ACCOUNT, Stage, same};

fn of_kind<'a>(list: &'a Value, kind: &str) -> &'a Value {
    list["items"].as_array().unwrap().iter().find(|item| item["kind"] == kind).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invited_agent_enrols_with_what_was_printed_takes_a_move_and_is_turned_away_once_removed() {
    let stage = Stage::start_with(&["shop"], &["--agents-host", "localhost"]).await;
    let (home, child) = (&stage.pair.source, &stage.pair.target);
    grant((home, ACCOUNT), (child, AGENT_ACCOUNT)).await;
    let before = stage.moved(home, "shop").await;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (address, call) = (format!("127.0.0.1:{port}"), format!("localhost:{port}"));

    // The parent's administrator invites, and somebody applies it in the child.
    let parent = Host::out_of(home.kubeconfig());
    let image = "registry.example.com/pivot-host:v1";
    let words = ["agent", "invite", "edge", "-n", "shop", "--image", image, "--call", &call];
    let invited = parent.run(&[&words[..], &["--allow-namespace", "shop"]].concat()).await.unwrap();
    let said_of_it = invited.stderr.clone();
    let list = invited.done().unwrap();
    child.apply_values(list["items"].as_array().unwrap().clone()).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(child.client(), "pivot-host-system");
    let applied = secrets.get("pivot-host-agent-credentials").await.unwrap().data.unwrap();
    let invitation: Value = serde_json::from_slice(&applied["invitation"].0).unwrap();
    let token = invitation["token"].as_str().unwrap();
    assert_eq!(token.len(), 32);

    // Each with the permissions of its account, the agent with the very words that were printed.
    let words = ["controller", "run", "--agents", &address, "--agents-host", "localhost"];
    let mut controller = Host::out_of(&stage.account()).start(&words).await.unwrap();
    let pod = &of_kind(&list, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    let words: Vec<&str> =
        pod["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let edge = child.kubeconfig_as(AGENT_ACCOUNT, &["system:serviceaccounts"]).unwrap();
    let mut agent = Host::out_of(&edge).start(&words).await.unwrap();
    agent.until_it_says("linked to ").await.unwrap();
    stage.ask_for("shop", json!({"to": {"agent": "edge"}, "options": options()})).await;
    stage.until("shop", "Succeeded", &mut controller).await;
    same(before, stage.moved(child, "shop").await);
    assert!(stage.moved(home, "shop").await.is_empty());

    // A process that begins anew has what it needs.
    ended(agent).await;
    let mut agent = Host::out_of(&edge).start(&words).await.unwrap();
    agent.until_it_says("linked to ").await.unwrap();

    let remove = ["agent", "remove", "edge", "-n", "shop"];
    parent.run(&remove).await.unwrap().ends_with(0).unwrap();
    agent.until_it_says("rejects this agent").await.unwrap();
    controller.until_it_says("it was removed").await.unwrap();
    let again = parent.run(&remove).await.unwrap().ends_with(3).unwrap();
    assert!(again.stderr.contains("there is no agent shop/edge"), "{}", again.stderr);

    for said in [said_of_it, agent.said(), controller.said()] {
        assert!(!said.contains(token) && !said.contains("PRIVATE KEY"), "{said}");
    }
    ended(agent).await;
    ended(controller).await;
}
