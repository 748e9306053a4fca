//! Plugin directories, granted and admitted as by an operator.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use pivot_runtime::{AdmitOptions, Grant, Runtime, TrialProgram};

/// The grants of the bundled plugins.
const GRANTS: &str = include_str!("../../../../plugins/plugins.toml");
/// Configuration with which they accept a cluster without controllers. The patches see every object and change only the Cluster;
/// readiness checks everything and reports its findings.
const CONFIGURED: &str = include_str!("configured.toml");
const MEASURED: &str = "
[plugins.measured]
hooks = ['hold', 'adapt']
kinds = ['Host.test.io']
changes = [
    { hook = 'hold', kind = 'Host.test.io', side = 'source' },
    { hook = 'adapt', kind = 'Host.test.io', side = 'target' },
]
";

/// Directories, admitted.
pub(crate) struct Places {
    pub(crate) measured: PathBuf,
    pub(crate) bundled: PathBuf,
    /// Each bundled plugin: its name, the size of its file, and a directory with just this plugin.
    pub(crate) alone: Vec<(String, u64, PathBuf)>,
}

impl Places {
    /// Creates them inside a directory that has the components in `guests` and in `plugins`. They pass their trials in the
    /// measured program, so that no move tries them again.
    pub(crate) async fn make(root: &Path, pivot_host: &Path) -> Result<Self> {
        let arguments = ["plugin", "try-compile"].map(Into::into).to_vec();
        let runtime = Runtime::with_trials(TrialProgram { path: pivot_host.to_owned(), arguments });
        let bundled = format!("{}\n{CONFIGURED}", GRANTS.replace("enabled = false", "enabled = true"));
        let components = components(&root.join("plugins"))?;
        let mut alone = Vec::new();
        for component in &components {
            let name = component.file_stem().context("a component without a name")?.to_string_lossy();
            let place = root.join("alone").join(&*name);
            admit(&runtime, &place, std::slice::from_ref(component), &only(&bundled, &name)?).await?;
            alone.push((name.into_owned(), fs::metadata(component)?.len(), place));
        }
        let places = Self { measured: root.join("measured"), bundled: root.join("bundled"), alone };
        admit(&runtime, &places.bundled, &components, &bundled).await?;
        admit(&runtime, &places.measured, &[root.join("guests/measured.wasm")], MEASURED).await?;
        Ok(places)
    }
}

fn components(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| format!("read {}", directory.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "wasm"));
    paths.sort();
    Ok(paths)
}

/// One plugin's sections: a section without its plugin is refused, because a plugin is missing then.
fn only(operator: &str, name: &str) -> Result<String> {
    let mut kept = String::new();
    let mut ours = false;
    for line in operator.lines() {
        if let Some(section) =
            line.trim_start_matches('[').strip_prefix("plugins.").filter(|_| line.starts_with('['))
        {
            ours = section.split(['.', ']']).next() == Some(name);
        }
        if ours {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    (!kept.is_empty()).then_some(kept).with_context(|| format!("{name} is granted nothing"))
}

async fn admit(runtime: &Runtime, place: &Path, components: &[PathBuf], operator: &str) -> Result<()> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    fs::write(place.join("plugins.toml"), operator)?;
    for component in components {
        let copy = place.join(component.file_name().context("a component without a name")?);
        fs::copy(component, &copy).with_context(|| format!("copy {}", component.display()))?;
        let granted = AdmitOptions { grant: Grant::All, ..AdmitOptions::default() };
        runtime.admit(&copy, &granted).await.map_err(|error| anyhow!("{error}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_plugins_sections_are_kept_and_no_others() {
        let operator = "[plugins.a]\nx = 1\n[plugins.ab]\ny = [\n]\n[[plugins.a.config.patch]]\nz = 1\n";
        assert_eq!(only(operator, "a").unwrap(), "[plugins.a]\nx = 1\n[[plugins.a.config.patch]]\nz = 1\n");
        assert!(only(operator, "b").is_err());
    }
}
