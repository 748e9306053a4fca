//! A plugin in Go, from an empty folder to a hook's answer: only the program and Go are at hand.

use std::fmt::Write as _;
use std::fs;

use tempfile::TempDir;

use super::{Folder, RELATED, answers, err, json, lines};

#[test]
fn go_plugin_answers_as_the_rust_one() {
    let folder = Folder { dir: TempDir::new().unwrap() };
    folder.typed("", "pivot-host plugin new my-hosts --lang go");
    let readme = lines(&fs::read_to_string(folder.path("my-hosts/README.md")).unwrap());
    let (build, rest) = readme.split_at(2);
    for line in build {
        // Everything is in the project.
        folder.typed("my-hosts", &format!("export GOPROXY=off GOFLAGS=; {line}"));
    }
    folder.typed("my-hosts", &rest[0]);
    let inspected = folder.typed("my-hosts", &rest[1]);
    assert!(inspected.contains("\n  hooks    relate, hold\n"), "{inspected}");
    assert!(inspected.contains("\n  imports  types, config, log\n  inert    none\n"), "{inspected}");
    let related = rest.iter().find(|line| line.contains("--hook relate")).unwrap();
    assert_eq!(answers(&folder.typed("my-hosts", related)), RELATED);
    holds(&folder);
    reports_configuration(&folder);
}

/// Go's garbage collector runs in some of the calls.
fn holds(folder: &Folder) {
    let mut objects = String::new();
    for n in 0..100 {
        let data = "x".repeat(1_000);
        let fields: String = (0..50).map(|field| format!(", f{field}: {data}")).collect();
        let meta = format!("{{name: o{n}, namespace: default}}");
        writeln!(
            objects,
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {meta}, data: {{a: b{fields}}}}}"
        )
        .unwrap();
    }
    fs::write(folder.path("objects.yaml"), objects).unwrap();
    let line = ["plugin", "run", COMPONENT, "--hook", "hold", "--objects", "objects.yaml", "-o", "json"];
    let ran = json(&folder.host(0, &line));
    let calls = ran["calls"].as_array().unwrap();
    let patch = serde_json::json!({"metadata": {"annotations": {"example.com/paused": "moving"}}});
    let patched = calls.iter().filter(|call| call["answer"] == patch).count();
    assert_eq!((calls.len(), patched), (100, 100), "{}", calls[0]);
    let mut times: Vec<u64> = calls.iter().filter_map(|call| call["timeUs"].as_u64()).collect();
    times.sort_unstable();
    println!("hold of 50 KB: {} µs in the middle, {} µs at most", times[50], times[99]);
}

fn reports_configuration(folder: &Folder) {
    let section = "[plugins.my-hosts]\nhooks = ['relate', 'hold']\nkinds = ['ConfigMap']\n\
                   changes = [{ hook = 'hold', kind = 'ConfigMap', side = 'source' }]\nconfig = { lable = 'x' }\n";
    fs::write(folder.path("trial.toml"), section).unwrap();
    let line =
        ["plugin", "run", COMPONENT, "--hook", "hold", "--objects", "objects.yaml", "--config", "trial.toml"];
    let refused = err(&folder.host(6, &line));
    assert!(refused.contains("configuration: lable: unknown field"), "{refused}");
}

const COMPONENT: &str = "my-hosts/my-hosts.wasm";
