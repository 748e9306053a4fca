//! Output of pivot-host for other programs, read by these: bash, groff, Graphviz.
//!
//! `cargo test` runs what needs no other program, so this test is asked for by name.

#[cfg(test)]
mod graphviz;
#[cfg(test)]
mod installed;

#[cfg(test)]
mod program {
    use std::process::{Command, Output};

    pub(crate) fn host(arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        // Nothing of the machine that runs the tests counts.
        command.env_clear().current_dir(std::env::temp_dir());
        command.args(arguments).output().unwrap()
    }

    pub(crate) fn code(output: &Output) -> i32 {
        output.status.code().unwrap()
    }

    pub(crate) fn out(output: &Output) -> String {
        String::from_utf8(output.stdout.clone()).unwrap()
    }

    pub(crate) fn err(output: &Output) -> String {
        String::from_utf8(output.stderr.clone()).unwrap()
    }
}
