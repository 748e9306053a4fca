//! Checks that all tools are there. A missing tool is a failure that says what to do, not a skipped stage.

use anyhow::{Result, bail};

use super::stages::Stage;
use crate::book;
use crate::debian::of_debian;
use crate::shell::{say, works};

/// Fails unless the chosen stages have what they need. Installs what rustup and apt-get can install.
pub(super) fn check(chosen: &[Stage]) -> Result<()> {
    let mut missing = Vec::new();
    if !works("cargo", &["--version"]) {
        missing.push("cargo: install Rust from https://rustup.rs".to_owned());
    }
    for (stage, command, component) in [(Stage::Fmt, "fmt", "rustfmt"), (Stage::Clippy, "clippy", "clippy")] {
        if chosen.contains(&stage) {
            missing.extend(component_of_rust(command, component));
        }
    }
    if chosen.contains(&Stage::Unit) {
        missing.extend(of_debian("dot", "-V", "graphviz", "the pictures of plans are read by it"));
        missing.extend(of_debian(
            "groff",
            "--version",
            "groff-base",
            "the pages of the manual are read by it",
        ));
        missing.extend(of_debian("jq", "--version", "jq", "vendors read documents with it"));
        if !works("go", &["version"]) {
            missing.push("go: plugins in Go are built with Go 1.25 or later; see its web site".to_owned());
        }
    }
    if [Stage::Unit, Stage::Vetting, Stage::Release].iter().any(|stage| chosen.contains(stage)) {
        let why = "it makes keys and signatures as sites do";
        missing.extend(of_debian("openssl", "version", "openssl", why));
    }
    if chosen.contains(&Stage::Vetting) {
        missing.extend(of_debian(
            "jq",
            "--version",
            "jq",
            "the walk of publishing writes its catalogue with it",
        ));
    }
    if chosen.contains(&Stage::Release) {
        let why = "the image's program is tried without capabilities";
        missing.extend(of_debian("capsh", "--mode", "libcap2-bin", why));
    }
    if chosen.contains(&Stage::Docs) || chosen.contains(&Stage::Release) {
        missing.extend(book::missing_installer());
    }
    if chosen.contains(&Stage::Page) {
        missing.extend(of_debian("/usr/bin/chromium", "--version", "chromium", "pages are opened in it"));
    }
    if chosen.contains(&Stage::Page) || chosen.contains(&Stage::Unit) {
        let why = "the page of plans and plugins in JavaScript are built with it";
        missing.extend(of_debian("npm", "--version", "npm", why));
    }
    let with_servers = chosen.iter().any(|stage| stage.needs_servers());
    if (with_servers || chosen.contains(&Stage::Unit)) && !works("go", &["version"]) {
        let why = "servers and plugins in Go are built with it";
        missing
            .push(format!("go: {why}; see its web site, because packages of distributions may be too old"));
    }
    if with_servers && !works("git", &["--version"]) {
        missing.push("git: the lab builds its servers with it; `apt-get install git`".to_owned());
    }
    if missing.is_empty() { Ok(()) } else { bail!("something is missing:\n  - {}", missing.join("\n  - ")) }
}

fn component_of_rust(command: &str, component: &str) -> Option<String> {
    if works("cargo", &[command, "--version"]) {
        return None;
    }
    if works("rustup", &["--version"]) {
        say(&format!("Installing {component} with rustup: `cargo {command}` is not there yet"));
        if works("rustup", &["component", "add", component]) {
            return None;
        }
    }
    Some(format!("{component}: `rustup component add {component}`, or the package of your distribution"))
}
