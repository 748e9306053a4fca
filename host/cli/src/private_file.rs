//! A file that only its owner may read, as a report or a saved plan is: reserved before anything begins, so that a run never ends
//! without a place for it, and written at once at the end.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A place that can be written, and a file beside it that becomes the one there.
#[derive(Debug)]
pub(crate) struct PrivateFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
}

impl PrivateFile {
    /// Reserves the file for a content. An older file is replaced only when the new one is complete. A file that the same command
    /// `reads` is never replaced: the next command may need that, too.
    pub(crate) fn reserve<'a>(
        path: &Path,
        what: &str,
        mut reads: impl Iterator<Item = &'a PathBuf>,
    ) -> Result<Self, String> {
        let because =
            |why: &dyn std::fmt::Display| format!("{what} can't be written to {}: {why}", path.display());
        match fs::symlink_metadata(path) {
            Ok(there) if there.is_dir() => return Err(because(&"it is a directory")),
            Ok(there) if !there.is_file() => return Err(because(&"it is not a regular file")),
            Ok(_) if reads.any(|read| is_same(read, path)) => return Err(because(&"this command reads it")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(because(&error)),
        }
        let Some(name) = path.file_name() else { return Err(because(&"it is a directory")) };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        // In a container every process has the same id: what a killed run left must not be in the way of the next.
        hidden.push(format!(".{:016x}.part", RandomState::new().hash_one(std::process::id())));
        let temporary = path.with_file_name(hidden);
        // Names of objects and messages of servers are not for everyone.
        let file = owner_only(OpenOptions::new().write(true).create_new(true)).open(&temporary);
        let file = file.map_err(|error| because(&error))?;
        Ok(Self { path: path.to_owned(), temporary, file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the file is named as a page for people. Otherwise it is a document for programs.
    pub(crate) fn is_page(&self) -> bool {
        has_extension(&self.path, "html")
    }

    /// Writes it, whole or not at all.
    pub(crate) fn write_text(self, text: &str) -> io::Result<()> {
        self.write_with(|file| file.write_all(text.as_bytes()))
    }

    /// Writes the content with a function, whole or not at all.
    pub(crate) fn write_with(mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        write(&mut self.file)?;
        self.file.sync_all()?;
        fs::rename(&self.temporary, &self.path)
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        // Once it is renamed there is none.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Has a new file be for its owner alone. On Windows, it gets the permissions of its folder.
pub(crate) fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    options.mode(0o600);
    options
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Returns true if the name states the form of a report.
pub(crate) fn has_form(path: &Path) -> bool {
    has_extension(path, "html") || has_extension(path, "json")
}

fn has_extension(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|given| given.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    // proves: T133
    #[test]
    fn only_complete_reports_replace_files() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("report.html");
        fs::write(&path, "before").unwrap();
        let left = |begun: PrivateFile| drop(begun);
        let reserve = |reads: &[PathBuf]| PrivateFile::reserve(&path, "the report", reads.iter());
        left(reserve(&[]).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        // What a killed run left is in nobody's way, although in a container all have the same process id.
        std::mem::forget(reserve(&[]).unwrap());
        let killed = reserve(&[]).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
        drop(killed);
        for entry in fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if entry != path {
                fs::remove_file(entry).unwrap();
            }
        }
        let read = dir.path().join("../").join(dir.path().file_name().unwrap()).join("report.html");
        let said = reserve(&[dir.path().join("other"), read]).unwrap_err();
        assert!(said.ends_with("report.html: this command reads it"), "{said}");
        reserve(&[]).unwrap().write_text("after").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    // proves: T133
    #[test]
    fn wrong_places_for_reports_are_refused() {
        let dir = tempfile::TempDir::new().unwrap();
        let link = dir.path().join("link.json");
        symlink("elsewhere", &link).unwrap();
        let missing = dir.path().join("no/report.json");
        for (path, why) in [
            (dir.path(), "it is a directory"),
            (&link, "it is not a regular file"),
            (&missing, "No such file or directory"),
            (Path::new("/"), "it is a directory"),
        ] {
            let said = PrivateFile::reserve(path, "the report", [].iter()).unwrap_err();
            let begin = format!("the report can't be written to {}: {why}", path.display());
            assert!(said.starts_with(&begin), "{said}");
        }
    }
}
