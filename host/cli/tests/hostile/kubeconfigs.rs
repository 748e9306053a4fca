//! Kubeconfigs that somebody sent: no connection is tried that they don't make sense of, and no credential is quoted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::case::Case;
use crate::credentials::{self, base64};
use crate::server::{Answer, Server};
use crate::words::WORDS;
use crate::workload;

const PLAN: &str = "plan --kubeconfig config -A";
const REFUSED: [i32; 1] = [3];

pub(crate) fn cases() -> Vec<Case> {
    let stored = [texts(), types(), credentials::cases()].concat();
    let by_tenants = workload::cases(&stored);
    [stored, names(), missing(), servers(), sizes(), on_disk(), by_tenants].concat()
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
    let texts: [(&str, Vec<u8>); 29] = [
        ("nothing", vec![]),
        ("a remark", b"# hunter2\n".to_vec()),
        ("a word", b"hunter2".to_vec()),
        ("a list", b"- hunter2\n".to_vec()),
        ("a number", b"12\n".to_vec()),
        ("null", b"null\n".to_vec()),
        ("half of it", good[..good.len() / 2].into()),
        ("itself twice", good.repeat(2).into()),
        ("two documents", format!("{good}\n---\n{good}\n").replace("\"a\"", "\"b\"").into()),
        ("a tab", format!("{yaml}contexts:\n\t- hunter2\n").into()),
        ("a text without an end", format!("{yaml}users: \"hunter2\n").into()),
        ("an anchor that is not there", format!("{yaml}users: *hunter2\n").into()),
        ("an anchor in itself", format!("{yaml}users: &a [*a]\n").into()),
        (
            "a tag of Python",
            format!("{yaml}users: !!python/object/apply:os.system ['touch hunter2']\n").into(),
        ),
        ("a tag that there is none of", format!("{yaml}users: !hunter2 []\n").into()),
        ("a key twice", format!("{yaml}current-context: hunter2\n").into()),
        ("a key that is a map", format!("{yaml}? {{a: hunter2}}\n: 1\n").into()),
        ("UTF-16 that ends midway", b"\xff\xfe\0".to_vec()),
        ("UTF-16, the other way round, that ends midway", b"\xfe\xff\0h\0".to_vec()),
        ("UTF-16", b"\xff\xfeh\0u\0n\0t\0e\0r\x002\0".to_vec()),
        ("Latin-1", b"users: \xe4 hunter2\n".to_vec()),
        ("a NUL", b"users: \0 hunter2\n".to_vec()),
        ("binary", b"\0asm\x0d\0\x01\0hunter2".to_vec()),
        ("a key in PEM", b"-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n".to_vec()),
        ("lines that look like ours", b"error: FORGED\nnext: FORGED\n".to_vec()),
        ("another object", b"apiVersion: v1\nkind: Secret\nstringData: {a: hunter2}\n".to_vec()),
        ("an alias bomb", bomb(9).into()),
        ("a larger alias bomb", bomb(30).into()),
        ("a bomb of merges", merges(30).into()),
    ];
    let mut cases: Vec<Case> = texts
        .into_iter()
        .map(|(name, content)| with(format!("a kubeconfig that is {name}"), content))
        .collect();
    for levels in [120, 1_000, 100_000] {
        let deep = |open: &str, close: &str| {
            format!("{yaml}users: {}{}\n", open.repeat(levels), close.repeat(levels))
        };
        cases.push(with(format!("lists in lists, {levels} levels"), deep("[", "]")));
        cases.push(with(format!("maps in maps, {levels} levels"), deep("{a: ", "}")));
        cases.push(with(format!("lists without an end, {levels} levels"), deep("[", "")));
        cases.push(with(
            format!("dashes, {levels} levels"),
            format!("{yaml}users:\n  {}hunter2\n", "- ".repeat(levels)),
        ));
    }
    cases
}

/// Each level is ten of the one before.
fn bomb(levels: usize) -> String {
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

fn types() -> Vec<Case> {
    let values = [
        ("nothing", json!(null)),
        ("a number", json!(1)),
        ("yes", json!(true)),
        ("words", json!("FORGED")),
        ("a list of nothing", json!([null])),
        ("a list of lists", json!([[]])),
        ("a map of maps", json!({"a": {}})),
    ];
    let fields: [(&str, &[&str]); 13] = [
        ("/current-context", &[]),
        ("/contexts", &[]),
        ("/contexts/0", &[]),
        ("/contexts/0/name", &[]),
        ("/contexts/0/context", &[]),
        ("/contexts/0/context/cluster", &[]),
        ("/contexts/0/context/user", &[]),
        ("/clusters", &[]),
        ("/clusters/0/cluster", &[]),
        ("/clusters/0/cluster/server", &[]),
        ("/users", &[]),
        ("/users/0", &[]),
        ("/users/0/name", &[]),
    ];
    let mut cases = Vec::new();
    for (at, right) in fields {
        for (sort, value) in values.iter().filter(|(sort, _)| !right.contains(sort)) {
            cases.push(changed(format!("{at} is {sort}"), at, value.clone()));
        }
    }
    cases
}

/// Words where names are.
fn names() -> Vec<Case> {
    let mut cases = Vec::new();
    for (sort, words) in WORDS {
        for at in [
            "/current-context",
            "/contexts/0/name",
            "/contexts/0/context/cluster",
            "/contexts/0/context/user",
            "/users/0/name",
            "/clusters/0/name",
        ] {
            cases.push(changed(format!("{at} is {sort}"), at, words.into()));
        }
        // All of it fits together; nobody answers.
        let text = escaped(&good()).replace("\"a\"", &escaped(&words.into()));
        cases.push(with(format!("all names are {sort}"), text));
        cases.push(changed(format!("the server is {sort}"), "/clusters/0/cluster/server", words.into()));
    }
    cases
}

fn missing() -> Vec<Case> {
    let mut cases = Vec::new();
    for at in ["current-context", "contexts", "clusters", "users"] {
        let mut config = good();
        config.as_object_mut().unwrap().remove(at);
        cases.push(with(format!("without {at}"), config.to_string()));
        let mut config = good();
        config[at] = if at == "current-context" { json!("") } else { json!([]) };
        cases.push(with(format!("with an empty {at}"), config.to_string()));
    }
    for (at, field) in [
        ("/contexts/0", "context"),
        ("/contexts/0/context", "cluster"),
        ("/contexts/0/context", "user"),
        ("/clusters/0", "cluster"),
        ("/clusters/0/cluster", "server"),
    ] {
        let mut config = good();
        config.pointer_mut(at).unwrap().as_object_mut().unwrap().remove(field);
        cases.push(with(format!("without {at}/{field}"), config.to_string()));
    }
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
    cases.extend(
        ["contexts", "users", "clusters"].into_iter().flat_map(|what| [many(what, 2), many(what, 20_000)]),
    );
    cases
}

fn servers() -> Vec<Case> {
    let long = format!("http://{}", "a.".repeat(1_000_000));
    let here = server();
    let servers = [
        "",
        "a",
        "://",
        "http://",
        "https://",
        "http:///x",
        "//HERE",
        "HERE",
        "http://HERE9999999999",
        "http://127.0.0.1:-1",
        "http://[::1",
        "http://[zz]:9",
        "http://HERE/%zz",
        "http://HERE/../..",
        "http://HERE/?a=hunter2",
        "http://HERE/#x",
        "file:///etc/passwd",
        "unix:///var/run/docker.sock",
        "gopher://HERE",
        "ftp://HERE",
        "javascript:alert(1)",
        "data:,x",
        "http://HERE http://b",
        "http://HERE\nerror: FORGED",
        "http://HERE\r\nx-more: FORGED",
        "http://user:hunter2@HERE",
        "http://hunter2@HERE",
        "HTTP://HERE",
        "https://HERE",
        "http://\u{202e}:9",
        "http://HERE\u{202e}",
        "1",
        "true",
        "https:HERE",
        "https:/HERE",
        &long,
    ];
    let mut cases = Vec::new();
    for (n, server) in servers.iter().enumerate() {
        let name = format!("server {n}, {:.40}", server.escape_debug().to_string());
        cases.push(changed(name, "/clusters/0/cluster/server", server.replace("HERE", &here).into()));
    }
    for (n, proxy) in [
        "a",
        "://",
        "http://",
        "ftp://HERE",
        "ftp://user:hunter2@HERE",
        "https:hunter2@a",
        "\n",
        "http://user:hunter2@",
        &long,
    ]
    .into_iter()
    .enumerate()
    {
        cases.push(changed(
            format!("proxy {n}, {:.40}", proxy.escape_debug().to_string()),
            "/clusters/0/cluster/proxy-url",
            proxy.replace("HERE", &here).into(),
        ));
    }
    for (sort, words) in WORDS {
        cases.push(changed(
            format!("a TLS name that is {sort}"),
            "/clusters/0/cluster",
            json!({"server": secure(), "tls-server-name": words}),
        ));
    }
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
        with("10 megabytes of remarks", "# hunter2\n".repeat(1 << 20)),
        with("a megabyte of documents", "---\n".repeat(250_000)),
    ];
    let preferences: Value =
        (0..100_000).map(|n| (format!("k{n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
    cases.push(changed("100000 preferences", "/preferences", preferences));
    cases
}

fn on_disk() -> Vec<Case> {
    type Make = fn(&Path);
    let why = |sort: &str| match sort {
        "a link to zeros without end" | "a link to chance without end" => "a device, not a regular file",
        "a terabyte" | "a hundred megabytes" => "larger than",
        _ => "",
    };
    let sorts: [(&str, Make); 9] = [
        ("nothing", |_| ()),
        ("a folder", |file| fs::create_dir(file).unwrap()),
        ("a link to itself", |file| symlink("config", file).unwrap()),
        ("a link to nothing", |file| symlink("gone", file).unwrap()),
        ("a link to zeros without end", |file| symlink("/dev/zero", file).unwrap()),
        ("a link to chance without end", |file| symlink("/dev/urandom", file).unwrap()),
        ("a link to the passwords", |file| symlink("/etc/passwd", file).unwrap()),
        ("a terabyte", |file| fs::File::create(file).unwrap().set_len(1 << 40).unwrap()),
        ("a hundred megabytes", |file| fs::File::create(file).unwrap().set_len(100 << 20).unwrap()),
    ];
    let mut cases = Vec::new();
    for (sort, make) in sorts {
        let case = Case::new(format!("a kubeconfig on disk: {sort}"), PLAN, &REFUSED);
        let case = case.fed(move |dir| make(&dir.join("config"))).says("error: source: kubeconfig config: ");
        cases.push(case.says(why(sort)));
    }
    // Files that a kubeconfig names, which are read with our rights.
    for target in ["/dev/zero", "/dev/urandom", "/proc/self/mem", "huge"] {
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
