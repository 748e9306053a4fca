//! Real components with a few bytes changed. Whatever a validator and a compiler make of them, it stays within the budget
//! and ends in a sentence. `cargo xtask fuzz` does the same with many more.

use std::fs;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::host::{err, host};

const FILES: u64 = 200;

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

#[test]
fn a_changed_component_is_refused_or_compiled_within_its_budget() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("it.wasm");
    let whole = fs::read(pivot_guests::guest("older").unwrap()).unwrap();
    let mut codes = [0; 7];
    for seed in 0..FILES {
        let mut dice = Dice(seed);
        let mut bytes = whole.clone();
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
        codes[usize::try_from(code.unwrap()).unwrap()] += 1;
    }
    println!("{} compiled, {} refused", codes[0], codes[6]);
    assert!(codes[0] > 0 && codes[6] > 0, "{codes:?}");
}
