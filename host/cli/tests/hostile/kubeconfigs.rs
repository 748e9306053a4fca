//! Kubeconfigs that somebody sent: no connection is tried that they don't make sense of, and no credential is quoted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::case::Case;
use crate::credentials::{self, base64};
use crate::judge::WORDS;
use crate::server::{Answer, Server};
use crate::workload;

const PLAN: &str = "plan --kubeconfig config -A";
const REFUSED: [i32; 1] = [3];

pub(crate) fn cases() -> Vec<Case> {
    [texts(), fields(), credentials::cases(), servers(), sizes(), on_disk(), workload::cases()].concat()
}

pub(crate) fn with(name: impl std::fmt::Display, content: impl Into<Vec<u8>>) -> Case {
    Case::new(name.to_string(), PLAN, &REFUSED).file("config", content)
}

/// A server that lets nobody in. Whoever gets that far is not at fault.
fn server() -> String {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let nobody = || Server::start(Arc::new(|_| Answer::status(401, "Unauthorized", "Unauthorized")));
    SERVER.get_or_init(nobody).address()
}

fn plain() -> String {
    format!("http://{}", server())
}

pub(crate) fn secure() -> String {
    format!("https://{}", server())
}

pub(crate) fn good() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": plain()}}],
        "users": [{"name": "a", "user": {"token": "hunter2"}}],
    })
}

pub(crate) fn changed(name: impl std::fmt::Display, path: &str, value: Value) -> Case {
    let mut config = good();
    let (parent, last) = path.rsplit_once('/').unwrap();
    let parent = config.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        other => other[last] = value,
    }
    with(name, escaped(&config))
}

/// In YAML controls are escaped.
fn escaped(config: &Value) -> String {
    let escaped = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    config.to_string().chars().map(escaped).collect()
}

fn texts() -> Vec<Case> {
    let good = good().to_string();
    let yaml = "apiVersion: v1\nkind: Config\ncurrent-context: a\n";
    let levels = 100_000;
    let deep =
        |open: &str, close: &str| format!("{yaml}users: {}{}\n", open.repeat(levels), close.repeat(levels));
    let texts: [(&str, Vec<u8>); 8] = [
        ("half of it", good[..good.len() / 2].into()),
        ("UTF-16 that ends midway", b"\xff\xfe\0".to_vec()),
        ("lines that look like ours", b"error: FORGED\nnext: FORGED\n".to_vec()),
        ("an alias bomb", bomb(30).into()),
        ("a bomb of merges", merges(30).into()),
        ("lists in lists", deep("[", "]").into()),
        ("maps in maps", deep("{a: ", "}").into()),
        ("dashes", format!("{yaml}users:\n  {}hunter2\n", "- ".repeat(levels)).into()),
    ];
    texts.into_iter().map(|(name, content)| with(format!("a kubeconfig that is {name}"), content)).collect()
}

/// Each level is ten of the one before.
pub(crate) fn bomb(levels: usize) -> String {
    let mut text = "a0: &a0 [hunter2]\n".to_owned();
    for n in 1..levels {
        text += &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "));
    }
    text + &format!("users: *a{}\n", levels - 1)
}

fn merges(levels: usize) -> String {
    let mut text = "a0: &a0 {k: hunter2}\n".to_owned();
    for n in 1..levels {
        text += &format!("a{n}: &a{n} {{<<: *a{}, k{n}: *a{}, l{n}: *a{}}}\n", n - 1, n - 1, n - 1);
    }
    text + &format!("users: *a{}\n", levels - 1)
}

/// One of each sort that the parser, or what looks for a context in it, refuses.
fn fields() -> Vec<Case> {
    let mut cases = vec![
        changed("a server that is a list of lists", "/clusters/0/cluster/server", json!([[]])),
        changed("a current context that forges", "/current-context", WORDS.into()),
        changed("a user that forges", "/contexts/0/context/user", WORDS.into()),
        // All of it fits together; nobody answers.
        with("names that forge", escaped(&good()).replace("\"a\"", &escaped(&WORDS.into()))),
    ];
    let many = |what: &str, count: usize| {
        let mut config = good();
        let one = config[what][0].clone();
        let named = |n: usize| {
            let mut one = one.clone();
            one["name"] = format!("n{n}\nerror: FORGED").into();
            one
        };
        config[what] = (0..count).map(named).collect();
        with(format!("{count} {what}, and not the one"), escaped(&config))
    };
    cases.extend(["contexts", "users"].into_iter().map(|what| many(what, 20_000)));
    cases
}

fn servers() -> Vec<Case> {
    let long = format!("http://{}", "a.".repeat(1_000_000));
    let here = server();
    let servers = [
        "://",
        "file:///etc/passwd",
        "http://HERE\r\nx-more: FORGED",
        "http://user:hunter2@HERE",
        "http://HERE\u{202e}",
        &long,
    ];
    let mut cases = Vec::new();
    for (n, server) in servers.iter().enumerate() {
        let name = format!("server {n}, {:.40}", server.escape_debug().to_string());
        cases.push(changed(name, "/clusters/0/cluster/server", server.replace("HERE", &here).into()));
    }
    for (n, proxy) in ["ftp://user:hunter2@HERE", "http://user:hunter2@", &long].into_iter().enumerate() {
        cases.push(changed(
            format!("proxy {n}, {:.40}", proxy.escape_debug().to_string()),
            "/clusters/0/cluster/proxy-url",
            proxy.replace("HERE", &here).into(),
        ));
    }
    let forged = json!({"server": secure(), "tls-server-name": WORDS});
    cases.push(changed("a TLS name that forges", "/clusters/0/cluster", forged));
    cases
}

fn sizes() -> Vec<Case> {
    let mut cases = vec![
        changed("a name of 10 megabytes", "/current-context", "n".repeat(10 << 20).into()),
        changed(
            "a server of 10 megabytes",
            "/clusters/0/cluster/server",
            format!("{}/{}", plain(), "n".repeat(10 << 20)).into(),
        ),
        with("30 megabytes of spaces", format!("{}{}", " ".repeat(30 << 20), good())),
        with("a megabyte of documents", "---\n".repeat(250_000)),
    ];
    let preferences: Value =
        (0..100_000).map(|n| (format!("k{n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
    cases.push(changed("100000 preferences", "/preferences", preferences));
    cases
}

fn on_disk() -> Vec<Case> {
    type Make = fn(&Path);
    let sorts: [(&str, &str, Make); 3] = [
        ("a folder", "", |file| fs::create_dir(file).unwrap()),
        ("zeros without end", "a device, not a regular file", |file| symlink("/dev/zero", file).unwrap()),
        ("a terabyte", "larger than", |file| fs::File::create(file).unwrap().set_len(1 << 40).unwrap()),
    ];
    let mut cases = Vec::new();
    for (sort, why, make) in sorts {
        let case = Case::new(format!("a kubeconfig on disk: {sort}"), PLAN, &REFUSED);
        let case = case.fed(move |dir| make(&dir.join("config"))).says("error: source: kubeconfig config: ");
        cases.push(case.says(why));
    }
    // Files that a kubeconfig names, which are read with our rights.
    for target in ["/dev/zero", "huge"] {
        let huge = |dir: &Path| fs::File::create(dir.join("huge")).unwrap().set_len(1 << 40).unwrap();
        for field in ["client-certificate", "client-key", "tokenFile", "certificate-authority"] {
            let mut config = good();
            config["clusters"][0]["cluster"]["server"] = secure().into();
            match field {
                "certificate-authority" => config["clusters"][0]["cluster"][field] = target.into(),
                "tokenFile" => config["users"][0]["user"] = json!({ field: target }),
                _ => {
                    let none = base64(b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n");
                    config["users"][0]["user"] =
                        json!({"client-certificate-data": none, "client-key-data": none});
                    let user = config["users"][0]["user"].as_object_mut().unwrap();
                    user.remove(&format!("{field}-data"));
                    user.insert(field.to_owned(), target.into());
                }
            }
            let case = with(format!("{field} in {target}"), config.to_string());
            cases.push(case.fed(huge).says("error: source: kubeconfig config, context \"a\": "));
        }
    }
    cases
}
