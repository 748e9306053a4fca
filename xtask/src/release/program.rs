//! The program as it is released: static, so that it runs in any distribution and in an empty container.
//!
//! The C library is musl. glibc can be linked in too, but looks up names with libraries that it loads at run time, which must then be
//! of the same version as the ones it was built with.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::cross;
use crate::debian::of_debian;
use crate::shell::{cargo, must, root, target, works};

/// Returns the targets of a release, in the compiler's words: this machine's, and on request arm64.
pub(super) fn triples(also_arm64: bool) -> Vec<String> {
    let own = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let cross = (also_arm64 && own != cross::TRIPLE).then(|| cross::TRIPLE.to_owned());
    [own].into_iter().chain(cross).collect()
}

/// Builds it for a target, and returns its path.
pub(super) fn build(triple: &str) -> Result<PathBuf> {
    let is_own = triple.starts_with(std::env::consts::ARCH);
    let compiler = match is_own {
        true => of_debian("musl-gcc", "--version", "musl-tools", "C code is compiled with it"),
        false => cross::missing_compiler(),
    };
    let missing: Vec<String> = [rust_for(triple), compiler].into_iter().flatten().collect();
    if !missing.is_empty() {
        bail!("something is missing:\n  - {}", missing.join("\n  - "));
    }
    let mut build = cargo(&["build", "--locked", "--profile", "dist", "--package", "pivot-host"])?;
    build.args(["--target", triple]).env("CARGO_ENCODED_RUSTFLAGS", flags()?);
    let variables = match is_own {
        true => vec![(format!("CC_{}", triple.replace('-', "_")), OsString::from("musl-gcc"))],
        false => cross::variables()?,
    };
    must(build.envs(variables))?;
    let binary = target()?.join(triple).join("dist/pivot-host");
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
