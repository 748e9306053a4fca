//! Runs a case, and measures it.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::case::Case;
use crate::judge::{faults, plain};
use crate::server::Server;

/// What came of a case.
pub(crate) struct Outcome {
    pub(crate) end: String,
    pub(crate) took: Duration,
    /// KiB that were in memory at once, as far as it was seen; most processes end before they are looked at twice.
    pub(crate) peak: u64,
    /// Bytes on stderr.
    pub(crate) words: usize,
    pub(crate) faults: Vec<String>,
}

/// How much longer than it may compute it may wait for a processor: other tests run beside it.
const WAITS: u32 = 6;
/// The most that is read of what it prints.
const PRINTED: u64 = 64 << 20;

pub(crate) fn opened(case: &Case) -> Outcome {
    let dir = TempDir::new().unwrap();
    case.feeds.iter().for_each(|feed| feed(dir.path()));
    let server = case.answers.clone().map(Server::start);
    if let Some(server) = &server {
        fs::write(dir.path().join("config"), server.kubeconfig()).unwrap();
    }
    let mut command = Command::new("/bin/sh");
    command.env_clear().args(["-c", &format!("ulimit -c 0; ulimit -d {}; exec \"$0\" \"$@\"", case.memory)]);
    // As on a terminal: elsewhere escape sequences are taken out of everything.
    command.arg(env!("CARGO_BIN_EXE_pivot-host")).args(&case.line).env("CLICOLOR_FORCE", "1");
    command.env("HOME", dir.path()).current_dir(dir.path()).stdin(Stdio::null());
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (out, err) = (thread::spawn(|| all(out)), thread::spawn(|| all(err)));
    let (end, peak) = waited(&mut child, begun, case.time);
    let took = begun.elapsed();
    let (out, err) = (out.join().unwrap(), err.join().unwrap());
    let (end, mut wrong) = match end {
        Some(code) if case.codes.contains(&code) => (code.to_string(), Vec::new()),
        Some(code) => (code.to_string(), vec![format!("exit {code}, not {:?}", case.codes)]),
        None => ("killed".to_owned(), vec![format!("took more than {:?}, or never ended", case.time)]),
    };
    wrong.extend(faults(&out, &err));
    let said = plain(&String::from_utf8_lossy(&err));
    if end != "0" && !said.lines().any(|line| line.starts_with("error: ")) {
        wrong.push("no line says what is wrong".to_owned());
    }
    let unsaid = case.says.iter().filter(|words| !said.contains(words.as_str()));
    wrong.extend(unsaid.map(|words| format!("does not say {words:?}")));
    if err.len() > case.words {
        wrong.push(format!("{} bytes of words", err.len()));
    }
    if !wrong.is_empty() {
        wrong.push(format!("it says: {}", said.chars().take(600).collect::<String>()));
    }
    Outcome { end, took, peak, words: err.len(), faults: wrong }
}

fn all(stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.take(PRINTED).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Its exit code, 128 and more where a signal ended it; none where it had to be killed.
fn waited(child: &mut Child, begun: Instant, most: Duration) -> (Option<i32>, u64) {
    use std::os::unix::process::ExitStatusExt;
    let (mut peak, mut pause) = (0, Duration::from_millis(1));
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))), peak);
        }
        peak = peak.max(memory(child.id()));
        if processor_time(child.id()) > most || begun.elapsed() > most * WAITS {
            child.kill().unwrap();
            child.wait().unwrap();
            return (None, peak);
        }
        pause = (pause * 2).min(Duration::from_millis(16));
        wait(pause);
    }
}

#[allow(clippy::disallowed_methods, reason = "a test without a runtime waits for processes")]
fn wait(time: Duration) {
    thread::sleep(time);
}

/// Of the process itself; what it starts has limits of its own.
fn processor_time(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace().skip(11).take(2);
    let ticks = fields.map(|field| field.parse::<u64>().unwrap_or(0)).sum::<u64>();
    Duration::from_millis(ticks * 10)
}

fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
