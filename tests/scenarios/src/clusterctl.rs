//! The peer, as its users run it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use pivot_lab::assets::{self, CLUSTER_API_NEWEST};
use pivot_lab::process::Process;

const LIMIT: Duration = Duration::from_mins(5);

/// Runs `clusterctl move` with these flags; an error unless it exits 0.
pub async fn clusterctl(flags: &[&str]) -> Result<()> {
    let home = tempfile::Builder::new().prefix("pivot-clusterctl-").tempdir()?;
    let mut command = Command::new(assets::assets().await?.clusterctl().await?);
    command.arg("move").args(flags);
    command.env("HOME", home.path()).env_remove("KUBECONFIG").env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true");
    let mut process = Process::spawn("clusterctl", &command, home.path().join("clusterctl.log")).await?;
    let status = tokio::time::timeout(LIMIT, process.wait()).await??;
    ensure!(status.success(), "clusterctl {flags:?}: {status}\n{}", process.tail());
    Ok(())
}

/// What `clusterctl describe cluster` of the newest release prints on stdout; an error unless it exits 0.
pub async fn describe(kubeconfig: &Path, words: &[&str]) -> Result<String> {
    let home = tempfile::Builder::new().prefix("pivot-clusterctl-").tempdir()?;
    // The shell only separates stdout and stderr, then the program replaces it.
    let mut command = Command::new("sh");
    command.args(["-c", r#"out=$1; shift; exec "$@" >"$out""#, "sh"]).arg(home.path().join("stdout"));
    command.arg(assets::assets().await?.clusterctl_of(CLUSTER_API_NEWEST).await?);
    command.args(["describe", "cluster"]).args(words).arg("--kubeconfig").arg(kubeconfig);
    command.env("HOME", home.path()).env_remove("KUBECONFIG").env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true");
    let mut process = Process::spawn("clusterctl", &command, home.path().join("clusterctl.log")).await?;
    let status = tokio::time::timeout(LIMIT, process.wait()).await??;
    ensure!(status.success(), "clusterctl describe {words:?}: {status}\n{}", process.tail());
    Ok(std::fs::read_to_string(home.path().join("stdout"))?)
}

/// Copies a namespace into an existing directory.
pub async fn to_directory(source: &Path, namespace: &str, directory: &Path) -> Result<()> {
    let (source, directory) = (source.display().to_string(), directory.display().to_string());
    clusterctl(&["--kubeconfig", &source, "--namespace", namespace, "--to-directory", &directory]).await
}

/// Restores a directory.
pub async fn from_directory(target: &Path, directory: &Path) -> Result<()> {
    let (target, directory) = (target.display().to_string(), directory.display().to_string());
    clusterctl(&["--to-kubeconfig", &target, "--from-directory", &directory]).await
}
