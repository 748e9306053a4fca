//! What a run did, for people.

use std::collections::BTreeMap;

use pivot_core::record::{Finished, Record};
use pivot_core::refusal::some_of;
use pivot_core::scope::Namespaces;
use pivot_core::{GroupKind, Side};
use pivot_engine::TakenBack;
use pivot_engine::{LockStatus, MoveStatus, Report, Status};

use super::lines::count;
use super::{STRONG, lines};

/// A move that came to its end.
pub(crate) fn moved(report: &Report, (source, target): (&str, &str)) -> String {
    let Report { move_id, done, times: _ } = report;
    let kept: usize = done.kept.values().sum();
    let kept = if kept == 0 { String::new() } else { format!(", {kept} kept on both sides") };
    let moved = count(done.moved.values().sum(), "object");
    let mut text =
        format!("{STRONG}Moved:{STRONG:#} {moved}{kept}, from {source} to {target} (move {move_id})\n\n");
    text.push_str(&kinds(&done.moved, &done.kept));
    text.push_str(&phases(report));
    text
}

/// A copy in a directory.
pub(crate) fn copied(report: &Report, (source, target): (&str, &str)) -> String {
    let Report { move_id, done, times: _ } = report;
    let copied = count(done.kept.values().sum(), "object");
    let mut text = format!(
        "{STRONG}Copied:{STRONG:#} {copied}, from {source} to {target} (move {move_id}); the source is as it was\n\n"
    );
    let rows: Vec<Vec<String>> =
        done.kept.iter().map(|(kind, number)| vec![number.to_string(), kind.to_string()]).collect();
    text.push_str(&lines::columns(&["OBJECTS", "KIND"], &rows));
    text.push_str(&phases(report));
    text
}

fn kinds(moved: &BTreeMap<GroupKind, usize>, kept: &BTreeMap<GroupKind, usize>) -> String {
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

fn phases(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .times
        .iter()
        .map(|(phase, time)| vec![phase.to_string(), format!("{:.2}s", time.as_secs_f64())])
        .collect();
    format!("\n{}", lines::columns(&["PHASE", "TIME"], &rows))
}

/// A move that was taken back.
pub(crate) fn taken_back(taken: &TakenBack, (source, target): (&str, &str)) -> String {
    format!(
        "{STRONG}Rolled back:{STRONG:#} {} resumed in {source}, {} removed from {target}\n",
        count(taken.resumed, "object"),
        count(taken.removed, "object"),
    )
}

/// Where moves stand. `next` are whole commands, for each move.
pub(crate) fn status(status: &Status, (source, target): (&str, &str), next: &[Vec<String>]) -> String {
    let mut text = String::new();
    if status.moves.is_empty() {
        text.push_str(&nothing(status, source, target));
    }
    for (one, next) in status.moves.iter().zip(next) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&under_way(status, one, (source, target), next));
    }
    text.push_str(&last_moves(&status.finished));
    text
}

fn nothing(status: &Status, source: &str, target: &str) -> String {
    match &status.silent {
        None => format!("No move is under way from {source} to {target}.\n"),
        Some((Side::Target, why)) => {
            format!("No move is under way from {source}. The target, {target}, does not answer: {why}.\n")
        }
        Some((Side::Source, why)) => format!(
            "No committed move into {target} is known there. The source, {source}, does not answer: {why}; where a move is \
             under way it is not committed, and the source, once it answers, says how far it is.\n"
        ),
    }
}

fn under_way(status: &Status, one: &MoveStatus, (source, target): (&str, &str), next: &[String]) -> String {
    let MoveStatus { decides, record, .. } = one;
    let namespaces = match &record.scope.namespaces {
        Namespaces::All => "all namespaces".to_owned(),
        Namespaces::One(one) => format!("namespace {one}"),
    };
    let plugins: Vec<String> =
        record.plugins.iter().map(|pin| format!("{} {}", pin.name, pin.version)).collect();
    let plugins = if plugins.is_empty() { "<none>".to_owned() } else { plugins.join(", ") };
    let way = if record.phase.committed() { "only forward" } else { "forward or back" };
    let mut text = format!("{STRONG}Move:{STRONG:#} {}, from {source} to {target}\n\n", record.move_id);
    for (name, value) in [
        ("phase", format!("{} ({way}; the record in the {decides} decides)", record.phase)),
        ("what", namespaces),
        ("started", started(record)),
        ("plugins", plugins),
        ("lease", lease(status, &record.move_id)),
    ] {
        text.push_str(&format!("  {name:8} {value}\n"));
    }
    if let Some(note) = note(status, one) {
        text.push_str(&format!("  {:8} {note}\n", "note"));
    }
    for (index, line) in next.iter().enumerate() {
        text.push_str(&format!("  {:8} {line}\n", if index == 0 { "next" } else { "or" }));
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

fn last_moves(finished: &[Finished]) -> String {
    if finished.is_empty() {
        return String::new();
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
    format!("\nThe last moves:\n\n{}", lines::columns(&head, &rows))
}
