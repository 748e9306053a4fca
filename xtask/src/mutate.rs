//! Changes one line of the program at a time, and sees that a test notices.
//!
//! The changes are listed in `tests/mutations`, each with the line that it replaces and with the tests that must fail then. They are
//! made in a copy of the work tree, with a target directory of its own: nothing of this changes what the user edits or builds.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::executables::LANDING;
use crate::nightly::{COUNTED, UNTIL};
use crate::shell::{cargo, root, say, target};
use crate::tracked::files_below;

/// The folder with the lists.
const LISTS: &str = "tests/mutations";
/// A change that makes a test run for ever counts as noticed after this long.
const TOO_LONG: Duration = Duration::from_secs(900);

/// A line to be changed, and who must notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutation {
    /// The list that it is in.
    list: String,
    /// The file, relative to the root.
    pub(crate) file: String,
    /// The line without its indentation; the file has it once.
    pub(crate) line: String,
    /// The line that replaces it.
    pub(crate) with: String,
    /// The tests that must notice, as arguments of `cargo test`.
    test: String,
    /// The reason why no test notices, if that is known.
    survives: Option<String>,
}

/// The result of running tests with one line changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Noticed,
    Survived,
    NotBuilt,
    /// The time of the nightly run was over first.
    Unfinished,
}

/// Numbers of the page of long tests.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    noticed: usize,
    survived: usize,
    known: usize,
    not_built: usize,
}

/// The end of a command that may be ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    TooLate,
}

/// `cargo xtask mutate [COUNT|FILE]`: all mutations, some of them by date, or those of a list or of a source file.
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let root = root()?;
    let all = read(&root)?;
    let chosen: Vec<&Mutation> = match typed {
        [] => all.iter().collect(),
        [one] => match one.parse() {
            Ok(count) => choose_by_day(&all, count, today()?),
            Err(_) => all
                .iter()
                .filter(|mutation| [&mutation.list, &mutation.file].contains(&&(*one).to_owned()))
                .collect(),
        },
        _ => bail!("cargo xtask mutate [COUNT|FILE]"),
    };
    if chosen.is_empty() {
        bail!(
            "no mutation is chosen by {typed:?}; FILE is one of {LISTS}, or a source file that one of them names"
        );
    }
    let tree = Scratch::new(&root, &target()?.join("mutate"), read_deadline()?)?;
    say("== Without a change, the tests pass");
    for test in chosen.iter().map(|mutation| mutation.test.as_str()).collect::<BTreeSet<_>>() {
        match tree.test(test)? {
            Outcome::Survived => {}
            Outcome::Unfinished => break,
            _ => bail!("`cargo test {test}` fails without any change, too"),
        }
    }
    say(&format!("== With one of {} lines changed, a test fails", chosen.len()));
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    for mutation in &chosen {
        let outcome = tree.try_one(mutation)?;
        match (outcome, &mutation.survives) {
            (Outcome::Noticed, _) => counts.noticed += 1,
            (Outcome::Survived, Some(_)) => counts.known += 1,
            (Outcome::Survived, None) => counts.survived += 1,
            (Outcome::NotBuilt, _) => counts.not_built += 1,
            (Outcome::Unfinished, _) => break,
        }
        wrong.extend(judge(mutation, outcome));
    }
    wrong.iter().for_each(|line| say(line));
    let Counts { noticed, survived, known, not_built } = counts;
    let tried = noticed + survived + known + not_built;
    let number = chosen.len();
    say(&format!(
        "{COUNTED}{tried} of {number} changes: {noticed} noticed, {survived} not noticed, {known} known not to be, {not_built} not \
         compiled"
    ));
    if wrong.is_empty() {
        return Ok(());
    }
    bail!("{} of {tried} mutations did not end as their list says", wrong.len())
}

/// The moment at which the nightly run ends, if it runs this and has a limit.
fn read_deadline() -> Result<Option<SystemTime>> {
    let Ok(until) = std::env::var(UNTIL) else { return Ok(None) };
    let seconds = until.parse().with_context(|| format!("{UNTIL}={until}"))?;
    Ok(UNIX_EPOCH.checked_add(Duration::from_secs(seconds)))
}

/// Returns a line about a mutation that did not end as its list says.
fn judge(mutation: &Mutation, outcome: Outcome) -> Option<String> {
    let Mutation { file, line, with, test, survives, .. } = mutation;
    let wrong = match (outcome, survives) {
        (Outcome::Noticed, None) | (Outcome::Survived, Some(_)) | (Outcome::Unfinished, _) => return None,
        (Outcome::Noticed, Some(_)) => "is noticed, and its list says that it survives",
        (Outcome::Survived, None) => "was not noticed",
        (Outcome::NotBuilt, _) => "does not compile",
    };
    Some(format!("{wrong} by `cargo test {test}`: {file}: `{line}` as `{with}`"))
}

/// All mutations, those of the lists in turn, so that each part of them is a sample of all.
pub(crate) fn read(root: &Path) -> Result<Vec<Mutation>> {
    let folder = root.join(LISTS);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let files =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<BTreeSet<PathBuf>>>()?;
    let mut lists = files.iter().map(|file| read_list(root, file)).collect::<Result<Vec<_>>>()?;
    let longest = lists.iter().map(Vec::len).max().unwrap_or_default();
    lists.iter_mut().for_each(|list| list.reverse());
    Ok((0..longest).flat_map(|_| lists.iter_mut().filter_map(Vec::pop).collect::<Vec<_>>()).collect())
}

fn read_list(root: &Path, file: &Path) -> Result<Vec<Mutation>> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let table: Table = toml::from_str(&text).with_context(|| format!("parse {}", file.display()))?;
    let list = file.strip_prefix(root).unwrap_or(file).display().to_string();
    let entries = table.get("mutation").and_then(Value::as_array).cloned().unwrap_or_default();
    let parse = |entry: &Value| {
        let word = |field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
        let needed = |field: &str| word(field).with_context(|| format!("{list}: a mutation has no {field}"));
        let (file, line, with, test) = (needed("file")?, needed("line")?, needed("with")?, needed("test")?);
        Ok(Mutation { list: list.clone(), file, line, with, test, survives: word("survives") })
    };
    entries.iter().map(parse).collect()
}

/// So many mutations, others on each day, until all had their turn.
fn choose_by_day(all: &[Mutation], count: usize, day: usize) -> Vec<&Mutation> {
    let first = day.wrapping_mul(count);
    let count = count.min(all.len());
    (0..count).filter_map(|number| all.get(first.wrapping_add(number).checked_rem(all.len())?)).collect()
}

fn today() -> Result<usize> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).context("it is before 1970")?.as_secs();
    Ok((seconds / 86_400).try_into()?)
}

/// A copy of the work tree, in which lines can be changed.
struct Scratch {
    tree: PathBuf,
    target: PathBuf,
    until: Option<SystemTime>,
}

impl Scratch {
    /// Copies the tracked files that differ from an earlier copy, and removes what is not tracked.
    fn new(root: &Path, folder: &Path, until: Option<SystemTime>) -> Result<Self> {
        let scratch = Self { tree: folder.join("tree"), target: folder.join("target"), until };
        let tracked: BTreeSet<PathBuf> = files_below(root)?.into_iter().collect();
        for file in &tracked {
            let (from, to) = (root.join(file), scratch.tree.join(file));
            if fs::read(&from)? != fs::read(&to).unwrap_or_default() || !to.is_file() {
                fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
                fs::copy(&from, &to).with_context(|| format!("copy {}", from.display()))?;
            }
        }
        remove_others(&scratch.tree, &scratch.tree, &tracked)?;
        Ok(scratch)
    }

    /// Makes one change, runs the tests that must notice it, and undoes it.
    fn try_one(&self, mutation: &Mutation) -> Result<Outcome> {
        let Mutation { file, line, with, test, survives, .. } = mutation;
        let path = self.tree.join(file);
        let before = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        fs::write(&path, change(&before, line, with).with_context(|| format!("{file}: {line}"))?)?;
        let outcome = self.test(test);
        fs::write(&path, before)?;
        let outcome = outcome?;
        let word = match (outcome, survives) {
            (Outcome::Noticed, _) => "noticed",
            (Outcome::Survived, Some(_)) => "survives, as is known",
            (Outcome::Survived, None) => "SURVIVED",
            (Outcome::NotBuilt, _) => "NOT BUILT",
            (Outcome::Unfinished, _) => "not finished",
        };
        say(&format!("{word}: {file}: `{line}` as `{with}`"));
        Ok(outcome)
    }

    /// Builds tests and runs them until one fails; their output is of no interest.
    fn test(&self, test: &str) -> Result<Outcome> {
        let command = |more: &[&str]| {
            let mut command = cargo(&["test"])?;
            command.args(test.split_whitespace()).args(more);
            command.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.target).env(LANDING.0, LANDING.1);
            anyhow::Ok(command)
        };
        match run_until_failure(command(&["--no-run"])?, self.time_left().unwrap_or(Duration::MAX))? {
            Ended::Passed => {}
            Ended::Failed => return Ok(Outcome::NotBuilt),
            Ended::TooLate => return Ok(Outcome::Unfinished),
        }
        let left = self.time_left();
        Ok(match run_until_failure(command(&[])?, left.unwrap_or(TOO_LONG).min(TOO_LONG))? {
            Ended::Passed => Outcome::Survived,
            Ended::TooLate if left.is_some_and(|left| left < TOO_LONG) => Outcome::Unfinished,
            Ended::Failed | Ended::TooLate => Outcome::Noticed,
        })
    }

    /// Time until the nightly run ends; none without a limit.
    fn time_left(&self) -> Option<Duration> {
        let until = self.until?;
        Some(until.duration_since(SystemTime::now()).unwrap_or_default())
    }
}

/// Runs tests with cargo. At the first failure, or after the limit, kills cargo and the tests that it has started.
fn run_until_failure(mut command: Command, limit: Duration) -> Result<Ended> {
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().context("start cargo")?;
    let output = child.stdout.take().context("the output of cargo is a pipe")?;
    let group = format!("-{}", child.id());
    // Cargo is not waited for yet, so the number is still its own.
    let kill_group = &|| Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let (ended, running) = mpsc::channel::<()>();
    let (failed, late) = std::thread::scope(|scope| {
        let watchdog = scope.spawn(move || {
            let late = running.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            late && kill_group().is_ok()
        });
        let mut lines = BufReader::new(output).split(b'\n').map_while(std::result::Result::ok);
        let failed = lines.any(|line| line.ends_with(b" ... FAILED"));
        drop(ended);
        (failed, watchdog.join().unwrap_or_default())
    });
    if failed {
        kill_group().context("run kill")?;
    }
    let passed = child.wait()?.success();
    Ok(match (failed, late) {
        (true, _) => Ended::Failed,
        (false, true) => Ended::TooLate,
        (false, false) => {
            if passed {
                Ended::Passed
            } else {
                Ended::Failed
            }
        }
    })
}

/// A text with one of its lines changed; none unless it has the line exactly once.
pub(crate) fn change(text: &str, line: &str, with: &str) -> Option<String> {
    let mut found = text.lines().filter(|there| there.trim() == line);
    let (Some(whole), None) = (found.next(), found.next()) else { return None };
    let indented = whole.replace(line, with);
    let lines = text.lines().map(|there| if there.trim() == line { indented.as_str() } else { there });
    Some(lines.flat_map(|line| [line, "\n"]).collect())
}

fn remove_others(tree: &Path, folder: &Path, tracked: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(tree, &path, tracked)?;
        } else if !tracked.contains(path.strip_prefix(tree)?) {
            fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn each_mutation_has_its_turn() {
        let all = read(&root().unwrap()).unwrap();
        let days = all.len().div_ceil(30);
        let tried: BTreeSet<&str> = (20_000..20_000 + days)
            .flat_map(|day| choose_by_day(&all, 30, day))
            .map(|one| one.line.as_str())
            .collect();
        let lines: BTreeSet<&str> = all.iter().map(|one| one.line.as_str()).collect();
        assert_eq!(tried, lines);
    }

    #[test]
    fn sample_has_mutations_of_each_list() {
        let all = read(&root().unwrap()).unwrap();
        let lists = |some: &[&Mutation]| some.iter().map(|one| one.list.clone()).collect::<BTreeSet<_>>();
        let sample = choose_by_day(&all, 3, 0);
        assert_eq!((sample.len(), lists(&sample)), (3, lists(&all.iter().collect::<Vec<_>>())));
    }

    #[test]
    fn first_failure_and_limit_end_a_run() {
        let minute = Duration::from_secs(60);
        let run = |script: &str, limit| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            let begun = Instant::now();
            let ended = run_until_failure(shell, limit).unwrap();
            assert!(begun.elapsed() < minute / 2, "{script}");
            ended
        };
        assert_eq!(run("echo test a ... ok", minute), Ended::Passed);
        assert_eq!(run("exit 101", minute), Ended::Failed);
        assert_eq!(run("echo 'test a ... FAILED'; sleep 60 & wait", minute), Ended::Failed);
        assert_eq!(run("sleep 60 & wait", Duration::from_millis(100)), Ended::TooLate);
    }

    #[test]
    fn changed_line_keeps_its_indentation() {
        let text = "fn f() {\n    one();\n    two();\n    two();\n}\n";
        assert_eq!(change(text, "one();", "three();").unwrap(), text.replace("one", "three"));
        assert_eq!(change(text, "two();", "three();"), None);
        assert_eq!(change(text, "one", "three"), None);
    }
}
