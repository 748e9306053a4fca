//! Earlier runs on this machine: how long stages and executables took, and with which inputs stages passed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::shell::cache;

const FILE: &str = "tests.json";
/// Runs of a stage that count for its usual duration.
const MAX_RUNS: usize = 10;
/// A result is used again for this long: what no key contains, such as the kernel, changes too.
const MAX_AGE: Duration = Duration::from_hours(7 * 24);

/// All that is remembered, in one file of the cache.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct History {
    stages: BTreeMap<String, StageHistory>,
    executables: BTreeMap<String, f64>,
    /// The slowest tests of the last run of each stage, for people who look for seconds to save.
    slowest: BTreeMap<String, Vec<(String, f64)>>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StageHistory {
    /// Seconds of the last runs that passed.
    seconds: Vec<f64>,
    /// Seconds of processors in the last run that passed, if no other stage ran at the same time.
    processor_seconds: Option<f64>,
    passed: Option<Passed>,
}

/// A run of a stage that passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Passed {
    pub(super) key: String,
    pub(super) commit: String,
    pub(super) tests: usize,
    /// Seconds since 1970.
    at: u64,
}

impl Passed {
    pub(super) fn now(key: String, commit: String, tests: usize) -> Self {
        Self { key, commit, tests, at: unix_now() }
    }
}

impl History {
    /// Reads the file. A missing or damaged one is an empty history: the next run writes it anew.
    pub(super) fn read() -> Self {
        let text = path().and_then(|path| Ok(fs::read(path)?)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    pub(super) fn write(&self) -> Result<()> {
        let path = path()?;
        let folder = path.parent().context("the cache is a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        // Another checkout may read it now.
        let fresh = path.with_extension(format!("json.{}", std::process::id()));
        fs::write(&fresh, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&fresh, &path).with_context(|| format!("write {}", path.display()))
    }

    /// Median of the last runs of a stage that passed.
    pub(super) fn usual_time(&self, stage: &str) -> Option<Duration> {
        let mut seconds = self.stages.get(stage)?.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied().map(Duration::from_secs_f64)
    }

    pub(super) fn executable_time(&self, name: &str) -> Option<Duration> {
        self.executables.get(name).copied().map(Duration::from_secs_f64)
    }

    /// Returns the run in which a stage passed with exactly these inputs, unless it is too old.
    pub(super) fn passed_with(&self, stage: &str, key: &str) -> Option<&Passed> {
        self.passed_since(stage, key, unix_now().saturating_sub(MAX_AGE.as_secs()))
    }

    fn passed_since(&self, stage: &str, key: &str, oldest: u64) -> Option<&Passed> {
        let passed = self.stages.get(stage)?.passed.as_ref()?;
        (passed.key == key && passed.at >= oldest).then_some(passed)
    }

    /// Remembers a run that passed.
    pub(super) fn add(
        &mut self,
        stage: &str,
        took: Duration,
        processors: Option<Duration>,
        passed: Option<Passed>,
    ) {
        let known = self.stages.entry(stage.to_owned()).or_default();
        known.seconds.push(took.as_secs_f64());
        let surplus = known.seconds.len().saturating_sub(MAX_RUNS);
        known.seconds.drain(..surplus);
        known.processor_seconds = processors.map(|time| time.as_secs_f64());
        known.passed = passed;
    }

    pub(super) fn add_times(
        &mut self,
        stage: &str,
        executables: &[(String, Duration)],
        slowest: &[(String, Duration)],
    ) {
        for (name, took) in executables {
            self.executables.insert(name.clone(), took.as_secs_f64());
        }
        let slowest = slowest.iter().map(|(name, took)| (name.clone(), took.as_secs_f64())).collect();
        self.slowest.insert(stage.to_owned(), slowest);
    }
}

fn path() -> Result<PathBuf> {
    Ok(cache()?.join(FILE))
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_time_is_the_median_of_the_last_runs() {
        let mut history = History::default();
        assert_eq!(history.usual_time("unit"), None);
        for seconds in 1..=15 {
            history.add("unit", Duration::from_secs(seconds), None, None);
        }
        // Of 6 to 15.
        assert_eq!(history.usual_time("unit"), Some(Duration::from_secs(11)));
    }

    #[test]
    fn results_count_for_the_same_inputs_and_for_a_week() {
        let mut history = History::default();
        let passed = Passed { key: "k".into(), commit: "c".into(), tests: 3, at: 1000 };
        history.add("lab", Duration::ZERO, None, Some(passed.clone()));
        assert_eq!(history.passed_since("lab", "k", 1000), Some(&passed));
        assert_eq!(history.passed_since("lab", "k", 1001), None);
        assert_eq!(history.passed_since("lab", "other", 0), None);
        assert_eq!(history.passed_since("unit", "k", 0), None);
        // A run without a key forgets the earlier one.
        history.add("lab", Duration::ZERO, None, None);
        assert_eq!(history.passed_with("lab", "k"), None);
    }
}
