//! The program under test: a real process with nothing but its arguments.
//!
//! Each run has an empty working directory and home of its own: everything it knows about an earlier run comes from the two
//! servers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use pivot_lab::process::{self, Process};
use serde_json::Value;
use tempfile::TempDir;

use crate::secrets::ensure_no_secret;

/// The prefix of its user agent.
pub const AGENT: &str = "pivot-host";

/// A run that takes longer than this hangs.
const LIMIT: Duration = Duration::from_mins(5);

/// The binary: `PIVOT_HOST_BIN`, or the one that cargo built beside the test.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PIVOT_HOST_BIN") {
        return Ok(path.into());
    }
    let test = std::env::current_exe()?;
    // target/<profile>/deps/<test>
    let profile = test.parent().and_then(Path::parent).context("a test outside a target directory")?;
    let path = profile.join("pivot-host");
    if !path.exists() {
        bail!("{} is not there: `cargo build -p pivot-host`, or set PIVOT_HOST_BIN", path.display());
    }
    Ok(path)
}

/// The program, pointed at two servers.
#[derive(Debug, Clone)]
pub struct Host {
    connection: Vec<String>,
    environment: Vec<(String, String)>,
    has_controllers: bool,
}

/// A run under way.
#[derive(Debug)]
pub struct Run {
    process: Process,
    dir: TempDir,
    words: String,
    /// Whether its output was read to the end.
    is_read: bool,
}

/// A run that has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The command line, for messages.
    pub words: String,
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The result.
    pub stdout: String,
    /// Messages to people.
    pub stderr: String,
}

/// Commands that can accept that no controllers take over.
const WAITING: [&[&str]; 5] =
    [&["plan"], &["move"], &["resume"], &["handover", "finish"], &["generate", "rbac"]];
/// The words that accept it.
const UNCHECKED: [&str; 2] = ["--accept", "takeover-unchecked"];

impl Host {
    /// Between the servers in these kubeconfigs.
    #[must_use]
    pub fn between(source: &Path, target: &Path) -> Self {
        Self {
            connection: vec![
                "--kubeconfig".into(),
                source.display().to_string(),
                "--to-kubeconfig".into(),
                target.display().to_string(),
            ],
            // Most pairs of servers have no controllers that could take over.
            environment: Vec::new(),
            has_controllers: false,
        }
    }

    /// The same with controllers running in the target: the move waits for them.
    #[must_use]
    pub fn with_controllers(mut self) -> Self {
        self.has_controllers = true;
        self
    }

    /// Runs without controllers in the target: the move doesn't wait for them.
    #[must_use]
    pub fn without_controllers(mut self) -> Self {
        self.has_controllers = false;
        self
    }

    /// From one server to wherever flags say.
    #[must_use]
    pub fn out_of(source: &Path) -> Self {
        Self::alone().with(&["--kubeconfig", &source.display().to_string()])
    }

    /// Into one server, from wherever flags say.
    #[must_use]
    pub fn into_server(target: &Path) -> Self {
        Self::alone().with(&["--to-kubeconfig", &target.display().to_string()]).without_controllers()
    }

    /// Without any server: for commands that are not part of a move.
    #[must_use]
    pub fn alone() -> Self {
        Self { connection: Vec::new(), environment: Vec::new(), has_controllers: true }
    }

    /// The same with more flags for each command.
    #[must_use]
    pub fn with(mut self, flags: &[&str]) -> Self {
        self.connection.extend(flags.iter().map(ToString::to_string));
        self
    }

    /// The same with a variable in its environment.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs a command to its end; results are JSON.
    pub async fn run(&self, words: &[&str]) -> Result<Ended> {
        self.start(words).await?.end().await
    }

    /// Runs a command to its end; results are text for people.
    pub async fn run_as_text(&self, words: &[&str]) -> Result<Ended> {
        self.start_with(words, &[]).await?.end().await
    }

    /// Starts a command; results are JSON.
    pub async fn start(&self, words: &[&str]) -> Result<Run> {
        self.start_with(words, &["-o", "json"]).await
    }

    async fn start_with(&self, words: &[&str], format: &[&str]) -> Result<Run> {
        let dir = tempfile::Builder::new().prefix("pivot-scenario-").tempdir()?;
        // The shell only separates stdout and stderr, then the program replaces it.
        let mut command = Command::new("sh");
        command.args(["-c", r#"out=$1; shift; exec "$@" >"$out""#, "sh"]);
        command.arg(dir.path().join("stdout")).arg(binary()?);
        command.args(words).args(&self.connection).args(format);
        let is_waiting = WAITING.iter().any(|command| words.starts_with(command));
        // A saved plan says which risks it accepts.
        let has_accepted =
            words.contains(&UNCHECKED[1]) || (words.contains(&"move") && words.contains(&"--plan"));
        if !self.has_controllers && is_waiting && !has_accepted {
            command.args(UNCHECKED);
        }
        command.current_dir(dir.path()).env("HOME", dir.path()).env_remove("KUBECONFIG");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PIVOT_HOST_") {
                command.env_remove(name);
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let words = words.join(" ");
        let process =
            Process::spawn(format!("pivot-host {words}"), &command, dir.path().join("stderr")).await?;
        Ok(Run { process, dir, words, is_read: false })
    }
}

impl Run {
    /// Its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether it is still running.
    pub fn still_runs(&mut self) -> Result<bool> {
        Ok(self.process.exited()?.is_none())
    }

    /// Its messages to people so far.
    #[must_use]
    pub fn said(&self) -> String {
        let text = std::fs::read(self.dir.path().join("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Waits until it prints a text.
    pub async fn until_it_says(&mut self, text: &str) -> Result<()> {
        let waited = tokio::time::timeout(LIMIT, async {
            while !self.said().contains(text) {
                if !self.still_runs()? {
                    bail!("`{}` ended without saying {text:?}:\n{}", self.words, self.said());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        });
        match waited.await {
            Ok(said) => said,
            Err(_) => bail!("`{}` never said {text:?}:\n{}", self.words, self.said()),
        }
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) -> Result<()> {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.id().to_string()).status()?;
        if sent.success() { Ok(()) } else { bail!("no {name} for {}", self.id()) }
    }

    /// Kills it.
    pub fn kill(&self) -> Result<()> {
        process::kill(self.id())
    }

    /// Waits until it exits.
    ///
    /// # Errors
    ///
    /// If it hangs, or has printed the content of a Secret.
    pub async fn end(mut self) -> Result<Ended> {
        let Ok(status) = tokio::time::timeout(LIMIT, self.process.wait()).await else {
            bail!("`{}` hangs:\n{}", self.words, self.said());
        };
        let stdout = std::fs::read(self.dir.path().join("stdout"))?;
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout).into_owned(), self.said());
        self.is_read = true;
        self.ensure_no_secret_so_far()?;
        Ok(Ended { code: status?.code(), stdout, stderr, words: self.words.clone() })
    }

    fn ensure_no_secret_so_far(&self) -> Result<()> {
        for stream in ["stdout", "stderr"] {
            let text = std::fs::read(self.dir.path().join(stream)).unwrap_or_default();
            ensure_no_secret(format_args!("{stream} of `{}`", self.words), &String::from_utf8_lossy(&text))?;
        }
        Ok(())
    }
}

/// Fails the test if a run that is dropped has printed the content of a Secret.
impl Drop for Run {
    fn drop(&mut self) {
        if !self.is_read && !std::thread::panicking() {
            let error = self.ensure_no_secret_so_far().err();
            assert!(error.is_none(), "{error:?}");
        }
    }
}

impl Ended {
    /// The result; an error unless it exited 0.
    pub fn done(self) -> Result<Value> {
        self.ends_with(0)?.document()
    }

    /// Itself, if it exited with this code.
    pub fn ends_with(self, code: i32) -> Result<Self> {
        if self.code != Some(code) {
            bail!(
                "`{}` ended with {:?}, not {code}:\n{}\n{}",
                self.words,
                self.code,
                self.stderr,
                self.stdout
            );
        }
        Ok(self)
    }

    /// The document on stdout.
    pub fn document(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout)
            .with_context(|| format!("`{}` gave no JSON:\n{}\n{}", self.words, self.stdout, self.stderr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::ENCODED;

    async fn end(script: &str) -> Result<Ended> {
        run(script).await?.end().await
    }

    async fn run(script: &str) -> Result<Run> {
        let dir = tempfile::tempdir()?;
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(dir.path());
        std::fs::write(dir.path().join("stdout"), "")?;
        let process = Process::spawn("sh", &command, dir.path().join("stderr")).await?;
        Ok(Run { process, dir, words: "sh".to_owned(), is_read: false })
    }

    #[tokio::test]
    async fn run_that_prints_a_secret_fails() {
        assert_eq!(end("echo harmless >stdout").await.unwrap().stdout, "harmless\n");
        for (file, place) in [("stdout", "stdout"), ("/dev/stderr", "stderr")] {
            let error = end(&format!("echo {ENCODED} >{file}")).await.unwrap_err().to_string();
            assert_eq!(error, format!("the content of a Secret is in {place} of `sh`"));
        }
    }

    #[tokio::test]
    async fn dropped_run_that_prints_a_secret_fails() {
        for (text, fails) in [("harmless", false), (ENCODED, true)] {
            let mut run = run(&format!("echo {text} >&2; sleep 60")).await.unwrap();
            run.until_it_says(text).await.unwrap();
            let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(run)));
            assert_eq!(dropped.is_err(), fails, "{text}");
        }
    }
}
