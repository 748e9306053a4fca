//! Opens generated components, and checks that none uses more than it may. `cargo xtask fuzz` starts it.
//!
//! `pivot-fuzz HOST MUTATED GENERATED SEED-FILE…`: so many files made by changing bytes of the seed files, and so many generated
//! by wasm-smith. A file is named by its number, and is the same in every run, unless `PIVOT_HOST_SAMPLE` names another sample.

mod cases;
mod dice;
mod host;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use cases::{Cases, SAMPLE};
use host::{Outcome, opened};

/// The end of the nightly run, in seconds since 1970. Files that have not begun by then are left out.
const UNTIL: &str = "PIVOT_HOST_UNTIL";

/// The results of all files so far.
#[derive(Default)]
struct Tally {
    ends: BTreeMap<&'static str, u64>,
    longest: Duration,
    wrong: u64,
}

fn main() -> Result<()> {
    let mut typed = std::env::args().skip(1);
    let mut next = || typed.next().context("usage: pivot-fuzz HOST MUTATED GENERATED SEED-FILE…");
    let host = PathBuf::from(next()?);
    let (mutated, generated) = (next()?.parse()?, next()?.parse()?);
    let seeds = typed.map(std::fs::read).collect::<Result<Vec<_>, _>>().context("read a seed file")?;
    let sample = std::env::var(SAMPLE).ok().filter(|sample| !sample.is_empty());
    let cases = Cases { seeds, sample, mutated, generated };
    let scratch = std::env::temp_dir().join(format!("pivot-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let done = all(&host, &cases, &scratch);
    std::fs::remove_dir_all(&scratch)?;
    let Tally { ends, longest, wrong } = done?;
    let (opened, all) = (ends.values().sum::<u64>(), mutated + generated);
    say(&format!("counted: {opened} of {all} components, {wrong} wrong, the longest took {longest:.1?}"));
    ends.iter().for_each(|(end, count)| say(&format!("  {count:7} {end}")));
    if wrong > 0 {
        bail!("{wrong} files took more than they may, or ended otherwise than in a sentence");
    }
    Ok(())
}

/// Opens all files, as many concurrently as there are processors, until the nightly run ends.
fn all(host: &Path, cases: &Cases, scratch: &Path) -> Result<Tally> {
    let until = std::env::var(UNTIL).ok().map(|until| until.parse()).transpose().context(UNTIL)?;
    let until = until.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
    let is_over = || until.is_some_and(|until| SystemTime::now() >= until);
    let (tally, number_of_next) = (Mutex::new(Tally::default()), AtomicU64::new(0));
    let work = |worker: usize| -> Result<()> {
        let file = scratch.join(format!("{worker}.wasm"));
        loop {
            let number = number_of_next.fetch_add(1, Ordering::Relaxed);
            if number >= cases.count() || is_over() {
                return Ok(());
            }
            let bytes = cases.make(number).with_context(|| cases.name(number));
            // The others need not go on for an hour before anybody hears of it.
            let bytes = bytes.inspect_err(|_| number_of_next.store(u64::MAX / 2, Ordering::Relaxed))?;
            std::fs::write(&file, bytes)?;
            let Outcome { end, took, wrong } = opened(host, &file)?;
            let Ok(mut tally) = tally.lock() else { bail!("another worker failed") };
            *tally.ends.entry(end).or_default() += 1;
            tally.longest = tally.longest.max(took);
            if let Some(wrong) = wrong {
                // Immediately: a run of hours may be cut short.
                say(&format!("{}: {wrong}", cases.name(number)));
                tally.wrong += 1;
            }
            if number.is_multiple_of(5_000) && number > 0 {
                say(&format!("{number} …"));
            }
        }
    };
    let workers = thread::available_parallelism()?.get();
    thread::scope(|scope| -> Result<()> {
        let work = &work;
        let workers: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| bail!("a worker panicked")))
    })?;
    tally.into_inner().ok().context("a worker panicked")
}

fn say(text: &str) {
    // If stdout is closed, nobody is reading.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
