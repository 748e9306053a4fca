//! The cases that a run tests when testing all of them would take too long.
//!
//! A landing tests some of them, the nightly run tests all. The commit under test decides which, so that a commit passes or fails
//! by its content, wherever and whenever it is tested, and later commits test other cases.
//!
//! | variable | meaning |
//! |---|---|
//! | `PIVOT_HOST_NIGHTLY` | if it is set and not empty, every case is tested |
//! | `PIVOT_HOST_SAMPLE` | decides instead of the commit: repeats the choice of another run |

use std::env;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pivot_lab::say;

const NIGHTLY: &str = "PIVOT_HOST_NIGHTLY";
const SEED: &str = "PIVOT_HOST_SAMPLE";

/// Returns true if every case has to be tested.
#[must_use]
pub fn is_nightly() -> bool {
    enables_nightly(env::var_os(NIGHTLY).as_deref())
}

/// Returns `count` of the items in their order, or all of them in the nightly run. The purpose makes samples of the same run
/// independent of each other.
pub fn sample<T>(purpose: &str, items: impl IntoIterator<Item = T>, count: usize) -> Result<Vec<T>> {
    let items = items.into_iter().collect();
    if is_nightly() {
        return Ok(items);
    }
    let seed = read_seed()?;
    say(format_args!("{count} {purpose}, chosen by {SEED}={seed}"));
    Ok(sample_by(&seed, purpose, items, count))
}

/// Returns one of the items. The nightly run, too, tests one, chosen by its own seed.
pub fn choose_one<T>(purpose: &str, items: impl IntoIterator<Item = T>) -> Result<T> {
    let seed = read_seed()?;
    say(format_args!("one of the {purpose}, chosen by {SEED}={seed}"));
    let chosen = sample_by(&seed, purpose, items.into_iter().collect(), 1);
    chosen.into_iter().next().with_context(|| format!("no {purpose} to choose from"))
}

/// Returns the first of the seeds that a run plays: 0 in a landing, where an answer of another program is recorded for what it was
/// asked, and in the nightly run one that its own seed decides.
pub fn first_seed(purpose: &str) -> Result<u64> {
    if !is_nightly() {
        return Ok(0);
    }
    let seed = read_seed()?;
    say(format_args!("{purpose} chosen by {SEED}={seed}"));
    Ok(first_seed_by(&seed, purpose))
}

fn first_seed_by(seed: &str, purpose: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, purpose).hash(&mut hasher);
    // Short enough for names of namespaces.
    hasher.finish() % (1 << 32)
}

fn enables_nightly(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty())
}

fn read_seed() -> Result<String> {
    if let Ok(seed) = env::var(SEED) {
        return Ok(seed);
    }
    let mut git = Command::new("git");
    git.args(["rev-parse", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = git.output().with_context(|| format!("run git for the commit under test, or set {SEED}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "which commit is tested? {}; without git, set {SEED}", error.trim());
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Ranks the items by a hash and takes the first ones, in the order that they were in.
fn sample_by<T>(seed: &str, purpose: &str, items: Vec<T>, count: usize) -> Vec<T> {
    let rank = |index: usize| {
        // Without keys of its own, so that it is the same in each process.
        let mut hasher = DefaultHasher::new();
        (seed, purpose, index).hash(&mut hasher);
        hasher.finish()
    };
    let mut ranked: Vec<(usize, T)> = items.into_iter().enumerate().collect();
    ranked.sort_by_key(|(index, _)| rank(*index));
    ranked.truncate(count);
    ranked.sort_by_key(|(index, _)| *index);
    ranked.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn sampled(seed: &str, purpose: &str, count: usize) -> Vec<u32> {
        sample_by(seed, purpose, (0..30).collect(), count)
    }

    #[test]
    fn samples_have_the_wanted_size_and_order() {
        for count in 0..30 {
            let sample = sampled("a", "points", count);
            assert_eq!(sample.len(), count);
            assert!(sample.is_sorted_by(|one, next| one < next), "{sample:?}");
        }
        assert_eq!(sampled("a", "points", 31), (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn equal_seeds_choose_equal_samples() {
        assert_eq!(sampled("a", "points", 7), sampled("a", "points", 7));
        assert_ne!(sampled("a", "points", 7), sampled("b", "points", 7));
        assert_ne!(sampled("a", "points", 7), sampled("a", "hooks", 7));
    }

    #[test]
    fn every_item_is_chosen_by_some_seed() {
        let chosen = (0..200).flat_map(|seed| sampled(&seed.to_string(), "points", 1));
        assert_eq!(chosen.collect::<BTreeSet<_>>(), (0..30).collect());
    }

    #[test]
    fn seeds_differ_by_day_and_purpose() {
        let first = first_seed_by("2026-11-26", "worlds");
        assert_eq!(first, first_seed_by("2026-11-26", "worlds"));
        assert_ne!(first, first_seed_by("2026-11-27", "worlds"));
        assert_ne!(first, first_seed_by("2026-11-26", "points"));
    }

    #[test]
    fn commit_is_the_default_seed() {
        let seed = read_seed().unwrap();
        assert_eq!(seed, read_seed().unwrap());
        assert!(
            env::var(SEED).is_ok() || seed.len() >= 40 && seed.chars().all(|c| c.is_ascii_hexdigit()),
            "{seed}"
        );
    }

    #[test]
    fn empty_variable_does_not_make_it_nightly() {
        assert!(enables_nightly(Some("1".as_ref())));
        assert!(!enables_nightly(Some("".as_ref())));
        assert!(!enables_nightly(None));
    }

    #[test]
    fn choosing_from_nothing_is_an_error() {
        assert_eq!(choose_one("groups", [5]).unwrap(), 5);
        assert_eq!(choose_one("groups", [0; 0]).unwrap_err().to_string(), "no groups to choose from");
    }
}
