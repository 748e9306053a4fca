//! The problems, warnings and notes of a page. Messages that differ only in the names of their objects share a card, as they share a
//! line on a terminal: both show the same groups.

use std::collections::BTreeSet;

use pivot_core::Key;
use pivot_core::messages::grouping::Group;
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::plan::Note;
use pivot_core::records::saved_plan::{SavedPlan, SavedRefusal};
use pivot_engine::Event;
use serde::Serialize;

use crate::output::events::{MessageParts, event_code, message_parts};
use crate::output::messages::group_notes;
use crate::output::remedies;
use crate::output::reported::Reported;

/// All cards, by how much they matter.
#[derive(Serialize)]
pub(in crate::output) struct Cards {
    problems: Vec<Card>,
    warnings: Vec<Card>,
    notes: Vec<Card>,
}

/// One message about one or several objects.
#[derive(Default, Serialize)]
struct Card {
    /// The side, or the plugin that found it.
    by: String,
    code: String,
    message: String,
    objects: Vec<String>,
    /// Number of messages that the card stands for.
    times: usize,
    remedy: String,
    /// The kubectl commands of the remedies. The page has buttons for them, and for no other words of a remedy.
    commands: Vec<String>,
}

impl Cards {
    /// `notes` are the notes of the run.
    pub(in crate::output) fn from_run(refusals: &[Refusal], notes: &[Note], reported: &Reported) -> Self {
        let refused = Refusal::group_similar(refusals);
        let problems = refused.iter().map(Card::from_refusals);
        let notes = group_notes(notes);
        let notes = notes.iter().map(Card::from_notes);
        Self {
            problems: problems.chain(reported.stop_groups().iter().map(Card::from_events)).collect(),
            warnings: reported.warning_groups().iter().map(Card::from_events).collect(),
            notes: notes.chain(reported.noted_finding_groups().iter().map(Card::from_events)).collect(),
        }
    }

    /// For problems, a saved plan has remedies in words only.
    pub(super) fn from_saved_plan(plan: &SavedPlan) -> Self {
        Self {
            problems: SavedRefusal::group_similar(&plan.refusals)
                .iter()
                .map(Card::from_saved_refusals)
                .collect(),
            warnings: group_notes(&plan.warnings).iter().map(Card::from_notes).collect(),
            notes: group_notes(&plan.notes).iter().map(Card::from_notes).collect(),
        }
    }
}

impl Card {
    /// Returns a card with the objects of the group.
    fn with_objects<'a, T>(group: &Group<'a, T>, others: impl IntoIterator<Item = &'a Key>) -> Self {
        let objects: BTreeSet<&Key> = group.objects.iter().copied().chain(others).collect();
        Self {
            objects: objects.iter().map(ToString::to_string).collect(),
            times: group.objects.len().max(1),
            ..Self::default()
        }
    }

    fn from_refusals(group: &Group<'_, Refusal>) -> Self {
        let Refusal { code, side, object: _, others: _, message, remedies } = group.first;
        Self {
            by: side.to_string(),
            code: (*code).to_owned(),
            message: message.clone(),
            remedy: remedies::remedies_sentence(remedies),
            commands: remedies.iter().filter_map(kubectl_command).collect(),
            ..Self::with_objects(group, Refusal::objects_of_group(group))
        }
    }

    fn from_saved_refusals(group: &Group<'_, SavedRefusal>) -> Self {
        let SavedRefusal { code, side, objects: _, message, remedy } = group.first;
        Self {
            by: side.to_string(),
            code: code.clone(),
            message: message.clone(),
            remedy: remedy.clone(),
            ..Self::with_objects(group, group.items.iter().flat_map(|refusal| &refusal.objects))
        }
    }

    fn from_events(group: &Group<'_, Event>) -> Self {
        let MessageParts { text, remedy, .. } = message_parts(group.first);
        let by = match group.first {
            Event::Finding { plugin, .. } => plugin.clone(),
            _ => String::new(),
        };
        let (code, message) = (event_code(group.first).to_owned(), text.to_owned());
        Self { by, code, message, remedy, ..Self::with_objects(group, []) }
    }

    fn from_notes(group: &Group<'_, Note>) -> Self {
        let Note { code, object: _, message } = group.first;
        Self { code: code.to_string(), message: message.clone(), ..Self::with_objects(group, []) }
    }
}

fn kubectl_command(remedy: &Remedy) -> Option<String> {
    match remedy {
        Remedy::Kubectl { command, .. } => Some(command.to_string()),
        _ => None,
    }
}
