//! The commands of docs/tutorial.md, typed one after the other. They end and print as the page says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Words before the exit code of a command that doesn't end with 0.
const EXITS: &str = "# exits with ";

/// Returns the lines in fenced blocks.
fn fenced_lines(page: &str) -> Vec<&str> {
    let mut is_fenced = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced {
            found.push(line);
        }
    }
    found
}

#[test]
fn tutorial_works_as_written() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let page = fs::read_to_string(repository.join("docs/tutorial.md")).unwrap();
    let folder = TempDir::new().unwrap();
    symlink(repository.join("examples"), folder.path().join("examples")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_pivot-host")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    let (mut typed, mut printed) = (0, String::new());
    for line in fenced_lines(&page) {
        if !line.starts_with("pivot-host ") {
            assert!(printed.contains(line), "no command printed {line:?} before:\n{printed}");
            continue;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).env_clear().env("PATH", &path).current_dir(folder.path());
        let output = shell.output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let expected = line.split_once(EXITS).map_or(0, |(_, code)| code.parse().unwrap());
        assert_eq!(output.status.code(), Some(expected), "{line}: {text}");
        printed.push_str(&text);
        typed += 1;
    }
    assert!(typed > 8 && folder.path().join("report.html").is_file(), "{typed} commands");
}
