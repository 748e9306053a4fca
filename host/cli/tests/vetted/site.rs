//! A folder with plugins, and the program that is run in it.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::schemas;

pub(crate) struct Site {
    dir: TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("plugins")).unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// Puts a component of the tests there.
    pub(crate) fn guest(&self, name: &str, file: &str) {
        std::fs::copy(pivot_guests::guest(name).unwrap(), self.path(file)).unwrap();
    }

    /// Runs the program, which has to end with this code.
    pub(crate) fn host(&self, code: i32, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        // Nothing of the machine that runs the tests counts.
        command.env_clear().current_dir(self.dir.path()).args(arguments);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
        output
    }

    /// Digests and sizes change with the compiler.
    pub(crate) fn without_digests(&self, text: &str) -> String {
        let vague = |line: &str| match line.trim_start().split(' ').next() {
            Some(word @ ("sha256" | "size")) => format!("  {word} …\n"),
            _ => format!("{line}\n"),
        };
        text.lines().map(vague).collect()
    }
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What is written for programs, which is as its schema says.
pub(crate) fn json(output: &Output) -> Value {
    let document =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", out(output)));
    schemas::check(&document);
    document
}
