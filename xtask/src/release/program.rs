//! The program as it is released: static, so that it runs in any distribution and in an empty container.
//!
//! The C library is musl. glibc can be linked in too, but looks up names with libraries that it loads at run time, which must then be
//! of the same version as the ones it was built with.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::debian::of_debian;
use crate::shell::{cargo, must, root, target, works};

/// What it is built for, in the compiler's words.
pub(super) fn triple() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// Builds it, and returns its path.
pub(super) fn build() -> Result<PathBuf> {
    let triple = triple();
    let missing =
        [rust_for(&triple), of_debian("musl-gcc", "--version", "musl-tools", "C code is compiled with it")];
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    if !missing.is_empty() {
        bail!("something is missing:\n  - {}", missing.join("\n  - "));
    }
    let mut build = cargo(&["build", "--locked", "--profile", "dist", "--package", "pivot-host"])?;
    build.args(["--target", &triple]).env(format!("CC_{}", triple.replace('-', "_")), "musl-gcc");
    must(build.env("CARGO_ENCODED_RUSTFLAGS", flags()?))?;
    let binary = target()?.join(&triple).join("dist/pivot-host");
    if !binary.is_file() {
        bail!("cargo built pivot-host, but it is not at {}", binary.display());
    }
    Ok(binary)
}

/// The standard library for the target; what to do if it can't be had.
fn rust_for(triple: &str) -> Option<String> {
    let installed = works("rustup", &["--version"]) && works("rustup", &["target", "add", triple]);
    (!installed).then(|| format!("Rust's standard library for {triple}: `rustup target add {triple}`"))
}

/// Where it was built is nobody's business, and would make two builds differ.
fn flags() -> Result<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = match home {
        Some(home) => home,
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cargo"),
    };
    let remap = |from: PathBuf, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    Ok([remap(home, "cargo"), remap(root()?, "pivot-host")].join("\u{1f}"))
}
