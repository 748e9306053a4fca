//! Kubeconfigs that a tenant of the source wrote: more is refused there than in a user's own file.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::case::Case;
use crate::credentials::base64;
use crate::judge::WORDS;
use crate::kubeconfigs::{bomb, good, secure};
use crate::server::{Answer, Answers, well};

const PLAN: &str = "plan --kubeconfig config -n ns --to-workload a";
const REFUSED: [i32; 1] = [3];

/// A sample: it is read as any kubeconfig is, once it is out of its Secret.
pub(crate) fn cases() -> Vec<Case> {
    let read = [
        in_secret("text that is no kubeconfig", b"error: FORGED\nusers: hunter2\n"),
        in_secret("an alias bomb", bomb(30).as_bytes()),
    ];
    [read.into(), fields(), secrets(), unreachable(), clusters()].concat()
}

fn serving(secret: Value) -> Answers {
    Arc::new(move |asked| well(asked, std::slice::from_ref(&secret)))
}

fn secret(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret", "data": data,
        "metadata": {"name": "a-kubeconfig", "namespace": "ns", "uid": "s", "resourceVersion": "1"}})
}

fn in_secret(name: &str, content: &[u8]) -> Case {
    let case = Case::new(format!("in a Secret: {name}"), PLAN, &REFUSED);
    case.served(serving(secret(json!({"value": base64(content)}))))
}

fn fields() -> Vec<Case> {
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh",
        "args": ["-c", "echo hunter2 > ran"], "interactiveMode": "Never"});
    // `places: every_field_is_named_once` has all of them.
    let fields = [
        ("cluster", "certificate-authority", json!("/etc/hunter2")),
        ("user", "as", json!("hunter2")),
        ("user", "client-certificate", json!("/dev/zero")),
        ("user", "exec", exec),
    ];
    let case = |(section, field, value): (&str, &str, Value)| {
        let mut config = good();
        config["clusters"][0]["cluster"]["server"] = secure().into();
        config[format!("{section}s")][0][section][field] = value;
        let case = in_secret(&format!("{section} has {field}"), config.to_string().as_bytes());
        case.says(format!("error: target: kubeconfig in Secret ns/a-kubeconfig: refused: {field} ("))
    };
    fields.into_iter().map(case).collect()
}

fn secrets() -> Vec<Case> {
    let datas = [
        ("data that are words", json!("hunter2")),
        ("an entry that is no base64", json!({"value": "hunter2 *"})),
        ("an entry of two megabytes", json!({"value": base64(&vec![b' '; 2 << 20])})),
    ];
    let case = |(sort, data): (&str, Value)| {
        let case = Case::new(format!("a Secret with {sort}"), PLAN, &REFUSED).served(serving(secret(data)));
        case.says("error: target: kubeconfig in Secret ns/a-kubeconfig: ")
    };
    datas.into_iter().map(case).collect()
}

/// An address that only the source reaches.
fn unreachable() -> Vec<Case> {
    let mut config = good();
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1".into();
    let case = in_secret("a server that nobody reaches", config.to_string().as_bytes());
    let named = "of kubeconfig in Secret ns/a-kubeconfig, context \"a\"";
    let case = Case { codes: vec![9], ..case };
    vec![case.says(named).says("note: the source may reach this address where this machine can't")]
}

/// Clusters whose names forge, where one is looked for that is not there.
fn clusters() -> Vec<Case> {
    let cluster = |namespace: usize| {
        json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
            "metadata": {"name": WORDS, "namespace": format!("n{namespace}"), "uid": "c", "resourceVersion": "1"}})
    };
    let answers: Answers = Arc::new(move |asked| {
        if asked.verb == "GET" && asked.path.contains("/clusters") {
            let items: Vec<Value> = (0..1_000).map(cluster).collect();
            return Answer::json(
                &json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}),
            );
        }
        well(asked, &[])
    });
    let case = Case::new("a thousand Clusters whose names forge", PLAN, &REFUSED).served(answers);
    vec![case.says("error: source: there is no Cluster ns/a, but 1,000 Clusters: ")]
}
