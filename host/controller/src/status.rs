//! The status of a Pivot: a view for people and for `kubectl wait`. Decisions depend on the records of the two sides, not on the
//! status.

use std::time::Duration;

use jiff::Timestamp;
use pivot_core::Side;
use pivot_core::messages::safe_text::to_line;
use pivot_core::records::record::Phase;
use pivot_engine::{Event, Verb};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::reason::Reason;

/// The status of a Pivot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PivotStatus {
    /// Generation of the Pivot that this is about.
    pub(crate) observed_generation: Option<i64>,
    /// `Pending`, a phase of the move, `RollingBack`, or `Succeeded`.
    pub(crate) phase: Option<String>,
    /// The move's id, as `pivot-host status` shows it.
    pub(crate) move_id: Option<String>,
    /// Numbers of objects that are planned, copied and deleted.
    pub(crate) objects: Objects,
    /// Copied and planned objects in one word, for a column.
    pub(crate) progress: Option<String>,
    /// The current work or wait of the move, or the reason why it stopped.
    pub(crate) message: Option<String>,
    /// Attempts in a row that failed.
    pub(crate) failures: u32,
    /// Time of the next attempt, if none is at work.
    pub(crate) next_attempt: Option<String>,
    /// Value of the annotation `pivot-host.io/requestedAt` when the last attempt began.
    pub(crate) last_handled_request: Option<String>,
    /// For programs.
    pub(crate) conditions: Vec<PivotCondition>,
    /// The side that doesn't answer, and the message that comes back once it does.
    #[serde(skip)]
    interrupted: Option<(Side, Option<String>)>,
}

/// The objects of a move, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Objects {
    /// Objects to copy.
    pub(crate) planned: u64,
    /// Objects that are in the target.
    pub(crate) copied: u64,
    /// Objects that the current or last run deleted from the source.
    pub(crate) deleted: u64,
}

/// One condition, as Kubernetes spells them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PivotCondition {
    /// Type of the condition.
    #[serde(rename = "type")]
    pub(crate) of: String,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: String,
    /// A word for programs.
    pub(crate) reason: String,
    /// A sentence for people.
    #[serde(default)]
    pub(crate) message: String,
    /// Generation of the Pivot that this is about.
    #[serde(default)]
    pub(crate) observed_generation: Option<i64>,
    /// Time of the last change of the status.
    pub(crate) last_transition_time: String,
}

/// The types of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionType {
    /// Both clusters answer.
    Connected,
    /// The point of no return is passed.
    Committed,
    /// The move has ended.
    Succeeded,
    /// The move is at work, waits, or is tried again.
    Reconciling,
    /// The move needs a change by a user.
    Stalled,
    /// Equal to `Succeeded`, and present from the beginning: tools that wait for any kind (kstatus, Flux, `kubectl wait`) read
    /// it.
    Ready,
}

impl ConditionType {
    fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "Connected",
            Self::Committed => "Committed",
            Self::Succeeded => "Succeeded",
            Self::Reconciling => "Reconciling",
            Self::Stalled => "Stalled",
            Self::Ready => "Ready",
        }
    }
}

/// The most characters of a message that are shown, without and with the mark of a shortened message.
const MAX_SHOWN_CHARACTERS: usize = 2_000;
pub(crate) const MAX_MESSAGE_CHARACTERS: usize = MAX_SHOWN_CHARACTERS + 1;
/// The phases before the first of the engine's, and after the last.
const PENDING: &str = "Pending";
const ROLLING_BACK: &str = "RollingBack";
const SUCCEEDED: &str = "Succeeded";
/// All phases that a controller writes.
const PHASES: [&str; 11] = [
    PENDING,
    "Checked",
    "Paused",
    "Copied",
    "Ready",
    "Committed",
    "Live",
    "Released",
    "Settled",
    ROLLING_BACK,
    SUCCEEDED,
];

impl PivotStatus {
    /// Returns true if a condition is true.
    pub(crate) fn is_true(&self, about: ConditionType) -> bool {
        self.conditions.iter().any(|condition| condition.of == about.as_str() && condition.status == "True")
    }

    /// Returns true if the move has changed something, according to this status.
    pub(crate) fn has_changed_something(&self) -> bool {
        let checked = Phase::Checked.to_string();
        self.phase.as_ref().is_some_and(|phase| ![PENDING, SUCCEEDED, &checked].contains(&phase.as_str()))
    }

    /// Returns true if a condition already has this message.
    pub(crate) fn has_message(&self, about: ConditionType, message: &str) -> bool {
        let message = shorten_message(message);
        self.conditions.iter().any(|condition| condition.of == about.as_str() && condition.message == message)
    }

    /// Shows that an attempt is at work, and nothing of the attempt before.
    fn show_running(&mut self, reason: Reason, message: &str) {
        self.set_condition_status(ConditionType::Succeeded, "Unknown", reason, message);
        self.set_condition(ConditionType::Ready, false, reason, message);
        self.set_condition(ConditionType::Reconciling, true, reason, message);
        self.set_condition(ConditionType::Stalled, false, reason, "");
    }

    /// Shows that an attempt ended before the move did.
    pub(crate) fn stop_attempt(&mut self, stalled: bool, reason: Reason, message: &str) {
        self.interrupted = None;
        self.set_message(message);
        self.set_condition(ConditionType::Succeeded, false, reason, message);
        self.set_condition(ConditionType::Ready, false, reason, message);
        self.set_condition(ConditionType::Reconciling, !stalled, reason, message);
        self.set_condition(ConditionType::Stalled, stalled, reason, message);
    }

    /// Shows that no move begins before a user changes the spec.
    pub(crate) fn show_suspension(&mut self, message: &str) {
        self.failures = 0;
        self.phase = Some(PENDING.to_owned());
        self.stop_attempt(false, Reason::Suspended, message);
        self.set_condition(ConditionType::Reconciling, false, Reason::Suspended, message);
    }

    /// Shows that both clusters answered.
    pub(crate) fn set_connected(&mut self) {
        self.set_condition(ConditionType::Connected, true, Reason::Answered, "");
    }

    /// Sets a condition.
    pub(crate) fn set_condition(&mut self, about: ConditionType, holds: bool, reason: Reason, message: &str) {
        self.set_condition_status(about, if holds { "True" } else { "False" }, reason, message);
    }

    fn set_condition_status(&mut self, about: ConditionType, status: &str, reason: Reason, message: &str) {
        let generation = self.observed_generation;
        let old = self.conditions.iter().position(|condition| condition.of == about.as_str());
        let since = old.and_then(|at| self.conditions.get(at)).filter(|old| old.status == status);
        let last_transition_time = since.map_or_else(current_time, |old| old.last_transition_time.clone());
        let new = PivotCondition {
            of: about.as_str().to_owned(),
            status: status.to_owned(),
            reason: reason.as_str().to_owned(),
            message: shorten_message(message),
            observed_generation: generation,
            last_transition_time,
        };
        match old.and_then(|at| self.conditions.get_mut(at)) {
            Some(old) => *old = new,
            None => self.conditions.push(new),
        }
    }

    pub(crate) fn set_message(&mut self, message: &str) {
        self.message = Some(shorten_message(message));
    }

    /// Begins an attempt. The status of the last one stays until this one goes further, unless a user requested this one or
    /// changed the spec.
    pub(crate) fn begin_attempt(&mut self, generation: Option<i64>, request: Option<&str>) {
        let asked = self.observed_generation != generation || self.last_handled_request.as_deref() != request;
        self.observed_generation = generation;
        self.last_handled_request = request.map(str::to_owned);
        self.next_attempt = None;
        if asked && !self.is_true(ConditionType::Succeeded) {
            self.show_running(Reason::Pending, "an attempt begins");
        }
    }

    /// Shows that no move has begun.
    pub(crate) fn show_pending(&mut self, why: &str) {
        if self.phase.is_none() {
            self.phase = Some(PENDING.to_owned());
            self.show_running(Reason::Pending, why);
        }
        self.show_preparation(why);
    }

    /// Shows the work of an attempt before its move goes on. The conditions show it, too, unless they show the end of the last
    /// attempt.
    fn show_preparation(&mut self, what: &str) {
        let mut pending = self.conditions.iter().filter(|one| one.reason == Reason::Pending.as_str());
        if pending.any(|one| one.of == ConditionType::Ready.as_str()) {
            self.show_running(Reason::Pending, what);
        }
        self.set_message(what);
    }

    /// Shows that a move begins, or resumes from the phase of its record. The spec can be changed while the phase is `Checked`,
    /// so a resumed move shows no earlier phase than it has reached.
    pub(crate) fn show_move(&mut self, recorded: Option<Phase>) {
        let phase = match recorded {
            Some(recorded) => self.engine_phase().map_or(recorded, |shown| shown.max(recorded)),
            None => Phase::Checked,
        };
        self.phase = Some(phase.to_string());
        self.show_preparation(match recorded {
            Some(_) => "checking both sides before the move is resumed",
            None => phase_description(Phase::Checked),
        });
    }

    /// Returns the phase as a label of metrics. Anyone with permission to write a status chooses its phase, so that is one of those that
    /// a controller writes, or none of them.
    pub(crate) fn phase_label(&self) -> &'static str {
        let shown = self.phase.as_deref().unwrap_or(PENDING);
        PHASES.into_iter().find(|known| *known == shown).unwrap_or("Unknown")
    }

    /// Returns the phase, if it is one of the engine's.
    fn engine_phase(&self) -> Option<Phase> {
        serde_json::from_value(json!(self.phase)).ok()
    }

    /// Returns true if a move has copied something, according to this status.
    pub(crate) fn has_copied(&self) -> bool {
        self.engine_phase() >= Some(Phase::Copied)
    }

    /// Returns true if a move may have begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.phase.as_deref().is_some_and(|phase| phase != PENDING)
    }

    pub(crate) fn show_rollback(&mut self) {
        self.phase = Some(ROLLING_BACK.to_owned());
        self.set_message("the Pivot was deleted or suspended: undoing its move, which isn't committed");
    }

    pub(crate) fn show_success(&mut self, move_id: &str, moved: usize, kept: usize) {
        let message = match kept {
            0 => format!("{moved} objects moved"),
            kept => format!("{moved} objects moved, {kept} are on both sides"),
        };
        self.phase = Some(SUCCEEDED.to_owned());
        self.move_id = Some(move_id.to_owned());
        self.failures = 0;
        self.set_message(&message);
        self.set_connected();
        self.set_condition(ConditionType::Committed, true, Reason::Succeeded, "");
        self.set_condition(ConditionType::Succeeded, true, Reason::Succeeded, &message);
        self.set_condition(ConditionType::Ready, true, Reason::Succeeded, &message);
        self.set_condition(ConditionType::Reconciling, false, Reason::Succeeded, "");
        self.set_condition(ConditionType::Stalled, false, Reason::Succeeded, "");
    }

    /// Shows that a side doesn't answer. Once it answers, the previous message returns.
    fn show_silence(&mut self, side: Side, why: &str) {
        let before = self.interrupted.take().map_or_else(|| self.message.clone(), |(_, message)| message);
        self.interrupted = Some((side, before));
        self.set_message(why);
    }

    /// Shows an event of the engine.
    pub(crate) fn apply_event(&mut self, event: &Event) {
        let answers = match event {
            Event::Object { side, .. } => self.interrupted.as_ref().is_some_and(|(silent, _)| silent == side),
            Event::Planned { .. }
            | Event::PhaseBegun { .. }
            | Event::PhaseDone { .. }
            | Event::Waiting { .. } => true,
            _ => false,
        };
        if answers && let Some((_, message)) = self.interrupted.take() {
            self.message = message;
        }
        match event {
            Event::Planned { summary, .. } => {
                self.objects = Objects { planned: to_u64(summary.objects), ..Objects::default() };
                self.set_connected();
            }
            Event::PhaseBegun { phase, .. } => {
                if self.engine_phase() < Some(*phase) {
                    self.phase = Some(phase.to_string());
                }
                // The message about a check depends on whether the move is under way, which the event doesn't have.
                if *phase > Phase::Checked {
                    self.set_message(phase_description(*phase));
                    self.show_running(Reason::Running, &format!("phase {phase}"));
                }
                if *phase > Phase::Committed {
                    self.set_condition(
                        ConditionType::Committed,
                        true,
                        Reason::Committed,
                        "the move can only go forward",
                    );
                }
            }
            Event::Object { verb: Verb::Created | Verb::Updated | Verb::Used, .. } => {
                self.objects.copied += 1
            }
            Event::Object { verb: Verb::Deleted, .. } => self.objects.deleted += 1,
            Event::Object { verb: Verb::Removed, .. } => {
                self.objects.copied = self.objects.copied.saturating_sub(1);
            }
            Event::Waiting { awaited, more, seconds_left } => {
                let first = awaited.first().map(ToString::to_string).unwrap_or_default();
                let others = awaited.len().saturating_sub(1) + more;
                let others = if others > 0 { format!(", and {others} more") } else { String::new() };
                let until = time_after(Duration::from_secs(*seconds_left));
                self.set_message(&format!("waiting, until {until} at most: {first}{others}"));
            }
            Event::Asking { side, place, seconds } => {
                self.show_silence(
                    *side,
                    &format!("no answer from the {side}, {place}, for {seconds} seconds"),
                );
            }
            Event::Retrying { side, error, .. } => {
                let why = error.strip_prefix("no answer: ").unwrap_or(error);
                self.show_silence(*side, &format!("the {side} does not answer: {why}"));
            }
            _ => {}
        }
        let Objects { planned, copied, .. } = self.objects;
        self.progress = (planned > 0).then(|| format!("{}/{planned}", copied.min(planned)));
    }
}

/// Describes the work of a phase.
fn phase_description(phase: Phase) -> &'static str {
    match phase {
        Phase::Checked => "checking both sides; nothing is changed yet",
        Phase::Paused => "pausing the source",
        Phase::Copied => "copying into the target, paused",
        Phase::Ready => "waiting for the target's controllers to see the copies",
        Phase::Committed => "verifying the copy",
        Phase::Live => "resuming the target, and waiting for its controllers",
        Phase::Released => "deleting from the source",
        Phase::Settled => "releasing what plugins hold",
    }
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Shortens a message that may come from a foreign server, into one line without control characters.
fn shorten_message(message: &str) -> String {
    let message = to_line(message, message.len());
    match message.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        Some((at, _)) => format!("{}…", message.get(..at).unwrap_or_default()),
        None => message,
    }
}

/// Returns the current time as API servers write it.
pub(crate) fn current_time() -> String {
    time_after(Duration::ZERO)
}

/// Returns the time after a pause.
pub(crate) fn time_after(pause: Duration) -> String {
    let time = Timestamp::now().checked_add(pause).unwrap_or(Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use pivot_core::{GroupKind, Key};

    use super::*;

    fn showing(phase: Option<&str>) -> PivotStatus {
        PivotStatus { phase: phase.map(str::to_owned), ..PivotStatus::default() }
    }

    /// While it shows `Checked`, the server lets the spec be changed.
    #[test]
    fn resumed_move_shows_no_earlier_phase() {
        for (shown, recorded, expected) in [
            (Some("Copied"), Phase::Copied, "Copied"),
            (Some("Live"), Phase::Committed, "Live"),
            (Some("Checked"), Phase::Copied, "Copied"),
            (Some(PENDING), Phase::Paused, "Paused"),
            (None, Phase::Released, "Released"),
        ] {
            let mut status = showing(shown);
            status.show_move(Some(recorded));
            for phase in [Phase::Checked, Phase::Paused] {
                status.apply_event(&Event::PhaseBegun { phase, objects: 1 });
                assert_eq!(status.phase.as_deref(), Some(expected), "{shown:?}, {recorded}, {phase}");
            }
            status.apply_event(&Event::PhaseBegun { phase: Phase::Settled, objects: 1 });
            assert_eq!(status.phase.as_deref(), Some("Settled"));
        }
    }

    /// Dashboards show the words of a foreign server.
    // proves: T94
    #[test]
    fn status_has_no_hidden_characters() {
        let mut status = PivotStatus::default();
        status.stop_attempt(true, Reason::Refused, "no\n  Type: Ready\u{1b}[2K");
        let shown = "no   Type: Ready [2K";
        assert_eq!(status.message.as_deref(), Some(shown));
        assert!(status.has_message(ConditionType::Stalled, shown));
        let long = "ä".repeat(3_000);
        status.set_message(&long);
        assert!(status.message.unwrap().chars().count() <= MAX_MESSAGE_CHARACTERS);
    }

    fn condition(status: &PivotStatus, about: ConditionType) -> (String, String) {
        let found = status.conditions.iter().find(|condition| condition.of == about.as_str()).unwrap();
        (found.status.clone(), found.reason.clone())
    }

    #[test]
    fn corrected_attempt_shows_nothing_of_the_last() {
        let mut status = PivotStatus::default();
        status.begin_attempt(Some(1), None);
        status.show_pending("waiting for its turn");
        let conditions = |status: &PivotStatus| {
            [
                ConditionType::Succeeded,
                ConditionType::Ready,
                ConditionType::Reconciling,
                ConditionType::Stalled,
            ]
            .map(|about| condition(status, about))
            .map(|(status, reason)| format!("{status} {reason}"))
        };
        assert_eq!(
            conditions(&status),
            ["Unknown Pending", "False Pending", "True Pending", "False Pending"]
        );
        status.stop_attempt(true, Reason::Refused, "a check says no");
        let refused = ["False Refused", "False Refused", "False Refused", "True Refused"];
        assert_eq!(conditions(&status), refused);
        // Looking again without a reason to expect anything else.
        status.begin_attempt(Some(1), None);
        status.apply_event(&Event::PhaseBegun { phase: Phase::Checked, objects: 1 });
        assert_eq!(conditions(&status), refused);
        for (generation, request) in [(2, None), (2, Some("now"))] {
            let mut status = status.clone();
            status.begin_attempt(Some(generation), request);
            assert_eq!(conditions(&status)[0], "Unknown Pending");
        }
        status.apply_event(&Event::PhaseBegun { phase: Phase::Paused, objects: 1 });
        let running = ["Unknown Running", "False Running", "True Running", "False Running"];
        assert_eq!(conditions(&status), running);
        status.show_success("m", 1, 0);
        let done = ["True Succeeded", "True Succeeded", "False Succeeded", "False Succeeded"];
        assert_eq!(conditions(&status), done);
    }

    #[test]
    fn conditions_show_the_work_before_a_move() {
        let mut status = PivotStatus::default();
        let said = |status: &PivotStatus| {
            let found = status.conditions.iter().find(|one| one.of == ConditionType::Reconciling.as_str());
            (found.unwrap().message.clone(), status.message.clone().unwrap())
        };
        status.begin_attempt(Some(1), None);
        for what in ["connecting", "waiting for its turn", "reading the records"] {
            status.show_pending(what);
            assert_eq!(said(&status), (what.to_owned(), what.to_owned()));
        }
        status.show_move(None);
        assert_eq!(
            said(&status),
            (phase_description(Phase::Checked).to_owned(), phase_description(Phase::Checked).to_owned())
        );
        // An attempt shows the end of the last one until it goes further.
        status.stop_attempt(true, Reason::Refused, "a check says no");
        status.show_pending("waiting for its turn");
        assert_eq!(said(&status), ("a check says no".to_owned(), "waiting for its turn".to_owned()));
    }

    #[test]
    fn answer_ends_the_message_about_silence() {
        let mut status = showing(None);
        status.apply_event(&Event::PhaseBegun { phase: Phase::Copied, objects: 1 });
        let copying = status.message.clone();
        let side = Side::Target;
        status.apply_event(&Event::Asking { side, place: "there".into(), seconds: 6 });
        status.apply_event(&Event::Retrying { side, attempt: 2, error: "no answer: cut".into() });
        assert_eq!(status.message.as_deref(), Some("the target does not answer: cut"));
        let created = |side| {
            let object = Key::new(GroupKind::new("", "Secret"), Some("a"), "s");
            Event::Object { verb: Verb::Created, object, side, phase: Phase::Copied }
        };
        status.apply_event(&created(Side::Source));
        assert_ne!(status.message, copying);
        status.apply_event(&created(Side::Target));
        assert_eq!(status.message, copying);
    }

    #[test]
    fn wait_message_has_an_absolute_time() {
        let mut status = showing(None);
        let earliest = time_after(Duration::from_secs(594));
        status.apply_event(&Event::Waiting { awaited: Vec::new(), more: 0, seconds_left: 594 });
        let message = status.message.unwrap();
        let until = message.split_whitespace().find(|word| word.ends_with('Z')).unwrap();
        assert!(*earliest <= *until && *until <= *time_after(Duration::from_secs(594)), "{message}");
    }

    #[test]
    fn beginning_move_shows_checked() {
        // The last one was rolled back from a terminal.
        for shown in [None, Some(PENDING), Some("Copied"), Some(ROLLING_BACK)] {
            let mut status = showing(shown);
            status.show_move(None);
            assert_eq!(status.phase.as_deref(), Some("Checked"), "{shown:?}");
        }
    }

    #[test]
    fn metrics_reject_unknown_phases() {
        let label = |phase: &str| showing(Some(phase)).phase_label();
        for phase in PHASES {
            assert_eq!(label(phase), phase);
        }
        for phase in Phase::ALL {
            assert_eq!(label(&phase.to_string()), phase.to_string());
        }
        assert_eq!(showing(None).phase_label(), PENDING);
        for forged in ["", "copied", "Copied\"} 1\npivot_host_leader 1", "x"] {
            assert_eq!(label(forged), "Unknown");
        }
    }
}
