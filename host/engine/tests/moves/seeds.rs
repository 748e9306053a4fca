//! Which seeds are played: some are the same in each run, others are another sample for each commit.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use pivot_worlds::Dice;

/// Plays one seed instead of all.
pub(crate) const ONE: &str = "PIVOT_HOST_SEED";
/// The sample: any text.
const SAMPLE: &str = "PIVOT_HOST_SAMPLE";
/// Plays so many, of which the first are always the same.
const MANY: &str = "PIVOT_HOST_SEEDS";

fn number(name: &str) -> Option<u64> {
    let number = std::env::var(name).ok()?;
    Some(number.parse().unwrap_or_else(|error| panic!("{name}={number}: {error}")))
}

/// The only seed that is to be played, if it is only one.
pub(crate) fn only() -> Option<u64> {
    number(ONE)
}

/// The first seeds, and a sample; one seed alone or a larger sample if the environment says so.
pub(crate) fn seeds(first: u64, sample: u64) -> Vec<u64> {
    if let Some(one) = only() {
        return vec![one];
    }
    let sample = number(MANY).map_or(sample, |many| many.saturating_sub(first));
    let from = first_of_sample();
    (1..=first).chain(from..from + sample).collect()
}

/// The first seed of the sample: another one for each commit, unless the environment names the sample.
fn first_of_sample() -> u64 {
    let sample = std::env::var(SAMPLE).ok().filter(|sample| !sample.is_empty()).unwrap_or_else(commit);
    // Short enough to be typed.
    Dice::new(0).about(&sample).below(1 << 32)
}

fn commit() -> String {
    let git = Command::new("git").args(["rev-parse", "HEAD"]).output();
    let git = git.unwrap_or_else(|error| panic!("git can't be run ({error}): name a sample in {SAMPLE}"));
    let why = String::from_utf8_lossy(&git.stderr);
    assert!(git.status.success(), "git doesn't tell the commit ({why}): name a sample in {SAMPLE}");
    String::from_utf8(git.stdout).unwrap().trim().to_owned()
}

/// Plays each of these seeds, on all processors; says which are broken.
pub(crate) fn play(seeds: &[u64], play: impl Fn(u64) -> Result<(), String> + Sync) -> Vec<String> {
    let (next, broken) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = play(*seed) {
                        broken
                            .lock()
                            .unwrap()
                            .push(format!("seed {seed}: {why}\n(replay it with {ONE}={seed})"));
                    }
                }
            });
        }
    });
    broken.into_inner().unwrap()
}
