//! The peer, as its users run it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use pivot_lab::Recording;
use pivot_lab::assets::{self, CLUSTER_API, CLUSTER_API_NEWEST};
use pivot_lab::process::Process;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::sampling;

const LIMIT: Duration = Duration::from_mins(5);

/// Runs `clusterctl move` with these flags; an error unless it exits 0.
pub async fn clusterctl(flags: &[&str]) -> Result<()> {
    clusterctl_of(CLUSTER_API, flags).await
}

/// Runs `clusterctl move` of a release.
pub async fn clusterctl_of(version: &str, flags: &[&str]) -> Result<()> {
    let home = tempfile::Builder::new().prefix("pivot-clusterctl-").tempdir()?;
    let mut command = Command::new(assets::assets().await?.clusterctl_of(version).await?);
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

/// An answer of the peer.
#[derive(Debug)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// Where it has to be recorded, if it is new.
    unrecorded: Option<Recording>,
}

impl<T: Serialize> Answer<T> {
    /// Records a new answer: once a test knows that it is right, and not the result of a busy machine.
    pub fn keep(&self) -> Result<()> {
        self.unrecorded.as_ref().map_or(Ok(()), |recording| recording.write(&self.value))
    }
}

/// Returns the answer that was recorded for a key: versions of programs, and all of their input. Without one it asks. The nightly
/// run asks again, and compares what is comparable in both answers.
///
/// # Errors
///
/// If the peer can't be asked, or answers differently than before.
pub async fn recorded<T, C>(
    name: &str,
    key: &impl Serialize,
    ask: impl AsyncFnOnce() -> Result<T>,
    comparable: impl Fn(&T) -> C,
) -> Result<Answer<T>>
where
    T: DeserializeOwned,
    C: PartialEq,
{
    answer(Recording::find(name, key)?, sampling::is_nightly(), ask, comparable).await
}

async fn answer<T, C>(
    recording: Recording,
    anew: bool,
    ask: impl AsyncFnOnce() -> Result<T>,
    comparable: impl Fn(&T) -> C,
) -> Result<Answer<T>>
where
    T: DeserializeOwned,
    C: PartialEq,
{
    match recording.read::<T>()? {
        Some(before) if !anew => Ok(Answer { value: before, unrecorded: None }),
        Some(before) => {
            let now = ask().await?;
            let path = recording.path().display();
            ensure!(comparable(&before) == comparable(&now), "the peer no longer answers as in {path}");
            Ok(Answer { value: now, unrecorded: None })
        }
        None => Ok(Answer { value: ask().await?, unrecorded: Some(recording) }),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answer_is_recorded_and_compared_when_asked_anew() {
        let dir = tempfile::tempdir().unwrap();
        let recording = || Recording::find_in(dir.path(), "peer", &"v1").unwrap();
        let ask = async |anew: bool, now: u32| {
            let answer = answer(recording(), anew, async || Ok(now), |number| number % 10).await;
            answer.map_err(|error| error.to_string())
        };
        let value = |answer: Result<Answer<u32>, String>| answer.map(|answer| answer.value);
        assert_eq!(value(ask(false, 7).await), Ok(7));
        ask(false, 1).await.unwrap().keep().unwrap();
        assert_eq!(value(ask(false, 2).await), Ok(1));
        assert_eq!(value(ask(true, 11).await), Ok(11));
        let error = format!("the peer no longer answers as in {}", recording().path().display());
        assert_eq!(value(ask(true, 2).await), Err(error));
        assert_eq!(value(ask(false, 2).await), Ok(1));
    }
}
