//! The manifest: written last, it shows that a directory is complete and which move wrote it.
//!
//! Until then a hidden file next to the objects names the move that is writing, so that this move can continue and no reader
//! mistakes a part for the whole.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::Kind;
use pivot_core::messages::safe_text;
use pivot_core::records::backup::BackupFacts;
use pivot_core::records::record::is_move_id;
use pivot_core::request::validate::find_definition_error;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DirectoryError;
use super::encryption::{ENDING, Encryption};
use super::files::{DirectoryHandle, sha256_hex};

const API_VERSION: &str = "pivot-host.io/v1alpha1";
const KIND: &str = "Manifest";
pub(super) const MANIFEST_FILE: &str = "manifest.json";
pub(super) const UNFINISHED_FILE: &str = ".pivot-host.json";
/// The longest name that file systems have.
const MAX_NAME_BYTES: usize = 255;
/// Most characters of an invalid manifest field that are printed.
const MAX_SHOWN_CHARACTERS: usize = 100;

/// The record of a directory by the move that wrote it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// `pivot-host.io/v1alpha1`.
    pub api_version: String,
    /// `Manifest`.
    pub kind: String,
    /// Returns the move that wrote the directory.
    pub move_id: String,
    /// Whether the source was left paused so that this directory takes over; otherwise the source is still live.
    pub handover: bool,
    /// Facts about the backup; none for other copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<BackupFacts>,
    /// Encryption of the files; none if they are not encrypted. The manifest itself never is, so that a directory can be verified
    /// without a key: it names objects, and holds nothing of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
    /// The number of objects.
    pub count: usize,
    /// Kinds of the objects, so that readers don't have to guess.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// SHA-256 of each file, as it is in the directory.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// Changes of a directory since the move that wrote it.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// Files that are gone.
    pub(super) missing: Vec<String>,
    /// Files that are no longer as they were written.
    pub(super) changed: Vec<String>,
    /// Files that the move did not write.
    pub(super) added: Vec<String>,
}

/// The move that writes a directory, or wrote it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Writer {
    pub(super) move_id: String,
    /// Encryption of the files: no later run may continue with another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) encryption: Option<Encryption>,
}

impl Writer {
    /// Fails if the move's files are encrypted and new ones wouldn't be, or the other way round.
    pub(super) fn check_same_encryption(
        &self,
        files: &DirectoryHandle,
        encryption: Option<Encryption>,
    ) -> Result<(), DirectoryError> {
        if self.encryption == encryption {
            return Ok(());
        }
        Err(DirectoryError::OtherwiseEncrypted {
            path: files.path().to_owned(),
            move_id: self.move_id.clone(),
            encrypted: self.encryption.is_some(),
        })
    }
}

impl Manifest {
    /// Returns the move that wrote the directory.
    pub(super) fn writer(&self) -> Writer {
        Writer { move_id: self.move_id.clone(), encryption: self.encryption }
    }

    /// Returns the differences of what was read. A file whose objects were not read is missing, even if it is back. A file whose objects
    /// were read is added, even if it is gone.
    pub(super) fn compare_read(&self, files: &DirectoryHandle) -> Result<Differences, DirectoryError> {
        let mut compared = self.compare_files(files)?;
        compared.missing = self.files.keys().filter(|name| !files.was_read(name)).cloned().collect();
        let added: BTreeSet<String> = compared.added.into_iter().chain(files.names_read()).collect();
        compared.added = added.into_iter().filter(|name| self.is_added(name)).collect();
        Ok(compared)
    }

    /// Returns files that are missing, changed or added. A site may have changed or added files on purpose.
    pub(super) fn compare_files(&self, files: &DirectoryHandle) -> Result<Differences, DirectoryError> {
        let mut compared = Differences::default();
        for (name, digest) in &self.files {
            match files.file_digest(name)? {
                None => compared.missing.push(name.clone()),
                Some(found) if found != *digest => compared.changed.push(name.clone()),
                Some(_) => {}
            }
        }
        compared.added = files.list_files()?.into_iter().filter(|name| self.is_added(name)).collect();
        Ok(compared)
    }

    fn is_added(&self, name: &str) -> bool {
        name != MANIFEST_FILE && !self.files.contains_key(name)
    }
}

/// Returns true if a directory's files are encrypted. Fails if only some of them are.
///
/// Plain files among encrypted ones may come from a user without a key.
pub(super) fn is_encrypted(
    files: &DirectoryHandle,
    names: &[String],
    manifest: Option<&Manifest>,
) -> Result<bool, DirectoryError> {
    let encrypted = names.iter().find(|name| name.ends_with(ENDING));
    let plain = names.iter().find(|name| !name.ends_with(ENDING) && *name != MANIFEST_FILE);
    let promised = manifest.is_some_and(|manifest| manifest.encryption.is_some());
    let unusable = |path: &str, reason| Err(DirectoryError::Unusable { path: path.to_owned(), reason });
    match (encrypted, plain) {
        (Some(encrypted), Some(plain)) => {
            unusable(plain, format!("not encrypted, while {encrypted} is; either all files are, or none"))
        }
        (None, Some(plain)) if promised => {
            unusable(plain, "not encrypted, although the manifest says that all files are".to_owned())
        }
        (None, _) if !promised && files.has_identities() => {
            unusable(files.path(), "nothing in it is encrypted, so no identity is needed".to_owned())
        }
        _ => Ok(encrypted.is_some() || promised),
    }
}

/// Returns true if a document is a manifest rather than an object.
pub(super) fn is_manifest(body: &Value) -> bool {
    let text = |field| body.get(field).and_then(Value::as_str);
    text("kind") == Some(KIND)
        && text("apiVersion").is_some_and(|version| version.starts_with("pivot-host.io/"))
}

/// Reads the manifest, if the directory has one.
pub(super) fn read_manifest(files: &DirectoryHandle) -> Result<Option<Manifest>, DirectoryError> {
    read_with_digest(files).map(|found| found.map(|(manifest, _)| manifest))
}

/// Reads the manifest with its SHA-256, if the directory has one.
pub(super) fn read_with_digest(
    files: &DirectoryHandle,
) -> Result<Option<(Manifest, String)>, DirectoryError> {
    let Some(content) = files.read_file(MANIFEST_FILE)? else { return Ok(None) };
    let manifest: Manifest = parse_json(files, MANIFEST_FILE, &content)?;
    if manifest.api_version != API_VERSION || manifest.kind != KIND {
        let version =
            safe_text::to_line(&format!("{} {}", manifest.api_version, manifest.kind), MAX_SHOWN_CHARACTERS);
        return Err(unreadable_file(files, MANIFEST_FILE, format!("{version} is not known here")));
    }
    // A truncated manifest would pass off a part as the whole.
    if manifest.count != manifest.files.len() {
        let reason = format!("it counts {} objects and lists {}", manifest.count, manifest.files.len());
        return Err(unreadable_file(files, MANIFEST_FILE, reason));
    }
    if manifest.files.keys().any(|name| name.len() > MAX_NAME_BYTES) {
        let reason = format!("it lists a file whose name has more than {MAX_NAME_BYTES} bytes");
        return Err(unreadable_file(files, MANIFEST_FILE, reason));
    }
    check_move_id(files, MANIFEST_FILE, &manifest.move_id)?;
    match manifest.kinds.iter().find_map(find_definition_error) {
        Some(odd) => Err(unreadable_file(files, MANIFEST_FILE, odd)),
        None => Ok(Some((manifest, sha256_hex(&content)))),
    }
}

/// Fails if this can't be a move's id.
fn check_move_id(files: &DirectoryHandle, name: &str, move_id: &str) -> Result<(), DirectoryError> {
    match is_move_id(move_id) {
        true => Ok(()),
        false => Err(unreadable_file(files, name, "its moveId is not one that pivot-host gives".to_owned())),
    }
}

/// Reads the move that has started and not finished, if there is one.
pub(super) fn read_unfinished(files: &DirectoryHandle) -> Result<Option<Writer>, DirectoryError> {
    let Some(content) = files.read_file(UNFINISHED_FILE)? else { return Ok(None) };
    let writer: Writer = parse_json(files, UNFINISHED_FILE, &content)?;
    check_move_id(files, UNFINISHED_FILE, &writer.move_id)?;
    Ok(Some(writer))
}

/// Fails where a move has begun to write the directory, and has not finished.
pub(super) fn check_complete(
    files: &DirectoryHandle,
    manifest: Option<&Manifest>,
) -> Result<(), DirectoryError> {
    match (manifest, read_unfinished(files)?) {
        (None, Some(Writer { move_id, .. })) => {
            Err(DirectoryError::Incomplete { path: files.path().to_owned(), move_id })
        }
        _ => Ok(()),
    }
}

/// Marks the directory as incomplete.
pub(super) fn mark_unfinished(files: &DirectoryHandle, writer: &Writer) -> Result<(), DirectoryError> {
    write_json(files, UNFINISHED_FILE, writer)?;
    files.remove(MANIFEST_FILE)
}

/// Removes the mark, so that any move can use the directory.
pub(super) fn remove_mark(files: &DirectoryHandle) -> Result<(), DirectoryError> {
    files.remove(UNFINISHED_FILE)
}

/// Marks the directory as complete, with everything on disk. For files that this run wrote, `names` has the digests: a checksum
/// is for the written content, not for a replacement.
pub(super) fn finish_copy(
    files: &DirectoryHandle,
    writer: &Writer,
    (handover, backup): (bool, Option<BackupFacts>),
    kinds: Vec<Kind>,
    names: &BTreeMap<&str, Option<&str>>,
) -> Result<Manifest, DirectoryError> {
    let mut digests = BTreeMap::new();
    for (name, written) in names {
        let Some(content) = files.read_file(name)? else {
            return Err(unreadable_file(files, name, "taken away by someone else".to_owned()));
        };
        let digest = sha256_hex(&content);
        if written.is_some_and(|written| written != digest) {
            return Err(unreadable_file(
                files,
                name,
                "replaced by someone else since it was written".to_owned(),
            ));
        }
        files.sync_file(name)?;
        digests.insert((*name).to_owned(), digest);
    }
    let manifest = Manifest {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        move_id: writer.move_id.clone(),
        handover,
        backup,
        encryption: writer.encryption,
        count: digests.len(),
        kinds,
        files: digests,
    };
    files.sync_names()?;
    write_json(files, MANIFEST_FILE, &manifest)?;
    files.sync_file(MANIFEST_FILE)?;
    files.remove(UNFINISHED_FILE)?;
    files.sync_names()?;
    Ok(manifest)
}

fn write_json(files: &DirectoryHandle, name: &str, content: &impl Serialize) -> Result<(), DirectoryError> {
    let mut text = serde_json::to_vec_pretty(content)
        .map_err(|error| unreadable_file(files, name, error.to_string()))?;
    text.push(b'\n');
    files.write_file(name, &text)
}

fn parse_json<T: for<'de> Deserialize<'de>>(
    files: &DirectoryHandle,
    name: &str,
    content: &[u8],
) -> Result<T, DirectoryError> {
    serde_json::from_slice(content).map_err(|error| {
        let at = format!("not readable as JSON (line {}, column {})", error.line(), error.column());
        unreadable_file(files, name, at)
    })
}

fn unreadable_file(files: &DirectoryHandle, name: &str, reason: String) -> DirectoryError {
    DirectoryError::Unusable { path: format!("{}/{name}", files.path()), reason }
}
