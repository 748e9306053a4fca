//! Turns the engine's events into a Pivot's status: collected as they come, written at most once a second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pivot_core::Key;
use pivot_core::messages::safe_text::to_line;
use pivot_core::plan::ALSO_COPIED_NONE;
use pivot_core::plugins::hooks::Severity;
use pivot_engine::{Event, Watcher};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::home::Home;
use crate::metrics::Metrics;
use crate::reason::Reason;
use crate::resource::Pivot;
use crate::status::PivotStatus;

const WRITE_INTERVAL: Duration = Duration::from_secs(1);
/// The longest message in a log, in bytes.
const MAX_LOG_MESSAGE: usize = 1_000;

/// The status and the Events to write for one Pivot.
pub(crate) struct PivotView {
    pivot: Key,
    status: Mutex<PivotStatus>,
    news: Notify,
    /// Announcements that were not written as Events yet.
    told: Mutex<Vec<Announcement>>,
    metrics: Arc<Metrics>,
}

/// A message for an Event.
pub(crate) struct Announcement {
    pub(crate) normal: bool,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl PivotView {
    pub(crate) fn new(pivot: Key, status: PivotStatus, metrics: Arc<Metrics>) -> Self {
        Self { pivot, status: Mutex::new(status), news: Notify::new(), told: Mutex::default(), metrics }
    }

    /// Changes the status, which is written soon.
    pub(crate) fn change_status(&self, change: impl FnOnce(&mut PivotStatus)) {
        change(&mut lock_mutex(&self.status));
        self.news.notify_one();
    }

    pub(crate) fn status(&self) -> PivotStatus {
        lock_mutex(&self.status).clone()
    }

    /// Writes changes of the status until the future is dropped.
    pub(crate) async fn keep_writing(&self, home: &Home, pivot: &Pivot) {
        let mut shown = pivot.status.clone();
        loop {
            self.news.notified().await;
            self.write_changes(home, pivot, &mut shown).await;
            sleep(WRITE_INTERVAL).await;
        }
    }

    /// Writes the Events that were not written yet.
    pub(crate) async fn write_events(&self, home: &Home, pivot: &Pivot) {
        let told = std::mem::take(&mut *lock_mutex(&self.told));
        for Announcement { normal, reason, message } in merge_by_reason(told) {
            home.write_event(pivot, normal, &reason, &message).await;
        }
    }

    /// Writes the status if it differs from `shown`.
    pub(crate) async fn write_changes(&self, home: &Home, pivot: &Pivot, shown: &mut PivotStatus) {
        self.write_events(home, pivot).await;
        let status = self.status();
        if status == *shown {
            return;
        }
        match home.write_status(pivot, &status).await {
            Ok(()) => *shown = status,
            // The status is only a view: the move goes on.
            Err(error) => tracing::warn!(%error, pivot = %pivot.key, "its status was not written"),
        }
    }

    /// Announces a message by an Event and in the log, because Events are gone after an hour.
    pub(crate) fn announce(&self, normal: bool, reason: Reason, message: String) {
        self.announce_reason(normal, reason.as_str(), message);
    }

    /// Announces a phase or a code of the engine, whose name is the reason.
    fn announce_reason(&self, normal: bool, reason: &str, message: String) {
        let (pivot, line) = (&self.pivot, to_line(&message, MAX_LOG_MESSAGE));
        match normal {
            true => tracing::info!(%pivot, reason, "{line}"),
            false => tracing::warn!(%pivot, reason, "{line}"),
        }
        lock_mutex(&self.told).push(Announcement { normal, reason: reason.to_owned(), message });
        self.news.notify_one();
    }
}

impl Watcher for PivotView {
    fn event(&self, event: Event) {
        match &event {
            Event::PhaseDone { phase, milliseconds } => {
                self.metrics.count_phase(*phase, *milliseconds);
                let seconds = Duration::from_millis(*milliseconds).as_secs_f64();
                self.announce_reason(true, &phase.to_string(), format!("phase {phase} took {seconds:.1} s"));
            }
            Event::Warning { code, object, text, .. } => {
                self.announce_reason(false, &reason_of(code), with_object(object.as_ref(), text))
            }
            // The user may have mistyped a label, and would miss the objects only when they are needed.
            Event::Note { code, object, text, .. } if code == ALSO_COPIED_NONE => {
                self.announce_reason(false, &reason_of(code), with_object(object.as_ref(), text));
            }
            Event::Finding { plugin, code, severity, object, text, .. } if *severity != Severity::Note => {
                let text = format!("plugin {plugin}: {text}");
                self.announce_reason(false, &reason_of(code), with_object(object.as_ref(), &text));
            }
            _ => {}
        }
        self.change_status(|status| status.apply_event(&event));
    }
}

/// Merges messages with the same reason: a warning may come for every kind of a cluster.
fn merge_by_reason(told: Vec<Announcement>) -> Vec<Announcement> {
    let mut merged: Vec<(Announcement, usize)> = Vec::new();
    for next in told {
        match merged.iter_mut().find(|(one, _)| (one.normal, &one.reason) == (next.normal, &next.reason)) {
            Some((_, more)) => *more += 1,
            None => merged.push((next, 0)),
        }
    }
    let announcements = merged.into_iter().map(|(one, more)| match more {
        0 => one,
        more => {
            Announcement { message: format!("{}; and {more} more, which the log has", one.message), ..one }
        }
    });
    announcements.collect()
}

/// Returns a code as Events spell reasons: `no-ready-node` is `NoReadyNode`.
fn reason_of(code: &str) -> String {
    let words = code.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capitalised = words.map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    });
    capitalised.collect()
}

fn with_object(object: Option<&Key>, text: &str) -> String {
    object.map_or_else(|| text.to_owned(), |object| format!("{object}: {text}"))
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_about_many_kinds_are_merged() {
        let told = |reason: &str, message: &str| Announcement {
            normal: false,
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        let mut many: Vec<Announcement> =
            (0..61).map(|kind| told("DependentsUnreadable", &format!("kind {kind}"))).collect();
        many.insert(1, told("Other", "another"));
        let shown: Vec<String> = merge_by_reason(many)
            .into_iter()
            .map(|Announcement { reason, message, .. }| format!("{reason}: {message}"))
            .collect();
        assert_eq!(shown, ["DependentsUnreadable: kind 0; and 60 more, which the log has", "Other: another"]);
    }

    #[test]
    fn codes_become_reasons() {
        assert_eq!(reason_of("no-ready-node"), "NoReadyNode");
        assert_eq!(reason_of(""), "");
    }
}
