//! Builds what is released, and tries it where there is nothing else: one archive with the program, static, under its three names,
//! completions, the manual, the book, the bundled plugins with their lock, licences and a list of all that is linked in.

mod archive;
mod crates;
mod image;
mod licences;
mod linked;
mod part;
mod place;
mod program;
mod sbom;
mod trial;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

#[cfg(test)]
pub(crate) use archive::installed_plugins;

use crate::executables::build_tested_pivot_host;
use crate::shell::{cargo, must, said, say, target};

/// `cargo xtask release [--out DIR]`.
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let out = match typed {
        [] => target()?.join("release-archive"),
        ["--out", directory] => PathBuf::from(directory),
        other => bail!("cargo xtask release [--out DIR], not {:?}", other.join(" ")),
    };
    say(
        "== Building pivot-host for a release: static, with link-time optimisation (a quarter of an hour the first time)",
    );
    let program = program::build()?;
    let archive = archive::write(&program, &program::triple(), &out)?;
    trial::run(&archive, &[])?;
    say(&format!("\n{}\n{}", archive.display(), out.join(archive::SUMS).display()));
    Ok(())
}

/// The same with the program that the tests run, which is not static: packed, and tried with the libraries that it needs.
pub(crate) fn of_tested() -> Result<()> {
    let out = target()?.join("release-tested");
    std::fs::create_dir_all(&out)?;
    let (tested, program) = (build_tested_pivot_host()?, out.join("pivot-host"));
    // A tenth of it is the program, the rest is for debuggers.
    must(Command::new("strip").arg("-o").args([&program, &tested]))?;
    let archive = archive::write(&program, &tested_triple()?, &out)?;
    trial::run(&archive, &trial::libraries(&program)?)?;
    package_sdk()
}

/// Packages the crates that vendors use, as a registry takes them, and builds the packages.
fn package_sdk() -> Result<()> {
    say("== Packaging the SDK");
    let package = ["package", "--allow-dirty", "--package"];
    let files = said(&mut cargo(&[&package[..], &["pivot-sdk", "--list"]].concat())?)?;
    if !files.lines().any(|file| file == "wit/provider.wit") {
        bail!("the package pivot-sdk has no contract");
    }
    must(&mut cargo(&[&package[..], &["pivot-bounds", "--package", "pivot-sdk"]].concat())?)
}

/// What the tests' program is built for: this machine.
fn tested_triple() -> Result<String> {
    Ok(said(Command::new("rustc").args(["--print", "host-tuple"]))?.trim().to_owned())
}
