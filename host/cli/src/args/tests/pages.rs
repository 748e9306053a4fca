//! The pages for operators: each command on them can be typed as it stands, and the runbook leaves out no exit code and no phase.

use std::fs;
use std::path::{Path, PathBuf};

use pivot_core::records::record::Phase;
use pivot_engine::Exit;

use crate::next::tests::{by_a_shell, typed};

/// What a line could make a shell do beside splitting it: such a line is not split by one.
pub(super) const MORE_THAN_WORDS: [char; 9] = ['|', '&', ';', '<', '>', '$', '`', '(', ')'];

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(super) fn page(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The README, and the pages that are read at a terminal: the guides are all that are there, so that a new one is looked at, too.
pub(super) fn pages() -> Vec<PathBuf> {
    let root = root();
    let guides = fs::read_dir(root.join("docs/guides")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = [
        "README.md",
        "docs/air-gap.md",
        "docs/controller.md",
        "docs/directories.md",
        "docs/distributed.md",
        "docs/from-clusterctl.md",
        "docs/hub-and-spoke.md",
        "docs/moving.md",
        "docs/permissions.md",
        "docs/plans.md",
        "docs/protection.md",
        "docs/runbook.md",
        "docs/self-managing.md",
        "docs/tutorial.md",
        "docs/uninstall.md",
    ]
    .iter()
    .map(|page| root.join(page))
    .chain(guides.filter(|path| path.extension().is_some_and(|extension| extension == "md")))
    .collect();
    pages.sort();
    pages
}

/// The lines in fenced blocks that begin with a program's name; one that ends with a backslash goes on in the next.
pub(super) fn commands(page: &str, program: &str) -> Vec<String> {
    let (mut found, mut fenced, mut begun) = (Vec::new(), false, None::<String>);
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let whole = match begun.take() {
            Some(before) => format!("{before} {line}"),
            None if fenced && line.split(' ').next() == Some(program) => line.to_owned(),
            None => continue,
        };
        match whole.strip_suffix('\\') {
            Some(first) => begun = Some(first.trim_end().to_owned()),
            None => found.push(whole),
        }
    }
    assert!(!fenced && begun.is_none(), "a fenced block or a command has no end: {begun:?}");
    found
}

#[test]
fn page_commands_include_continued_lines() {
    let page = "pivot-host no\n`pivot-host no`\n```\npivot-host a \\\n  -b c   # d; e\n$ pivot-host no\n  pivot-host f\n```\n\
                pivot-host no\n```sh\nerror: no\npivot-host g\n```\n";
    assert_eq!(commands(page, "pivot-host"), ["pivot-host a -b c   # d; e", "pivot-host f", "pivot-host g"]);
}

/// A command without `> FILE` at its end: where a page goes.
fn without_file(command: &str) -> &str {
    match command.rsplit_once(" > ") {
        Some((command, file))
            if file.trim().bytes().all(|c| c.is_ascii_alphanumeric() || b"-./".contains(&c)) =>
        {
            command
        }
        _ => command,
    }
}

#[test]
fn redirections_are_not_part_of_commands() {
    assert_eq!(without_file("pivot-host a > b/c-1.html"), "pivot-host a");
    for whole in ["pivot-host a", "pivot-host a > b c", "pivot-host a > b; d", "pivot-host a > $b"] {
        assert_eq!(without_file(whole), whole);
    }
}

#[test]
fn commands_on_operator_pages_parse() {
    let pages = pages();
    assert!(pages.len() >= 7, "{pages:?}");
    for path in pages {
        let commands = commands(&page(&path), "pivot-host");
        assert!(!commands.is_empty(), "{} has no command", path.display());
        for line in commands {
            let command = without_file(line.split(" #").next().unwrap_or_default());
            assert!(!command.contains(MORE_THAN_WORDS), "{}: more than words: {line}", path.display());
            // Names the line if it can't be typed.
            drop(typed(&by_a_shell(command)));
        }
    }
}

#[test]
fn runbook_covers_exit_codes_and_phases() {
    let codes = Exit::ALL.iter().map(|code| format!("### Exit {}", *code as u8));
    let phases = Phase::ALL.iter().map(|phase| format!("### {phase}"));
    let runbook = page(&root().join("docs/runbook.md"));
    let missing: Vec<String> = ["### Exit 0".to_owned()]
        .into_iter()
        .chain(codes)
        .chain(phases)
        .filter(|heading| {
            !runbook.lines().any(|line| line == heading || line.starts_with(&format!("{heading}:")))
        })
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}
