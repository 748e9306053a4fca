//! A component with the grants, the configuration and the run of a scene.

use std::path::{Path, PathBuf};

use pivot_runtime::{LoadError, Plugin, Refused, RunContext, Runtime};
use pivot_vetting::permissions::grants_section;
use serde_json::{Map, Value};

use super::scene_file::SceneFile;

/// A component that is tried out, whatever a directory admits.
pub(super) struct TriedPlugin {
    pub(super) plugin: Plugin,
    runtime: Runtime,
    file: PathBuf,
    /// A plugins.toml.
    granted: String,
}

/// Refusal of a plugin with the grants or the configuration of a scene.
pub(super) struct SceneRefusal {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl TriedPlugin {
    /// Loads a component with the grants of a plugins.toml. Without one, the plugin is granted what it asks for.
    pub(super) async fn load(
        runtime: Runtime,
        file: &Path,
        grants: Option<String>,
    ) -> Result<Self, LoadError> {
        let plugin = runtime.try_out(file, grants.as_deref()).await?;
        let requests = || grants_section(plugin.declaration(), &plugin.description().hooks, true);
        let granted = grants.unwrap_or_else(requests);
        Ok(Self { plugin, runtime, file: file.to_owned(), granted })
    }

    /// Returns the plugin as a scene has it.
    pub(super) async fn for_scene(&self, scene: &SceneFile) -> Result<Plugin, SceneRefusal> {
        let name = &self.plugin.description().name;
        let run = RunContext { kind: scene.run, ..RunContext::default() };
        let plugin = if scene.grants.is_empty() {
            self.plugin.for_run(run.clone())
        } else {
            let granted = replace_grants(&self.granted, name, &scene.grants)
                .map_err(|message| SceneRefusal { code: "grants", message })?;
            let tried = self.runtime.try_out(&self.file, Some(&granted)).await;
            tried.map_err(|error| SceneRefusal { code: error.code(), message: error.to_string() })?
        };
        let Some(config) = &scene.config else { return Ok(plugin.for_run(run)) };
        let configured = plugin.with_config(config).await.map_err(|error| {
            let refused = Refused::Configuration { name: name.clone(), why: error.message };
            SceneRefusal { code: refused.code(), message: refused.to_string() }
        })?;
        Ok(configured.for_run(run))
    }
}

/// Replaces fields in a plugin's section of a plugins.toml.
fn replace_grants(file: &str, plugin: &str, grants: &Map<String, Value>) -> Result<String, String> {
    let mut table: toml::Table = file.parse().map_err(|error| format!("plugins.toml: {error}"))?;
    let section = table.get_mut("plugins").and_then(|all| all.get_mut(plugin));
    let section = section.and_then(toml::Value::as_table_mut);
    let section = section.ok_or_else(|| format!("plugins.toml has no section for {plugin}"))?;
    for (name, value) in grants {
        let value = toml::Value::try_from(value).map_err(|error| format!("grants.{name}: {error}"))?;
        section.insert(name.clone(), value);
    }
    // Missing grants of a disabled plugin are no error.
    section.insert("enabled".to_owned(), true.into());
    Ok(table.to_string())
}
