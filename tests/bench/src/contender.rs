//! A program that moves a namespace, run as a user would run it and measured from outside.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::process::Command;

use crate::plugins::told::{self, Call};

/// How often its memory and processor time are read. The kernel keeps both, so only the last interval can be missed.
const LOOK: Duration = Duration::from_millis(5);

/// The programs.
#[derive(Debug, Clone)]
pub(crate) enum Contender {
    PivotHost(PathBuf),
    WithPlugins {
        binary: PathBuf,
        plugins: PathBuf,
        /// Whether it logs every call.
        tell: bool,
    },
    Clusterctl(PathBuf),
}

/// What a run used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Took {
    pub(crate) wall: Duration,
    /// The largest resident set, in KiB.
    pub(crate) peak: u64,
    /// Processor time of its own.
    pub(crate) cpu: Duration,
    /// Milliseconds of each phase, in order, if it reports them.
    pub(crate) phases: Vec<(String, u64)>,
    /// The plugins' calls, if it logs them.
    pub(crate) calls: Vec<Call>,
}

impl Contender {
    pub(crate) fn agent(&self) -> &'static str {
        match self {
            Self::PivotHost(_) | Self::WithPlugins { .. } => "pivot-host",
            Self::Clusterctl(_) => "clusterctl",
        }
    }

    fn command(&self, source: &Path, target: &Path, namespace: &str) -> Command {
        let (binary, more): (_, &[&str]) = match self {
            Self::PivotHost(binary) | Self::WithPlugins { binary, tell: false, .. } => {
                (binary, &["-o", "json"])
            }
            Self::WithPlugins { binary, .. } => (binary, &["-o", "json", "-vv", "--log-format", "json"]),
            Self::Clusterctl(binary) => (binary, &[]),
        };
        let mut command = Command::new(binary);
        command.args(["move", "--namespace", namespace]).args(more);
        // No controllers run in the target, and clusterctl never waits.
        if !matches!(self, Self::Clusterctl(_)) {
            command.args(["--accept", "takeover-unchecked"]);
        }
        if let Self::WithPlugins { plugins, .. } = self {
            command.arg("--plugins").arg(plugins);
        }
        command.arg("--kubeconfig").arg(source).arg("--to-kubeconfig").arg(target);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Moves, measured from the start of the process to its end.
    pub(crate) async fn run(&self, source: &Path, target: &Path, namespace: &str) -> Result<Took> {
        let start = Instant::now();
        let child = self.command(source, target, namespace).spawn().context("start the program")?;
        let id = child.id().context("a program that ended at once")?;
        let ended = child.wait_with_output();
        tokio::pin!(ended);
        let (mut peak, mut cpu) = (0, Duration::ZERO);
        let output = loop {
            tokio::select! {
                output = &mut ended => break output?,
                () = tokio::time::sleep(LOOK) => {
                    peak = peak.max(peak_of(id).unwrap_or_default());
                    cpu = cpu.max(cpu_of(id).unwrap_or_default());
                }
            }
        };
        let wall = start.elapsed();
        let said = String::from_utf8_lossy(&output.stdout);
        let told = String::from_utf8_lossy(&output.stderr);
        must(output.status, &told, self.agent())?;
        let phases = serde_json::from_str(&said).map(|report| phases(&report)).unwrap_or_default();
        Ok(Took { wall, peak, cpu, phases, calls: told::calls(&told) })
    }
}

fn must(status: ExitStatus, said: &str, who: &str) -> Result<()> {
    if !status.success() {
        bail!("{who} failed ({status}):\n{said}");
    }
    Ok(())
}

/// `VmHWM`, the high-water mark of a process's resident set.
fn peak_of(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Time in user mode and in the kernel: the 14th and 15th field, in hundredths of a second.
fn cpu_of(id: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

fn phases(report: &Value) -> Vec<(String, u64)> {
    let phases = report.get("phases").and_then(Value::as_array);
    let phase = |phase: &Value| {
        Some((phase.get("phase")?.as_str()?.to_owned(), phase.get("milliseconds")?.as_u64()?))
    };
    phases.into_iter().flatten().filter_map(phase).collect()
}
