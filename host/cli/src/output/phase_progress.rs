//! Progress of a phase, and its result: `Copied:    1,032 objects in 2.1 s, 490/s`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pivot_core::messages::grouping::format_number;
use pivot_core::records::record::Phase;
use pivot_engine::Verb;

use super::events::{done_word, phase_line};
use super::lines::count_text;

/// Time between two lines of a busy phase.
const SILENCE: Duration = Duration::from_secs(10);
/// Word before changes outside of any phase.
pub(super) const UNDONE: &str = "Undone";
/// The number of objects from which a rate is meaningful.
const RATED: usize = 10;

/// A phase under way.
pub(super) struct PhaseProgress {
    phase: Phase,
    /// Number of objects of the phase.
    objects: usize,
    done: BTreeMap<Verb, usize>,
    told: Instant,
}

impl PhaseProgress {
    pub(super) fn new(phase: Phase, objects: usize) -> Self {
        Self { phase, objects, done: BTreeMap::new(), told: Instant::now() }
    }

    /// Counts something done; returns a line if the last one was long enough ago.
    pub(super) fn count_change(&mut self, verb: Verb) -> Option<String> {
        *self.done.entry(verb).or_default() += 1;
        if self.told.elapsed() < SILENCE {
            return None;
        }
        self.told = Instant::now();
        let sum: usize = self.done.values().sum();
        let text = match self.phase {
            Phase::Copied | Phase::Released => {
                format!("{} of {}", format_number(sum), count_text(self.objects, "object"))
            }
            _ => format!("{} so far", count_text(sum, "object")),
        };
        Some(phase_line(&self.phase.to_string(), &text))
    }

    /// The result of a finished phase.
    pub(super) fn finished_line(&self, milliseconds: u64) -> String {
        let time = Duration::from_millis(milliseconds).as_secs_f64();
        let own = main_verb(self.phase).and_then(|verb| self.done.get(&verb)).copied().unwrap_or_default();
        let rated = matches!(self.phase, Phase::Copied | Phase::Released | Phase::Settled) && own >= RATED;
        let rate = if rated && milliseconds > 0 {
            format!(", {}/s", per_second(own, milliseconds))
        } else {
            String::new()
        };
        let what = match self.phase {
            Phase::Checked | Phase::Ready | Phase::Committed => self.changes_text(Some(self.objects)),
            // What it began with says that there was nothing to do.
            _ if self.done.is_empty() => "done".to_owned(),
            _ => self.changes_text(None),
        };
        phase_line(&self.phase.to_string(), &format!("{what} in {time:.1} s{rate}"))
    }

    /// Returns the line of a phase that was not finished.
    pub(super) fn stopped_line(&self) -> Option<String> {
        let text = format!("stopped after {}", self.changes_text(None));
        (!self.done.is_empty()).then(|| phase_line(&self.phase.to_string(), &text))
    }

    /// `1,030 objects, 2 left as found`. `looked` is the number of objects in a phase that normally changes none.
    fn changes_text(&self, looked: Option<usize>) -> String {
        let own = main_verb(self.phase);
        let number =
            looked.unwrap_or_else(|| own.and_then(|verb| self.done.get(&verb)).copied().unwrap_or_default());
        let others: Vec<(Verb, usize)> = self
            .done
            .iter()
            .map(|(verb, number)| (*verb, *number))
            .filter(|(verb, _)| Some(*verb) != own)
            .collect();
        let mut parts = Vec::new();
        if number > 0 || others.is_empty() {
            parts.push(count_text(number, "object"));
        }
        parts.extend(in_words(others));
        parts.join(", ")
    }
}

/// Changes outside of any phase: a rollback, or a stop that undoes the changes of the run.
pub(super) struct UndoProgress {
    done: BTreeMap<Verb, usize>,
    told: Instant,
}

impl UndoProgress {
    pub(super) fn new() -> Self {
        Self { done: BTreeMap::new(), told: Instant::now() }
    }

    /// Counts a change; returns a line if the last one was long enough ago.
    pub(super) fn count_change(&mut self, verb: Verb) -> Option<String> {
        *self.done.entry(verb).or_default() += 1;
        if self.told.elapsed() < SILENCE {
            return None;
        }
        self.told = Instant::now();
        Some(phase_line(UNDONE, &format!("{} so far", self.in_words())))
    }

    /// Returns the line at the end.
    pub(super) fn summarize(&self) -> String {
        phase_line(UNDONE, &self.in_words())
    }

    fn in_words(&self) -> String {
        in_words(self.done.iter().map(|(verb, number)| (*verb, *number))).join(", ")
    }
}

/// The verb that the name of a phase stands for.
fn main_verb(phase: Phase) -> Option<Verb> {
    Some(match phase {
        Phase::Checked | Phase::Ready | Phase::Committed => return None,
        Phase::Paused => Verb::Paused,
        Phase::Copied => Verb::Created,
        Phase::Live => Verb::Unpaused,
        Phase::Released => Verb::Deleted,
        Phase::Settled => Verb::UnpausedHeld,
    })
}

/// `412 removed`, `3 unpaused`.
fn in_words(counts: impl IntoIterator<Item = (Verb, usize)>) -> Vec<String> {
    let words = counts.into_iter().map(|(verb, number)| {
        format!(
            "{} {}",
            format_number(number),
            if verb == Verb::Used { "left as found" } else { done_word(verb) }
        )
    });
    words.collect()
}

fn per_second(number: usize, milliseconds: u64) -> String {
    let number: u64 = number.try_into().unwrap_or(u64::MAX);
    let rate = number.saturating_mul(1_000) / milliseconds.max(1);
    format_number(rate.try_into().unwrap_or(usize::MAX))
}
