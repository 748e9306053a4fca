//! Loads the plugins of a directory, or returns everything that is wrong with them.
//!
//! Cheap and reliable checks come first: nothing is compiled before its digest was found in the lock and its imports were read,
//! nothing is run before all its types match, and nothing that the operator disabled is compiled or run. All errors of all
//! plugins are returned at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future;
use pivot_core::plugins::hooks::{Description, Hook};
use pivot_vetting::digest::sha256;
use pivot_vetting::permissions::{
    self, Declaration, Grants, Limits, LockEntry, OperatorFile, summarize_risks,
};
use pivot_vetting::signatures::card;

use crate::candidate::{Candidate, run_off_thread};
use crate::context::{PluginAccess, RunContext};
use crate::directory::{PluginDir, check_file_name};
use crate::engine::Runtime;
use crate::error::{LoadError, PluginIdentity, Refused};
use crate::operator::{LoadOptions, Operator, read_grants};
use crate::options::{self, PluginOption};
use crate::plugin::Plugin;
use crate::signed_claims;
use crate::tally::Tally;
use crate::trial::trial_terms;

/// The facts about a component that need no trust in it.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// SHA-256 of the file.
    pub digest: String,
    /// Bytes of the file.
    pub size: u64,
    /// The plugin's description of itself.
    pub declaration: Declaration,
    /// The hooks it has.
    pub hooks: Vec<Hook>,
    /// The host interfaces its binary imports.
    pub imports: Vec<String>,
    /// The imported interfaces whose questions are all denied, because it declares none.
    pub denied_imports: Vec<String>,
    /// The WASI interfaces its binary imports; they are served without authority.
    pub inert: Vec<String>,
    /// The options that it declares for its configuration.
    pub options: Vec<PluginOption>,
    /// The section of `plugins.toml` that would grant everything it asks for.
    pub section: String,
    /// The worst it could do, the worst first; each continues "it could".
    pub worst: Vec<String>,
    /// True if the risks are based on the grants in `plugins.toml`. Otherwise they are based on everything the plugin asks for.
    pub as_granted: bool,
}

impl Inspection {
    /// Returns the card that signers of the plugin sign.
    pub fn card(&self) -> Result<card::Card, Refused> {
        signed_claims::card_of_declaration(&self.declaration, &self.hooks, &self.imports)
    }

    /// Returns the risks if everything the plugin asks for were granted. Two versions are compared by these.
    pub fn worst_of_all_asked(&self) -> Vec<String> {
        summarize_risks(&self.declaration, &self.hooks, &self.imports, None)
    }
}

/// The plugins of a directory.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The enabled plugins, in the order of their calls.
    pub plugins: Vec<Plugin>,
    /// The enabled plugins that weren't compiled, since neither side serves a kind that they are granted.
    pub idle: Vec<Description>,
    /// The plugins that exist but are disabled.
    pub disabled: Vec<Disabled>,
    /// The files that decide which plugins run and that other users may write.
    pub open_to_others: Vec<String>,
}

/// A disabled plugin, as listed in the lock: nothing of it was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disabled {
    /// Name of the plugin.
    pub name: String,
    /// Version of the plugin.
    pub version: String,
}

impl std::fmt::Display for Disabled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// The plugin in a file of the directory.
struct Found {
    file: String,
    digest: String,
    name: String,
    version: String,
    role: Role,
}

/// A plugin's part in what it is loaded for.
enum Role {
    Called(Box<Plugin>),
    Idle(Box<Description>),
    Disabled,
}

impl Found {
    fn refusal(&self, why: Refused) -> LoadError {
        let Self { file, digest, name, version, role: _ } = self;
        why.about_plugin(PluginIdentity {
            name: Some(name.clone()),
            version: Some(version.clone()),
            file: file.clone(),
            digest: Some(digest.clone()),
        })
    }
}

impl Runtime {
    /// Loads all plugins of a directory.
    pub async fn load(&self, path: &Path, options: LoadOptions) -> Result<Loaded, Vec<LoadError>> {
        let (path, strict) = (path.to_owned(), options.strict);
        // A site that is strict counts on each gate, also on one that decides by something other than objects.
        let served = options.served.clone().filter(|_| !strict);
        let options = LoadOptions { served, ..options };
        let read = run_off_thread(move || {
            let operator = Operator::load(&path, options)?;
            let files = operator.dir.component_files().map_err(|error| vec![error])?;
            Ok((operator, files))
        });
        let (operator, files) =
            read.await.unwrap_or_else(|why| Err(vec![why.about_plugin(PluginIdentity::default())]))?;
        let loads = files.iter().map(|file| self.load_one(&operator, file));
        let (mut all, mut errors) = (Vec::new(), Vec::new());
        for found in future::join_all(loads).await {
            match found {
                Ok(found) => all.push(found),
                Err(error) => errors.push(error),
            }
        }
        all.sort_by_key(|found| (operator.file.call_position(&found.name), found.name.clone()));
        errors.extend(refuse_duplicate_names(&all));
        // A plugin that was refused for another reason still counts as present.
        if errors.is_empty() {
            errors.extend(operator.missing_plugins(|name| all.iter().any(|found| found.name == name)));
        }
        let open_to_others = operator.open_to_others(&files);
        if strict {
            errors.extend(
                all.iter()
                    .filter(|found| matches!(found.role, Role::Disabled))
                    .map(|found| found.refusal(Refused::Disabled)),
            );
            if !open_to_others.is_empty() {
                let who = PluginIdentity {
                    file: operator.dir.path.display().to_string(),
                    ..PluginIdentity::default()
                };
                errors.push(Refused::OpenToOthers(open_to_others.clone()).about_plugin(who));
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut loaded = Loaded { open_to_others, ..Loaded::default() };
        for Found { name, version, role, .. } in all {
            match role {
                Role::Called(plugin) => loaded.plugins.push(*plugin),
                Role::Idle(description) => loaded.idle.push(*description),
                Role::Disabled => loaded.disabled.push(Disabled { name, version }),
            }
        }
        Ok(loaded)
    }

    /// Describes a file without admitting it: compiles it and has it describe itself in the sandbox.
    pub async fn inspect(&self, path: &Path) -> Result<Inspection, LoadError> {
        let (dir, file) = split_path(path)?;
        let dir = PluginDir::open(&dir)?;
        let artifact = dir.read_artifact(&file)?;
        let operator = read_grants(&dir)?;
        Ok(inspect_candidate(&self.prepare_candidate(artifact, false).await?, &operator))
    }

    /// A plugin to try out, wherever its file is and whether or not it was admitted. It gets the grants in `grants` (a
    /// `plugins.toml`) or, without that, everything it asks for.
    pub async fn try_out(&self, path: &Path, grants: Option<&str>) -> Result<Plugin, LoadError> {
        let (dir, file) = split_path(path)?;
        let dir = PluginDir::open(&dir)?;
        let candidate = self.prepare_candidate(dir.read_artifact(&file)?, false).await?;
        let all = candidate.grants_section(true);
        let file = OperatorFile::parse(grants.unwrap_or(&all))?;
        self.check_gates(&Operator { dir, file, lock: None, trust: None, served: None }, candidate).await
    }

    async fn load_one(&self, operator: &Operator, file: &str) -> Result<Found, LoadError> {
        let (dir, name) = (operator.dir.clone(), file.to_owned());
        let read = run_off_thread(move || dir.read_artifact(&name)).await;
        let artifact = read.unwrap_or_else(|why| {
            Err(why.about_plugin(PluginIdentity { file: file.to_owned(), ..PluginIdentity::default() }))
        })?;
        let entry = operator.lock_entry(&artifact)?;
        let found = |name: &str, version: &str, role| Found {
            file: file.to_owned(),
            digest: artifact.digest.clone(),
            name: name.to_owned(),
            version: version.to_owned(),
            role,
        };
        // A disabled plugin isn't compiled either: that may be why it was disabled.
        if let Some(LockEntry { name, version, .. }) =
            entry.filter(|entry| operator.file.is_disabled(&entry.name))
        {
            return Ok(found(name, version, Role::Disabled));
        }
        // Before it is compiled; its name is that in the lock, until it gives itself one.
        let named = entry.map(|entry| entry.name.as_str());
        let said = match &operator.trust {
            Some(trust) => trust.judge(&operator.dir, &artifact, named).await?,
            None => Vec::new(),
        };
        if let Some(LockEntry { name, version, .. }) = entry
            && let Some(grants) = operator.grants_of_idle(name).await
        {
            let idle = Description {
                name: name.clone(),
                version: version.clone(),
                digest: component_and_config_digest(&artifact.digest, grants),
                vouched_by: signed_claims::describe_claims(&said),
                granted: grants.describe_lines(),
                kinds: Vec::new(),
                reach: Vec::new(),
                hooks: Vec::new(),
                secret_data: false,
            };
            return Ok(found(name, version, Role::Idle(Box::new(idle))));
        }
        let passed = entry.is_some_and(|entry| entry.has_passed_trial(&trial_terms()));
        let candidate = self.prepare_candidate(artifact.clone(), passed).await.map_err(|mut error| {
            // It could not give its name, but the lock has one.
            error.who.name = error.who.name.take().or_else(|| entry.map(|entry| entry.name.clone()));
            error
        })?;
        let plugin = self.check_gates(operator, candidate).await?;
        let Description { name, version, .. } = plugin.description().clone();
        let role = if plugin.grants().enabled { Role::Called(Box::new(plugin)) } else { Role::Disabled };
        Ok(found(&name, &version, role))
    }

    /// Checks the gates.
    async fn check_gates(&self, operator: &Operator, candidate: Candidate) -> Result<Plugin, LoadError> {
        let Candidate { artifact, seen, declaration, hooks, mut linked, passed: _ } = candidate;
        let name = declaration.name.clone();
        let who = || PluginIdentity {
            version: Some(declaration.version.clone()),
            ..artifact.identity(Some(&name))
        };
        let command = operator.admit_command(&artifact.file);
        if let Some(entry) = operator.lock.as_ref().and_then(|lock| lock.find_by_digest(&artifact.digest)) {
            let (locked, itself) = (
                format!("{} {}", entry.name, entry.version),
                format!("{} {}", declaration.name, declaration.version),
            );
            if locked != itself {
                return Err(Refused::LockedAs { locked, itself, command }.about_plugin(who()));
            }
        }
        let said = signed_claims::check_claims(
            &operator.dir,
            &artifact,
            (&declaration, &hooks, &seen),
            operator.trust.as_ref(),
        )
        .await?;
        let Some(grants) = operator.file.plugins.get(&name).cloned() else {
            return Err(Refused::NoGrants { name: name.clone(), command }.about_plugin(who()));
        };
        let missing = permissions::missing_grants(&declaration, &hooks, &grants);
        if !missing.is_empty() && grants.enabled {
            return Err(Refused::NotGranted { name: name.clone(), missing }.about_plugin(who()));
        }
        if grants.limits.stack != Limits::default().stack {
            linked = self.compile_and_link(&artifact, grants.limits.stack).await?.1;
        }
        let description = Description {
            name: name.clone(),
            version: declaration.version.clone(),
            digest: component_and_config_digest(&artifact.digest, &grants),
            vouched_by: signed_claims::describe_claims(&said),
            granted: grants.describe_lines(),
            kinds: permissions::permitted_kinds(&declaration, &grants),
            reach: permissions::permitted_reach(&declaration, &grants),
            hooks,
            secret_data: declaration.secret_data && grants.secret_data,
        };
        let card = PluginAccess {
            who: Arc::new(who()),
            name,
            admitted: Some((declaration.clone(), grants.clone())),
            tally: Tally::default(),
            run: Arc::default(),
        };
        let enabled = grants.enabled;
        let (description, schema) = ((description, said), seen.schema);
        let plugin =
            Plugin::new(card, description, (declaration, grants), schema, (linked.pre, linked.hooks));
        // A disabled plugin is not called with anything.
        if enabled {
            let name = plugin.description().name.clone();
            let checked = plugin.for_run(RunContext::default()).check_configuration().await;
            checked.map_err(|error| {
                Refused::Configuration { name, why: error.message }
                    .about_plugin(PluginIdentity::clone(&error.who))
            })?;
        }
        Ok(plugin)
    }
}

/// Returns the digest of component and configuration.
fn component_and_config_digest(component: &str, grants: &Grants) -> String {
    sha256(format!("{component}\n{}", grants.config).as_bytes())
}

pub(crate) fn inspect_candidate(candidate: &Candidate, operator: &OperatorFile) -> Inspection {
    let Candidate { artifact, seen, declaration, hooks, .. } = candidate;
    // A plugin that is disabled or lacks a grant isn't called with its current grants; tomorrow it may have all it asks for.
    let grants = operator.plugins.get(&declaration.name).filter(|grants| {
        grants.enabled && permissions::missing_grants(declaration, hooks, grants).is_empty()
    });
    Inspection {
        worst: summarize_risks(declaration, hooks, &seen.imports, grants),
        as_granted: grants.is_some(),
        digest: artifact.digest.clone(),
        size: artifact.bytes.len() as u64,
        declaration: declaration.clone(),
        hooks: hooks.clone(),
        imports: seen.imports.clone(),
        denied_imports: permissions::denied_imports(declaration, &seen.imports),
        inert: seen.inert.clone(),
        options: seen.schema.as_ref().map(options::list_options).unwrap_or_default(),
        section: candidate.grants_section(true),
    }
}

/// Refuses plugins whose name another plugin has. Plugins of one name are neighbors.
fn refuse_duplicate_names(all: &[Found]) -> Vec<LoadError> {
    let mut errors = Vec::new();
    for (other, found) in all.iter().zip(all.iter().skip(1)) {
        if other.name == found.name {
            errors.push(found.refusal(Refused::NameTaken { other: other.file.clone() }));
        }
    }
    errors
}

/// Splits a path into the file and its directory, which bounds the file's reach.
pub(crate) fn split_path(path: &Path) -> Result<(PathBuf, String), LoadError> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let who = |path: &Path| PluginIdentity { file: path.display().to_string(), ..PluginIdentity::default() };
    let Some(file) = path.file_name() else {
        return Err(Refused::NotInside("name a component (.wasm)".into()).about_plugin(who(path)));
    };
    let file = check_file_name(file).map_err(|refused| refused.about_plugin(who(dir)))?;
    Ok((dir.to_owned(), file))
}
