//! Reads regular files only: a pipe would block until someone writes to it, and a device never ends.

use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Result};
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Most bytes of a file that are read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// With this flag, opening a pipe doesn't wait for a writer.
#[cfg(unix)]
pub(crate) const NOT_WAITING: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// Returns the content of the file at a path.
pub fn read_regular_file(path: &Path) -> Result<Vec<u8>> {
    read_at_most(path, MAX_FILE_BYTES)
}

/// Stands for standard input in place of a path.
pub const STDIN: &str = "-";

/// Returns the content of the file at a path, or of standard input.
pub fn read_file_or_stdin(path: &Path) -> Result<Vec<u8>> {
    if path == Path::new(STDIN) {
        return read_limited(std::io::stdin().lock(), MAX_FILE_BYTES, Vec::new());
    }
    read_regular_file(path)
}

/// Returns the content of the file at a path, if it is no larger than a limit.
pub(crate) fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>> {
    read_content_at_most(open_checked(path)?, limit)
}

/// Opens the file at a path, for a reader with its own limits.
pub fn open_regular_file(path: &Path) -> Result<File> {
    let file = open_checked(path)?;
    // Another file may have replaced it since it was checked.
    #[cfg(unix)]
    check_is_regular(file.metadata()?.mode())?;
    Ok(file)
}

fn open_checked(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        check_is_regular(path.metadata()?.mode())?;
        options.custom_flags(NOT_WAITING);
    }
    options.open(path)
}

/// Returns true if users other than the owner can read or write the file at a path. On systems without such permissions, returns
/// false.
pub(crate) fn is_accessible_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    let others = path.metadata().is_ok_and(|metadata| metadata.mode() & 0o066 != 0);
    #[cfg(not(unix))]
    let others = {
        let _ = path;
        false
    };
    others
}

/// Returns the content of a file that was opened with [`NOT_WAITING`].
pub(crate) fn read_content(file: File) -> Result<Vec<u8>> {
    read_content_at_most(file, MAX_FILE_BYTES)
}

fn read_content_at_most(file: File, limit: u64) -> Result<Vec<u8>> {
    let metadata = file.metadata()?;
    // Another file may have replaced it since it was checked.
    #[cfg(unix)]
    check_is_regular(metadata.mode())?;
    let content = Vec::with_capacity(usize::try_from(metadata.len().min(limit)).unwrap_or_default());
    read_limited(file, limit, content)
}

fn read_limited(reader: impl Read, limit: u64, mut content: Vec<u8>) -> Result<Vec<u8>> {
    reader.take(limit + 1).read_to_end(&mut content)?;
    match content.len() as u64 > limit {
        true => Err(Error::other(format!("larger than {limit} bytes"))),
        false => Ok(content),
    }
}

/// Refuses anything but a regular file, before opening it: merely opening a device may activate it, and a socket can't be opened.
#[cfg(unix)]
pub(crate) fn check_is_regular(mode: u32) -> Result<()> {
    let what = match mode & 0o170_000 {
        0o100_000 => return Ok(()),
        0o010_000 => "a pipe",
        0o140_000 => "a socket",
        0o020_000 | 0o060_000 => "a device",
        0o040_000 => "a directory",
        _ => "something else",
    };
    Err(Error::other(format!("{what}, not a regular file")))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn irregular_files_are_refused_by_type() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, socket, file) = (dir.path().join("p"), dir.path().join("s"), dir.path().join("f"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::fs::write(&file, "content").unwrap();
        let refused = |path: &Path| read_regular_file(path).unwrap_err().to_string();
        assert_eq!(refused(&pipe), "a pipe, not a regular file");
        assert_eq!(refused(&socket), "a socket, not a regular file");
        assert_eq!(refused(Path::new("/dev/zero")), "a device, not a regular file");
        assert_eq!(refused(dir.path()), "a directory, not a regular file");
        assert_eq!(read_regular_file(&file).unwrap(), b"content");
        // As if it had replaced the file after the check.
        let opened = OpenOptions::new().read(true).custom_flags(NOT_WAITING).open(&pipe).unwrap();
        assert_eq!(read_content(opened).unwrap_err().to_string(), "a pipe, not a regular file");
    }
}
