//! The program as users run it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

/// KiB of addresses that it may need for a file that it refuses: for itself, and for each process that it starts.
const MEMORY: u32 = 640 << 10;

/// A command line.
pub(crate) fn host(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
    command.env_clear().args(arguments);
    command
}

/// The same where there is little memory: from a shell that lowers its own limit first.
pub(crate) fn narrow_host(arguments: &[&str]) -> Command {
    let mut command = Command::new("/bin/sh");
    command.env_clear().args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]);
    command.arg(env!("CARGO_BIN_EXE_pivot-host")).args(arguments);
    command
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The tests' own components, built once.
pub(crate) fn guest(name: &str) -> PathBuf {
    static BUILT: OnceLock<TempDir> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = TempDir::new().unwrap();
        pivot_guests::build_guests(&root.join("tests/guests"), &[&root.join("wit")], out.path()).unwrap();
        out
    });
    built.path().join(format!("{name}.wasm"))
}
