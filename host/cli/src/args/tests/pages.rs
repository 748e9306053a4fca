//! The pages: each command on them can be typed as it stands, and the runbook leaves out no exit code and no phase.

use std::fs;
use std::path::{Path, PathBuf};

use pivot_core::records::record::Phase;
use pivot_engine::Exit;

use crate::args::command;
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

/// The contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";
/// Begin the rest of a line, which is no part of the command.
const AFTER_COMMAND: [&str; 4] = [" #", " && ", " > ", " 2> "];
/// Examples for the values that pages leave out.
const LEFT_OUT: [(&str, &str); 4] = [
    ("\"$reference\"", "registry.example.com/site/plugins:1"),
    ("\"$digest\"", "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
    ("sha256:…", "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
    (" …", ""),
];

/// Returns the pages of the book, by their paths.
fn book_pages() -> Vec<PathBuf> {
    let summary = page(&root().join(SUMMARY));
    let links = summary.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    links.map(|(link, _)| root().join("docs").join(link)).collect()
}

/// Returns the part of a line that the program's arguments are in, with examples for the values that the page leaves out.
fn arguments_of_line(line: &str) -> String {
    let end = AFTER_COMMAND.iter().filter_map(|rest| line.find(rest)).min().unwrap_or(line.len());
    LEFT_OUT.iter().fold(line[..end].to_owned(), |line, (blank, value)| line.replace(blank, value))
}

#[test]
fn arguments_end_before_redirections() {
    for (line, command) in [
        ("pivot-host a > b.html", "pivot-host a"),
        ("pivot-host a -b c   # d", "pivot-host a -b c  "),
        ("pivot-host a 2> b & until c; do d; done", "pivot-host a"),
        ("pivot-host a … && b", "pivot-host a"),
    ] {
        assert_eq!(arguments_of_line(line), command);
    }
}

/// Returns the commands in a page's sentences: code spans that begin with the program's name.
fn commands_in_sentences(page: &str) -> Vec<&str> {
    let mut is_fenced = false;
    let lines = page.lines().filter(|line| {
        is_fenced ^= line.trim().starts_with("```");
        !is_fenced
    });
    let spans = lines.flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.filter(|span| span.starts_with("pivot-host ")).collect()
}

/// Returns the first word of a command that the program doesn't know: a verb, or a flag.
fn unknown_word<'a>(mut command: &clap::Command, words: &'a str) -> Option<&'a str> {
    let mut words = words.split(' ').skip(1).peekable();
    while let Some(word) = words.next_if(|word| command.find_subcommand(word).is_some()) {
        command = command.find_subcommand(word).unwrap();
    }
    let has_flag = |flag: &str| command.get_arguments().any(|arg| arg.get_long() == Some(flag));
    if command.has_subcommands()
        && let Some(verb) = words.next_if(|word| !word.starts_with('-'))
    {
        return Some(verb);
    }
    words.find(|word| word.strip_prefix("--").is_some_and(|flag| !has_flag(flag)))
}

#[test]
fn commands_in_the_book_parse() {
    let mut program = command(None);
    program.build();
    let (mut fenced, mut spans) = (0, 0);
    for path in book_pages() {
        let text = page(&path);
        for line in commands(&text, "pivot-host") {
            let command = arguments_of_line(&line);
            assert!(!command.contains(MORE_THAN_WORDS), "{}: more than words: {line}", path.display());
            // Names the line if it can't be typed.
            drop(typed(&by_a_shell(&command)));
            fenced += 1;
        }
        for span in commands_in_sentences(&text).into_iter().filter(|span| !span.contains(" COMMAND ")) {
            assert_eq!(unknown_word(&program, span), None, "{}: {span}", path.display());
            spans += 1;
        }
    }
    assert!(fenced > 250 && spans > 30, "{fenced} {spans}");
    assert_eq!(unknown_word(&program, "pivot-host plugin no"), Some("no"));
    assert_eq!(unknown_word(&program, "pivot-host plan show FILE --no"), Some("--no"));
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
