//! Bytes that nobody wrote: mutants of good ones, for whatever reads files or messages of others. The first ones are the same in each
//! run, and a landing sees no others.
//!
//! Needs nothing of the other modules: tests of crates that have no worlds include this file.

use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Shows a test one mutant alone.
const ONE: &str = "PIVOT_HOST_SEED";
/// Shows it more of them.
const MANY: &str = "PIVOT_HOST_SEEDS";
/// Shows it as many as a nightly run, if it is set and not empty.
const NIGHTLY: &str = "PIVOT_HOST_NIGHTLY";
/// Chooses those that not each run shows: any text.
const SAMPLE: &str = "PIVOT_HOST_SAMPLE";
/// The end of the nightly run, in seconds since 1970. Then a test sees no more than in each run.
const UNTIL: &str = "PIVOT_HOST_UNTIL";
/// Mutants of a nightly run for each mutant of a landing.
const NIGHTLY_FACTOR: u64 = 100;

/// What readers have tripped over.
const WORDS: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "\n",
    "\\u0000",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "null",
    "true",
    "{}",
    "[]",
    "-1",
    "1e999",
    "18446744073709551616",
    "../",
    "&a ",
    "*a",
    "!!binary ",
    "#",
];
/// A word that is longer than any name.
const LONG: usize = 70_000;

/// Pseudo-random numbers (SplitMix64).
struct Draw(u64);

impl Draw {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.number() % limit).unwrap_or_default()
    }
}

fn mutant(samples: &[&[u8]], seed: u64) -> Vec<u8> {
    let mut draw = Draw(seed);
    let sample = |draw: &mut Draw| samples.get(draw.below(samples.len())).copied().unwrap_or_default();
    let mut bytes = sample(&mut draw).to_vec();
    for _ in 0..=draw.below(3) {
        let from = draw.below(bytes.len() + 1);
        let to = from + draw.below((bytes.len() - from).min(40) + 1);
        let word = WORDS.get(draw.below(WORDS.len())).copied().unwrap_or_default().bytes();
        let bit = 1_u8.rotate_left(u32::try_from(draw.below(8)).unwrap_or_default());
        let other = sample(&mut draw);
        match draw.below(8) {
            0 => bytes.iter_mut().skip(from).take(1).for_each(|byte| *byte ^= bit),
            1 => bytes.truncate(from),
            2 => drop(bytes.splice(from..to, [])),
            3 => drop(bytes.splice(from..from, word)),
            4 => drop(bytes.splice(from..to, word)),
            5 => {
                let again = bytes.get(from..to).unwrap_or_default().to_vec();
                drop(bytes.splice(from..from, again));
            }
            6 => {
                let start = draw.below(other.len() + 1);
                drop(bytes.splice(from..to, other.iter().skip(start).take(60).copied()));
            }
            _ if draw.below(20) == 0 => drop(bytes.splice(from..from, std::iter::repeat_n(b'a', LONG))),
            _ => bytes.iter_mut().skip(from).take(4).for_each(|byte| *byte = 0xff),
        }
    }
    bytes
}

/// Shows a test mutants of these samples: `count` that are the same in each run, and in a nightly run others too.
///
/// # Panics
/// If the test does, with the mutant that it was shown.
#[track_caller]
pub fn each(samples: &[&[u8]], count: u64, mut test: impl FnMut(&[u8])) {
    if let Some(one) = number(ONE) {
        return show(samples, one, &mut test);
    }
    let is_nightly = env::var_os(NIGHTLY).is_some_and(|value| !value.is_empty());
    let usual = if is_nightly { count * NIGHTLY_FACTOR } else { count };
    let total = number(MANY).unwrap_or(usual).max(count);
    let until = number(UNTIL).map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
    (0..count).for_each(|seed| show(samples, seed, &mut test));
    let from = first_of_sample().unwrap_or(count);
    let is_over = || until.is_some_and(|until| SystemTime::now() >= until);
    let mut shown = count;
    while shown < total && !is_over() {
        show(samples, from + shown - count, &mut test);
        shown += 1;
    }
    if total > count {
        // A passing test keeps what it prints to itself, but for this.
        let file = Location::caller().file();
        let _ = writeln!(std::io::stderr(), "counted: {shown} of {total} mutants for {file}");
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// The first seed of those that not each run shows, if the environment chooses it.
fn first_of_sample() -> Option<u64> {
    let sample = env::var(SAMPLE).ok().filter(|sample| !sample.is_empty())?;
    let mut hasher = DefaultHasher::new();
    sample.hash(&mut hasher);
    // Short enough to be typed.
    Some(hasher.finish() % (1 << 32))
}

fn show(samples: &[&[u8]], seed: u64, test: &mut impl FnMut(&[u8])) {
    let bytes = mutant(samples, seed);
    let passed = catch_unwind(AssertUnwindSafe(|| test(&bytes)));
    let shown: String = bytes.escape_ascii().take(4_000).map(char::from).collect();
    assert!(passed.is_ok(), "mutant {seed} (show it alone with {ONE}={seed}): {shown}");
}
