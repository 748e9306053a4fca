//! The bundled plugins, built and admitted as on a site.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use pivot_lab::process::Process;
use pivot_scenarios::host::binary;
use tempfile::TempDir;

/// It checks whether the target's Ironic is up, and the operators of this lab have no Ironic. A site like that disables it.
const ENDPOINTS: &str = "metal3-endpoints";

/// Grants of a release, in the work tree.
const GRANTS: &str = "plugins/plugins.toml";

/// A directory of admitted plugins.
pub(crate) struct Plugins {
    dir: TempDir,
}

impl Plugins {
    /// All plugins that this lab can use.
    pub(crate) async fn bundled() -> Result<Self> {
        let root = root()?;
        let plugins = Self { dir: tempfile::Builder::new().prefix("pivot-plugins-").tempdir()? };
        let out = plugins.dir.path().to_owned();
        fs::copy(root.join(GRANTS), out.join("plugins.toml"))?;
        let build = move || {
            let inputs = [root.join("wit"), root.join("sdk")];
            let inputs = inputs.each_ref().map(PathBuf::as_path);
            pivot_guests::build_guests(&root.join("plugins"), &inputs, &out)
        };
        for file in tokio::task::spawn_blocking(build).await?.context("build the bundled plugins")? {
            admit(&file).await?;
        }
        plugins.rewrite(ENDPOINTS, "enabled = false")?;
        // Cluster API never reports a Cluster as available without a control plane object, and this lab's has only Machines.
        plugins.rewrite("readiness", "config = { severity = { clusters = \"warn\" } }")?;
        Ok(plugins)
    }

    /// Another directory with the same, to change its `plugins.toml`.
    pub(crate) fn copy(&self) -> Result<Self> {
        let copy = Self { dir: tempfile::Builder::new().prefix("pivot-plugins-").tempdir()? };
        for entry in fs::read_dir(self.dir.path())? {
            let file = entry?;
            fs::copy(file.path(), copy.dir.path().join(file.file_name()))?;
        }
        Ok(copy)
    }

    /// Another directory with the same components, as a release installs them.
    pub(crate) fn copy_of_release(&self) -> Result<Self> {
        let released = self.copy()?;
        fs::copy(root()?.join(GRANTS), released.dir.path().join("plugins.toml"))?;
        Ok(released)
    }

    /// For `--plugins`.
    pub(crate) fn path(&self) -> String {
        self.dir.path().display().to_string()
    }

    /// Puts lines at the top of a plugin's section, as the site's operator would.
    pub(crate) fn rewrite(&self, plugin: &str, lines: &str) -> Result<()> {
        let section = format!("[plugins.{plugin}]\n");
        self.replace(&section, &format!("{section}{lines}\n"))
    }

    /// Changes what the site's operator wrote.
    pub(crate) fn replace(&self, from: &str, to: &str) -> Result<()> {
        let file = self.dir.path().join("plugins.toml");
        let said = fs::read_to_string(&file)?;
        ensure!(said.contains(from), "plugins.toml does not say {from:?}");
        Ok(fs::write(file, said.replace(from, to))?)
    }
}

/// `pivot-host plugin add FILE`: the current file, with its grants in plugins.toml.
async fn admit(file: &Path) -> Result<()> {
    let mut command = std::process::Command::new(binary()?);
    command.args(["plugin", "add", "--grant"]).arg(file);
    let mut process = Process::spawn("pivot-host plugin add", &command, file.with_extension("log")).await?;
    let status = process.wait().await?;
    ensure!(status.success(), "{} is not admitted:\n{}", file.display(), process.tail());
    Ok(fs::remove_file(file.with_extension("log"))?)
}

fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.ancestors().nth(2).context("tests/scenarios lies in the work tree")?.to_owned())
}
