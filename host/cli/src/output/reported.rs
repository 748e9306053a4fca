//! Accepted risks, notes, warnings and plugin findings of a run. A plan shows them with its result, since whoever approves the plan
//! has no log of the run.

use pivot_core::Key;
use pivot_core::messages::grouping::Group;
use pivot_core::plan::Note;
use pivot_core::plugins::hooks::Severity;
use pivot_engine::Event;
use serde::Serialize;

use super::events;
use super::happened::{ReportedFinding, ReportedRisk};
use super::lines::count_text;
use super::messages::Messages;
use super::remedies::remedies_sentence;
use super::text::Text;

/// Events of a run that its result shows, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reported {
    events: Vec<Event>,
}

/// A warning, for programs.
#[derive(Debug, Serialize)]
pub(crate) struct ReportedWarning {
    pub(super) code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<Key>,
    pub(super) text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) remedy: String,
}

impl Reported {
    /// Keeps an event if results show it.
    pub(super) fn keep_event(&mut self, event: &Event) {
        if let Event::Accepted { .. } | Event::Note { .. } | Event::Warning { .. } | Event::Finding { .. } =
            event
        {
            self.events.push(event.clone());
        }
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    pub(super) fn accepted_risks(&self) -> Vec<ReportedRisk> {
        self.events.iter().filter_map(ReportedRisk::from_event).collect()
    }

    /// Returns the notes of plugins' loading, of the plan and of checks.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let notes = self.events.iter().filter_map(|event| match event.clone() {
            // A plan begins with the new names.
            Event::Note { code, .. } if code == "namespaces-mapped" => None,
            Event::Note { code, object, text } => Some(Note { code: code.into(), object, message: text }),
            _ => None,
        });
        notes.collect()
    }

    /// Returns the warnings, and the findings of plugins that are no mere notes, as a saved plan has them: each with its remedy.
    pub(crate) fn warning_notes(&self) -> Vec<Note> {
        let warnings = self.events.iter().filter(|event| is_warning(event));
        let notes = warnings.filter_map(|event| match event.clone() {
            Event::Warning { code, object, .. } | Event::Finding { code, object, .. } => {
                Some(Note { code: code.into(), object, message: events::event_line(event, ("", "")) })
            }
            _ => None,
        });
        notes.collect()
    }

    pub(super) fn warnings(&self) -> Vec<ReportedWarning> {
        let warnings = self.events.iter().filter_map(|event| match event.clone() {
            Event::Warning { code, object, text, remedies } => {
                Some(ReportedWarning { code, object, text, remedy: remedies_sentence(&remedies) })
            }
            _ => None,
        });
        warnings.collect()
    }

    pub(super) fn findings(&self) -> Vec<ReportedFinding> {
        self.events.iter().filter_map(|event| ReportedFinding::from_event(None, event)).collect()
    }

    /// Returns the problems that plugins' checks found; those that say the same of several objects share a group.
    pub(super) fn stop_groups(&self) -> Vec<Group<'_, Event>> {
        events::group_events(self.stops())
    }

    /// Returns the warnings, and the findings of plugins that are no mere notes, in such groups.
    pub(super) fn warning_groups(&self) -> Vec<Group<'_, Event>> {
        events::group_events(self.events.iter().filter(|event| is_warning(event)))
    }

    /// Returns the findings of plugins that are mere notes, in such groups.
    pub(super) fn noted_finding_groups(&self) -> Vec<Group<'_, Event>> {
        let is_noted = |event: &&Event| matches!(event, Event::Finding { severity: Severity::Note, .. });
        events::group_events(self.events.iter().filter(is_noted))
    }

    fn stops(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| matches!(event, Event::Finding { severity: Severity::Stop, .. }))
    }

    /// `2 risks accepted, 1 warning`; `None` if there is nothing of the kind.
    pub(super) fn in_short(&self) -> Option<String> {
        let counts = [
            (self.accepted_risks().len(), "risk", " accepted"),
            (self.warning_groups().len(), "warning", ""),
        ];
        let words = counts.into_iter().filter(|(number, ..)| *number > 0);
        let words: Vec<String> =
            words.map(|(number, what, more)| format!("{}{more}", count_text(number, what))).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The accepted risks and the warnings, below their headings.
    pub(super) fn to_text(&self, all: bool) -> Text {
        let accepted: Vec<String> = self.accepted_risks().into_iter().map(|risk| risk.text).collect();
        let warnings = event_lines(self.events.iter().filter(|event| is_warning(event)), all);
        let mut text = Text::default();
        let counts = [accepted.len(), self.warning_groups().len()];
        for ((head, lines), number) in
            [("Risks accepted", accepted), ("Warnings", warnings)].into_iter().zip(counts)
        {
            if lines.is_empty() {
                continue;
            }
            text.gap();
            text.add_line(format!("{head} ({number}):"));
            lines.iter().for_each(|line| text.add_line(format!("  - {line}")));
        }
        text
    }

    /// A line for each problem that a plugin's check found; those that say the same of several objects share one.
    pub(super) fn stop_lines(&self, all: bool) -> Vec<String> {
        event_lines(self.stops(), all)
    }
}

/// Returns true for a warning, and for a plugin's finding that neither stops the move nor is a mere note.
fn is_warning(event: &Event) -> bool {
    matches!(event, Event::Warning { .. })
        || matches!(event, Event::Finding { severity, .. } if !matches!(severity, Severity::Stop | Severity::Note))
}

fn event_lines<'a>(events: impl Iterator<Item = &'a Event>, all: bool) -> Vec<String> {
    if all {
        return events::grouped_lines(events, usize::MAX).into_iter().map(|(_, line)| line).collect();
    }
    let mut messages = Messages::default();
    events.for_each(|event| messages.push_event(event));
    messages.take().into_iter().map(|(_, line)| line).collect()
}
