//! The result of a run, for people.

use std::collections::BTreeMap;

use pivot_core::GroupKind;
use pivot_core::messages::grouping::format_number;
use pivot_engine::{Report, RolledBack};

use super::lines;
use super::lines::count_text;
use super::text::Text;

/// Most kinds that are listed.
const KINDS: usize = 30;

/// A finished move.
pub(crate) fn move_result(report: &Report, (source, target): (&str, &str), all: bool) -> Text {
    let Report { move_id, done, times: _ } = report;
    let kept: usize = done.kept.values().sum();
    let kept = if kept == 0 { String::new() } else { format!(", {kept} kept on both sides") };
    let moved = count_text(done.moved.values().sum(), "object");
    let added = added_text(report);
    let mut text = Text::default();
    text.strong("Moved:", format!("{moved}{kept}{added}, from {source} to {target} (move {move_id})"));
    text.gap();
    text.append(kind_rows(&done.moved, &done.kept, all));
    text.append(phase_rows(report));
    text.append(list_unverified(report));
    text
}

/// The kinds whose takeover wasn't checked.
fn list_unverified(report: &Report) -> Text {
    let mut text = Text::default();
    let kinds: Vec<String> = report.done.unverified.iter().map(ToString::to_string).collect();
    if !kinds.is_empty() {
        text.gap();
        text.add_line(format!(
            "As accepted, pivot-host didn't check that the target's controllers took over {}. Check it.",
            kinds.join(", ")
        ));
    }
    text
}

/// A copy in a directory.
pub(crate) fn copy_result(report: &Report, (source, target): (&str, &str), all: bool) -> Text {
    let Report { move_id, done, times: _ } = report;
    let copied = count_text(done.kept.values().sum(), "object");
    let mut text = Text::default();
    text.strong(
        "Copied:",
        format!(
            "{copied}{}, from {source} to {target} (move {move_id}); the source is as it was",
            added_text(report)
        ),
    );
    text.gap();
    let rows =
        done.kept.iter().map(|(kind, number)| (*number, vec![format_number(*number), kind.to_string()]));
    text.append(rows_of_kinds(&["OBJECTS", "KIND"], rows.collect(), all));
    text.append(phase_rows(report));
    text.append(list_unverified(report));
    text
}

/// A source that was handed over in a directory.
pub(crate) fn handed_over(report: &Report, (source, target): (&str, &str), all: bool) -> Text {
    let Report { move_id, done, times: _ } = report;
    let copied = count_text(done.kept.values().sum(), "object");
    let mut text = Text::default();
    let added = added_text(report);
    text.strong("Handed over:", format!("{copied}{added}, from {source} into {target} (move {move_id})"));
    text.add_line("The source stays paused until the handover is finished or canceled:");
    text.add_line("  to load it there  move --from-directory DIR --to-kubeconfig FILE");
    text.add_line("  then, to finish   handover finish --to-kubeconfig FILE");
    text.add_line("  or, to cancel     handover cancel --accept maybe-imported");
    text.gap();
    let rows =
        done.kept.iter().map(|(kind, number)| (*number, vec![format_number(*number), kind.to_string()]));
    text.append(rows_of_kinds(&["OBJECTS", "KIND"], rows.collect(), all));
    text.append(phase_rows(report));
    text
}

/// Returns the number of objects from manifests, in words.
fn added_text(report: &Report) -> String {
    match report.done.added.values().sum::<usize>() {
        0 => String::new(),
        added => format!(", {added} added"),
    }
}

fn kind_rows(moved: &BTreeMap<GroupKind, usize>, kept: &BTreeMap<GroupKind, usize>, all: bool) -> Text {
    let mut both: BTreeMap<&GroupKind, (usize, usize)> = BTreeMap::new();
    for (kind, number) in moved {
        both.entry(kind).or_default().0 = *number;
    }
    for (kind, number) in kept {
        both.entry(kind).or_default().1 = *number;
    }
    let rows = both.into_iter().map(|(kind, (moved, kept))| {
        (moved + kept, vec![format_number(moved), format_number(kept), kind.to_string()])
    });
    rows_of_kinds(&["MOVED", "KEPT", "KIND"], rows.collect(), all)
}

/// A row for each kind, with its number of objects; without `all`, only the kinds with the most objects if there are many.
pub(super) fn rows_of_kinds(head: &[&str], mut rows: Vec<(usize, Vec<String>)>, all: bool) -> Text {
    let more = if all { 0 } else { rows.len().saturating_sub(KINDS) };
    if more > 0 {
        rows.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        rows.truncate(KINDS);
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, row)| row).collect();
    let mut text = lines::format_columns(head, &rows);
    if more > 0 {
        text.add_line(format!("  and {more} more kinds; -v shows them"));
    }
    text
}

fn phase_rows(report: &Report) -> Text {
    let rows: Vec<Vec<String>> = report
        .times
        .iter()
        .map(|(phase, time)| vec![phase.to_string(), format!("{:.2}s", time.as_secs_f64())])
        .collect();
    let mut text = Text::from("");
    text.append(lines::format_columns(&["PHASE", "TIME"], &rows));
    text
}

/// A move that was rolled back.
pub(crate) fn rolled_back(rolled_back: &RolledBack, (source, target): (&str, &str)) -> Text {
    let mut text = Text::default();
    let (resumed, removed) =
        (count_text(rolled_back.unpaused, "object"), count_text(rolled_back.removed, "object"));
    text.strong("Rolled back:", format!("{resumed} unpaused in {source}, {removed} removed from {target}"));
    text
}
