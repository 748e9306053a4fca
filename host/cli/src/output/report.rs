//! The report of a move, a resume or a rollback: its history from the events of the run, and its end from the documents that the
//! run writes anyway. There is no second account of either.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use pivot_core::messages::refusal::Refusal;
use pivot_core::plan::Plan;
use pivot_engine::{Event, Watcher};
use serde_json::Value;

use super::document::Document;
use super::happened::{EventHistory, Rate};
use super::move_report::{MoveReport, Planned, Throttled};
use super::page::Cards;
use super::reported::Reported;
use super::{Progress, current_time, lock_mutex, page, text};

/// Collects events, and passes them on.
pub(crate) struct Recorder {
    began: Instant,
    at: String,
    seen: Mutex<EventHistory>,
    /// Events that a page shows in cards.
    reported: Mutex<Reported>,
    /// Another listener, once both sides are open.
    progress: Mutex<Option<Arc<Progress>>>,
    sides: Mutex<(String, String)>,
}

/// End of a run.
pub(crate) struct Ending {
    /// `Stopped`, or the outcome of the command.
    pub(crate) outcome: &'static str,
    pub(crate) code: u8,
    pub(crate) move_id: Option<String>,
    /// The document that the run ends with.
    pub(crate) result: Value,
    /// True if a side is a directory.
    pub(crate) files: bool,
    /// Failure, line by line.
    pub(crate) message: Vec<String>,
    pub(crate) refusals: Vec<Refusal>,
}

impl Recorder {
    pub(crate) fn begin() -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            at: current_time(),
            seen: Mutex::default(),
            reported: Mutex::default(),
            progress: Mutex::default(),
            sides: Mutex::default(),
        })
    }

    /// Both sides are known: the run begins.
    pub(crate) fn set_sides(&self, (source, target): (&str, &str), progress: &Arc<Progress>) {
        *lock_mutex(&self.sides) = (source.to_owned(), target.to_owned());
        *lock_mutex(&self.progress) = Some(progress.clone());
    }

    /// The report: a page, or a document.
    pub(crate) fn build_report(&self, command: &str, by: &str, page: bool, ending: &Ending) -> String {
        let milliseconds = self.elapsed();
        let mut seen = lock_mutex(&self.seen);
        seen.end(milliseconds);
        let (source, target) = &*lock_mutex(&self.sides);
        let EventHistory { plan, accepted, phases, ticks, waits, retries, throttled, findings, notes } =
            &*seen;
        let report = MoveReport {
            command,
            outcome: ending.outcome,
            exit_code: ending.code,
            move_id: ending.move_id.as_deref(),
            by,
            version: env!("CARGO_PKG_VERSION"),
            began: self.at.clone(),
            ended: current_time(),
            milliseconds,
            source,
            target,
            accepted,
            phases,
            rate: Rate::from_ticks(ticks, milliseconds),
            waits,
            retries,
            throttled: throttled
                .iter()
                .map(|(side, requests)| Throttled { side: *side, requests: *requests })
                .collect(),
            findings,
            notes,
            plan: plan.as_deref().filter(|_| !page).map(Planned::from),
            files: ending.files,
            result: &ending.result,
        };
        if page {
            let plan = plan.as_deref().map(|plan| Plan { refusals: ending.refusals.clone(), ..plan.clone() });
            let reported = lock_mutex(&self.reported);
            let cards = Cards::from_run(&ending.refusals, &reported.notes(), &reported);
            return page::of_report(&report, plan.as_ref(), cards, &ending.message);
        }
        // A plan that can be made is written as a plan. Otherwise there is only the error.
        let json = match command {
            "plan" => serde_json::to_string_pretty(&ending.result),
            _ => serde_json::to_string_pretty(&Document::new("MoveReport", report)),
        };
        let json = json.unwrap_or_default();
        text::escape_json(&json) + "\n"
    }

    fn elapsed(&self) -> u64 {
        self.began.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }
}

impl Watcher for Recorder {
    fn event(&self, event: Event) {
        lock_mutex(&self.seen).record(self.elapsed(), &event);
        lock_mutex(&self.reported).keep_event(&event);
        let progress = lock_mutex(&self.progress).clone();
        if let Some(progress) = progress {
            progress.event(event);
        }
    }
}
