//! Types the commands of a page in a shell, one after the other. They end and print as the page says.

use std::path::Path;
use std::process::Command;

/// Words with which typed commands begin: programs and a loop.
const BEGINNINGS: [&str; 9] =
    ["pivot-host ", "kubectl ", "clusterctl ", "chmod ", "cp ", "sha256sum ", "tar ", "for ", "$EDITOR "];
/// Words before the exit code of a command that doesn't end with 0.
const EXITS: &str = "# exits with ";
/// Seconds after which a command hangs.
const LIMIT: &str = "600";

/// Returns the lines in fenced blocks, without the indentation of their fence.
pub(crate) fn fenced_lines(page: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut found = Vec::new();
    for line in page.lines() {
        match (line.split_once("```"), fence) {
            (Some((indentation, _)), None) if indentation.trim().is_empty() => fence = Some(indentation),
            (Some((indentation, "")), Some(open)) if indentation == open => fence = None,
            (_, Some(indentation)) => found.push(line.strip_prefix(indentation).unwrap_or(line)),
            _ => {}
        }
    }
    assert_eq!(fence, None, "a fenced block has no end");
    found
}

#[test]
fn fences_may_be_indented() {
    let page = "no\n```\na\n  b\n```\nno\n- [ ] c\n\n  ```sh\n  d\n    e\n  ```\n`no`\n";
    assert_eq!(fenced_lines(page), ["a", "  b", "d", "  e"]);
}

/// Returns true if a line of a fenced block is a command.
pub(crate) fn is_command(line: &str) -> bool {
    BEGINNINGS.iter().any(|word| line.starts_with(word))
}

/// Returns true if a line of a page was printed, or is a part of a printed line. In it, `…` stands for any text.
fn is_printed(line: &str, printed: &str) -> bool {
    let has_parts = |mut rest: &str| {
        line.split('…').all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    };
    printed.lines().any(has_parts)
}

#[test]
fn ellipses_stand_for_any_text() {
    let printed = "Plan: 5 objects, from a to b\nNo problems.";
    for (line, is_there) in
        [("from … to …", true), ("No problems.", true), ("from … to c", false), ("Plan: …problems", false)]
    {
        assert_eq!(is_printed(line, printed), is_there, "{line}");
    }
}

/// Types the lines in fenced blocks that begin with one of the words, and returns all that they print. Each other line there must have
/// been printed before. The shell starts in this folder, with this `PATH` and no other environment.
pub(crate) fn type_commands(page: &str, shell: &[&str], folder: &Path, path: &str) -> String {
    let mut printed = String::new();
    for line in fenced_lines(page) {
        if !is_command(line) {
            assert!(is_printed(line, &printed), "no command printed {line:?} before:\n{printed}");
            continue;
        }
        let mut typed = Command::new("timeout");
        typed.arg(LIMIT).args(shell).args(["-c", line]).env_clear().env("PATH", path).current_dir(folder);
        let output = typed.output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let expected = line.split_once(EXITS).map_or(0, |(_, code)| code.parse().unwrap());
        assert_eq!(output.status.code(), Some(expected), "{line}: {text}");
        printed.push_str(&text);
    }
    printed
}
