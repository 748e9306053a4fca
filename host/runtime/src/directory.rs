//! The plugin directory, opened as a handle that no path and no link leads out of.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
#[cfg(unix)]
use cap_std::fs::{MetadataExt as _, OpenOptionsExt as _};
use pivot_core::messages::safe_text::escape_line;
use pivot_vetting::bundles::kind::WASM;
use pivot_vetting::digest::sha256;

use crate::error::{LoadError, PluginIdentity, Refused};
use crate::text;

/// Larger than any plugin: CPython with its library, as a component, is 18 MB.
pub(crate) const MAX_PLUGIN: u64 = 64 << 20;
/// More than an operator writes by hand.
const MAX_TEXT: u64 = 1 << 20;

/// A plugin's file as read.
#[derive(Clone)]
pub(crate) struct Artifact {
    pub(crate) file: String,
    pub(crate) bytes: Arc<Vec<u8>>,
    /// SHA-256, in hex.
    pub(crate) digest: String,
}

impl Artifact {
    pub(crate) fn new(file: impl Into<String>, bytes: Vec<u8>) -> Self {
        let digest = sha256(&bytes);
        Self { file: file.into(), bytes: Arc::new(bytes), digest }
    }

    pub(crate) fn identity(&self, name: Option<&str>) -> PluginIdentity {
        PluginIdentity {
            name: name.map(str::to_owned),
            version: None,
            file: self.file.clone(),
            digest: Some(self.digest.clone()),
        }
    }
}

/// The name of a file. It appears in messages and in commands to paste, so it must be one line without hidden characters.
pub(crate) fn check_file_name(name: &OsStr) -> Result<String, Refused> {
    match name.to_str() {
        Some(name) if text::to_line(name, name.len()) == name => Ok(name.to_owned()),
        Some(name) => Err(Refused::FileName(escape_line(name, 300))),
        None => Err(Refused::FileName(format!("{name:?}"))),
    }
}

fn not_a_file() -> Refused {
    Refused::NotInside("neither a file nor a link to one".into())
}

/// The files in a directory of plugins.
#[derive(Debug)]
pub struct PluginFiles {
    /// The files that are wanted, by their names.
    pub wanted: BTreeMap<String, Vec<u8>>,
    /// The names of the others.
    pub others: Vec<String>,
}

/// The files of a directory of plugins. None of them lies elsewhere: a link that leads out of the directory is an error.
pub fn list_files(directory: &Path, wanted: impl Fn(&str) -> bool) -> Result<PluginFiles, LoadError> {
    let dir = PluginDir::open(directory)?;
    let (wanted, others) = dir.file_names()?.into_iter().partition::<Vec<_>, _>(|name| wanted(name));
    let files = wanted.into_iter().map(|name| dir.read_bytes(&name, MAX_PLUGIN).map(|bytes| (name, bytes)));
    Ok(PluginFiles { wanted: files.collect::<Result<_, _>>()?, others })
}

/// A directory of plugins with the operator's files.
#[derive(Clone)]
pub(crate) struct PluginDir {
    /// Path of the directory in messages and commands.
    pub(crate) path: PathBuf,
    dir: Arc<Dir>,
}

impl PluginDir {
    pub(crate) fn open(path: &Path) -> Result<Self, LoadError> {
        let who = PluginIdentity { file: path.display().to_string(), ..PluginIdentity::default() };
        let dir = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| Refused::Unreadable(error).about_plugin(who))?;
        Ok(Self { path: path.to_owned(), dir: Arc::new(dir) })
    }

    /// Returns the directory under its future name.
    pub(crate) fn with_displayed_name(self, name: Option<&Path>) -> Self {
        Self { path: name.map_or(self.path, Path::to_owned), dir: self.dir }
    }

    /// The names of the files that end in `.wasm`, sorted. Other files are ignored.
    pub(crate) fn component_files(&self) -> Result<Vec<String>, LoadError> {
        let entries = self.dir.entries().map_err(|error| self.unreadable_error(error))?;
        let mut files = Vec::new();
        for entry in entries {
            let name = entry.map_err(|error| self.unreadable_error(error))?.file_name();
            if !name.as_encoded_bytes().ends_with(WASM.as_bytes()) {
                continue;
            }
            // Silently skipped, it would look as if it were loaded.
            files.push(check_file_name(&name).map_err(|refused| refused.about_plugin(self.identity()))?);
        }
        files.sort();
        Ok(files)
    }

    /// The names of all files, sorted.
    fn file_names(&self) -> Result<Vec<String>, LoadError> {
        let names = self.dir.entries().and_then(|entries| {
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        });
        let mut names: Vec<String> = names.map_err(|error| self.unreadable_error(error))?;
        names.sort();
        Ok(names)
    }

    fn unreadable_error(&self, error: std::io::Error) -> LoadError {
        Refused::Unreadable(error).about_plugin(self.identity())
    }

    /// Returns the directory, where an error names a plugin's file.
    fn identity(&self) -> PluginIdentity {
        PluginIdentity { file: self.path.display().to_string(), ..PluginIdentity::default() }
    }

    /// Reads one plugin's file.
    pub(crate) fn read_artifact(&self, file: &str) -> Result<Artifact, LoadError> {
        let bytes = self.read_bytes(file, MAX_PLUGIN)?;
        Ok(Artifact::new(file, bytes))
    }

    /// Reads one of the operator's files; none if it doesn't exist.
    pub(crate) fn read_text(&self, file: &str) -> Result<Option<String>, LoadError> {
        let who = PluginIdentity { file: file.to_owned(), ..PluginIdentity::default() };
        match self.read_bytes(file, MAX_TEXT) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(Refused::Operator("not UTF-8".into()).about_plugin(who)),
            },
            Err(error) => match *error.reason {
                Refused::Unreadable(ref io) if io.kind() == std::io::ErrorKind::NotFound => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Writes one of the operator's files atomically.
    pub(crate) fn write_text(&self, file: &str, text: &str) -> Result<(), LoadError> {
        let new = format!(".{file}.new");
        let written = self.write_new(&new, text).and_then(|()| self.dir.rename(&new, &self.dir, file));
        written.map_err(|error| {
            // What is left is removed before the next one, too.
            let _ = self.dir.remove_file(&new);
            Refused::Unreadable(error)
                .about_plugin(PluginIdentity { file: file.into(), ..PluginIdentity::default() })
        })
    }

    /// Writes a new file, and fails if the path exists. An existing file may be left from a killed process, or may be a link to
    /// another file.
    fn write_new(&self, file: &str, text: &str) -> std::io::Result<()> {
        match self.dir.remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut new = self.dir.open_with(file, OpenOptions::new().write(true).create_new(true))?;
        new.write_all(text.as_bytes())?;
        // Renamed before it is on the disk, it would be empty after a power failure.
        new.sync_all()
    }

    /// Returns true if a file of the directory, or the directory itself (`.`), may be written by its group or by everyone.
    #[cfg(unix)]
    pub(crate) fn is_open_to_others(&self, file: &str) -> bool {
        self.dir.metadata(file).is_ok_and(|metadata| metadata.mode() & 0o022 != 0)
    }

    /// Modes don't say who may write here.
    #[cfg(not(unix))]
    pub(crate) fn is_open_to_others(&self, _: &str) -> bool {
        false
    }

    fn read_bytes(&self, file: &str, limit: u64) -> Result<Vec<u8>, LoadError> {
        let who = || PluginIdentity { file: file.to_owned(), ..PluginIdentity::default() };
        // Checked before it is opened: opening a pipe would wait for a writer.
        match self.dir.metadata(file) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(not_a_file().about_plugin(who())),
            Err(error) => return Err(self.outside_error(file, error).about_plugin(who())),
        }
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let opened = self
            .dir
            .open_with(file, &options)
            .map_err(|error| self.outside_error(file, error).about_plugin(who()))?;
        // Another file may have replaced it since it was checked.
        let length = match opened.metadata() {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            _ => return Err(not_a_file().about_plugin(who())),
        };
        let mut bytes = Vec::new();
        opened
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Refused::Unreadable(error).about_plugin(who()))?;
        let size = bytes.len() as u64;
        if size > limit {
            return Err(Refused::TooLarge { size: length.max(size), limit }.about_plugin(who()));
        }
        Ok(bytes)
    }

    /// A link that leads out fails with a permission error.
    fn outside_error(&self, file: &str, error: std::io::Error) -> Refused {
        let link = self.dir.symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink());
        if link {
            Refused::NotInside(format!("its link leads nowhere, or outside ({error})"))
        } else {
            Refused::Unreadable(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn leftover_temporary_file_is_not_written_through() {
        let home = tempfile::tempdir().unwrap();
        let (other, left) = (home.path().join("other"), home.path().join(".plugins.lock.new"));
        let dir = PluginDir::open(home.path()).unwrap();
        fs::write(&other, "mine").unwrap();
        fs::hard_link(&other, &left).unwrap();
        dir.write_text("plugins.lock", "new").unwrap();
        std::os::unix::fs::symlink("other", &left).unwrap();
        dir.write_text("plugins.lock", "newer").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
        assert_eq!(fs::read_to_string(home.path().join("plugins.lock")).unwrap(), "newer");
        // What can't be put in its place is not left, either.
        fs::create_dir_all(home.path().join("plugins.toml/below")).unwrap();
        assert!(dir.write_text("plugins.toml", "x").is_err());
        assert_eq!(dir.file_names().unwrap(), ["other", "plugins.lock", "plugins.toml"]);
    }
}
