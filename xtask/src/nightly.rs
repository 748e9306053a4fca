//! `cargo xtask nightly`: runs in full what a landing samples, and writes the results into `docs/reliability.md`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, root, said, say, shown};

const PAGE: &str = "docs/reliability.md";
/// Lines around the rows that this command writes.
const MARKERS: [&str; 2] =
    ["<!-- results of the last runs: cargo xtask nightly -->", "<!-- end of results -->"];
/// A line of a test's output that belongs on the page begins with this, perhaps behind the name of a program.
pub(crate) const COUNTED: &str = "counted: ";
/// Tells parts when the time is over, in seconds since 1970.
pub(crate) const UNTIL: &str = "PIVOT_HOST_UNTIL";
/// A part that doesn't end by itself when the time is over is killed after this long.
const GRACE: Duration = Duration::from_mins(1);
const HEAD: &str = "| part | command | result | minutes | when | counts |\n|---|---|---|--:|---|---|\n";
const USAGE: &str = "cargo xtask nightly [PART …] [--minutes N]";

/// A command with the variables that make it run in full.
struct Part {
    name: &'static str,
    /// Arguments of cargo.
    words: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

/// Of the tests of all packages, so that cargo builds no dependency with other features.
macro_rules! tests {
    ($($word:literal),+) => {
        &["test", "--workspace", "--lib", "--no-fail-fast", $($word),+]
    };
}

const NIGHTLY: (&str, &str) = ("PIVOT_HOST_NIGHTLY", "1");

/// Returns true in a command that a nightly run starts.
pub(crate) fn is_nightly() -> bool {
    std::env::var_os(NIGHTLY.0).is_some_and(|value| !value.is_empty())
}

const PARTS: [Part; 14] = [
    Part {
        name: "simulated",
        words: tests!["--test", "moves", "--", "--nocapture", "simulated::the_invariants_hold"],
        variables: &[NIGHTLY],
    },
    Part {
        name: "generated",
        words: tests!["--test", "moves", "--", "--nocapture", "--test-threads=1", "generated::"],
        variables: &[NIGHTLY],
    },
    Part {
        name: "restores",
        words: tests!["--test", "moves", "--", "--nocapture", "restores::"],
        variables: &[NIGHTLY],
    },
    Part {
        name: "mutants",
        words: tests!["--", "any_bytes_are", "any_text_is", "any_files_are"],
        variables: &[NIGHTLY],
    },
    Part {
        name: "languages",
        words: tests!["--test", "vendor", "--", "--nocapture", "providers::"],
        variables: &[NIGHTLY],
    },
    Part {
        name: "servers",
        words: &["xtask", "test", "lab", "vetting", "with_plugins", "scenarios", "controller", "providers"],
        variables: &[NIGHTLY, ("PIVOT_WORLDS", "12")],
    },
    Part { name: "managers", words: &["xtask", "test", "managers", "metal3"], variables: &[NIGHTLY] },
    Part { name: "links", words: &["xtask", "links"], variables: &[] },
    Part { name: "mutations", words: &["xtask", "mutate", "30"], variables: &[] },
    Part { name: "fuzz", words: &["xtask", "fuzz", "5000", "200"], variables: &[] },
    Part { name: "matrix", words: &["xtask", "matrix"], variables: &[] },
    Part { name: "interop", words: &["xtask", "interop"], variables: &[] },
    Part { name: "bench", words: &["xtask", "bench", "--quick"], variables: &[] },
    Part { name: "scale", words: &["xtask", "bench", "--huge"], variables: &[] },
];

/// Result of a part: a row of the page.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    cells: Vec<String>,
}

/// The end of a part's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    /// Killed, because the time was over.
    Killed,
}

/// Counts that a part has printed.
#[derive(Debug, Default)]
struct Counts {
    texts: Vec<String>,
    /// Tests that passed and failed, as far as single lines tell.
    tests: [usize; 2],
    /// The last line of `cargo xtask test`, which counts all tests.
    total: Option<String>,
}

impl Counts {
    fn read(&mut self, line: &str) {
        if let Some((before, count)) = line.split_once(COUNTED)
            && (before.is_empty() || before.ends_with(": ") || before.ends_with(" ... "))
        {
            self.texts.push(count.replace('|', "/"));
        } else if is_total(line) {
            self.total = Some(line.to_owned());
        } else if let Some(count) =
            result_of_test(line).and_then(|passed| self.tests.get_mut(usize::from(!passed)))
        {
            *count += 1;
        }
    }

    /// Returns true if a count such as `17 of 20 seeds` says that some are missing.
    fn is_partial(&self) -> bool {
        self.texts.iter().any(|text| {
            let mut words = text.split(' ');
            let mut number = || words.next().map(str::parse::<u64>);
            matches!((number(), number(), number()), (Some(Ok(done)), Some(Err(_)), Some(Ok(all))) if done < all)
        })
    }

    fn into_cell(self) -> String {
        let [passed, failed] = self.tests;
        let tests =
            self.total.or_else(|| (passed + failed > 0).then(|| format!("{passed} passed, {failed} failed")));
        self.texts.into_iter().chain(tests).collect::<Vec<_>>().join("; ")
    }
}

/// Whether this is the last line of `cargo xtask test`.
fn is_total(line: &str) -> bool {
    let numbers = line.strip_suffix(" failed").and_then(|line| line.split_once(" passed, "));
    numbers
        .is_some_and(|(passed, failed)| [passed, failed].iter().all(|number| number.parse::<usize>().is_ok()))
}

/// Returns whether a test passed, if this line is its end. What a test prints may stand between its name and its result.
fn result_of_test(line: &str) -> Option<bool> {
    let end = match line.strip_prefix("test ") {
        Some(test) => test.split_once(" ... ")?.1,
        None => line,
    };
    match end.split_once(" (").map_or(end, |(result, _)| result) {
        "ok" => Some(true),
        "FAILED" => Some(false),
        _ => None,
    }
}

impl Part {
    /// The command as one types it.
    fn command(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={value}"));
        let words = ["cargo"].iter().chain(self.words).map(|word| (*word).to_owned());
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Runs the part in the time that is left, if there is a limit.
    fn run(&self, seed: &str, left: Option<Duration>) -> Result<(Ended, Counts)> {
        let mut command = cargo(self.words)?;
        if let ["xtask", words @ ..] = self.words {
            // This program is built already.
            command = Command::new(std::env::current_exe()?);
            command.args(words).current_dir(root()?);
        }
        command.envs(self.variables.iter().copied()).env("PIVOT_HOST_SAMPLE", seed);
        let Some(left) = left else { return run_command(command, None) };
        let until = SystemTime::now().duration_since(UNIX_EPOCH)? + left;
        command.env(UNTIL, until.as_secs().to_string());
        run_command(command, Some(left + GRACE))
    }
}

/// Runs a command, passes on its output, and returns how it ended, and its counts. After the limit, kills it with all that it has
/// started.
fn run_command(command: Command, limit: Option<Duration>) -> Result<(Ended, Counts)> {
    let mut shell = Command::new("sh");
    // One stream: lines that count may be on either.
    shell.args(["-c", r#"exec "$@" 2>&1"#, "sh"]);
    if let Some(limit) = limit {
        shell.args(["timeout", "--signal=KILL"]).arg(limit.as_secs_f64().to_string());
    }
    shell.arg(command.get_program()).args(command.get_args()).stdout(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    let mut child = shell.spawn().with_context(|| format!("start `{}`", shown(&command)))?;
    let output = child.stdout.take().context("the output is a pipe")?;
    let mut counts = Counts::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        counts.read(&line);
        say(&line);
    }
    let status = child.wait()?;
    let ended = match (status.success(), limit.is_some() && status.signal().is_some()) {
        (true, _) => Ended::Passed,
        (false, true) => Ended::Killed,
        (false, false) => Ended::Failed,
    };
    Ok((ended, counts))
}

/// Returns the word of the page for a part's end.
fn result(ended: Ended, counts: &Counts) -> &'static str {
    match ended {
        Ended::Failed => "**failed**",
        // Tests that failed before the time was over did fail.
        Ended::Killed if counts.tests[1] > 0 => "**failed**, not finished",
        Ended::Killed => "not finished",
        Ended::Passed if counts.is_partial() => "not finished",
        Ended::Passed => "passed",
    }
}

/// `cargo xtask nightly [PART …] [--minutes N]`. When the time is over, the running part ends, and no other begins.
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let (parts, limit) = parse(typed)?;
    let page = root()?.join(PAGE);
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let date = said(Command::new("date").args(["--utc", "+%Y-%m-%d"]))?.trim().to_owned();
    let begun = Instant::now();
    let mut failed = Vec::new();
    let mut late = Vec::new();
    for part in parts {
        let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        if left == Some(Duration::ZERO) {
            late.push(part.name);
            continue;
        }
        say(&format!("\n=== {}: {}", part.name, part.command()));
        let start = Instant::now();
        let (ended, counts) = part.run(&date, left)?;
        let result = result(ended, &counts);
        if result.contains("failed") {
            failed.push(part.name);
        }
        let minutes = format!("{:.1}", start.elapsed().as_secs_f64() / 60.0);
        say(&format!("=== {}: {result} after {minutes} minutes", part.name));
        let cells = [
            format!("`{}`", part.command()),
            result.to_owned(),
            minutes,
            format!("{date}, {commit}"),
            counts.into_cell(),
        ];
        let row = Row { name: part.name.to_owned(), cells: cells.into() };
        let text = fs::read_to_string(&page).with_context(|| format!("read {PAGE}"))?;
        fs::write(&page, with_row(&text, &row)?).with_context(|| format!("write {PAGE}"))?;
    }
    say(&format!("\nResults are in {PAGE}"));
    if !late.is_empty() {
        say(&format!("not begun when the time was over: {}", late.join(", ")));
    }
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

fn parse(typed: &[&str]) -> Result<(Vec<&'static Part>, Option<Duration>)> {
    let (mut parts, mut limit) = (Vec::new(), None);
    let mut rest = typed.iter();
    while let Some(word) = rest.next() {
        if *word == "--minutes" {
            let minutes: u64 = rest.next().and_then(|number| number.parse().ok()).context(USAGE)?;
            limit = Some(Duration::from_mins(minutes));
            continue;
        }
        let found = PARTS.iter().find(|part| part.name == *word);
        let names = || PARTS.iter().map(|part| part.name).collect::<Vec<_>>().join(", ");
        parts.push(found.with_context(|| format!("{word:?} is not a part; they are {}. {USAGE}", names()))?);
    }
    Ok((if parts.is_empty() { PARTS.iter().collect() } else { parts }, limit))
}

/// Replaces a part's row on the page, or adds it. Rows are in the order of the parts.
fn with_row(page: &str, row: &Row) -> Result<String> {
    let [begin, end] = MARKERS;
    let (before, rest) = page.split_once(begin).with_context(|| format!("{PAGE} has no line {begin}"))?;
    let (table, after) = rest.split_once(end).with_context(|| format!("{PAGE} has no line {end}"))?;
    let mut text = format!("\n\n{HEAD}");
    for part in &PARTS {
        let first = format!("| {} |", part.name);
        if part.name == row.name {
            text.push_str(&format!("{first} {} |\n", row.cells.join(" | ")));
        } else if let Some(line) = table.lines().find(|line| line.starts_with(&first)) {
            text.push_str(&format!("{line}\n"));
        } else {
            text.push_str(&format!("{first} `{}` | not run yet | | | |\n", part.command()));
        }
    }
    Ok(format!("{before}{begin}{text}\n{end}{after}"))
}

fn git(words: &[&str]) -> Result<String> {
    Ok(said(Command::new("git").current_dir(root()?).args(words))?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Counts {
        let mut counts = Counts::default();
        lines.iter().for_each(|line| counts.read(line));
        counts
    }

    #[test]
    fn counts_are_found_in_output() {
        let cell = |lines: &[&str]| read(lines).into_cell();
        assert_eq!(cell(&["lab: counted: 290 deaths", "counted: 7 runs"]), "290 deaths; 7 runs");
        assert_eq!(cell(&["test moves ... counted: 7 runs", "ok"]), "7 runs; 1 passed, 0 failed");
        assert_eq!(
            cell(&["test a ... ok (0.1 s)", "test b ... FAILED", "test c ... ok"]),
            "2 passed, 1 failed"
        );
        assert_eq!(cell(&["test a ... ok", "1456 passed, 0 failed"]), "1456 passed, 0 failed");
        assert_eq!(cell(&["some passed, none failed", "not counted: 7", "test result: ok. 1 passed"]), "");
    }

    #[test]
    fn missing_counts_and_killed_parts_are_not_finished() {
        let all = ["counted: 20 of 20 seeds, 0 failed"];
        let some = ["counted: 20 of 20 seeds, 0 failed", "counted: 4 of 20 seeds, 0 failed"];
        assert_eq!(result(Ended::Passed, &read(&all)), "passed");
        assert_eq!(result(Ended::Passed, &read(&some)), "not finished");
        assert_eq!(result(Ended::Failed, &read(&some)), "**failed**");
        assert_eq!(result(Ended::Killed, &read(&["test a ... ok"])), "not finished");
        assert_eq!(result(Ended::Killed, &read(&["test a ... FAILED"])), "**failed**, not finished");
    }

    #[test]
    fn commands_are_killed_after_the_limit() {
        let run = |script: &str, limit| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).env("WORD", "ok");
            let begun = Instant::now();
            let (ended, counts) = run_command(command, Some(limit)).unwrap();
            assert!(begun.elapsed() < Duration::from_secs(30), "{script}");
            (ended, counts.into_cell())
        };
        let (short, long) = (Duration::from_millis(500), Duration::from_mins(1));
        let some = "1 passed, 0 failed".to_owned();
        assert_eq!(run("echo test a ... $WORD >&2", long), (Ended::Passed, some.clone()));
        assert_eq!(run("echo test a ... $WORD; exit 1", long), (Ended::Failed, some.clone()));
        assert_eq!(run("echo test a ... $WORD; sleep 60 & wait", short), (Ended::Killed, some));
    }

    #[test]
    fn rows_are_replaced_and_kept_in_order() {
        let page = format!("# Page\n{}\n{}\nend\n", MARKERS[0], MARKERS[1]);
        let row = |name: &str, result: &str| Row { name: name.into(), cells: vec![result.into()] };
        let page = with_row(&page, &row("fuzz", "passed")).unwrap();
        let page = with_row(&page, &row("simulated", "passed")).unwrap();
        let page = with_row(&page, &row("fuzz", "failed")).unwrap();
        let rows: Vec<&str> = page.lines().filter(|line| line.ends_with("ed |")).collect();
        assert_eq!(rows, ["| simulated | passed |", "| fuzz | failed |"]);
        assert_eq!(page.matches("not run yet").count(), PARTS.len() - 2);
        assert!(page.starts_with("# Page\n") && page.ends_with("\nend\n"));
        assert!(with_row("no markers", &row("fuzz", "passed")).is_err());
    }

    #[test]
    fn parts_and_a_limit_are_parsed() {
        assert_eq!(parse(&[]).unwrap().0.len(), PARTS.len());
        let (parts, limit) = parse(&["fuzz", "--minutes", "45", "links"]).unwrap();
        assert_eq!(parts.iter().map(|part| part.name).collect::<Vec<_>>(), ["fuzz", "links"]);
        assert_eq!(limit, Some(Duration::from_secs(2700)));
        assert!(parse(&["fuss"]).is_err() && parse(&["--minutes"]).is_err());
    }

    #[test]
    fn the_page_has_room_for_results() {
        let page = include_str!("../../docs/reliability.md");
        assert!(MARKERS.iter().all(|marker| page.matches(marker).count() == 1));
    }
}
