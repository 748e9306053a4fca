//! The cost of plugins: a call compared with the same work without a sandbox, the start, memory, and their share of a move.

mod bare;
mod calls;
mod moves;
mod page;
mod places;
mod start;
pub(crate) mod told;
#[path = "../../guests/measured/src/work.rs"]
mod work;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use pivot_lab::say;

use page::Measured;
use places::Places;

const USAGE: &str =
    "usage: pivot-bench plugins --pivot-host BINARY --components DIRECTORY [--quick] [--write FILE]";

#[derive(Default)]
struct Arguments {
    pivot_host: Option<PathBuf>,
    components: Option<PathBuf>,
    load: Option<PathBuf>,
    quick: bool,
    write: Option<PathBuf>,
}

fn arguments(mut words: impl Iterator<Item = OsString>) -> Result<Arguments> {
    let mut read = Arguments::default();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--pivot-host") => read.pivot_host = words.next().map(PathBuf::from),
            Some("--components") => read.components = words.next().map(PathBuf::from),
            // How it starts itself.
            Some("--load") => read.load = words.next().map(PathBuf::from),
            Some("--write") => read.write = words.next().map(PathBuf::from),
            Some("--quick") => read.quick = true,
            _ => bail!(USAGE),
        }
    }
    Ok(read)
}

/// `pivot-bench plugins …`.
pub(crate) async fn run(words: impl Iterator<Item = OsString>) -> Result<()> {
    let Arguments { pivot_host, components, load, quick, write } = arguments(words)?;
    let mut out = std::io::stdout();
    if let Some(directory) = load {
        writeln!(out, "{}", serde_json::to_string(&start::here(&directory).await?)?)?;
        return Ok(());
    }
    let (binary, components) = pivot_host.zip(components).context(USAGE)?;
    let places = Places::make(&components, &binary).await?;
    let (rounds, starts, objects, moves) = if quick { (5, 3, 200, 1) } else { (60, 15, 1000, 20) };

    let mut load = vec![load_average()?];
    say(format_args!("calls: {rounds} rounds"));
    let calls = calls::measure(&places.measured, rounds).await?;

    load.push(load_average()?);
    say(format_args!("start: {starts} rounds"));
    let mut start = Vec::new();
    let mut alone: Vec<_> =
        places.alone.iter().map(|(name, size, _)| (name.clone(), *size, Vec::new())).collect();
    for _ in 0..starts {
        start.push(start::cold(&places.bundled).await?);
        for ((_, _, place), (_, _, runs)) in places.alone.iter().zip(&mut alone) {
            runs.push(start::cold(place).await?);
        }
    }

    load.push(load_average()?);
    let moves = moves::measure(&binary, &places.bundled, objects, moves).await?;
    load.push(load_average()?);
    let measured = Measured { calls, start, alone, moves, load };
    writeln!(out, "{}", page::tables(&measured))?;
    if let Some(file) = write {
        std::fs::write(&file, page::page(&measured)).with_context(|| format!("write {}", file.display()))?;
    }
    Ok(())
}

/// Over the last minute.
fn load_average() -> Result<String> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    Ok(text.split_whitespace().next().context("an empty load average")?.to_owned())
}
