//! The C compiler for arm64 on another machine: Debian's cross compiler with the headers of musl for arm64, which Debian has in a package
//! of that architecture. Rust's own target brings musl itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::debian::of_debian;
use crate::shell::{cache, must, said};

/// The target, in the compiler's words.
pub(super) const TRIPLE: &str = "aarch64-unknown-linux-musl";
const COMPILER: &str = "aarch64-linux-gnu-gcc";
const ARCHIVER: &str = "aarch64-linux-gnu-ar";
/// Package with the headers.
const HEADERS: &str = "musl-dev:arm64";
/// Runs programs of arm64.
const EMULATOR: &str = "qemu-aarch64-static";
/// Name under which the kernel knows the emulator.
const FORMAT: &str = "qemu-aarch64";

/// Returns what is missing, if it can't be installed.
pub(super) fn missing_compiler() -> Option<String> {
    let compiler = || of_debian(COMPILER, "--version", "gcc-aarch64-linux-gnu", "C code is compiled with it");
    let emulator =
        || of_debian(EMULATOR, "--version", "qemu-user-static", "the program for arm64 is tried with it");
    let enabler = || of_debian("update-binfmts", "--version", "binfmt-support", "it enables the emulator");
    compiler().or_else(emulator).or_else(enabler)
}

/// Has the kernel start programs of arm64 in the emulator: also those that such a program starts, and in a root directory without it.
pub(super) fn enable_emulator() -> Result<()> {
    must(Command::new("update-binfmts").args(["--enable", FORMAT]))?;
    let file = Path::new("/proc/sys/fs/binfmt_misc").join(FORMAT);
    let format = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let flags = format.lines().find_map(|line| line.strip_prefix("flags: ")).unwrap_or_default();
    if !format.starts_with("enabled") || !flags.contains('F') {
        bail!("{} is not enabled with flag F, so no program of arm64 starts:\n{format}", file.display());
    }
    Ok(())
}

/// Returns the variables with which cargo compiles C code and links for arm64.
pub(super) fn variables() -> Result<Vec<(String, OsString)>> {
    let suffix = TRIPLE.replace('-', "_");
    // Headers of the compiler itself, such as stdarg.h.
    let own = said(Command::new(COMPILER).arg("-print-file-name=include"))?;
    let flags = format!("-nostdinc -isystem {} -isystem {}", own.trim(), headers()?.display());
    Ok(vec![
        (format!("CC_{suffix}"), COMPILER.into()),
        (format!("AR_{suffix}"), ARCHIVER.into()),
        (format!("CFLAGS_{suffix}"), flags.into()),
        (format!("CARGO_TARGET_{}_LINKER", suffix.to_uppercase()), COMPILER.into()),
    ])
}

/// Returns the folder of the headers, which are loaded once. The package isn't installed: this machine keeps its architecture.
fn headers() -> Result<PathBuf> {
    let folder = cache()?.join("tools/musl-arm64");
    let headers = folder.join("usr/include/aarch64-linux-musl");
    if headers.is_dir() {
        return Ok(headers);
    }
    let work = folder.with_extension("loading");
    for below in ["lists/partial", "archives/partial"] {
        fs::create_dir_all(work.join(below)).with_context(|| format!("create {}", work.display()))?;
    }
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        let set = |name: &str, path: &str| format!("{name}={}", work.join(path).display());
        let places = [set("Dir::State::Lists", "lists"), set("Dir::Cache::Archives", "archives")];
        command.args(["-qq", "-o", "APT::Architectures::=arm64", "-o", &places[0], "-o", &places[1]]);
        command.args(words).current_dir(&work);
        must(&mut command)
    };
    apt(&["update"])?;
    apt(&["download", HEADERS])?;
    let script = "dpkg -x musl-dev_*_arm64.deb unpacked";
    must(Command::new("sh").args(["-c", script]).current_dir(&work))?;
    fs::rename(work.join("unpacked"), &folder).context("keep the headers")?;
    fs::remove_dir_all(&work)?;
    Ok(headers)
}
