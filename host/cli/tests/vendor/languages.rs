//! Plugins in other languages, from an empty folder to the answers of hooks, and in Go to a customer's plan. Only the program and the
//! language's tools are at hand.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use tempfile::TempDir;

use super::{Folder, RELATED, answers, err, lines, npm_cache, out, repository};

#[test]
fn go_plugin_answers_as_the_rust_one() {
    // Everything is in the project.
    build_template("go", "export GOPROXY=off GOFLAGS=");
}

#[test]
fn javascript_plugin_answers_as_the_rust_one() {
    let cache = npm_cache().display().to_string();
    let tools = format!("export npm_config_cache={cache} npm_config_prefer_offline=true");
    let folder = build_template("javascript", &tools);
    // Before 20.19, Node doesn't run the executable of the package, which has no extension.
    let package = fs::read_to_string(folder.path("my-hosts/package.json")).unwrap();
    assert!(package.contains("\"build\": \"node node_modules/"), "{package}");
    let inspected = folder.typed("my-hosts", "pivot-host plugin inspect plugins/my-hosts.wasm");
    assert!(inspected.contains("\n  hooks    relate, hold\n"), "{inspected}");
    assert!(inspected.contains("\n  imports  types, config, log\n  inert    none\n"), "{inspected}");
    let checked = out(&folder.host(0, &["plugin", "check", "my-hosts/my-hosts.wasm"]));
    assert!(checked.starts_with("my-hosts: no findings in "), "{checked}");
}

/// docs/go-plugin.md is one shell session: a vendor's plugin reaches a customer. Each line of its output is on the page.
#[test]
fn go_plugin_reaches_a_customer() {
    let page = fs::read_to_string(repository().join("docs/go-plugin.md")).unwrap();
    let blocks = |language: &str| -> Vec<String> {
        let start = format!("```{language}\n");
        page.split(&start).skip(1).map(|block| block.split("```").next().unwrap().to_owned()).collect()
    };
    let folder = TempDir::new().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_pivot-host")).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap();
    let mut shell = Command::new("sh");
    // The vendor has no cache of modules and no network.
    shell.env_clear().env("GOPROXY", "off").env("GOTOOLCHAIN", "local").env("HOME", folder.path());
    shell.env("PATH", env::join_paths([program].into_iter().chain(env::split_paths(&path))).unwrap());
    // Kept, so that a second run builds only the plugin.
    shell.env("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go"));
    let output = shell.current_dir(folder.path()).args(["-ec", &blocks("sh").concat()]).output().unwrap();
    let said = out(&output);
    assert!(output.status.success(), "{said}{}", err(&output));
    let expected = blocks("text").concat();
    assert!(expected.lines().count() > 8, "{expected}");
    for line in expected.lines() {
        assert!(said.lines().any(|printed| printed == line), "no line {line:?} in\n{said}");
    }
}

/// Does the steps of the project's README, after a line for the tools.
fn build_template(language: &str, tools: &str) -> Folder {
    let folder = Folder { dir: TempDir::new().unwrap() };
    folder.typed("", &format!("pivot-host plugin new my-hosts --lang {language}"));
    let readme = lines(&fs::read_to_string(folder.path("my-hosts/README.md")).unwrap());
    let (build, rest) = readme.split_at(2);
    for line in build {
        folder.typed("my-hosts", &format!("{tools}; {line}"));
    }
    folder.typed("my-hosts", &rest[0]);
    assert_eq!(rest[1], "pivot-host plugin inspect plugins/my-hosts.wasm");
    let related = rest.iter().find(|line| line.contains("--hook relate")).unwrap();
    assert_eq!(answers(&folder.typed("my-hosts", related)), RELATED);
    folder
}
