//! Which compiler makes wasm on this machine.
//!
//! rustup's target is the usual one; Debian's compiler is for machines that can't reach Rust's servers. Setting
//! `PIVOT_GUESTS` to `rustup` or `debian` forces one of them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};

use crate::cache::Cache;

/// The target to build for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// No system interface at all; a plugin's whole authority is in its imports.
    #[default]
    Bare,
    /// WASI 0.2, which the host serves without authority.
    Wasi,
}

impl Target {
    pub(crate) const ALL: [Self; 2] = [Self::Bare, Self::Wasi];

    /// The compiler's name for it.
    pub fn triple(self) -> &'static str {
        match self {
            Self::Bare => "wasm32-unknown-unknown",
            Self::Wasi => "wasm32-wasip2",
        }
    }
}

impl FromStr for Target {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|target| target.triple() == text);
        known.with_context(|| {
            format!("no target `{text}`; there is {}", Self::ALL.map(Self::triple).join(", "))
        })
    }
}

/// A compiler for one target.
pub(crate) enum Toolchain {
    /// rustup has the target.
    Rustup,
    /// Debian's compiler, with the standard library built from source.
    Debian,
}

const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "wasi-libc"];
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_SOURCE: &str = "/usr/lib/rustlib/src/rust/library";
const WASI_LIBC: &str = "/usr/lib/wasm32-wasi";

impl Toolchain {
    pub(crate) fn find(target: Target) -> Result<Self> {
        match env::var("PIVOT_GUESTS").as_deref() {
            Ok("rustup") => rustup(target).map(|()| Self::Rustup),
            Ok("debian") => debian().map(|()| Self::Debian),
            Ok(other) => bail!("PIVOT_GUESTS is `{other}`; there is `rustup` and `debian`"),
            Err(_) => match rustup(target) {
                Ok(()) => Ok(Self::Rustup),
                Err(no_rustup) => match debian() {
                    Ok(()) => Ok(Self::Debian),
                    Err(no_debian) => Err(anyhow!(
                        "no compiler for {}.\nrustup: {no_rustup:#}\nDebian: {no_debian:#}\n\
                         Install either: `rustup target add {}`, or on Debian `apt-get install {}`",
                        target.triple(),
                        target.triple(),
                        PACKAGES.join(" ")
                    )),
                },
            },
        }
    }

    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Rustup => "rustup",
            Self::Debian => "debian",
        }
    }

    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Rustup => "rustup's target",
            Self::Debian => "Debian's compiler, the standard library from source",
        }
    }

    /// The compiler's version, for the cache.
    pub(crate) fn version(&self) -> Result<String> {
        let rustc = match self {
            Self::Rustup => "rustc",
            Self::Debian => DEBIAN_RUSTC,
        };
        run(Command::new(rustc).arg("-Vv"))
    }

    /// A cargo that builds for the target, and whose components say nothing of where they were built.
    pub(crate) fn cargo(&self, target: Target, place: &Path) -> Result<Command> {
        let mut command = Command::new(match self {
            Self::Rustup => "cargo",
            Self::Debian => DEBIAN_CARGO,
        });
        // Set by the cargo that runs this crate, for a different compiler and target.
        for name in
            ["RUSTC", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER", "CARGO"]
        {
            command.env_remove(name);
        }
        let mut flags = remapped(place);
        if matches!(self, Self::Rustup) {
            return Ok(flagged(command, &flags));
        }
        flags.push(format!("--remap-path-prefix={DEBIAN_SOURCE}=/rust/library"));
        command.args(["-Zbuild-std=std,panic_abort"]).env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1");
        match target {
            Target::Bare => {
                command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", tool("rust-lld", "wasm-ld")?);
            }
            Target::Wasi => {
                if !Path::new(WASI_LIBC).exists() {
                    bail!("{WASI_LIBC} is not there; `apt-get install wasi-libc`");
                }
                let linker = tool("wasm-component-ld", "wasm-component-ld")?;
                let dir = linker.parent().map(Path::to_owned).unwrap_or_default();
                flags.extend(["-Clink-self-contained=no".to_owned(), format!("-L{WASI_LIBC}")]);
                command
                    .env("PATH", path_with(&[dir.join("gcc-ld"), dir])?)
                    .env("CARGO_TARGET_WASM32_WASIP2_LINKER", linker);
            }
        }
        Ok(flagged(command, &flags))
    }
}

/// Flags after which panics name files below the workspace and below cargo's home, not where those are on this machine.
fn remapped(place: &Path) -> Vec<String> {
    let home = |name: &str| env::var_os(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let cargo = home("CARGO_HOME").or_else(|| home("HOME").map(|home| home.join(".cargo")));
    let known = [(Some(place.to_owned()), "/plugins"), (cargo, "/cargo")];
    let known = known.into_iter().filter_map(|(path, name)| Some((path?, name)));
    known.map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display())).collect()
}

/// Each flag on its own: paths may have spaces.
fn flagged(mut command: Command, flags: &[String]) -> Command {
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    command
}

/// Succeeds if rustup has the target, or can get it.
fn rustup(target: Target) -> Result<()> {
    if has_rustup_target(target)? {
        return Ok(());
    }
    // Several test executables find the target missing at the same time, and rustup itself serialises nothing: one reads the
    // manifest that another one is writing, and fails.
    let _lock = Cache::open()?.lock_file(".rustup.lock")?;
    if has_rustup_target(target)? {
        return Ok(());
    }
    run(Command::new("rustup").args(["target", "add", target.triple()])).map(drop)
}

fn has_rustup_target(target: Target) -> Result<bool> {
    let installed = run(Command::new("rustup").args(["target", "list", "--installed"]))?;
    Ok(installed.lines().any(|line| line.trim() == target.triple()))
}

/// Whether Debian's compiler and the library's source are there, or can be installed.
fn debian() -> Result<()> {
    let there =
        || [DEBIAN_CARGO, DEBIAN_RUSTC, DEBIAN_SOURCE, WASI_LIBC].iter().all(|path| Path::new(path).exists());
    if there() {
        return Ok(());
    }
    if !Path::new("/etc/debian_version").exists() {
        bail!("this is no Debian");
    }
    if run(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("only root can install {}", PACKAGES.join(" "));
    }
    let _lock = Cache::open()?.lock_file(".debian.lock")?;
    if there() {
        return Ok(());
    }
    run(Command::new("apt-get").args(["install", "-y", "--no-install-recommends"]).args(PACKAGES))
        .context("if the packages are not found, run `apt-get update`")?;
    if there() {
        Ok(())
    } else {
        bail!("{} were installed and are not where they should be", PACKAGES.join(" "))
    }
}

/// A linker from rustup's toolchain, or one on the path.
fn tool(name: &str, otherwise: &str) -> Result<PathBuf> {
    let sysroot = run(Command::new("rustc").args(["--print", "sysroot"])).unwrap_or_default();
    let host = run(Command::new("rustc").args(["--print", "host-tuple"])).unwrap_or_default();
    let bundled = Path::new(sysroot.trim()).join("lib/rustlib").join(host.trim()).join("bin").join(name);
    if bundled.is_file() {
        return Ok(bundled);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|dir| dir.join(otherwise)).find(|file| file.is_file()).with_context(|| {
        format!("no linker: neither {name} of a Rust toolchain nor {otherwise} (Debian: package lld)")
    })
}

fn path_with(first: &[PathBuf]) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(first.iter().cloned().chain(env::split_paths(&path)))?)
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
