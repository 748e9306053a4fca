//! The commands of docs/tutorial.md.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use crate::typed::type_commands;

#[test]
fn tutorial_works_as_written() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folder = TempDir::new().unwrap();
    symlink(repository.join("examples"), folder.path().join("examples")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_pivot-host"));
    let page = fs::read_to_string(repository.join("docs/tutorial.md")).unwrap();
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    type_commands(&page, &["sh"], folder.path(), &path);
    assert!(folder.path().join("report.html").is_file());
}
