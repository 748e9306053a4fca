//! Trials of components: an unvetted component is first compiled in a separate process, which is ended if it uses too much.
//!
//! Counting ([`crate::parse`]) refuses what is clearly too much; what a validator and a compiler need for the rest, only a trial
//! can show. Before it reads a byte, the process sets its own limits of memory and processor time; its environment has only what
//! its allocator may reserve, and only three pipes are open. The only result is how it ended: no text, which could lie, and no
//! compiled code, which would run with our credentials. A component whose trial ends within the limits, valid or not, is then
//! validated and compiled here.
//!
//! The operating system enforces memory and processor time on Unix (macOS: processor time only); elsewhere there is only a
//! timeout. A process that could not limit itself reports that in its exit code, and its component has not passed. A process ends
//! on its own once its parent is gone, for whatever reason.

mod budget;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use crate::error::Refused;

pub(crate) use budget::{TrialBudget, trial_terms};

/// Concurrent trials: each takes several processors.
const SIDE_BY_SIDE: usize = 2;
/// Most bytes of a failing process's output that are read.
const LAST_WORDS: u64 = 4 << 10;

/// Exit code of a trial that finished within the limits. The component is validated again later.
pub(crate) const ENDED: u8 = 0;
/// Exit code of a trial that finished on a system that doesn't enforce all limits.
pub(crate) const ENDED_UNLIMITED: u8 = 11;
/// The compiler noticed that it ran out of memory.
pub(crate) const OUT_OF_MEMORY: u8 = 12;
/// Limits could not be set, or there was no component.
pub(crate) const NOT_BEGUN: u8 = 13;

/// The enforcement of the limits in a successful trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitEnforcement {
    /// Within enforced limits.
    Limited,
    /// The trial finished, but this system doesn't limit the resources of a process.
    Unlimited,
}

/// The program that compiles on trial.
///
/// It is started with these arguments and three more, which are [`TrialLimits`](crate::TrialLimits); it passes those to
/// [`try_compile`](crate::try_compile) and exits with the code that it returns.
#[derive(Clone, Debug)]
pub struct TrialProgram {
    /// The program; `std::env::current_exe()` if that is the caller.
    pub path: PathBuf,
    /// The arguments that select this mode.
    pub arguments: Vec<OsString>,
}

/// Starts trials.
#[derive(Debug)]
pub(crate) struct Trials {
    program: TrialProgram,
    turns: Semaphore,
}

impl Trials {
    pub(crate) fn new(program: TrialProgram) -> Self {
        Self { program, turns: Semaphore::new(SIDE_BY_SIDE) }
    }

    /// Has a component validated and compiled. The error says which limit it exceeded.
    pub(crate) async fn run(
        &self,
        component: &[u8],
        budget: TrialBudget,
    ) -> Result<LimitEnforcement, Refused> {
        // Never closed.
        let _turn = self.turns.acquire().await;
        let mut child = self.start_process(component, budget).map_err(not_started)?;
        // If this future is dropped, because somebody pressed Ctrl-C, the child is killed; it also exits when its stdin is
        // closed.
        match tokio::time::timeout(budget.wall, send_and_wait(&mut child, component)).await {
            Ok(Ok((status, last_words))) => judge_exit(status, &last_words, budget),
            Ok(Err(error)) => Err(not_started(error)),
            Err(_) => {
                // A process that has ended meanwhile can't be killed, which is fine.
                let _ = child.kill().await;
                Err(Refused::Trial(format!("wasn't done after {} s", budget.wall.as_secs())))
            }
        }
    }

    fn start_process(&self, component: &[u8], budget: TrialBudget) -> std::io::Result<Child> {
        let TrialProgram { path, arguments } = &self.program;
        let mut command = Command::new(path);
        command
            .args(arguments)
            .args([budget.memory, budget.seconds, component.len() as u64].map(|limit| limit.to_string()))
            .env_clear()
            // glibc would reserve 64 MiB of address space for each thread, all of which counts.
            .env("MALLOC_ARENA_MAX", "1")
            // The releases' allocator would reserve 1 GiB at once.
            .env("MIMALLOC_ARENA_RESERVE", "8M")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // Ctrl-C is handled by this process, and must not look like a compiler failure.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        // Closes the output instead of discarding it in /dev/null, which a bare root directory doesn't have.
        drop(child.stdout.take());
        Ok(child)
    }
}

/// Sends the component, and waits for the exit.
async fn send_and_wait(child: &mut Child, component: &[u8]) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let feed = async {
        let mut stdin = stdin?;
        // If it stops reading, it has exited, and its status says why.
        let _ = stdin.write_all(component).await;
        // Kept open as long as this process lives: the child exits when it closes.
        Some(stdin)
    };
    let listen = async {
        let mut words = Vec::new();
        if let Some(stderr) = stderr {
            // Unreadable output is treated as none.
            let _ = stderr.take(LAST_WORDS).read_to_end(&mut words).await;
        }
        words
    };
    let (_stdin, words, status) = tokio::join!(feed, listen, child.wait());
    Ok((status?, words))
}

fn not_started(error: std::io::Error) -> Refused {
    Refused::Runtime(format!("no process to compile on trial in: {error}"))
}

/// Interprets an exit status.
fn judge_exit(
    status: ExitStatus,
    last_words: &[u8],
    budget: TrialBudget,
) -> Result<LimitEnforcement, Refused> {
    let memory = || format!("needed more than {} MiB of memory", budget.memory >> 20);
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let why = match (code, signal(status)) {
        (Some(ENDED), _) => return Ok(LimitEnforcement::Limited),
        (Some(ENDED_UNLIMITED), _) => return Ok(LimitEnforcement::Unlimited),
        (Some(OUT_OF_MEMORY), _) => memory(),
        (Some(NOT_BEGUN), _) => {
            let why = "the process to compile on trial in could not limit itself, or got no component";
            return Err(Refused::Runtime(why.to_owned()));
        }
        (_, Some(signal)) if signal == TOO_LONG => {
            format!("took more than {} s of processor time", budget.seconds)
        }
        // What the standard library prints before it aborts.
        _ if contains_phrase(last_words, "memory allocation of") => memory(),
        _ if contains_phrase(last_words, "has overflowed its stack") => {
            "overflowed the compiler's stack".to_owned()
        }
        (_, Some(signal)) => format!("ended the compiler with signal {signal}"),
        (_, None) => format!("ended the compiler with {}", status.code().unwrap_or(-1)),
    };
    Err(Refused::Trial(why))
}

fn contains_phrase(words: &[u8], phrase: &str) -> bool {
    words.windows(phrase.len()).any(|window| window == phrase.as_bytes())
}

/// The signal for a process that has used up its processor time.
#[cfg(unix)]
const TOO_LONG: i32 = rustix::process::Signal::XCPU.as_raw();
#[cfg(not(unix))]
const TOO_LONG: i32 = -1;

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// The result of a trial whose process runs this script.
    async fn held(script: &str) -> Result<LimitEnforcement, String> {
        let arguments = ["-c", script].map(OsString::from).to_vec();
        let trials = Trials::new(TrialProgram { path: "/bin/sh".into(), arguments });
        let budget = TrialBudget { memory: 64 << 20, seconds: 3, wall: Duration::from_millis(500) };
        trials.run(&[0; 1 << 20], budget).await.map_err(|why| why.to_string())
    }

    fn failed(why: &str) -> Result<LimitEnforcement, String> {
        Err(format!("was compiled on trial and {why}; no plugin may"))
    }

    #[tokio::test]
    async fn process_end_tells_the_reached_limit() {
        assert_eq!(held("exit 0").await, Ok(LimitEnforcement::Limited));
        assert_eq!(held("cat > /dev/null & exit 0").await, Ok(LimitEnforcement::Limited));
        assert_eq!(held("exit 11").await, Ok(LimitEnforcement::Unlimited));
        assert_eq!(held("exit 12").await, failed("needed more than 64 MiB of memory"));
        let aborts = "echo 'memory allocation of 7 bytes failed' >&2; kill -ABRT $$";
        assert_eq!(held(aborts).await, failed("needed more than 64 MiB of memory"));
        let overflows = "echo \"thread 'main' has overflowed its stack\" >&2; kill -ABRT $$";
        assert_eq!(held(overflows).await, failed("overflowed the compiler's stack"));
        assert_eq!(held("kill -XCPU $$").await, failed("took more than 3 s of processor time"));
        assert_eq!(held("kill -SEGV $$").await, failed("ended the compiler with signal 11"));
        assert_eq!(held("exit 1").await, failed("ended the compiler with 1"));
        // Endless output is neither kept nor waited for.
        assert_eq!(held("yes >&2; exit 1").await, failed("ended the compiler with 1"));
    }

    #[tokio::test]
    async fn a_hanging_or_abandoned_trial_is_killed() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("id");
        let hangs = format!("echo $$ > {}; exec /bin/sleep 1000", file.display());
        let gone = || {
            let id = std::fs::read_to_string(&file).unwrap();
            let id: i32 = id.trim().parse().unwrap();
            rustix::process::test_kill_process(rustix::process::Pid::from_raw(id).unwrap()).is_err()
        };
        assert_eq!(held(&hangs).await, failed("wasn't done after 0 s"));
        assert!(gone(), "killed and collected");

        let forgotten = tokio::time::timeout(Duration::from_millis(200), held(&hangs)).await;
        assert!(forgotten.is_err());
        let begun = Instant::now();
        while !gone() {
            assert!(begun.elapsed() < Duration::from_secs(10), "it lives on");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn missing_program_isnt_the_components_fault() {
        let trials = Trials::new(TrialProgram { path: "/nowhere/at/all".into(), arguments: Vec::new() });
        let budget = TrialBudget { memory: 1, seconds: 1, wall: Duration::from_secs(1) };
        let refused = trials.run(b"", budget).await.unwrap_err();
        assert_eq!(refused.code(), "runtime");
        let unlimited = held("exit 13").await.unwrap_err();
        assert!(unlimited.starts_with("the runtime does not start: "), "{unlimited}");
    }
}
