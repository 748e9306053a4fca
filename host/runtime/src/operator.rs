//! The operator's files in a plugin directory, and their rules for the plugin files.

use std::path::{Path, PathBuf};

use pivot_core::messages::shell::quote;
use pivot_vetting::bundles::kind::WASM;
use pivot_vetting::permissions::{GRANTS_FILE, Grants, LOCK_FILE, LockEntry, LockFile, OperatorFile};

use crate::directory::{Artifact, PluginDir};
use crate::error::{LoadError, PluginIdentity, Refused, short_digest};
use crate::served_kinds::ServedKinds;
use crate::signed_claims::Trust;

/// Options of loading plugins.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Plugins may be missing in the lock file. For development: anyone with write access to the directory decides which
    /// plugins run.
    pub unlocked: bool,
    /// Disabled plugins are refused, and so are files that other users may write. So no gate can be removed unnoticed.
    pub strict: bool,
    /// The operator's signers and rules. `unlocked` waives none of them.
    pub trust: Option<Trust>,
    /// Name of the directory in messages, if the directory will be renamed.
    pub called: Option<PathBuf>,
    /// The kinds of a move's sides: a plugin without objects there isn't compiled. None: all plugins are.
    pub served: Option<ServedKinds>,
}

/// The operator's files.
pub(crate) struct Operator {
    pub(crate) dir: PluginDir,
    pub(crate) file: OperatorFile,
    /// None: unlocked.
    pub(crate) lock: Option<LockFile>,
    pub(crate) trust: Option<Trust>,
    pub(crate) served: Option<ServedKinds>,
}

impl Operator {
    pub(crate) fn load(path: &Path, options: LoadOptions) -> Result<Self, Vec<LoadError>> {
        let dir = PluginDir::open(path)
            .map_err(|error| vec![error])?
            .with_displayed_name(options.called.as_deref());
        match (read_grants(&dir), read_lock(&dir)) {
            (Ok(file), Ok(lock)) => {
                let LoadOptions { unlocked, strict: _, trust, called: _, served } = options;
                Ok(Self { dir, file, lock: (!unlocked).then_some(lock), trust, served })
            }
            (file, lock) => Err(file.err().into_iter().chain(lock.err()).collect()),
        }
    }

    /// A file's entry in the lock; none if it needs none. An error if it differs from the admitted file.
    pub(crate) fn lock_entry(&self, artifact: &Artifact) -> Result<Option<&LockEntry>, LoadError> {
        let Some(lock) = &self.lock else { return Ok(None) };
        let size = artifact.bytes.len() as u64;
        if let Some(entry) = lock.find_by_digest(&artifact.digest).filter(|entry| entry.size == size) {
            return Ok(Some(entry));
        }
        let command = self.admit_command(&artifact.file);
        // A plugin's name is known only after it is described, and this one isn't: use the file's name.
        let stem = artifact.file.strip_suffix(WASM).unwrap_or(&artifact.file);
        let refused = match lock.find_by_name(stem) {
            Some(entry) => Refused::Changed { locked: short_digest(&entry.sha256).to_owned(), command },
            None => Refused::NotLocked { command },
        };
        Err(refused.about_plugin(artifact.identity(None)))
    }

    /// Returns the grants of an enabled plugin if no side of the move serves a kind of theirs. A plugin without kinds may decide by
    /// something else.
    pub(crate) async fn grants_of_idle(&self, name: &str) -> Option<&Grants> {
        let (served, grants) = (self.served.as_ref()?, self.file.plugins.get(name)?);
        let is_idle = grants.enabled && !grants.kinds.is_empty() && !served.may_include(&grants.kinds).await;
        is_idle.then_some(grants)
    }

    /// Plugins that the operator's files name and that don't exist.
    pub(crate) fn missing_plugins(&self, there: impl Fn(&str) -> bool) -> Vec<LoadError> {
        let missing = |name: &str, by| {
            let who = PluginIdentity { name: Some(name.to_owned()), ..PluginIdentity::default() };
            Refused::Missing { by }.about_plugin(who)
        };
        let granted =
            self.file.plugins.iter().filter(|(_, grants)| grants.enabled).map(|(name, _)| name.as_str());
        let mut errors: Vec<_> =
            granted.filter(|name| !there(name)).map(|name| missing(name, GRANTS_FILE)).collect();
        let locked = self.lock.iter().flat_map(LockFile::entries).map(|entry| entry.name.as_str());
        errors.extend(locked.filter(|name| !there(name)).map(|name| missing(name, LOCK_FILE)));
        errors
    }

    /// Returns the files that decide which plugins run and that users other than their owner may write: the directory itself,
    /// the operator's files, and the plugins' files.
    pub(crate) fn open_to_others(&self, files: &[String]) -> Vec<String> {
        let beside = [GRANTS_FILE, LOCK_FILE].into_iter().chain(files.iter().map(String::as_str));
        let open = beside.filter(|file| self.dir.is_open_to_others(file)).map(str::to_owned);
        let directory = self.dir.is_open_to_others(".").then(|| "the directory".to_owned());
        let trust = self.trust.iter().flat_map(|trust| trust.open_to_others.iter().cloned());
        directory.into_iter().chain(open).chain(trust).collect()
    }

    /// The command that admits a file.
    pub(crate) fn admit_command(&self, file: &str) -> String {
        admit_command(&self.dir, file, "")
    }
}

/// Reads the operator's grants; without a file there are none.
pub(crate) fn read_grants(dir: &PluginDir) -> Result<OperatorFile, LoadError> {
    Ok(OperatorFile::parse(&dir.read_text(GRANTS_FILE)?.unwrap_or_default())?)
}

/// Reads the admissions; without a file there are none.
pub(crate) fn read_lock(dir: &PluginDir) -> Result<LockFile, LoadError> {
    let text = dir.read_text(LOCK_FILE)?;
    Ok(text.map(|text| LockFile::parse(&text)).transpose()?.unwrap_or_default())
}

/// The command that admits a file, with a flag.
pub(crate) fn admit_command(dir: &PluginDir, file: &str, flag: &str) -> String {
    format!("pivot-host plugin add {flag}{}", quote(&dir.path.join(file).display().to_string()))
}
