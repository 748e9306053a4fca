//! CRDs and cluster templates of real providers.
//!
//! Most come from the providers' Go modules. No module proxy serves those of vSphere and OpenStack: theirs are read from a folder,
//! `$PIVOT_HOST_PROVIDERS` or `../shared/providers` next to the work tree, with one archive of CRDs and templates for each.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::cache::Cache;
use super::provider_module::{CRDS, ProviderModule, TEMPLATES};
use super::{beside, recipes};

const VARIABLE: &str = "PIVOT_HOST_PROVIDERS";
const PACKED_CRDS: &str = "crds.jsonl.xz";

const MODULES: [ProviderModule; 6] = [
    of_module("addon-helm", "sigs.k8s.io/cluster-api-addon-provider-helm", "0.3.1"),
    of_module("aws", "sigs.k8s.io/cluster-api-provider-aws/v2", "2.13.0"),
    of_module("azure", "sigs.k8s.io/cluster-api-provider-azure", "1.21.0"),
    ProviderModule {
        folder: "infrastructure/docker",
        ..of_module("docker", "sigs.k8s.io/cluster-api/test", recipes::CLUSTER_API_NEWEST)
    },
    of_module("gcp", "sigs.k8s.io/cluster-api-provider-gcp", "1.13.1"),
    of_module("ipam-in-cluster", "sigs.k8s.io/cluster-api-ipam-provider-in-cluster", "1.0.1"),
];

const fn of_module(provider: &'static str, path: &'static str, version: &'static str) -> ProviderModule {
    ProviderModule { provider, path, version, folder: "" }
}

/// A provider's CRDs and templates.
#[derive(Debug, Clone)]
pub struct ProviderFiles {
    /// CRDs as the provider's release has them, without conversion webhooks and without the labels that `clusterctl init` adds.
    pub crds: Vec<Value>,
    /// Directory of templates, as `clusterctl generate cluster` takes them.
    pub templates: PathBuf,
}

/// Returns none if the provider is in no Go module and there is no folder with it.
pub(super) async fn find(cache: &Cache, name: &str) -> Result<Option<ProviderFiles>> {
    if let Some(module) = MODULES.iter().find(|module| module.provider == name) {
        let entry = cache.get(recipes::provider(*module)).await?;
        let lines = fs::read_to_string(entry.join(CRDS))?;
        return Ok(Some(ProviderFiles { crds: read_lines(&lines)?, templates: entry.join(TEMPLATES) }));
    }
    let Some(folder) = folder(env::var_os(VARIABLE))?.map(|folder| folder.join(name)) else {
        return Ok(None);
    };
    let crds = read_lines(&unpack(&folder.join(PACKED_CRDS))?)?;
    Ok(Some(ProviderFiles { crds, templates: folder }))
}

/// The folder that the variable names, else the one next to the work tree. None if the variable isn't set and there is none.
fn folder(named: Option<OsString>) -> Result<Option<PathBuf>> {
    let Some(named) = named else {
        return Ok(Some(beside::shared("providers")).filter(|folder| folder.is_dir()));
    };
    let folder = PathBuf::from(named);
    if !folder.is_dir() {
        bail!("{VARIABLE} names {}, which is no folder", folder.display());
    }
    Ok(Some(folder))
}

fn read_lines(lines: &str) -> Result<Vec<Value>> {
    lines.lines().map(|line| serde_json::from_str(line).context("read a CRD")).collect()
}

/// `xz` and not a crate: anyone who has the archive has the tool that made it, or gets it in a moment.
fn unpack(archive: &Path) -> Result<String> {
    let mut command = Command::new("xz");
    command.args(["--decompress", "--stdout"]).arg(archive).stdin(Stdio::null());
    let done = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("there is no `xz` to unpack {}: apt-get install xz-utils", archive.display())
        }
        done => done.context("run xz")?,
    };
    ensure!(
        done.status.success(),
        "{}: {}",
        archive.display(),
        String::from_utf8_lossy(&done.stderr).trim_end()
    );
    String::from_utf8(done.stdout).with_context(|| format!("read {}", archive.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_folder_must_exist() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(folder(Some(dir.path().into())).unwrap().as_deref(), Some(dir.path()));
        let error = folder(Some(dir.path().join("none").into())).unwrap_err().to_string();
        assert!(error.contains(VARIABLE) && error.contains("no folder"), "{error}");
    }
}
