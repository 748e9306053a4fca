//! Counts passed and failed tests in cargo's output.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell::{say, shown};

/// Counts of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        let Self { passed, failed } = *other;
        self.passed += passed;
        self.failed += failed;
    }

    /// Takes in a line: `test result: ok. 5 passed; 0 failed; 0 ignored; …`.
    fn read(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else { return };
        let Some((_, counts)) = counts.split_once(". ") else { return };
        for part in counts.split("; ") {
            match part.split_once(' ').map(|(number, what)| (number.parse::<usize>(), what)) {
                Some((Ok(number), "passed")) => self.passed += number,
                Some((Ok(number), "failed")) => self.failed += number,
                _ => {}
            }
        }
    }
}

/// The last line of a run.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Runs tests, passes on their output and counts them.
pub(super) fn counted(command: &mut Command, tally: &mut Tally) -> Result<()> {
    let shown = shown(command);
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("start `{shown}`"))?;
    let output = child.stdout.take().context("the output of cargo is a pipe")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        tally.read(&line);
        say(&line);
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_binaries_count() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            tally.read(line);
        }
        assert_eq!(tally.to_string(), "4 passed, 2 failed");
    }
}
