//! A plan for people: how much, what in which order, what stays and why, what speaks against it.

use std::collections::{BTreeMap, BTreeSet};

use pivot_core::Key;
use pivot_core::plan::{Fate, Plan, Stay, Step};
use pivot_core::refusal::Refusal;

use super::document::PlanDocument;
use super::stop::refusal_lines;
use super::text::Text;
use super::{Document, events, lines};

/// How many notes of one sort are shown.
pub(super) const NOTES: usize = 10;

impl Document<PlanDocument<'_>> {
    /// As people read it; with `all`, each object that stays has a line of its own.
    pub(crate) fn text(plan: &Plan, source: &str, target: &str, all: bool) -> Text {
        let mut text = Text::default();
        text.strong("Plan:", events::head(&plan.into(), source, target));
        if !plan.steps.is_empty() {
            text.gap();
            text.append(namespaces(plan));
            text.gap();
            text.line("In the order of creation, each below what it belongs to:");
            text.gap();
            text.append(tree(&plan.steps));
        }
        text.append(stays(&plan.stays, all));
        if !plan.notes.is_empty() {
            text.gap();
            text.line("Worth knowing:");
            notes(plan, all).iter().for_each(|note| text.line(format!("  - {note}")));
        }
        if !plan.refusals.is_empty() {
            text.gap();
            text.line(format!("What speaks against it ({}):", Refusal::grouped(&plan.refusals).len()));
            text.append(refusal_lines(&plan.refusals, all));
        }
        text
    }
}

/// The notes, of each sort the first few unless all are asked for: a plugin can cause one for each pair of objects.
pub(super) fn notes(plan: &Plan, all: bool) -> Vec<String> {
    let mut sorts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for note in &plan.notes {
        let seen = sorts.entry(note.code).or_default();
        *seen += 1;
        if all || *seen <= NOTES {
            lines.push(note.message.clone());
        }
    }
    if !all {
        lines.extend(sorts.into_iter().filter_map(|(code, seen)| more_notes(code, seen)));
    }
    lines
}

/// How many notes of a sort were not shown.
pub(super) fn more_notes(code: &str, seen: usize) -> Option<String> {
    let more = seen.checked_sub(NOTES).filter(|more| *more > 0)?;
    Some(format!("and {more} more of this sort ({code}); -v shows them"))
}

/// Counts per kind, for `-v`.
pub(super) fn kinds(plan: &Plan) -> Vec<String> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for step in &plan.steps {
        *kinds.entry(step.key.group_kind.to_string()).or_default() += 1;
    }
    kinds.into_iter().map(|(kind, number)| format!("{number:>6}  {kind}")).collect()
}

fn namespaces(plan: &Plan) -> Text {
    let mut rows: BTreeMap<String, (usize, Vec<&str>)> = BTreeMap::new();
    for step in &plan.steps {
        let namespace = step.key.namespace.clone().unwrap_or_else(|| "<none>".into());
        let row = rows.entry(namespace).or_default();
        row.0 += 1;
        if step.key.group_kind.is(pivot_core::names::GROUP_CLUSTER, "Cluster") {
            row.1.push(&step.key.name);
        }
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(namespace, (number, clusters))| vec![namespace, number.to_string(), clusters.join(",")])
        .collect();
    lines::columns(&["NAMESPACE", "OBJECTS", "CLUSTERS"], &rows)
}

/// Each step below the last of those that it comes after: that is its nearest owner.
fn tree(steps: &[Step]) -> Text {
    let mut below: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        below.entry(step.after.iter().copied().max()).or_default().push(index);
    }
    let mut text = Text::default();
    // Depth first, without recursion: a chain of owners may be long.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let push = |open: &mut Vec<(usize, usize)>, parent: Option<usize>, depth: usize| {
        open.extend(below.get(&parent).into_iter().flatten().rev().map(|index| (*index, depth)));
    };
    push(&mut open, None, 1);
    while let Some((index, depth)) = open.pop() {
        let Some(step) = steps.get(index) else { continue };
        text.line(format!("{}{}{}", "  ".repeat(depth), step.key, remarks(step)));
        push(&mut open, Some(index), depth + 1);
    }
    text
}

fn remarks(step: &Step) -> String {
    let mut remarks = Vec::new();
    if let Fate::Keep(reason) = &step.fate {
        remarks.push(format!("kept in the source too: {reason}"));
    }
    for owner in &step.dropped_owners {
        remarks.push(format!("without its owner {} {}", owner.kind, owner.name));
    }
    if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join("; ")) }
}

fn stays(stays: &[Stay], all: bool) -> Text {
    let mut text = Text::default();
    if stays.is_empty() {
        return text;
    }
    text.gap();
    text.line(format!("Stays in the source ({}):", stays.len()));
    if all {
        stays.iter().for_each(|stay| text.line(format!("  {stay}")));
        return text;
    }
    let mut reasons: BTreeMap<String, BTreeSet<&Key>> = BTreeMap::new();
    for stay in stays {
        reasons.entry(stay.reason.to_string()).or_default().insert(&stay.key);
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
    for (reason, keys) in reasons {
        text.line(format!("  {:>5}  {reason}", keys.len()));
    }
    text.line("  (-v names them)");
    text
}
