//! Changes one line of the program at a time, and sees that a test notices.
//!
//! The changes are listed in `tests/mutations`, each with the line that it replaces and with the tests that must fail then. They are
//! made in a copy of the work tree, with a target directory of its own: nothing of this changes what the user edits or builds.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

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
    let tree = Scratch::new(&root, &target()?.join("mutate"))?;
    say("== Without a change, the tests pass");
    for test in chosen.iter().map(|mutation| mutation.test.as_str()).collect::<BTreeSet<_>>() {
        if tree.test(test)? != Outcome::Survived {
            bail!("`cargo test {test}` fails without any change, too");
        }
    }
    say(&format!("== With one of {} lines changed, a test fails", chosen.len()));
    let wrong = chosen.iter().map(|mutation| tree.try_one(mutation)).collect::<Result<Vec<_>>>()?;
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    wrong.iter().for_each(|line| say(line));
    if wrong.is_empty() {
        say(&format!("{} lines: each change was noticed, or is known not to be", chosen.len()));
        return Ok(());
    }
    bail!("{} of {} mutations did not end as their list says", wrong.len(), chosen.len())
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
}

impl Scratch {
    /// Copies the tracked files that differ from an earlier copy, and removes what is not tracked.
    fn new(root: &Path, folder: &Path) -> Result<Self> {
        let scratch = Self { tree: folder.join("tree"), target: folder.join("target") };
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

    /// Makes one change, runs the tests that must notice it, and undoes it. Returns what is wrong with the result.
    fn try_one(&self, mutation: &Mutation) -> Result<Option<String>> {
        let Mutation { file, line, with, test, survives, .. } = mutation;
        let path = self.tree.join(file);
        let before = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        fs::write(&path, change(&before, line, with).with_context(|| format!("{file}: {line}"))?)?;
        let outcome = self.test(test);
        fs::write(&path, before)?;
        let shown = format!("{file}: `{line}` as `{with}`");
        let (word, wrong) = match (outcome?, survives) {
            (Outcome::Noticed, None) => ("noticed", None),
            (Outcome::Survived, Some(_)) => ("survives, as is known", None),
            (Outcome::Noticed, Some(_)) => {
                ("noticed", Some("is noticed, and its list says that it survives"))
            }
            (Outcome::Survived, None) => ("SURVIVED", Some("was not noticed")),
            (Outcome::NotBuilt, _) => ("NOT BUILT", Some("does not compile")),
        };
        say(&format!("{word}: {shown}"));
        Ok(wrong.map(|wrong| format!("{wrong} by `cargo test {test}`: {shown}")))
    }

    /// Builds tests and runs them; what they print is of no interest.
    fn test(&self, test: &str) -> Result<Outcome> {
        let start = |more: &[&str]| {
            let mut command = cargo(&["test", "--quiet"])?;
            command.args(test.split_whitespace()).args(more).process_group(0);
            command.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.target);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().context("start cargo")
        };
        if !start(&["--no-run"])?.wait()?.success() {
            return Ok(Outcome::NotBuilt);
        }
        let mut tests = start(&[])?;
        let (group, (ended, still)) = (format!("-{}", tests.id()), mpsc::channel::<()>());
        let status = std::thread::scope(|scope| {
            scope.spawn(move || {
                if still.recv_timeout(TOO_LONG) == Err(RecvTimeoutError::Timeout) {
                    // Cargo, and the tests that it has started.
                    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                }
            });
            let status = tests.wait();
            drop(ended);
            status
        });
        Ok(if status?.success() { Outcome::Survived } else { Outcome::Noticed })
    }
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
    fn changed_line_keeps_its_indentation() {
        let text = "fn f() {\n    one();\n    two();\n    two();\n}\n";
        assert_eq!(change(text, "one();", "three();").unwrap(), text.replace("one", "three"));
        assert_eq!(change(text, "two();", "three();"), None);
        assert_eq!(change(text, "one", "three"), None);
    }
}
