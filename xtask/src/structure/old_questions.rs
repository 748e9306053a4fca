//! Counts the lines that ask an option or a record what the ends or the route of a move (`host/core/src/records/route.rs`) have decided.
//!
//! The number can only become smaller: `xtask/old-questions.txt` is compared with the files of this commit and the one before.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::crates::rust_files;

/// The number of lines that are accepted.
const NUMBER_FILE: &str = "xtask/old-questions.txt";
/// Folders of product code that knows a route.
const FOLDERS: [&str; 3] = ["host/engine/src", "host/cli/src", "host/controller/src"];
/// Code that asks again.
const QUESTIONS: [&str; 4] =
    [".handed_over()", ".is_of_files()", "options.without_source", "options.without_target"];

/// Returns a violation if there are more or fewer such lines than the file accepts, or if it accepts more than before.
pub(super) fn violations(root: &Path) -> Result<Vec<String>> {
    let found = find(root)?;
    let accepted = fs::read_to_string(root.join(NUMBER_FILE)).map_or(Ok(0), |text| parse(&text))?;
    let mut violations = Vec::new();
    if found.len() > accepted {
        let found = found.join("\n  ");
        violations.push(format!(
            "more than {accepted} lines ask what the ends or the route of a move have decided:\n  {found}"
        ));
    } else if found.len() < accepted {
        violations.push(format!(
            "{NUMBER_FILE} accepts {accepted} lines, and {} are left: write that number",
            found.len()
        ));
    }
    for commit in ["HEAD", "HEAD~1"] {
        if let Some(before) = read_earlier(root, commit)?.filter(|before| *before < accepted) {
            violations.push(format!("{NUMBER_FILE} accepts {accepted} lines, and {before} before"));
        }
    }
    Ok(violations)
}

fn find(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in FOLDERS.map(|folder| root.join(folder)).iter().filter(|folder| folder.is_dir()) {
        for file in rust_files(folder)? {
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            if shown.contains("/tests") {
                continue;
            }
            let text = fs::read_to_string(&file).with_context(|| format!("read {shown}"))?;
            let product = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
            let asks = |line: &str| QUESTIONS.iter().any(|question| line.contains(question));
            let lines = product.lines().enumerate().filter(|(_, line)| asks(line));
            found.extend(lines.map(|(at, line)| format!("{shown}:{}: {}", at + 1, line.trim())));
        }
    }
    Ok(found)
}

/// Reads the number of a commit that has one.
fn read_earlier(root: &Path, commit: &str) -> Result<Option<usize>> {
    let shown =
        Command::new("git").args(["show", &format!("{commit}:{NUMBER_FILE}")]).current_dir(root).output()?;
    if !shown.status.success() {
        return Ok(None);
    }
    parse(&String::from_utf8(shown.stdout)?).map(Some)
}

fn parse(text: &str) -> Result<usize> {
    text.trim().parse().with_context(|| format!("{NUMBER_FILE}: not a number"))
}
