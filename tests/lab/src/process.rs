//! Child processes that never outlive the test.
//!
//! A test can end in two ways: its scope ends, or a SIGKILL. For the first, a [`Process`] kills its own child (by its own pid,
//! never by name) on drop. For the second, the child runs under `setpriv --pdeathsig KILL` if util-linux is installed, so that
//! the kernel kills it with this process. The kernel watches the *thread* that forked, and a runtime's threads come and go; so
//! one thread that lives as long as the process forks all children.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

/// How many lines of a log an error contains.
const TAIL_LINES: usize = 25;

/// Longest time that the threads of a stopped process may still run.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// A running child, its output in a log file.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with stdout and stderr going to `log`.
    pub async fn spawn(name: impl Into<String>, command: &Command, log: impl Into<PathBuf>) -> Result<Self> {
        let (name, log) = (name.into(), log.into());
        let output = File::create(&log).with_context(|| format!("create {}", log.display()))?;
        let mut command = dying_with_us(command);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let (answer, child) = oneshot::channel();
        let spawner = SPAWNER.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
        spawner.send((command, answer)).ok().context("the thread that starts processes is gone")?;
        let child = child.await.context("the thread that starts processes is gone")?;
        let child = child.with_context(|| format!("start {name}"))?;
        Ok(Self { name, child, log })
    }

    /// The child's process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Where its output goes.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How it ended, if it has.
    pub fn exited(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits until it exits.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        loop {
            if let Some(status) = self.exited()? {
                return Ok(status);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Kills it, if it runs, and waits until it is gone.
    pub async fn stop(&mut self) -> Result<()> {
        if self.exited()?.is_none() {
            kill(self.id())?;
            self.wait().await?;
        }
        Ok(())
    }

    /// An error with the end of the log if the child is no longer running.
    pub fn still_runs(&mut self) -> Result<()> {
        match self.exited()? {
            None => Ok(()),
            Some(status) => bail!("{} ended ({status}); the end of its log:\n{}", self.name, self.tail()),
        }
    }

    /// Calls `probe` until it returns true; a child that exits, or is not ready in time, is an error with the end of its log.
    pub async fn until<F: AsyncFnMut() -> bool>(
        &mut self,
        what: &str,
        limit: Duration,
        mut probe: F,
    ) -> Result<()> {
        let start = Instant::now();
        while !probe().await {
            self.still_runs()?;
            if start.elapsed() > limit {
                bail!(
                    "{}: not {what} after {:.0} s; the end of its log:\n{}",
                    self.name,
                    limit.as_secs_f64(),
                    self.tail()
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// The last lines of the log.
    #[must_use]
    pub fn tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have exited already; then there is nothing to kill, and waiting returns at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends SIGKILL to one process: what a crash test does to the program under test.
pub fn kill(pid: u32) -> Result<()> {
    send(pid, Signal::KILL)
}

/// Stops one process where it is: whoever asks it something waits.
pub fn freeze(pid: u32) -> Result<()> {
    send(pid, Signal::STOP)
}

/// Stops one process where it is, and waits until none of its threads writes any more.
pub async fn freeze_wholly(pid: u32) -> Result<()> {
    freeze(pid)?;
    let start = Instant::now();
    while !stands_still(pid)? {
        ensure!(start.elapsed() < STOP_LIMIT, "process {pid} does not stop");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Returns true if the kernel reports each thread of a process as stopped by a signal.
fn stands_still(pid: u32) -> Result<bool> {
    for thread in fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("find process {pid}"))? {
        let stat = fs::read_to_string(thread?.path().join("stat"))?;
        // The state follows the program's name, which may contain anything.
        let state = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().next());
        if state != Some("T") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Lets it go on.
pub fn thaw(pid: u32) -> Result<()> {
    send(pid, Signal::CONT)
}

fn send(pid: u32, signal: Signal) -> Result<()> {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .with_context(|| format!("{pid} is not a process id"))?;
    kill_process(pid, signal).with_context(|| format!("send {signal:?} to process {pid:?}"))
}

type Job = (Command, oneshot::Sender<io::Result<Child>>);

static SPAWNER: LazyLock<io::Result<mpsc::Sender<Job>>> = LazyLock::new(|| {
    let (jobs, queue) = mpsc::channel::<Job>();
    std::thread::Builder::new().name("lab-spawner".into()).spawn(move || {
        for (mut command, answer) in queue {
            if let Err(Ok(mut orphan)) = answer.send(command.spawn()) {
                // The test was cancelled while waiting: nobody else would kill this child.
                let _ = orphan.kill();
                let _ = orphan.wait();
            }
        }
    })?;
    Ok(jobs)
});

static SETPRIV: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("setpriv")).find(|file| file.is_file())
});

/// The same command, run so that the kernel kills it when this process ends.
fn dying_with_us(command: &Command) -> Command {
    let mut wrapped = match SETPRIV.as_ref() {
        Some(setpriv) => {
            let mut wrapped = Command::new(setpriv);
            // It replaces itself with the program: the pid is the program's.
            wrapped.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program());
            wrapped
        }
        None => Command::new(command.get_program()),
    };
    wrapped.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        wrapped.current_dir(dir);
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_dropped_process_is_gone_and_an_ended_one_shows_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new("sleep");
        command.arg("600");
        let process = Process::spawn("sleep", &command, dir.path().join("sleep.log")).await.unwrap();
        let pid = process.id();
        assert!(Path::new(&format!("/proc/{pid}")).exists());
        drop(process);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());

        let mut command = Command::new("sh");
        command.args(["-c", "echo no such flag; exit 3"]);
        let mut process = Process::spawn("broken", &command, dir.path().join("sh.log")).await.unwrap();
        let error =
            process.until("ready", Duration::from_secs(10), async || false).await.unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains("no such flag"), "{error}");
    }
}
