//! The program as users run it.

use std::process::{Command, Output};

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
