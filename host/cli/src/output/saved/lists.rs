//! The lists of a saved plan: problems, Clusters, objects that are kept, added or stay, warnings and notes, and the origin.

use std::collections::BTreeMap;

use pivot_core::Key;
use pivot_core::messages::grouping::{MAX_LISTED_NAMES, format_number, format_objects};
use pivot_core::plan::Note;
use pivot_core::records::saved_plan::{SavedFate, SavedPlan, SavedRefusal, SavedStep};

use crate::output::clusters::saved_cluster_rows;
use crate::output::foreseen::foreseen_changes;
use crate::output::messages::group_notes;
use crate::output::text::Text;
use crate::output::trees::{TreeRow, draw_trees};

/// Most reasons, problems, warnings or notes that are listed.
const MAX_LISTED_LINES: usize = 10;
/// The number of objects up to which a list names each.
const MAX_NAMED_OBJECTS: usize = 10;

/// Adds the first lines of a list, or with `all` each line.
fn add_first_lines(text: &mut Text, lines: Vec<String>, all: bool) {
    let shown = if all || lines.len() <= MAX_LISTED_LINES + 1 { lines.len() } else { MAX_LISTED_LINES };
    let more = lines.len() - shown;
    lines.into_iter().take(shown).for_each(|line| text.add_line(line));
    if more > 0 {
        text.add_line(format!("  and {} more; -v shows them", format_number(more)));
    }
}

pub(super) fn problems_text(plan: &SavedPlan, all: bool) -> Text {
    let mut text = Text::default();
    let groups = SavedRefusal::group_similar(&plan.refusals);
    if groups.is_empty() {
        return text;
    }
    text.gap();
    text.add_line(format!("Problems ({}): this plan can't be carried out", format_number(groups.len())));
    let shown = if all { groups.len() } else { MAX_LISTED_LINES };
    for group in groups.iter().take(shown) {
        let SavedRefusal { side, message, remedy, .. } = group.first;
        text.add_line(format!("  - {side}: {message}"));
        let others = group.others();
        if !others.is_empty() {
            let most = if all { usize::MAX } else { MAX_LISTED_NAMES };
            text.add_line(format!("    likewise {}", format_objects(&others, most)));
        }
        text.add_line(format!("    {remedy}"));
    }
    if let Some(more @ 1..) = groups.len().checked_sub(shown) {
        text.add_line(format!("  and {} more; -v shows them", format_number(more)));
    }
    text
}

/// The Clusters, or with `tree` also each object, then the objects that are kept, added or stay.
pub(super) fn objects_text(plan: &SavedPlan, (tree, all): (bool, bool)) -> Text {
    let mut text = Text::default();
    if !plan.steps.is_empty() {
        text.gap();
        text.append(saved_cluster_rows(plan, all));
        if tree {
            text.append(trees_text(&plan.steps));
        } else {
            text.add_line("  (--tree shows each object, below its owner)");
        }
    }
    let find_copied = |fate| {
        let steps = plan.steps.iter().filter(move |step| step.fate == fate);
        steps.map(|step| (&step.object, step.why.as_str())).collect::<Vec<_>>()
    };
    text.append(objects_by_reason("Copied, and kept in the source too", &find_copied(SavedFate::Keep), all));
    text.append(objects_by_reason("Added in the target", &find_copied(SavedFate::FromManifest), all));
    let stays: Vec<_> = plan.stays.iter().map(|stay| (&stay.object, stay.why.as_str())).collect();
    text.append(objects_by_reason("Stays in the source", &stays, all));
    text
}

fn trees_text(steps: &[SavedStep]) -> Text {
    let rows = steps.iter().map(|step| {
        let SavedStep { object, cluster, after, .. } = step;
        TreeRow { key: object, cluster: cluster.as_ref(), after, remarks: step_remarks(step) }
    });
    draw_trees(&rows.collect::<Vec<_>>())
}

fn step_remarks(step: &SavedStep) -> String {
    let mut remarks = Vec::new();
    if step.fate != SavedFate::Move {
        remarks.push(step.why.clone());
    }
    remarks.extend(step.dropped_owners.iter().map(|owner| format!("without its owner {owner}")));
    remarks.extend(foreseen_changes(step.in_target.as_ref(), &step.changes));
    remarks.join("; ")
}

/// Lists objects by the reason, the most frequent first. With `all`, each object has its own line.
fn objects_by_reason(head: &str, objects: &[(&Key, &str)], all: bool) -> Text {
    let mut text = Text::default();
    if objects.is_empty() {
        return text;
    }
    text.gap();
    text.add_line(format!("{head} ({}):", format_number(objects.len())));
    if all || objects.len() <= MAX_NAMED_OBJECTS {
        objects.iter().for_each(|(object, why)| text.add_line(format!("  {object}: {why}")));
        return text;
    }
    let mut reasons: BTreeMap<&str, Vec<&Key>> = BTreeMap::new();
    objects.iter().for_each(|(object, why)| reasons.entry(why).or_default().push(object));
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(b.0)));
    let lines = reasons.iter().map(|(why, objects)| match objects.as_slice() {
        [object] => format!("  {object}: {why}"),
        several => format!("  {:>5}  {why}", format_number(several.len())),
    });
    add_first_lines(&mut text, lines.collect(), all);
    text.add_line("  (-v names them)");
    text
}

/// Lists warnings or notes.
pub(super) fn notes_text(head: &str, notes: &[Note], all: bool) -> Text {
    let mut text = Text::default();
    if notes.is_empty() {
        return text;
    }
    let groups = group_notes(notes);
    let most = if all { usize::MAX } else { MAX_LISTED_NAMES };
    text.gap();
    text.add_line(format!("{head} ({}):", format_number(groups.len())));
    let lines = groups.iter().map(|group| format!("  - {}", group.line(&group.first.message, most)));
    add_first_lines(&mut text, lines.collect(), all);
    text
}

/// The user and the versions that made the plan, and its checksum.
pub(super) fn origin_text(plan: &SavedPlan) -> Text {
    let SavedPlan { made_at, made_by, written_by, .. } = plan;
    let mut text = Text::default();
    text.gap();
    text.add_line(format!("Made {made_at} by {made_by}, with pivot-host {written_by}"));
    text.add_line(format!("  plugins: {}", describe_plugins(plan)));
    text.add_line(format!("  checksum {}", plan.checksum()));
    text
}

/// `metal3-hosts 0.1.0, readiness 0.1.0`, or `none`.
pub(in crate::output) fn describe_plugins(plan: &SavedPlan) -> String {
    let pins: Vec<String> = plan.plugins.iter().map(|pin| format!("{} {}", pin.name, pin.version)).collect();
    if pins.is_empty() { "none".to_owned() } else { pins.join(", ") }
}
