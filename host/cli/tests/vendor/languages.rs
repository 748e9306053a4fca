//! Plugins in other languages, from an empty folder to the answers of hooks: only the program and the language's tools are at hand.

use std::fs;

use tempfile::TempDir;

use super::{Folder, RELATED, answers, lines, npm_cache, out};

#[test]
fn go_plugin_answers_as_the_rust_one() {
    // Everything is in the project.
    check_template("go", "export GOPROXY=off GOFLAGS=");
}

#[test]
fn javascript_plugin_answers_as_the_rust_one() {
    let cache = npm_cache().display().to_string();
    check_template("javascript", &format!("export npm_config_cache={cache} npm_config_prefer_offline=true"));
}

/// Does the steps of the project's README, after a line for the tools.
fn check_template(language: &str, tools: &str) {
    let folder = Folder { dir: TempDir::new().unwrap() };
    folder.typed("", &format!("pivot-host plugin new my-hosts --lang {language}"));
    let readme = lines(&fs::read_to_string(folder.path("my-hosts/README.md")).unwrap());
    let (build, rest) = readme.split_at(2);
    for line in build {
        folder.typed("my-hosts", &format!("{tools}; {line}"));
    }
    folder.typed("my-hosts", &rest[0]);
    let inspected = folder.typed("my-hosts", &rest[1]);
    assert!(inspected.contains("\n  hooks    relate, hold\n"), "{inspected}");
    assert!(inspected.contains("\n  imports  types, config, log\n  inert    none\n"), "{inspected}");
    let related = rest.iter().find(|line| line.contains("--hook relate")).unwrap();
    assert_eq!(answers(&folder.typed("my-hosts", related)), RELATED);
    let checked = out(&folder.host(0, &["plugin", "check", "my-hosts/my-hosts.wasm"]));
    assert!(checked.starts_with("my-hosts: no findings in "), "{checked}");
}
