//! Seeds that a test plays. In a landing and in a nightly run the first ones are always the same, and the others are another sample for
//! each commit. A run of `cargo test` plays a few of the first.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pivot_worlds::Dice;

/// Plays one seed instead of all.
pub(crate) const ONE: &str = "PIVOT_HOST_SEED";
/// The sample: any text.
const SAMPLE: &str = "PIVOT_HOST_SAMPLE";
/// Plays so many, of which the first are always the same.
const MANY: &str = "PIVOT_HOST_SEEDS";
/// Plays as many as a landing, if it is set and not empty.
const LANDING: &str = "PIVOT_HOST_LANDING";
/// Plays as many as a nightly run, if it is set and not empty.
const NIGHTLY: &str = "PIVOT_HOST_NIGHTLY";
/// The end of the nightly run, in seconds since 1970. Seeds of the sample that have not begun by then are left out.
const UNTIL: &str = "PIVOT_HOST_UNTIL";
/// A run of `cargo test` plays one of so many of the first seeds.
const BRIEF_FACTOR: usize = 8;
/// A run of `cargo test` dies at one of so many writes.
const BRIEF_DISTANCE: usize = 4;
/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(30);

/// How many seeds a test plays.
pub(crate) struct Seeds {
    /// Played in each run.
    pub(crate) first: u64,
    /// Played in a landing, with the first.
    pub(crate) landing: u64,
    /// Played in a nightly run, with the first.
    pub(crate) nightly: u64,
}

/// Results of the seeds of a test.
pub(crate) struct Results {
    pub(crate) played: usize,
    /// One text for each seed that failed.
    pub(crate) broken: Vec<String>,
}

fn number(name: &str) -> Option<u64> {
    let number = std::env::var(name).ok()?;
    Some(number.parse().unwrap_or_else(|error| panic!("{name}={number}: {error}")))
}

/// The only seed that is to be played, if it is only one.
pub(crate) fn only() -> Option<u64> {
    number(ONE)
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Returns true if everything is to be tried.
pub(crate) fn is_nightly() -> bool {
    is_set(NIGHTLY)
}

/// Returns true if this run plays a few seeds only: too few to have everything.
pub(crate) fn is_brief() -> bool {
    only().is_some() || (!is_nightly() && !is_set(LANDING) && number(MANY).is_none())
}

/// The distance between two writes at which a run dies: each in a landing, some of them otherwise.
pub(crate) fn distance_of_deaths() -> usize {
    if is_brief() { BRIEF_DISTANCE } else { 1 }
}

/// Returns the number of deaths in this run, of so many in a landing.
pub(crate) fn deaths_of(landing: usize) -> usize {
    landing / distance_of_deaths()
}

impl Seeds {
    /// Lists the seeds that this run plays.
    fn list(&self) -> Vec<u64> {
        if let Some(one) = only() {
            return vec![one];
        }
        if is_brief() {
            return (1..=self.first).step_by(BRIEF_FACTOR).collect();
        }
        let usual = if is_nightly() { self.nightly } else { self.landing };
        let sample = number(MANY).unwrap_or(usual).saturating_sub(self.first);
        let from = first_of_sample();
        (1..=self.first).chain(from..from + sample).collect()
    }

    /// Plays the seeds on all processors, and prints how many were played.
    pub(crate) fn play(&self, purpose: &str, play: impl Fn(u64) -> Result<(), String> + Sync) -> Results {
        let seeds = self.list();
        let until = number(UNTIL).map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
        let is_over = |index: usize| {
            index as u64 >= self.first && until.is_some_and(|until| SystemTime::now() >= until)
        };
        let (next, played, printed) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Instant::now()));
        let broken = Mutex::new(Vec::new());
        let work = || {
            while let index = next.fetch_add(1, Ordering::Relaxed)
                && let Some(seed) = seeds.get(index)
                && !is_over(index)
            {
                if let Err(why) = play(*seed) {
                    let text = format!("seed {seed}: {why}\n(replay it with {ONE}={seed})");
                    broken.lock().unwrap().push(text);
                }
                let played = played.fetch_add(1, Ordering::Relaxed) + 1;
                let mut printed = printed.lock().unwrap();
                if printed.elapsed() > PROGRESS {
                    *printed = Instant::now();
                    let failed = broken.lock().unwrap().len();
                    println!("{played} of {} seeds of {purpose}, {failed} failed", seeds.len());
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        let (played, broken) = (played.into_inner(), broken.into_inner().unwrap());
        println!("counted: {played} of {} seeds of {purpose}, {} failed", seeds.len(), broken.len());
        Results { played, broken }
    }
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
