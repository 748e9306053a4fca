//! Counts of tests and their times, from the output of a test executable.

use std::fmt;
use std::time::{Duration, Instant};

/// Counts of passed and failed tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        let Self { passed, failed } = *other;
        self.passed += passed;
        self.failed += failed;
    }

    /// Counts a line such as `test result: ok. 5 passed; 0 failed; 0 ignored; …`.
    pub(super) fn read(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else { return };
        let Some((_, counts)) = counts.split_once(". ") else { return };
        for part in counts.split("; ") {
            match part.split_once(' ').map(|(number, what)| (number.parse::<usize>(), what)) {
                Some((Ok(number), "passed")) => self.passed += number,
                Some((Ok(number), "failed")) => self.failed += number,
                _ => {}
            }
        }
    }
}

/// The last line of a run.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Seconds of each test, worked out from the moments at which tests end.
///
/// libtest prints no durations, but it begins tests in the order of their names: as many as it has threads, and the next one
/// whenever one ends.
#[derive(Debug)]
pub(super) struct Clocked {
    /// Moments at which a thread began its test, for the tests that have not ended.
    begun: Vec<(String, Instant)>,
    waiting: std::vec::IntoIter<String>,
}

impl Clocked {
    /// Starts the first `threads` of these tests, which are in the order of libtest.
    pub(super) fn new(names: Vec<String>, threads: usize, now: Instant) -> Self {
        let mut clocked = Self { begun: Vec::new(), waiting: names.into_iter() };
        for _ in 0..threads.max(1) {
            clocked.begin(now);
        }
        clocked
    }

    fn begin(&mut self, now: Instant) {
        self.begun.extend(self.waiting.next().map(|name| (name, now)));
    }

    /// Returns the name and the duration of the test that ended with this line.
    pub(super) fn read(&mut self, line: &str, now: Instant) -> Option<(String, Duration)> {
        let (name, _) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
        let index = self.begun.iter().position(|(begun, _)| begun == name)?;
        let (name, begun) = self.begun.swap_remove(index);
        self.begin(now);
        Some((name, now - begun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_binaries_count() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ] {
            tally.read(line);
        }
        assert_eq!(tally.to_string(), "4 passed, 2 failed");
    }

    #[test]
    fn tests_begin_when_another_one_ends() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let mut clocked = Clocked::new(names, 2, begun);
        assert_eq!(clocked.read("test b ... ok", at(3)), Some(("b".to_owned(), Duration::from_secs(3))));
        assert_eq!(clocked.read("test c ... FAILED", at(5)), Some(("c".to_owned(), Duration::from_secs(2))));
        assert_eq!(clocked.read("test result: ok. 3 passed", at(6)), None);
        assert_eq!(clocked.read("test a ... ok", at(9)), Some(("a".to_owned(), Duration::from_secs(9))));
    }
}
