//! What may come into the program: holds `deny.toml` against the dependencies with cargo-deny.
//!
//! cargo-deny is no part of a Rust toolchain. It is built once, by version, beside the servers of the lab. Known holes are looked
//! up where their database can be had; where it can't, that is said, and bans, licences and sources are checked all the same.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{cache, must, root, say};

const VERSION: &str = "0.20.2";
const DATABASE: &str = "https://github.com/rustsec/advisory-db";

pub(crate) fn run() -> Result<()> {
    let program = installed()?;
    let check = |what: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(root()?).args(["--log-level", "error", "--locked", "check"]).args(what);
        must(&mut command)
    };
    check(&["bans", "licenses", "sources"])?;
    let reached = Command::new("git").args(["ls-remote", "--quiet", DATABASE, "HEAD"]).output();
    if reached.is_ok_and(|output| output.status.success()) {
        return check(&["advisories"]);
    }
    say(&format!("advisories were not looked up: {DATABASE} can't be reached from here"));
    Ok(())
}

/// cargo-deny, built now if it never was.
fn installed() -> Result<PathBuf> {
    let cache = cache()?;
    let place = cache.join("tools").join(format!("cargo-deny-{VERSION}"));
    let program = place.join("bin/cargo-deny");
    if !program.exists() {
        say(&format!("building cargo-deny {VERSION}, once (a few minutes)"));
        let mut install = Command::new("cargo");
        // cargo-deny runs for seconds, and an optimised build of it takes three times as long.
        install
            .args(["install", "cargo-deny", "--debug", "--locked", "--version", VERSION, "--root"])
            .arg(&place);
        std::fs::create_dir_all(&cache).context("make the folder for tools")?;
        // Built apart from the project, with the features of nobody else.
        install.current_dir(&cache).env("CARGO_TARGET_DIR", place.join("target"));
        must(&mut install)?;
        std::fs::remove_dir_all(place.join("target")).context("remove what building cargo-deny left")?;
    }
    Ok(program)
}
