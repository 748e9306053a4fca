//! Loads plugins in a fresh process, and measures how much memory they keep.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use pivot_runtime::{LoadOptions, Plugin, Runtime};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

/// How often the same directory is loaded again, to separate what a plugin keeps from what the compiler left behind.
const AGAIN: usize = 5;

/// "No such process", by Linux's number.
const ESRCH: i32 = 3;

/// A process's measurements of itself.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// KiB of resident memory that the first load added.
    pub(crate) first: u64,
    /// KiB that each further load of the same plugins added, kept together.
    pub(crate) each: f64,
    /// The largest resident set, in KiB.
    pub(crate) peak: u64,
}

/// Starts this program as a process that loads a directory.
pub(crate) async fn cold(directory: &Path) -> Result<Start> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["plugins", "--load"]).arg(directory).kill_on_drop(true);
    let output = command.output().await.context("start a process that loads plugins")?;
    ensure!(output.status.success(), "loading failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What that process does.
pub(crate) async fn here(directory: &Path) -> Result<Start> {
    let (cpu, before, begun) = (cpu()?, memory("VmRSS:")?, Instant::now());
    let mut kept: Vec<Vec<Plugin>> = vec![load(directory).await?];
    let (wall, first) = (begun.elapsed(), memory("VmRSS:")?);
    let (cpu, peak) = (self::cpu()?.saturating_sub(cpu), memory("VmHWM:")?);
    for _ in 0..AGAIN {
        kept.push(load(directory).await?);
    }
    let each = memory("VmRSS:")?.saturating_sub(first) as f64 / AGAIN as f64;
    ensure!(kept.iter().all(|plugins| !plugins.is_empty()), "no plugin was loaded");
    Ok(Start { wall, cpu, first: first.saturating_sub(before), each, peak })
}

async fn load(directory: &Path) -> Result<Vec<Plugin>> {
    let loaded = Runtime::new().load(directory, LoadOptions::default()).await;
    loaded.map(|loaded| loaded.plugins).map_err(|errors| anyhow!("{errors:?}"))
}

fn memory(field: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(field));
    let number = line.and_then(|line| line.split_whitespace().nth(1)).context("no such field")?;
    Ok(number.parse()?)
}

/// Processor time of all threads, in nanoseconds; compiler threads have not ended by then, they wait for more.
fn cpu() -> Result<Duration> {
    let mut sum = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = match std::fs::read_to_string(task?.path().join("schedstat")) {
            // A thread that ended while they were listed: its folder is gone, or its file is open and can't be read any more.
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) =>
            {
                continue;
            }
            other => other?,
        };
        sum += text.split_whitespace().next().context("an empty schedstat")?.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(sum))
}
