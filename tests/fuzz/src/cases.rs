//! The files: real components with a few changed bytes, and valid ones that no compiler would produce.

use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::{Context, Result};
use arbitrary::Unstructured;
use wasm_smith::{Component, Config, Module};

use crate::dice::Dice;

/// Names a sample of files: any text.
pub(crate) const SAMPLE: &str = "PIVOT_HOST_SAMPLE";
/// The beginning of every component, and what the contract requires of every plugin: an empty instance, exported under that name.
const HEAD: &[u8] = b"\0asm\x0d\0\x01\0";
const OUTSIDE: &[u8] = b"\x05\x03\x01\x01\0\x0b\x23\x01\0\x1dpivot:provider/describe@0.1.0\x05\0\0";
/// Sections of a component.
const MODULE: u8 = 1;
const COMPONENT: u8 = 4;
/// Random bytes for a generated file.
const CHANCE: usize = 200_000;
/// After how many of them a file is given up.
const TRIES: usize = 20;

pub(crate) struct Cases {
    pub(crate) seeds: Vec<Vec<u8>>,
    /// Decides which files are made, if it is set.
    pub(crate) sample: Option<String>,
    pub(crate) mutated: u64,
    pub(crate) generated: u64,
}

impl Cases {
    pub(crate) fn count(&self) -> u64 {
        self.mutated + self.generated
    }

    pub(crate) fn name(&self, number: u64) -> String {
        let kind = if number < self.generated { "generated" } else { "mutated" };
        let sample = self.sample.as_ref().map(|sample| format!(" of {SAMPLE}={sample}")).unwrap_or_default();
        format!("{kind} file {number}{sample}")
    }

    /// The number from which the dice of a file start: another one in each sample.
    fn seed(&self, number: u64) -> u64 {
        let Some(sample) = &self.sample else { return number };
        let mut hasher = DefaultHasher::new();
        (sample, number).hash(&mut hasher);
        hasher.finish()
    }

    pub(crate) fn make(&self, number: u64) -> Result<Vec<u8>> {
        let mut dice = Dice::new(self.seed(number));
        if number < self.generated {
            return generated(&mut dice);
        }
        let seed = self.seeds.get(dice.roll(self.seeds.len())).context("no seed file is named")?;
        Ok(mutated(seed.clone(), &mut dice))
    }
}

/// A few changes: a byte, or a run of bytes that is dropped, repeated or moved.
fn mutated(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    for _ in 0..=dice.roll(4) {
        let at = HEAD.len() + dice.roll(bytes.len() - HEAD.len());
        let end = (at + 1 + dice.roll(40)).min(bytes.len());
        match dice.roll(8) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let run = bytes[at..end].to_vec();
                bytes.splice(at..at, run);
            }
            2 => {
                let from = dice.roll(bytes.len() - (end - at));
                bytes.copy_within(from..from + (end - at), at);
            }
            3 => bytes[at] ^= 1 << dice.roll(8),
            // In encoded numbers, all bytes but the last have the highest bit set.
            4 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][dice.roll(5)],
            _ => bytes[at] = dice.byte(),
        }
    }
    bytes
}

/// Not every sequence of bytes is one from which wasm-smith makes a file: the first that is one counts.
fn generated(dice: &mut Dice) -> Result<Vec<u8>> {
    let mut made = one_generated(dice);
    for _ in 1..TRIES {
        if made.is_ok() {
            break;
        }
        made = one_generated(dice);
    }
    made.with_context(|| format!("make a file from {TRIES} sequences of bytes"))
}

fn one_generated(dice: &mut Dice) -> Result<Vec<u8>> {
    let chance = dice.bytes(CHANCE);
    let config = Config {
        max_funcs: 1 + dice.roll(300),
        max_instructions: 1 + dice.roll(3_000),
        max_types: 1 + dice.roll(300),
        max_type_size: 1 + dice.roll(5_000) as u32,
        max_nesting_depth: 1 + dice.roll(10),
        // If the runtime refuses the file anyway, there is nothing to compile.
        gc_enabled: false,
        exceptions_enabled: false,
        threads_enabled: false,
        memory64_enabled: false,
        // References to what the host has are among that.
        reference_types_enabled: dice.roll(5) == 0,
        ..Config::default()
    };
    let mut chance = Unstructured::new(&chance);
    let (section, content) = if dice.roll(2) == 0 {
        (MODULE, Module::new(config, &mut chance)?.to_bytes())
    } else {
        (COMPONENT, Component::new(config, &mut chance)?.to_bytes())
    };
    let mut bytes = HEAD.to_vec();
    bytes.push(section);
    let mut left = content.len();
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes.extend(content);
    bytes.extend(OUTSIDE);
    Ok(bytes)
}
