//! Admits a plugin's file, and says how a file differs from the one that was admitted under its name.

use std::path::Path;

use pivot_vetting::bundles::kind::WASM;
use pivot_vetting::permissions::{
    self, Declaration, GRANTS_FILE, Grants, LOCK_FILE, LockEntry, OperatorFile,
};

use crate::candidate::Candidate;
use crate::directory::PluginDir;
use crate::engine::Runtime;
use crate::error::{LoadError, PluginIdentity, Refused};
use crate::load::{Inspection, inspect_candidate, split_path};
use crate::operator::{admit_command, read_grants, read_lock};
use crate::signed_claims::{self, Trust};
use crate::trial::trial_terms;

/// The permissions that a plugin gets with its admission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// Nothing that was not reviewed: a section that is enabled for another file is none for this one.
    #[default]
    Nothing,
    /// The grants of its section.
    Section,
    /// The grants of its section or, without a section, everything it asks for.
    All,
}

/// Options of an admission.
#[derive(Clone, Debug, Default)]
pub struct AdmitOptions<'a> {
    /// The permissions of the plugin.
    pub grant: Grant,
    /// The operator's signers and rules.
    pub trust: Option<&'a Trust>,
    /// User who admits the plugin, for people; empty if unknown.
    pub by: &'a str,
    /// When.
    pub at: &'a str,
    /// From which bundle.
    pub bundle: Option<&'a str>,
    /// Keep the existing lock entry (user and time) of an admitted file, and judge its signatures as at load time. A signer's
    /// last day for admissions doesn't limit how long admitted files load.
    pub keeps: bool,
    /// Name of the directory in messages, if the directory will be renamed.
    pub called: Option<&'a Path>,
}

/// A plugin that was just admitted.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The plugin.
    pub inspection: Inspection,
    /// The section that was added to `plugins.toml`, if it had none: to be reviewed.
    pub added: Option<String>,
    /// True if the plugin's section enables it.
    pub enabled: bool,
    /// Requests that the existing section doesn't grant; a move would refuse the plugin.
    pub missing: Vec<String>,
    /// Grants of the existing section that the plugin doesn't ask for.
    pub surplus: Vec<String>,
    /// The previous entry under this name, if it was for another file.
    pub replaced: Option<Locked>,
}

/// A file as the lock has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Version of the plugin.
    pub version: String,
    /// SHA-256, in hex.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// The state of a directory under a plugin's name.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// The lock's entry.
    pub locked: Option<Locked>,
    /// The file with the lock's digest, if it is still in the directory.
    pub file: Option<String>,
    /// True if `plugins.toml` has a section for the plugin.
    pub has_section: bool,
    /// Requests of the plugin that the section doesn't grant.
    pub missing: Vec<String>,
    /// Grants of the section that the plugin doesn't ask for.
    pub surplus: Vec<String>,
}

impl Locked {
    fn from_entry(entry: &LockEntry) -> Self {
        let LockEntry { version, sha256, size, .. } = entry;
        Self { version: version.clone(), sha256: sha256.clone(), size: *size }
    }
}

impl Runtime {
    /// Admits a file in its current state: writes its digest to the lock beside it and, if `plugins.toml` has no section for it,
    /// adds one with what it asks for, to be reviewed. The section grants nothing until it is enabled; [`Grant::All`] enables it
    /// at once. A file can call itself anything, so one whose section is enabled for another file, or for none yet, is refused
    /// with [`Grant::Nothing`].
    pub async fn admit(&self, path: &Path, how: &AdmitOptions<'_>) -> Result<Admission, LoadError> {
        let &AdmitOptions { grant, trust, by, at, bundle, keeps, called } = how;
        let (dir, file) = split_path(path)?;
        let dir = PluginDir::open(&dir)?.with_displayed_name(called);
        let artifact = dir.read_artifact(&file)?;
        if !file.ends_with(WASM) {
            return Err(Refused::NoComponentName.about_plugin(artifact.identity(None)));
        }
        let mut lock = read_lock(&dir)?;
        let trust =
            trust.map(|trust| if keeps { trust.for_locked_file(&lock, &artifact) } else { trust.clone() });
        let trust = trust.as_ref();
        if let Some(trust) = trust {
            trust.judge(&dir, &artifact, None).await?;
        }
        let candidate = self.prepare_candidate(artifact, false).await?;
        let Candidate { artifact, seen, declaration, hooks, passed, .. } = &candidate;
        let Declaration { name, version, .. } = declaration;
        signed_claims::check_claims(&dir, artifact, (declaration, hooks, seen), trust).await?;
        // Read before anything is written, so that an invalid file stays unchanged.
        let text = dir.read_text(GRANTS_FILE)?.unwrap_or_default();
        let mut operator = OperatorFile::parse(&text)?;
        let held = lock.find_by_name(name).filter(|entry| entry.sha256 == artifact.digest).cloned();
        let same = held.is_some();
        let before = lock.find_by_name(name).filter(|_| !same).map(Locked::from_entry);
        let granted = operator.plugins.get(name).is_some_and(|grants| grants.enabled);
        if granted && grant == Grant::Nothing && !same {
            let command = admit_command(&dir, &artifact.file, "--grant ");
            let locked = before.map(|before| before.sha256);
            let refused = Refused::NameGranted { name: name.clone(), locked, command };
            return Err(refused.about_plugin(PluginIdentity {
                version: Some(version.clone()),
                ..artifact.identity(Some(name))
            }));
        }
        let added =
            (!operator.plugins.contains_key(name)).then(|| candidate.grants_section(grant == Grant::All));
        let gap = if text.is_empty() { "" } else { "\n" };
        let text = added.as_ref().map(|section| format!("{text}{gap}{section}"));
        if let Some(text) = &text {
            operator = OperatorFile::parse(text)?;
        }
        let terms = trial_terms();
        let passed = passed.then(|| terms.clone());
        lock.admit(match held.filter(|_| keeps) {
            Some(held) => LockEntry { passed, ..held },
            None => LockEntry {
                name: name.clone(),
                version: version.clone(),
                sha256: artifact.digest.clone(),
                size: artifact.bytes.len() as u64,
                passed,
                by: Some(by.to_owned()).filter(|by| !by.is_empty()),
                at: Some(at.to_owned()).filter(|at| !at.is_empty()),
                bundle: bundle.map(str::to_owned),
            },
        });
        dir.write_text(LOCK_FILE, &lock.to_text(&terms))?;
        if let Some(text) = &text {
            dir.write_text(GRANTS_FILE, text)?;
        }
        let grants = operator.plugins.get(name);
        let (missing, surplus) = grants.map(|grants| compare_grants(&candidate, grants)).unwrap_or_default();
        let enabled = grants.is_some_and(|grants| grants.enabled);
        let inspection = inspect_candidate(&candidate, &operator);
        Ok(Admission { inspection, added, enabled, missing, surplus, replaced: before })
    }

    /// Describes a file without admitting it, and compares it with what a directory has under its name.
    pub async fn inspect_for(
        &self,
        path: &Path,
        directory: &Path,
        trust: Option<&Trust>,
    ) -> Result<(Inspection, Admitted), LoadError> {
        let (dir, file) = split_path(path)?;
        let dir = PluginDir::open(&dir)?;
        let artifact = dir.read_artifact(&file)?;
        let there = PluginDir::open(directory)?;
        let lock = read_lock(&there)?;
        let trust = trust.map(|trust| trust.for_locked_file(&lock, &artifact));
        let trust = trust.as_ref();
        if let Some(trust) = trust {
            trust.judge(&dir, &artifact, None).await?;
        }
        let candidate = self.prepare_candidate(artifact, false).await?;
        let Candidate { artifact, seen, declaration, hooks, .. } = &candidate;
        signed_claims::check_claims(&dir, artifact, (declaration, hooks, seen), trust).await?;
        let dir = there;
        let operator = read_grants(&dir)?;
        let entry = lock.find_by_name(&candidate.declaration.name);
        let file = match entry {
            Some(entry) => find_file_by_digest(&dir, &entry.sha256)?,
            None => None,
        };
        let grants = operator.plugins.get(&candidate.declaration.name);
        let (missing, surplus) = grants.map(|grants| compare_grants(&candidate, grants)).unwrap_or_default();
        let locked = entry.map(Locked::from_entry);
        let admitted = Admitted { locked, file, has_section: grants.is_some(), missing, surplus };
        Ok((inspect_candidate(&candidate, &operator), admitted))
    }
}

/// Returns the file of a directory that has a digest. Unreadable files are skipped.
fn find_file_by_digest(dir: &PluginDir, sha256: &str) -> Result<Option<String>, LoadError> {
    let mut files = dir.component_files()?.into_iter();
    Ok(files.find(|file| dir.read_artifact(file).is_ok_and(|artifact| artifact.digest == sha256)))
}

/// Returns the requests that the grants lack, and the grants that the plugin doesn't ask for.
fn compare_grants(candidate: &Candidate, grants: &Grants) -> (Vec<String>, Vec<String>) {
    let Candidate { declaration, hooks, .. } = candidate;
    (
        permissions::missing_grants(declaration, hooks, grants),
        permissions::surplus_grants(declaration, hooks, grants),
    )
}
