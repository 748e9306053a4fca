//! Builds what is released, and tries it where there is nothing else: one archive with the program, static, under its three names,
//! completions, the manual, the book, the bundled plugins with their lock, licences and a list of all that is linked in.

mod archive;
mod crates;
mod cross;
mod deployment;
mod files;
mod image;
mod krew;
mod licences;
mod linked;
mod oci;
mod options;
mod part;
mod place;
mod privileges;
mod program;
mod sbom;
mod sign;
mod sums;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

#[cfg(test)]
pub(crate) use archive::installed_plugins;

use crate::executables::{build_test, build_tested_pivot_host};
use crate::shell::{cargo, must, said, say, target};
use archive::{Archive, FASTEST, SMALLEST};
use options::Options;

/// Name of the test that tries the files of a release with the tools that users have for them.
pub(crate) const TEST: &str = "release";

/// `cargo xtask release [--out DIR] [--url URL] [--key FILE] [--also arm64]`.
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let Options { out, url, key, also_arm64 } = Options::parse(typed)?;
    let commit = key.is_some().then(sign::committed_head).transpose()?;
    say(
        "== Building pivot-host for a release, for each architecture: static, with link-time optimisation (a quarter of an hour each the first time)",
    );
    let triples = program::triples(also_arm64);
    let programs = triples.iter().map(|triple| program::build(triple)).collect::<Result<Vec<_>>>()?;
    let own = programs.first().context("a release has a program")?;
    let pairs = triples.iter().zip(&programs);
    let archives = pairs.map(|(triple, program)| archive::write(program, own, triple, SMALLEST, &out));
    let archives = archives.collect::<Result<Vec<_>>>()?;
    let mut files = publish(&out, &archives, url.as_deref())?;
    trial::run(&out, &archives, &[])?;
    if let (Some(key), Some(commit)) = (&key, commit) {
        if sign::committed_head()? != commit {
            bail!("the work tree was at {commit} when the builds began, and isn't now, so nothing is signed");
        }
        files.extend(sign::write(&out, &files, key)?);
    }
    files.push(sums::SUMS.to_owned());
    say(&format!("\n{}: {}", out.display(), files.join(", ")));
    if url.is_none() {
        say("note: without --url there is no manifest for krew");
    }
    if key.is_none() {
        say("note: without --key nothing is signed");
    }
    Ok(())
}

/// Writes the files next to the archives, and returns the names of all files that the checksums list.
fn publish(out: &Path, archives: &[Archive], url: Option<&str>) -> Result<Vec<String>> {
    let mut files: Vec<String> = archives.iter().map(Archive::file_name).collect();
    files.push(oci::write(archives, out)?);
    if let Some(url) = url {
        files.extend(krew::write(url, archives, out)?);
    }
    sums::write(out, &files)?;
    Ok(files)
}

/// The same with the program that the tests run, which is not static: packed, and tried with the libraries that it needs. A key for
/// this run signs it.
pub(crate) fn of_tested() -> Result<()> {
    let out = target()?.join("release-tested");
    fs::create_dir_all(&out)?;
    let (tested, program) = (build_tested_pivot_host()?, out.join("pivot-host"));
    // A tenth of it is the program, the rest is for debuggers.
    must(Command::new("strip").arg("-o").args([&program, &tested]))?;
    let files = target()?.join("release-files");
    // Older files would be checked, too.
    if files.exists() {
        fs::remove_dir_all(&files).with_context(|| format!("remove {}", files.display()))?;
    }
    let archives = [archive::write(&program, &program, &tested_triple()?, FASTEST, &files)?];
    let published = publish(&files, &archives, Some("https://releases.example.com/v1"))?;
    let installed = trial::run(&files, &archives, &trial::libraries(&program)?)?;
    sign::write(&files, &published, &make_key(&out)?)?;
    say("== Trying the files with the tools that users have for them");
    let mut test = build_test(TEST)?;
    test.env("PIVOT_HOST_BIN", &tested).env("PIVOT_HOST_RELEASE", &installed);
    must(test.env("PIVOT_HOST_RELEASE_FILES", &files).env("PIVOT_HOST_RELEASE_KEY", out.join("key.pub")))?;
    package_sdk()
}

/// Makes a private key in a folder, and the public one beside it.
fn make_key(folder: &Path) -> Result<PathBuf> {
    let key = folder.join("key.pem");
    let options = ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"];
    said(Command::new("openssl").args(options).arg(&key))?;
    let public = folder.join("key.pub");
    said(Command::new("openssl").args(["pkey", "-pubout", "-in"]).arg(&key).arg("-out").arg(&public))?;
    Ok(key)
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
