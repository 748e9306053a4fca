//! A plan for people: how much of which Clusters moves, the objects that stay and the reasons, and the problems. With `--tree`
//! also each object, below its owner.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::Key;
use pivot_core::messages::grouping::{MAX_LISTED_NAMES, format_number, format_objects, group_items};
use pivot_core::plan::{Fate, Plan, Stay, Step};
use pivot_core::request::mapping::NamespaceMap;

use super::clusters::cluster_rows;
use super::document::PlanDocument;
use super::foreseen::foreseen_changes;
use super::reported::Reported;
use super::stop::refusal_lines;
use super::text::Text;
use super::trees::{TreeRow, draw_trees};
use super::verdict::count_problems;
use super::{Document, events, messages};

/// Most reasons that are shown for objects that stay, or are kept.
const REASONS: usize = 10;
/// The number of objects that stay up to which each is named.
const MAX_NAMED_STAYS: usize = 10;

impl Document<PlanDocument<'_>> {
    /// The text for people; `map` has the names that namespaces get. With `tree`, each object that moves has its own line; with
    /// `all`, each one that stays does too.
    pub(crate) fn text(
        plan: &Plan,
        reported: &Reported,
        (source, target): (&str, &str),
        map: &NamespaceMap,
        (tree, all): (bool, bool),
    ) -> Text {
        let mut text = Text::default();
        text.strong("Plan:", events::summary_line(&plan.into(), source, target));
        if !map.is_empty() {
            text.add_line(format!("  Namespaces get other names in the target: {map}"));
        }
        if !plan.steps.is_empty() {
            text.gap();
            text.append(cluster_rows(plan, reported, all));
            if tree {
                text.append(trees_text(&plan.steps));
            } else {
                text.add_line("  (--tree shows each object, below its owner)");
                text.append(kept_objects_text(plan));
                text.append(added_objects_text(plan, map));
            }
        }
        text.append(findings_text(plan, reported, all));
        text
    }
}

/// The objects that stay, the notes, the warnings and the problems.
pub(super) fn findings_text(plan: &Plan, reported: &Reported, all: bool) -> Text {
    let mut text = staying_objects_text(&plan.stays, all);
    if !plan.notes.is_empty() {
        text.gap();
        text.add_line("Worth knowing:");
        note_lines(plan, all).iter().for_each(|note| text.add_line(format!("  - {note}")));
    }
    text.append(reported.to_text(all));
    let problems = count_problems(plan, reported);
    if problems > 0 {
        text.gap();
        text.add_line(format!("Problems ({problems}):"));
        reported.stop_lines(all).iter().for_each(|line| text.add_line(format!("  - {line}")));
        text.append(refusal_lines(&plan.refusals, all));
    }
    text
}

/// The notes: one line for objects that share it, the first few of each code. A plugin can cause one for each pair of objects.
pub(super) fn note_lines(plan: &Plan, all: bool) -> Vec<String> {
    if all {
        let each = plan.notes.iter().map(|note| match &note.object {
            Some(object) if !note.message.contains(&object.to_string()) => {
                format!("{object}: {}", note.message)
            }
            _ => note.message.clone(),
        });
        return each.collect();
    }
    let mut sorts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for group in messages::group_notes(&plan.notes) {
        let seen = sorts.entry(&group.first.code).or_default();
        *seen += 1;
        if *seen <= messages::NOTES {
            lines.push(group.line(&group.first.message, MAX_LISTED_NAMES));
        }
    }
    lines.extend(sorts.into_iter().filter_map(|(code, seen)| messages::more_notes(code, seen)));
    lines
}

/// Counts per kind, for `-v`.
pub(super) fn kind_counts(plan: &Plan) -> Vec<String> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for step in &plan.steps {
        *kinds.entry(step.key.group_kind.to_string()).or_default() += 1;
    }
    kinds.into_iter().map(|(kind, number)| format!("{number:>6}  {kind}")).collect()
}

/// Objects that are copied and also stay in the source.
fn kept_objects_text(plan: &Plan) -> Text {
    let mut text = Text::default();
    let reason = |step: &Step| match &step.fate {
        Fate::Keep(reason) => reason.to_string(),
        Fate::Move | Fate::FromManifest => String::new(),
    };
    let groups = group_items(plan.kept_steps(), |step| (Some(&step.key), vec![reason(step)]));
    if groups.is_empty() {
        return text;
    }
    text.gap();
    text.add_line(format!(
        "Copied, and kept in the source too ({}):",
        format_number(plan.kept_steps().count())
    ));
    for group in groups.iter().take(REASONS) {
        let objects: Vec<&Key> = group.objects.iter().copied().collect();
        text.add_line(format!("  {}: {}", format_objects(&objects, MAX_LISTED_NAMES), reason(group.first)));
    }
    text.append(more_reasons(groups.len()));
    text
}

/// Objects that the user adds, by their files, with the names that they get.
fn added_objects_text(plan: &Plan, map: &NamespaceMap) -> Text {
    let mut text = Text::default();
    let file = |step: &Step| step.added_from().unwrap_or_default().to_owned();
    let added: Vec<Step> = plan
        .added_steps()
        .map(|step| Step { key: map.into_target().rename_key(&step.key), ..step.clone() })
        .collect();
    let groups = group_items(&added, |step| (Some(&step.key), vec![file(step)]));
    if groups.is_empty() {
        return text;
    }
    text.gap();
    text.add_line(format!("Added in the target ({}):", format_number(plan.added_steps().count())));
    for group in groups.iter().take(REASONS) {
        let objects: Vec<&Key> = group.objects.iter().copied().collect();
        text.add_line(format!(
            "  {}: from {}",
            format_objects(&objects, MAX_LISTED_NAMES),
            file(group.first)
        ));
    }
    if let Some(more @ 1..) = groups.len().checked_sub(REASONS) {
        text.add_line(format!("  and from {more} more files; -v shows them"));
    }
    text
}

fn more_reasons(reasons: usize) -> Text {
    let mut text = Text::default();
    if let Some(more @ 1..) = reasons.checked_sub(REASONS) {
        text.add_line(format!("  and for {more} more reasons; -v shows them"));
    }
    text
}

fn trees_text(steps: &[Step]) -> Text {
    let rows = steps.iter().map(|step| {
        let Step { key, cluster, after, .. } = step;
        TreeRow { key, cluster: cluster.as_ref(), after, remarks: step_remarks(step) }
    });
    draw_trees(&rows.collect::<Vec<_>>())
}

fn step_remarks(step: &Step) -> String {
    let mut remarks = Vec::new();
    if step.is_added_by_plugin() || step.added_from().is_some() {
        remarks.push(step.why.to_string());
    }
    if let Fate::Keep(reason) = &step.fate {
        remarks.push(format!("kept in the source too: {reason}"));
    }
    for owner in &step.dropped_owners {
        remarks.push(format!("without its owner {} {}", owner.kind, owner.name));
    }
    remarks.extend(foreseen_changes(step.in_target.as_ref(), &step.changes));
    remarks.join("; ")
}

fn staying_objects_text(stays: &[Stay], all: bool) -> Text {
    let mut text = Text::default();
    if stays.is_empty() {
        return text;
    }
    text.gap();
    text.add_line(format!("Stays in the source ({}):", format_number(stays.len())));
    if all || stays.len() <= MAX_NAMED_STAYS {
        stays.iter().for_each(|stay| text.add_line(format!("  {stay}")));
        return text;
    }
    let mut reasons: BTreeMap<String, BTreeSet<&Key>> = BTreeMap::new();
    for stay in stays {
        reasons.entry(stay.reason.to_string()).or_default().insert(&stay.key);
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
    for (reason, keys) in reasons.iter().take(REASONS) {
        text.add_line(format!("  {:>5}  {reason}", format_number(keys.len())));
    }
    text.append(more_reasons(reasons.len()));
    text.add_line("  (-v names them)");
    text
}
