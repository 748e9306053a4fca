//! A directory of plugins that takes another one's place as a whole: whoever loads plugins finds the old one or the new one, and
//! a process that is killed leaves the old one.
//!
//! Renaming file by file was rejected: killed in between, it leaves a directory that doesn't load, and a move that can't go on.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Error, ErrorKind, Write};
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, symlink};
#[cfg(windows)]
use std::os::windows::fs::symlink_file as symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A directory beside the one that it is to replace.
pub(super) struct Staged {
    /// The one to replace; it need not exist.
    directory: PathBuf,
    path: PathBuf,
    /// Entries of the directory when it was copied.
    before: Option<Vec<Entry>>,
}

/// A file of the directory, as far as a change of it shows.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: OsString,
    inode: u64,
    length: u64,
    changed: SystemTime,
}

impl Staged {
    /// Makes one that has all files of the directory.
    pub(super) fn copy_of(directory: &Path) -> io::Result<Self> {
        let there = match fs::canonicalize(directory) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let directory = there.clone().unwrap_or_else(|| directory.to_owned());
        let Some(name) = directory.file_name() else { return Err(Error::other("it has no name")) };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".import");
        let path = directory.with_file_name(hidden);
        fs::create_dir(&path).map_err(|error| match error.kind() {
            // Two at once would each undo what the other did.
            ErrorKind::AlreadyExists => Error::other(format!(
                "{} exists: another import runs, or one was killed; then remove it",
                path.display()
            )),
            _ => Error::new(error.kind(), format!("{}: {error}", path.display())),
        })?;
        let mut staged = Self { directory, path, before: None };
        if let Some(there) = there {
            staged.take_over(&there)?;
        }
        Ok(staged)
    }

    fn take_over(&mut self, there: &Path) -> io::Result<()> {
        let before = read_entries(there)?;
        fs::set_permissions(&self.path, fs::metadata(there)?.permissions())?;
        for Entry { name, .. } in &before {
            let (old, new) = (there.join(name), self.path.join(name));
            let kind = fs::symlink_metadata(&old)?.file_type();
            if kind.is_symlink() {
                symlink(fs::read_link(&old)?, &new)?;
            } else if kind.is_file() {
                // The same file, which nothing here writes into; a copy where a system lets nobody link to what others own.
                fs::hard_link(&old, &new).or_else(|_| fs::copy(&old, &new).map(drop))?;
            } else {
                let what = format!("{} is no file; import into a new directory", old.display());
                return Err(Error::other(what));
            }
        }
        self.before = Some(before);
        Ok(())
    }

    /// Returns the path of the staged directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of its files.
    pub(super) fn files(&self) -> io::Result<Vec<String>> {
        let entries = read_entries(&self.path)?;
        Ok(entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
    }

    /// A file's content, if it has that file.
    pub(super) fn read_file(&self, file: &str) -> io::Result<Option<Vec<u8>>> {
        match pivot_places::read_regular_file(&self.path.join(file)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Writes a file, in place of one that has its name.
    pub(super) fn write_file(&self, file: &str, content: &[u8]) -> io::Result<()> {
        self.remove(file)?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(self.path.join(file))?;
        file.write_all(content)?;
        file.sync_all()
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, file: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(file)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Takes the directory's place, unless somebody has changed that meanwhile.
    pub(super) fn take_place(mut self) -> io::Result<()> {
        // Windows opens no directories as files.
        #[cfg(unix)]
        fs::File::open(&self.path)?.sync_all()?;
        let Some(before) = self.before.take() else {
            // Fails if somebody has made one meanwhile that isn't empty.
            return fs::rename(&self.path, &self.directory);
        };
        if read_entries(&self.directory)? != before {
            return Err(Error::other("another program changed it meanwhile; import again"));
        }
        exchange(&self.path, &self.directory).map_err(|why| {
            Error::other(format!(
                "it can't be replaced as a whole ({why}); import into a new directory beside it"
            ))
        })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // The new one that was not wanted, or the old one that was replaced.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Exchanges two directories at once.
#[cfg(unix)]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(unix))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(Error::new(ErrorKind::Unsupported, "this system can't exchange directories"))
}

fn read_entries(directory: &Path) -> io::Result<Vec<Entry>> {
    let entries = fs::read_dir(directory)?.map(|entry| {
        let entry = entry?;
        let there = fs::symlink_metadata(entry.path())?;
        // Not the time of the inode's change: the link to it is one.
        let changed = there.modified()?;
        #[cfg(unix)]
        let inode = there.ino();
        #[cfg(not(unix))]
        let inode = 0;
        Ok(Entry { name: entry.file_name(), inode, length: there.len(), changed })
    });
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    // proves: T34
    #[test]
    fn directory_is_replaced_whole_or_kept() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("plugins");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("a"), "old").unwrap();
        fs::write(directory.join("b"), "kept").unwrap();
        symlink("b", directory.join("link")).unwrap();

        let staged = Staged::copy_of(&directory).unwrap();
        staged.write_file("a", b"new").unwrap();
        assert_eq!(staged.read_file("a").unwrap().unwrap(), b"new");
        assert_eq!(fs::read_to_string(directory.join("a")).unwrap(), "old");
        let said = Staged::copy_of(&directory).err().unwrap().to_string();
        assert!(said.contains(".plugins.import exists: another import runs"), "{said}");
        drop(staged);
        assert_eq!(names(home.path()), ["plugins"]);

        let staged = Staged::copy_of(&directory).unwrap();
        staged.write_file("a", b"new").unwrap();
        staged.remove("b").unwrap();
        staged.write_file("c", b"added").unwrap();
        staged.take_place().unwrap();
        assert_eq!(
            (names(home.path()), names(&directory)),
            (vec!["plugins".into()], vec!["a".into(), "c".into(), "link".into()])
        );
        assert_eq!(fs::read_to_string(directory.join("a")).unwrap(), "new");
    }

    #[test]
    fn concurrent_changes_are_not_undone() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("plugins");
        let staged = Staged::copy_of(&directory).unwrap();
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("theirs"), "").unwrap();
        assert!(staged.take_place().is_err());
        let staged = Staged::copy_of(&directory).unwrap();
        fs::write(directory.join("theirs"), "changed").unwrap();
        assert!(staged.take_place().unwrap_err().to_string().contains("another program changed it"));
        fs::create_dir(directory.join("below")).unwrap();
        assert!(Staged::copy_of(&directory).err().unwrap().to_string().contains("below is no file"));
        assert_eq!(
            (names(home.path()), names(&directory)),
            (vec!["plugins".into()], vec!["below".into(), "theirs".into()])
        );
    }
}
