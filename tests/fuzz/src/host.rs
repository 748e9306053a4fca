//! One file, opened as an operator opens one from elsewhere.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// What a file of this size may use: 5 seconds of processor time on trial and the same again, and the start of programs.
const LONGEST: Duration = Duration::from_secs(20);
/// KiB of memory that is written to, by the program and by the process that it compiles in.
const MEMORY: u32 = 1 << 20;
/// Bytes of output about one file.
const WORDS: usize = 4_000;

pub(crate) struct Outcome {
    /// How it ended, in a word.
    pub(crate) end: &'static str,
    pub(crate) took: Duration,
    pub(crate) wrong: Option<String>,
}

pub(crate) fn opened(host: &Path, file: &Path) -> Result<Outcome> {
    let mut command = Command::new("/bin/sh");
    command.env_clear().arg("-c").arg(format!("ulimit -d {MEMORY}; exec \"$0\" plugin inspect \"$1\""));
    command.arg(host).arg(file);
    let begun = Instant::now();
    let output = command.output().context("start pivot-host")?;
    let (took, code) = (begun.elapsed(), output.status.code());
    let said = String::from_utf8_lossy(&output.stderr);
    let ends = [
        ("not a valid component", "not valid"),
        ("has too many", "counted, and too many"),
        ("more than", "over a limit of the trial"),
        ("was compiled on trial and", "another end of the trial"),
        ("was built against another contract", "compiled, and not a plugin"),
        ("", "refused for something else"),
    ];
    let end = match code {
        Some(0) => "compiled, and a plugin",
        Some(6) => ends.into_iter().find(|(words, _)| said.contains(words)).map_or("", |(_, end)| end),
        _ => "wrong",
    };
    let wrong = (!matches!(code, Some(0 | 6))
        || took > LONGEST
        || said.len() > WORDS
        || end == "another end of the trial")
        .then(|| format!("{}, {took:.1?}: {}", output.status, said.chars().take(WORDS).collect::<String>()));
    Ok(Outcome { end, took, wrong })
}
