//! What a run did, for people.

use std::collections::BTreeMap;

use pivot_core::record::{Finished, Record};
use pivot_core::refusal::some_of;
use pivot_core::scope::Namespaces;
use pivot_core::{GroupKind, Side};
use pivot_engine::TakenBack;
use pivot_engine::{LockStatus, MoveStatus, Report, Status};

use super::lines;
use super::lines::count;
use super::text::Text;

/// A move that came to its end.
pub(crate) fn moved(report: &Report, (source, target): (&str, &str)) -> Text {
    let Report { move_id, done, times: _ } = report;
    let kept: usize = done.kept.values().sum();
    let kept = if kept == 0 { String::new() } else { format!(", {kept} kept on both sides") };
    let moved = count(done.moved.values().sum(), "object");
    let mut text = Text::default();
    text.strong("Moved:", format!("{moved}{kept}, from {source} to {target} (move {move_id})"));
    text.gap();
    text.append(kinds(&done.moved, &done.kept));
    text.append(phases(report));
    if !done.unverified.is_empty() {
        let kinds: Vec<String> = done.unverified.iter().map(ToString::to_string).collect();
        text.gap();
        text.line(format!(
            "Nobody saw controllers of the target take over, as was accepted: {}. See to it that they do.",
            kinds.join(", ")
        ));
    }
    text
}

/// A copy in a directory.
pub(crate) fn copied(report: &Report, (source, target): (&str, &str)) -> Text {
    let Report { move_id, done, times: _ } = report;
    let copied = count(done.kept.values().sum(), "object");
    let mut text = Text::default();
    text.strong(
        "Copied:",
        format!("{copied}, from {source} to {target} (move {move_id}); the source is as it was"),
    );
    text.gap();
    let rows: Vec<Vec<String>> =
        done.kept.iter().map(|(kind, number)| vec![number.to_string(), kind.to_string()]).collect();
    text.append(lines::columns(&["OBJECTS", "KIND"], &rows));
    text.append(phases(report));
    text
}

fn kinds(moved: &BTreeMap<GroupKind, usize>, kept: &BTreeMap<GroupKind, usize>) -> Text {
    let mut both: BTreeMap<&GroupKind, (usize, usize)> = BTreeMap::new();
    for (kind, number) in moved {
        both.entry(kind).or_default().0 = *number;
    }
    for (kind, number) in kept {
        both.entry(kind).or_default().1 = *number;
    }
    let rows: Vec<Vec<String>> = both
        .into_iter()
        .map(|(kind, (moved, kept))| vec![moved.to_string(), kept.to_string(), kind.to_string()])
        .collect();
    lines::columns(&["MOVED", "KEPT", "KIND"], &rows)
}

fn phases(report: &Report) -> Text {
    let rows: Vec<Vec<String>> = report
        .times
        .iter()
        .map(|(phase, time)| vec![phase.to_string(), format!("{:.2}s", time.as_secs_f64())])
        .collect();
    let mut text = Text::from("");
    text.append(lines::columns(&["PHASE", "TIME"], &rows));
    text
}

/// A move that was taken back.
pub(crate) fn taken_back(taken: &TakenBack, (source, target): (&str, &str)) -> Text {
    let mut text = Text::default();
    let (resumed, removed) = (count(taken.resumed, "object"), count(taken.removed, "object"));
    text.strong("Rolled back:", format!("{resumed} resumed in {source}, {removed} removed from {target}"));
    text
}

/// Where moves stand. `next` are whole commands, for each move.
pub(crate) fn status(status: &Status, (source, target): (&str, &str), next: &[Vec<String>]) -> Text {
    let mut text = Text::default();
    if status.moves.is_empty() {
        text.line(nothing(status, source, target));
    }
    for (index, (one, next)) in status.moves.iter().zip(next).enumerate() {
        if index > 0 {
            text.gap();
        }
        text.append(under_way(status, one, (source, target), next));
    }
    text.append(last_moves(&status.finished));
    text
}

fn nothing(status: &Status, source: &str, target: &str) -> String {
    match &status.silent {
        None => format!("No move is under way from {source} to {target}."),
        Some((Side::Target, why)) => {
            format!("No move is under way from {source}. The target, {target}, does not answer: {why}.")
        }
        Some((Side::Source, why)) => format!(
            "No committed move into {target} is known there. The source, {source}, does not answer: {why}; where a move is \
             under way it is not committed, and the source, once it answers, says how far it is."
        ),
    }
}

fn under_way(status: &Status, one: &MoveStatus, (source, target): (&str, &str), next: &[String]) -> Text {
    let MoveStatus { decides, record, .. } = one;
    let namespaces = match &record.scope.namespaces {
        Namespaces::All => "all namespaces".to_owned(),
        Namespaces::One(one) => format!("namespace {one}"),
    };
    let plugins: Vec<String> =
        record.plugins.iter().map(|pin| format!("{} {}", pin.name, pin.version)).collect();
    let plugins = if plugins.is_empty() { "<none>".to_owned() } else { plugins.join(", ") };
    let way = if record.phase.committed() { "only forward" } else { "forward or back" };
    let mut text = Text::default();
    text.strong("Move:", format!("{}, from {source} to {target}", record.move_id));
    text.gap();
    for (name, value) in [
        ("phase", format!("{} ({way}; the record in the {decides} decides)", record.phase)),
        ("what", namespaces),
        ("started", started(record)),
        ("plugins", plugins),
        ("lease", lease(status, &record.move_id)),
    ] {
        text.line(format!("  {name:8} {value}"));
    }
    if let Some(note) = note(status, one) {
        text.line(format!("  {:8} {note}", "note"));
    }
    for (index, line) in next.iter().enumerate() {
        text.line(format!("  {:8} {line}", if index == 0 { "next" } else { "or" }));
    }
    text
}

fn started(record: &Record) -> String {
    if record.by.is_empty() { record.started.clone() } else { format!("{} by {}", record.started, record.by) }
}

/// Who holds the move's locks.
fn lease(status: &Status, move_id: &str) -> String {
    let ours = |lock: &&LockStatus| lock.move_id.as_deref() == Some(move_id) && !lock.holder.is_empty();
    let held: Vec<String> = status
        .locks
        .iter()
        .filter(ours)
        .map(|lock| format!("{} held by {}", lock.name, lock.holder))
        .collect();
    if held.is_empty() { "free".to_owned() } else { some_of(&held, 3) }
}

/// What has to be known before one of the next commands is typed.
fn note(status: &Status, one: &MoveStatus) -> Option<String> {
    if one.elsewhere {
        return Some("this is not the target that the move goes to: name that one".into());
    }
    if one.orphaned {
        return Some("it was rolled back while the target could not be reached; what is left of it there is to be removed".into());
    }
    let (side, why) = status.silent.as_ref()?;
    let way = match (side, one.record.phase.committed()) {
        (Side::Target, true) => {
            "resume when it does; if it is lost for good the source is the last copy, as far as it \
             is not deleted yet"
        }
        _ => "resume when it does; only if it is lost for good:",
    };
    Some(format!("the {side} does not answer ({why}); {way}"))
}

fn last_moves(finished: &[Finished]) -> Text {
    let mut text = Text::default();
    if finished.is_empty() {
        return text;
    }
    let row = |one: &Finished| {
        let Finished { ended, by, moved, kept, from, to, move_id, .. } = one;
        let by = if by.is_empty() { "-" } else { by };
        vec![
            ended.clone(),
            moved.to_string(),
            kept.to_string(),
            by.to_owned(),
            from.clone(),
            to.clone(),
            move_id.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = finished.iter().map(row).collect();
    let head = ["ENDED", "MOVED", "KEPT", "BY", "FROM", "TO", "MOVE"];
    text.gap();
    text.line("The last moves:");
    text.gap();
    text.append(lines::columns(&head, &rows));
    text
}
