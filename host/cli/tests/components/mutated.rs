//! Real components with a few bytes changed. Whatever a validator and a compiler make of them, it stays within the budget
//! and ends in a sentence. `cargo xtask fuzz` does the same with many more.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::host::{err, host};

/// So many files are the same in every run, ...
const FIRST: u64 = 100;
/// ... and so many are others for each commit.
const SAMPLE: u64 = 100;
/// Opens all of them, if it is set and not empty.
const LANDING: &str = "PIVOT_HOST_LANDING";
/// A run of `cargo test` opens one of so many of the first files.
const BRIEF_FACTOR: usize = 8;

/// The first of the sampled numbers: what `PIVOT_HOST_SAMPLE` says, or the commit decides it.
fn sampled() -> u64 {
    let commit = || {
        let git = Command::new("git")
            .args(["rev-parse", "HEAD"])
            .output()
            .expect("run git, or set PIVOT_HOST_SAMPLE");
        assert!(git.status.success(), "{git:?}: without a commit, set PIVOT_HOST_SAMPLE");
        String::from_utf8(git.stdout).unwrap().trim().to_owned()
    };
    let sample = std::env::var("PIVOT_HOST_SAMPLE").ok().filter(|sample| !sample.is_empty());
    let sample = sample.unwrap_or_else(commit);
    sample.bytes().fold(FIRST, |number, byte| number.wrapping_mul(31).wrapping_add(byte.into())) >> 1
}

/// The numbers of the files that this run opens.
fn numbers() -> Vec<u64> {
    if std::env::var_os(LANDING).is_none_or(|value| value.is_empty()) {
        return (0..FIRST).step_by(BRIEF_FACTOR).collect();
    }
    let from = sampled();
    println!("files 0 to {FIRST}, and {SAMPLE} from {from} on");
    (0..FIRST).chain(from..from + SAMPLE).collect()
}

/// Numbers that look like chance and are the same every time (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }
}

// proves: T1
#[test]
fn changed_component_is_refused_or_within_budget() {
    let whole = fs::read(pivot_guests::guest("older").unwrap()).unwrap();
    let seeds = numbers();
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let parts = seeds.chunks(seeds.len().div_ceil(2));
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().map(|seed| opened(*seed, &whole)).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let refused = codes.iter().filter(|code| **code == 6).count();
    println!("{} compiled, {refused} refused", codes.len() - refused);
    assert!((1..codes.len()).contains(&refused), "{codes:?}");
}

/// Changes some bytes, and inspects what came of it: the exit code.
fn opened(seed: u64, whole: &[u8]) -> i32 {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("it.wasm");
    let mut dice = Dice(seed);
    let mut bytes = whole.to_vec();
    for _ in 0..=dice.roll(3) {
        let at = 8 + dice.roll(bytes.len() - 8);
        bytes[at] = u8::try_from(dice.roll(256)).unwrap();
    }
    fs::write(&path, bytes).unwrap();
    let begun = Instant::now();
    let output = host(&["plugin", "inspect", path.to_str().unwrap()]).output().unwrap();
    let (code, took) = (output.status.code(), begun.elapsed());
    assert!(matches!(code, Some(0 | 6)), "seed {seed}: {}: {}", output.status, err(&output));
    assert!(took < Duration::from_secs(20), "seed {seed}: {took:?}");
    assert!(err(&output).len() < 2_000, "seed {seed}: {}", err(&output));
    code.unwrap()
}
