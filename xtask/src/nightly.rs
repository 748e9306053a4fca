//! `cargo xtask nightly`: runs in full what a landing samples, and writes the results into `docs/reliability.md`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell::{root, said, say};

const PAGE: &str = "docs/reliability.md";
/// Lines around the rows that this command writes.
const MARKERS: [&str; 2] =
    ["<!-- results of the last runs: cargo xtask nightly -->", "<!-- end of results -->"];
/// A line of a test's output that belongs on the page begins with this, perhaps behind the name of a program.
pub(crate) const COUNTED: &str = "counted: ";
/// Tells parts when the time is over, in seconds since 1970.
pub(crate) const UNTIL: &str = "PIVOT_HOST_UNTIL";
const USAGE: &str = "cargo xtask nightly [PART …] [--minutes N]";

/// A command of xtask's with the variables that make it run in full.
struct Part {
    name: &'static str,
    words: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

const PARTS: [Part; 9] = [
    Part { name: "simulated", words: &["test", "unit"], variables: &[("PIVOT_HOST_SEEDS", "20000")] },
    Part {
        name: "servers",
        words: &["test", "lab", "vetting", "with_plugins", "scenarios", "controller", "providers"],
        variables: &[("PIVOT_HOST_NIGHTLY", "1"), ("PIVOT_WORLDS", "12")],
    },
    Part {
        name: "managers",
        words: &["test", "managers", "metal3"],
        variables: &[("PIVOT_HOST_NIGHTLY", "1"), ("PIVOT_TRIES", "20")],
    },
    Part { name: "links", words: &["links"], variables: &[] },
    Part { name: "mutations", words: &["mutate", "30"], variables: &[] },
    Part { name: "fuzz", words: &["fuzz", "5000", "200"], variables: &[] },
    Part { name: "matrix", words: &["matrix"], variables: &[] },
    Part { name: "interop", words: &["interop"], variables: &[] },
    Part { name: "bench", words: &["bench", "--quick"], variables: &[] },
];

/// Result of a part: a row of the page.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    cells: Vec<String>,
}

impl Part {
    /// The command as one types it.
    fn command(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={value}"));
        let words = ["cargo", "xtask"].iter().chain(self.words).map(|word| (*word).to_owned());
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Runs the part, passes on its output, and returns whether it passed, and its counts.
    fn run(&self, seed: &str) -> Result<(bool, Vec<String>)> {
        let mut command = Command::new("sh");
        // One stream: lines that count may be on either.
        command.args(["-c", r#"exec "$@" 2>&1"#, "sh"]).arg(std::env::current_exe()?).args(self.words);
        command.envs(self.variables.iter().copied()).env("PIVOT_HOST_SAMPLE", seed);
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| self.command())?;
        let output = child.stdout.take().context("the output is a pipe")?;
        let mut counts = Vec::new();
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            counts.extend(count_in(&line));
            say(&line);
        }
        Ok((child.wait()?.success(), counts))
    }
}

/// Returns what a line adds to the page: a count of a test, or the last line of `cargo xtask test`.
fn count_in(line: &str) -> Option<String> {
    if let Some((before, count)) = line.split_once(COUNTED)
        && (before.is_empty() || before.ends_with(": "))
    {
        return Some(count.replace('|', "/"));
    }
    let (passed, failed) = line.strip_suffix(" failed")?.split_once(" passed, ")?;
    let numbers = [passed, failed].iter().all(|number| number.parse::<usize>().is_ok());
    numbers.then(|| line.to_owned())
}

/// `cargo xtask nightly [PART …] [--minutes N]`. Parts begin until the time is over.
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let (parts, limit) = parse(typed)?;
    let page = root()?.join(PAGE);
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let date = said(Command::new("date").args(["--utc", "+%Y-%m-%d"]))?.trim().to_owned();
    let begun = Instant::now();
    let mut failed = Vec::new();
    let mut late = Vec::new();
    for part in parts {
        if limit.is_some_and(|limit| begun.elapsed() > limit) {
            late.push(part.name);
            continue;
        }
        say(&format!("\n=== {}: {}", part.name, part.command()));
        let start = Instant::now();
        let (passed, counts) = part.run(&date)?;
        if !passed {
            failed.push(part.name);
        }
        let result = if passed { "passed" } else { "**failed**" };
        let minutes = format!("{:.1}", start.elapsed().as_secs_f64() / 60.0);
        let cells = [
            format!("`{}`", part.command()),
            result.to_owned(),
            minutes,
            format!("{date}, {commit}"),
            counts.join("; "),
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
    let mut text =
        "\n\n| part | command | result | minutes | when | counts |\n|---|---|---|--:|---|---|\n".to_owned();
    for part in &PARTS {
        let first = format!("| {} |", part.name);
        if part.name == row.name {
            text.push_str(&format!("{first} {} |\n", row.cells.join(" | ")));
        } else if let Some(line) = table.lines().find(|line| line.starts_with(&first)) {
            text.push_str(&format!("{line}\n"));
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

    #[test]
    fn counts_are_found_in_output() {
        assert_eq!(count_in("lab: counted: 290 deaths").as_deref(), Some("290 deaths"));
        assert_eq!(count_in("counted: 20000 runs").as_deref(), Some("20000 runs"));
        assert_eq!(count_in("1456 passed, 0 failed").as_deref(), Some("1456 passed, 0 failed"));
        assert_eq!(count_in("some passed, none failed"), None);
        assert_eq!(count_in("test a_test ... ok (0.1 s)"), None);
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
