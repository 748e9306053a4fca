//! Bytes that nobody wrote: mutants of good ones, the same in each run, for whatever reads files or messages of others.
//!
//! Needs nothing of the other modules: tests of crates that have no worlds include this file.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Shows a test one mutant alone.
const ONE: &str = "PIVOT_HOST_SEED";
/// Shows it more of them.
const MANY: &str = "PIVOT_HOST_SEEDS";

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

/// Shows a test mutants of these samples.
///
/// # Panics
/// If the test does, with the mutant that it was shown.
pub fn each(samples: &[&[u8]], count: u64, mut test: impl FnMut(&[u8])) {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let seeds = match number(ONE) {
        Some(one) => one..one.saturating_add(1),
        None => 0..number(MANY).unwrap_or_default().max(count),
    };
    for seed in seeds {
        let bytes = mutant(samples, seed);
        let passed = catch_unwind(AssertUnwindSafe(|| test(&bytes)));
        let shown: String = bytes.escape_ascii().take(4_000).map(char::from).collect();
        assert!(passed.is_ok(), "mutant {seed} (show it alone with {ONE}={seed}): {shown}");
    }
}
