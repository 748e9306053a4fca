//! Runs test executables: one at a time with its output as it comes, or several side by side with the output of failures.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::history::History;
use super::results::MAX_SLOWEST;
use super::tally::{Clocked, Tally};
use crate::executables::Executable;
use crate::nightly::UNTIL;
use crate::shell::{say, shown};

/// Results of a stage.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) tally: Tally,
    /// Names and durations of tests.
    pub(super) tests: Vec<(String, Duration)>,
    /// Names and durations of executables.
    pub(super) executables: Vec<(String, Duration)>,
}

impl Outcome {
    /// The slowest tests, for the summary.
    pub(super) fn slowest(&self) -> Vec<(String, Duration)> {
        let mut tests = self.tests.clone();
        tests.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        tests.truncate(MAX_SLOWEST);
        tests
    }

    fn add(&mut self, other: Self) {
        self.tally.add(&other.tally);
        self.tests.extend(other.tests);
        self.executables.extend(other.executables);
    }
}

/// Runs one executable with `threads` tests at a time. `program` is the pivot-host that its tests start.
pub(super) fn run_one(
    executable: &Executable,
    threads: usize,
    program: &Path,
    outcome: &mut Outcome,
    print: &dyn Fn(&str),
) -> Result<()> {
    let mut command = executable.command();
    command.env("PIVOT_HOST_BIN", program);
    let passed = run(executable, command, threads, outcome, &mut |line| print(line))?;
    if passed { Ok(()) } else { bail!("tests of {} failed", executable.name) }
}

/// Runs executables side by side, `slots` at a time with `threads` tests each. Those that took longest last time begin first.
pub(super) fn run_side_by_side(
    mut executables: Vec<Executable>,
    slots: usize,
    threads: usize,
    history: &History,
    outcome: &mut Outcome,
) -> Result<()> {
    // One that never ran may be the longest.
    let time = |executable: &Executable| history.executable_time(&executable.name).unwrap_or(Duration::MAX);
    executables.sort_by_key(|executable| std::cmp::Reverse(time(executable)));
    let results = Mutex::new((outcome, Vec::new()));
    each_beside_others(executables, slots, |executable| {
        let (mut own, mut text) = (Outcome::default(), String::new());
        let mut keep = |line: &str| text.extend([line, "\n"]);
        let passed = run(&executable, executable.command(), threads, &mut own, &mut keep);
        let took = own.executables.first().map_or(Duration::ZERO, |(_, took)| *took);
        say(&format!("{:28} {} in {:.1} s", executable.name, own.tally, took.as_secs_f64()));
        let mut results = lock(&results);
        results.0.add(own);
        match passed {
            Ok(true) => {}
            Ok(false) => {
                say(&text);
                results.1.push(executable.name.clone());
            }
            Err(error) => results.1.push(format!("{}: {error:#}", executable.name)),
        }
    });
    let failed = results.into_inner().map_or_else(|poisoned| poisoned.into_inner().1, |(_, failed)| failed);
    if failed.is_empty() { Ok(()) } else { bail!("tests failed: {}", failed.join(", ")) }
}

/// Does something with each item, in their order, and with `slots` of them at a time.
fn each_beside_others<T: Send>(items: Vec<T>, slots: usize, act: impl Fn(T) + Sync) {
    let waiting = Mutex::new(items.into_iter());
    // As the condition of the loop below, it would hold the lock while an item is dealt with.
    let next = || lock(&waiting).next();
    std::thread::scope(|scope| {
        for _ in 0..slots {
            scope.spawn(|| {
                while let Some(item) = next() {
                    act(item);
                }
            });
        }
    });
}

/// Runs a command of cargo's that runs tests itself.
pub(super) fn run_cargo(command: &mut Command, outcome: &mut Outcome) -> Result<()> {
    let shown = shown(command);
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("start `{shown}`"))?;
    let output = child.stdout.take().context("the output of cargo is a pipe")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        outcome.tally.read(&line);
        say(&line);
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { bail!("`{shown}` failed ({status})") }
}

/// Runs an executable, passes on its lines with the durations of tests, and returns whether all tests passed.
fn run(
    executable: &Executable,
    mut command: Command,
    threads: usize,
    outcome: &mut Outcome,
    print: &mut dyn FnMut(&str),
) -> Result<bool> {
    let names = list_tests(executable)?;
    let count = names.len();
    let begun = Instant::now();
    command.args(arguments(threads, std::env::var_os(UNTIL).is_some()));
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("start {}", executable.path.display()))?;
    let output = child.stdout.take().context("the output of a test is a pipe")?;
    let mut clocked = Clocked::new(names, threads, begun);
    let mut tally = Tally::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        tally.read(&line);
        match clocked.read(&line, Instant::now()) {
            Some((name, took)) => {
                print(&format!("{line} ({:.1} s)", took.as_secs_f64()));
                outcome.tests.push((format!("{} {name}", executable.name), took));
            }
            None => print(&line),
        }
    }
    let status = child.wait()?;
    if status.success() && tally.passed != count {
        bail!("{} listed {count} tests and passed {}", executable.name, tally.passed);
    }
    if !status.success() && tally.failed == 0 {
        // An abort, or an executable that could not start.
        tally.failed = 1;
    }
    outcome.tally.add(&tally);
    outcome.executables.push((executable.name.clone(), begun.elapsed()));
    Ok(status.success())
}

/// Arguments of a test executable. libtest keeps the text of a failure until all tests have ended, so it would be lost in a run with
/// a time limit, which may be killed before.
fn arguments(threads: usize, has_limit: bool) -> Vec<String> {
    let at_once = has_limit.then(|| "--nocapture".to_owned());
    [format!("--test-threads={threads}")].into_iter().chain(at_once).collect()
}

/// Returns the names of an executable's tests in the order in which libtest begins them.
fn list_tests(executable: &Executable) -> Result<Vec<String>> {
    let output = executable.command().args(["--list", "--format", "terse"]).output().context("list tests")?;
    if !output.status.success() {
        bail!("{} can't list its tests ({})", executable.name, output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn failures_are_printed_before_a_limit() {
        assert_eq!(arguments(3, false), ["--test-threads=3"]);
        assert_eq!(arguments(3, true), ["--test-threads=3", "--nocapture"]);
    }

    #[test]
    fn items_are_dealt_with_side_by_side() {
        let (sender, receiver) = mpsc::channel();
        let receiver = Mutex::new(receiver);
        let met = Mutex::new(0);
        // The first one waits for the second.
        each_beside_others(vec![true, false], 2, |waits| {
            let limit = Duration::from_secs(10);
            match waits {
                true => *lock(&met) += usize::from(lock(&receiver).recv_timeout(limit).is_ok()),
                false => sender.send(()).unwrap(),
            }
        });
        assert_eq!(*lock(&met), 1);
    }
}
